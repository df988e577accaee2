package collective

import (
	"slices"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// loop is a ring of the channel at hand.
type loop struct {
	ranks []int // in the order in which data pass
	via   []int // whose network port each leaves by
}

// loop is the ring of the channel at hand: the ranks in their order, or where several
// hosts have more than one those of each host in turn. Each way between hosts stays on a rail,
// which leads from a port to the one of the same number: of an even number of hosts
// every other one has the ring the other way round (NCCL's alternating rings), in by
// one port and out by the one before. Else the last GPU of each host hands its data to
// the first, whose port they leave by (NCCL's PXN).
func (b *builder) loop() loop {
	var l loop
	hosts := hostsOf(b.Ranks)
	if b.Algorithm == SingleRing || len(hosts) == 1 || len(hosts) == len(b.Ranks) {
		for i := range b.Ranks {
			l.ranks, l.via = append(l.ranks, i), append(l.via, i)
		}
		return l
	}
	for h, members := range hosts {
		heads := b.heads(members)
		first, last := heads[b.channel%len(heads)], heads[(b.channel+len(heads)-1)%len(heads)]
		alternate := len(hosts)%2 == 0 && first != last
		order := passing(members, first, last)
		if alternate && h%2 == 1 {
			slices.Reverse(order)
		}
		for _, rank := range order {
			via := first
			if alternate {
				via = rank
			}
			l.ranks, l.via = append(l.ranks, rank), append(l.via, via)
		}
	}
	return l
}

// heads are, by network port of a host, the rank nearest to its card.
func (b *builder) heads(members []int) (heads []int) {
	for _, m := range members {
		k := slices.IndexFunc(heads, func(h int) bool { return b.Ranks[h].Endpoint == b.Ranks[m].Endpoint })
		switch {
		case k < 0:
			heads = append(heads, m)
		case b.Ranks[m].Distance < b.Ranks[heads[k]].Distance:
			heads[k] = m
		}
	}
	slices.SortFunc(heads, func(x, y int) int { return b.Ranks[x].Endpoint - b.Ranks[y].Endpoint })
	return heads
}

// passing are the members from the first on, around, with the last at the end.
func passing(members []int, first, last int) (order []int) {
	at := slices.Index(members, first)
	for k := range members {
		if m := members[(at+k)%len(members)]; m != last || first == last {
			order = append(order, m)
		}
	}
	if first != last {
		order = append(order, last)
	}
	return order
}

// next is the edge from position p of the ring to the one behind.
func (b *builder) next(l *loop, p int) *edge {
	to := l.ranks[(p+1)%len(l.ranks)]
	via := l.via[p]
	if b.Ranks[l.ranks[p]].Host == b.Ranks[to].Host {
		via = l.ranks[p]
	}
	return b.edge(l.ranks[p], to, via)
}

// ring appends AllReduce, ReduceScatter or AllGather of the channel's part of the
// data, as NCCL's ring kernels loop over it.
func (b *builder) ring(bytes units.Bytes) {
	l := b.loop()
	rounds := b.rounds(len(l.ranks), bytes)
	for r := range rounds.count {
		b.round(&l, rounds.of(r))
	}
}

// round appends one round of the ring over n chunks.
func (b *builder) round(l *loop, r round) {
	lanes, edges := make([]*lane, r.n), make([]*edge, r.n)
	for p, rank := range l.ranks {
		lanes[p], edges[p] = b.lane(rank, 0), b.next(l, p)
	}
	for s := range r.last + 1 {
		for p := range r.n {
			before := (p + r.n - 1) % r.n
			for q := range r.slices {
				st := step{lane: lanes[p], label: b.Op.ringWord(s, r.n).String(), bytes: r.bytes(p, s, q)}
				if s > 0 {
					st.from = edges[before : before+1]
				}
				if s < r.last {
					st.to = edges[p : p+1]
				}
				b.add(st)
			}
		}
	}
}

// rounds are those of a ring over n ranks, each over as much as all chunks hold.
type rounds struct {
	*builder
	n, count   int
	data, most units.Bytes // in all, and of a round
}

func (b *builder) rounds(n int, bytes units.Bytes) rounds {
	r := rounds{builder: b, n: n, data: bytes, most: units.Bytes(n) * b.chunk}
	r.count = int((bytes + r.most - 1) / r.most)
	return r
}

// of is round k. Over TCP, whose messages on a connection are alike, all are of the same
// length, else all but the last.
func (r *rounds) of(k int) round {
	data := min(r.data-units.Bytes(k)*r.most, r.most)
	if r.opt.Service == workload.TCP {
		data = share(r.data, r.count, k)
	}
	last := r.n - 1
	if r.Op == AllReduce {
		last = 2*r.n - 2
	}
	return round{data, r.n, last, r.slicesOf(share(data, r.n, 0))}
}

// round is one of a ring over n ranks: steps 0 to last, of so many slices each. In the last
// nothing is sent on.
type round struct {
	data            units.Bytes
	n, last, slices int
}

// bytes is what slice q of step s carries at position p of the ring: part of chunk p-1-s.
func (r *round) bytes(p, s, q int) units.Bytes {
	chunk := share(r.data, r.n, ((p-1-s)%r.n+r.n)%r.n)
	return share(chunk, r.slices, q)
}

// slicesOf is into how many messages a chunk is cut.
func (b *builder) slicesOf(chunk units.Bytes) int {
	if chunk <= minSlice {
		return 1
	}
	return b.slices
}

// ringWord is what a step of a ring does.
type ringWord uint8

// What steps of rings do.
const (
	ringSend ringWord = iota
	ringReduceAndSend
	ringCopyAndSend
	ringReduceLast
	ringReceive
	ringWords
)

func (w ringWord) String() string {
	return [...]string{"send", "reduce and send", "copy and send", "reduce the last", "receive"}[w]
}

// sends reports whether the step passes something on.
func (w ringWord) sends() bool { return w <= ringCopyAndSend }

// ringWord is what step s of n ranks does.
func (o Op) ringWord(s, n int) ringWord {
	switch {
	case s == 0:
		return ringSend
	case s == n-1 && o == ReduceScatter:
		return ringReduceLast
	case s == n-1 && o == AllGather, s == 2*n-2:
		return ringReceive
	case o == AllGather || s > n-1:
		return ringCopyAndSend
	}
	return ringReduceAndSend
}

// chain appends Broadcast: along the ring from its root.
func (b *builder) chain(bytes units.Bytes) {
	l := b.loop()
	l.turnTo(b.Root)
	n := len(l.ranks)
	b.repeat(bytes, b.chunk, func(part units.Bytes) {
		for p := range n {
			st := step{lane: b.lane(l.ranks[p], 0), label: chainWord(p, n).String(), bytes: part}
			if p > 0 {
				st.from = []*edge{b.next(&l, p-1)}
			}
			if p < n-1 {
				st.to = []*edge{b.next(&l, p)}
			}
			b.add(st)
		}
	})
}

// turnTo has the ring begin at a rank.
func (l *loop) turnTo(rank int) {
	k := slices.Index(l.ranks, rank)
	l.ranks = slices.Concat(l.ranks[k:], l.ranks[:k])
	l.via = slices.Concat(l.via[k:], l.via[:k])
}

// chainWord is what the steps at position p of a chain of n ranks do.
func chainWord(p, n int) ringWord {
	switch p {
	case 0:
		return ringSend
	case n - 1:
		return ringReceive
	}
	return ringCopyAndSend
}
