package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Seeds of the random scenarios of InfiniBand, in full and with -short.
const (
	infinibandSeeds      = 120
	infinibandSeedsShort = 40
	failingSeeds         = 40
	failingSeedsShort    = 12
)

// drawInfiniBand returns the scenario of a seed: networks whose shortest paths
// have no credit loop, with input buffers of a packet to a few dozen.
func drawInfiniBand(seed uint64) draw {
	g := &generator{Stream: rng.New(seed, "infiniband")}
	g.line("name: infiniband-%d", seed)
	g.line("seed: %d", seed)
	g.line("stack: infiniband")
	g.lossy, g.lossless = g.one(5), true
	mtu := g.pickInt(4096, 4096, 1024, 2048, 256)
	g.line("mtu: %d", mtu)
	g.topology()
	if !strings.Contains(g.b.String(), "down_at") { // a port per packet has no tables to change
		g.routing(seed)
	}
	g.line("switch:")
	g.line("  latency: %dns", g.IntN(1000))
	g.line("  forwarding: %s", g.pick("store-and-forward", "cut-through", "cut-through"))
	g.lanes((mtu + 82 + 63) / 64)
	g.nics()
	if g.one(3) {
		from := g.IntN(20)
		g.line("measure: {from: %dus, to: %dus}", from, from+5+g.IntN(40))
	}
	if g.cut = g.one(6); g.cut {
		g.line("stop: %dns", g.between(20000, 200000))
	}
	g.workload()
	if g.one(3) {
		g.line("carry_data: true")
	}
	g.text = g.b.String()
	return g.draw
}

// lanes draws the section infiniband; packet is the largest packet in blocks.
func (g *generator) lanes(packet int) {
	vls := g.pickInt(8, 8, 4, 2, 1)
	blocks := packet + g.IntN(4*packet)
	if g.one(6) { // beyond what can be granted at a time
		blocks += fabric.MaxCredits
	}
	g.line("infiniband:")
	g.line("  vls: %d", vls)
	g.line("  buffer: %dB", 64*blocks)
	if g.one(3) {
		g.line("  hca_buffer: %dB", 64*(packet+g.IntN(4*packet)))
	} else if g.one(2) {
		g.line("  update: %dB", 64*g.between(1, max(1, min(blocks, fabric.MaxCredits)-packet)))
	}
	g.line("  grh: %v", g.one(4))
	if g.one(3) {
		g.line("  congestion_control: {threshold: %d, marking_rate: %d, packet_size: %dB, victim_mask: %s, ccti_increase: %d, ccti_limit: %d, ccti_timer: %d, based_on: %s}",
			g.between(1, 15), g.IntN(4), g.IntN(1024), g.pick("none", "hosts", "all"), g.between(1, 4), g.between(5, 40), g.between(1, 30), g.pick("qp", "sl"))
	}
	if g.one(2) {
		return
	}
	var weights []string
	for vl := range vls {
		weights = append(weights, fmt.Sprintf("%d:%d", vl, g.between(1, 255)))
	}
	g.line("  vlarb_low: \"%s\"", strings.Join(weights, ","))
	g.line("  vlarb_high: \"%s\"", weights[g.IntN(vls)])
	g.line("  high_limit: %d", g.pickInt(0, 1, 4, 255))
}

// TestInfiniBandProperties holds the invariants of links with credits under
// random load. The network checks itself as it runs: no input buffer beyond its
// size, no block returned twice, and at rest every buffer empty and all credits
// back.
func TestInfiniBandProperties(t *testing.T) {
	t.Parallel()
	seeds := draws(infinibandSeedsShort, infinibandSeeds)
	held := infinibandProperties()
	starved, waited, failed := 0, 0, 0
	for seed := range seeds {
		d := drawInfiniBand(seed)
		r, err := checkSeed(t, seed, d, held)
		if err != nil {
			t.Errorf("seed %d: %v\nscenario:\n%s", seed, err, d.text)
			if failed++; failed == 5 {
				t.FailNow()
			}
			continue
		}
		for _, e := range r.Ledger {
			switch e.Mechanism {
			case catalog.CreditsOut:
				starved++
			case catalog.CreditWait:
				waited++
			}
		}
	}
	if failed == 0 && (starved < int(seeds) || waited < int(seeds)) {
		t.Errorf("%d ports without credits and %d that waited in %d scenarios; the scenarios have become too tame", starved, waited, seeds)
	}
}

