package scenario

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// The functions here warn of settings that another setting leaves without
// effect. They are no errors: switching the other one by --set, or comparing
// stacks, must not need a second edit.

// ignored warns that a key that is given has no effect.
func (r *resolver) ignored(o object, key, format string, args ...any) {
	if o.describing() || !o.has(key) {
		return
	}
	path := o.join(key)
	r.warn("ignored "+path, "%s has no effect: %s", path, fmt.Sprintf(format, args...))
}

// warnIgnoredOptions looks at the options of a workload entry.
func (r *resolver) warnIgnoredOptions(o object, opt *workload.Options) {
	if opt.Profile > 0 {
		return // asStream does
	}
	if !opt.Verb.TakesReceive() {
		for _, key := range []string{"receives", "receive_size", "srq"} {
			r.ignored(o, key, "an RDMA %s takes no receive; give verb: send", opt.Verb)
		}
	}
	if opt.Verb == workload.WriteImm {
		r.ignored(o, "receive_size", "the data of a %s go to the memory that it names, and no byte to the receive; give verb: send-imm", opt.Verb)
	}
	if !opt.Verb.TakesRKey() {
		if opt.Verb != workload.SendInv { // its IETH names one
			r.ignored(o, "rkey", "a SEND carries no R_Key; give verb: write")
		}
		r.ignored(o, "remote_access", "a SEND needs no remote access; give verb: write")
		if !r.memoryMatters() {
			for _, key := range []string{"region", "offset"} {
				r.ignored(o, key, "a SEND names no memory of its peer, and nothing here depends on which memory it comes from; give verb: write, mtt_cache, or host.registration")
			}
		}
	}
	if opt.Fence && opt.Verb != workload.Read && !opt.Verb.Atomic() {
		r.ignored(o, "fence", "it waits for READs and atomics of the same queue pair, which has only %ss; give verb: read", opt.Verb)
	}
	switch {
	case opt.Service != workload.RC:
		r.ignored(o, "initial_rate", "%s has no congestion control, so flows start at the port's rate", opt.Service)
	case !r.stack().CC:
		r.ignored(o, "initial_rate", "the stack %s runs without congestion control, so flows start at the port's rate", r.v.Stack)
	case r.v.DCQCN == nil:
		r.ignored(o, "initial_rate", "dcqcn: none leaves no congestion control, so flows start at the port's rate")
	}
}

// memoryMatters reports whether a host's costs depend on the memory that a message
// comes from: its card translates addresses, or its application registers.
func (r *resolver) memoryMatters() bool {
	for i := range r.nics {
		h := &r.nics[i].host
		if r.nics[i].mtt > 0 || h.Register != RegisterAhead && h.RegisterBase+h.RegisterPage > 0 {
			return true
		}
	}
	return false
}

// warnFirstPorts looks for hosts with several ports of which the workload uses
// only the first, by the host's bare name.
func (r *resolver) warnFirstPorts() {
	g := r.v.Graph
	used := make([]bool, len(g.Nodes)) // a port other than the first
	for i := range r.v.Plan.Conns {
		for _, ep := range []int{r.v.Plan.Conns[i].Src, r.v.Plan.Conns[i].Dst} {
			if e := g.Endpoints[ep]; e.Port > 0 {
				used[e.Node] = true
			}
		}
	}
	for _, n := range r.bareHosts {
		if used[n] {
			continue
		}
		used[n] = true // say it once
		node := &g.Nodes[n]
		r.warn("first port", "workload: %s means its first port, %s:1, whatever qps is; write %s:2 for the second of its %d", node.Name, node.Name, node.Name, len(node.Ports))
	}
}

// warnStarts looks for flows that should start faster than their port.
func (r *resolver) warnStarts() {
	if r.v.DCQCN == nil {
		return
	}
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		e := r.v.Graph.Endpoints[c.Src]
		if c.Reads {
			e = r.v.Graph.Endpoints[c.Dst]
		}
		if line := r.v.Graph.LinkAt(e.Node, e.Port).Rate; c.InitialRate > line {
			r.warn("start above line", "%s: initial_rate %v is above the %v of %s's port, so flows start at %v",
				r.v.Plan.Entries[c.Entry], c.InitialRate, line, r.v.Graph.Nodes[e.Node].Name, line)
		}
	}
}

