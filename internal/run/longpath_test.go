package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// A path longer than the fabric writes down ends in a stage of its own; no hop
// is charged for it.
func TestLongPathAccount(t *testing.T) {
	for _, switches := range []int{14, 40} {
		var names, links []string
		prev := "a"
		for k := range switches {
			s := fmt.Sprintf("s%d", k)
			names = append(names, s)
			links = append(links, fmt.Sprintf("{between: [%s, %s], rate: 100Gbps}", prev, s))
			prev = s
		}
		links = append(links, fmt.Sprintf("{between: [%s, b], rate: 100Gbps}", prev))
		v := parse(t, fmt.Sprintf(`
topology: {hosts: [a, b], switches: [%s], links: [%s]}
workload:
  - flow: {from: a, to: b, size: 4000B}
`, strings.Join(names, ", "), strings.Join(links, ", ")))
		r := simulate(t, v, 1, 1)
		if bad := differ(t, r, simulate(t, v, 3, 2)); bad != "" {
			t.Errorf("%d switches: partitions matter: %s", switches, bad)
		}
		// 4000 B + 62 + 16 RETH + 20 on the wire at 80 ps per byte (models.md 4.5).
		const frame = (4000 + 62 + 16 + 20) * 80 * units.Picosecond
		beyond := units.Time(0)
		for _, s := range r.Messages[0].Account.Stages() {
			switch {
			case s.Stage.String() == "serialisation" && s.Time != frame:
				t.Errorf("%d switches: serialisation at %s takes %v, want %v", switches, s.Place().String(), s.Time, frame)
			case s.Stage.String() == "hops not recorded":
				beyond = s.Time
			}
		}
		if (beyond > 0) != (switches == 40) {
			t.Errorf("%d switches: %v in hops not recorded", switches, beyond)
		}
	}
}
