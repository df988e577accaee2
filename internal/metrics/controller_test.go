package metrics_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
)

// small is an incast whose queue passes 20 KB, where marking begins.
const small = `
name: small
topology: {star: {hosts: 4, link: 100Gbps, length: 5m}}
switch: {ecn: {kmin: 20KB, kmax: 80KB}}
workload: [{incast: {to: h0, size: 1MB}}]
`

// What is said of a controller is what it goes by: nobody cuts for marks under Swift, and nobody sends
// CNPs under DCTCP; under DCQCN both are so.
func TestControllersInTheirOwnWords(t *testing.T) {
	for _, c := range []struct {
		controller string
		cuts       catalog.Mechanism // that has acts; 0: none did
		told       string            // the row that says how senders are told, or why they are not
		slowed     string            // why nobody is
	}{
		{"swift", 0, "CNP: off: Swift does not need them", "Swift never cut: round trips stayed as short as it wants"},
		{"hpcc", catalog.LoadCut, "CNP: off: HPCC does not need them", ""},
		{"dctcp", catalog.RateCut, "CE flag on ACK: ", ""},
		{"dcqcn", catalog.RateCut, "CNP: ", ""},
	} {
		set := []string{"controller=" + c.controller}
		if c.controller == "dctcp" { // its window would be what holds
			set = []string{"controller.dctcp.window=false"}
		}
		r := simulate(t, small, set...)
		rows := map[catalog.Mechanism]*metrics.State{}
		states := metrics.Mechanisms(r, 1)
		told := ""
		for i := range states {
			s := &states[i]
			rows[s.Mechanism] = s
			if s.Mechanism == catalog.CNPSent || s.Mechanism == catalog.CEOnAck {
				told += s.Mechanism.String() + ": " + s.Why
			}
		}
		if told != c.told {
			t.Errorf("%s: told by %q, want %q", c.controller, told, c.told)
		}
		for _, m := range []catalog.Mechanism{catalog.RateCut, catalog.DelayCut, catalog.LoadCut} {
			if acted := rows[m] != nil && rows[m].Count > 0; acted != (m == c.cuts) {
				t.Errorf("%s: cuts in row %v: %v", c.controller, m, acted)
			}
		}
		if a := answerTo(r, catalog.Slowed); a.Happened != (c.cuts != 0) || a.Why != c.slowed {
			t.Errorf("%s: slowed nobody: %q, want %q", c.controller, a.Why, c.slowed)
		}
		said := ""
		for i := range r.Messages {
			said += metrics.DominantStage(r, i).How + "\n"
		}
		if c.controller == "dctcp" && !strings.Contains(said, "CE flag") || c.controller != "dcqcn" && strings.Contains(said, "CNP") {
			t.Errorf("%s: %s", c.controller, said)
		}
	}
}

// Cuts on a way where no switch marked anything name no threshold of marking: CNPs were sent for losses.
func TestCutsWithoutMarks(t *testing.T) {
	r := simulate(t, "lossy-cable", "controller=rtt-probe", "noise=null")
	a := answerTo(r, catalog.Held)
	if !strings.Contains(a.Why, "after CNPs that were sent for losses") || strings.Contains(a.Why, "Kmin") {
		t.Error(a.Why)
	}
}
