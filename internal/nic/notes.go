package nic

import (
	"encoding/binary"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/units"
)

// What a host writes down of a message that is over is packed: numbers of variable
// length, most of them differences, in blocks that many messages share. Millions of
// messages are written down in a run and read once, after it.

// notes are packed records, in blocks that never move.
type notes struct {
	blocks [][]byte
	pen    []byte // the record that is being written
}

// Blocks double in size from the first to the largest, which a position can tell apart.
const (
	firstBlock   = 1 << 10
	largestBlock = 1 << blockBits
	blockBits    = 16
)

// newNotes are notes whose first records need no more room.
func newNotes() notes {
	blocks := make([][]byte, 1, 8)
	blocks[0] = make([]byte, 0, firstBlock)
	return notes{blocks: blocks, pen: make([]byte, 0, longestRecord)}
}

// longestRecord is about what the hops of the longest way take.
const longestRecord = 512

// put stores the record that the pen wrote and returns its position, from 1.
func (n *notes) put() uint64 {
	last := len(n.blocks) - 1
	if len(n.blocks[last])+len(n.pen) > cap(n.blocks[last]) {
		last++
		n.blocks = append(n.blocks, make([]byte, 0, max(len(n.pen), min(largestBlock, firstBlock<<min(last, blockBits)))))
	}
	at := len(n.blocks[last])
	n.blocks[last] = append(n.blocks[last], n.pen...)
	return (uint64(last)<<blockBits | uint64(at)) + 1
}

// begin empties the pen.
func (n *notes) begin() { n.pen = n.pen[:0] }

func (n *notes) number(v uint64)     { n.pen = binary.AppendUvarint(n.pen, v) }
func (n *notes) signed(t units.Time) { n.pen = binary.AppendVarint(n.pen, int64(t)) }
func (n *notes) read(at uint64) noted {
	return noted{n.blocks[(at-1)>>blockBits][(at-1)&(largestBlock-1):]}
}

// noted is what is left to read of a record.
type noted struct{ rest []byte }

func (r *noted) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.rest = r.rest[n:]
	return v
}

func (r *noted) signed() units.Time {
	v, n := binary.Varint(r.rest)
	r.rest = r.rest[n:]
	return units.Time(v)
}

// Way is where a packet's hops stand in its host's notes; 0: it has none.
type Way uint64

// Bits of what stands beside a hop's port.
const (
	hopWaited = 1 << iota // it did not start at once
	hopPaused
	hopAhead
	hopBits = 3
)

// keep notes the hops of a stamped packet.
func (h *Host) keep(s *fabric.Stamps) Way {
	h.hops = h.net.AppendHops(h.hops[:0], s)
	n := &h.notes
	n.begin()
	n.number(uint64(len(h.hops)))
	last := units.Time(0)
	for k := range h.hops {
		p := &h.hops[k]
		what := (uint64(p.Port)*fabric.Classes + uint64(p.Class)) << hopBits
		if p.Start != p.In {
			what |= hopWaited
		}
		if p.Paused != 0 {
			what |= hopPaused
		}
		if p.Ahead != 0 {
			what |= hopAhead
		}
		n.number(what)
		n.signed(p.In - last)
		if p.Start != p.In {
			n.signed(p.Start - p.In)
		}
		if p.Paused != 0 {
			n.signed(p.Paused)
		}
		if p.Ahead != 0 {
			n.signed(p.Ahead)
			n.number(uint64(p.Served))
		}
		last = p.Start
	}
	return Way(n.put())
}

// Hops appends the hops of a way that this host kept to a list.
func (h *Host) Hops(w Way, to []fabric.Hop) []fabric.Hop {
	if w == 0 {
		return to
	}
	r := h.notes.read(uint64(w))
	last := units.Time(0)
	for range r.number() {
		what := r.number()
		site := what >> hopBits
		p := fabric.Hop{Port: uint32(site / fabric.Classes), Class: uint8(site % fabric.Classes), In: last + r.signed()}
		p.Start = p.In
		if what&hopWaited != 0 {
			p.Start += r.signed()
		}
		if what&hopPaused != 0 {
			p.Paused = r.signed()
		}
		if what&hopAhead != 0 {
			p.Ahead, p.Served = r.signed(), uint8(r.number())
		}
		last = p.Start
		to = append(to, p)
	}
	return to
}

// Noted is where the account of a message is: twice its position in its host's
// notes, or twice the number of one that is still written, and one; 0: its queue pair
// has not come to it.
type Noted uint64

