package rdma

import (
	"container/heap"
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

const (
	us = units.Microsecond
	ms = units.Millisecond
)

// fate is what the link does with a packet.
type fate struct {
	lose  bool
	twice bool
	late  units.Time // added to the delay
	mark  bool       // CE
}

// loop joins two queue pairs by a full-duplex wire with a constant delay;
// acknowledgements and CNPs take no wire time.
type loop struct {
	t       *testing.T
	cfg     Config
	qp      [2]QP
	cq      [2]CompletionQueue
	now     units.Time
	delay   units.Time
	line    units.Rate
	fate    func(n int, p *packet.Packet) fate        // n counts packets in all
	see     func(p *packet.Packet, side *packet.Side) // what goes onto the wire; nil: nobody looks
	n       int
	seq     int
	flights flights
	free    [2]units.Time // port
	poll    [2]units.Time // next time at which to ask
	busy    units.Time    // wire time used by side 0
	sent    int           // data packets of side 0
	gaps    []units.Time  // start times of side 0's packets, when not nil
}

type flight struct {
	at   units.Time
	seq  int
	to   int
	p    packet.Packet
	side *packet.Side
}

type flights []flight

func (f flights) Len() int { return len(f) }
func (f flights) Less(i, j int) bool {
	return f[i].at < f[j].at || f[i].at == f[j].at && f[i].seq < f[j].seq
}
func (f flights) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f *flights) Push(x any)   { *f = append(*f, x.(flight)) }
func (f *flights) Pop() any {
	x := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return x
}

const (
	rkey  = 0x1234
	base  = 0x10000
	mrLen = 1 << 32
)

func attrs() Attrs { return attrsOf(mrLen) }

// attrsOf are the attributes of a queue pair whose peer may use a region of n
// bytes.
func attrsOf(n uint64) Attrs {
	return Attrs{Memory: memoryOf(Region{Base: base, Length: n, Access: RemoteAll}), Access: RemoteAll, Receives: -1,
		MaxRdAtomic: DefaultRdAtomic, MaxDestRdAtomic: DefaultRdAtomic}
}

// memoryOf has one region, under rkey.
func memoryOf(r Region) *Memory {
	m := new(Memory)
	if err := m.RegisterAs(rkey, r); err != nil {
		panic(err)
	}
	return m
}

// newLoop connects two queue pairs at 100 Gb/s, 2.5 us apart.
func newLoop(t *testing.T, cfg Config, a, b Attrs) *loop {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	l := &loop{t: t, cfg: cfg, delay: 2500 * units.Nanosecond, line: 100 * units.Gbps}
	for i, at := range []Attrs{a, b} {
		tmpl := packet.Packet{Dst: uint32(1 - i), Conn: 7, DestQP: uint32(100 + 1 - i), TTL: 64}
		l.qp[i].Connect(&Setup{Config: &l.cfg, CQ: &l.cq[i], Data: tmpl, Ack: tmpl, CNP: tmpl, Line: l.line, Attrs: at}, 0)
	}
	return l
}

