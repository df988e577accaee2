package collective

import (
	"slices"

	"github.com/hopscope/hopscope/internal/units"
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

// before is the edge into position p.
func (b *builder) before(l *loop, p int) *edge {
	n := len(l.ranks)
	return b.next(l, (p+n-1)%n)
}

// ring appends AllReduce, ReduceScatter or AllGather of the channel's part of the
// data, as NCCL's ring kernels loop over it.
func (b *builder) ring(bytes units.Bytes) {
	l := b.loop()
	n := units.Bytes(len(l.ranks))
	for _, part := range b.pieces(bytes, n*b.chunk) {
		b.round(&l, part)
	}
}

// round appends one round of the ring over n chunks. In step s the rank at position
// p sends chunk p-1-s.
func (b *builder) round(l *loop, bytes units.Bytes) {
	n := len(l.ranks)
	last := n - 1 // step in which nothing is sent on
	if b.Op == AllReduce {
		last = 2*n - 2
	}
	slices := b.slicesOf(share(bytes, n, 0))
	lanes, edges := make([]*lane, n), make([]*edge, n)
	for p, rank := range l.ranks {
		lanes[p], edges[p] = b.lane(rank, 0), b.next(l, p)
	}
	for s := range last + 1 {
		label := b.ringLabel(s, n)
		for p := range n {
			chunk := share(bytes, n, ((p-1-s)%n+n)%n)
			before := (p + n - 1) % n
			for q := range slices {
				st := step{lane: lanes[p], label: label, bytes: share(chunk, slices, q)}
				if s > 0 {
					st.from = edges[before : before+1]
				}
				if s < last {
					st.to = edges[p : p+1]
				}
				b.add(st)
			}
		}
	}
}

// slicesOf is into how many messages a chunk is cut.
func (b *builder) slicesOf(chunk units.Bytes) int {
	if chunk <= minSlice {
		return 1
	}
	return b.slices
}

// ringLabel says what step s of n ranks does.
func (b *builder) ringLabel(s, n int) string {
	switch {
	case s == 0:
		return "send"
	case s == n-1 && b.Op == ReduceScatter:
		return "reduce the last"
	case s == n-1 && b.Op == AllGather, s == 2*n-2:
		return "receive"
	case b.Op == AllGather || s > n-1:
		return "copy and send"
	}
	return "reduce and send"
}

// chain appends Broadcast: along the ring from its root.
func (b *builder) chain(bytes units.Bytes) {
	l := b.loop()
	n := len(l.ranks)
	first := 0
	for p, rank := range l.ranks {
		if rank == b.Root {
			first = p
		}
	}
	for _, part := range b.pieces(bytes, b.chunk) {
		for k := range n {
			p := (first + k) % n
			st := step{lane: b.lane(l.ranks[p], 0), label: "copy and send", bytes: part}
			if k > 0 {
				st.from = []*edge{b.before(&l, p)}
			} else {
				st.label = "send"
			}
			if k < n-1 {
				st.to = []*edge{b.next(&l, p)}
			} else {
				st.label = "receive"
			}
			b.add(st)
		}
	}
}
