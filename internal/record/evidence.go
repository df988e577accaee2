package record

import (
	"cmp"
	"slices"
	"sort"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/units"
)

// Evidence is what a run wrote down so that causes can be told apart: what the packets of
// each message met, and what happened at ports and switches at the moments that matter.
// Ports stand in it by their global number, an index into Ports.

// SampleEvery is how many packets of a queue pair or connection there are, one way, to one
// whose way is followed, beside the last packet of each message.
const SampleEvery = 32

// SampleFrames is the same of the frames of a TCP connection, of which few make a message:
// a receive window of 64 KB holds seven frames of 9,000 bytes.
const SampleFrames = 4

// OtherPorts stands for a port in Met where what several of them did is summed.
const OtherPorts = 1<<28 - 1

// Met is what packets of one message, or what answered them, met at one port and class: the
// port that they left by, or that of the host where they arrived and waited to be taken.
type Met struct {
	Port  uint32 `json:"port"`
	Class uint8  `json:"class"`
	// Answer: the way of what answers requests. The data of a READ take that; what
	// acknowledges other messages does.
	Answer  bool       `json:"answer,omitempty"`
	Packets int64      `json:"packets"` // that were followed and took this port
	Marks   int64      `json:"marks,omitempty"`
	Wait    units.Time `json:"wait_ps,omitempty"` // of the packets followed, in all, while the class might send
	Held    units.Time `json:"held_ps,omitempty"` // likewise, while it was paused or had no credits
	// Ahead is the part of Wait in which other classes were on the wire.
	Ahead units.Time `json:"ahead_ps,omitempty"`
	// Served is the class that was, as far as it is known by the packet that waited longest
	// for others.
	Served  uint8      `json:"served,omitempty"`
	longest units.Time // for which that waited
	// Own is the part of Wait and Held that stands in the message's account.
	Own   units.Time `json:"own_ps,omitempty"`
	First units.Time `json:"first_ps"`
	Last  units.Time `json:"last_ps"`
}

// During notes that something was met from one instant to another.
func (m *Met) During(from, to units.Time) {
	if m.Packets+m.Marks == 1 || from < m.First {
		m.First = from
	}
	m.Last = max(m.Last, to)
}

// Evidence is what a run wrote down beside its counters.
type Evidence struct {
	Ports    []PortID `json:"ports"` // by global number
	Far      []uint32 `json:"far"`   // likewise, the port at the other end of the link
	Fills    []Filled `json:"fills,omitempty"`
	Shut     []Shut   `json:"shut,omitempty"` // when ports might not send
	Ahead    []Ahead  `json:"ahead,omitempty"`
	Detours  []Detour `json:"detours,omitempty"`
	Meetings Meetings `json:"-"` // see Met and Lost
}

// Meetings tells what the packets of messages met. Not for several goroutines at once.
type Meetings interface {
	// Met appends what the packets of a message met, and what answered them, to a list: the
	// ports and classes of each way in order, each once. It appends nothing where the account
	// says it all: only the packet that completed the message and its answer were followed, and
	// nothing was marked.
	Met(message int, to []Met) []Met
	// Lost appends the drops of its connection in the message's time.
	Lost(message int, to []Lost) []Lost
	// Fork returns another that tells the same, for another goroutine.
	Fork() Meetings
}

// Met is what the packets of a message met; see Meetings.
func (e *Evidence) Met(message int) []Met {
	if e == nil || e.Meetings == nil {
		return nil
	}
	return e.Meetings.Met(message, nil)
}

// Lost is what was dropped of a message's connection in its time.
func (e *Evidence) Lost(message int) []Lost {
	if e == nil || e.Meetings == nil {
		return nil
	}
	return e.Meetings.Lost(message, nil)
}

// Fork returns the same for another goroutine.
func (e *Evidence) Fork() *Evidence {
	if e == nil || e.Meetings == nil {
		return e
	}
	f := *e
	f.Meetings = e.Meetings.Fork()
	return &f
}

