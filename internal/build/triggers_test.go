package build

import (
	"testing"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Hosts that a trigger joins share a partition, directly and over others; the
// rest of the network is still cut.
func TestTriggersJoinPartitions(t *testing.T) {
	link := topology.LinkSpec{Rate: 100 * units.Gbps, Delay: units.Microsecond}
	g, err := topology.LeafSpine(topology.LeafSpineParams{Leaves: 8, Spines: 2, HostsPerLeaf: 2, HostLink: link, Uplink: link})
	if err != nil {
		t.Fatal(err)
	}
	zero := make([]bool, len(g.Links))
	plan := &workload.Plan{}
	entry := plan.AddEntry("w")
	a := plan.AddTrigger("a", workload.OneShot, 0)
	b := plan.AddTrigger("b", workload.OneShot, 0)
	for _, f := range []struct{ from, to, trigger, send, recv int }{
		{0, 14, 0, a, 0}, // h0 starts h4, whose receiver h10 starts h6
		{4, 10, a, 0, b},
		{6, 1, b, 0, 0},
	} {
		o := workload.DefaultOptions()
		o.Trigger, o.SendDone, o.RecvDone = f.trigger, f.send, f.recv
		if err := plan.Flow(entry, f.from, f.to, 100, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := plan.Finish(g); err != nil {
		t.Fatal(err)
	}
	apart, parts := partition(g, loads(g, nil), 8, zero, nil)
	if parts != 8 {
		t.Fatalf("%d partitions without triggers, want 8", parts)
	}
	joined, parts := partition(g, loads(g, nil), 8, zero, triggerGroups(plan, g))
	at := func(ep int) int { return joined[g.Endpoints[ep].Node] }
	if at(0) != at(4) || at(10) != at(6) {
		t.Errorf("partitions %d, %d and %d, %d: each trigger's hosts must share one", at(0), at(4), at(10), at(6))
	}
	if before := apart[g.Endpoints[0].Node] != apart[g.Endpoints[4].Node]; !before || parts < 4 {
		t.Errorf("apart before %v, %d partitions now", before, parts)
	}
}
