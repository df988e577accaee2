package iwarp

import (
	"sort"

	"github.com/hopscope/hopscope/wire"
)

// unitKind says what an FPDU, or what else stands for itself in the stream, is part of.
type unitKind uint8

const (
	unitStart  unitKind = iota // a frame of MPA's start-up
	unitWork                   // a SEND or WRITE: msg is its place on the send queue
	unitRead                   // a READ's request, likewise
	unitRTR                    // the empty READ of the start-up
	unitAnswer                 // a READ response: msg is the serial of its request
	unitTerm                   // a Terminate message
)

// unit is an FPDU that is planned, or given to TCP and not acknowledged.
type unit struct {
	at      int64 // in the stream
	ddp     wire.DDP
	length  uint32 // in the stream
	payload uint32 // of RDMAP
	va      uint64 // where it lies, and in which region; 0: nowhere
	key     uint32
	msg     uint32
	kind    unitKind
	last    bool // of its message
}

// unitRing holds units from head, the oldest that is not acknowledged, over written, the first that is not given to
// TCP, to tail.
type unitRing struct {
	buf                 []unit // a power of two
	head, written, tail uint32
}

func (r *unitRing) at(i uint32) *unit { return &r.buf[i&uint32(len(r.buf)-1)] }

// plan appends a unit and returns it.
func (r *unitRing) plan(u unit) *unit {
	if r.tail-r.head == uint32(len(r.buf)) {
		old := *r
		r.buf = make([]unit, max(4, 2*len(old.buf)))
		for i := r.head; i != r.tail; i++ {
			*r.at(i) = *old.at(i)
		}
	}
	*r.at(r.tail) = u
	r.tail++
	return r.at(r.tail - 1)
}

// planned is the number of units that are not given to TCP.
func (r *unitRing) planned() int { return int(r.tail - r.written) }

// forget drops those.
func (r *unitRing) forget() { r.tail = r.written }

// find is the unit of which byte at of the stream is part; nil: it is acknowledged, or was never given to TCP.
func (r *unitRing) find(at int64) *unit {
	n := int(r.written - r.head)
	if n == 0 {
		return nil
	}
	k := n - 1 // what is sent a first time is in the last
	if r.at(r.head+uint32(k)).at > at {
		k = sort.Search(n, func(k int) bool { return r.at(r.head+uint32(k)).at > at }) - 1
	}
	if k < 0 {
		return nil
	}
	if u := r.at(r.head + uint32(k)); at < u.at+int64(u.length) {
		return u
	}
	return nil
}

// answers are the READs that a responder has taken up and not planned whole, and a ring of them.
type answers struct {
	buf        []answer
	head, tail uint32
	most       int
	waiting    int // taken up, and the last response to which is not given to TCP
}

// answer is a READ taken up.
type answer struct {
	request wire.ReadRequest
	serial  uint32
	off     uint32 // planned
}

func (a *answers) at(i uint32) *answer { return &a.buf[i&uint32(len(a.buf)-1)] }
func (a *answers) empty() bool         { return a.head == a.tail }
func (a *answers) clear()              { a.head, a.waiting = a.tail, 0 }

func (a *answers) push(x answer) {
	if a.tail-a.head == uint32(len(a.buf)) {
		old := *a
		a.buf = make([]answer, max(1, 2*len(old.buf)))
		for i := a.head; i != a.tail; i++ {
			*a.at(i) = *old.at(i)
		}
	}
	*a.at(a.tail) = x
	a.tail++
	a.waiting++
}

// OldestAnswer is the number of the first READ whose response is not acknowledged whole; one behind the latest: there
// is none.
func (q *QP) OldestAnswer() uint32 {
	for i := q.units.head; i != q.units.tail; i++ {
		if u := q.units.at(i); u.kind == unitAnswer {
			return u.msg
		}
	}
	if !q.answers.empty() {
		return q.answers.at(q.answers.head).serial
	}
	return q.serial + 1
}
