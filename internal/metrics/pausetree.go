package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// PauseTree is how pauses, or waits for credits, spread from one place over the network.
type PauseTree struct {
	// Root is where they began: a port that more came to than it sends, or a host that did not
	// take what arrived. It was not held itself.
	Root Cause `json:"root"`
	// Why says in words what it was that began there.
	Why string `json:"why"`
	// Branches are the ports that were held, each behind the one that stopped it.
	Branches []Branch `json:"branches"`
	// HeldPS adds up over the branches the time held with a frame waiting.
	HeldPS units.Time `json:"held_ps"`
	// Through is how many messages that were held go to the root.
	Through int `json:"through"`
	// Victims are the rows of the messages that were held and do not go to the root.
	Victims []int32 `json:"victims"`
}

// Branch is a port and class that was held.
type Branch struct {
	Port  record.Place  `json:"port"`
	Peer  record.PortID `json:"peer"`  // at the other end of its link, which stopped it
	Depth int           `json:"depth"` // 0: the root stopped it
	// HeldPS is the part of PausedPS in which a frame waited.
	HeldPS   units.Time `json:"held_ps"`
	PausedPS units.Time `json:"paused_ps"` // in which it might not send
	FirstPS  units.Time `json:"first_ps"`  // when it was held first

	port *record.Port
}

// pauseTrees are those of a run, that which held longest first. Where pauses go in a circle,
// or the record does not tell what began them, there is none.
func (x *index) pauseTrees() []PauseTree {
	out := []PauseTree{}
	at := map[record.Place]int{}
	behind := map[record.PortID][]*record.Port{} // held ports by what stopped them
	for i := range x.r.Ports {
		p := &x.r.Ports[i]
		if p.HeldPS == 0 {
			continue
		}
		held, root, host := x.walk(p.ID(), p.Class)
		cause, why := x.treeRoot(held, p.Class, root, host)
		if cause == (Cause{}) {
			continue
		}
		if _, known := at[cause.Place]; !known {
			at[cause.Place] = len(out)
			out = append(out, PauseTree{Root: cause, Why: why, Victims: []int32{}})
		}
		t := &out[at[cause.Place]]
		t.HeldPS += p.HeldPS
		b := Branch{Port: p.Place(), Peer: p.Peer, HeldPS: p.HeldPS, PausedPS: p.PausedPS, Depth: len(held) - 1, port: p}
		b.FirstPS = x.acts[actKey{p.Layer.Vocabulary().Hold, p.Place()}].First
		t.Branches = append(t.Branches, b)
		if len(held) > 1 {
			behind[held[1]] = append(behind[held[1]], p)
		}
	}
	for k := range out {
		out[k].arrange(behind)
	}
	x.victims(out)
	slices.SortStableFunc(out, func(a, b PauseTree) int { return cmp.Compare(b.HeldPS, a.HeldPS) })
	return out
}

// treeRoot is what ended a walk over held ports, and why it held them.
func (x *index) treeRoot(held []record.PortID, class int, root *record.Port, host string) (cause Cause, why string) {
	if root == nil && host == "" {
		return Cause{}, ""
	}
	if cause, why = x.sayLoop(held[len(held)-1], class, root, host); why != "" {
		return cause, why
	}
	if root != nil {
		n := x.users(root)
		share := x.l.Of("shares")
		if n != 1 {
			share = x.l.Of("share")
		}
		share += x.l.Of(" its ") + FormatRate(root.RateBps)
		if others := x.slowLink(&x.links, root); others > 0 {
			share += x.l.Sprintf(" (others like it have %s)", FormatRate(others))
		}
		return atPort(root), x.l.Sprintf("%s %s to %s, and it sends %.0f %% of the time", plural(x.l, int64(n), "sender"),
			share, root.Peer.Node, 100*root.Utilisation)
	}
	if stall := x.mostlyStalled(host); stall != "" {
		return cachesOf(host), x.l.Of("its card ") + stall
	}
	if f := x.faultOf(host); f != nil {
		return ofCard(host), x.l.Of("its card ") + SayFault(x.l, f)
	}
	why = x.l.Of("does not take data as fast as it comes")
	if d := x.drain(host); d != nil {
		why = x.l.Of("takes data only at ") + drainRate(x.l, d)
	}
	return x.bufferOf(host), why
}

