package run_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// TestJitterIsBooked: where nothing waits, what noise adds to a message is one stage: without
// it every other stage takes what it does without noise, through store-and-forward and
// cut-through switches, over links of one rate and of several.
func TestJitterIsBooked(t *testing.T) {
	for _, c := range []struct{ stack, spine, size, verb string }{
		{"rocev2", "100Gbps", "4KB", "write"}, {"rocev2", "400Gbps", "100B", "send"}, {"rocev2", "25Gbps", "3000B", "read"},
		{"infiniband", "100Gbps", "4KB", "write"}, {"infiniband", "400Gbps", "1B", "send"}, {"tcp", "25Gbps", "1000B", "write"},
	} {
		text := fmt.Sprintf(`
topology:
  hosts: [h0, h1]
  switches: [a, b]
  links:
    - {between: [h0, a], rate: 100Gbps, delay: 25ns}
    - {between: [a, b], rate: %s, delay: 25ns}
    - {between: [b, h1], rate: 100Gbps, delay: 25ns}
stack: %s
host: {preset: free}
workload:
  - flow: {from: h0, to: h1, size: %s%s}
`, c.spine, c.stack, c.size, map[bool]string{false: ", verb: " + c.verb}[c.stack == "tcp"])
		exact := seededRun(t, text+"noise: off\n", 1)
		for seed := range uint64(5) {
			late := seededRun(t, text+"noise: {pipeline: 150ns, card: 70ns, clocks: 0, host: 0ns}\n", seed)
			jitter := units.Time(0)
			var rest record.Account
			for _, s := range late.Messages[0].Account.Stages() {
				if s.Stage.Base() == catalog.StageJitter {
					jitter += s.Time
				} else {
					rest = append(rest, s)
				}
			}
			longer := late.Messages[0].CompletionPS - exact.Messages[0].CompletionPS
			if jitter != longer || jitter < 20*units.Nanosecond || jitter > 6*220*units.Nanosecond {
				t.Errorf("%+v, seed %d: jitter of %v, and the message takes %v longer", c, seed, jitter, longer)
			}
			if fmt.Sprint(rest) != fmt.Sprint(exact.Messages[0].Account.Stages()) {
				t.Errorf("%+v, seed %d: without its jitter the account is\n%v, not\n%v", c, seed, rest, exact.Messages[0].Account.Stages())
			}
		}
	}
}