func infinibandProperties() []property {
	return append(properties(), property{"nothing is dropped", nothingDropped}, property{"counters agree across links", countersAgree},
		property{"waits lie within the run", waitsWithinRun})
}

// drawFailingInfiniBand returns a scenario of leaves and spines whose every link is
// busy as one fails: packets on the way as the tables change are sent back by the
// port they came in by, and loop until all switches have theirs.
func drawFailingInfiniBand(seed uint64) draw {
	g := &generator{Stream: rng.New(seed, "failing")}
	g.line("name: failing-%d", seed)
	g.line("seed: %d", seed)
	g.line("stack: infiniband")
	g.lossy, g.lossless = true, true
	leaves, spines, per := g.between(2, 3), g.between(2, 3), g.between(2, 4)
	n := leaves * per
	g.line("topology: {leaf_spine: {leaves: %d, spines: %d, hosts_per_leaf: %d, link: %s, length: %dm}, links: [{between: [leaf%d, spine%d], down_at: %dus}]}",
		leaves, spines, per, g.pick("EDR", "HDR", "NDR", "FDR"), g.between(1, 100), g.between(1, leaves), g.between(1, spines), g.between(5, 20))
	g.line("failover: {detect: %dus%s}", g.between(1, 60), g.pick("", fmt.Sprintf(", converge: %dus", g.between(1, 40))))
	g.line("switch: {latency: %dns, forwarding: %s}", g.IntN(400), g.pick("cut-through", "cut-through", "store-and-forward"))
	blocks := 65 + g.IntN(600)
	g.line("infiniband: {buffer: %dB, update: %dB, routing: %s}", 64*blocks, 64*g.between(1, min(blocks-64, 100)), g.pick("minhop", "updn"))
	g.line("nic: {timeout: %d}", g.between(3, 6))
	g.line("workload:")
	var list []string
	for h := range n { // every host sends to the next leaf
		list = append(list, fmt.Sprintf("{from: h%d, to: h%d}", h, (h+per)%n))
	}
	g.line("  - flows: {size: %dKB, list: [%s]}", g.between(1000, 4000), strings.Join(list, ", "))
	g.text = g.b.String()
	return g.draw
}

// TestInfiniBandFailingLinks holds the invariants while tables change under load.
func TestInfiniBandFailingLinks(t *testing.T) {
	t.Parallel()
	seeds := draws(failingSeedsShort, failingSeeds)
	moved := 0
	for seed := range seeds {
		d := drawFailingInfiniBand(seed)
		r, err := checkSeed(t, seed, d, infinibandProperties())
		if err != nil {
			t.Errorf("seed %d: %v\nscenario:\n%s", seed, err, d.text)
			continue
		}
		if r.FlowsMoved > 0 {
			moved++
		}
	}
	if moved < int(seeds)/2 {
		t.Errorf("flows move in %d of %d scenarios; the scenarios have become too tame", moved, seeds)
	}
}

// nothingDropped: without lifetime limits only a link that loses frames or fails
// costs a packet, never a buffer.
func nothingDropped(_ *scenario.Valid, d draw, r *record.Run) string {
	buffers := []catalog.Drop{catalog.DropHeadroom, catalog.DropEgress, catalog.DropReceive, catalog.DropHOQ, catalog.DropLifetime}
	for _, p := range r.Ports {
		for _, c := range p.DropCauses {
			if !d.lossy || slices.Contains(buffers, c.Cause) {
				return fmt.Sprintf("%s:%d VL %d dropped %d packets: %s", p.Node, p.Port, p.Class, c.Count, c.Cause)
			}
		}
	}
	return ""
}

// ontoDeadLink counts what a port sent onto its link while that was down.
func ontoDeadLink(r *record.Run, node string, port int) (n int64) {
	for i := range r.Ports {
		p := &r.Ports[i]
		for _, d := range p.DropCauses {
			if p.Node == node && p.Port == port && d.Cause == catalog.DropLinkDown {
				n += d.Count
			}
		}
	}
	return n
}