func mustPreset(t *testing.T, name string) Config {
	t.Helper()
	c, err := Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (l *loop) post(side int, r WorkRequest) {
	l.t.Helper()
	if r.RKey == 0 {
		r.RKey = rkey
	}
	if r.VA == 0 {
		r.VA = base
	}
	if err := l.qp[side].Post(l.now, r); err != nil {
		l.t.Fatal(err)
	}
	l.poll[side] = l.now
}

// transmit puts a packet on the wire at now; it arrives after wire time and delay.
func (l *loop) transmit(from int, p packet.Packet, side *packet.Side, wire units.Time) {
	f := fate{}
	if l.fate != nil {
		f = l.fate(l.n, &p)
	}
	l.n++
	if l.see != nil {
		l.see(&p, side)
	}
	if f.mark {
		p.ECN = packet.CE
	}
	if side != nil {
		c := new(packet.SideCopy)
		c.Set(side)
		side = &c.Side
	}
	copies := 1
	if f.lose {
		copies = 0
	}
	if f.twice {
		copies = 2
	}
	for i := range copies {
		l.seq++
		at := l.now + wire + l.delay + f.late + units.Time(i)*us
		heap.Push(&l.flights, flight{at, l.seq, 1 - from, p, side})
	}
}

// step runs everything due at the next instant, if that is not after end.
func (l *loop) step(end units.Time) bool {
	next := min(l.poll[0], l.poll[1], l.qp[0].Deadline(), l.qp[1].Deadline())
	if len(l.flights) > 0 {
		next = min(next, l.flights[0].at)
	}
	if next > end || next == units.Never {
		return false
	}
	l.now = max(l.now, next)
	for len(l.flights) > 0 && l.flights[0].at <= l.now {
		f := heap.Pop(&l.flights).(flight)
		var out Replies
		l.qp[f.to].ReceiveWith(l.now, &f.p, f.side, &out)
		for i := range out.N {
			l.transmit(f.to, out.P[i], nil, max(0, l.free[f.to]-l.now)) // behind the packet on the wire
		}
		l.poll[f.to] = l.now
	}
	for i := range l.qp {
		q := &l.qp[i]
		l.checkBytes(q)
		if l.n%8 == 0 {
			l.checkScanned(q)
		}
		if q.Deadline() <= l.now {
			q.Expire(l.now)
			l.poll[i] = l.now
		}
		if l.poll[i] <= l.now {
			l.send(i)
		}
	}
	return true
}

// checkScanned: what is missing of READs before scanned waits to be sent again, or
// was, when after or a later packet was next.
func (l *loop) checkScanned(q *QP) {
	if !q.selective || !q.reading {
		return
	}
	x := q.cold.reads
	for seq := q.una; seq < x.scanned; seq++ {
		if x.has(seq) || !q.at(q.message(seq)).reads() {
			continue
		}
		if m := q.cold.score.at(seq); !m.need && !m.again || !m.need && m.after < x.after || m.need && q.high < x.after {
			l.t.Fatalf("%d is missing, scanned %d, after %d: %+v", seq, x.scanned, x.after, *m)
		}
	}
}

// checkBytes holds the window's byte counts against the sequence numbers.
func (l *loop) checkBytes(q *QP) {
	l.t.Helper()
	offset := func(w *wqe, seq uint64) uint64 {
		if seq < w.first || seq >= w.first+uint64(w.packets) {
			l.t.Fatalf("%d lies outside its message, %d and %d packets", seq, w.first, w.packets)
		}
		return w.base + min((seq-w.first)*uint64(l.cfg.MTU), uint64(w.bytes))
	}
	if q.head != q.tail {
		if want := offset(q.at(q.head), q.una); q.unaBytes != want {
			l.t.Fatalf("una %d: %d bytes, want %d", q.una, q.unaBytes, want)
		}
	}
	if q.cur != q.tail {
		if want := offset(q.at(q.cur), q.nxt); q.nxtBytes != want {
			l.t.Fatalf("nxt %d: %d bytes, want %d", q.nxt, q.nxtBytes, want)
		}
	}
}

func (l *loop) send(i int) {
	if l.now < l.free[i] {
		l.poll[i] = l.free[i]
		return
	}
	var p packet.Packet
	q := &l.qp[i]
	ready := q.ReadyAt()
	reason, until := q.Poll(l.now, &p)
	if (reason == Sent) != (ready <= l.now) {
		l.t.Fatalf("ReadyAt %d at %d, but Poll says %s", ready, l.now, reason)
	}
	if reason != Sent {
		l.poll[i] = until
		return
	}
	wire := l.line.TxTime(units.Bytes(p.Frame) + units.Bytes(l.cfg.Wire.Overhead))
	l.transmit(i, p, q.PolledSide(), wire)
	l.free[i] = l.now + wire
	l.poll[i] = max(until, l.free[i])
	if i == 0 {
		l.busy += wire
		l.sent++
		if l.gaps != nil {
			l.gaps = append(l.gaps, l.now)
		}
	}
}

func (l *loop) run(end units.Time) {
	for l.step(end) {
	}
}

func (l *loop) statuses(side int) []Status {
	var s []Status
	for _, c := range l.cq[side].Entries {
		s = append(s, c.Status)
	}
	return s
}

func dcqcn(t *testing.T, name string) *congestion.DCQCNParams {
	t.Helper()
	p, err := congestion.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func dcqcnBench() congestion.DCQCNParams {
	p, err := congestion.Preset("nvidia")
	if err != nil {
		panic(err)
	}
	return p
}

// setReceives posts n receive work requests in place of those there are; -1:
// always enough.
func (q *QP) setReceives(n int64) {
	q.cold.reception = nil
	if n >= 0 {
		q.cold.reception = &Reception{queue: NewReceiveQueue(n, q.setup.Attrs.ReceiveSize), room: q.setup.Attrs.ReceiveSize, conn: q.conn}
	}
}
