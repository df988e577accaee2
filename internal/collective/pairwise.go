package collective

import "github.com/hopscope/hopscope/internal/units"

// Lanes of point-to-point operations.
const (
	sending = iota
	receiving
)

// allToAll appends the rounds of a pairwise exchange: in round i each rank sends to
// the one i places on and receives from the one i places back. Each channel takes
// every Channels-th round; its sends and its receives take one step after the other.
func (b *builder) allToAll() {
	n := len(b.Ranks)
	part := b.Bytes / units.Bytes(n)
	for i := 1; i < n; i++ {
		b.channel = (i - 1) % b.Channels
		b.exchange(i, part)
	}
}

// sendRecv appends one round: each rank sends to the next. Its channels share the
// data.
func (b *builder) sendRecv() {
	for b.channel = range b.Channels {
		b.exchange(1, share(b.Bytes, b.Channels, b.channel))
	}
}

// exchange appends a transfer from every rank to the one i places on.
func (b *builder) exchange(i int, bytes units.Bytes) {
	n := len(b.Ranks)
	for _, part := range b.pieces(bytes, b.chunk) {
		for from := range n {
			b.add(step{lane: b.lane(from, sending), label: "send", bytes: part, to: []*edge{b.pair(from, (from+i)%n)}})
		}
		for from := range n {
			b.add(step{lane: b.lane((from+i)%n, receiving), label: "receive", bytes: part, from: []*edge{b.pair(from, (from+i)%n)}})
		}
	}
}

// pair is the edge between two ranks. It leaves the host by the port of the receiver's
// number, of the GPU that is nearest to it (NCCL's PXN), so that it stays on a rail.
func (b *builder) pair(from, to int) *edge {
	via := from
	if b.Ranks[from].Host != b.Ranks[to].Host {
		out, in := b.heads(b.membersOf(from)), b.heads(b.membersOf(to))
		for k, head := range in {
			if b.Ranks[head].Endpoint == b.Ranks[to].Endpoint && b.Ranks[out[k%len(out)]].Endpoint != b.Ranks[from].Endpoint {
				via = out[k%len(out)]
			}
		}
	}
	return b.edge(from, to, via)
}

// membersOf are the ranks of a rank's host.
func (b *builder) membersOf(rank int) []int {
	if b.members == nil {
		b.members = make(map[int][]int)
		for _, members := range hostsOf(b.Ranks) {
			b.members[b.Ranks[members[0]].Host] = members
		}
	}
	return b.members[b.Ranks[rank].Host]
}
