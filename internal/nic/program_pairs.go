package nic

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Where every rank of a program sends to every other, queue pairs and edges are made when they
// are first used, and what a queue pair that is through takes is used again by the next.
// Packets and timers name them by the number of their connection, the same at both ends.

// programQPs is set in these numbers.
const programQPs = 1 << 28

// PairNumber is the number of the queue pairs of a connection, counted through all programs.
func PairNumber(conn uint32) uint32 { return programQPs | conn }

// MaxPairs is how many connections programs may make.
const MaxPairs = 1 << 28

// pairs are what a host has of that.
type pairs struct {
	static  uint32            // queue pairs of the plan; those behind are made and used again
	slot    map[uint32]uint32 // by number
	numbers []uint32          // by slot, without the static ones
	left    []int32           // likewise: what has still to become of its messages
	through []uint32          // slots that are, oldest first
	qps     []*rdma.QP        // to be used again
	lives   []*life
	out     map[uint64]*outEdge // by program and edge
	in      map[uint64]*inEdge
	outs    []*outEdge // to be used again
	ins     []*inEdge
	edges   [32]workload.ProgramEdge // those looked at last
	edge    int
	acts    []record.Entry // of queue pairs that are over
	keep    bool           // packets may be lost: queue pairs are not used again
}

// edgeKey names an edge of a program.
func (p *program) edgeKey(e int32) uint64 { return uint64(p.nr)<<32 | uint64(uint32(e)) }

// PairSums is what queue pairs did that a program made.
type PairSums struct {
	Made, Most int64 // in all, and of a host at a time
	rdma.Counters
}

func newPairs(x *Programs, static uint32) pairs {
	return pairs{static: static, slot: map[uint32]uint32{}, out: map[uint64]*outEdge{}, in: map[uint64]*inEdge{},
		keep: x.Lossy}
}

// listed is how many of n queue pairs are told apart in records.
func (x *pairs) listed(n int) int {
	if x.slot == nil {
		return n
	}
	return int(x.static)
}

// number is what names queue pair q to peers and in timers.
func (h *Host) number(q uint32) uint32 {
	if x := &h.programs.pairs; x.slot != nil && q >= x.static {
		return x.numbers[q-x.static]
	}
	return q
}

// slotOf is the queue pair with a number; false: it is over, or has still to be made.
func (h *Host) slotOf(number uint32) (q uint32, here bool) {
	if number&programQPs == 0 {
		return number, true
	}
	q, here = h.programs.pairs.slot[number]
	return q, here
}

// meant is the queue pair that a packet goes to. A request to one that is not there makes it.
func (h *Host) meant(pk *packet.Packet) (q uint32, here bool) {
	q, here = h.slotOf(pk.DestQP)
	if !here && pk.Kind == packet.Data {
		return h.connect(pk.DestQP, false), true
	}
	return q, here
}

// connected is the queue pair that posts by a number.
func (h *Host) connected(number uint32) uint32 {
	if q, here := h.slotOf(number); here {
		return q
	}
	return h.connect(number, true)
}

// connect makes a queue pair.
func (h *Host) connect(number uint32, requester bool) uint32 {
	x := &h.programs.pairs
	of, conn := h.connectionOf(number)
	spec, messages := h.requests.Pair(of, conn, requester)
	q := h.freeSlot()
	h.specs[q] = spec
	h.qps[q] = qpSlot{port: uint8(spec.Port), class: spec.Data.Class, watched: spec.Accepting != nil, summed: true}
	if h.path != nil {
		h.path.qps[q] = hostQP{}
	}
	x.slot[number], x.numbers[q-x.static], x.left[q-x.static] = q, number, int32(messages)
	sums := &h.programs.sums[of].Pairs
	sums.Made++
	sums.Most = max(sums.Most, int64(len(x.slot)))
	return q
}

// connectionOf is the program, and its connection, that a number names.
func (h *Host) connectionOf(number uint32) (of int, conn int32) {
	x := h.programs.list
	of = len(x) - 1
	for number&^programQPs < x[of].conn {
		of--
	}
	return of, int32(number&^programQPs - x[of].conn)
}

// kindOf is the kind of queue pair that a number names, at the end that posts or at the other;
// nil: of one of the plan.
func (h *Host) kindOf(number uint32, requester bool) *QPKind {
	if number&programQPs == 0 {
		return nil
	}
	of, conn := h.connectionOf(number)
	return h.requests.PairKind(of, conn, requester)
}

// kindPosted is that of the queue pair that message id was posted to.
func (h *Host) kindPosted(id uint32) *QPKind {
	if id&programIDs == 0 {
		return nil
	}
	return h.programs.posts[id&^programIDs].kind
}

// freeSlot is a free slot: that of a queue pair that is through, or another one.
func (h *Host) freeSlot() uint32 {
	x := &h.programs.pairs
	if len(x.through) > 0 && !x.keep {
		q := x.through[0]
		if h.atRest(q) {
			x.through = x.through[1:]
			h.endPair(q)
			return q
		}
	}
	h.qps, h.specs = append(h.qps, qpSlot{}), append(h.specs, QPSpec{})
	if h.path != nil {
		h.path.qps = append(h.path.qps, hostQP{})
	}
	x.numbers, x.left = append(x.numbers, 0), append(x.left, 0)
	return uint32(len(h.qps) - 1)
}

// atRest reports whether nothing is to be done any more for a queue pair that is through.
func (h *Host) atRest(q uint32) bool {
	s := &h.qps[q]
	return !s.opened() || !s.scheduled && !s.answering && s.qp.Deadline() == units.Never && h.ports[s.port].latest != q
}