// countersAgree: what one end of a link sent the other received, but for what is
// on its way or was lost.
func countersAgree(v *scenario.Valid, d draw, r *record.Run) string {
	at := map[string]*record.IBCounters{}
	for i := range r.Counters {
		c := &r.Counters[i]
		at[fmt.Sprintf("%s:%d", c.Node, c.Port)] = c
	}
	for i := range v.Graph.Nodes {
		n := &v.Graph.Nodes[i]
		for p, end := range n.Ports {
			a, b := at[fmt.Sprintf("%s:%d", n.Name, p+1)], at[fmt.Sprintf("%s:%d", v.Graph.Nodes[end.Peer].Name, end.PeerPort+1)]
			lost := b.PortRcvErrors + ontoDeadLink(r, n.Name, p+1)
			if a.PortXmitPkts < b.PortRcvPkts+lost || r.Stopped == "quiescence" && a.PortXmitPkts != b.PortRcvPkts+lost {
				return fmt.Sprintf("%s:%d sent %d packets, %d came and %d were lost", n.Name, p+1, a.PortXmitPkts, b.PortRcvPkts, lost)
			}
			if a.PortXmitData < b.PortRcvData || r.Stopped == "quiescence" && lost == 0 && a.PortXmitData != b.PortRcvData {
				return fmt.Sprintf("%s:%d sent %d words and %d came", n.Name, p+1, a.PortXmitData, b.PortRcvData)
			}
		}
	}
	return ""
}

// waitsWithinRun: a port waits for no longer than the run lasts, and for no
// longer than its VLs together.
func waitsWithinRun(v *scenario.Valid, _ draw, r *record.Run) string {
	held := map[string]units.Time{}
	for _, p := range r.Ports {
		held[fmt.Sprintf("%s:%d", p.Node, p.Port)] += p.HeldPS
	}
	for _, c := range r.Counters {
		rate := rateOfPort(v, c.Node, c.Port)
		n, _ := v.Graph.NodeByName(c.Node)
		params := v.NICs[n].Ports
		if v.Graph.Nodes[n].Kind == topology.Switch {
			params = v.Switches[n].Ports
		}
		wait := units.Time(float64(c.PortXmitWait) * float64(params[c.Port-1].Credit.Wait.Bits(topology.DefaultLanes)) * 1e12 / float64(rate))
		if wait > r.EndPS || wait > held[fmt.Sprintf("%s:%d", c.Node, c.Port)] {
			return fmt.Sprintf("%s:%d waited for %d ps, its lanes for %d, in a run of %d", c.Node, c.Port, wait, held[fmt.Sprintf("%s:%d", c.Node, c.Port)], r.EndPS)
		}
	}
	return ""
}

// TestLanesApart: a lane whose receiver hardly takes anything costs another lane
// of the same links no more than the wire time of what it sends, however long it
// stands: that is what arbitration may give it.
func TestLanesApart(t *testing.T) {
	for seed := range uint64(12) {
		pick := rng.New(seed, "lanes")
		rate := []string{"EDR", "FDR", "NDR"}[pick.IntN(3)]
		blocked := 200_000 + pick.IntN(400_000)
		text := fmt.Sprintf(`
stack: infiniband
topology: {star: {hosts: 4, link: %s, length: %dm}}
infiniband: {buffer: %dB, vlarb_high: none, vlarb_low: "0:%d,1:%d", high_limit: %d}
hosts: {h2: {drain_rate: 1Gbps}}
workload:
  - flow: {from: h0, to: h3, size: 4MB, class: 1}
`, rate, 1+pick.IntN(100), 64*(200+pick.IntN(800)), 1+pick.IntN(255), 1+pick.IntN(255), pick.IntN(256))
		alone := simulate(t, parse(t, text), 1, 1).Messages[0].CompletionPS
		v := parse(t, text+fmt.Sprintf("  - incast: {from: [h0, h1], to: h2, size: %dB}\n", blocked))
		r := simulate(t, v, 1, 1)
		line := v.Graph.Links[0].Rate
		limit := alone
		for _, p := range r.Ports {
			if p.Class == 0 && (p.Node == "h0" || p.Peer.String() == "h0:1") {
				limit += line.TxTimeLong(units.Bytes(p.TxBytes + 2*p.TxPackets))
			}
		}
		stood := r.Messages[1].CompletionPS
		if got := r.Messages[0].CompletionPS; got < 0 || got > limit {
			t.Errorf("seed %d: %d ps beside a lane that stands, %d alone, at most %d\n%s", seed, got, alone, limit, text)
		}
		if stood < 2*limit {
			t.Errorf("seed %d: the other lane took %d ps, which is no stand against %d\n%s", seed, stood, limit, text)
		}
	}
}

// rateOfPort is the rate of a node's port, from 1.
func rateOfPort(v *scenario.Valid, node string, port int) units.Rate {
	n, _ := v.Graph.NodeByName(node)
	return v.Graph.LinkAt(n, port-1).Rate
}
