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

// settleTurns gives the operations of proxies their times. In a turn a proxy polls each connection
// by which it receives, as receives are posted ahead; of those by which it sends only the few that
// have something under way, which are left out.
func (b *builder) settleTurns() {
	conns := make(map[*Rank]int)
	for _, e := range b.all {
		if !e.local {
			conns[e.to]++
		}
	}
	proxy := DefaultProxy()
	type kind struct {
		text  string
		conns int
	}
	labels := make(map[kind]uint16)
	for i := range b.turns {
		t := &b.turns[i]
		k := kind{t.text, conns[t.rank]}
		label, known := labels[k]
		if !known {
			turns := proxy.SendTurns
			if t.receives {
				turns = proxy.ReceiveTurns
			}
			wait := units.Time(turns * float64(proxy.Turn+proxy.Each*units.Time(k.conns)))
			parts := make([]workload.Part, len(t.parts))
			for j, p := range t.parts {
				if p.Name == proxyTurn && p.Time == 0 { // not what the scenario says
					p.Time = wait
				}
				parts[j] = p
			}
			label = b.plan.AddLabel(t.text, parts...)
			labels[k] = label
		}
		b.plan.Locals[t.local].Label = label
	}
	b.turns = nil
}
