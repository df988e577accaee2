package tcp

import (
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// loop joins two endpoints by a link of each direction: a rate with an endless
// queue, and a delay. It cuts super-segments and delivers in order of arrival.
type loop struct {
	t     testing.TB
	now   units.Time
	c     [2]Conn
	delay units.Time
	rate  units.Rate // 0: no serialisation
	free  [2]units.Time
	// touch, if not nil, sees every segment on the wire from endpoint i, and may
	// change it; it says how many copies arrive and how much later than usual.
	touch func(i int, p *packet.Packet) (copies int, late units.Time)
	// wire, if not nil, sees every segment before that.
	wire func(p *packet.Packet, side *packet.Side)
	// app runs after every event.
	app     func()
	flight  []arrival
	seq     int
	reasons [2]Reason
	until   [2]units.Time
	sent    int // segments on the wire
}

// arrival is a segment on its way.
type arrival struct {
	at   units.Time
	seq  int
	to   int
	p    packet.Packet
	side packet.Side
	has  bool
}

func mustPreset(t testing.TB, name string) Config {
	t.Helper()
	c, err := Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newLoop(t testing.TB, cfg ...Config) *loop {
	l := &loop{t: t, delay: 5 * units.Millisecond}
	for i := range l.c {
		k := &cfg[min(i, len(cfg)-1)]
		if err := k.Validate(); err != nil {
			t.Fatal(err)
		}
		l.c[i].Init(k, packet.Packet{Conn: uint32(i)})
	}
	return l
}

// iss are the initial sequence numbers: the first wraps soon.
var iss = [2]uint32{1<<32 - 3000, 5}

// connect opens from endpoint 0 to 1 and waits for the handshake.
func (l *loop) connect() *loop {
	l.c[1].Listen()
	l.c[0].Open(l.now, iss[0])
	l.poll()
	for l.c[1].State() != Established || l.c[0].State() != Established {
		if !l.step() {
			l.t.Fatal("no handshake")
		}
	}
	return l
}

// poll sends what both endpoints have.
func (l *loop) poll() {
	for i := range l.c {
		l.pollOne(i)
	}
}

func (l *loop) pollOne(i int) {
	for {
		var p packet.Packet
		r, until := l.c[i].Poll(l.now, &p)
		l.reasons[i], l.until[i] = r, until
		if r != Sent {
			return
		}
		side := l.c[i].PolledSide()
		for k := range Segments(&p) {
			var one packet.Packet
			Cut(&p, k, &one)
			if side != nil {
				s := *side
				s.Data = slices.Clone(CutData(&p, side.Data, k))
				l.transmit(i, one, &s)
			} else {
				l.transmit(i, one, nil)
			}
		}
	}
}

func (l *loop) transmit(i int, p packet.Packet, side *packet.Side) {
	l.sent++
	if l.wire != nil {
		l.wire(&p, side)
	}
	copies, late := 1, units.Time(0)
	if l.touch != nil {
		copies, late = l.touch(i, &p)
	}
	at := l.now
	if l.rate > 0 {
		l.free[i] = max(l.free[i], l.now) + l.rate.TxTime(units.Bytes(p.Frame+20))
		at = l.free[i]
	}
	for range copies {
		a := arrival{at: at + l.delay + late, seq: l.seq, to: 1 - i, p: p}
		if side != nil {
			a.side, a.has = *side, true
		}
		l.seq++
		k, _ := slices.BinarySearchFunc(l.flight, a, func(x, y arrival) int {
			if x.at != y.at {
				return int(max(min(x.at-y.at, 1), -1))
			}
			return x.seq - y.seq
		})
		l.flight = slices.Insert(l.flight, k, a)
	}
}

// next is the time of the next event.
func (l *loop) next() units.Time {
	t := min(l.c[0].Deadline(), l.c[1].Deadline())
	if len(l.flight) > 0 {
		t = min(t, l.flight[0].at)
	}
	for i := range l.c {
		if l.reasons[i] == Pacing {
			t = min(t, l.until[i])
		}
	}
	return t
}

// step runs one event; false when there is none.
func (l *loop) step() bool {
	t := l.next()
	if t == units.Never {
		return false
	}
	l.now = max(l.now, t)
	if len(l.flight) > 0 && l.flight[0].at <= l.now {
		a := l.flight[0]
		l.flight = slices.Delete(l.flight, 0, 1)
		var side *packet.Side
		if a.has {
			side = &a.side
		}
		l.c[a.to].Receive(l.now, &a.p, side, iss[a.to])
		l.pollOne(a.to)
	} else {
		for i := range l.c {
			if l.c[i].Deadline() <= l.now {
				l.c[i].Expire(l.now)
			}
			l.pollOne(i)
		}
	}
	if l.app != nil {
		l.app()
		l.poll()
	}
	return true
}

// run steps until end.
func (l *loop) run(end units.Time) {
	for l.next() <= end && l.step() {
	}
	l.now = max(l.now, end)
}

// transfer sends n bytes from 0 to 1, both applications always ready, and returns
// when the last was read.
func (l *loop) transfer(n int64) units.Time {
	var wrote, read int64
	start := l.now
	l.app = func() {
		wrote += l.c[0].Write(l.now, n-wrote)
		read += l.c[1].Read(l.now, n)
	}
	l.app()
	l.poll()
	for read < n {
		if !l.step() {
			l.t.Fatalf("stuck at %v with %d of %d bytes: %+v", l.now, read, n, l.c[0].Info())
		}
		if l.now > start+10000*units.Second {
			l.t.Fatalf("%d of %d bytes after %v: %+v", read, n, l.now, l.c[0].Info())
		}
	}
	l.app = nil
	return l.now - start
}
