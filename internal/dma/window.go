package dma

import "github.com/hopscope/hopscope/internal/units"

// window bounds the bytes of posted writes between the start of their transmission
// over a link and their leaving the buffer at its end: the credits that the receiver
// has given. Bytes enter and leave it evenly while their write is on its way, and
// what entered first leaves first.
type window struct {
	size  units.Bytes
	used  units.Bytes
	at    units.Time // when the room that was taken so far became free
	holds []hold     // a ring; as long as was needed, so that it stays in the cache
	first uint16
	n     uint16
}

// hold is what one write takes of a window; it gives the room back from one time to
// another.
type hold struct {
	bytes    units.Bytes
	from, to units.Time
}

// maxHolds is the number of writes in a receiver's buffer at most; the ring has room for
// leastHolds, and doubles. Both are powers of two.
const (
	leastHolds = 8
	maxHolds   = 128
)

// forget drops what gave its room back by now; nobody asks for an earlier time.
func (w *window) forget(now units.Time) {
	for w.n > 0 && w.holds[w.first].to <= now {
		w.pop()
	}
}

func (w *window) pop() {
	w.used -= w.holds[w.first].bytes
	w.first = (w.first + 1) & uint16(len(w.holds)-1)
	w.n--
}

// room makes room for n bytes and says since when there is. It is not before the
// time that was found for the bytes before. A piece larger than the window waits until it is
// empty.
func (w *window) room(n units.Bytes) units.Time {
	for w.n > 0 && w.used+n > w.size {
		h := &w.holds[w.first]
		need := w.used + n - w.size
		if need >= h.bytes {
			w.at = max(w.at, h.to)
			w.pop()
			continue
		}
		h.from += units.Time(int64(h.to-h.from) * int64(need) / int64(h.bytes))
		h.bytes -= need
		w.used -= need
		w.at = max(w.at, h.from)
	}
	if w.n == maxHolds {
		w.at = max(w.at, w.holds[w.first].to)
		w.pop()
	}
	return w.at
}

// hold takes room for n bytes, which is given back from one time to another; room
// must have been asked for before.
func (w *window) hold(n units.Bytes, from, to units.Time) {
	if int(w.n) == len(w.holds) {
		w.grow()
	}
	w.holds[(w.first+w.n)&uint16(len(w.holds)-1)] = hold{n, from, to}
	w.n++
	w.used += n
}

// grow doubles the ring.
func (w *window) grow() {
	holds := make([]hold, max(leastHolds, 2*len(w.holds)))
	n := copy(holds, w.holds[w.first:])
	copy(holds[n:], w.holds[:w.first])
	w.holds, w.first = holds, 0
}
