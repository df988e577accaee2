package rdma

import (
	"math/rand/v2"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// adaptiveConfig is a profile with a timer from 16 us to 1 ms and retries.
func adaptiveConfig(t *testing.T, preset string) Config {
	cfg := mustPreset(t, preset)
	cfg.MTU, cfg.Timeout = 1024, 1024*us
	cfg.Adaptive = AdaptiveTimeout{Min: 16 * us, Spread: 1, Retries: 1, Decrease: 2}
	return cfg
}

// TestTailLoss: the last packet of a message is lost n times; the WRITE ends after
// min * (2^n - 1) of timeouts, plus what sending and acknowledging takes each time:
// the timer runs from the packet's start, or from the ACK of the one before. With
// the fixed timer it is n * timeout.
func TestTailLoss(t *testing.T) {
	for _, preset := range []string{"nic", "selective-repeat", "go-back-0"} {
		for _, adaptive := range []bool{true, false} {
			for n := range 4 {
				cfg := adaptiveConfig(t, preset)
				wait := cfg.Adaptive.Min * (1<<n - 1)
				if !adaptive {
					cfg.Adaptive, wait = AdaptiveTimeout{}, cfg.Timeout*units.Time(n)
				}
				l := newLoop(t, cfg, attrs(), attrs())
				lost := 0
				l.fate = func(_ int, p *packet.Packet) fate {
					last := p.Kind == packet.Data && p.Opcode == OpSendLast && lost < n
					if last {
						lost++
					}
					return fate{lose: last}
				}
				l.post(0, WorkRequest{ID: 1, Verb: Send, Bytes: 3 * 1024})
				l.run(units.Second)
				// Once: what a run without loss takes. Then each of the two waits that can
				// begin with an ACK begins a round trip after its packet; a whole message
				// sent again (go-back-0) ends two packets later.
				frame := l.line.TxTime(1024 + 82)
				idle := 3*frame + 5*us
				least, most := idle-5*us+wait, idle+units.Time(n)*(5*us+3*frame)+wait
				if done := l.cq[0].Entries; len(done) != 1 || done[0].Status != Success || done[0].Time < least || done[0].Time > most {
					t.Errorf("%s, adaptive %t, %d losses: %+v, want one completion from %d to %d", preset, adaptive, n, done, least, most)
				}
				if c := l.qp[0].Counters(); c.Timeouts != int64(n) {
					t.Errorf("%s, %d losses: %d timeouts", preset, n, c.Timeouts)
				}
			}
		}
	}
}

// expiries are the times between timeouts of a queue pair whose packets all get
// lost, and when it gives up.
func expiries(t *testing.T, cfg Config) (waits []units.Time, end units.Time) {
	l := newLoop(t, cfg, attrs(), attrs())
	l.fate = func(int, *packet.Packet) fate { return fate{lose: true} }
	l.post(0, WorkRequest{ID: 1, Bytes: 1})
	l.run(0)
	var at units.Time
	for l.qp[0].State() != Err {
		next := l.qp[0].Deadline()
		l.run(next)
		waits, at = append(waits, next-at), next
	}
	if e := l.cq[0].Entries; len(e) != 1 || e[0].Status != RetryExc {
		t.Fatalf("completions %+v, want RETRY_EXC_ERR", e)
	}
	return waits, l.cq[0].Entries[0].Time
}

// TestAdaptiveLadder: the timeouts by NVIDIA's rules: the first once, then each
// retries times before it doubles, no longer than the Local ACK Timeout, and an
// error after retry_count times that without progress, by which the last is cut.
func TestAdaptiveLadder(t *testing.T) {
	for _, c := range []struct {
		retries int
		count   uint8
		want    []units.Time // in us
	}{
		{1, 7, []units.Time{16, 32, 64, 128, 256, 512, 1024, 1024, 1024, 1024, 1024, 1024, 16}},
		{2, 2, []units.Time{16, 32, 32, 64, 64, 128, 128, 256, 256, 512, 512, 48}},
		{1, 0, []units.Time{16}},
	} {
		cfg := adaptiveConfig(t, "nic")
		cfg.Adaptive.Retries, cfg.RetryCount = c.retries, c.count
		waits, end := expiries(t, cfg)
		if len(waits) != len(c.want) {
			t.Fatalf("retries %d: %v", c.retries, waits)
		}
		for i, w := range waits {
			if w != c.want[i]*us {
				t.Errorf("retries %d, timeout %d: %d, want %d us", c.retries, i, w, c.want[i])
			}
		}
		if total := 1024 * us * units.Time(c.count); c.count > 0 && end != total {
			t.Errorf("retries %d: error at %d, want %d", c.retries, end, total)
		}
	}
}

// TestAdaptiveDecrease: after three timeouts in a row the timer is eight times the
// shortest; each round trip without timeout divides it, down to the shortest.
func TestAdaptiveDecrease(t *testing.T) {
	for decrease, want := range map[int][]units.Time{2: {128, 64, 32, 16, 16}, 4: {128, 32, 16, 16}, 0: {128, 16, 16}} {
		cfg := adaptiveConfig(t, "nic")
		cfg.Adaptive.Decrease = decrease
		l := newLoop(t, cfg, attrs(), attrs())
		l.fate = func(n int, _ *packet.Packet) fate { return fate{lose: n < 3} }
		l.post(0, WorkRequest{ID: 0, Bytes: 1})
		for l.qp[0].Counters().Timeouts < 3 {
			l.step(units.Never)
		}
		for i, w := range want {
			if l.qp[0].rto != w*us {
				t.Errorf("decrease %d, round %d: the timer lasts %d, want %d us", decrease, i, l.qp[0].rto, w)
			}
			l.run(l.now + 8*us)
			l.post(0, WorkRequest{ID: uint32(i + 1), Bytes: 1})
		}
	}
}

// TestAdaptiveSpread: the first timeouts of many connections are all of those from
// the shortest on, each about as often.
func TestAdaptiveSpread(t *testing.T) {
	cfg := adaptiveConfig(t, "nic")
	cfg.Adaptive.Spread = 4
	found := map[units.Time]int{}
	for conn := range uint32(400) {
		var q QP
		tmpl := packet.Packet{Conn: conn}
		q.Connect(&Setup{Config: &cfg, CQ: new(CompletionQueue), Data: tmpl, Line: units.Gbps, Attrs: attrs()}, 0)
		found[q.rto]++
	}
	for _, w := range []units.Time{16, 32, 64, 128} {
		if n := found[w*us]; n < 70 || n > 130 { // 100, standard deviation 8.7
			t.Errorf("%d of 400 begin with %d us, want about 100", n, w)
		}
	}
}

// TestSlowRestartRounds: a window of n packets is lost whole. Then 1, 2, 4, ...
// packets leave per round trip, so that the last arrives after ceil(log2(n+1))
// rounds of a packet's wire time and the round trip of 5 us, plus its share of
// the wire in the last round.
func TestSlowRestartRounds(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 7, 8, 15, 16, 31} {
		cfg := adaptiveConfig(t, "nic")
		cfg.SlowRestart.On = true
		l := newLoop(t, cfg, attrs(), attrs())
		l.fate = func(i int, p *packet.Packet) fate { return fate{lose: i < n} }
		l.post(0, WorkRequest{ID: 1, Verb: Send, Bytes: units.Bytes(n) * 1024})
		l.run(units.Second)
		rounds, in := 1, 0
		for room := 1; in+room < n; rounds++ {
			in, room = in+room, 2*room
		}
		frame := l.line.TxTime(1024 + 82)
		want := 16*us + units.Time(rounds)*(frame+5*us) + units.Time(n-in-1)*frame
		if done := l.cq[0].Entries; len(done) != 1 || done[0].Time != want {
			t.Errorf("%d packets: %+v, want completion at %d (%d rounds)", n, done, want, rounds)
		}
		if a := l.qp[0].SlowRestarts(); a.Count != 1 || a.First != 16*us {
			t.Errorf("%d packets: %+v, want one slow restart at 16 us", n, a)
		}
	}
}

