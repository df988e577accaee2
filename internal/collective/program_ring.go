package collective

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// ringRule makes the steps of rings, and of chains along them. Lane l is channel l mod
// channels of rank l / channels.
type ringRule struct {
	*builder
	channels                  []ringChannel
	chain                     bool
	rate                      units.Rate // of a block
	inside, outside, receives [ringWords]uint16
	orders                    uint64
}

// ringChannel is the ring of a channel. Its edges, from the first on, lead away from its
// positions.
type ringChannel struct {
	loop
	first, edges int
	position     []int32 // by rank
	order        uint64  // of its first step
	rounds       rounds  // of a chain, whose chunks are alike, each has one step of a rank
	whole, rest  round   // all rounds but the last, and that
}

// ringPlaces is how many places in the order of operations a step has.
const ringPlaces = 1 + workload.SubOrders

// ringRule makes the rings of all channels, and their edges.
func (b *builder) ringRule() *ringRule {
	r := &ringRule{builder: b, chain: b.Op == Broadcast, rate: b.blockRate(), channels: make([]ringChannel,
		b.Channels), orders: uint64(len(b.Ranks))}
	n := len(b.Ranks)
	for b.channel = range b.Channels {
		c := &r.channels[b.channel]
		bytes := share(b.Bytes, b.Channels, b.channel)
		c.loop, c.first, c.edges, c.order = b.loop(), len(b.all), n, r.orders
		if r.chain {
			c.turnTo(b.Root)
			c.edges = n - 1
			c.rounds = rounds{builder: b, n: 1, count: int((bytes + b.chunk - 1) / b.chunk), data: bytes, most: b.chunk}
			r.orders += uint64(c.rounds.count*n) * ringPlaces
		} else {
			c.rounds = b.rounds(n, bytes)
			c.whole, c.rest = c.rounds.of(0), c.rounds.of(c.rounds.count-1)
			r.orders += uint64((c.rounds.count-1)*c.whole.steps()+c.rest.steps()) * uint64(n) * ringPlaces
		}
		c.position = make([]int32, n)
		for p, rank := range c.ranks {
			c.position[rank] = int32(p)
			if p < c.edges {
				b.next(&c.loop, p)
			}
		}
	}
	for w := range ringWords {
		r.inside[w] = b.label(w.String()+" inside", b.Costs.Inside)
		if w.sends() {
			r.outside[w] = b.label(w.String(), b.Costs.Outside)
		} else {
			r.receives[w] = b.label(w.String(), b.Costs.Receive)
		}
	}
	return r
}

// steps is how many a rank has in a round.
func (r *round) steps() int { return (r.last + 1) * r.slices }

// units is how many pass an edge in a round.
func (r *round) units() int { return r.last * r.slices }

// Steps implements workload.ProgramRule.
func (r *ringRule) Steps(lane int32) int {
	c := &r.channels[int(lane)%len(r.channels)]
	if r.chain {
		return c.rounds.count
	}
	return (c.rounds.count-1)*c.whole.steps() + c.rest.steps()
}

// Step implements workload.ProgramRule.
func (r *ringRule) Step(lane int32, k int, s *workload.ProgramStep) {
	rank, c := int(lane)/len(r.channels), &r.channels[int(lane)%len(r.channels)]
	p, n := int(c.position[rank]), len(c.ranks)
	s.Takes, s.Puts = s.Takes[:0], s.Puts[:0]
	var word ringWord
	var bytes units.Bytes
	takes := p > 0
	if r.chain {
		word, bytes, s.Order = chainWord(p, n), c.piece(k), c.chainOrder(p, k)
	} else {
		turn, x := k/c.whole.steps(), &c.whole
		if turn >= c.rounds.count-1 {
			turn, x = c.rounds.count-1, &c.rest
		}
		k -= turn * c.whole.steps()
		at, slice := k/x.slices, k%x.slices
		takes = at > 0
		word, bytes, s.Order = r.Op.ringWord(at, n), x.bytes(p, at, slice), c.ringOrder(p, turn, at, slice, x)
	}
	if takes {
		s.Takes = append(s.Takes, int32(c.first+(p+n-1)%n))
	}
	var to *edge
	if word.sends() {
		s.Puts = append(s.Puts, int32(c.first+p))
		to = r.all[c.first+p]
	}
	r.move(s, &r.Ranks[rank], word, bytes, to)
}