// KnownMeetings are those of messages that were read back, by their numbers.
type KnownMeetings struct {
	met  map[int][]Met
	lost map[int][]Lost
}

// Add notes what the packets of a message met.
func (k *KnownMeetings) Add(message int, met []Met, lost []Lost) {
	if k.met == nil {
		k.met, k.lost = map[int][]Met{}, map[int][]Lost{}
	}
	if len(met) > 0 {
		k.met[message] = met
	}
	if len(lost) > 0 {
		k.lost[message] = lost
	}
}

// Met implements Meetings.
func (k *KnownMeetings) Met(message int, to []Met) []Met { return append(to, k.met[message]...) }

// Lost implements Meetings.
func (k *KnownMeetings) Lost(message int, to []Lost) []Lost { return append(to, k.lost[message]...) }

// Fork implements Meetings.
func (k *KnownMeetings) Fork() Meetings { return k }

// Add adds up two that are of one port and class.
func (m *Met) Add(o *Met) {
	if m.Packets+m.Marks == 0 {
		m.First, m.Last = o.First, o.Last
	}
	m.Packets, m.Marks = m.Packets+o.Packets, m.Marks+o.Marks
	m.Wait, m.Held, m.Ahead, m.Own = m.Wait+o.Wait, m.Held+o.Held, m.Ahead+o.Ahead, m.Own+o.Own
	m.First, m.Last = min(m.First, o.First), max(m.Last, o.Last)
	m.Behind(o.Served, o.longest)
}

// Behind notes that a packet waited so long for a class.
func (m *Met) Behind(class uint8, d units.Time) {
	if d > m.longest {
		m.Served, m.longest = class, d
	}
}

// apart is how many times of what may happen millions of times are told apart, then how many
// of those that follow in twos, in fours, and so on.
const apart = 16

// Seldom picks times that are apart further and further: each of the first, then every
// second, and so on. Which it picks does not depend on how many follow.
type Seldom struct{ count, next, picked int64 }

// Now counts a time and reports whether it is picked.
func (s *Seldom) Now() bool {
	if s.count++; s.count <= s.next {
		return false
	}
	s.next = s.count - 1 + 1<<(s.picked/apart)
	s.picked++
	return true
}

// Count is how many times there were.
func (s *Seldom) Count() int64 { return s.count }

// Acts is an Act by intervals: the first acts stand alone, then two together, and so on.
// What stands there of the past does not depend on what follows.
type Acts []Act

// Add notes one act.
func (a *Acts) Add(now units.Time, value int64) {
	k := len(*a)
	if k == 0 || (*a)[k-1].Count>>((k-1)/apart) != 0 {
		*a = append(*a, Act{})
		k++
	}
	(*a)[k-1].Add(now, value)
}

// Within returns the acts from one instant to another, with intervals that are partly within.
func (a Acts) Within(from, to units.Time) Acts {
	i := sort.Search(len(a), func(k int) bool { return a[k].Last >= from })
	j := sort.Search(len(a), func(k int) bool { return a[k].First > to })
	return a[min(i, j):j]
}

// Total adds all up.
func (a Acts) Total() (sum Act) {
	for i := range a {
		sum = sum.Merge(a[i])
	}
	return sum
}

// Fill is what filled an ingress buffer as it stopped its peer: the frames that had come in
// by it and waited, by the egress port that they waited for.
type Fill struct {
	At    units.Time `json:"at_ps"`
	Total uint32     `json:"bytes"`
	By    [3]Share   `json:"by"` // the largest first; those of 0 bytes are none
}

// Share is a part of what fills a buffer, of at most 4 GB.
type Share struct {
	Port  uint32 `json:"port"`
	Bytes uint32 `json:"bytes"`
}