// TestRestartWindow: the bounds of RFC 5681, section 3.1.
func TestRestartWindow(t *testing.T) {
	for mtu, want := range map[units.Bytes]uint32{4096: 2, 2191: 2, 2190: 3, 1096: 3, 1095: 4, 256: 4} {
		if got := restartWindow(mtu); got != want {
			t.Errorf("mtu %d: %d packets, want %d", mtu, got, want)
		}
	}
}

// TestAdaptiveTables: every cell of the two tables in docs/models/rc.md.
func TestAdaptiveTables(t *testing.T) {
	windows := tables(t)[`window \ event`]
	events := map[string]func(q *QP){
		"half the window acknowledged": func(q *QP) { q.adapt(100*us, q.cold.extras.adaptive.restart.end-1) },
		"the window acknowledged":      func(q *QP) { q.adapt(100*us, q.cold.extras.adaptive.restart.end) },
		"NAK":                          func(q *QP) { q.sequenceError(100*us, true, ByNAK) },
		"timeout":                      func(q *QP) { q.timeout(100 * us) },
		"post after idle": func(q *QP) {
			q.una, q.cold.extras.adaptive.restart.idle = q.high, 0
			_ = q.Post(100*us, WorkRequest{})
		},
	}
	for name, out := range map[string]uint32{"full": 512, "small": 4} {
		if len(windows[name]) != len(events) {
			t.Fatalf("%s: %d cells, want %d", name, len(windows[name]), len(events))
		}
		for event, want := range windows[name] {
			cfg := adaptiveConfig(t, "selective-repeat")
			cfg.SlowRestart = SlowRestart{On: true, Idle: 50 * us}
			l := newLoop(t, cfg, attrs(), attrs())
			q := &l.qp[0]
			l.post(0, WorkRequest{ID: 1, Bytes: 8 * 1024})
			for range 8 {
				q.Poll(l.now, new(packet.Packet))
				l.now = max(l.now, q.nextAvail)
			}
			q.maxOut, q.cold.extras.adaptive.restart.end = out, q.una+uint64(min(out, 8))
			events[event](q)
			got := map[uint32]string{512: "full", 1: "one packet", 4: "small", 8: "twice"}[q.maxOut]
			if q.maxOut == restartWindow(cfg.MTU) && name == "full" {
				got = "RFC 5681's"
			}
			if got != want {
				t.Errorf("%s, %s: %d packets (%s), the page says %q", name, event, q.maxOut, got, want)
			}
		}
	}
	timers := tables(t)[`timer \ event`]
	for name, current := range map[string]units.Time{"shortest": 16, "longer": 64, "longest": 1024} {
		for event, want := range timers[name] {
			l := newLoop(t, adaptiveConfig(t, "nic"), attrs(), attrs())
			q := &l.qp[0]
			l.post(0, WorkRequest{ID: 1, Bytes: 2048})
			q.Poll(0, new(packet.Packet))
			a := q.cold.extras.adaptive.timer
			a.current, a.limit, a.end, q.rto = current*us, 1, q.high, current*us
			switch event {
			case "progress":
				q.adapt(0, q.high-1)
			case "round acknowledged":
				q.adapt(0, q.high)
			case "timeout":
				q.timeout(current * us)
			default:
				t.Fatal(event)
			}
			got := "as before"
			if q.rto == 2*current*us {
				got = "doubled"
			} else if q.rto == current*us/2 {
				got = "halved"
			}
			if got != want {
				t.Errorf("%s, %s: %s (%d), the page says %q", name, event, got, q.rto, want)
			}
		}
	}
}

