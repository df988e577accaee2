package nic

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// What the packets of a message meet is written down where they arrive, as only there it is
// known which message they are part of: every mark, which a packet carries there with the
// port that set it, and the ways of samples, one packet in record.SampleEvery of each queue
// pair and direction. The last packet and the ACK that completes a message are left out: the
// message's account has their ways.

// maxSites is how many ports and classes are told apart while a message lasts: those of a
// spread over 14 ways through three tiers. What the others make packets meet is summed.
const maxSites = 32

// otherSites stands for the ports that are not told apart; it is no port's number.
const otherSites = record.OtherPorts

// met is what packets met at one port and class.
type met struct {
	record.Met
	next uint32 // of the list; 0: none
}

// meetings are what the packets that a host took met, by lists.
type meetings struct {
	slots    []met
	unused   uint32 // the first of a list of those that are free
	over     [2][]metNote
	notified uint32 // CNPs sent
	sorted   bool
}

// The two lists of a queue pair.
const (
	requests = iota // of the messages that its peer posts
	replies         // to the messages that it posted
)

// metNote is where a list that is over stands in the host's notes.
type metNote struct {
	q, k uint32 // of requests: the queue pair and which of its messages; of replies: 0 and the message
	at   uint64
}

// sampled reports whether the packet with a number is a sample.
func sampled(psn uint32) bool { return psn%record.SampleEvery == record.SampleEvery-1 }

// sample has a packet that leaves now tell what it meets.
func (h *Host) sample(now units.Time, s *qpSlot, pk *packet.Packet) {
	h.net.AddSample(pk)
	h.net.StampIn(now, h.ports[s.port].fabricPort, pk)
}

// meet notes what pk, which has arrived, met, in a list of the queue pair.
func (h *Host) meet(now units.Time, s *qpSlot, list int, pk *packet.Packet) {
	if port, c, marked := h.net.MarkOf(pk); marked {
		m := h.metAt(&s.met[list], 0, port, c)
		m.Marks++
		m.During(now, now)
	}
	stamps := h.net.SampleOf(pk)
	if stamps == nil {
		return
	}
	h.hops = h.net.AppendHops(h.hops[:0], stamps)
	after := uint32(0)
	for k := range h.hops {
		x := &h.hops[k]
		m := h.metAt(&s.met[list], after, x.Port, x.Class)
		after = m.next
		m.Packets++
		if x.Start == units.Never {
			continue
		}
		m.Wait += x.Start - x.In - x.Paused
		m.Held += x.Paused
		if x.Ahead != 0 {
			m.Ahead += x.Ahead
			m.Behind(x.Served, x.Ahead)
		}
		m.During(x.In, x.Start)
	}
}

// metAt is what the packets of a list met at a port and class so far; likely is the slot
// that it probably stands in, 0 if none is.
func (h *Host) metAt(list *uint32, likely, port uint32, c uint8) *met {
	x := &h.meetings
	if likely != 0 {
		if m := &x.slots[likely-1]; m.Port == port && m.Class == c {
			return m
		}
	}
	n, last := 0, list
	for *last != 0 {
		m := &x.slots[*last-1]
		if m.Port == port && m.Class == c {
			return m
		}
		n, last = n+1, &m.next
	}
	if n >= maxSites-1 && port != otherSites {
		return h.metAt(list, 0, otherSites, 0)
	}
	k := x.unused
	if k == 0 {
		if len(x.slots) == cap(x.slots) {
			return h.moreRoom(list, port, c)
		}
		x.slots = append(x.slots, met{})
		k = uint32(len(x.slots))
	} else {
		x.unused = x.slots[k-1].next
	}
	*last = k // behind the others: packets meet the same in the same order
	m := &x.slots[k-1]
	*m = met{}
	m.Port, m.Class = port, c
	return m
}

// moreRoom is metAt where there is no room for another slot.
func (h *Host) moreRoom(list *uint32, port uint32, c uint8) *met {
	x := &h.meetings
	if len(x.slots) == 0 {
		x.over[requests], x.over[replies] = make([]metNote, 0, 2), make([]metNote, 0, 2)
	}
	x.slots = slices.Grow(x.slots, max(maxSites, len(x.slots)))
	return h.metAt(list, 0, port, c)
}

// Bits of what stands beside a slot's class.
const (
	metMarks = 1 << (iota + 3)
	metWait
	metHeld
	metAhead
)

