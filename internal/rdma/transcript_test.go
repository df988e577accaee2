package rdma

import (
	"encoding/binary"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/transcript"
	"github.com/hopscope/hopscope/internal/units"
)

var update = flag.Bool("update", false, "write testdata/*.txt again from what the queue pairs do; commit only what you understand")

// TestTranscripts runs testdata/*.txt (package transcript); -update writes them
// again. NAME is that of a queue pair, N
// the number a packet got when it was sent, LIST numbers with commas.
//
//	connect A B [KEY=VALUE...]   a new case: two queue pairs; A.KEY sets one side only (transcriptKeys)
//	also C D [KEY=VALUE...]      two more in the same case
//	post NAME VERB BYTES [KEY=VALUE...]  a work request (postKeys); IDs count from 0
//	receive NAME COUNT           post receive work requests
//	send NAME [COUNT]            send what may be sent, or that many packets; pacing moves the time
//	deliver NAME [...]           hand over what is on the wire to NAME; the answers go on the wire:
//	    only=LIST                these; the rest stays on the wire
//	    order=LIST               these first, in this order
//	    drop=LIST twice=LIST ce=LIST   lost, delivered twice, CE-marked on the way
//	settle                       send and deliver all, both ways, until only timers are left
//	corrupt N KEY=VALUE...       change header fields of a packet on the wire (corruptKeys)
//	advance TIME                 let time pass and the timers run
//	expire NAME                  let time pass until the next timer of NAME
//	modify NAME STATE            change a queue pair's state
//	state NAME                   states and counters
//	word NAME                    the first word of memory, of connect's words
//	lend NAME                    register a region that may be invalidated, and print its key
//	arm COUNT                    the limit of the shared receive queue (srq of connect)
//
// Output: a packet per line with its number, from and to, opcode, PSN, payload,
// then extended headers and flags as far as it has any; changes of states;
// completions.
func TestTranscripts(t *testing.T) {
	transcript.Run(t, *update, func(t *testing.T) transcript.World { return &transcriptWorld{t: t} })
}

// transcriptWorld is the queue pairs of one case and what is on the wire.
type transcriptWorld struct {
	t     *testing.T
	where string
	out   []string
	now   units.Time
	qps   []*transcriptQP
	wire  []wirePacket
	n     int // packets sent
	srq   *ReceiveQueue
	limit int64 // limit events printed
}

type transcriptQP struct {
	*QP
	name   string
	number uint32 // QP number
	peer   *transcriptQP
	cfg    Config
	setup  Setup
	cq     CompletionQueue
	posted uint32
	seen   int // completions printed
	rcq    CompletionQueue
	got    int // completions of received messages printed
	states string
}

// wirePacket is a packet on its way.
type wirePacket struct {
	n        int
	from, to *transcriptQP
	p        packet.Packet
	side     *packet.Side
}

// Do implements transcript.World.
func (x *transcriptWorld) Do(where, line string) []string {
	x.where, x.out = where, nil
	x.do(line)
	return x.out
}

func (x *transcriptWorld) do(line string) {
	f := strings.Fields(line)
	args := f[1:]
	switch f[0] {
	case "connect":
		*x = transcriptWorld{t: x.t, where: x.where}
		x.connect(args)
	case "also":
		x.connect(args)
	case "post":
		x.post(args)
	case "receive":
		x.qp(args[0]).PostReceive(int64(x.number(args[1])))
	case "send":
		x.send(x.qp(args[0]), args[1:])
	case "deliver":
		x.deliver(x.qp(args[0]), args[1:])
	case "settle":
		x.settle()
	case "corrupt":
		x.corrupt(args)
	case "advance":
		d, err := units.ParseTime(args[0])
		x.check(err)
		x.advance(x.now + d)
	case "expire":
		x.expire(x.qp(args[0]))
	case "modify":
		x.modify(x.qp(args[0]), args[1])
	case "state":
		x.state(x.qp(args[0]))
	case "word":
		x.word(x.qp(args[0]))
	case "lend":
		x.lend(x.qp(args[0]))
	case "arm":
		x.srq.Arm(int64(x.number(args[0])))
	default:
		x.t.Fatalf("%s: unknown command %s", x.where, f[0])
	}
}

