package job

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/units"
)

// Error says which operation of a job is wrong.
type Error struct {
	List, Op int // in Spec.Lists
	Msg      string
}

func (e *Error) Error() string { return e.Msg }

func wrong(list int32, op int, format string, args ...any) error {
	return &Error{int(list), op, fmt.Sprintf(format, args...)}
}

// Check refuses a job that cannot be carried out: communicators that name a rank twice, ranks that
// do not meet in the same collectives in the same order, messages that are not received, and
// operations that can never start.
func (s *Spec) Check() error {
	if err := s.checkRanks(); err != nil {
		return err
	}
	for l := range s.Lists {
		for k := range s.Lists[l].Ops {
			if err := s.checkOp(int32(l), k); err != nil {
				return err
			}
		}
	}
	waits := s.waits()
	for l := range s.Lists {
		if err := s.checkCircle(int32(l), waits[l]); err != nil {
			return err
		}
	}
	if err := s.checkPeers(); err != nil {
		return err
	}
	for c := range s.Comms {
		if err := s.checkComm(c); err != nil {
			return err
		}
	}
	if err := s.settleSizes(); err != nil {
		return err
	}
	if err := s.checkMessages(); err != nil {
		return err
	}
	return s.checkProgress(waits)
}

func (s *Spec) checkRanks() error {
	switch {
	case s.Ranks < 1 || s.Ranks > collective.MaxRanks:
		return fmt.Errorf("%d ranks; a job has from 1 to %d", s.Ranks, collective.MaxRanks)
	case len(s.Of) != s.Ranks:
		return fmt.Errorf("%d of the %d ranks have operations", len(s.Of), s.Ranks)
	}
	total := 0
	for _, l := range s.Of {
		total += len(s.Lists[l].Ops)
	}
	switch {
	case total == 0:
		return fmt.Errorf("no rank has an operation; give at least one")
	case total > MostOperations:
		return fmt.Errorf("%d operations of all ranks in a step are more than the %d that a run can keep; use fewer",
			total, MostOperations)
	}
	for c := range s.Comms {
		comm := &s.Comms[c]
		comm.of = make([]member, s.Ranks)
		for r := range comm.of {
			comm.of[r] = member{-1, -1}
		}
		for g, group := range comm.Groups {
			for i, r := range group {
				if r < 0 || int(r) >= s.Ranks {
					return fmt.Errorf("communicator %s has rank %d; ranks are 0 to %d", comm.Name, r, s.Ranks-1)
				}
				if comm.of[r].group >= 0 {
					return fmt.Errorf("communicator %s has rank %d twice; each is in one group at most", comm.Name, r)
				}
				comm.of[r] = member{int32(g), int32(i)}
			}
		}
	}
	return nil
}

// checkOp refuses what no operation can be.
func (s *Spec) checkOp(l int32, k int) error {
	o := &s.Lists[l].Ops[k]
	for _, a := range o.After {
		if a < 0 || int(a) >= len(s.Lists[l].Ops) || int(a) == k {
			return wrong(l, k, "%s waits for operation %d of its list, which is none of the others", s.describe(l, k), a)
		}
	}
	switch o.Kind {
	case Compute:
		if o.Time < 0 || o.Time > MostTime {
			return wrong(l, k, "%s takes %s; a computation takes from 0 to %s", s.describe(l, k), o.Time, MostTime)
		}
	case Collective:
		if o.On < 0 || o.On >= len(s.Comms) {
			return wrong(l, k, "%s has no communicator", s.describe(l, k))
		}
	}
	if o.Kind == Collective && o.uneven() {
		return nil
	}
	if (o.Kind == Collective || o.Kind == Send || o.Kind == Recv || o.Kind == Copy) &&
		(o.Bytes < collective.Element || o.Bytes > collective.MaxBytes) {
		return wrong(l, k, "%s; sizes are from %s to %s", s.describe(l, k), collective.Element, collective.MaxBytes)
	}
	return nil
}

// MostTime bounds a computation: an hour.
const MostTime = 3600 * units.Second

// describe is an operation in words.
func (s *Spec) describe(l int32, k int) string {
	o := &s.Lists[l].Ops[k]
	what := ""
	switch o.Kind {
	case Collective:
		on := "?"
		if o.On >= 0 && o.On < len(s.Comms) {
			on = s.Comms[o.On].Name
		}
		if what = fmt.Sprintf("%s of %s on %s", o.Coll, o.Bytes, on); o.uneven() {
			what = o.what() + " on " + on
		}
	case Send, Recv, Copy:
		what = fmt.Sprintf("%s of %s", o.Kind, o.Bytes)
	default:
		what = o.Kind.String()
	}
	if o.Name != "" && o.Name != what {
		return fmt.Sprintf("%s (%s)", o.Name, what)
	}
	return fmt.Sprintf("operation %d (%s)", k, what)
}

