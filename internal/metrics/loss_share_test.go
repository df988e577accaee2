package metrics

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
)

// All frames lost are 100 %, not 1e+02 %, and few keep two digits.
func TestLossShare(t *testing.T) {
	for share, want := range map[float64]string{1: "100 %", 0.5: "50 %", 0.0052: "0.52 %"} {
		if got := lossShare(share); got != want {
			t.Errorf("%g is %s, want %s", share, got, want)
		}
	}
}

// CNPs that a link took are looked for at the link; where a buffer dropped too, in their class.
func TestTookCNPs(t *testing.T) {
	down := record.Drop{Cause: catalog.DropLinkDown, Act: record.Act{Count: 7}}
	full := record.Drop{Cause: catalog.DropEgress, Act: record.Act{Count: 1}}
	for _, c := range []struct {
		drops []record.Drop
		want  string
	}{
		{[]record.Drop{down}, "link leaf2:3 - spine1:2, which lost 7 frames (link down)"},
		{[]record.Drop{down, full}, "nic.cnp_class"},
		{nil, "nic.cnp_class"},
	} {
		r := &record.Run{Ports: []record.Port{{Node: "leaf2", Port: 3, Peer: record.PortID{Node: "spine1", Port: 2}, DropCauses: c.drops}}}
		if got := tookCNPs(lang.English, r); !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q", c.drops, got, c.want)
		}
	}
}
