package tcp

import (
	"testing"
	"unsafe"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// TestSizes: a run may hold many connections, and a record per segment in flight.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name     string
		got, max uintptr
	}{
		{"window", unsafe.Sizeof(congestion.Window{}), 256},
		{"connection", unsafe.Sizeof(Conn{}), 2048},
		{"segment in flight", unsafe.Sizeof(sentSegment{}), 48},
	} {
		t.Logf("%s: %d bytes", c.name, c.got)
		if c.got > c.max {
			t.Errorf("%s is %d bytes, want at most %d", c.name, c.got, c.max)
		}
	}
}

// pipe moves segments between two endpoints with no delay, losing every
// drop-th; it is the loop without its bookkeeping.
type pipe struct {
	c     [2]Conn
	now   units.Time
	q     [2][]packet.Packet
	side  [2][]packet.Side
	has   [2][]bool
	drop  int
	n     int
	wires int
}

func newPipe(t testing.TB, cfg *Config, drop int) *pipe {
	x := &pipe{drop: drop}
	for i := range x.c {
		x.c[i].Init(cfg, packet.Packet{})
	}
	x.c[1].Listen()
	x.c[0].Open(0, 1)
	for range 3 {
		x.turn()
	}
	if x.c[0].State() != Established || x.c[1].State() != Established {
		t.Fatal("no handshake")
	}
	return x
}

// turn moves what both have to send, 10 us later, and the timers due.
func (x *pipe) turn() {
	x.now += 10 * units.Microsecond
	for i := range x.c {
		c := &x.c[i]
		if c.Deadline() <= x.now {
			c.Expire(x.now)
		}
		for {
			var p packet.Packet
			if r, _ := c.Poll(x.now, &p); r != Sent {
				break
			}
			x.wires += Segments(&p)
			if x.n++; x.drop > 0 && x.n%x.drop == 0 {
				continue
			}
			x.q[i] = append(x.q[i], p)
			var s packet.Side
			side := c.PolledSide()
			if side != nil {
				s = *side
			}
			x.side[i] = append(x.side[i], s)
			x.has[i] = append(x.has[i], side != nil)
		}
	}
	for i := range x.c {
		for k := range x.q[i] {
			side := &x.side[i][k]
			if !x.has[i][k] {
				side = nil
			}
			x.c[1-i].Receive(x.now, &x.q[i][k], side, 1)
		}
		x.q[i], x.side[i], x.has[i] = x.q[i][:0], x.side[i][:0], x.has[i][:0]
	}
}

// move transfers n bytes.
func (x *pipe) move(n int64) {
	for wrote, read := int64(0), int64(0); read < n; {
		wrote += x.c[0].Write(x.now, n-wrote)
		x.turn()
		read += x.c[1].Read(x.now, n)
	}
}

// TestAllocations: in steady state nothing is allocated, losses included.
func TestAllocations(t *testing.T) {
	for _, name := range Presets() {
		cfg := mustPreset(t, name)
		x := newPipe(t, &cfg, 97)
		x.move(20e6)
		if n := testing.AllocsPerRun(5, func() { x.move(1e6) }); n != 0 {
			t.Errorf("%s: %v allocations per megabyte", name, n)
		}
	}
}

// BenchmarkSegment is the cost of one segment on the wire at both endpoints, its
// share of acknowledgements included.
func BenchmarkSegment(b *testing.B) {
	for _, v := range []struct {
		name      string
		tso, drop int
	}{{"segments", 0, 0}, {"tso", 65535, 0}, {"losses", 0, 100}} {
		b.Run(v.name, func(b *testing.B) {
			cfg := bulk(b, congestion.Cubic)
			cfg.TSO = v.tso
			cfg.Send, cfg.Receive = Buffer{1 << 20, 1 << 20}, Buffer{1 << 20, 1 << 20}
			x := newPipe(b, &cfg, v.drop)
			x.move(1e6)
			b.ReportAllocs()
			b.ResetTimer()
			from := x.wires
			for x.wires-from < b.N {
				x.move(1448 * 100)
			}
		})
	}
}