// of is an operation of a rank in words.
func (s *Spec) ofRank(rank, k int) string {
	l := s.Of[rank]
	o := &s.Lists[l].Ops[k]
	text := fmt.Sprintf("rank %d's %s", rank, s.describe(l, k))
	switch o.Kind {
	case Send:
		text += fmt.Sprintf(" to rank %d", o.peer(rank))
	case Recv:
		text += fmt.Sprintf(" from rank %d", o.peer(rank))
	}
	return text
}

// waits lists by list and operation what each waits for: what it says, the one before in its stream,
// and the one before between the same ranks.
func (s *Spec) waits() [][][]int32 {
	out := make([][][]int32, len(s.Lists))
	for l := range s.Lists {
		ops := s.Lists[l].Ops
		out[l] = make([][]int32, len(ops))
		streams, comms := make(map[string]int32), make(map[[4]int]int32) // looked up, never iterated
		for k := range ops {
			o := &ops[k]
			list := slices.Clone(o.After)
			if before, is := streams[o.Stream]; is {
				list = append(list, before)
			}
			streams[o.Stream] = int32(k)
			if key, is := o.meeting(); is {
				if before, is := comms[key]; is {
					list = append(list, before)
				}
				comms[key] = int32(k)
			}
			slices.Sort(list)
			out[l][k] = slices.Compact(list)
		}
	}
	return out
}

// meeting is what ranks order their operations by: a communicator, or the messages to a rank, or
// from it.
func (o *Op) meeting() (key [4]int, is bool) {
	relative := 0
	if o.Relative {
		relative = 1
	}
	switch o.Kind {
	case Collective:
		return [4]int{0, o.On, 0, 0}, true
	case Send:
		return [4]int{1, o.Peer, relative, o.Tag}, true
	case Recv:
		return [4]int{2, o.Peer, relative, o.Tag}, true
	}
	return key, false
}

// checkCircle refuses operations of a list that wait for each other.
func (s *Spec) checkCircle(l int32, waits [][]int32) error {
	const (
		unseen = iota
		open
		over
	)
	state := make([]uint8, len(waits))
	var chain []int32
	for first := range waits {
		chain = append(chain[:0], int32(first))
		for len(chain) > 0 {
			k := chain[len(chain)-1]
			if state[k] == over {
				chain = chain[:len(chain)-1]
				continue
			}
			state[k] = open
			next := int32(-1)
			for _, a := range waits[k] {
				if state[a] == open {
					circle := []string{}
					for _, c := range chain[slices.Index(chain, a):] {
						circle = append(circle, s.describe(l, int(c)))
					}
					rank := slices.Index(s.Of, l)
					return wrong(l, int(k),
						"operations of rank %d wait for each other in a circle: %s; those of a stream and of a communicator "+
							"run in the order of the list", rank, strings.Join(circle, ", which waits for "))
				}
				if state[a] == unseen {
					next = a
					break
				}
			}
			if next < 0 {
				state[k] = over
				continue
			}
			chain = append(chain, next)
		}
	}
	return nil
}

// checkPeers refuses messages to ranks that there are not, and collectives of ranks that are in no
// group of their communicator.
func (s *Spec) checkPeers() error {
	for r, l := range s.Of {
		for k := range s.Lists[l].Ops {
			o := &s.Lists[l].Ops[k]
			switch o.Kind {
			case Collective:
				at := s.Comms[o.On].of[r]
				if at.group < 0 {
					return wrong(l, k, "%s: the rank is in no group of %s", s.ofRank(r, k), s.Comms[o.On].Name)
				}
				if n := len(s.Comms[o.On].Groups[at.group]); o.Root < 0 || o.Root >= n {
					return wrong(l, k, "%s has root %d; its group has places 0 to %d", s.ofRank(r, k), o.Root, n-1)
				}
			case Send, Recv:
				if p := o.peer(r); p < 0 || p >= s.Ranks || p == r {
					return wrong(l, k, "%s: ranks are 0 to %d, and none sends to itself", s.ofRank(r, k), s.Ranks-1)
				}
			case Copy:
				from, to := o.From.rank(r), o.To.rank(r)
				switch {
				case from >= s.Ranks || to >= s.Ranks || from < -1 || to < -1:
					return wrong(l, k, "%s is of rank %d; ranks are 0 to %d", s.ofRank(r, k), max(from, to, -min(from, to)), s.Ranks-1)
				case from == to:
					return wrong(l, k, "%s begins and ends in the same memory; give from and to, such as from: gpu, to: host",
						s.ofRank(r, k))
				}
			}
		}
	}
	return nil
}