// TestImpairedAdaptive: loss, duplication and reordering of everything with the
// adaptive timer and the slow restart; every message, READs too, arrives once and
// completes in order whatever the recovery.
func TestImpairedAdaptive(t *testing.T) {
	for seed := range uint64(90) {
		rng := rand.New(rand.NewPCG(seed, 2))
		cfg := mustPreset(t, "nic")
		cfg.MTU, cfg.AckEvery, cfg.NAKConsumesRetry = 256, 1+int(seed%5), false
		cfg.Timeout = TimeoutCode(6) // 262 us
		switch seed % 3 {
		case 1:
			cfg.Recovery, cfg.Bitmap = SelectiveRepeat, []int{1, 8, 100, 512}[seed%4]
		case 2:
			cfg.Recovery = GoBack0
		}
		if seed%4 != 1 {
			cfg.Adaptive = AdaptiveTimeout{Min: []units.Time{4 * us, 10 * us, 50 * us}[seed%3], Spread: 1 + int(seed%4), Retries: 1 + int(seed%2), Decrease: []int{0, 2, 4}[seed%3]}
		}
		if seed%4 != 2 {
			cfg.SlowRestart = SlowRestart{On: true, Idle: units.Time(seed%2) * 5 * us}
		}
		l := newLoop(t, cfg, attrs(), attrs())
		l.fate = func(int, *packet.Packet) fate {
			f := fate{lose: rng.IntN(30) == 0, twice: rng.IntN(30) == 0}
			if seed%2 == 0 && cfg.Recovery != GoBack0 && rng.IntN(30) == 0 {
				f.late = units.Time(rng.IntN(3000)) * units.Nanosecond
			}
			return f
		}
		written, read := int64(0), int64(0)
		for i := range uint32(60) {
			n := rng.Int64N(3000)
			verb := []Verb{Write, Send, Read}[i%3]
			if verb == Read {
				read += n
			} else {
				written += n
			}
			l.post(0, WorkRequest{ID: i, Verb: verb, Bytes: units.Bytes(n)})
			if i%20 == 19 {
				l.run(l.now + 50*ms)
			}
		}
		l.run(10 * units.Second)
		if d, r := l.qp[1].Delivered(), l.qp[0].ReadBytes(); d != written || r != read {
			t.Fatalf("seed %d: %d of %d written, %d of %d read, state %s, %v", seed, d, written, r, read, l.qp[0].State(), l.statuses(0))
		}
		if n := len(l.cq[0].Entries); n != 60 {
			t.Fatalf("seed %d: %d completions", seed, n)
		}
		for i, c := range l.cq[0].Entries {
			if c.ID != uint32(i) || c.Status != Success {
				t.Fatalf("seed %d: completion %d is %+v", seed, i, c)
			}
		}
		if q := &l.qp[0]; q.adapts && cfg.SlowRestart.On && q.maxOut > q.cold.extras.adaptive.restart.full {
			t.Fatalf("seed %d: window %d", seed, q.maxOut)
		}
	}
}

// TestAdaptiveLimits: a wait is held against the timeout that was running in it.
func TestAdaptiveLimits(t *testing.T) {
	l := newLoop(t, adaptiveConfig(t, "nic"), attrs(), attrs())
	l.fate = func(n int, _ *packet.Packet) fate { return fate{lose: n < 1} }
	l.post(0, WorkRequest{ID: 1, Bytes: 1})
	l.run(units.Second)
	if a := l.qp[0].Limits(l.now).NearTimeout; a == nil || a.Value != int64(16*us) || a.Threshold != int64(16*us) || a.At != 16*us {
		t.Errorf("nearest timeout %+v, want 16 us of 16 us at 16 us", a)
	}
}
