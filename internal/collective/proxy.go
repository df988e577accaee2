package collective

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// turn is an operation of a proxy whose time is known once all its connections are.
type turn struct {
	local    int // in the plan
	rank     *Rank
	text     string
	parts    []workload.Part
	receives bool
}

// proxyTurn names what waits for a proxy's turns among the parts.
const proxyTurn = "proxy turn"

// turned adds what a rank's proxy does after a, which waits for its turns over all
// connections that it has.
func (b *builder) turned(r *Rank, text string, parts []workload.Part, a arrival, receives bool) arrival {
	if b.GPU == nil {
		return b.beside(r, text, parts, a)
	}
	op := b.plan.AddLocal(workload.Local{Host: r.Host, Entry: b.entry, From: workload.NoDevice, To: workload.NoDevice})
	b.turns = append(b.turns, turn{len(b.plan.Locals) - 1, r, text, parts, receives})
	b.plan.After(op, a.op, a.end)
	return arrival{op, workload.Completed}
}

// turns are the labels of what proxies do, by the connections that one has. In a turn a proxy polls
// each connection by which it receives, as receives are posted ahead; of those by which it sends
// only the few that have something under way, which are left out.
type turns struct {
	*builder
	conns  map[*Rank]int
	labels map[turnKind]uint16
}

type turnKind struct {
	text  string
	conns int
}

// newTurns counts the connections of all edges.
func (b *builder) newTurns() *turns {
	t := &turns{builder: b, conns: make(map[*Rank]int), labels: make(map[turnKind]uint16)}
	for _, e := range b.all {
		if !e.local {
			t.conns[e.to]++
		}
	}
	return t
}

// label is that of what a rank's proxy does, which waits for its turn.
func (t *turns) label(r *Rank, text string, parts []workload.Part, receives bool) uint16 {
	k := turnKind{text, t.conns[r]}
	label, known := t.labels[k]
	if known {
		return label
	}
	proxy := DefaultProxy()
	n := proxy.SendTurns
	if receives {
		n = proxy.ReceiveTurns
	}
	wait := units.Time(n * float64(proxy.Turn+proxy.Each*units.Time(k.conns)))
	own := make([]workload.Part, len(parts))
	for j, p := range parts {
		if p.Name == proxyTurn && p.Time == 0 { // not what the scenario says
			p.Time = wait
		}
		own[j] = p
	}
	label = t.plan.AddLabel(text, own...)
	t.labels[k] = label
	return label
}

// settleTurns gives the operations of proxies their times.
func (b *builder) settleTurns() {
	labels := b.newTurns()
	for i := range b.turns {
		t := &b.turns[i]
		b.plan.Locals[t.local].Label = labels.label(t.rank, t.text, t.parts, t.receives)
	}
	b.turns = nil
}
