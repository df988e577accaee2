package metrics

import (
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// stages gives every stage of the accounts a number, so that what is known of its name
// and place is worked out once and not per message. The messages of a queue pair pass
// much the same stages in the same order: the one that came after a stage the last time
// is tried first.
type stages struct {
	number map[stageName]int32
	known  []stageKnown
	next   []int32 // by number: what came after it last
	// Of the account at hand: where in out a stage stands, valid if epoch is the current.
	at    []int32
	epoch []uint32
	now   uint32
	of    record.Deferred // the account that out is of
	out   []stageTime
	list  record.Account
}

type stageName struct{ name, where string }

// stageKnown is what a stage's name and place say.
type stageKnown struct {
	is          stageName // as the account has it
	name, where string    // as StageOf divides it
	key         string    // record.Stage.Key
	stage       string    // name without record.ResponseStage
	response    bool      // the name has it
	ack         bool      // it is one of the acknowledgement's
	elsewhere   bool      // its cause may lie elsewhere: index.say knows
	own         bool      // ownStage
}

// stageTime is the time of an account in all stages of one name and place.
type stageTime struct {
	number int32
	time   units.Time
}

// find returns the number of a stage that follows the one numbered after, -1: the first.
func (s *stages) find(after int32, name, where string) int32 {
	if s.number == nil {
		s.number = map[stageName]int32{}
		s.next = append(s.next, 0)
	}
	if guess := s.next[after+1]; int(guess) < len(s.known) {
		if k := &s.known[guess]; k.is.name == name && k.is.where == where {
			return guess
		}
	}
	n, known := s.number[stageName{name, where}]
	if !known {
		n = int32(len(s.known))
		s.number[stageName{name, where}] = n
		s.known = append(s.known, newStageKnown(name, where))
		s.next, s.at, s.epoch = append(s.next, 0), append(s.at, 0), append(s.epoch, 0)
	}
	s.next[after+1] = n
	return n
}

func newStageKnown(name, where string) stageKnown {
	s := record.Stage{Name: name, Where: where}
	k := stageKnown{is: stageName{name, where}, key: s.Key()}
	k.name, k.where = StageOf(s)
	k.stage, k.response = strings.CutPrefix(k.name, record.ResponseStage)
	k.ack = strings.HasPrefix(k.name, record.AckStage)
	k.elsewhere = !k.ack && elsewhere(k.stage)
	k.own = ownStage(k.stage)
	return k
}

// read adds up the stages of an account of the same name and place, in order of the first.
// The result holds until the next call.
func (s *stages) read(d record.Deferred) []stageTime {
	if s.of == d {
		return s.out
	}
	s.now++
	s.of = d
	s.out = s.out[:0]
	s.list = d.Append(s.list[:0])
	a := s.list
	last := int32(-1)
	for i := range a {
		n := s.find(last, a[i].Name, a[i].Where)
		last = n
		if s.epoch[n] == s.now {
			s.out[s.at[n]].time += a[i].Time
			continue
		}
		s.epoch[n], s.at[n] = s.now, int32(len(s.out))
		s.out = append(s.out, stageTime{n, a[i].Time})
	}
	return s.out
}
