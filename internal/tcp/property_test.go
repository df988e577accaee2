package tcp

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// variants are profiles that between them use every mechanism.
func variants(t testing.TB) map[string]Config {
	all := map[string]Config{}
	for _, name := range Presets() {
		all[name] = mustPreset(t, name)
	}
	c := mustPreset(t, "linux")
	c.Recovery, c.PRR, c.Timestamps, c.TSO = SACK, false, false, 0
	all["sack"] = c
	c = mustPreset(t, "linux")
	c.ECN, c.Pacing, c.Nagle = ECNClassic, true, NagleOff
	all["ecn-paced"] = c
	c = mustPreset(t, "reno")
	c.PRR, c.WindowScaling, c.MSS, c.DelayedAck, c.Send.Max = true, true, 536, 0, 1<<20
	all["small"] = c
	c = mustPreset(t, "linux")
	c.Receive, c.Send = Buffer{2000, 2000}, Buffer{3000, 3000}
	all["tiny-buffers"] = c
	return all
}

// watcher checks from outside what an endpoint does.
type watcher struct {
	t       *testing.T
	l       *loop
	s       rng.Stream
	loss    float64
	arrived []bool // bytes of the stream from 0 to 1 that arrived
	prefix  int    // of these, in order
}

func (w *watcher) touch(i int, p *packet.Packet) (copies int, late units.Time) {
	if i == 0 && p.Payload > 0 {
		w.checkWindow(p)
	}
	if p.Frame > 1514+4 {
		w.t.Fatalf("frame of %d bytes", p.Frame)
	}
	if w.s.Float64() < w.loss {
		return 0, 0
	}
	if p.ECN == packet.ECT0 && w.s.Float64() < 0.05 {
		p.ECN = packet.CE
	}
	copies = 1
	if w.s.Float64() < 0.02 {
		copies = 2
	}
	if w.s.Float64() < 0.05 {
		late = units.Time(w.s.IntN(int(20 * units.Millisecond)))
	}
	if i == 0 {
		w.mark(p)
	}
	return copies, late
}

// checkWindow: nothing beyond what the receiver has ever advertised.
func (w *watcher) checkWindow(p *packet.Packet) {
	edge := w.l.c[1].rcvAdv
	if end := unwrap(p.PSN, edge) + uint64(p.Payload); end > edge {
		w.t.Fatalf("segment up to %d, window up to %d", end, edge)
	}
}

func (w *watcher) mark(p *packet.Packet) {
	at := int(int32(p.PSN - iss[0] - 1))
	for k := range int(p.Payload) {
		w.arrived[at+k] = true
	}
	for w.prefix < len(w.arrived) && w.arrived[w.prefix] {
		w.prefix++
	}
}

// TestRandom: whatever the network does, every byte arrives once and in order,
// the window is kept, the books balance, and both sides end.
func TestRandom(t *testing.T) {
	for name, cfg := range variants(t) {
		for seed := range uint64(18) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				l := newLoop(t, cfg)
				l.c[0].CarryData()
				l.c[1].CarryData()
				l.rate = 100e6
				w := &watcher{t: t, l: l, s: rng.New(seed, "tcp"), loss: []float64{0, 0.001, 0.01, 0.05, 0.1, 0.2}[seed%6]}
				n := int64(400e3)
				if seed%6 >= 4 {
					n = 60e3
				}
				w.arrived = make([]bool, n)
				l.touch = w.touch
				l.connect()
				var wrote, read int64
				text, room := make([]byte, n), make([]byte, 20000)
				for i := range text {
					text[i] = byte(w.s.Uint32())
				}
				l.app = func() {
					wrote += l.c[0].WriteBytes(l.now, text[wrote:min(n, wrote+int64(1+w.s.IntN(20000)))])
					if wrote == n {
						l.c[0].Close()
					}
					got := l.c[1].ReadBytes(l.now, room[:w.s.IntN(20000)])
					if !bytes.Equal(room[:got], text[read:read+got]) {
						t.Fatalf("%d other bytes after %d", got, read)
					}
					read += got
					if read > int64(w.prefix) {
						t.Fatalf("%d bytes read, %d arrived in order", read, w.prefix)
					}
					if read == n && l.c[1].State() == CloseWait {
						l.c[1].Close()
					}
					checkBooks(t, &l.c[0])
					checkBooks(t, &l.c[1])
				}
				l.app()
				l.poll()
				idle := 0 // times that only the applications could go on
				for idle < 100 && l.now < 3000*units.Second && (l.c[0].State() != Closed || l.c[1].State() != Closed) {
					if !l.step() {
						idle++
						l.app()
						l.poll()
					}
				}
				if read != n || l.c[1].Read(l.now, 1) != 0 || l.c[1].Counters().Delivered != n {
					t.Fatalf("at %v %d of %d bytes read, %d delivered: %v %v\n%+v\n%+v", l.now, read, n, l.c[1].Counters().Delivered,
						l.c[0].State(), l.c[1].State(), l.c[0].Info(), l.c[1].Info())
				}
				// The side that closed second may give up on its last FIN when the other
				// is gone, and is then answered with a reset: both have ended.
				if l.c[0].State() != Closed || l.c[1].State() != Closed {
					t.Errorf("states %v and %v at %v", l.c[0].State(), l.c[1].State(), l.now)
				}
			})
		}
	}
}

// checkBooks adds the scoreboard up anew.
func checkBooks(t *testing.T, c *Conn) {
	t.Helper()
	b := &c.segs
	var sacked, lost, retrans, below int64
	segments, listed := 0, 0
	seq := c.una
	for i := b.head; i != b.tail; i++ {
		s := b.at(i)
		if s.seq != seq {
			t.Fatalf("segment at %d, want %d", s.seq, seq)
		}
		seq = s.end()
		n := int64(s.len)
		if s.sacked {
			sacked += n
			segments++
			if int32(i-b.judged) < 0 {
				below += n
			}
		}
		if s.lost {
			lost += n
		}
		if s.retrans {
			retrans += n
		}
		if s.retrans && !s.lost || s.sacked && s.lost || s.listed != (!s.sacked && (!s.lost || s.retrans)) {
			t.Fatalf("segment %+v", s)
		}
		if s.listed {
			listed++
		}
		if s.lost && !s.retrans && int32(i-b.resend) < 0 {
			t.Fatal("a lost segment before those to be sent again")
		}
	}
	if seq != c.nxt && c.state.synchronised() {
		t.Fatalf("records end at %d, sent up to %d", seq, c.nxt)
	}
	if sacked != b.sacked || lost != b.lost || retrans != b.retrans || segments != b.sackedSegs || below != b.sackedBelow {
		t.Fatalf("sacked %d lost %d retrans %d segments %d below %d, want %d %d %d %d %d", b.sacked, b.lost, b.retrans, b.sackedSegs,
			b.sackedBelow, sacked, lost, retrans, segments, below)
	}
	last := units.Time(-1)
	for i := b.listHead(); i != none; i = b.at(i).next {
		if s := b.at(i); s.at < last {
			t.Fatal("the list is not in order of transmission")
		} else {
			last = s.at
		}
		listed--
	}
	if listed != 0 {
		t.Fatalf("%d segments too few in the list", listed)
	}
	if c.pipe() < 0 {
		t.Fatalf("%d bytes in flight", c.pipe())
	}
	if c.cc.MSS() > 0 && c.cc.Bytes() < c.cc.MSS() {
		t.Fatalf("window of %d bytes", c.cc.Bytes())
	}
}