// Add adds what waits for an egress port.
func (f *Fill) Add(port uint32, bytes int64) {
	f.Total += uint32(bytes)
	at := len(f.By)
	for at > 0 && int64(f.By[at-1].Bytes) < bytes {
		at--
	}
	if at < len(f.By) {
		copy(f.By[at+1:], f.By[at:])
		f.By[at] = Share{port, uint32(bytes)}
	}
}

// Filled is what was seen of an ingress port and class that stopped its peer.
type Filled struct {
	Port  uint32 `json:"port"`
	Class uint8  `json:"class"`
	Times int64  `json:"times"` // that it did, or had no room for another packet
	Seen  []Fill `json:"seen"`  // those that were looked at, see Seldom
}

// FilledBy is what waited for an egress port, summed over the times that were looked at.
type FilledBy struct {
	Port  uint32
	Bytes int64
}

// By adds up, by egress port, what was seen from one instant to another, or, if it was not
// looked at then, the last time before. The largest comes first.
func (f *Filled) By(from, to units.Time) []FilledBy {
	var sum []FilledBy
	add := func(x *Fill) {
		for _, s := range x.By {
			if s.Bytes == 0 {
				break
			}
			at := slices.IndexFunc(sum, func(o FilledBy) bool { return o.Port == s.Port })
			if at < 0 {
				at, sum = len(sum), append(sum, FilledBy{Port: s.Port})
			}
			sum[at].Bytes += int64(s.Bytes)
		}
	}
	last := -1
	for i := range f.Seen {
		switch x := &f.Seen[i]; {
		case x.At > to:
		case x.At >= from:
			add(x)
			last = -1
		case len(sum) == 0:
			last = i
		}
	}
	if len(sum) == 0 && last >= 0 {
		add(&f.Seen[last])
	}
	slices.SortStableFunc(sum, func(a, b FilledBy) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return sum
}

// Shut is when a port might not send in a class: it was paused, or had no credits.
type Shut struct {
	Port  uint32    `json:"port"`
	Class uint8     `json:"class"`
	Seen  Stretches `json:"seen"` // those that were written down
}

// Most is the most that waited for an egress port of what was seen from one instant to another.
func (f *Filled) Most(port uint32, from, to units.Time) (most int64) {
	for i := range f.Seen {
		x := &f.Seen[i]
		if x.At < from || x.At > to {
			continue
		}
		for _, s := range x.By {
			if s.Port == port {
				most = max(most, int64(s.Bytes))
			}
		}
	}
	return most
}

// Ahead is how many frames of one class of a port were sent, and for how long (the Sum),
// while another class waited and might have been on the wire.
type Ahead struct {
	Port   uint32 `json:"port"`
	Class  uint8  `json:"class"`  // that waited
	Served uint8  `json:"served"` // ahead of it
	Strict bool   `json:"strict"` // it goes before the other whatever waits
	Act
}

// Lost is what a port dropped of one connection; the Sum of its acts is bytes.
type Lost struct {
	Port   uint32       `json:"port"`
	Class  uint8        `json:"class"`
	Answer bool         `json:"answer,omitempty"` // of what answers requests
	Cause  catalog.Drop `json:"cause"`
	Acts   Acts         `json:"acts"`
}

// Detour is the packets that a switch sent another way than by the port that the hash of
// their flow, or else the first table of the run, says.
type Detour struct {
	Node string `json:"node"`
	// By is what chose the way, packet by packet; none: the switch had new tables, or withdrew a port.
	By      catalog.Mechanism `json:"by,omitempty"`
	Packets Act               `json:"packets"`
	// Flows counts those that left by another port after tables had changed: the packets of
	// a connection, one way. Where each packet has a way of its own it is 0.
	Flows int64 `json:"flows,omitempty"`
}

// FilledAt is what was seen of an ingress port and class; nil: it never stopped its peer.
func (e *Evidence) FilledAt(port uint32, class uint8) *Filled {
	for i := range e.Fills {
		if f := &e.Fills[i]; f.Port == port && f.Class == class {
			return f
		}
	}
	return nil
}