// noteMet notes what n messages met on the way of a list, which ends with them: message k
// of queue pair q and those behind it.
func (h *Host) noteMet(s *qpSlot, list int, q, k, n uint32) {
	first := s.met[list]
	if first == 0 || n == 0 {
		return
	}
	s.met[list] = 0
	x, notes := &h.meetings, &h.notes
	notes.begin()
	count, last := 0, first
	for i := first; i != 0; i = x.slots[i-1].next {
		count, last = count+1, i
	}
	if s.summed {
		x.slots[last-1].next, x.unused = x.unused, first
		return
	}
	notes.number(uint64(count))
	for i := first; i != 0; i = x.slots[i-1].next {
		m := &x.slots[i-1]
		values, what := [...]uint64{uint64(m.Marks), uint64(m.Wait), uint64(m.Held), uint64(m.Ahead)}, uint64(m.Class)
		for b, v := range values {
			if v != 0 {
				what |= metMarks << b
			}
		}
		notes.number(uint64(m.Port))
		notes.number(what)
		for _, v := range values {
			if v != 0 {
				notes.number(v)
			}
		}
		if m.Ahead != 0 {
			notes.number(uint64(m.Served))
		}
		notes.number(uint64(m.Packets))
		notes.number(uint64(m.First))
		notes.number(uint64(m.Last - m.First))
	}
	x.slots[last-1].next = x.unused
	x.unused = first
	at := notes.put()
	for i := range n {
		x.over[list] = append(x.over[list], metNote{q, k + i, at})
	}
}

// readMet reads one slot back.
func (r *noted) readMet() (m record.Met) {
	m.Port = uint32(r.number())
	what := r.number()
	m.Class = uint8(what & (metMarks - 1))
	if what&metMarks != 0 {
		m.Marks = int64(r.number())
	}
	if what&metWait != 0 {
		m.Wait = units.Time(r.number())
	}
	if what&metHeld != 0 {
		m.Held = units.Time(r.number())
	}
	if what&metAhead != 0 {
		m.Ahead, m.Served = units.Time(r.number()), uint8(r.number())
	}
	m.Packets, m.First = int64(r.number()), units.Time(r.number())
	m.Last = m.First + units.Time(r.number())
	return m
}

// RequestsMet appends what the requests of message k of the peer of queue pair q met, as
// far as they arrived.
func (h *Host) RequestsMet(q uint32, k int, to []record.Met) []record.Met {
	to = h.metBy(requests, metNote{q: q, k: uint32(k)}, to)
	if l := h.lived(q); k == h.taken(q) {
		to = h.metSoFar(l.met[requests], to)
	}
	return to
}

// taken counts the messages that queue pair or connection q has taken.
func (h *Host) taken(q uint32) int {
	if st := h.qps[q].stream; st != nil {
		return len(st.arrivals)
	}
	return h.Accepted(q)
}

// RepliesMet appends what met the answers to message id, which this host posted to queue
// pair q; open: it has not completed, and is the first of those.
func (h *Host) RepliesMet(q, id uint32, open bool, to []record.Met) []record.Met {
	from := len(to)
	to = h.metBy(replies, metNote{k: id}, to)
	if open {
		to = h.metSoFar(h.lived(q).met[replies], to)
	}
	for i := range to[from:] {
		to[from+i].Answer = true
	}
	return to
}

func (h *Host) metBy(list int, of metNote, to []record.Met) []record.Met {
	order := func(a, b metNote) int { return cmp.Or(cmp.Compare(a.q, b.q), cmp.Compare(a.k, b.k)) }
	x := &h.meetings
	if !x.sorted {
		x.sorted = true
		for i := range x.over {
			slices.SortStableFunc(x.over[i], order)
		}
	}
	k, found := slices.BinarySearchFunc(x.over[list], of, order)
	if !found {
		return to
	}
	r := h.notes.read(x.over[list][k].at)
	for range r.number() {
		to = append(to, r.readMet())
	}
	return to
}

func (h *Host) metSoFar(first uint32, to []record.Met) []record.Met {
	for k := first; k != 0; k = h.meetings.slots[k-1].next {
		to = append(to, h.meetings.slots[k-1].Met)
	}
	return to
}

// sampleFrame has one in so many frames of a connection tell what it meets.
func (h *Host) sampleFrame(now units.Time, s *qpSlot, pk *packet.Packet, list int) {
	n := &s.stream.followed[list]
	if *n++; *n == record.SampleFrames {
		*n = 0
		h.sample(now, s, pk)
	}
}
