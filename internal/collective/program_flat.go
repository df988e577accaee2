package collective

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// flatRule makes the steps of an exchange in which each pair of ranks has a size of its own: they are recorded one by
// one from what would append them to a plan. Each takes a unit from an edge, or puts one on.
type flatRule struct {
	*builder
	steps  []flatStep
	lanes  [][]int32 // steps by lane of the program; while they are recorded, of the builder
	puts   [][]int32 // by edge: steps that put units on it
	groups []span    // of rounds that share a channel
	first  uint64    // order of the first step
}

// flatStep is a step.
type flatStep struct {
	bytes, wire units.Bytes
	work        units.Time
	edge        int32
	label       uint16
	from, to    int16
	takes       bool
	folded      bool
}

// flatRule records an exchange.
func (b *builder) flatRule() *flatRule {
	r := &flatRule{builder: b, first: uint64(len(b.Ranks))}
	b.launched = make([]workload.Op, len(b.Ranks))
	b.records = r
	b.iteration()
	b.records = nil
	if n := len(r.groups); n > 0 {
		r.groups[n-1].edges = len(b.all) - r.groups[n-1].first
	}
	return r
}

// group begins the rounds of a channel.
func (r *flatRule) group() {
	if n := len(r.groups); n > 0 {
		r.groups[n-1].edges = len(r.all) - r.groups[n-1].first
	}
	r.groups = append(r.groups, span{first: len(r.all)})
}

// begin implements recorder.
func (r *flatRule) begin(l *lane, o *workload.Local) workload.Op {
	if l.nr == len(r.lanes) {
		r.lanes = append(r.lanes, nil)
	}
	r.lanes[l.nr] = append(r.lanes[l.nr], int32(len(r.steps)))
	r.steps = append(r.steps, flatStep{bytes: o.Bytes, work: o.Work, label: o.Label, from: o.From, to: o.To})
	return workload.OpOfLocal(len(r.steps) - 1)
}

// awaits implements recorder. Steps of an exchange wait for their lane and edge alone.
func (r *flatRule) awaits(workload.Op) {
	panic("collective: BUG: a step of an exchange waits for another lane")
}

// take implements recorder.
func (r *flatRule) take(e *edge) {
	s := &r.steps[len(r.steps)-1]
	s.edge, s.takes = e.nr, true
}

// put implements recorder.
func (r *flatRule) put(e *edge, bytes units.Bytes, folded bool) {
	s := &r.steps[len(r.steps)-1]
	s.edge, s.folded, s.wire = e.nr, folded, r.onWire(bytes)
	if int(e.nr) == len(r.puts) {
		r.puts = append(r.puts, nil)
	}
	r.puts[e.nr] = append(r.puts[e.nr], int32(len(r.steps)-1))
}

// settle numbers lanes by rank, so many for each. What steps move goes over the ways of edges.
func (r *flatRule) settle() (perRank int) {
	slots := make([]int, len(r.Ranks))
	for _, l := range r.order {
		slots[l.rank]++
		perRank = max(perRank, slots[l.rank])
	}
	lanes := make([][]int32, len(r.Ranks)*perRank)
	clear(slots)
	for k, l := range r.order {
		lanes[l.rank*perRank+slots[l.rank]] = r.lanes[k]
		slots[l.rank]++
	}
	r.lanes = lanes
	return perRank
}

// orders is how many places an iteration has.
func (r *flatRule) orders() uint64 { return r.first + uint64(len(r.steps))*ringPlaces }

// Steps implements workload.ProgramRule.
func (r *flatRule) Steps(lane int32) int { return len(r.lanes[lane]) }

// Step implements workload.ProgramRule.
func (r *flatRule) Step(lane int32, k int, s *workload.ProgramStep) {
	n := r.lanes[lane][k]
	x := &r.steps[n]
	s.Order, s.Label, s.From, s.To = r.first+uint64(n)*ringPlaces, x.label, x.from, x.to
	s.Bytes, s.Work, s.Folded = x.bytes, x.work, x.folded
	s.Takes, s.Puts, s.After = s.Takes[:0], s.Puts[:0], s.After[:0]
	if x.takes {
		s.Takes = append(s.Takes, x.edge)
	} else {
		s.Puts = append(s.Puts, x.edge)
	}
}

// Unit implements workload.ProgramRule.
func (r *flatRule) Unit(edge int32, k int) (order uint64, put int, wire units.Bytes) {
	n := r.puts[edge][k]
	return r.first + uint64(n)*ringPlaces, 0, r.steps[n].wire
}

// units implements edgeRule.
func (r *flatRule) units(edge int32) int { return len(r.puts[edge]) }

// carried implements edgeRule.
func (r *flatRule) carried(edge int32) (sum, most units.Bytes) {
	for _, n := range r.puts[edge] {
		sum, most = sum+r.steps[n].wire, max(most, r.steps[n].wire)
	}
	return sum, most
}

// spans implements edgeRule.
func (r *flatRule) spans() []span { return r.groups }

// piece is one of a transfer.
type piece struct {
	pair  [2]int
	work  int // its number among the transfers that share a thread block
	bytes units.Bytes
	chunk units.Bytes
}

// exchangeSizes is exchange where each pair has a size of its own: it takes as many channels and such chunks as that is
// worth, and pieces of all pairs take turns as those of equal sizes do.
func (b *builder) exchangeSizes(pairs [][2]int, base int) {
	flat := b.records.(*flatRule)
	b.works = 1
	if b.onGPUs() {
		b.works = max(1, len(pairs)/len(b.Ranks))
	}
	most := 0
	parts := make([]int, len(pairs))
	for i, p := range pairs {
		if bytes := b.Sizes[p[0]][p[1]]; bytes > 0 {
			parts[i] = b.peers.parts(bytes)
		}
		most = max(most, parts[i])
	}
	usual := b.chunk
	for k := range most {
		b.channel = b.peers.channel(base, k)
		b.used[b.channel] = true
		flat.group()
		var turns [][]piece // by turn: a piece of each pair that has so many
		for i, p := range pairs {
			if k >= parts[i] {
				continue
			}
			bytes, chunk := b.Sizes[p[0]][p[1]], usual
			if b.ownChunk {
				chunk = b.peers.chunk(bytes)
			}
			for n, size := range b.pieces(share(bytes, parts[i], k), chunk) {
				if n == len(turns) {
					turns = append(turns, nil)
				}
				turns[n] = append(turns[n], piece{p, b.work(i), size, chunk})
			}
		}
		for _, turn := range turns {
			for _, x := range turn {
				b.chunk = x.chunk
				b.add(step{lane: b.lane(x.pair[0], sending+2*x.work), label: "send", bytes: x.bytes,
					to: []*edge{b.pair(x.pair[0], x.pair[1])}})
			}
			for _, x := range turn {
				b.chunk = x.chunk
				b.add(step{lane: b.lane(x.pair[1], receiving+2*x.work), label: "receive", bytes: x.bytes,
					from: []*edge{b.pair(x.pair[0], x.pair[1])}})
			}
		}
	}
	b.chunk = usual
}