func (x *transcriptWorld) check(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatalf("%s: %v", x.where, err)
	}
}

func (x *transcriptWorld) printf(format string, args ...any) {
	x.out = append(x.out, "  "+strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (x *transcriptWorld) number(s string) uint64 {
	x.t.Helper()
	var n uint64
	if _, err := fmt.Sscan(s, &n); err != nil {
		x.t.Fatalf("%s: %s is no number", x.where, s)
	}
	return n
}

func (x *transcriptWorld) qp(name string) *transcriptQP {
	x.t.Helper()
	for _, q := range x.qps {
		if q.name == name {
			return q
		}
	}
	x.t.Fatalf("%s: no queue pair %s", x.where, name)
	return nil
}

// connect makes two queue pairs at 100 Gb/s; PSNs start at 0, the region open to
// the peer is base and mrLen long with key rkey.
func (x *transcriptWorld) connect(args []string) {
	pair := [2]*transcriptQP{{name: args[0]}, {name: args[1]}}
	for i, q := range pair {
		q.number = uint32(100 + len(x.qps) + i)
		q.peer = pair[1-i]
		s := x.setup(q, args[2:])
		q.QP = new(QP)
		s.Data.DestQP = uint32(100 + len(x.qps) + 1 - i)
		s.Ack, s.CNP = s.Data, s.Data
		q.setup = *s
		q.Connect(s, x.now)
		q.states = q.stateText()
	}
	x.qps = append(x.qps, pair[0], pair[1])
}

func (x *transcriptWorld) setup(q *transcriptQP, args []string) *Setup {
	q.cfg = mustPreset(x.t, "nic")
	q.cfg.MTU = 1024
	s := &Setup{Config: &q.cfg, CQ: &q.cq, Line: 100 * units.Gbps, Attrs: attrs()}
	s.Data.Conn, s.Data.TTL, s.QPN = q.number, 64, q.number
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		if side, rest, one := strings.Cut(key, "."); one {
			if side != q.name {
				continue
			}
			key = rest
		}
		set, ok := transcriptKeys()[key]
		if !ok {
			x.t.Fatalf("%s: unknown key %s", x.where, key)
		}
		set(x, s, value)
	}
	if s.SRQ != nil || s.Attrs.Receives >= 0 && s.Attrs.ReceiveSize > 0 {
		s.ReceiveCQ = &q.rcq
	}
	x.check(q.cfg.Validate())
	return s
}

// shared is the case's shared receive queue, with n receives at the start.
func (x *transcriptWorld) shared(n int64) *ReceiveQueue {
	if x.srq == nil {
		x.srq = NewReceiveQueue(n, 0)
	}
	return x.srq
}

func (x *transcriptWorld) word(q *transcriptQP) {
	a := &q.setup.Attrs
	r := a.Memory.Local(a.PD, rkey, base, 8, 0)
	x.printf("%s: %d", q.name, binary.LittleEndian.Uint64(r.Bytes(base, 8)))
}

func (x *transcriptWorld) lend(q *transcriptQP) {
	key, err := q.setup.Attrs.Memory.Register(Region{Base: base, Length: mrLen, Access: RemoteAll, Invalidatable: true})
	x.check(err)
	x.printf("R_Key %#x", key)
}

func (x *transcriptWorld) post(args []string) {
	q := x.qp(args[0])
	verb := slices.Index(verbWords(), args[1])
	if verb < 0 {
		x.t.Fatalf("%s: unknown verb %s", x.where, args[1])
	}
	r := WorkRequest{ID: q.posted, Verb: Verb(verb), Bytes: units.Bytes(x.number(args[2])), VA: base, RKey: rkey}
	if q.service == UD {
		r.AH = q.peer.handle()
	}
	for _, arg := range args[3:] {
		key, value, _ := strings.Cut(arg, "=")
		set, ok := postKeys()[key]
		if !ok {
			x.t.Fatalf("%s: unknown key %s", x.where, key)
		}
		set(x, &r, value)
	}
	q.posted++
	if err := q.Post(x.now, r); err != nil {
		x.printf("%v", err)
	}
	x.changes(q)
}

// send polls q until it has nothing more to send now, or max packets are out.
func (x *transcriptWorld) send(q *transcriptQP, limit []string) {
	left := -1
	if len(limit) > 0 {
		left = int(x.number(limit[0]))
	}
	for left != 0 {
		var p packet.Packet
		reason, until := q.Poll(x.now, &p)
		if reason == RateLimit {
			x.now = until
			continue
		}
		if reason != Sent {
			x.changes(q)
			x.printf("%s: %s", q.name, reason)
			return
		}
		x.transmit(q, &p, q.PolledSide())
		x.changes(q)
		left--
	}
}

// transmit puts a packet on the wire and prints it.
func (x *transcriptWorld) transmit(from *transcriptQP, p *packet.Packet, side *packet.Side) {
	x.n++
	w := wirePacket{n: x.n, from: from, to: from.peer, p: *p}
	for _, q := range x.qps {
		if q.number == p.DestQP {
			w.to = q
		}
	}
	if side != nil {
		s := *side
		w.side = &s
	}
	x.wire = append(x.wire, w)
	x.printf("%s", w.String())
}

// deliver hands packets on the wire over to q.
func (x *transcriptWorld) deliver(q *transcriptQP, args []string) {
	lists := map[string][]int{}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		if !slices.Contains([]string{"only", "order", "drop", "twice", "ce"}, key) {
			x.t.Fatalf("%s: unknown key %s", x.where, key)
		}
		for _, n := range strings.Split(value, ",") {
			lists[key] = append(lists[key], int(x.number(n)))
		}
	}
	batch := x.takeOff(q, lists["only"], lists["order"])
	for key, list := range lists {
		for _, n := range list {
			if !slices.ContainsFunc(batch, func(w wirePacket) bool { return w.n == n }) {
				x.t.Fatalf("%s: %s: packet %d is not on the wire to %s", x.where, key, n, q.name)
			}
		}
	}
	for _, w := range batch {
		if slices.Contains(lists["drop"], w.n) {
			x.printf("%d lost", w.n)
			continue
		}
		if slices.Contains(lists["ce"], w.n) {
			w.p.ECN = packet.CE
		}
		x.arrive(w)
		if slices.Contains(lists["twice"], w.n) {
			x.arrive(w)
		}
	}
}

