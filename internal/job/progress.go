package job

import "strings"

// walk runs a job without time: which operations can start at all, and end?
type walk struct {
	*Spec
	left    [][]int32 // by rank and operation: what it still waits for
	then    [][][]int32
	started [][]bool
	over    [][]bool
	met     map[meeting]*met // looked up, never iterated
	turn    []map[[4]int]int // by rank: how many operations of a meeting it has started
	todo    []rankOp
}

type rankOp struct {
	rank int32
	op   int32
}

// meeting is one time that ranks meet: in a call of a group, or in a message from a rank to another.
type meeting struct {
	comm, a, b int32 // -1, from, to: a message; else the communicator and the group
	tag        int
	turn       int32
}

// met are those that have come to a meeting.
type met struct {
	missing int
	here    []rankOp
}

// checkProgress refuses jobs in which operations can never start or end.
func (s *Spec) checkProgress(waits [][][]int32) error {
	w := walk{Spec: s, met: make(map[meeting]*met), turn: make([]map[[4]int]int, s.Ranks)}
	for l := range s.Lists {
		then := make([][]int32, len(waits[l]))
		for k, list := range waits[l] {
			for _, a := range list {
				then[a] = append(then[a], int32(k))
			}
		}
		w.then = append(w.then, then)
	}
	for r, l := range s.Of {
		n := len(waits[l])
		left := make([]int32, n)
		for k, list := range waits[l] {
			if left[k] = int32(len(list)); left[k] == 0 {
				w.todo = append(w.todo, rankOp{int32(r), int32(k)})
			}
		}
		w.left, w.started, w.over = append(w.left, left), append(w.started, make([]bool, n)), append(w.over, make([]bool,
			n))
		w.turn[r] = make(map[[4]int]int)
	}
	for len(w.todo) > 0 {
		at := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		w.start(at)
	}
	for r := range w.over {
		for k, over := range w.over[r] {
			if !over {
				return w.stuck(r, k, waits)
			}
		}
	}
	return nil
}

// meetingOf is that of an operation, and how many ranks it takes.
func (w *walk) meetingOf(at rankOp) (m meeting, ranks int) {
	o := &w.Lists[w.Of[at.rank]].Ops[at.op]
	switch o.Kind {
	case Collective:
		group := w.Comms[o.On].of[at.rank].group
		return meeting{comm: int32(o.On), a: group}, len(w.Comms[o.On].Groups[group])
	case Send:
		return meeting{comm: -1, a: at.rank, b: int32(o.peer(int(at.rank))), tag: o.Tag}, 2
	}
	return meeting{comm: -1, a: int32(o.peer(int(at.rank))), b: at.rank, tag: o.Tag}, 2
}

// start starts an operation, which ends when those that meet in it have come.
func (w *walk) start(at rankOp) {
	w.started[at.rank][at.op] = true
	key, meets := w.keyOf(at)
	if !meets {
		w.end(at)
		return
	}
	m, ranks := w.meetingOf(at)
	m.turn = int32(w.turn[at.rank][key])
	w.turn[at.rank][key]++
	x := w.met[m]
	if x == nil {
		x = &met{missing: ranks}
		w.met[m] = x
	}
	x.here = append(x.here, at)
	if x.missing--; x.missing == 0 {
		delete(w.met, m)
		for _, other := range x.here {
			w.end(other)
		}
	}
}

// keyOf is what a rank counts its operations by that meet others: see Op.meeting.
func (w *walk) keyOf(at rankOp) (key [4]int, is bool) {
	o := &w.Lists[w.Of[at.rank]].Ops[at.op]
	key, is = o.meeting()
	if o.Kind != Collective {
		key[1], key[2] = o.peer(int(at.rank)), 0
	}
	return key, is
}

func (w *walk) end(at rankOp) {
	w.over[at.rank][at.op] = true
	for _, next := range w.then[w.Of[at.rank]][at.op] {
		if w.left[at.rank][next]--; w.left[at.rank][next] == 0 {
			w.todo = append(w.todo, rankOp{at.rank, next})
		}
	}
}

// stuck is the error of an operation that never ends: what it waits for, up to what comes again.
func (w *walk) stuck(rank, op int, waits [][][]int32) error {
	at := rankOp{int32(rank), int32(op)}
	first, seen := at, map[rankOp]int{}
	var chain []rankOp
	for {
		if _, again := seen[at]; again {
			break
		}
		seen[at] = len(chain)
		chain = append(chain, at)
		at = w.cause(at, waits)
	}
	chain = chain[seen[at]:]
	var b strings.Builder
	for i, c := range chain {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(w.ofRank(int(c.rank), int(c.op)))
		b.WriteString(w.because(c))
		b.WriteString(w.ofRank(int(chain[(i+1)%len(chain)].rank), int(chain[(i+1)%len(chain)].op)))
	}
	start := chain[0]
	if len(chain) == 1 {
		start = first
	}
	return wrong(w.Of[start.rank], int(start.op), "this can never end: %s", b.String())
}

// because says how an operation waits for the next one of the chain.
func (w *walk) because(at rankOp) string {
	if w.started[at.rank][at.op] {
		return " waits for its peers, of which one has still to start "
	}
	return " waits for the end of "
}

// cause is what keeps an operation from its end: an operation of its rank that it waits for, or that of
// a peer which has not come.
func (w *walk) cause(at rankOp, waits [][][]int32) rankOp {
	if !w.started[at.rank][at.op] {
		for _, a := range waits[w.Of[at.rank]][at.op] {
			if !w.over[at.rank][a] {
				return rankOp{at.rank, a}
			}
		}
	}
	m, _ := w.meetingOf(at)
	if m.comm < 0 {
		peer := m.a
		if peer == at.rank {
			peer = m.b
		}
		return w.next(peer, at)
	}
	here := make(map[int32]bool)
	o := &w.Lists[w.Of[at.rank]].Ops[at.op]
	for r := range w.Of { // who has the fewest calls of the group behind it
		if w.Comms[o.On].of[r].group == m.a {
			here[int32(r)] = true
		}
	}
	mine, latest := w.turnOf(at.rank, at), at.rank
	for r := range w.Of {
		if here[int32(r)] && w.turnOf(int32(r), at) < mine {
			mine, latest = w.turnOf(int32(r), at), int32(r)
		}
	}
	return w.next(latest, at)
}

// turnOf is how many calls on an operation's communicator a rank has started.
func (w *walk) turnOf(rank int32, at rankOp) int {
	key, _ := w.keyOf(at)
	return w.turn[rank][key]
}

// next is the operation of a rank that would meet another one and has not started.
func (w *walk) next(rank int32, at rankOp) rankOp {
	o := &w.Lists[w.Of[at.rank]].Ops[at.op]
	for k := range w.Lists[w.Of[rank]].Ops {
		x := &w.Lists[w.Of[rank]].Ops[k]
		if w.started[rank][k] || x.Tag != o.Tag {
			continue
		}
		switch {
		case o.Kind == Collective && x.Kind == Collective && x.On == o.On,
			o.Kind == Send && x.Kind == Recv && x.peer(int(rank)) == int(at.rank),
			o.Kind == Recv && x.Kind == Send && x.peer(int(rank)) == int(at.rank):
			return rankOp{rank, int32(k)}
		}
	}
	return at
}
