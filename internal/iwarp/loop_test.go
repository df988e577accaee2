package iwarp

import (
	"bytes"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// bed joins two queue pairs, 0 that opens the connection and 1 that listens. Each has memory: a region that its work
// requests come from and go to, one that the peer may write and read, and an inbox.
type bed struct {
	t     testing.TB
	now   units.Time
	delay units.Time
	q     [2]QP
	cfg   [2]Config
	setup [2]rdma.Setup
	mem   [2]rdma.Memory
	own   [2][]byte // of its own work requests
	open  [2][]byte // that the peer reaches
	inbox [2][]byte
	keys  [2]struct{ own, open, inbox uint32 }
	cq    [2]rdma.CompletionQueue
	rcq   [2]rdma.CompletionQueue
	// touch, if not nil, sees every segment from end i; it may change it, and says how many copies arrive and how much
	// later than usual.
	touch  func(i int, s *segment) (copies int, late units.Time)
	flight []segment
	seq    int
	why    [2]Reason
	until  [2]units.Time
}

// segment is on its way.
type segment struct {
	at      units.Time
	n, to   int
	p       packet.Packet
	side    packet.Side
	hasSide bool
}

const (
	bedBase  = 0x10000
	bedBytes = 1 << 16
)

// iss are the initial sequence numbers: the first wraps soon.
var iss = [2]uint32{1<<32 - 3000, 5}

func mustPreset(t testing.TB, name string) Config {
	t.Helper()
	c, err := Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newBed makes the two; data says whether memory holds bytes, attrs what both queue pairs may do.
func newBed(t testing.TB, a, b Config, attrs rdma.Attrs, data bool) *bed {
	x := &bed{t: t, delay: 5 * units.Microsecond, cfg: [2]Config{a, b}}
	for i := range x.q {
		if err := x.cfg[i].Validate(); err != nil {
			t.Fatal(err)
		}
		if data {
			x.own[i], x.open[i], x.inbox[i] = make([]byte, bedBytes), make([]byte, bedBytes), make([]byte, bedBytes)
			for k := range x.own[i] {
				x.own[i][k], x.open[i][k] = byte(k*7+k>>8+i), byte(k*13+k>>8+i+100)
			}
		}
		register := func(access rdma.Access, invalid bool, data []byte) uint32 {
			key, err := x.mem[i].Register(rdma.Region{Base: bedBase, Length: bedBytes, Access: access, Invalidatable: invalid, Data: data})
			if err != nil {
				t.Fatal(err)
			}
			return key
		}
		k := &x.keys[i]
		k.own, k.open = register(rdma.LocalWrite, false, x.own[i]), register(rdma.RemoteAll, true, x.open[i])
		k.inbox = register(rdma.LocalWrite, false, x.inbox[i])
		attrs.Memory = &x.mem[i]
		if data {
			attrs.Inbox = &rdma.Inbox{VA: bedBase, LKey: k.inbox}
		}
		x.setup[i].Attrs = attrs
	}
	return x
}

// free lets queue pairs do everything.
var free = rdma.Attrs{Access: rdma.RemoteAll, MaxRdAtomic: 4, MaxDestRdAtomic: 4, MaxInline: 64, Receives: -1}

// owner is what end i has of its own.
func (x *bed) owner(i int) *rdma.Own { return &rdma.Own{Conn: 7, CQ: &x.cq[i], ReceiveCQ: &x.rcq[i]} }

// connect opens the stream, from nothing or as if it had been open.
func (x *bed) connect(ahead bool) *bed {
	for i := range x.q {
		s := Spec{Config: &x.cfg[i], Segment: packet.Packet{Conn: 7}, ISS: iss[i], Active: i == 0}
		if ahead {
			s.Ahead = &Peer{Peer: tcp.Peer{Config: &x.cfg[1-i].TCP, ISS: iss[1-i], RTT: 2 * x.delay}, Config: &x.cfg[1-i]}
		}
		x.q[i].Connect(&x.setup[i], x.owner(i), &s, x.now)
	}
	return x
}

// post posts a work request of end i, from its own region at off to the peer's at the same place.
func (x *bed) post(i int, verb rdma.Verb, off, n int, change func(*rdma.WorkRequest)) {
	id := uint32(100*i + len(x.posted(i)))
	r := rdma.WorkRequest{ID: id, Verb: verb, Bytes: units.Bytes(n), LVA: bedBase + uint64(off), LKey: x.keys[i].own}
	if verb == rdma.Write || verb == rdma.Read {
		r.VA, r.RKey = bedBase+uint64(off), x.keys[1-i].open
	}
	if verb == rdma.SendInv {
		r.Imm = x.keys[1-i].open
	}
	if change != nil {
		change(&r)
	}
	if err := x.q[i].Post(x.now, r); err != nil {
		x.t.Fatal(err)
	}
}

// posted are the work requests of end i so far, by their completions and those open.
func (x *bed) posted(i int) []struct{} { return make([]struct{}, len(x.cq[i].Entries)+x.q[i].Open()) }

// poll sends what both ends have.
func (x *bed) poll() {
	for i := range x.q {
		x.pollOne(i)
	}
}

func (x *bed) pollOne(i int) {
	for {
		s := segment{to: 1 - i}
		x.why[i], x.until[i] = x.q[i].Poll(x.now, &s.p)
		if x.why[i] != Sent {
			return
		}
		if side := x.q[i].PolledSide(); side != nil {
			s.side, s.hasSide = *side, true
			s.side.Data = slices.Clone(side.Data)
		}
		copies, late := 1, units.Time(0)
		if x.touch != nil {
			copies, late = x.touch(i, &s)
		}
		s.at = x.now + x.delay + late
		for range copies {
			s.n = x.seq
			x.seq++
			k, _ := slices.BinarySearchFunc(x.flight, s, func(a, b segment) int {
				if a.at != b.at {
					return int(max(min(a.at-b.at, 1), -1))
				}
				return a.n - b.n
			})
			x.flight = slices.Insert(x.flight, k, s)
		}
	}
}

// step runs one event; false when there is none.
func (x *bed) step() bool {
	t := min(x.q[0].Deadline(), x.q[1].Deadline())
	if len(x.flight) > 0 {
		t = min(t, x.flight[0].at)
	}
	for i := range x.q {
		if x.why[i] == Pacing {
			t = min(t, x.until[i])
		}
	}
	if t == units.Never {
		return false
	}
	x.now = max(x.now, t)
	if len(x.flight) > 0 && x.flight[0].at <= x.now {
		s := x.flight[0]
		x.flight = slices.Delete(x.flight, 0, 1)
		x.hand(&s)
		return true
	}
	for i := range x.q {
		if x.q[i].Deadline() <= x.now {
			x.q[i].Expire(x.now)
		}
		x.pollOne(i)
	}
	return true
}

// hand delivers a segment.
func (x *bed) hand(s *segment) {
	var side *packet.Side
	if s.hasSide {
		side = &s.side
	}
	x.q[s.to].Receive(x.now, &s.p, side)
	x.pollOne(s.to)
}

// run steps until nothing is left to do, or until end.
func (x *bed) run(end units.Time) {
	x.poll()
	for x.next() <= end && x.step() {
	}
}

func (x *bed) next() units.Time {
	t := min(x.q[0].Deadline(), x.q[1].Deadline())
	if len(x.flight) > 0 {
		t = min(t, x.flight[0].at)
	}
	return t
}

// statuses lists how the work requests of end i ended, in order.
func (x *bed) statuses(i int) (out []rdma.Status) {
	for _, c := range x.cq[i].Entries {
		out = append(out, c.Status)
	}
	return out
}

// fpdu is the DDP segment that a segment holds whole, and its payload.
func (x *bed) fpdu(s *segment) (d wire.DDP, payload []byte, ok bool) {
	if s.side.ULPDU > 0 {
		return s.side.DDP, nil, true
	}
	if s.side.Data == nil {
		return d, nil, false
	}
	from := &x.q[1-s.to]
	ulpdu, rest, err := from.tx.Parse(s.side.Data, nil, from.conn.SentAt(&s.p)-from.tx.base)
	if err != nil || len(rest) > 0 {
		return d, nil, false
	}
	d, payload, err = wire.ParseDDP(ulpdu)
	return d, payload, err == nil
}

func TestBedMoves(t *testing.T) {
	for _, data := range []bool{true, false} {
		for _, ahead := range []bool{true, false} {
			for _, markers := range []bool{false, true} {
				c := mustPreset(t, "offload")
				c.Markers = markers
				x := newBed(t, c, c, free, data).connect(ahead)
				x.post(0, rdma.Write, 100, 5000, nil)
				x.post(0, rdma.Send, 0, 3000, nil)
				x.post(0, rdma.Read, 20000, 9000, nil)
				x.post(1, rdma.Write, 40000, 0, nil)
				x.post(1, rdma.Read, 41000, 1428, nil)
				x.post(0, rdma.SendInv, 0, 1, nil)
				x.run(units.Second)
				for i := range x.q {
					if x.q[i].State() != Operating || slices.ContainsFunc(x.statuses(i), func(s rdma.Status) bool { return s != rdma.Success }) ||
						x.q[i].Open() > 0 {
						t.Fatalf("data %v, ahead %v, markers %v: end %d is %v, %d open, %v, %v", data, ahead, markers, i, x.q[i].State(),
							x.q[i].Open(), x.statuses(i), x.q[i].Outcome())
					}
				}
				if !data {
					continue
				}
				if !bytes.Equal(x.open[1][100:5100], x.own[0][100:5100]) || !bytes.Equal(x.inbox[1][:3001], append(slices.Clone(x.own[0][:3000]), x.own[0][0])) ||
					!bytes.Equal(x.own[0][20000:29000], x.open[1][20000:29000]) {
					t.Fatal("bytes are not where they belong")
				}
			}
		}
	}
}