// noteOf is the account of message k of a queue pair's queue, which begins now if it
// had none.
func (h *Host) noteOf(a *account, k int) *MessageAccount {
	id := a.queue[k]
	if *h.noted(id) == 0 {
		m, of := h.newNote(id), h.message(id)
		m.Posted, m.Start, m.Done, m.Verb = of.Posted, units.Never, units.Never, of.Verb
		m.Ordinal = a.posted - uint32(len(a.queue)-k)
		return m
	}
	return h.note(id)
}

// note is the account of message id, which is open.
func (h *Host) note(id uint32) *MessageAccount {
	at := *h.noted(id)
	if at&1 == 0 {
		h.net.Part().Bug("%s: the account of message %d is closed, or has not begun", h.Name, id)
	}
	return h.open[at>>1]
}

// newNote makes room for an account.
func (h *Host) newNote(id uint32) *MessageAccount {
	if len(h.unused) == 0 {
		block := make([]MessageAccount, min(max(len(h.open), 1), 64))
		for i := range block {
			h.unused = append(h.unused, uint32(len(h.open)))
			h.open = append(h.open, &block[i])
		}
	}
	last := len(h.unused) - 1
	k := h.unused[last]
	h.unused = h.unused[:last]
	*h.noted(id) = Noted(k)<<1 | 1
	*h.open[k] = MessageAccount{}
	return h.open[k]
}

// Bits of a packed account.
const (
	noteResponse = 1 << iota
	noteSent
	noteOver
	notePlaced
	noteBy // and above
)

// packNote packs the account of message id, which is over. One that tells of rewinds,
// errors or parts of a READ stays as it is: they are few.
func (h *Host) packNote(id uint32) {
	if id&programIDs != 0 {
		h.sumNote(id)
		return
	}
	at := h.accounts[id]
	if at&1 == 0 {
		return
	}
	m := h.open[at>>1]
	if len(m.Failed) > 0 || m.Rest != nil || m.Read != nil {
		return
	}
	bits := uint64(m.By) * noteBy
	for _, b := range [...]struct {
		bit uint64
		is  bool
	}{{noteResponse, m.Response}, {noteSent, m.Start != units.Never}, {noteOver, m.Done != units.Never}, {notePlaced, m.Landed|m.Placed != 0}} {
		if b.is {
			bits |= b.bit
		}
	}
	n := &h.notes
	n.begin()
	n.number(bits)
	n.number(uint64(m.Ordinal))
	n.signed(m.After - m.Posted)
	n.times(&m.Before)
	if m.Start != units.Never {
		n.signed(m.Start - m.After)
	}
	if m.Done != units.Never {
		n.signed(m.Done - m.After)
	}
	n.signed(m.AckMade - m.After)
	n.number(uint64(m.Ack))
	if m.Landed|m.Placed != 0 {
		n.signed(m.Landed - m.After)
		n.signed(m.Placed - m.Landed)
	}
	h.accounts[id] = Noted(n.put()) << 1
	h.unused = append(h.unused, uint32(at>>1))
}

// Account fills in the account of message id, which this host posted. Of one that its
// queue pair has not come to the ordinal is the highest.
func (h *Host) Account(id uint32, m *MessageAccount) {
	at := h.accounts[id]
	switch {
	case at == 0:
		*m = MessageAccount{Posted: h.messages[id].Posted, Ordinal: ^uint32(0), Start: units.Never, Done: units.Never, Verb: h.messages[id].Verb}
		return
	case at&1 != 0:
		*m = *h.open[at>>1]
		return
	}
	*m = MessageAccount{Posted: h.messages[id].Posted, Start: units.Never, Done: units.Never, Verb: h.messages[id].Verb, begun: true}
	r := h.notes.read(uint64(at >> 1))
	bits := r.number()
	m.By, m.Response = Completer(bits/noteBy), bits&noteResponse != 0
	m.Ordinal = uint32(r.number())
	m.After = m.Posted + r.signed()
	r.times(&m.Before)
	if bits&noteSent != 0 {
		m.Start = m.After + r.signed()
	}
	if bits&noteOver != 0 {
		m.Done = m.After + r.signed()
	}
	m.AckMade = m.After + r.signed()
	m.Ack = Way(r.number())
	if bits&notePlaced != 0 {
		m.Landed = m.After + r.signed()
		m.Placed = m.Landed + r.signed()
	}
}

// times notes which stages took time, and how much.
func (n *notes) times(t *Times) {
	set := uint64(0)
	for s, d := range t {
		if d != 0 {
			set |= 1 << s
		}
	}
	n.number(set)
	for _, d := range t {
		if d != 0 {
			n.signed(d)
		}
	}
}

func (r *noted) times(t *Times) {
	set := r.number()
	for s := range t {
		if set>>s&1 != 0 {
			t[s] = r.signed()
		}
	}
}

