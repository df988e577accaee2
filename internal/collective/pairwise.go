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
			b.add(step{lane: b.lane(from, sending), label: "send", bytes: part, to: []*edge{b.edge(from, (from+i)%n, from)}})
		}
		for from := range n {
			b.add(step{lane: b.lane((from+i)%n, receiving), label: "receive", bytes: part, from: []*edge{b.edge(from, (from+i)%n, from)}})
		}
	}
}
