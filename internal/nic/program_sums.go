package nic

import "github.com/hopscope/hopscope/internal/units"

// ProgramSums is what a host keeps of a program: sums over its operations, not each of them.
type ProgramSums struct {
	Kinds          []KindSum // of local operations, by label
	Messages, News MessageSum
	Ends           []IterationEnd // by iteration
	Pairs          PairSums
	path           path // to the end of the last iteration
}

// KindSum is about local operations of one label.
type KindSum struct {
	Count   int64
	Delay   units.Time // what their parts took
	Moving  units.Time // then, until their data had moved
	Waited  units.Time // of steps: from the end of the one before in their lane
	Longest units.Time // of one, from when it began
}

// MessageSum is about messages of one kind.
type MessageSum struct {
	Count, Failed int64
	First, Last   units.Time // when the first was due, and the last complete; Never, 0: none was
	Time          units.Time // from when they were due until the application had polled their completion
	Longest       units.Time
	Posting       units.Time // until they were posted
	Earlier       units.Time // behind earlier work of their queue pair
	Before        Times      // the queue pair's time from then to the start of their last packet
	Rest          units.Time // from then on, until the card knew that they were complete
	Polling       units.Time // and until the application did
}

// Add adds the sums of another host.
func (s *ProgramSums) Add(of *ProgramSums) {
	for i := range s.Kinds {
		k, x := &s.Kinds[i], &of.Kinds[i]
		k.Count, k.Delay, k.Moving, k.Waited, k.Longest = k.Count+x.Count, k.Delay+x.Delay, k.Moving+x.Moving,
			k.Waited+x.Waited, max(k.Longest, x.Longest)
	}
	s.Messages.add(&of.Messages)
	s.News.add(&of.News)
	s.Pairs.add(&of.Pairs)
	for i := range s.Ends {
		e, x := &s.Ends[i], &of.Ends[i]
		e.Ranks += x.Ranks
		if x.At <= e.At {
			continue
		}
		e.At, e.Last = x.At, x.Last
		if i == len(s.Ends)-1 {
			s.path = of.path
		}
	}
}

func (m *MessageSum) add(x *MessageSum) {
	m.Count, m.Failed, m.Longest = m.Count+x.Count, m.Failed+x.Failed, max(m.Longest, x.Longest)
	m.First, m.Last = min(m.First, x.First), max(m.Last, x.Last)
	m.Time, m.Posting, m.Earlier, m.Rest, m.Polling = m.Time+x.Time, m.Posting+x.Posting, m.Earlier+x.Earlier,
		m.Rest+x.Rest, m.Polling+x.Polling
	for i, d := range x.Before {
		m.Before[i] += d
	}
}

// IterationEnd is how many ranks, and threads that call, have ended an iteration, and when the last of
// them did.
type IterationEnd struct {
	Ranks int
	At    units.Time
	Last  int32 // that rank
}

// newSums are those of the programs of which a host has ranks.
func newSums(x *Programs, own []ProgramRank) []ProgramSums {
	out := make([]ProgramSums, len(x.list))
	for _, r := range own {
		if s := &out[r.Program]; s.Kinds == nil {
			*s = NewProgramSums(len(x.delays), x.list[r.Program].Iterations)
		}
	}
	return out
}

// NewProgramSums are sums of nothing yet, of a plan with so many labels.
func NewProgramSums(labels, iterations int) ProgramSums {
	none := MessageSum{First: units.Never}
	return ProgramSums{Kinds: make([]KindSum, labels), Messages: none, News: none, Ends: make([]IterationEnd, iterations)}
}

// local adds a local operation that is over.
func (s *ProgramSums) local(r *LocalRun) {
	k := &s.Kinds[r.label]
	k.Count++
	k.Delay += r.Moved - r.Due
	k.Moving += r.Done - r.Moved
	k.Longest = max(k.Longest, r.Done-r.Due)
}

// waited adds what a step waited for.
func (s *ProgramSums) waited(label uint16, d units.Time) { s.Kinds[label].Waited += d }

// message adds a message whose completion was polled.
func (s *ProgramSums) message(p *programPost) {
	m := s.of(p)
	m.Time += p.Polled - p.Due
	m.Longest = max(m.Longest, p.Polled-p.Due)
	m.Posting += p.Posted - p.Due
	m.Polling += p.Polled - p.Done
	m.First, m.Last = min(m.First, p.Due), max(m.Last, p.Done)
}

// of is the sum that a message belongs to.
func (s *ProgramSums) of(p *programPost) *MessageSum {
	if p.news {
		return &s.News
	}
	return &s.Messages
}

// before adds the time of a queue pair up to a transmission.
func (s *MessageSum) before(t *Times) {
	for i, d := range t {
		s.Before[i] += d
		s.Rest -= d
	}
}

// sumNote adds the account of a program's message, which is over.
func (h *Host) sumNote(id uint32) {
	p := h.programs.posts[id&^programIDs]
	s := h.programs.sums[p.of].of(p)
	k := p.noted >> 1
	m := h.open[k]
	s.Count++
	if p.Status != 0 {
		s.Failed++
	}
	s.Earlier += m.After - m.Posted
	s.Rest += m.Done - m.After
	s.before(&m.Before)
	for i := range m.Failed {
		s.before(&m.Failed[i].Before)
	}
	p.noted = 0
	h.unused = append(h.unused, uint32(k))
}

// ProgramSums is what the host keeps of a program, by its number in Plan.Programs from 0; nil:
// it has none.
func (h *Host) ProgramSums(k int) *ProgramSums {
	if h.programs.Programs == nil || h.programs.sums[k].Kinds == nil {
		return nil
	}
	h.endPairs()
	return &h.programs.sums[k]
}
