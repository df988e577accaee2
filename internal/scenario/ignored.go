package scenario

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// The functions here warn of settings that another setting leaves without
// effect. They are no errors: switching the other one by --set, or comparing
// stacks, must not need a second edit.

// ignored warns that a key that is given has no effect.
func (r *resolver) ignored(o object, key, format string, args ...any) {
	if !o.has(key) {
		return
	}
	path, why := o.join(key), fmt.Sprintf(format, args...)
	r.v.Idle = append(r.v.Idle, Idle{path, why})
	kind := "ignored " + path
	if why == passesBy {
		kind = why // of which there may be many
	}
	r.warn(kind, "%s has no effect: %s", path, why)
}

// when is why, if a condition holds.
func when(holds bool, why string) string {
	if holds {
		return why
	}
	return ""
}

// idleKey is a key that is given and has no effect.
type idleKey struct {
	o         object
	name, why string
}

// idleIn lists the keys that are given in o and have no effect.
func idleIn(o object, keys []key, to []idleKey) []idleKey {
	for i := range keys {
		k := &keys[i]
		if !o.has(k.name) {
			continue
		}
		if why := k.useless(); why != "" {
			to = append(to, idleKey{o, k.name, why})
		} else if v := o.n.Get(k.name); k.many == oneSection && k.inner != nil && v.Kind == mappingNode {
			to = idleIn(object{d: o.d, n: v, path: o.join(k.name)}, k.inner, to)
		}
	}
	return to
}

// warnIdle warns of keys that are given in o and have no effect.
func (r *resolver) warnIdle(o object, keys []key) {
	for _, k := range idleIn(o, keys, nil) {
		r.ignored(k.o, k.name, "%s", k.why)
	}
}

// warnIdleDevices looks at the sections for all switches and hosts, of which a key is used if
// any of them can, and at those of single ones.
func (r *resolver) warnIdleDevices() {
	r.ends = r.tcpEnds()
	own := func(n int) object { return r.nics[n].hostOwn }
	r.warnIdleSection(r.switchObj, topology.Switch, func(n int) object { return r.switches[n].obj }, func(n int) []key { return r.switchKeys(&r.switches[n]) })
	r.warnIdleSection(r.nicObj, topology.Host, own, func(n int) []key { return r.nicKeys(&r.nics[n]) })
	r.warnIdleSection(r.hostObj, topology.Host, own, func(n int) []key {
		return hostKeys(&r.nics[n].host, func() string { return r.kernelIdle(n) })
	})
}

// warnIdleSection looks at one section for all nodes of a kind and at what single ones have of
// their own; nodes without stand for each other.
func (r *resolver) warnIdleSection(all object, kind topology.Kind, own func(n int) object, keys func(n int) []key) {
	var idle []idleKey
	seen, first, given := false, true, all.n != nil && len(all.n.Fields) > 0
	for n := range r.v.Graph.Nodes {
		o := own(n)
		has := o.n != nil && o.n != all.n
		if r.v.Graph.Nodes[n].Kind != kind || !has && (seen || !given) {
			continue
		}
		table := keys(n)
		if has {
			r.warnIdle(o, table)
		}
		seen = seen || !has
		if first {
			idle, first = idleIn(all, table, nil), false
		} else if len(idle) > 0 {
			there := idleIn(all, table, nil)
			idle = slices.DeleteFunc(idle, func(k idleKey) bool {
				return !slices.ContainsFunc(there, func(x idleKey) bool { return x.o.n == k.o.n && x.name == k.name })
			})
		}
	}
	for _, k := range idle {
		r.ignored(k.o, k.name, "%s", k.why)
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
	if !r.controlled() {
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
	for i := range plan.Series {
		m := &plan.Series[i]
		if c := &plan.Conns[m.Conn]; m.Verb.TakesReceive() && c.Service == workload.RC {
			sends[m.Conn] += m.Count
			verbs[m.Conn] = m.Verb
			if c.SRQ > 0 {
				shared[c.SRQ-1] += m.Count
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
	for i := range r.v.Plan.Series {
		m := &r.v.Plan.Series[i]
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