// warnIgnoredDevices looks at switches and NICs. What the sections for all give
// is used if any of them can.
func (r *resolver) warnIgnoredDevices() {
	drained, pcp := false, false
	for n := range r.v.Graph.Nodes {
		if r.v.Graph.Nodes[n].Kind == topology.Host {
			drained = drained || r.nics[n].drains()
		} else {
			pcp = pcp || r.switches[n].trustPCP
		}
	}
	for n := range r.v.Graph.Nodes {
		if r.v.Graph.Nodes[n].Kind == topology.Switch {
			s := &r.switches[n]
			if s.obj.n != nil && !s.trustPCP && !(pcp && s.obj.path == "switch") {
				r.ignored(s.obj, "pcp_to_priority", "switches trust the DSCP; give trust: pcp and vlan: true")
			}
			continue
		}
		s := &r.nics[n]
		if s.obj.n != nil && !r.v.Transports[r.v.NICs[n].Transport].Selective() {
			if s.outOfOrder {
				r.ignored(s.obj, "out_of_order", "%s keeps nothing that arrives ahead; give recovery: selective-repeat or irn", s.recovery)
			}
			r.ignored(s.obj, "bitmap", "%s keeps nothing that arrives ahead; give recovery: selective-repeat or irn", s.recovery)
		}
		r.warnNotAdaptive(s)
		if s.obj.n != nil && !s.cached() {
			r.ignored(s.obj, "cache_miss", "nothing is ever missed; give mtt_cache or qpc_cache as well")
		}
		if s.obj.n == nil || s.drains() || drained && s.obj.path == "nic" {
			continue
		}
		if r.stack().Credits {
			continue
		}
		for _, key := range []string{"rx_buffer", "rx_xoff", "rx_xon"} {
			r.ignored(s.obj, key, "without drain_rate the host keeps up and nothing waits; give drain_rate as well")
		}
	}
}

// maxPassLosses is how many losses per pass make a message hopeless with
// go-back-0: the chance that a pass loses nothing is e^-5, below 1 in 100.
const maxPassLosses = 5

// warnEndless looks for messages that would be sent again for ever.
func (r *resolver) warnEndless() {
	r.warnReceives()
	r.warnGoBack0()
}

// warnReceives looks for more SENDs than receives where RNR retries have no end
// (IBTA: RNR retry 7) and the run has none either.
func (r *resolver) warnReceives() {
	if r.v.Stop != units.Never {
		return
	}
	plan := r.v.Plan
	sends, shared := make([]int, len(plan.Conns)), make([]int, len(plan.SRQs))
	verbs := make([]workload.Verb, len(plan.Conns))
	for i := range plan.Messages {
		m := &plan.Messages[i]
		if c := &plan.Conns[m.Conn]; m.Verb.TakesReceive() && c.Service == workload.RC {
			sends[m.Conn]++
			verbs[m.Conn] = m.Verb
			if c.SRQ > 0 {
				shared[c.SRQ-1]++
			}
		}
	}
	for i := range plan.Conns {
		c := &plan.Conns[i]
		n, have, per := sends[i], c.Receives, "queue pair"
		if c.SRQ > 0 {
			n, have, per = shared[c.SRQ-1], plan.SRQs[c.SRQ-1].Receives, "shared receive queue"
		}
		src, dst := r.v.Graph.HostOf(c.Src), r.v.Graph.HostOf(c.Dst)
		if have < 0 || n <= have || r.nics[src].rnrRetry != 7 || r.nics[dst].host.Reposts && have > 0 {
			continue
		}
		r.warn("receives", "%s: %s per %s against %s: with rnr_retry 7 the sender tries for ever, and the run ends as stalled; give more receives, host.repost, rnr_retry 0 to 6, or stop",
			plan.Entries[c.Entry], number(n, verbs[i].String()+" work request"), per, number(have, "receive"))
	}
}

// number writes a count with its noun.
func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// warnGoBack0 looks for messages that a lossy link never lets through whole:
// with go-back-0 every loss sends the message again from its first packet.
func (r *resolver) warnGoBack0() {
	every, loss := 0, 0.0 // of the worst links; loss per full packet
	for i := range r.v.Graph.Links {
		k := &r.v.Graph.Links[i]
		if k.DropEvery > 0 && (every == 0 || k.DropEvery < every) {
			every = k.DropEvery
		}
		loss = max(loss, k.Loss+k.BER*8*float64(r.maxFrame()))
	}
	if every == 0 && loss == 0 {
		return
	}
	for i := range r.v.Plan.Messages {
		m := &r.v.Plan.Messages[i]
		c := &r.v.Plan.Conns[m.Conn]
		if r.nics[r.v.Graph.HostOf(c.Src)].recovery != "go-back-0" {
			continue
		}
		packets := (m.Bytes + r.mtu - 1) / r.mtu
		entry := r.v.Plan.Entries[c.Entry]
		switch {
		case every > 0 && packets >= units.Bytes(every):
			r.warn("go-back-0", "%s: go-back-0 sends all %d packets of a message again after each loss, and a link drops every %s: a message that crosses it never completes",
				entry, packets, ordinal(every))
			return
		case float64(packets)*loss > maxPassLosses:
			r.warn("go-back-0", "%s: go-back-0 sends all %d packets of a message again after each loss, and a link loses %.3g of them in each pass: a message that crosses it may never complete",
				entry, packets, float64(packets)*loss)
			return
		}
	}
}

// ordinal writes 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
