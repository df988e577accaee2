package metrics_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
)

// allToAll is a star in which every host writes to every other and links lose.
func allToAll(t testing.TB, hosts int) *record.Run {
	return simulate(t, fmt.Sprintf(`
name: all to all
stack: rocev2-none
topology: {star: {hosts: %d, link: 100Gbps, drop_every: 5}}
workload: [{all_to_all: {size: 8KB}}]
`, hosts))
}

// What is looked up for one message does not grow with the number of messages:
// twice the hosts are four times the messages and queue pairs.
func TestCeilingsAreLinear(t *testing.T) {
	perMessage := func(hosts int) float64 {
		r := allToAll(t, hosts)
		lost := 0
		for i := range r.Messages {
			for _, s := range r.Messages[i].Account.Stages() {
				if s.Stage == catalog.StageLoss {
					lost++
					break
				}
			}
		}
		if lost < len(r.Messages)/10 {
			t.Fatalf("%d of %d messages lost anything", lost, len(r.Messages))
		}
		return testing.AllocsPerRun(1, func() { metrics.Ceilings(r) }) / float64(len(r.Messages))
	}
	small, large := perMessage(8), perMessage(16)
	if large > 1.5*small {
		t.Errorf("%.0f allocations per message of 8 hosts, %.0f of 16", small, large)
	}
}

func BenchmarkCeilings(b *testing.B) {
	r := allToAll(b, 32)
	b.ReportAllocs()
	for b.Loop() {
		metrics.Ceilings(r)
	}
}
