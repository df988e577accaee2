package flow

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// mostFollowed is how many edges an exchange has at most whose steps are followed as those of other programs are.
const mostFollowed = 1 << 16

// mostPairs is how many edges of an exchange between all pairs are looked at; of more, those of some rounds
// stand for all.
const mostPairs = 1 << 22

// prepareExchange finds the links of an exchange between all pairs, whose edges are too many to be listed,
// and what it takes alone: as long as its busiest link, or its busiest lane if its steps take longer, and
// the way of a message.
func (s *sim) prepareExchange(x *program) {
	p := x.Program
	var e workload.ProgramEdge
	var longest units.Time
	at := map[int32]int{}                      // in uses; looked up, never iterated
	every := 1 + (p.PairEdges-1)/mostPairs/2*2 // odd, so that all places in a host have their share
	counted, all := 0, p.PairEdges/len(p.Ranks)
	for round := 0; round < all; round += every {
		counted++
		for from := range p.Ranks {
			n := int32(round*len(p.Ranks) + from)
			p.Pairs.Edge(n, &e)
			if e.Local {
				continue
			}
			_, _, via, to := p.Pairs.Carrier(e.Conn)
			conn := p.Pairs.Conn(via, to, false)
			conn.SrcPort = p.Pairs.Port(e.Conn)
			y := s.of(&conn, p.Conn+from, p.Verb, e.Most)
			if y == nil {
				continue
			}
			var wire float64
			for k := range e.Units {
				_, _, bytes := p.Rule.Unit(n, k)
				wire += float64(y.wire(bytes))
			}
			if x.bytes = max(x.bytes, wire); counted == 1 && from == 0 {
				longest = s.latency(y, &workload.Message{Verb: p.Verb, Bytes: e.Most}, 0)
			}
			for _, u := range y.uses {
				k, known := at[u.link]
				if !known {
					k = len(x.uses)
					at[u.link], x.uses = k, append(x.uses, use{link: u.link})
				}
				x.uses[k].weight += wire * u.weight
			}
		}
	}
	x.bytes = max(x.bytes, 1)
	scale := float64(all) / float64(counted) / x.bytes
	x.whole = s.busiestLane(p)
	for i := range x.uses {
		u := &x.uses[i]
		u.weight *= scale
		x.whole = max(x.whole, units.Time(x.bytes*u.weight/s.links[u.link].capacity))
	}
	x.whole += s.delays[p.Launch] + longest
	if p.Calls != nil {
		x.whole = max(x.whole, s.delays[p.Calls[0]])
	}
	x.most = x.bytes / float64(max(x.whole, 1))
}

// busiestLane is what the steps of the busiest of the first rank's lanes take.
func (s *sim) busiestLane(p *workload.Program) (longest units.Time) {
	var step workload.ProgramStep
	for lane := range int32(p.PerRank) {
		t := units.Time(0)
		for k := range p.Rule.Steps(lane) {
			p.Rule.Step(lane, k, &step)
			t += s.delays[step.Label] + step.Work
		}
		longest = max(longest, t)
	}
	return longest
}