// users is how many queue pairs send by a port in its class.
func (x *index) users(p *record.Port) int { return len(x.class(x.out(p.ID()), p.Class)) }

// arrange puts the branches in the order of the tree: behind each those that it stopped, the
// longest held first.
func (t *PauseTree) arrange(behind map[record.PortID][]*record.Port) {
	slices.SortStableFunc(t.Branches, func(a, b Branch) int { return cmp.Compare(b.HeldPS, a.HeldPS) })
	all := t.Branches
	t.Branches = make([]Branch, 0, len(all))
	listed := map[*record.Port]bool{}
	var add func(b *Branch)
	add = func(b *Branch) {
		if listed[b.port] {
			return
		}
		listed[b.port] = true
		t.Branches = append(t.Branches, *b)
		for i := range all {
			if c := &all[i]; c.Depth == b.Depth+1 && slices.Contains(behind[b.port.ID()], c.port) {
				add(c)
			}
		}
	}
	for i := range all {
		if all[i].Depth == 0 {
			add(&all[i])
		}
	}
	for i := range all { // those behind a port and class that is not here
		add(&all[i])
	}
}

// victims finds the messages that the trees held, and which of them do not go to the root.
func (x *index) victims(trees []PauseTree) {
	at := map[portClass]int{} // the tree of a branch
	for k := range trees {
		for i := range trees[k].Branches {
			p := trees[k].Branches[i].port
			at[portClass{p.ID(), p.Class}] = k
		}
	}
	if len(at) == 0 {
		return
	}
	var list record.Account
	for i := range x.r.Messages {
		f := &x.r.Messages[i]
		k, ok := x.sender(f)
		if !ok || !x.crosses(&x.r.QPs[k], func(pc portClass) bool { _, is := at[pc]; return is }) {
			continue
		}
		q := &x.r.QPs[k]
		seen := -1
		list = f.Account.Append(list[:0])
		for _, s := range list {
			if s.Stage.Base() != catalog.StagePaused && s.Stage.Base() != catalog.StageCredits || s.Time == 0 {
				continue
			}
			tree, is := at[portClass{s.Place().PortID(), q.Limits.Class}]
			if !is || tree == seen {
				continue
			}
			seen = tree
			if t := &trees[tree]; x.goesTo(f, q, &t.Root) {
				t.Through++
			} else if n := len(t.Victims); n == 0 || t.Victims[n-1] != int32(i) {
				t.Victims = append(t.Victims, int32(i))
			}
		}
	}
}

// crosses reports whether the path of a queue pair leaves by a port that is wanted.
func (x *index) crosses(q *record.QP, wanted func(portClass) bool) bool {
	for _, h := range q.Limits.Path {
		if wanted(portClass{h.Port, q.Limits.Class}) {
			return true
		}
	}
	return false
}

// goesTo reports whether a message takes the port, or goes to the host, that is a root.
func (x *index) goesTo(f *record.Message, q *record.QP, root *Cause) bool {
	_, to := DataEnds(f)
	switch root.Place.Kind {
	case catalog.AtPortClass:
		port := root.Place.PortID()
		p := x.ports[portClass{port, int(root.Place.Class)}]
		return p != nil && p.Peer.Node == record.HostOf(to) ||
			x.crosses(q, func(pc portClass) bool { return pc.port == port && pc.class == int(root.Place.Class) })
	case catalog.AtInputBuffer:
		for _, h := range q.Limits.Path {
			if h.Peer == root.Place.PortID() {
				return true
			}
		}
		return false
	}
	return record.HostOf(to) == root.Place.Node
}

// Title is what the layer calls what spread.
func (t *PauseTree) Title(l lang.Language) string {
	return t.Branches[0].Port.Layer.Words(l).HeldTree
}
