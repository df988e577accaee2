package nic

import (
	"slices"

	"github.com/hopscope/hopscope/internal/units"
)

// A path is the critical path of a program up to an instant at a host: back to the start, of each
// operation the one whose end started it. Kept is by kind how many there are and where their time
// went, which adds up to that from the start. Each operation under way has the path to its begin,
// the one of the event that began it, so that nothing has to be kept of those that are over.
//
// It has for each label the number and the time of local operations, and then what stands below.
type path []units.Time

// Places of a path behind the labels.
const (
	pathNews     = iota // number of messages with news of slots
	pathNewsTime        // their time
	pathMessages        // number of those with data
	pathPosting         // and their time as of a MessageSum
	pathEarlier
	pathRest
	pathPolling
	pathPlacing // from when the card had accepted them to when they were in memory
	pathBefore  // by stage of queue pairs
	pathPlaces  = pathBefore + int(NumStages)
)

// Path is a path by kind.
type Path struct {
	Kinds    []PathKind // by label
	News     PathKind
	Messages MessageSum // Count, Time, Posting, Earlier, Before, Rest and Polling
	Placing  units.Time // of messages, at their receivers: no part of Messages
}

// PathKind is how many operations of a kind a path has, and their time.
type PathKind struct {
	Count int64
	Time  units.Time
}

// newPath makes room for a path.
func (x *programs) newPath() path {
	n := len(x.path)
	if len(x.paths) < n {
		x.paths = make(path, 16*n)
	}
	out := x.paths[:n:n]
	x.paths = x.paths[n:]
	return out
}

// pathOf is that of the event at hand; nil: a program has none, as each message would have to tell
// its receiver, whose queue pair is made when it comes.
func (x *programs) pathOf(p *program) path {
	if p.Pairs != nil {
		return nil
	}
	return x.path
}

// others are the places of a path behind the labels.
func (p path) others() path { return p[len(p)-pathPlaces:] }

// endPath has the path of an operation that is over, of the length since it was due, be the one
// of the event.
func (x *programs) endPath(op *programOp, d units.Time) {
	op.path[2*op.label]++
	op.path[2*op.label+1] += d
	x.path, op.path = op.path, x.path
}

// left notes that the last packet of a message begins to leave, for the first time.
func (p *programPost) left(m *MessageAccount) {
	if p.path == nil || p.news || p.onPath > 0 {
		return
	}
	o := p.path.others()
	o[pathPosting] += m.Posted - p.Due
	o[pathEarlier] += m.After - m.Posted
	for s, d := range m.Before {
		o[pathBefore+s] += d
	}
	p.onPath = m.After - p.Due + m.Before.Total()
}

// followPath has the path of a message be the one of the event, at which its end is seen where the
// event is; last says as what the time counts that it took since it was over.
func (x *programs) followPath(now units.Time, p *programPost, last int) {
	if p.path == nil {
		return
	}
	copy(x.path, p.path)
	o := x.path.others()
	if p.news {
		o[pathNews]++
		o[pathNewsTime] += now - p.Due
		return
	}
	o[pathMessages]++
	o[pathRest] += p.Done - p.Due - p.onPath
	o[last] += now - p.Done
}

// takeOver copies the paths of the next messages of a sequence, before they are acknowledged:
// from then on their sender may use their room again.
func (h *Host) takeOver(now units.Time, s *Sequence, n int) {
	x := &h.programs
	for range n {
		if len(s.sent) == 0 {
			return
		}
		from, to := s.sent[s.took%len(s.sent)], (*programPost)(nil)
		s.took++
		if k := len(x.spent); k > 0 {
			to, x.spent = x.spent[k-1], x.spent[:k-1]
		} else {
			to = &programPost{path: x.newPath()}
		}
		copy(to.path, from.path)
		to.Due, to.Done, to.news, to.onPath = from.Due, now, from.news, from.onPath
		s.came = append(s.came, to)
	}
}

// Path is the path to the end of a program's last iteration; nil: it is not over here, or none was
// kept.
func (s *ProgramSums) Path() *Path { return pathFrom(s.path, len(s.Kinds)) }

// pathFrom is a path by kind, of so many labels; nil: there is none.
func pathFrom(p path, labels int) *Path {
	if p == nil {
		return nil
	}
	out := &Path{}
	for k := range labels {
		out.Kinds = append(out.Kinds, PathKind{int64(p[2*k]), p[2*k+1]})
	}
	o := p.others()
	m := &out.Messages
	out.News, m.Count = PathKind{int64(o[pathNews]), o[pathNewsTime]}, int64(o[pathMessages])
	m.Posting, m.Earlier, m.Rest, m.Polling = o[pathPosting], o[pathEarlier], o[pathRest], o[pathPolling]
	m.Time, out.Placing = m.Posting+m.Earlier+m.Rest+m.Polling, o[pathPlacing]
	for k := range m.Before {
		m.Before[k] = o[pathBefore+k]
		m.Time += m.Before[k]
	}
	return out
}

// ended notes that a rank, or its thread that calls, has ended an iteration, at the end of a path.
func (s *ProgramSums) ended(iteration int, rank int32, now units.Time, p path) {
	e := &s.Ends[iteration]
	e.Ranks++
	if now <= e.At {
		return
	}
	e.At, e.Last = now, rank
	if p != nil && iteration == len(s.Ends)-1 {
		s.path = slices.Clone(p)
	}
}
