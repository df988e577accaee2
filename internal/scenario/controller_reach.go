package scenario

import (
	"slices"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// What a controller reaches: connections that it can govern, and round trips that it can be content with.

// anyVerbs reports whether anything but TCP is sent from host to host.
func (r *resolver) anyVerbs() bool {
	return slices.ContainsFunc(r.v.Plan.Conns, func(c workload.Conn) bool { return c.Profile == 0 })
}

// warnUngoverned tells of connections that the controller leaves alone. Without acknowledgements only CNPs
// come back.
func (r *resolver) warnUngoverned() {
	c := r.v.Control
	if len(r.v.Plan.Conns) > 0 && !r.anyVerbs() {
		r.warn("ungoverned", "%s governs nothing: all connections run over TCP; leave controller out, or give an "+
			"entry the stack rocev2", c.Title)
		return
	}
	silent := func(c workload.Conn) bool { return c.Service == workload.UC || c.Service == workload.UD }
	if !c.Settings.Needs().CNP && slices.ContainsFunc(r.v.Plan.Conns, silent) {
		r.warn("ungoverned", "%s hears nothing of UC and UD, which are not acknowledged: they are sent at the line's "+
			"rate; take dcqcn or rtt-probe for them", c.Title)
	}
}

// delays is the most that noise adds to the round trip of an idle path. Frames keep their order, so that
// in a stream of them nearly all come as late as the latest: what a controller takes for the round trip
// without queues must have room for that (HPCC, SIGCOMM 2019, 5.1: T is slightly above the longest base
// round trip).
func (r *resolver) delays(src, dst int) units.Time {
	hops, err := r.v.Routes.Path(r.v.Graph, src, dst)
	if err != nil {
		return 0
	}
	t := 2 * r.v.Noise.Card
	for _, h := range hops[1:] {
		t += 2 * r.v.NoiseAt(h.Node).Pipeline
	}
	return t
}

// overTarget is the pair of endpoints whose idle round trip is the furthest above what the controller wants.
type overTarget struct {
	src, dst    int
	rtt, target units.Time
	key         string
}

// look compares the idle round trip of a pair, as the controller measures it: from the last bit out, of a
// packet or of a probe.
func (x *overTarget) look(r *resolver, src, dst int) {
	c, ok := r.v.Control.Settings.(congestion.Targeted)
	if !ok {
		return
	}
	hops, err := r.v.Routes.Path(r.v.Graph, src, dst)
	if err != nil {
		return
	}
	there, back := r.maxFrame(), units.Bytes(r.v.Wire.Ack)
	if r.v.Control.Settings.Needs().Probes {
		there, back = congestion.ProbeBytes, congestion.ProbeBytes
	}
	rtt, _, err := r.idleRTT(src, dst, there, back)
	if err != nil {
		return
	}
	rtt -= r.v.Graph.LinkAt(hops[0].Node, hops[0].Port).Rate.TxTime(there + units.Bytes(r.v.Wire.Overhead))
	if key, target := c.Target(len(hops) - 1); rtt-target > x.rtt-x.target {
		*x = overTarget{src, dst, rtt, target, key}
	}
}

// warn tells of it, if it is above at all.
func (x *overTarget) warn(r *resolver) {
	if x.rtt == 0 {
		return
	}
	c, name := r.v.Control, func(endpoint int) string { return r.v.Graph.Nodes[r.v.Graph.HostOf(endpoint)].Name }
	r.warn("over target", "with %s every round trip of more than %v lowers the rate, and the idle path "+
		"from %s to %s takes %s: even a flow alone is slowed again and again; give controller.%s.%s a longer time",
		c.Title, x.target, name(x.src), name(x.dst), x.rtt.Human(), c.Name, x.key)
}
