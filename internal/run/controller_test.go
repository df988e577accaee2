package run_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// completions are the times of all messages.
func completions(r *record.Run) (out []units.Time) {
	for i := range r.Messages {
		out = append(out, r.Messages[i].CompletionPS)
	}
	return out
}

// TestDCQCNBehindContract: the transport calls DCQCN straight, and every other controller through
// congestion.RateController. DCQCN through that contract leads to the same times, to the picosecond: with
// cuts at once and on a grid, timers and bytes that raise rates within a gap, windows, and CNPs that the
// sender keeps apart.
func TestDCQCNBehindContract(t *testing.T) {
	for _, preset := range []string{"nvidia", "paper", "ns3"} {
		for _, more := range []string{"", "nic: {window: 2 bdp, cnp_coalesce: sender}\nswitch: {ecn: {kmin: 20KB, kmax: 80KB}}\n",
			"nic: {recovery: selective-repeat}\nswitch: {ecn: {kmin: 20KB, kmax: 80KB}}\n"} {
			text := fmt.Sprintf("topology: {star: {hosts: 6, link: 100Gbps, length: 5m}}\ndcqcn: %s\n"+
				"workload:\n  - incast: {to: h0, size: 4MB}\n%s", preset, more)
			straight := parse(t, text)
			through := parse(t, text)
			for i := range through.Transports {
				c := &through.Transports[i]
				c.Control, c.CC = congestion.DCQCNControl(c.CC), nil
				if preset == "ns3" { // its gaps are fixed
					c.Gap = 1
				}
			}
			a, b := simulate(t, straight, 0, 1), simulate(t, through, 0, 1)
			for i, got := range completions(b) {
				if want := completions(a)[i]; got != want {
					t.Errorf("%s %q: message %d completes at %v through the contract, at %v without", preset, more, i, got, want)
				}
			}
			if cuts := act(a, catalog.RateCut).Count; cuts < 10 || act(b, catalog.RateCut).Count == 0 {
				t.Errorf("%s %q: %d cuts show nothing", preset, more, cuts)
			}
		}
	}
}
