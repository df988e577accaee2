package tcp

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// carried is the bytes themselves, in runs that ask for them: what was written and
// not acknowledged, and what arrived and was not read, both in rings by sequence
// number.
type carried struct {
	snd, rcv ring
	out      []byte // payload of the latest segment polled
}

// ring holds bytes at their sequence numbers; its size is a power of two.
type ring struct{ b []byte }

// grow makes room for n bytes, keeping those from low to high.
func (r *ring) grow(n int64, low, high uint64) {
	if int64(len(r.b)) >= n {
		return
	}
	old := *r
	r.b = make([]byte, 1<<bits.Len64(uint64(n-1)))
	if len(old.b) == 0 {
		return
	}
	for s := low; s < high; {
		part := old.part(s, high)
		r.put(s, part)
		s += uint64(len(part))
	}
}

// part is the bytes from seq on, up to end or to where the ring wraps.
func (r *ring) part(seq, end uint64) []byte {
	from := seq & uint64(len(r.b)-1)
	return r.b[from:min(from+end-seq, uint64(len(r.b)))]
}

// put stores bytes from seq on.
func (r *ring) put(seq uint64, b []byte) {
	for len(b) > 0 {
		n := copy(r.part(seq, seq+uint64(len(b))), b)
		b, seq = b[n:], seq+uint64(n)
	}
}

// get fills b with the bytes from seq on.
func (r *ring) get(seq uint64, b []byte) {
	for len(b) > 0 {
		n := copy(b, r.part(seq, seq+uint64(len(b))))
		b, seq = b[n:], seq+uint64(n)
	}
}

// CarryData makes c carry the bytes of the stream, not only their number:
// WriteBytes and ReadBytes then move them, and segments have them in their side
// record. Both ends must carry them, and say so after Init and before Open or Listen.
func (c *Conn) CarryData() { c.data = &carried{} }

// WriteBytes is Write of the bytes of b, of a connection that carries them.
func (c *Conn) WriteBytes(now units.Time, b []byte) int64 {
	at := c.end
	n := c.Write(now, int64(len(b)))
	c.data.snd.grow(c.sndBuf, c.una, at)
	c.data.snd.put(at, b[:n])
	return n
}

// ReadBytes is Read into b, of a connection that carries bytes.
func (c *Conn) ReadBytes(now units.Time, b []byte) int64 {
	at := c.read
	if n := min(int64(len(b)), c.readable()); n > 0 {
		c.data.rcv.get(at, b[:n])
	}
	return c.Read(now, int64(len(b)))
}

// attach puts n bytes from seq into the segment's side record.
func (c *Conn) attach(seq uint64, n int64) {
	d := c.data
	if int64(cap(d.out)) < n {
		d.out = make([]byte, n)
	}
	d.out = d.out[:n]
	if mutantResend && seq+uint64(n) < c.nxt {
		seq++
	}
	d.snd.get(seq, d.out)
	c.side.Data, c.hasSide = d.out, true
}

// keep stores the bytes of r that a segment from seq brings.
func (c *Conn) keep(side *packet.Side, seq uint64, r span) {
	if c.data == nil || side == nil || side.Data == nil || r.start >= r.end {
		return
	}
	c.data.rcv.grow(int64(c.rcvAdv-c.read), c.read, c.rcvAdv)
	if mutantAhead && r.start > c.rcvNxt {
		seq, r.start = seq-1, r.start-1
		r.end--
	}
	c.data.rcv.put(r.start, side.Data[r.start-seq:r.end-seq])
}

// CutData is the payload of segment i of those that the super-segment p with this
// payload is cut into.
func CutData(p *packet.Packet, data []byte, i int) []byte {
	size := SegmentSize(p)
	if size == 0 || data == nil {
		return data
	}
	if mutantCutFirst {
		return data[:min(size, len(data)-i*size)]
	}
	return data[i*size : min((i+1)*size, len(data))]
}
