package scenario

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// What the ns-3 RDMA simulators print of a flow and a node.
const (
	ns3NormalPort = 100 // destination port of ordinary flows
	ns3Overhead   = 48  // frame bytes around a payload, as their ideal time counts them
)

// NS3FCT writes the completed messages of a run as fct.txt of the ns-3 RDMA
// simulators, a row per flow in order of completion:
//
//	source-IP destination-IP source-port destination-port bytes start_ns fct_ns standalone_ns
//
// Addresses are 0b, two bytes of node number and 01 in hexadecimal; the
// standalone time is the base RTT and the flow's bytes in their frames over the
// path's lowest rate.
func (v *Valid) NS3FCT(r *record.Run) []byte {
	var done []int
	for i := range r.Messages {
		if r.Messages[i].Status == "success" {
			done = append(done, i)
		}
	}
	end := func(i int) units.Time { return r.Messages[i].StartPS + r.Messages[i].CompletionPS }
	slices.SortStableFunc(done, func(a, b int) int { return cmp.Compare(end(a), end(b)) })
	mtu := v.Transports[0].MTU
	var b strings.Builder
	for _, i := range done {
		f := &r.Messages[i]
		k := &v.Plan.Conns[v.Plan.At(i).Conn]
		dport := k.DstPort
		if dport == 0 {
			dport = ns3NormalPort
		}
		fmt.Fprintf(&b, "%s %s %d %d %d %d %d %d\n", v.ns3Address(k.Src), v.ns3Address(k.Dst), k.SrcPort, dport, f.Bytes,
			v.ns3Start(f.StartPS), f.CompletionPS/units.Nanosecond, v.ns3Standalone(k.Src, k.Dst, units.Bytes(f.Bytes), mtu))
	}
	return []byte(b.String())
}

// ns3Start is a start time in nanoseconds as the simulators print it: they read
// seconds into a double and truncate a billion times its exact value, so that
// 2.001 becomes 2000999999. Scenarios of other origin have no such double.
func (v *Valid) ns3Start(t units.Time) int64 {
	ns := int64(t / units.Nanosecond)
	if v.Wire.Name != wire.NS3.Name || ns >= 1<<53 {
		return ns
	}
	seconds := float64(ns) / 1e9 // the double nearest to the decimal of the file
	if math.FMA(seconds, 1e9, -float64(ns)) < 0 {
		return ns - 1
	}
	return ns
}

// ns3Address is a host's address as eight hexadecimal digits.
func (v *Valid) ns3Address(ep int) string {
	node := uint32(v.Graph.Endpoints[ep].Node)
	return fmt.Sprintf("%08x", 0x0b000001+node/256<<16+node%256<<8)
}

// ns3Standalone is base RTT + (bytes + 48*ceil(bytes/mtu)) * 8e9 / rate in
// whole nanoseconds.
func (v *Valid) ns3Standalone(src, dst int, n, mtu units.Bytes) int64 {
	rtt, rate, err := ns3BaseRTT(v.Graph, v.Routes, src, dst, mtu)
	if err != nil {
		return 0 // a flow that completed has a path
	}
	total := uint64(n) + ns3Overhead*uint64((n+mtu-1)/mtu)
	hi, lo := bits.Mul64(total, 8e9)
	if hi >= uint64(rate) {
		return int64(units.Never / units.Nanosecond)
	}
	q, _ := bits.Div64(hi, lo, uint64(rate))
	return int64(rtt/units.Nanosecond) + int64(q)
}

// ns3BaseRTT is twice the propagation and one payload's serialisation per link
// of the path, each truncated to nanoseconds, with the path's lowest rate.
func ns3BaseRTT(g *topology.Graph, routes *topology.Routes, src, dst int, mtu units.Bytes) (units.Time, units.Rate, error) {
	hops, err := routes.Path(g, src, dst)
	if err != nil {
		return 0, 0, err
	}
	ns := 2 * topology.PathDelay(g, hops) / units.Nanosecond
	for _, h := range hops {
		ns += units.Time(int64(mtu) * 8 * 1e9 / int64(g.LinkAt(h.Node, h.Port).Rate))
	}
	return ns * units.Nanosecond, topology.PathRate(g, hops), nil
}

// NS3PFC writes the pauses of a traced run as pfc.txt of the ns-3 RDMA
// simulators, a row per change of a class in order of time:
//
//	time_ns node node-type(0 host, 1 switch) interface type(1 paused, 0 resumed)
//
// Node and interface are those that were paused.
func (v *Valid) NS3PFC(r *record.Run) []byte {
	var b strings.Builder
	for _, e := range r.Pauses {
		n, _ := v.Graph.NodeByName(e.Node)
		kind, xoff := 0, 0
		if v.Graph.Nodes[n].Kind == topology.Switch {
			kind = 1
		}
		if e.XOFF {
			xoff = 1
		}
		fmt.Fprintf(&b, "%d %d %d %d %d\n", e.At/units.Nanosecond, n, kind, e.Port, xoff)
	}
	return []byte(b.String())
}
