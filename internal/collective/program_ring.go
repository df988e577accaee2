package collective

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// ringRule makes the steps of rings. Lane l is channel l mod channels of rank l / channels.
type ringRule struct {
	*builder
	channels                  []ringChannel
	rate                      units.Rate // of a block
	inside, outside, receives [ringWords]uint16
	orders                    uint64
}

// ringChannel is the ring of a channel. Its edges, from the first on, lead away from its
// positions.
type ringChannel struct {
	loop
	span
	position    []int32 // by rank
	order       uint64  // of its first step
	rounds      rounds
	whole, rest round // all rounds but the last, and that
}

// ringPlaces is how many places in the order of operations a step has.
const ringPlaces = 1 + workload.SubOrders

// ringRule makes the rings of all channels, and their edges.
func (b *builder) ringRule() *ringRule {
	r := &ringRule{builder: b, rate: b.blockRate(), channels: make([]ringChannel,
		b.Channels), orders: uint64(len(b.Ranks))}
	n := len(b.Ranks)
	for b.channel = range b.Channels {
		c := &r.channels[b.channel]
		bytes := share(b.Bytes, b.Channels, b.channel)
		c.loop, c.first, c.edges, c.order = b.loop(), len(b.all), n, r.orders
		c.rounds = b.rounds(n, bytes)
		c.whole, c.rest = c.rounds.of(0), c.rounds.of(c.rounds.count-1)
		r.orders += uint64((c.rounds.count-1)*c.whole.steps()+c.rest.steps()) * uint64(n) * ringPlaces
		c.position = make([]int32, n)
		for p, rank := range c.ranks {
			c.position[rank] = int32(p)
			b.next(&c.loop, p)
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
	return (c.rounds.count-1)*c.whole.steps() + c.rest.steps()
}

// Step implements workload.ProgramRule.
func (r *ringRule) Step(lane int32, k int, s *workload.ProgramStep) {
	rank, c := int(lane)/len(r.channels), &r.channels[int(lane)%len(r.channels)]
	p, n := int(c.position[rank]), len(c.ranks)
	turn, x := k/c.whole.steps(), &c.whole
	if turn >= c.rounds.count-1 {
		turn, x = c.rounds.count-1, &c.rest
	}
	k -= turn * c.whole.steps()
	at, slice := k/x.slices, k%x.slices
	word, bytes := r.Op.ringWord(at, n), x.bytes(p, at, slice)
	s.Takes, s.Puts, s.After, s.Order = s.Takes[:0], s.Puts[:0], s.After[:0], c.ringOrder(p, turn, at, slice, x)
	if at > 0 {
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
	s.From, s.To, s.Bytes, s.Work, s.Folded = rank.Device, rank.Device, bytes, 0, false
	switch {
	case to == nil:
		s.Label = r.receives[word]
	case to.local:
		s.Label = r.inside[word]
	default:
		s.Label = r.outside[word]
	}
	if to != nil && (to.local || to.via != to.from) {
		s.To, s.Bytes, s.Folded = to.next(), r.onWire(bytes), true
	}
	if rank.Device != workload.NoDevice {
		s.Work = r.blockWork(r.rate, bytes)
	}
}

// ringOrder is the place of a slice of a step in a round: all positions take a step, then the next.
func (c *ringChannel) ringOrder(p, turn, at, slice int, x *round) uint64 {
	n := len(c.ranks)
	return c.order + uint64(turn*c.whole.steps()*n+(at*n+p)*x.slices+slice)*ringPlaces
}

// Unit implements workload.ProgramRule.
func (r *ringRule) Unit(edge int32, k int) (order uint64, put int, wire units.Bytes) {
	c := r.channelOf(edge)
	p := int(edge) - c.first
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

// Turns implements workload.ProgramTurns: each ring is turned, its chunks are of one size, and no host is
// turned past the end of the ring in parts.
func (r *ringRule) Turns(to []int32) (why string) {
	for k := range r.channels {
		c := &r.channels[k]
		n := len(c.ranks)
		if !c.whole.even() || !c.rest.even() {
			return "chunks have different sizes"
		}
		places := make(map[int]int32) // by host: by how many its ranks are turned
		for rank := range r.Ranks {
			p, q := c.position[rank], c.position[to[rank]]
			if to[c.ranks[(int(p)+1)%n]] != int32(c.ranks[(int(q)+1)%n]) {
				return workload.OtherOrder
			}
			d, known := places[r.Ranks[rank].Host]
			if known && d != q-p {
				return "ranks of a server are not next to each other"
			}
			places[r.Ranks[rank].Host] = q - p
		}
	}
	return ""
}

// even reports whether all chunks have the same size.
func (r *round) even() bool { return share(r.data, r.n, 0) == share(r.data, r.n, r.n-1) }

// channelOf is that of an edge: all have as many.
func (r *ringRule) channelOf(edge int32) *ringChannel {
	return &r.channels[int(edge)/r.channels[0].edges]
}

// spans implements edgeRule.
func (r *ringRule) spans() (out []span) {
	for k := range r.channels {
		out = append(out, r.channels[k].span)
	}
	return out
}

// units implements edgeRule.
func (r *ringRule) units(edge int32) int {
	c := r.channelOf(edge)
	return (c.rounds.count-1)*c.whole.units() + c.rest.units()
}

// carried implements edgeRule.
func (r *ringRule) carried(edge int32) (sum, most units.Bytes) {
	c := r.channelOf(edge)
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