// Acceptance is what the responder knows of a message: when it had all of it, by which
// transmission, and when an ACK first covered it.
type Acceptance struct {
	At       units.Time
	Landed   units.Time // when all of it was in the memory that the card writes to: At where the host has no server
	Placed   units.Time // when all of it was where it belongs
	FirstAck units.Time // Never: none yet
	Held     bool       // that ACK had to wait for READ responses
	Read     units.Time // of an atomic: when the card had read what it found; 0: at once
	Way      Way        // of that transmission; 0: it carried no stamps
}

// accepted is an Acceptance of which what is rare stands apart.
type accepted struct {
	at, firstAck units.Time
	way          Way
	inside       uint32 // from 1 in acceptances.inside; 0: it was in memory at once
	held         bool
}

// acceptances are what a responder notes of the messages that it took.
type acceptances struct {
	accepted []accepted
	inside   []inside // see accepted
	unacked  int      // first of accepted that no ACK has covered
	dropped  uint32   // how many are left out before those, as nobody asks for them
}

// inside is what happened inside the host to a message that was accepted.
type inside struct{ landed, placed, read units.Time }

// Accepted is the number of messages that queue pair q took as responder.
func (h *Host) Accepted(q uint32) int { return len(h.lived(q).taken.accepted) }

// Acceptance returns the k-th of them, in order.
func (h *Host) Acceptance(q uint32, k int) Acceptance {
	a := &h.qps[q].taken
	x := &a.accepted[k]
	out := Acceptance{At: x.at, Landed: x.at, Placed: x.at, FirstAck: x.firstAck, Held: x.held, Way: x.way}
	if x.inside > 0 {
		in := &a.inside[x.inside-1]
		out.Landed, out.Placed, out.Read = in.landed, in.placed, in.read
	}
	return out
}

// accept notes at the responder that a packet completed n messages; with
// selective repeat it may be one that several of them waited for, and no last
// packet if the network changed their order.
func (h *Host) accept(now units.Time, q uint32, way Way, n uint32) {
	a := &h.qps[q].taken
	if n > 0 {
		h.noteMet(&h.qps[q], requests, q, uint32(len(a.accepted)), n)
	}
	landed, placed := h.placedAt(now, q)
	for range n {
		a.accepted = append(a.accepted, accepted{at: now, firstAck: units.Never, way: way})
		if landed != now || placed != now {
			a.within(len(a.accepted)-1, landed, placed)
		}
	}
}

// within notes what happened inside the host to the k-th message that was accepted.
func (a *acceptances) within(k int, landed, placed units.Time) *inside {
	x := &a.accepted[k]
	if x.inside == 0 {
		a.inside = append(a.inside, inside{landed: landed, placed: placed})
		x.inside = uint32(len(a.inside))
	}
	return &a.inside[x.inside-1]
}

// firstAcked notes the first ACK that covers the k-th message that was accepted, and
// when the card had read what it, an atomic, found.
func (a *acceptances) firstAcked(k int, now units.Time, held bool, read units.Time) {
	x := &a.accepted[k]
	x.firstAck, x.held = now, held
	if read != 0 {
		a.within(k, x.at, x.at).read = read
	}
}

// answered is an Answer: when it started, and where the rest is in the host's notes.
type answered struct {
	start units.Time
	at    uint64
}

// noteAnswer notes the last response to a request, which starts now.
func (h *Host) noteAnswer(r *request, now units.Time, before *Times) uint64 {
	n := &h.notes
	n.begin()
	n.signed(r.taken - now)
	n.number(uint64(r.way))
	n.signed(r.first - r.taken)
	n.number(uint64(r.firstWay))
	n.signed(r.after - r.first)
	n.times(before)
	return n.put()
}

// Answers is the number of last responses that queue pair q sent to READs.
func (h *Host) Answers(q uint32) int {
	if a := h.lived(q).account; a != nil && a.serving != nil {
		return len(a.answers)
	}
	return 0
}

// AnswerStart is when the k-th of them started, in order.
func (h *Host) AnswerStart(q uint32, k int) units.Time { return h.qps[q].account.answers[k].start }

// Answer returns the k-th of them.
func (h *Host) Answer(q uint32, k int) *Answer {
	x := &h.qps[q].account.answers[k]
	r := h.notes.read(x.at)
	a := &Answer{Start: x.start, Taken: x.start + r.signed(), Way: Way(r.number())}
	a.First, a.FirstWay = a.Taken+r.signed(), Way(r.number())
	a.After = a.First + r.signed()
	r.times(&a.Before)
	return a
}