// checkComm refuses groups of a communicator whose ranks do not call the same in the same order.
func (s *Spec) checkComm(c int) error {
	calls := make([][]int32, len(s.Lists)) // by list: its operations on the communicator
	for l := range s.Lists {
		for k := range s.Lists[l].Ops {
			if o := &s.Lists[l].Ops[k]; o.Kind == Collective && o.On == c {
				calls[l] = append(calls[l], int32(k))
			}
		}
	}
	same := make(map[[2]int32]bool) // looked up, never iterated
	for _, group := range s.Comms[c].Groups {
		a := s.Of[group[0]]
		for _, r := range group[1:] {
			b := s.Of[r]
			if a == b || same[[2]int32{a, b}] {
				continue
			}
			for i := range max(len(calls[a]), len(calls[b])) {
				if i >= len(calls[a]) || i >= len(calls[b]) {
					less, more, list := group[0], r, b
					if i < len(calls[a]) {
						less, more, list = r, group[0], a
					}
					k := int(calls[list][i])
					return wrong(list, k, "%s is call %d on %s, and rank %d has only %d; all ranks of a group call the same",
						s.ofRank(int(more), k), i+1, s.Comms[c].Name, less, i)
				}
				x, y := &s.Lists[a].Ops[calls[a][i]], &s.Lists[b].Ops[calls[b][i]]
				if x.Coll != y.Coll || x.Bytes != y.Bytes || x.Root != y.Root || x.uneven() != y.uneven() {
					return wrong(b, int(calls[b][i]),
						"call %d on %s: %s, and %s; all ranks of a group call the same in the same order", i+1, s.Comms[c].Name,
						s.ofRank(int(group[0]), int(calls[a][i])), s.ofRank(int(r), int(calls[b][i])))
				}
			}
			same[[2]int32{a, b}] = true
		}
	}
	return nil
}

// pairKey is a rank that sends to another, and the tag of its messages.
type pairKey struct {
	from, to int32
	tag      int
}

// checkMessages refuses messages that are not received as they are sent.
func (s *Spec) checkMessages() error {
	sends := make(map[pairKey][]int32) // operations of the sender; looked up, never iterated
	recvs := make(map[pairKey][]int32)
	for r, l := range s.Of {
		for k := range s.Lists[l].Ops {
			switch o := &s.Lists[l].Ops[k]; o.Kind {
			case Send:
				key := pairKey{int32(r), int32(o.peer(r)), o.Tag}
				sends[key] = append(sends[key], int32(k))
			case Recv:
				key := pairKey{int32(o.peer(r)), int32(r), o.Tag}
				recvs[key] = append(recvs[key], int32(k))
			}
		}
	}
	seen := make(map[pairKey]int)
	for r, l := range s.Of {
		for k := range s.Lists[l].Ops {
			o := &s.Lists[l].Ops[k]
			if o.Kind != Send && o.Kind != Recv {
				continue
			}
			key, own, others := pairKey{int32(r), int32(o.peer(r)), o.Tag}, "receives", recvs
			if o.Kind == Recv {
				key, own, others = pairKey{int32(o.peer(r)), int32(r), o.Tag}, "sends", sends
			}
			turn := key
			if o.Kind == Recv {
				turn.from = ^key.from
			}
			i := seen[turn]
			seen[turn]++
			peer := o.peer(r)
			if i >= len(others[key]) {
				return wrong(l, k, "%s is the %s of that pair, and rank %d %s %d; give both or neither",
					s.ofRank(r, k), ordinal(i+1), peer, own, len(others[key]))
			}
			if other := &s.Lists[s.Of[peer]].Ops[others[key][i]]; other.Bytes != o.Bytes {
				return wrong(l, k, "%s meets %s; both have the same size", s.ofRank(r, k), s.ofRank(peer, int(others[key][i])))
			}
		}
	}
	return nil
}

func ordinal(n int) string {
	suffix := "th"
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