// takeOff takes the packets to q off the wire: all or only some, those of order
// first.
func (x *transcriptWorld) takeOff(q *transcriptQP, only, order []int) (batch []wirePacket) {
	var rest []wirePacket
	for _, w := range x.wire {
		if w.to != q || only != nil && !slices.Contains(only, w.n) {
			rest = append(rest, w)
		} else {
			batch = append(batch, w)
		}
	}
	x.wire = rest
	place := func(w wirePacket) int {
		if i := slices.Index(order, w.n); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(batch, func(a, b wirePacket) int { return place(a) - place(b) })
	return batch
}

func (x *transcriptWorld) arrive(w wirePacket) {
	q := w.to
	x.printf("%s receives %d", q.name, w.n)
	discarded, delivered := q.cold.discarded, q.delivered
	var out Replies
	p := w.p
	q.ReceiveWith(x.now, &p, w.side, &out)
	if d := q.delivered - delivered; d != 0 {
		x.printf("  %s delivered %+d B", q.name, d)
	}
	if q.cold.discarded > discarded {
		x.printf("  %s discards it", q.name)
	}
	for i := range out.N {
		x.transmit(q, &out.P[i], nil)
	}
	x.changes(q)
}

func (x *transcriptWorld) settle() {
	for {
		before := len(x.out)
		for _, q := range x.qps {
			x.sendQuietly(q)
		}
		for _, q := range x.qps {
			x.deliver(q, nil)
		}
		if len(x.out) == before {
			return
		}
	}
}

// sendQuietly is send without the line that says why it ended.
func (x *transcriptWorld) sendQuietly(q *transcriptQP) {
	x.send(q, nil)
	x.out = x.out[:len(x.out)-1]
}

func (x *transcriptWorld) corrupt(args []string) {
	n := int(x.number(args[0]))
	i := slices.IndexFunc(x.wire, func(w wirePacket) bool { return w.n == n })
	if i < 0 {
		x.t.Fatalf("%s: packet %d is not on the wire", x.where, n)
	}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		set, ok := corruptKeys()[key]
		if !ok {
			x.t.Fatalf("%s: unknown key %s", x.where, key)
		}
		set(&x.wire[i], x.number(value))
	}
	x.printf("%s", x.wire[i].String())
}

