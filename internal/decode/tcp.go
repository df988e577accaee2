package decode

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/pcap"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// streamKey is one direction of a TCP connection.
type streamKey struct {
	src, dst         address
	srcPort, dstPort uint16
}

// stream is what one end of a TCP connection sends.
type stream struct {
	streamKey
	number int
	peer   *stream
	sights []*segments

	acked       uint32 // by the peer, at the first point
	hasAck      bool
	duplicates  int  // acknowledgements of acked in a row
	selective   bool // SACK blocks came since acked moved
	ackedBytes  int64
	lastAck     units.Time
	quickest    units.Time
	window      uint32
	fastPass    bool // resends since the last advance follow duplicate acknowledgements
	recoverUpto uint32
}

// segments are a stream at one capture point.
type segments struct {
	point       int
	packets     int64
	bytes       int64
	payload     int64
	first, last units.Time
	marked      record.Act
	capable     int64
	started     bool
	begin, next uint32
	holes       []span
	fast, rto   record.Act // segments sent again; sum: payload bytes
	unseen      record.Act
	late        record.Act
	timeouts    record.Act
	probes      int64 // of windows and of idle connections
	echoes      record.Act
	reduced     int64 // segments with CWR
	sacks       record.Act
	dupAcks     record.Act
	closed      record.Act // windows of 0
	sent        units.Time // the last segment with data
	way         times
	ends        *ring  // of segments, by their last byte
	backTo      uint32 // the end of what a timeout has sent again
	back        bool
}

type span struct {
	from, to uint32
	at       units.Time
}

// spread puts sequence numbers of equal steps into all places of a ring. No two have one value.
func spread(seq uint32) uint32 { return bits.Reverse32(seq * 0x9e3779b1) }

// maxSpans bounds the holes of a stream.
const maxSpans = 64

// seqDiff is how far a lies behind b in the circle of sequence numbers.
func seqDiff(a, b uint32) int32 { return int32(a - b) }

// tripleDuplicate is how many duplicate acknowledgements make a fast retransmission (RFC 5681 3.2).
const tripleDuplicate = 3

// leastRTO is the least retransmission timeout in common use (Linux; RFC 6298 wants 1 s).
const leastRTO = 200 * units.Millisecond

// segment takes a TCP segment.
func (d *Decoder) segment(p *pcap.Packet, f *frame) {
	key := streamKey{f.src, f.dst, f.tcp.SrcPort, f.tcp.DstPort}
	x := d.byStream[key]
	if x == nil {
		if len(d.streams) == maxStream {
			d.skipped[1]++
			return
		}
		x = &stream{streamKey: key, number: len(d.streams)}
		d.streams = append(d.streams, x)
		d.byStream[key] = x
		if x.peer = d.byStream[streamKey{f.dst, f.src, f.tcp.DstPort, f.tcp.SrcPort}]; x.peer != nil {
			x.peer.peer = x
		}
	}
	s := x.at(p.Point)
	if s.packets == 0 {
		s.first = d.now
	}
	s.last = d.now
	s.packets++
	s.bytes += int64(p.Length)
	s.payload += int64(f.payload)
	if f.ecn == ce {
		s.marked.Add(d.now, int64(p.Length))
	}
	if f.ecn != 0 {
		s.capable++
	}
	h := &f.tcp
	if h.Flags&wire.TCPSyn == 0 {
		if h.Flags&wire.TCPEce != 0 {
			s.echoes.Add(d.now, 0)
		}
		if h.Flags&wire.TCPCwr != 0 {
			s.reduced++
		}
	}
	d.acknowledges(x, s, f)
	d.data(x, s, f)
}

// at is the stream at a capture point.
func (x *stream) at(point int) *segments {
	for _, s := range x.sights {
		if s.point == point {
			return s
		}
	}
	s := &segments{point: point}
	x.sights = append(x.sights, s)
	return s
}

// acknowledges takes what a segment of x says of its peer's data.
func (d *Decoder) acknowledges(x *stream, s *segments, f *frame) {
	h := &f.tcp
	if h.Flags&wire.TCPAck == 0 || h.Flags&wire.TCPRst != 0 {
		return
	}
	if h.Options.SACKBlocks > 0 {
		s.sacks.Add(d.now, 0)
	}
	if h.Window == 0 && h.Flags&(wire.TCPSyn|wire.TCPFin) == 0 {
		s.closed.Add(d.now, 0)
	}
	q := x.peer
	if q == nil || s != x.sights[0] {
		return
	}
	bare := f.payload == 0 && h.Flags&(wire.TCPSyn|wire.TCPFin) == 0
	switch {
	case !q.hasAck || seqDiff(h.Ack, q.acked) > 0:
		if first, ok := q.begins(); ok && !q.hasAck && seqDiff(h.Ack, first) >= 0 {
			q.hasAck, q.acked = true, first
		}
		if q.hasAck {
			q.ackedBytes += int64(seqDiff(h.Ack, q.acked))
			if len(q.sights) > 0 {
				if at, ok := q.sights[0].sentAt(h.Ack); ok && (q.quickest == 0 || d.now-at < q.quickest) {
					q.quickest = max(d.now-at, 1)
				}
			}
		}
		q.hasAck, q.acked, q.duplicates, q.lastAck = true, h.Ack, 0, d.now
		q.selective = h.Options.SACKBlocks > 0
		if q.fastPass && seqDiff(h.Ack, q.recoverUpto) >= 0 {
			q.fastPass = false
		}
	case h.Ack == q.acked && bare && h.Window == uint16(q.window) && q.outstanding():
		// a duplicate, by RFC 5681 2
		q.duplicates++
		q.selective = q.selective || h.Options.SACKBlocks > 0
		if h.Options.SACKBlocks == 0 {
			s.dupAcks.Add(d.now, 0)
		}
	}
	q.window = uint32(h.Window)
}