// move completes a step that carries bytes to an edge; nil: to none.
func (r *ringRule) move(s *workload.ProgramStep, rank *Rank, word ringWord, bytes units.Bytes, to *edge) {
	s.From, s.To, s.Bytes, s.Work, s.Wire, s.Folded = rank.Device, rank.Device, bytes, 0, r.onWire(bytes), false
	switch {
	case to == nil:
		s.Label = r.receives[word]
	case to.local:
		s.Label = r.inside[word]
	default:
		s.Label = r.outside[word]
	}
	if to != nil && (to.local || to.via != to.from) {
		s.To, s.Bytes, s.Folded = to.next(), s.Wire, true
	}
	if rank.Device != workload.NoDevice {
		s.Work = r.blockWork(r.rate, bytes)
	}
}

// piece is chunk k of a chain.
func (c *ringChannel) piece(k int) units.Bytes {
	return min(c.rounds.data-units.Bytes(k)*c.rounds.most, c.rounds.most)
}

// chainOrder is the place of step k at position p: a chunk goes along the chain, then the next.
func (c *ringChannel) chainOrder(p, k int) uint64 {
	return c.order + uint64(k*len(c.ranks)+p)*ringPlaces
}

// ringOrder is that of a slice of a step in a round: all positions take a step, then the next.
func (c *ringChannel) ringOrder(p, turn, at, slice int, x *round) uint64 {
	n := len(c.ranks)
	return c.order + uint64(turn*c.whole.steps()*n+(at*n+p)*x.slices+slice)*ringPlaces
}

// Unit implements workload.ProgramRule.
func (r *ringRule) Unit(edge int32, k int) (order uint64, put int, wire units.Bytes) {
	c := r.channelOf(edge)
	p := int(edge) - c.first
	if r.chain {
		return c.chainOrder(p, k), 0, r.onWire(c.piece(k))
	}
	turn, x := 0, &c.rest
	if c.rounds.count > 1 {
		turn, x = k/c.whole.units(), &c.whole
		if turn >= c.rounds.count-1 {
			turn, x = c.rounds.count-1, &c.rest
		}
		k -= turn * c.whole.units()
	}
	at, slice := k/x.slices, k%x.slices
	return c.ringOrder(p, turn, at, slice, x), 0, r.onWire(x.bytes(p, at, slice))
}

// channelOf is that of an edge: all have as many.
func (r *ringRule) channelOf(edge int32) *ringChannel {
	return &r.channels[int(edge)/r.channels[0].edges]
}

// units is how many pass an edge in an iteration.
func (r *ringRule) units(edge int32) int {
	c := r.channelOf(edge)
	if r.chain {
		return c.rounds.count
	}
	return (c.rounds.count-1)*c.whole.units() + c.rest.units()
}

// carried is what units bring over an edge in an iteration, on the wire, and the most that one
// does.
func (r *ringRule) carried(edge int32) (sum, most units.Bytes) {
	c := r.channelOf(edge)
	if r.chain {
		n := units.Bytes(c.rounds.count)
		most = r.onWire(c.piece(0))
		return (n-1)*most + r.onWire(c.piece(int(n)-1)), most
	}
	p := int(edge) - c.first
	of := func(x *round) (sum units.Bytes) {
		for at := range x.last {
			for q := range x.slices {
				sum += r.onWire(x.bytes(p, at, q))
			}
		}
		return sum
	}
	return units.Bytes(c.rounds.count-1)*of(&c.whole) + of(&c.rest), r.onWire(share(share(c.whole.data, c.whole.n,
		0), c.whole.slices, 0))
}
