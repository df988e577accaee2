package tcp

import (
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// bulk is a profile for long transfers: nothing but the congestion window limits.
func bulk(t testing.TB, a congestion.WindowAlgorithm) Config {
	c := mustPreset(t, "linux")
	c.CC.Algorithm = a
	c.Send, c.Receive = Buffer{64 << 20, 64 << 20}, Buffer{64 << 20, 64 << 20}
	return c
}

// meanWindow loses every period-th segment of a transfer of cycles such periods,
// the first one early, over a path of constant delay and returns the mean number of
// segments per round trip, without the first third. Every segment is acknowledged.
func meanWindow(t *testing.T, cfg Config, rtt units.Time, period, cycles int) float64 {
	cfg.DelayedAck = 0
	l := newLoop(t, cfg)
	l.delay = rtt / 2
	l.connect()
	sent := period - int(3*math.Sqrt(float64(period)))
	l.touch = func(i int, p *packet.Packet) (int, units.Time) {
		if i != 0 || p.Payload == 0 || p.Flags&packet.Retrans != 0 {
			return 1, 0
		}
		if sent++; sent%period == 0 {
			return 0, 0
		}
		return 1, 0
	}
	mss := l.c[0].Info().MSS
	l.transfer(int64(period * cycles / 3 * mss))
	rest := int64(period * cycles / 3 * 2 * mss)
	took := l.transfer(rest)
	return float64(rest) / float64(mss) * float64(rtt) / float64(took)
}

// TestPeriodicLoss runs whole connections under deterministic loss against the
// closed forms (F21 of models.md; RFC 9438 5.1, equation 6; Mathis et al. 1997).
func TestPeriodicLoss(t *testing.T) {
	for _, c := range []struct {
		name           string
		a              congestion.WindowAlgorithm
		rtt            units.Time
		period, cycles int
		want, tol      float64
	}{
		{"F21, CUBIC region", congestion.Cubic, 100 * units.Millisecond, 10000, 30, 187, 0.08},
		{"F21, Reno region", congestion.Cubic, 10 * units.Millisecond, 1000, 60, 38.7, 0.08},
		{"Reno", congestion.Reno, 10 * units.Millisecond, 1000, 60, math.Sqrt(1.5 * 1000), 0.08},
		{"Reno, rare losses", congestion.Reno, 10 * units.Millisecond, 10000, 15, math.Sqrt(1.5 * 10000), 0.08},
	} {
		cfg := bulk(t, c.a)
		cfg.CC.CubicLinux, cfg.CC.FriendlyOne = false, false // closed forms of the RFC
		got := meanWindow(t, cfg, c.rtt, c.period, c.cycles)
		t.Logf("%s: %.2f segments per round trip, want %.2f", c.name, got, c.want)
		if math.Abs(got-c.want) > c.tol*c.want {
			t.Errorf("%s: %.2f segments per round trip, want %.2f", c.name, got, c.want)
		}
	}
}

// TestSlowStartRounds: from ten segments the flight doubles every round trip,
// whether every segment is acknowledged or every second (byte counting).
func TestSlowStartRounds(t *testing.T) {
	for _, tso := range []int{0, 65535} {
		cfg := bulk(t, congestion.Cubic)
		cfg.TSO = tso
		l := newLoop(t, cfg)
		l.delay = 50 * units.Millisecond
		l.connect()
		var rounds [6]int
		start := l.now
		l.touch = func(i int, p *packet.Packet) (int, units.Time) {
			if k := int((l.now - start) / (100 * units.Millisecond)); i == 0 && k < len(rounds) {
				rounds[k]++
			}
			return 1, 0
		}
		l.c[0].Write(l.now, 4<<20)
		l.poll()
		l.run(start + 599*units.Millisecond)
		if want := [6]int{10, 20, 40, 80, 160, 320}; rounds != want {
			t.Errorf("TSO %d: segments per round trip %v, want %v", tso, rounds, want)
		}
	}
}

// TestPacing: 200 % of the window per round trip in slow start, 120 % after; so a
// flight of ten segments takes half a round trip, or five sixths.
func TestPacing(t *testing.T) {
	for _, c := range []struct {
		slowStart bool
		want      units.Time
	}{{true, 100 * units.Millisecond / 20}, {false, 100 * units.Millisecond / 12}} {
		cfg := bulk(t, congestion.Reno)
		cfg.Pacing, cfg.TSO = true, 0
		l := newLoop(t, cfg)
		l.delay = 50 * units.Millisecond
		l.connect()
		if !c.slowStart {
			l.c[0].cc.Cut(&cfg.CC, congestion.CutLoss)
			l.c[0].cc.Set(10 * l.c[0].mss)
		}
		var last units.Time
		n := 0
		l.touch = func(i int, p *packet.Packet) (int, units.Time) {
			if i == 0 {
				if n++; n > 1 && l.now-last != c.want {
					t.Errorf("slow start %v: %v between segments, want %v", c.slowStart, l.now-last, c.want)
				}
				last = l.now
			}
			return 1, 0
		}
		l.c[0].Write(l.now, 10*l.c[0].mss)
		l.poll()
		l.run(l.now + 99*units.Millisecond)
		if n != 10 {
			t.Errorf("%d segments, want 10", n)
		}
	}
}

// TestReceiveAutotuning: with tcp_rmem's defaults the receive buffer follows the
// path: a bandwidth-delay product of 1.25 MB needs more than the first 64 KB, and
// fixed buffers of 64 KB carry one of themselves per round trip.
func TestReceiveAutotuning(t *testing.T) {
	cfg := mustPreset(t, "linux")
	l := newLoop(t, cfg)
	l.rate = units.Gbps
	l.connect()
	l.transfer(20e6)
	took := l.transfer(50e6)
	goodput := 50e6 * 8 / (float64(took) / 1e12)
	if goodput < 0.9e9 {
		t.Errorf("goodput %.0f Mb/s, want more than 900; receive buffer %d", goodput/1e6, l.c[1].rcvBuf)
	}
	if got := l.c[1].rcvBuf; got <= 1250000 || got > cfg.Receive.Max {
		t.Errorf("receive buffer %d", got)
	}
	cfg.Receive = Buffer{65535, 65535}
	cfg.TSO = 0 // a super-segment that waits for a third of the window costs time, in Linux too
	l = newLoop(t, cfg)
	l.rate = units.Gbps
	l.connect()
	l.transfer(1e6)
	took = l.transfer(5e6)
	// 45 segments per round trip of 10 ms and what 65 KB take at 1 Gb/s.
	want := 5e6 / 65160 * (10.01 + 0.012)
	if ms := float64(took) / 1e9; math.Abs(ms-want) > 0.05*want {
		t.Errorf("fixed buffers: %.1f ms, want %.1f", ms, want)
	}
}

// TestSendAutotuning: the send buffer grows with the window; a fixed one of 64 KB
// limits the flight.
func TestSendAutotuning(t *testing.T) {
	for _, c := range []struct {
		send     Buffer
		min, max float64 // Mb/s
	}{{Buffer{16384, 4 << 20}, 900, 1000}, {Buffer{65536, 65536}, 45, 53}} {
		cfg := mustPreset(t, "linux")
		cfg.Send, cfg.Receive = c.send, Buffer{8 << 20, 8 << 20}
		l := newLoop(t, cfg)
		l.rate = units.Gbps
		l.connect()
		l.transfer(int64(c.max) * 20000)
		n := int64(c.max) * 50000
		took := l.transfer(n)
		if got := float64(n) * 8 / (float64(took) / 1e12) / 1e6; got < c.min || got > c.max {
			t.Errorf("buffer %v: goodput %.1f Mb/s, want %.0f to %.0f", c.send, got, c.min, c.max)
		}
	}
}

// TestSlowReader: the reading application is the bottleneck, and nothing is lost
// or sent beyond its buffer.
func TestSlowReader(t *testing.T) {
	cfg := mustPreset(t, "linux")
	l := newLoop(t, cfg)
	l.rate = units.Gbps
	l.delay = 50 * units.Microsecond
	l.connect()
	const n = 4 << 20
	wrote, read, waits := int64(0), int64(0), 0
	start := l.now
	for read < n { // 1 MB/s: 1000 bytes per millisecond, in steps of 16 KB
		wrote += l.c[0].Write(l.now, n-wrote)
		l.poll()
		l.run(l.now + 16*units.Millisecond)
		if l.reasons[0] == ReceiveWindow {
			waits++
		}
		got := l.c[1].Read(l.now, 16000)
		if got < min(16000, n-read) {
			t.Fatalf("%d bytes to read at %v, after %d", got, l.now, read)
		}
		read += got
		l.poll()
	}
	if want := units.Time(n) * units.Microsecond; l.now-start > want+32*units.Millisecond {
		t.Errorf("%v, want %v", l.now-start, want)
	}
	if k := l.c[0].Counters(); k.Retransmitted > 0 || waits < n/16000/2 {
		t.Errorf("sent again %d, waited for the receiver %d times", k.Retransmitted, waits)
	}
}

// TestReordering: one segment in fifty comes a millisecond late, a tenth of a round
// trip and more than three segments. Once that was seen RACK waits for a quarter of
// one, so that nearly nothing is sent again, and needless cuts are taken back.
// Duplicate ACKs alone cut the window for each.
func TestReordering(t *testing.T) {
	took := map[string]units.Time{}
	for _, v := range []string{"in order", "rack-tlp", "newreno"} {
		cfg := bulk(t, congestion.Cubic)
		if v == "newreno" {
			cfg.Recovery, cfg.Undo = NewReno, false
		}
		l := newLoop(t, cfg)
		l.rate = units.Gbps
		n := 0
		l.touch = func(i int, p *packet.Packet) (int, units.Time) {
			if n++; i == 0 && n%50 == 0 && v != "in order" {
				return 1, units.Millisecond
			}
			return 1, 0
		}
		l.connect()
		took[v] = l.transfer(20e6)
		k := l.c[0].Counters()
		t.Logf("%s: %v, %d sent again, %d cuts, %d undone", v, took[v], k.Retransmitted, l.c[0].acts.CutLoss.Count, l.c[0].acts.Undone.Count)
		if v == "rack-tlp" && k.Retransmitted > 20 {
			t.Errorf("%d segments sent again", k.Retransmitted)
		}
	}
	if took["rack-tlp"] > took["in order"]*11/10 || took["newreno"] < took["in order"]*3 {
		t.Errorf("%v", took)
	}
}

// TestReasons: while a transfer waits, Poll says for what.
func TestReasons(t *testing.T) {
	cfg := bulk(t, congestion.Cubic)
	cfg.TSO = 0
	l := newLoop(t, cfg).connect()
	if l.reasons[0] != Idle {
		t.Errorf("%v after the handshake", l.reasons[0])
	}
	l.c[0].Write(l.now, 1e6)
	l.poll()
	if l.reasons[0] != Cwnd {
		t.Errorf("%v, want the congestion window", l.reasons[0])
	}
	l.c[0].Abort()
	l.poll()
	if l.reasons[0] != NotOpen {
		t.Errorf("%v after the abort", l.reasons[0])
	}
	for r := range numReasons {
		if r.String() == "" {
			t.Errorf("reason %d has no name", r)
		}
	}
}

// TestIdleRestart: after more than a timeout of silence slow start begins again,
// from the window halved once per timeout (RFC 5681 4.1, RFC 2861 3.1).
func TestIdleRestart(t *testing.T) {
	for _, on := range []bool{true, false} {
		cfg := bulk(t, congestion.Cubic)
		cfg.SlowStartAfterIdle = on
		l := newLoop(t, cfg).connect()
		l.transfer(1e6)
		before := l.c[0].Info().Cwnd
		l.run(l.now + units.Second)
		l.transfer(1000)
		after := l.c[0].Info().Cwnd
		if on && (after >= before/4 || after < 10*1448) || !on && after < before {
			t.Errorf("restart %v: window %d, after a second %d", on, before, after)
		}
	}
}

// TestCut takes super-segments apart: headers as a card writes them.
func TestCut(t *testing.T) {
	var p packet.Packet
	h := wire.TCP{Seq: 0xfffffe00, Ack: 7, Flags: ACK | PSH | FIN | CWR, Window: 9, Options: wire.TCPOptions{HasTimestamps: true, TSVal: 3, TSEcr: 4}}
	SetHeader(&p, nil, &h, 2500)
	if got := Header(&p, nil); got != h {
		t.Errorf("header %+v, want %+v", got, h)
	}
	p.DestQP |= 1000 << 16
	want := []struct {
		seq, n, frame uint32
		flags         uint8
	}{{0xfffffe00, 1000, 14 + 20 + 20 + 12 + 1000 + 4, ACK | CWR}, {488, 1000, 1070, ACK}, {1488, 500, 570, ACK | PSH | FIN}}
	if Segments(&p) != len(want) {
		t.Fatalf("%d segments", Segments(&p))
	}
	for i, w := range want {
		var out packet.Packet
		Cut(&p, i, &out)
		if out.PSN != w.seq || out.Payload != w.n || out.Frame != w.frame || out.Opcode != w.flags || Segments(&out) != 1 || out.AETH != p.AETH || out.VA != p.VA {
			t.Errorf("segment %d: %+v, want %+v", i, out, w)
		}
	}
}

// TestTSODefer: a super-segment waits for the next ACK while the window lets less
// than a third of itself out, the oldest segment is half a round trip old and
// something was sent in the latest millisecond (Linux tcp_tso_should_defer).
func TestTSODefer(t *testing.T) {
	l := newLoop(t, bulk(t, congestion.Reno))
	l.delay = 10 * units.Millisecond
	l.connect()
	c := &l.c[0]
	c.Write(l.now, 10*c.mss)
	l.poll()
	sent, rtt := l.now, c.rtt.srtt
	for _, x := range []struct {
		name      string
		age, last units.Time
		limit     int64
		want      bool
	}{
		{"waits", rtt, units.Millisecond, c.mss, true},
		{"nothing sent for longer", rtt, units.Millisecond + 1, c.mss, false},
		{"no ACK due", rtt/2 - 1, 0, c.mss, false},
		{"a third of the window", rtt, 0, c.cc.Bytes() / 3, false},
		{"all of it", rtt, 0, 45 * c.mss, false},
	} {
		c.lastSent = sent + x.age - x.last
		if got := c.deferTSO(sent+x.age, 100*c.mss, x.limit, 45*c.mss); got != x.want {
			t.Errorf("%s: deferred %v", x.name, got)
		}
	}
}

// Every super-segment is pushed, on its last frame, and a segment alone only with the
// last byte there is, as Linux has it (__tcp_transmit_skb).
func TestSuperSegmentsArePushed(t *testing.T) {
	cfg := mustPreset(t, "linux")
	cfg.Send = Buffer{1 << 20, 1 << 20}
	l := newLoop(t, cfg).connect()
	l.c[0].Write(l.now, 7*int64(l.c[0].Info().MSS)+1<<19)
	supers := 0
	for {
		var p packet.Packet
		if r, _ := l.c[0].Poll(l.now, &p); r != Sent {
			break
		}
		n := Segments(&p)
		for k := range n {
			var one packet.Packet
			Cut(&p, k, &one)
			if pushed := one.Opcode&PSH != 0; pushed != (n > 1 && k == n-1) {
				t.Errorf("frame %d of %d: PSH %v", k, n, pushed)
			}
		}
		if n > 1 {
			supers++
		}
	}
	if supers == 0 {
		t.Error("no super-segment was sent")
	}
}

// A single full segment is acknowledged at once while it makes the advertised window
// grow (Linux tcp_grow_window), and else after the timer: the first window is whole
// segments, so that a buffer of as many leaves nothing to grow.
func TestAckWhileWindowGrows(t *testing.T) {
	for _, c := range []struct {
		buffer int64
		on     bool
		atOnce bool
	}{{1 << 20, true, true}, {1 << 20, false, false}, {5 * 1448, true, false}} {
		cfg := mustPreset(t, "linux")
		cfg.AckOnGrowth, cfg.AckOnRead, cfg.QuickAcks, cfg.Receive = c.on, false, 0, Buffer{c.buffer, c.buffer}
		l := newLoop(t, cfg).connect()
		l.run(l.now + units.Second)
		for k := range 5 {
			l.c[0].Write(l.now, int64(l.c[0].Info().MSS))
			l.poll()
			l.run(l.now + 2*l.delay)
			l.c[1].Read(l.now, 1<<20)
			if got := l.c[0].Unacked() == 0; got != c.atOnce {
				t.Errorf("buffer of %d, on growth %v: segment %d acknowledged after a round trip: %v", c.buffer, c.on, k, got)
			}
			l.poll()
			l.run(l.now + units.Second)
		}
	}
}

// After a cut for ECE the window is held until what was out is acknowledged, or with
// CWRGrowth grows by a segment in that time.
func TestGrowthAfterECE(t *testing.T) {
	for _, grows := range []bool{false, true} {
		cfg := bulk(t, congestion.Reno)
		cfg.ECN, cfg.PRR, cfg.CWRGrowth, cfg.DelayedAck, cfg.TSO = ECNClassic, false, grows, 0, 0
		l := newLoop(t, cfg).connect()
		segments := 0
		l.touch = func(i int, p *packet.Packet) (int, units.Time) {
			if i == 0 && p.Payload > 0 {
				if segments++; segments == 200 {
					p.ECN = packet.CE
				}
			}
			return 1, 0
		}
		n := int64(1000)
		l.app = func() { n -= l.c[0].Write(l.now, n*1448) / 1448; l.c[1].Read(l.now, 1<<30) }
		l.app()
		l.poll()
		for l.c[0].ca != caCWR && l.step() {
		}
		half := l.c[0].cc.Bytes()
		for l.c[0].ca == caCWR && l.step() {
		}
		if half > l.c[0].cc.Ssthresh()+1448 || l.c[0].acts.CutECE.Count != 1 {
			t.Fatalf("growth %v: window %d after the cut to %d, %d cuts", grows, half, l.c[0].cc.Ssthresh(), l.c[0].acts.CutECE.Count)
		}
		// What was out was two windows of now; the first of them is acknowledged
		// before the window lets new segments go.
		if got := l.c[0].cc.Bytes() - l.c[0].cc.Ssthresh(); grows != (got >= 1448) || !grows && got != 0 {
			t.Errorf("growth %v: %d bytes in the round trip after the cut", grows, got)
		}
	}
}

// TestLostWindowUpdate: an update of a window that lets less than a segment out, or
// nothing, is lost, and the persist timer finds out (RFC 9293 3.8.6.1). The receiver
// tells that from an application that reads late.
func TestLostWindowUpdate(t *testing.T) {
	for _, c := range []struct {
		buffer int64
		lost   bool
	}{{4000, true}, {4500, true}, {4000, false}, {4500, false}} {
		cfg := mustPreset(t, "linux")
		cfg.MSS, cfg.TSO, cfg.DelayedAck, cfg.Receive = 1012, 0, 0, Buffer{c.buffer, c.buffer}
		l := newLoop(t, cfg).connect()
		l.c[0].Write(l.now, 10000)
		l.poll()
		l.run(l.now + 100*units.Millisecond)
		read := func() {
			l.c[1].Read(l.now, 10000)
			l.poll()
			l.run(l.now + 100*units.Millisecond)
		}
		if c.lost {
			l.touch = func(int, *packet.Packet) (int, units.Time) { return 0, 0 }
			read()
			l.touch = nil
		}
		l.run(l.now + 400*units.Millisecond)
		for range 10 {
			read()
		}
		want := int64(0)
		if c.lost {
			want = 1
		}
		if got := l.c[1].Counters(); got.UpdatesLost != want || got.Delivered != 10000 {
			t.Errorf("buffer %d, lost %v: %d updates lost, want %d; %d bytes", c.buffer, c.lost, got.UpdatesLost, want, got.Delivered)
		}
		if n := l.c[0].Counters().Persists; n < 1 {
			t.Errorf("buffer %d, lost %v: the persist timer never expired", c.buffer, c.lost)
		}
	}
}

// TestSACKOrder: blocks come latest first, which says nothing about the order in
// which the segments of an acknowledgement arrived: only one below what an earlier
// acknowledgement reported was reordered (RFC 8985 6.2, step 3).
func TestSACKOrder(t *testing.T) {
	for _, blocks := range [][][2]uint32{{{8, 9}, {5, 6}}, {{5, 6}, {8, 9}}} {
		cfg := mustPreset(t, "linux")
		cfg.TSO = 0
		l := newLoop(t, cfg).connect()
		a := &l.c[0]
		a.Write(l.now, 10*a.mss)
		var p packet.Packet
		for r := Sent; r == Sent; {
			r, _ = a.Poll(l.now, &p)
		}
		b := &l.c[1]
		b.ackNow = true
		b.Poll(l.now, &p)
		ack := func(blocks [][2]uint32) {
			side := packet.Side{SACKs: uint8(len(blocks))}
			for i, k := range blocks {
				m := uint32(a.mss)
				side.SACK[i] = packet.SACKBlock{Left: uint32(a.iss) + 1 + k[0]*m, Right: uint32(a.iss) + 1 + k[1]*m}
			}
			a.Receive(l.now, &p, &side, 0)
		}
		l.now += 2 * l.delay
		if ack(blocks); a.rack.reordered {
			t.Errorf("blocks %v in one acknowledgement count as reordering", blocks)
		}
		if a.segs.sackedSegs != 2 {
			t.Errorf("%d segments selectively acknowledged, want 2", a.segs.sackedSegs)
		}
		if ack([][2]uint32{{2, 3}, blocks[0], blocks[1]}); !a.rack.reordered {
			t.Error("a later acknowledgement of a segment below does not")
		}
	}
}

// TestIdleBehindClosedWindow: a window that is closed for seconds is a pause in
// sending, whatever the application writes meanwhile: the connection then begins with
// the initial window (RFC 5681 4.1).
func TestIdleBehindClosedWindow(t *testing.T) {
	for _, every := range []units.Time{50 * units.Millisecond, 5 * units.Second} {
		cfg := mustPreset(t, "linux")
		cfg.TSO, cfg.Receive, cfg.Send = 0, Buffer{60000, 60000}, Buffer{1 << 20, 1 << 20}
		l := newLoop(t, cfg).connect()
		l.c[0].Write(l.now, 100000)
		l.poll()
		l.run(l.now + units.Second)
		l.c[0].cc.Set(100 * l.c[0].mss)
		for end := l.now + 5*units.Second; l.now < end; {
			l.c[0].Write(l.now, 1)
			l.poll()
			l.run(l.now + every)
		}
		l.c[1].Read(l.now, 60000)
		l.poll()
		l.run(l.now + l.delay + units.Millisecond)
		if got, want := l.c[0].Info().InFlight, 10*l.c[0].mss; got != want {
			t.Errorf("a write every %v: %d bytes in flight after 5 s, want %d", every, got, want)
		}
	}
}

// TestUnscaledWindow: without window scaling the header says 65535 bytes at most,
// and a larger buffer makes no window updates of its own: of two readings of one byte
// none is told of.
func TestUnscaledWindow(t *testing.T) {
	cfg := mustPreset(t, "linux")
	cfg.WindowScaling, cfg.AckOnRead, cfg.QuickAcks, cfg.Receive = false, false, 0, Buffer{1 << 20, 1 << 20}
	l := newLoop(t, cfg).connect()
	l.transfer(1 << 20)
	acks := l.c[1].Counters().PureAcks
	l.c[0].Write(l.now, 2)
	l.poll()
	l.run(l.now + 2*l.delay)
	for range 2 {
		l.c[1].Read(l.now, 1)
		l.poll()
	}
	if got := l.c[1].Counters().PureAcks; got != acks {
		t.Errorf("%d window updates, want none", got-acks)
	}
}

// TestWindowAfterLostSYNs: two lost SYNs leave one segment (RFC 5681 3.1; Linux
// tcp_init_transfer), one leaves the initial window.
func TestWindowAfterLostSYNs(t *testing.T) {
	for lost, want := range []int64{10, 10, 1, 1} {
		l := newLoop(t, mustPreset(t, "linux"))
		left := lost
		l.touch = func(i int, p *packet.Packet) (int, units.Time) {
			if p.Opcode&SYN != 0 && left > 0 {
				left--
				return 0, 0
			}
			return 1, 0
		}
		l.connect()
		if got := l.c[0].Info().Cwnd; got != want*l.c[0].mss {
			t.Errorf("%d SYNs lost: a window of %d bytes, want %d segments", lost, got, want)
		}
	}
}

// TestDuplicatesAfterTimeout: what was sent again for nothing after a timeout brings
// duplicate ACKs of all that was out then. Without SACK they count as no loss, since
// nothing beyond is acknowledged (RFC 6582 3.2, step 2, and 5; Linux
// tcp_try_undo_recovery).
func TestDuplicatesAfterTimeout(t *testing.T) {
	cfg := mustPreset(t, "reno")
	cfg.CC.InitialWindow, cfg.CC.ABCLimit, cfg.DelayedAck = 20, 0, 0
	l := newLoop(t, cfg).connect()
	first, start := l.c[0].nxt, l.now
	l.touch = func(i int, p *packet.Packet) (int, units.Time) {
		early := l.now < start+500*units.Millisecond
		if i == 0 && early && int64(unwrap(p.PSN, first)-first) < 4*l.c[0].mss || i == 1 && early {
			return 0, 0 // the first four segments, and all ACKs
		}
		return 1, 0
	}
	l.c[0].Write(l.now, 40*l.c[0].mss)
	l.poll()
	for range 10 {
		l.run(l.now + 300*units.Millisecond)
		l.c[1].Read(l.now, 1<<20)
		l.poll()
	}
	a, c := l.c[0].Acts(), l.c[0].Counters()
	if a.RTO.Count != 1 || l.c[1].Counters().Delivered != 40*l.c[0].mss {
		t.Fatalf("%d timeouts, %d bytes; want one timeout and all", a.RTO.Count, l.c[1].Counters().Delivered)
	}
	if a.LossDupAck.Count != 0 || a.CutLoss.Count != 0 || a.RetransFast.Count != 0 {
		t.Errorf("%d losses by duplicates, %d cuts, %d fast retransmissions of %d in all; want none", a.LossDupAck.Count, a.CutLoss.Count, a.RetransFast.Count, c.Retransmitted)
	}
}

// TestSACKSmallSegments: three segments reported above a hole are a loss, however
// small (RFC 6675 5, steps 2 and 4.1), which is then sent again once.
func TestSACKSmallSegments(t *testing.T) {
	cfg := mustPreset(t, "linux")
	cfg.Recovery, cfg.TSO, cfg.Nagle = SACK, 0, NagleOff
	l := newLoop(t, cfg).connect()
	n := 0
	l.touch = func(i int, p *packet.Packet) (int, units.Time) {
		if i == 0 && p.Payload > 0 {
			if n++; n == 1 {
				return 0, 0
			}
		}
		return 1, 0
	}
	for range 8 {
		l.c[0].Write(l.now, 100)
		l.poll()
	}
	l.run(l.now + 100*units.Millisecond)
	a := l.c[0].Acts()
	if got := l.c[1].Counters().Delivered; got != 800 || a.LossDupAck.Count != 1 || a.RetransFast.Count != 1 {
		t.Errorf("%d bytes, %d losses, %d fast retransmissions; want 800, 1 and 1", got, a.LossDupAck.Count, a.RetransFast.Count)
	}
}

// ackTo gives endpoint 0 a bare acknowledgement from endpoint 1: of so many bytes more
// than what was acknowledged when the test began, from a sequence number, with a window.
func ackTo(l *loop, una uint64, bytes int64, seq uint64, window int64) {
	a := &l.c[0]
	p := packet.Packet{Opcode: ACK, PSN: uint32(seq), AETH: uint32(una + uint64(bytes)), DMALen: uint32(window>>a.sndScale) | headerLen<<segLenShift}
	a.Receive(l.now, &p, nil, 0)
}

// TestWindowUpdateOrder: an acknowledgement that was overtaken does not take the window
// back (RFC 9293 3.10.7.4: SND.WL1, SND.WL2), and one far behind is challenged (RFC
// 5961 5.2).
func TestWindowUpdateOrder(t *testing.T) {
	cfg := mustPreset(t, "linux")
	cfg.Timestamps, cfg.TSO = false, 0
	l := newLoop(t, cfg).connect()
	a := &l.c[0]
	una, seq := a.una, a.rcvNxt
	a.Write(l.now, 10*a.mss)
	var p packet.Packet
	for r := Sent; r == Sent; {
		r, _ = a.Poll(l.now, &p)
	}
	ackTo(l, una, 4000, seq, 30720)
	for _, c := range []struct{ bytes, window, want int64 }{
		{2000, 65408, 30720}, // older than what changed it
		{4000, 20480, 20480}, // the same again, with another window
		{6000, 40960, 40960},
	} {
		if ackTo(l, una, c.bytes, seq, c.window); a.wnd != c.want {
			t.Errorf("an acknowledgement of %d bytes with a window of %d leaves %d, want %d", c.bytes, c.window, a.wnd, c.want)
		}
	}
	a.wl1 = seq + 100 // a segment from there has been taken
	if ackTo(l, una, 8000, seq, 10240); a.wnd != 40960 {
		t.Errorf("a segment from before the latest update leaves %d, want 40960", a.wnd)
	}
	n := a.counters.ChallengeAcks
	ackTo(l, una, 8000-a.maxWnd, seq, 10240)
	if ackTo(l, una, 8000-a.maxWnd-1, seq, 10240); a.counters.ChallengeAcks != n+1 {
		t.Errorf("%d challenges of an acknowledgement a window and one byte behind, want 1", a.counters.ChallengeAcks-n)
	}
}

// TestLossAfterECE: what was out at a cut for ECE was not sent again, so that duplicates
// of it tell of a loss, without SACK too.
func TestLossAfterECE(t *testing.T) {
	cfg := mustPreset(t, "reno")
	l := newLoop(t, cfg).connect()
	a := &l.c[0]
	una, seq := a.una, a.rcvNxt
	send := func(n int64) {
		a.Write(l.now, n*a.mss)
		var p packet.Packet
		for r := Sent; r == Sent; {
			r, _ = a.Poll(l.now, &p)
		}
	}
	a.cc.Set(20 * a.mss)
	send(4)
	a.cut(l.now, congestion.CutECN, 4*a.mss)
	a.enter(caCWR)
	ackTo(l, una, 4*a.mss, seq, 60000)
	send(5)
	for range 3 {
		ackTo(l, una, 4*a.mss, seq, 60000)
	}
	if a.ca != caRecovery || a.acts.LossDupAck.Count != 1 {
		t.Errorf("%v after three duplicates, %d losses; want recovery and 1", a.ca, a.acts.LossDupAck.Count)
	}
}

// Whatever the segment size and the initial window, the advertised window at least
// doubles in two round trips, as long as data comes and is read: of a first window of
// whole segments there is always more than the receiver expected (tcp_init_buffer_space,
// tcp_rcv_space_adjust).
func TestReceiveWindowGrowsForAllSegmentSizes(t *testing.T) {
	for _, mss := range []int{536, 1460, 2048, 3960, 4096, 8192, 8860, 8960, 8972, 9216} {
		for _, initial := range []int{3, 9, 10, 30} {
			for _, timestamps := range []bool{true, false} {
				cfg := mustPreset(t, "linux")
				cfg.MSS, cfg.CC.InitialWindow, cfg.Timestamps = mss, initial, timestamps
				cfg.Send = Buffer{8 << 20, 8 << 20}
				l := newLoop(t, cfg)
				l.delay = 5050 * units.Microsecond // in ticks rather 10 than 11, so that rounds do not merge
				for i := range l.c {               // ahead: the receiver's first sample has no handshake in it
					l.c[i].Connect(0, iss[i], i == 0, Peer{Config: &cfg, ISS: iss[1-i], RTT: 2 * l.delay})
				}
				l.app = func() {
					l.c[0].Write(l.now, 1<<20)
					l.c[1].Read(l.now, 1<<30)
				}
				l.app()
				l.poll()
				first := int64(l.c[1].rcvAdv - l.c[1].rcvNxt)
				start := l.c[1].counters.Delivered
				l.run(l.now + 20*l.delay) // ten round trips
				if got := l.c[1].Info().ReceiveWindow; got < 16*first {
					t.Errorf("MSS %d, initial window %d, timestamps %v: the window is %d after ten round trips, %d at first", mss, initial, timestamps, got, first)
				}
				if got := l.c[1].counters.Delivered - start; got < 16*first {
					t.Errorf("MSS %d, initial window %d, timestamps %v: %d bytes in ten round trips, first window %d", mss, initial, timestamps, got, first)
				}
			}
		}
	}
}
