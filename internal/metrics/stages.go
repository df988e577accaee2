package metrics

import (
	"encoding/binary"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// stages gives every stage of the accounts a number, so that what is known of its name
// and place is worked out once and not per message. Few stages can follow one: those that
// did are tried first.
type stages struct {
	number map[stageName]int32
	known  []stageKnown
	first  followers // of an account
	// Of the account at hand: where in out a stage stands, valid if epoch is the current.
	at    []int32
	epoch []uint32
	now   uint32
	of    record.Deferred // the account that out is of
	out   []stageTime     // added up
	steps []stageTime     // in order
	list  record.Account
	maker record.Reader
	kept  keptAccounts
	own   [][]int32 // by who kept accounts and the number there: the number here, and 1; 0: not looked for
}

type stageName struct {
	stage catalog.Stage
	where record.Place
}

// stageKnown is what a stage's name and place say.
type stageKnown struct {
	stage     catalog.Stage
	at        *record.Place // as the account that had it first has it
	where     string        // the name of at
	base      catalog.Stage // of a leg other than the acknowledgement's, the stage without it
	response  bool          // it is of that leg
	ack       bool          // it is one of the acknowledgement's
	elsewhere bool          // its cause may lie elsewhere: index.say knows
	own       bool          // time of a queue pair before its packets leave
	line      bool          // only a faster way makes it shorter
	usual     units.Time
	next      followers
}

// followers are the stages that came after one so far, the first maxFollowers of them.
type followers struct {
	numbers []int32
	last    int8 // the place of the one that came last
}

// maxFollowers is how many followers are remembered: as many as a byte of keptAccounts can name.
const maxFollowers = 1<<7 - 1

// tried is how many of them are compared before the map is asked, which takes as long.
const tried = 6

// stageTime is the time of an account in all stages of one name and place.
type stageTime struct {
	number int32
	time   units.Time
}

// after are the followers of a stage, -1: of none.
func (s *stages) after(number int32) *followers {
	if number < 0 {
		return &s.first
	}
	return &s.known[number].next
}

// find returns the number of a stage that follows the one numbered after, -1: the first,
// and its place among the followers; maxFollowers: it has none.
func (s *stages) find(after int32, a *record.StageTime) (number int32, place int) {
	f := s.after(after)
	if len(f.numbers) > 0 && s.is(f.numbers[f.last], a) {
		return f.numbers[f.last], int(f.last)
	}
	for k := range min(len(f.numbers), tried) {
		if s.is(f.numbers[k], a) {
			f.last = int8(k)
			return f.numbers[k], k
		}
	}
	number = s.numberOf(a)
	f = s.after(after) // numberOf may have moved it
	for k, n := range f.numbers {
		if n == number {
			f.last = int8(k)
			return number, k
		}
	}
	if len(f.numbers) == maxFollowers {
		return number, maxFollowers
	}
	f.last = int8(len(f.numbers))
	f.numbers = append(f.numbers, number)
	return number, int(f.last)
}

func (s *stages) is(number int32, a *record.StageTime) bool {
	k := &s.known[number]
	return k.stage == a.Stage && k.at == a.Where // other pointers to the same place are found by the map
}

func (s *stages) numberOf(a *record.StageTime) int32 {
	if s.number == nil {
		s.number = map[stageName]int32{}
	}
	is := stageName{a.Stage, a.Place()}
	n, known := s.number[is]
	if !known {
		n = int32(len(s.known))
		s.number[is] = n
		s.known = append(s.known, newStageKnown(a))
		s.at, s.epoch = append(s.at, 0), append(s.epoch, 0)
	}
	return n
}

// port is that of the stage's place.
func (k *stageKnown) port() record.PortID {
	if k.at == nil {
		return record.PortID{}
	}
	return k.at.PortID()
}

func newStageKnown(s *record.StageTime) stageKnown {
	k := stageKnown{stage: s.Stage, at: s.Where, where: s.Place().String(), base: s.Stage.Base(), usual: s.Time}
	k.response, k.ack = s.Stage.Leg() == catalog.LegResponse, s.Stage.Leg() == catalog.LegAck
	k.elsewhere, k.own = s.Stage.Is(catalog.Blames) || k.ack && s.Stage.On(catalog.LegThere).Is(catalog.Blames), s.Stage.Is(catalog.Own)
	k.line = !k.elsewhere && s.Stage.Cause() == catalog.CauseLine
	return k
}

// read adds up the stages of an account of the same name and place, in order of the first.
// The result holds until the next call.
func (s *stages) read(d record.Deferred) []stageTime {
	if s.of == d {
		return s.out
	}
	s.begin(d)
	s.list = s.maker.Append(s.list[:0], d)
	last := int32(-1)
	for i := range s.list {
		a := &s.list[i]
		last, _ = s.find(last, a)
		s.add(last, a.Time)
	}
	return s.out
}

func (s *stages) begin(d record.Deferred) {
	s.now++
	s.of = d
	s.out, s.steps = s.out[:0], s.steps[:0]
}

func (s *stages) add(number int32, t units.Time) {
	s.steps = append(s.steps, stageTime{number, t})
	if s.epoch[number] == s.now {
		s.out[s.at[number]].time += t
		return
	}
	s.epoch[number], s.at[number] = s.now, int32(len(s.out))
	s.out = append(s.out, stageTime{number, t})
}

// keptAccounts are the accounts of messages from the first on, as far as there is room, so
// that those who go through all of them twice do not make them twice. Each stage takes a
// byte: twice its place among the followers of the stage before, and 1 if its time is not
// the usual one, which then follows. A stage without a place has its number after the byte.
type keptAccounts struct {
	first int // message
	data  []byte
	ends  []uint32 // of the accounts in data
}

// maxKept is how many bytes of accounts are kept: those of a million messages of one
// packet take 75 MB.
const maxKept = 96 << 20

// keep is read of a message and keeps the account if there is room, which is then full
// for good. Messages come in order.
func (s *stages) keep(d record.Deferred, room int) []stageTime {
	if len(s.kept.data) >= room {
		return s.read(d)
	}
	s.begin(d)
	s.list = s.maker.Append(s.list[:0], d)
	last := int32(-1)
	b := s.kept.data
	for i := range s.list {
		a := &s.list[i]
		var place int
		last, place = s.find(last, a)
		b = append(b, byte(place<<1))
		at := len(b) - 1
		if place == maxFollowers {
			b = binary.AppendUvarint(b, uint64(last))
		}
		if a.Time != s.known[last].usual {
			b[at]++
			b = binary.AppendUvarint(b, uint64(a.Time))
		}
		s.add(last, a.Time)
	}
	s.kept.data, s.kept.ends = b, append(s.kept.ends, uint32(len(b)))
	return s.out
}

// again is read of message i, from what one of the keepers, which have messages of their
// own and keep no more, has kept of it.
func (s *stages) again(keepers []*stages, i int, d record.Deferred) []stageTime {
	if s.of == d {
		return s.out
	}
	for k, from := range keepers {
		if at := i - from.kept.first; at >= 0 && at < len(from.kept.ends) {
			s.begin(d)
			s.unpack(k, from, at)
			return s.out
		}
	}
	return s.read(d)
}

// unpack adds the stages of account at of keeper k.
func (s *stages) unpack(k int, from *stages, at int) {
	b := from.kept.data[:from.kept.ends[at]]
	if at > 0 {
		b = b[from.kept.ends[at-1]:]
	}
	for len(s.own) <= k {
		s.own = append(s.own, nil)
	}
	if s.own[k] == nil {
		s.own[k] = make([]int32, len(from.known))
	}
	own, last := s.own[k], int32(-1)
	for len(b) > 0 {
		head := b[0]
		b = b[1:]
		if place := int(head >> 1); place < maxFollowers {
			last = from.after(last).numbers[place]
		} else {
			n, size := binary.Uvarint(b)
			last, b = int32(n), b[size:]
		}
		t := from.known[last].usual
		if head&1 != 0 {
			n, size := binary.Uvarint(b)
			t, b = units.Time(n), b[size:]
		}
		if own[last] == 0 {
			of := &from.known[last]
			own[last] = 1 + s.numberOf(&record.StageTime{Stage: of.stage, Where: of.at, Time: t})
		}
		s.add(own[last]-1, t)
	}
}