// pairDone notes that one more of what a queue pair has to do is done.
func (h *Host) pairDone(q uint32) {
	x := &h.programs.pairs
	if x.slot == nil || q < x.static {
		return
	}
	if x.left[q-x.static]--; x.left[q-x.static] == 0 {
		x.through = append(x.through, q)
	}
}

// endPair adds up what a queue pair did and takes it away.
func (h *Host) endPair(q uint32) {
	x, s := &h.programs.pairs, &h.qps[q]
	number := x.numbers[q-x.static]
	delete(x.slot, number)
	if !s.opened() {
		return
	}
	of, _ := h.connectionOf(number)
	h.programs.sums[of].Pairs.count(s.qp.Counters())
	actsOf(s.qp, true, func(question catalog.Question, m catalog.Mechanism, a record.Act) {
		for i := range x.acts {
			if e := &x.acts[i]; e.Mechanism == m {
				e.Count, e.Sum, e.First, e.Last = e.Count+a.Count, e.Sum+a.Sum, min(e.First, a.First), max(e.Last, a.Last)
				return
			}
		}
		x.acts = append(x.acts, record.Entry{Question: question, Mechanism: m, Act: a})
	})
	x.qps, x.lives = append(x.qps, s.qp), append(x.lives, s.life)
	s.qp, s.life = nil, nil
}

// endPairs ends those that there are, after the run.
func (h *Host) endPairs() {
	x := &h.programs.pairs
	if x.slot == nil {
		return
	}
	for q := x.static; int(q) < len(h.qps); q++ {
		h.endPair(q)
	}
}

// ledger appends the acts of queue pairs that are over, together.
func (x *pairs) ledger(host string, out []record.Entry) []record.Entry {
	for _, e := range x.acts {
		e.Actor = record.QPAt(catalog.RC, host, int(x.static))
		out = append(out, e)
	}
	return out
}

// newQP is room for a queue pair.
func (h *Host) newQP() *rdma.QP {
	x := &h.programs.pairs
	if n := len(x.qps); n > 0 {
		qp := x.qps[n-1]
		x.qps = x.qps[:n-1]
		return qp
	}
	return new(rdma.QP)
}

// newLife is room for what a queue pair has from its first use on.
func (h *Host) newLife() *life {
	x := &h.programs.pairs
	n := len(x.lives)
	if n == 0 {
		return &life{armed: units.Never}
	}
	l := x.lives[n-1]
	x.lives = x.lives[:n-1]
	a, accepted := l.account, l.taken.accepted
	*l = life{armed: units.Never, taken: acceptances{accepted: accepted[:0]}, account: a}
	if a != nil {
		*a = account{queue: a.queue[:0]}
	}
	return l
}

// edge is an edge of a program, to be read at once.
func (h *Host) edge(p *program, e int32) *workload.ProgramEdge {
	if p.Pairs == nil {
		return &p.Edges[e]
	}
	x := &h.programs.pairs
	x.edge = (x.edge + 1) % len(x.edges)
	p.Pairs.Edge(e, &x.edges[x.edge])
	return &x.edges[x.edge]
}

// out is the near end of an edge, which begins where it was not used.
func (h *Host) out(p *program, e int32) *outEdge {
	if p.out != nil {
		return &p.out[e]
	}
	x, key := &h.programs.pairs, p.edgeKey(e)
	out := x.out[key]
	if out == nil {
		if n := len(x.outs); n > 0 {
			out, x.outs = x.outs[n-1], x.outs[:n-1]
			*out = outEdge{}
		} else {
			out = new(outEdge)
		}
		x.out[key] = out
	}
	return out
}

// in is the far end, likewise.
func (h *Host) in(p *program, e int32) *inEdge {
	if p.in != nil {
		return &p.in[e]
	}
	x, key := &h.programs.pairs, p.edgeKey(e)
	in := x.in[key]
	if in == nil {
		if n := len(x.ins); n > 0 {
			in, x.ins = x.ins[n-1], x.ins[:n-1]
			*in = inEdge{}
		} else {
			in = new(inEdge)
		}
		x.in[key] = in
	}
	return in
}

// forgetOut forgets the near end of an edge over which all is sent.
func (h *Host) forgetOut(p *program, e int32) {
	if p.out != nil {
		return
	}
	x, key := &h.programs.pairs, p.edgeKey(e)
	x.outs = append(x.outs, x.out[key])
	delete(x.out, key)
}

// forgetIn forgets the far end of an edge from which all is taken, and inside a host the near
// one.
func (h *Host) forgetIn(p *program, e int32, in *inEdge) {
	if p.in != nil {
		return
	}
	edge := h.edge(p, e)
	if in.done < edge.Units*p.Iterations {
		return
	}
	if edge.Local {
		h.forgetOut(p, e)
	}
	x := &h.programs.pairs
	x.ins = append(x.ins, in)
	delete(x.in, p.edgeKey(e))
}

// count adds what a queue pair counted.
func (s *PairSums) count(c rdma.Counters) {
	s.SentPackets, s.SentBytes = s.SentPackets+c.SentPackets, s.SentBytes+c.SentBytes
	s.Retransmitted += c.Retransmitted
	s.CNPsReceived, s.NAKsSent, s.Timeouts = s.CNPsReceived+c.CNPsReceived, s.NAKsSent+c.NAKsSent, s.Timeouts+c.Timeouts
}

// add adds the sums of another host.
func (s *PairSums) add(x *PairSums) {
	s.Made, s.Most = s.Made+x.Made, max(s.Most, x.Most)
	s.count(x.Counters)
}