// begins is the number of the first byte that was captured.
func (x *stream) begins() (uint32, bool) {
	if len(x.sights) == 0 {
		return 0, false
	}
	return x.sights[0].begin, x.sights[0].started
}

// outstanding reports whether data were sent that are not acknowledged.
func (x *stream) outstanding() bool {
	return len(x.sights) > 0 && x.sights[0].started && seqDiff(x.sights[0].next, x.acked) > 0
}

// sentAt is when the segment that ends there was sent.
func (s *segments) sentAt(end uint32) (units.Time, bool) {
	if s.ends == nil {
		return 0, false
	}
	return s.ends.get(spread(end))
}

// data takes what a segment carries.
func (d *Decoder) data(x *stream, s *segments, f *frame) {
	h := &f.tcp
	n := uint32(f.payload)
	if h.Flags&wire.TCPSyn != 0 {
		n++
	}
	if h.Flags&wire.TCPFin != 0 {
		n++
	}
	if !s.started {
		s.started, s.next, s.begin = true, h.Seq, h.Seq
		if h.Flags&wire.TCPSyn != 0 {
			s.begin++
		}
	}
	if n == 0 {
		if h.Flags&wire.TCPRst == 0 && h.Seq+1 == s.next { // keep-alive
			s.probes++
		}
		return
	}
	end := h.Seq + n
	fresh := false
	switch gap := seqDiff(h.Seq, s.next); {
	case gap >= 0:
		if gap > 0 && len(s.holes) < maxSpans {
			s.holes = append(s.holes, span{s.next, h.Seq, d.now})
		}
		s.next, fresh = end, true
	case n == 1 && h.Seq+1 == s.next: // a probe of an idle connection or of a window of 0
		s.probes++
		return
	default:
		d.resent(x, s, f, end)
		if seqDiff(end, s.next) > 0 {
			s.next = end
		}
	}
	s.sent = d.now
	if s.ends == nil {
		s.ends = newRing()
	}
	if fresh {
		s.ends.put(spread(end), f.tag(), d.now)
	} else if e := s.ends.entry(spread(end)); e.psn == spread(end) {
		e.tag.set = false // an answer could be to either (Karn)
	}
	home := x.sights[0]
	if s == home || !fresh || home.ends == nil {
		return
	}
	if at, ok := home.sentAt(end); ok {
		s.way.add(d.now - at)
	} else if home.ends.grow(d.ringLeft) {
		d.ringLeft -= home.ends.size() / 2
	}
}

// resent takes data that begin before the end of what was seen.
func (d *Decoder) resent(x *stream, s *segments, f *frame, end uint32) {
	payload := int64(f.payload)
	filledHole, at := s.fill(f.tcp.Seq, end)
	told := x.duplicates >= tripleDuplicate || x.selective
	switch {
	case told || x.fastPass && seqDiff(f.tcp.Seq, x.recoverUpto) < 0:
		if told && !x.fastPass {
			x.fastPass, x.recoverUpto = true, s.next
		}
		s.fast.Add(d.now, payload)
	case filledHole && d.now-at < max(leastTimeout, x.quickest):
		s.late.Add(d.now, payload)
	case x.peer != nil && d.now-max(s.sent, x.lastAck) >= leastRTO:
		s.timeouts.Add(d.now, int64(d.now-s.sent))
		s.rto.Add(d.now, payload)
		s.back, s.backTo = true, s.next
	case s.back && seqDiff(f.tcp.Seq, s.backTo) < 0:
		s.rto.Add(d.now, payload)
	default:
		s.unseen.Add(d.now, payload)
	}
}

// fill takes a range out of the holes, if it begins in one.
func (s *segments) fill(from, to uint32) (ok bool, at units.Time) {
	for i := range s.holes {
		h := &s.holes[i]
		if seqDiff(from, h.from) < 0 || seqDiff(from, h.to) >= 0 {
			continue
		}
		at = h.at
		left, right := span{h.from, from, at}, span{to, h.to, at}
		switch {
		case seqDiff(to, h.to) >= 0 && left.from == left.to:
			s.holes = append(s.holes[:i], s.holes[i+1:]...)
		case seqDiff(to, h.to) >= 0:
			*h = left
		case left.from == left.to:
			*h = right
		default:
			*h = left
			if len(s.holes) < maxSpans {
				s.holes = append(s.holes, right)
			}
		}
		return true, at
	}
	return false, 0
}
