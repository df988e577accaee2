package tcp

import "github.com/hopscope/hopscope/internal/packet"

// span is a range of sequence numbers, end not included.
type span struct{ start, end uint64 }

// reassembly is what arrived ahead of a missing segment: spans in order that do
// not touch, and the SACK blocks that report them, the latest first.
type reassembly struct {
	spans  []span
	recent [4]span
	n      int
	dsack  span // a duplicate to report once; empty: none
}

// add notes a range that arrived ahead. It reports the part of it that was there
// before, empty if none.
func (r *reassembly) add(in span) (dup span) {
	i := r.find(in.start)
	merged, j := in, i
	for ; j < len(r.spans) && r.spans[j].start <= in.end; j++ {
		s := r.spans[j]
		if lo, hi := max(s.start, in.start), min(s.end, in.end); lo < hi && dup.end == 0 {
			dup = span{lo, hi}
		}
		merged.start, merged.end = min(merged.start, s.start), max(merged.end, s.end)
	}
	if i == j {
		r.spans = append(r.spans, span{})
		copy(r.spans[i+1:], r.spans[i:])
	} else {
		r.spans = append(r.spans[:i+1], r.spans[j:]...)
	}
	r.spans[i] = merged
	r.report(merged)
	return dup
}

// find is the first span that ends at or behind seq.
func (r *reassembly) find(seq uint64) int {
	lo, n := 0, len(r.spans)
	for n > 0 {
		half := n / 2
		if r.spans[lo+half].end < seq {
			lo, n = lo+half+1, n-half-1
		} else {
			n = half
		}
	}
	return lo
}

// report puts s first among the SACK blocks; blocks that it swallowed go (RFC
// 2018 4).
func (r *reassembly) report(s span) {
	keep := [4]span{s}
	n := 1
	for _, b := range r.recent[:r.n] {
		if n < len(keep) && (b.start < s.start || b.end > s.end) {
			keep[n] = b
			n++
		}
	}
	r.recent, r.n = keep, n
}

// advance takes up to which number all has arrived once everything before nxt
// has, and forgets the spans before.
func (r *reassembly) advance(nxt uint64) uint64 {
	k := 0
	for k < len(r.spans) && r.spans[k].start <= nxt {
		nxt = max(nxt, r.spans[k].end)
		k++
	}
	if k > 0 {
		r.spans = append(r.spans[:0], r.spans[k:]...)
		n := 0
		for _, b := range r.recent[:r.n] {
			if b.end > nxt {
				r.recent[n] = b
				n++
			}
		}
		r.n = n
	}
	return nxt
}

// blocks fills side with the SACK blocks to send, at most room of them, a
// duplicate first (RFC 2883 4), and returns how many.
func (r *reassembly) blocks(side *packet.Side, room int) int {
	n := 0
	put := func(s span) {
		if n < room {
			side.SACK[n] = packet.SACKBlock{Left: uint32(s.start), Right: uint32(s.end)}
			n++
		}
	}
	if r.dsack.end != 0 {
		put(r.dsack)
	}
	for _, b := range r.recent[:r.n] {
		put(b)
	}
	side.SACKs = uint8(n)
	return n
}
