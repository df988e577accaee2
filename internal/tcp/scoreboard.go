package tcp

import "github.com/hopscope/hopscope/internal/units"

// none is no index.
const none = ^uint32(0)

// sentSegment is one segment on the wire that is not acknowledged cumulatively.
// Super-segments have a record per segment they are cut into, so that SACK blocks
// end where records do.
type sentSegment struct {
	seq        uint64
	at         units.Time // latest transmission
	order      uint32     // of latest transmissions: larger is later
	len        uint32     // sequence numbers: payload, and one for a FIN
	prev, next uint32     // in order of latest transmission
	sacked     bool
	lost       bool // and not acknowledged since
	retrans    bool // a retransmission is in the network
	again      bool // was retransmitted ever
	fin        bool
	listed     bool // in the list by transmission
}

func (s *sentSegment) end() uint64 { return s.seq + uint64(s.len) }

// scoreboard is the retransmission queue: a ring of segments in order of sequence
// numbers, and through it a list of those that may still arrive, in the order of
// their latest transmission (RACK). Indices count up for ever and wrap.
type scoreboard struct {
	ring       []sentSegment // a power of two
	head, tail uint32        // head..tail are in use
	first      uint32        // of the list; none when it is empty
	last       uint32
	resend     uint32 // no segment before it is lost and waits to be sent again
	// RFC 6675: segments before judged are not looked at again, and hold
	// sackedBelow of the bytes in sacked.
	judged      uint32
	sends       uint32 // transmissions so far
	sackedBelow int64
	// Bytes: selectively acknowledged; taken for lost; sent again and in the network.
	sacked, lost, retrans int64
	sackedSegs            int
}

func (b *scoreboard) clear() {
	*b = scoreboard{ring: b.ring, first: none, last: none, sends: b.sends}
}

func (b *scoreboard) at(i uint32) *sentSegment { return &b.ring[i&uint32(len(b.ring)-1)] }

func (b *scoreboard) empty() bool { return b.head == b.tail }

func (b *scoreboard) count() int { return int(b.tail - b.head) }

// push appends a segment that is sent at now.
func (b *scoreboard) push(now units.Time, seq uint64, n uint32, fin bool) {
	if int(b.tail-b.head) == len(b.ring) {
		b.grow()
	}
	if b.empty() {
		b.first, b.last = none, none
		b.resend, b.judged, b.sackedBelow = b.tail, b.tail, 0
	}
	*b.at(b.tail) = sentSegment{seq: seq, at: now, len: n, fin: fin}
	b.append(b.tail)
	b.tail++
}

func (b *scoreboard) grow() {
	old := b.ring
	b.ring = make([]sentSegment, max(2*len(old), 16))
	for i := b.head; i != b.tail; i++ {
		*b.at(i) = old[i&uint32(len(old)-1)]
	}
}

// append puts segment i at the end of the list.
func (b *scoreboard) append(i uint32) {
	s := b.at(i)
	b.sends++
	s.prev, s.next, s.listed, s.order = b.last, none, true, b.sends
	if b.last == none {
		b.first = i
	} else {
		b.at(b.last).next = i
	}
	b.last = i
}

// unlist takes segment i off the list.
func (b *scoreboard) unlist(s *sentSegment) {
	if !s.listed {
		return
	}
	s.listed = false
	if s.prev == none {
		b.first = s.next
	} else {
		b.at(s.prev).next = s.next
	}
	if s.next == none {
		b.last = s.prev
	} else {
		b.at(s.next).prev = s.prev
	}
}

// leave ends s's part in the counts of what is lost and what was sent again.
func (b *scoreboard) leave(s *sentSegment) {
	if s.lost {
		b.lost -= int64(s.len)
		s.lost = false
	}
	if s.retrans {
		b.retrans -= int64(s.len)
		s.retrans = false
	}
	b.unlist(s)
}

// sack marks segment i as selectively acknowledged.
func (b *scoreboard) sack(i uint32) {
	s := b.at(i)
	b.leave(s)
	s.sacked = true
	b.sacked += int64(s.len)
	b.sackedSegs++
	if int32(i-b.judged) < 0 {
		b.sackedBelow += int64(s.len)
	}
}

// pop forgets the first segment.
func (b *scoreboard) pop() {
	s := b.at(b.head)
	b.leave(s)
	if s.sacked {
		b.sacked -= int64(s.len)
		b.sackedSegs--
		if int32(b.head-b.judged) < 0 {
			b.sackedBelow -= int64(s.len)
		}
	}
	b.head++
	if int32(b.resend-b.head) < 0 {
		b.resend = b.head
	}
	if int32(b.judged-b.head) < 0 {
		b.judged, b.sackedBelow = b.head, 0
	}
}

// trim forgets the first n sequence numbers of the first segment, which has more.
func (b *scoreboard) trim(n uint32) {
	s := b.at(b.head)
	if s.sacked {
		b.sacked -= int64(n)
		if int32(b.head-b.judged) < 0 {
			b.sackedBelow -= int64(n)
		}
	}
	if s.lost {
		b.lost -= int64(n)
	}
	if s.retrans {
		b.retrans -= int64(n)
	}
	s.seq += uint64(n)
	s.len -= n
}

// lose marks segment i as lost: it, or its retransmission, is no longer in the
// network. It reports whether that is news.
func (b *scoreboard) lose(i uint32) bool {
	s := b.at(i)
	if s.sacked || s.lost && !s.retrans {
		return false
	}
	if s.retrans {
		s.retrans = false
		b.retrans -= int64(s.len)
	}
	if !s.lost {
		s.lost = true
		b.lost += int64(s.len)
	}
	b.unlist(s)
	if int32(i-b.resend) < 0 {
		b.resend = i
	}
	return true
}

// nextLost is the first segment to be sent again; none if there is none.
func (b *scoreboard) nextLost() uint32 {
	if b.lost == b.retrans {
		return none
	}
	for ; b.resend != b.tail; b.resend++ {
		if s := b.at(b.resend); s.lost && !s.retrans {
			return b.resend
		}
	}
	return none
}

// resent notes that segment i was sent again at now.
func (b *scoreboard) resent(now units.Time, i uint32) {
	s := b.at(i)
	s.at, s.again = now, true
	if s.lost && !s.retrans {
		s.retrans = true
		b.retrans += int64(s.len)
	}
	b.unlist(s)
	b.append(i)
}

// find returns the first segment at or behind seq, by halving: sequence numbers
// rise with the index.
func (b *scoreboard) find(seq uint64) uint32 {
	lo, n := b.head, b.tail-b.head
	for n > 0 {
		half := n / 2
		if b.at(lo+half).seq < seq {
			lo, n = lo+half+1, n-half-1
		} else {
			n = half
		}
	}
	return lo
}

// listHead is the segment whose latest transmission is the oldest; none if
// everything arrived or is known to be lost.
func (b *scoreboard) listHead() uint32 {
	if b.empty() {
		return none
	}
	return b.first
}