// advance runs the timers due up to and including end, in order.
func (x *transcriptWorld) advance(end units.Time) {
	for {
		next := slices.MinFunc(x.qps, func(a, b *transcriptQP) int { return int(max(-1, min(1, a.Deadline()-b.Deadline()))) })
		if next.Deadline() > end {
			x.now = end
			return
		}
		x.expire(next)
	}
}

func (x *transcriptWorld) expire(q *transcriptQP) {
	at := q.Deadline()
	if at == units.Never {
		x.printf("%s has no timer running", q.name)
		return
	}
	x.now = max(x.now, at)
	x.printf("%s timer at %s", q.name, x.now)
	q.Expire(x.now)
	x.changes(q)
}

func (x *transcriptWorld) modify(q *transcriptQP, to string) {
	for s := range numStates {
		if s.String() == to {
			if err := q.Modify(s, x.now); err != nil {
				x.printf("%v", err)
			}
			x.changes(q)
			return
		}
	}
	x.t.Fatalf("%s: no state %s", x.where, to)
}

func (x *transcriptWorld) state(q *transcriptQP) {
	c := q.Counters()
	x.printf("%s at %s: %s, open %d, sent %d packets, again %d, delivered %d B, timeouts %d, discarded %d", q.name, x.now, q.stateText(), q.Open(),
		c.SentPackets, c.Retransmitted, c.DeliveredBytes, c.Timeouts, c.Discarded)
	if q.CC() != nil {
		rate, least := q.RateAt(x.now)
		x.printf("  rate %s, least %s, CNPs sent %d, received %d", rate, least, c.CNPsSent, c.CNPsReceived)
	}
	if d := q.Dropped(); q.service != RC {
		x.printf("  broken messages %d, without receive %d, too long %d, wrong Q_Keys %d, refused %d", d.Broken.Count, d.NoReceive.Count, d.TooLong.Count, d.BadQKey.Count, d.Refused.Count)
	}
}

func (q *transcriptQP) stateText() string {
	return fmt.Sprintf("%s, requester %s, responder %s", q.QP.state, q.reqState, q.rspState)
}

// changes prints what is new about q: completions and states.
func (x *transcriptWorld) changes(q *transcriptQP) {
	for _, c := range q.cq.Entries[q.seen:] {
		x.printf("  %s completes %d: %s", q.name, c.ID, c.Status)
	}
	q.seen = len(q.cq.Entries)
	for _, c := range q.rcq.Entries[q.got:] {
		s := fmt.Sprintf("  %s receive %d: %s", q.name, c.ID, c.Status)
		if c.Status == Success {
			s += fmt.Sprintf(", %s of %d B", c.Verb, int64(c.Bytes))
			if c.Verb != Send {
				s += fmt.Sprintf(" with %#x", c.Imm)
			}
		}
		x.printf("%s", s)
	}
	q.got = len(q.rcq.Entries)
	if x.srq != nil && x.srq.LimitEvents() > x.limit {
		x.limit = x.srq.LimitEvents()
		x.printf("  shared receive queue below its limit: %d left", x.srq.Waiting())
	}
	if s := q.stateText(); s != q.states {
		was, is := strings.Split(q.states, ", "), strings.Split(s, ", ")
		for i := range is {
			if is[i] != was[i] {
				from, to := was[i], is[i][strings.LastIndex(is[i], " ")+1:]
				x.printf("  %s %s -> %s", q.name, from, to)
			}
		}
		q.states = s
	}
}
