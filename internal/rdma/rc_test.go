package rdma

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// TestSegmentation: opcodes, PSNs, lengths, RETH and AckReq of a message
// (IBTA 9.2, 9.3; frame bytes of models.md 4.5: 62 around the payload, 16 RETH).
func TestSegmentation(t *testing.T) {
	type pkt struct {
		op             uint8
		frame, payload uint32
		reth, ackReq   bool
	}
	for _, c := range []struct {
		name  string
		verb  Verb
		bytes units.Bytes
		every int
		want  []pkt
	}{
		{"write only", Write, 1024, 1, []pkt{{OpWriteOnly, 62 + 16 + 1024, 1024, true, true}}},
		{"write empty", Write, 0, 1, []pkt{{OpWriteOnly, 78, 0, true, true}}},
		{"send empty is padded", Send, 0, 1, []pkt{{OpSendOnly, 64, 0, false, true}}},
		{"write three", Write, 2049, 4, []pkt{{OpWriteFirst, 1102, 1024, true, false},
			{OpWriteMiddle, 1086, 1024, false, false}, {OpWriteLast, 62 + 4, 1, false, true}}},
		{"send two", Send, 2048, 1, []pkt{{OpSendFirst, 1086, 1024, false, true}, {OpSendLast, 1086, 1024, false, true}}},
		{"ack every 2", Send, 4096, 2, []pkt{{OpSendFirst, 1086, 1024, false, false}, {OpSendMiddle, 1086, 1024, false, true},
			{OpSendMiddle, 1086, 1024, false, false}, {OpSendLast, 1086, 1024, false, true}}},
	} {
		cfg := mustPreset(t, "nic")
		cfg.MTU, cfg.AckEvery = 1024, c.every
		a := attrs()
		a.SQPSN = psnMask // wraps after the first packet
		l := newLoop(t, cfg, a, attrs())
		l.post(0, WorkRequest{Verb: c.verb, Bytes: c.bytes, VA: base + 5})
		q := &l.qp[0]
		var now units.Time
		for i, w := range c.want {
			var p packet.Packet
			reason, until := q.Poll(now, &p)
			if reason != Sent {
				t.Fatalf("%s packet %d: %s", c.name, i, reason)
			}
			got := pkt{p.Opcode, p.Frame, p.Payload, p.VA == base+5 && p.RKey == rkey && p.DMALen == uint32(c.bytes), p.Flags&packet.AckReq != 0}
			if got != w || p.PSN != uint32(psnMask+i)&psnMask || p.ECN != packet.ECT0 || p.DestQP != 101 || p.Kind != packet.Data {
				t.Errorf("%s packet %d: %+v psn %#x, want %+v", c.name, i, got, p.PSN, w)
			}
			if want := now + units.Time(p.Frame+20)*80; until != want { // 80 ps per byte at 100 Gb/s
				t.Errorf("%s packet %d: next at %d, want %d", c.name, i, until, want)
			}
			now = until
		}
		if reason, until := q.Poll(now, new(packet.Packet)); reason != Idle || until != units.Never {
			t.Errorf("%s: after the last %s %d", c.name, reason, until)
		}
	}
}

// TestCleanTransfer: both directions at once, across the PSN wrap.
func TestCleanTransfer(t *testing.T) {
	cfg := mustPreset(t, "nic")
	a, b := attrs(), attrs()
	a.SQPSN, b.RQPSN = psnMask-1, psnMask-1
	a.RQPSN, b.SQPSN = 5, 5
	l := newLoop(t, cfg, a, b)
	for i := range uint32(3) {
		l.post(0, WorkRequest{ID: i, Verb: Write, Bytes: 100_000})
		l.post(1, WorkRequest{ID: i, Verb: Send, Bytes: 9000})
	}
	l.run(units.Second)
	for side, want := range []int64{27_000, 300_000} {
		if d := l.qp[side].Delivered(); d != want {
			t.Errorf("side %d delivered %d, want %d", side, d, want)
		}
		for i, c := range l.cq[side].Entries {
			if c.ID != uint32(i) || c.Status != Success || c.Conn != 7 {
				t.Errorf("side %d completion %+v", side, c)
			}
		}
		if n := len(l.cq[side].Entries); n != 3 {
			t.Errorf("side %d: %d completions", side, n)
		}
	}
	// First packet's wire time and delay there, delay back; the rest is streamed:
	// completion of the last WRITE is its last byte's arrival plus the delay.
	packets, bytes := 25*3, 300_000+75*82+3*16
	if want := units.Time(bytes)*80 + 5*us; l.cq[0].Entries[2].Time != want {
		t.Errorf("last completion %d, want %d (%d packets)", l.cq[0].Entries[2].Time, want, packets)
	}
	if c := l.qp[0].Counters(); c.SentPackets != 75 || c.SentBytes != 300_000 || c.Retransmitted != 0 || c.Discarded != 0 {
		t.Errorf("counters %+v", c)
	}
}

// TestImpairedLink: loss, duplication and reordering of everything; all messages
// arrive once and in order whatever the recovery, across the PSN wrap.
func TestImpairedLink(t *testing.T) {
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 1))
		cfg := mustPreset(t, "nic")
		cfg.MTU, cfg.AckEvery, cfg.RetryCount = 256, 1+int(seed%5), 7
		cfg.NAKConsumesRetry = false
		cfg.Timeout = TimeoutCode(4) // 65.5 us
		if seed%4 == 1 || seed%8 == 6 {
			cfg.Window, cfg.WindowBytes = WindowBytes, 2000
		}
		switch {
		case seed%4 == 2:
			cfg.Recovery = GoBack0
		case seed%3 == 1:
			cfg.Recovery, cfg.Bitmap = SelectiveRepeat, []int{1, 8, 100, 512}[seed%4]
		case seed%3 == 2:
			cfg.Recovery, cfg.Bitmap = IRN, 128
			cfg.TimeoutLow, cfg.LowInFlight = 20*us, 3
		}
		a, b := attrs(), attrs()
		a.SQPSN, b.RQPSN = psnMask-100, psnMask-100
		l := newLoop(t, cfg, a, b)
		reorder := seed%2 == 0 && cfg.Recovery != GoBack0
		l.fate = func(int, *packet.Packet) fate {
			f := fate{lose: rng.IntN(50) == 0, twice: rng.IntN(30) == 0}
			if reorder && rng.IntN(30) == 0 {
				f.late = units.Time(rng.IntN(3000)) * units.Nanosecond
			}
			return f
		}
		total := int64(0)
		for i := range uint32(60) {
			n := rng.Int64N(3000)
			total += n
			l.post(0, WorkRequest{ID: i, Verb: Verb(i % 2), Bytes: units.Bytes(n)})
		}
		l.run(10 * units.Second)
		if d := l.qp[1].Delivered(); d != total {
			t.Fatalf("seed %d: delivered %d of %d, state %s", seed, d, total, l.qp[0].State())
		}
		if len(l.cq[0].Entries) != 60 {
			t.Fatalf("seed %d: %d completions", seed, len(l.cq[0].Entries))
		}
		for i, c := range l.cq[0].Entries {
			if c.ID != uint32(i) || c.Status != Success {
				t.Fatalf("seed %d: completion %d is %+v", seed, i, c)
			}
		}
		c := l.qp[0].Counters()
		if c.Retransmitted == 0 || c.SentPackets-c.Retransmitted != int64(l.qp[0].high-uint64(a.SQPSN)) {
			t.Fatalf("seed %d: sent %d of which again %d, packets %d", seed, c.SentPackets, c.Retransmitted, l.qp[0].high-uint64(a.SQPSN))
		}
	}
}

// TestLossClosedForm: each 256th data packet lost, 4 MB messages, 100 Gb/s, RTT
// 5 us, MTU 1024 (models.md 9 case 3): go-back-N 1-(W+1)/256 with W = C*RTT/packet
// = 56.5: 77.5 % +-4; go-back-0: nothing completes and the link is >99 % busy; selective
// repeat loses one packet in 256: 99.6 % -1, at most 255/256.
func TestLossClosedForm(t *testing.T) {
	for _, c := range []struct {
		preset   string
		min, max float64
	}{{"nic", 0.775 * 0.96, 0.775 * 1.04}, {"go-back-0", 0, 0}, {"selective-repeat", 0.996 * 0.99, 0.9962}, {"irn", 0.996 * 0.99, 0.9962}} {
		cfg := mustPreset(t, c.preset)
		cfg.MTU = 1024
		l := newLoop(t, cfg, attrs(), attrs())
		data := 0
		l.fate = func(_ int, p *packet.Packet) fate {
			if p.Kind != packet.Data {
				return fate{}
			}
			data++
			return fate{lose: data%256 == 0}
		}
		for i := range uint32(200) {
			l.post(0, WorkRequest{ID: i, Verb: Write, Bytes: 4 * units.MB})
		}
		end := 20 * ms
		l.run(end)
		goodput := float64(l.qp[1].Delivered()) / 1024 / float64(l.sent)
		if c.max == 0 {
			if n := len(l.cq[0].Entries); n != 0 {
				t.Errorf("%s: %d completions, want 0", c.preset, n)
			}
		} else if goodput < c.min || goodput > c.max {
			t.Errorf("%s: goodput %.4f, want %.4f to %.4f", c.preset, goodput, c.min, c.max)
		}
		if b := float64(l.busy) / float64(end); b < 0.99 {
			t.Errorf("%s: link busy %.4f", c.preset, b)
		}
		if q := &l.qp[0]; q.State() != RTS || q.Counters().Timeouts != 0 {
			t.Errorf("%s: state %s, %d timeouts", c.preset, q.State(), q.Counters().Timeouts)
		}
		t.Logf("%s: goodput %.4f, retransmitted %d of %d", c.preset, goodput, l.qp[0].Counters().Retransmitted, l.sent)
	}
}

// TestTimeout: a cut path, n = 14, 7 retries: RETRY_EXC after 8 timeouts of
// 4.096 us * 2^14 = 67.1 ms, 0.537 s in all, the rest flushed, later posts too
// (models.md 9 case 4; 4.3).
func TestTimeout(t *testing.T) {
	l := newLoop(t, mustPreset(t, "nic"), attrs(), attrs())
	l.fate = func(int, *packet.Packet) fate { return fate{lose: true} }
	for i := range uint32(3) {
		l.post(0, WorkRequest{ID: i, Bytes: 1})
	}
	l.run(3 * units.Second)
	l.post(0, WorkRequest{ID: 3, Bytes: 1})
	if got, want := l.statuses(0), []Status{RetryExc, WRFlush, WRFlush, WRFlush}; !slices.Equal(got, want) {
		t.Fatalf("statuses %v, want %v", got, want)
	}
	at, eight := l.cq[0].Entries[0].Time, 8*TimeoutCode(14)
	if eight != 536_870_912*units.Microsecond/1000 || at < eight || at > eight+us {
		t.Errorf("failed at %d, want %d", at, eight)
	}
	q := &l.qp[0]
	if q.State() != Err || q.Counters().Timeouts != 8 || q.Acts().AckTimeout.Count != 8 || q.Acts().RetransTimer.Count != 3*7 {
		t.Errorf("state %s %+v %+v", q.State(), q.Counters(), q.Acts())
	}
	if r, _ := q.Poll(l.now, new(packet.Packet)); r != InError {
		t.Errorf("poll in error: %s", r)
	}
	if d := q.Deadline(); d != units.Never {
		t.Errorf("deadline %d in error", d)
	}
}

// TestRetryRestored: progress restores the retry counter (models.md 4.3).
func TestRetryRestored(t *testing.T) {
	cfg := mustPreset(t, "nic")
	cfg.RetryCount, cfg.Timeout, cfg.MTU = 1, TimeoutCode(2), 256
	l := newLoop(t, cfg, attrs(), attrs())
	seen := map[uint32]bool{}
	l.fate = func(_ int, p *packet.Packet) fate { // the first copy of every packet is lost
		lose := p.Kind == packet.Data && !seen[p.PSN]
		seen[p.PSN] = true
		return fate{lose: lose}
	}
	cfg.Window = WindowNone
	l.post(0, WorkRequest{ID: 0, Bytes: 256})
	for i := range 5 {
		l.run(units.Time(i+1) * ms)
		l.post(0, WorkRequest{ID: uint32(i + 1), Bytes: 256})
	}
	l.run(units.Second)
	if got := l.statuses(0); len(got) != 6 || slices.ContainsFunc(got, func(s Status) bool { return s != Success }) {
		t.Errorf("statuses %v, want six successes with one retry each", got)
	}
}

// TestRNR: code 12 waits 640 us (models.md 9 case 4); retries run out or, with 7,
// last until a receive is posted.
func TestRNR(t *testing.T) {
	cfg := mustPreset(t, "nic")
	cfg.RNRRetry = 2
	none := attrs()
	none.Receives = 0
	l := newLoop(t, cfg, attrs(), none)
	l.gaps = []units.Time{}
	l.post(0, WorkRequest{ID: 0, Verb: Send, Bytes: 100})
	l.post(0, WorkRequest{ID: 1, Verb: Send, Bytes: 100})
	l.run(units.Second)
	if got, want := l.statuses(0), []Status{RNRRetryExc, WRFlush}; !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v", got, want)
	}
	// Two messages per attempt; the wait counts from the NAK's arrival, a round
	// trip and 182 bytes of wire after the start.
	want := 640*us + 5*us + 182*80
	if len(l.gaps) != 6 || l.gaps[2]-l.gaps[0] != want || l.gaps[4]-l.gaps[2] != want {
		t.Errorf("sent at %v, want attempts %d apart", l.gaps, want)
	}
	if a := l.qp[0].Acts(); a.RetransRNR.Count != 4 {
		t.Errorf("retransmissions %d, want 4", a.RetransRNR.Count)
	}
	if r := l.qp[1].Acts().RNR; r.Count != 3 {
		t.Errorf("RNR NAKs %d, want 3: the second message is silence", r.Count)
	}

	cfg.RNRRetry = 7
	l = newLoop(t, cfg, attrs(), none)
	l.post(0, WorkRequest{ID: 0, Verb: Send, Bytes: 9000})
	l.run(20 * ms)
	if len(l.cq[0].Entries) != 0 || l.qp[0].State() != RTS {
		t.Fatalf("after 20 ms: %v %s", l.statuses(0), l.qp[0].State())
	}
	l.qp[1].PostReceive(1)
	l.run(units.Second)
	if got := l.statuses(0); !slices.Equal(got, []Status{Success}) || l.qp[1].Delivered() != 9000 {
		t.Errorf("statuses %v delivered %d", got, l.qp[1].Delivered())
	}
	l.post(0, WorkRequest{ID: 1, Verb: Send, Bytes: 1})
	l.post(0, WorkRequest{ID: 2, Verb: Write, Bytes: 1})
	l.run(l.now + 10*ms)
	if l.qp[1].Acts().RNR.Count < 2 || len(l.cq[0].Entries) != 1 {
		t.Error("the one receive was used up, the next SEND must wait")
	}
}

func TestRNRTimes(t *testing.T) {
	// models.md 4.3: 0=655.36ms, 1=10us, ... 12=640us, 13=960us, 14=1.28ms, 31=491.52ms.
	for code, want := range map[uint8]units.Time{0: 655360 * us, 1: 10 * us, 2: 20 * us, 5: 60 * us, 11: 480 * us,
		12: 640 * us, 13: 960 * us, 14: 1280 * us, 31: 491520 * us} {
		if got := RNRTime(code); got != want {
			t.Errorf("code %d: %d, want %d", code, got, want)
		}
	}
	for code, want := range map[uint8]units.Time{0: 0, 1: 8192 * units.Nanosecond, 14: 67_108_864 * units.Nanosecond,
		20: 4_294_967_296 * units.Nanosecond} {
		if got := TimeoutCode(code); got != want {
			t.Errorf("timeout %d: %d, want %d", code, got, want)
		}
	}
}

// TestProtection: the checks of models.md 4.4 and the statuses they end in
// (case 5): nothing is written, both queue pairs end in error.
func TestProtection(t *testing.T) {
	for _, c := range []struct {
		name     string
		set      func(*Attrs)
		wr       WorkRequest
		syndrome uint8
		status   Status
	}{
		{"wrong R_Key", nil, WorkRequest{RKey: rkey + 1, Bytes: 9000}, SynNAKAccess, RemAccess},
		{"before the region", nil, WorkRequest{VA: base - 1, Bytes: 10}, SynNAKAccess, RemAccess},
		{"past the region", func(a *Attrs) { *a = attrsOf(8999) }, WorkRequest{Bytes: 9000}, SynNAKAccess, RemAccess},
		{"start within, end past the region", func(a *Attrs) { *a = attrsOf(9000) }, WorkRequest{VA: base + 10, Bytes: 9000}, SynNAKAccess, RemAccess},
		{"start past the region", nil, WorkRequest{VA: base + mrLen + 1, Bytes: 1}, SynNAKAccess, RemAccess},
		{"a region without REMOTE_WRITE", func(a *Attrs) { a.Memory = memoryOf(Region{Base: base, Length: mrLen, Access: RemoteRead}) }, WorkRequest{Bytes: 9000}, SynNAKAccess, RemAccess},
		{"another protection domain", func(a *Attrs) { a.PD = 1 }, WorkRequest{Bytes: 9000}, SynNAKAccess, RemAccess},
		{"nothing registered", func(a *Attrs) { a.Memory = nil }, WorkRequest{Bytes: 9000}, SynNAKAccess, RemAccess},
		{"address wraps", nil, WorkRequest{VA: 1<<64 - 10, Bytes: 100}, SynNAKAccess, RemAccess},
		{"no REMOTE_WRITE", func(a *Attrs) { a.Access &^= RemoteWrite }, WorkRequest{Bytes: 9000}, SynNAKInv, RemInvReq},
		{"exactly the region", func(a *Attrs) { *a = attrsOf(9000) }, WorkRequest{Bytes: 9000}, SynACK, Success},
		{"empty WRITE needs no key", nil, WorkRequest{RKey: rkey + 1}, SynACK, Success},
		{"SEND needs no key", func(a *Attrs) { a.Access &^= RemoteWrite }, WorkRequest{Verb: Send, Bytes: 9000}, SynACK, Success},
	} {
		b := attrs()
		if c.set != nil {
			c.set(&b)
		}
		l := newLoop(t, mustPreset(t, "nic"), attrs(), b)
		var syndromes []uint8
		l.fate = func(_ int, p *packet.Packet) fate {
			if p.Kind == packet.Ack {
				syndromes = append(syndromes, uint8(p.AETH>>24))
			}
			return fate{}
		}
		l.post(1, WorkRequest{ID: 9, Bytes: 0}) // completes before
		l.post(0, c.wr)
		l.post(0, WorkRequest{ID: 1, Verb: Send, Bytes: 1})
		l.run(units.Second)
		if len(syndromes) < 2 || !slices.Contains(syndromes, c.syndrome) {
			t.Errorf("%s: syndromes %#x, want %#x", c.name, syndromes, c.syndrome)
		}
		second, state, delivered := WRFlush, Err, int64(0)
		if c.status == Success {
			second, state, delivered = Success, RTS, int64(c.wr.Bytes)+1
		}
		if got := l.statuses(0); !slices.Equal(got, []Status{c.status, second}) {
			t.Errorf("%s: statuses %v", c.name, got)
		}
		if l.qp[0].State() != state || l.qp[1].State() != state || l.qp[1].Delivered() != delivered {
			t.Errorf("%s: states %s %s, delivered %d, want %s and %d", c.name, l.qp[0].State(), l.qp[1].State(), l.qp[1].Delivered(), state, delivered)
		}
	}
}

// TestOpcodeSequence: what a peer may not send (models.md 4.4: 0x61).
func TestOpcodeSequence(t *testing.T) {
	const mtu = 4096
	first := packet.Packet{Opcode: OpWriteFirst, Payload: mtu, VA: base, RKey: rkey, DMALen: 2*mtu + 5}
	for _, c := range []struct {
		name string
		in   []packet.Packet
		bad  bool
	}{
		{"whole message", []packet.Packet{first, {Opcode: OpWriteMiddle, Payload: mtu}, {Opcode: OpWriteLast, Payload: 5}}, false},
		{"starts in the middle", []packet.Packet{{Opcode: OpWriteMiddle, Payload: mtu}}, true},
		{"starts with the last", []packet.Packet{{Opcode: OpSendLast, Payload: 1}}, true},
		{"first twice", []packet.Packet{first, first}, true},
		{"only within a message", []packet.Packet{first, {Opcode: OpSendOnly, Payload: 1}}, true},
		{"verbs mixed", []packet.Packet{first, {Opcode: OpSendMiddle, Payload: mtu}}, true},
		{"unknown opcode", []packet.Packet{{Opcode: 0x18}}, true},
		{"acknowledgement opcode", []packet.Packet{{Opcode: OpAck}}, true},
		{"short middle", []packet.Packet{first, {Opcode: OpWriteMiddle, Payload: mtu - 1}}, true},
		{"too long", []packet.Packet{{Opcode: OpSendOnly, Payload: mtu + 1}}, true},
		{"empty last", []packet.Packet{{Opcode: OpSendFirst, Payload: mtu}, {Opcode: OpSendLast}}, true},
		{"less than announced", []packet.Packet{first, {Opcode: OpWriteLast, Payload: 5}}, true},
		{"more than announced", []packet.Packet{first, {Opcode: OpWriteMiddle, Payload: mtu}, {Opcode: OpWriteLast, Payload: 6}}, true},
		{"first longer than announced", []packet.Packet{{Opcode: OpWriteFirst, Payload: mtu, VA: base, RKey: rkey, DMALen: 10}}, true},
	} {
		l := newLoop(t, mustPreset(t, "nic"), attrs(), attrs())
		q := &l.qp[1]
		var out Replies
		for i, p := range c.in {
			p.PSN, p.Flags = uint32(i), packet.AckReq
			q.Receive(0, &p, &out)
		}
		last := uint8(out.P[0].AETH >> 24)
		if bad := last == SynNAKInv && q.State() == Err; bad != c.bad || out.N != 1 {
			t.Errorf("%s: syndrome %#x, state %s", c.name, last, q.State())
		}
		if !c.bad && (q.Delivered() != 2*mtu+5 || out.P[0].AETH != uint32(SynACK)<<24|1) {
			t.Errorf("%s: delivered %d, AETH %#x", c.name, q.Delivered(), out.P[0].AETH)
		}
	}
}

// TestOneNAK: a gap is reported once; the responder is silent until the expected
// PSN arrives, and a later gap is reported again (models.md 4.4).
func TestOneNAK(t *testing.T) {
	l := newLoop(t, mustPreset(t, "nic"), attrs(), attrs())
	q := &l.qp[1]
	naks := 0
	for _, psn := range []uint32{0, 2, 3, 4, 1, 2, 4, 5, 3} {
		var out Replies
		q.Receive(0, &packet.Packet{Opcode: OpSendOnly, PSN: psn, Flags: packet.AckReq}, &out)
		if out.N == 1 && uint8(out.P[0].AETH>>24) == SynNAKSeq {
			naks++
			if out.P[0].PSN != []uint32{1, 3}[naks-1] {
				t.Errorf("NAK %d for %d", naks, out.P[0].PSN)
			}
		}
	}
	if naks != 2 || q.epsn != 4 || q.Acts().SequenceGap.Count != 2 || q.Acts().NAKSent.Count != 2 {
		t.Errorf("%d NAKs, expected PSN %d", naks, q.epsn)
	}
}

// TestNS3Responder: a NAK for the same PSN again after 500 us, at once for
// another; duplicates silent; the flag on ACK and NAK (peers.md B1 2.4).
func TestNS3Responder(t *testing.T) {
	l := newLoop(t, mustPreset(t, "ns3"), attrs(), attrs())
	q := &l.qp[1]
	for i, c := range []struct {
		at       units.Time
		psn      uint32
		ecn      uint8
		syndrome uint8 // 0: silent
		reply    uint32
		flag     bool
	}{
		{0, 0, packet.NotECT, SynACK, 0, false},
		{1 * us, 2, packet.CE, SynNAKSeq, 1, true},
		{2 * us, 3, packet.CE, 0, 0, false},
		{501*us - 1, 4, packet.NotECT, 0, 0, false},
		{501 * us, 5, packet.NotECT, SynNAKSeq, 1, false},
		{502 * us, 1, packet.CE, SynACK, 1, true},
		{503 * us, 1, packet.CE, 0, 0, false}, // duplicate
		{504 * us, 3, packet.NotECT, SynNAKSeq, 2, false},
	} {
		var out Replies
		q.Receive(c.at, &packet.Packet{Opcode: OpSendOnly, PSN: c.psn, ECN: c.ecn, Flags: packet.AckReq}, &out)
		if c.syndrome == 0 {
			if out.N != 0 {
				t.Errorf("step %d: answered %+v", i, out.P[0])
			}
			continue
		}
		p := &out.P[0]
		if out.N != 1 || uint8(p.AETH>>24) != c.syndrome || p.PSN != c.reply || p.Flags&packet.CNPFlag != 0 != c.flag || p.Frame != 60 {
			t.Errorf("step %d: %d replies, %+v", i, out.N, p)
		}
	}
	if a := q.Acts(); a.CEOnAck.Count != 2 || a.CNPSent.Count != 0 || a.NAKSent.Count != 3 {
		t.Errorf("acts %+v", a)
	}
}

// TestCNPs: one CNP per interval at the receiver, or one per CE packet and the
// interval kept at the sender (models.md 1.3).
func TestCNPs(t *testing.T) {
	for _, c := range []struct {
		atSender            bool
		sent, used, ignored int64
	}{{false, 3, 3, 0}, {true, 12, 3, 9}} {
		cfg := mustPreset(t, "nic")
		cfg.CC = dcqcn(t, "nvidia") // 4 us
		cfg.CC.CNPDelay = 0
		if c.atSender {
			cfg.CC.CNPCoalesce = 1
		}
		l := newLoop(t, cfg, attrs(), attrs())
		l.qp[0].Post(0, WorkRequest{Bytes: 1})
		for i := range uint32(12) {
			now := units.Time(i) * us // 0 to 11 us: CNPs at 0, 4, 8
			var out, none Replies
			l.qp[1].Receive(now, &packet.Packet{Opcode: OpSendOnly, PSN: i, ECN: packet.CE}, &out)
			for k := range out.N {
				if p := &out.P[k]; p.Kind != packet.CNP || p.Opcode != OpCNP || p.Frame != 78 {
					t.Fatalf("reply %+v", p)
				}
				l.qp[0].Receive(now, &out.P[k], &none)
			}
		}
		s, r := l.qp[1].Counters(), l.qp[0].Counters()
		if s.CNPsSent != c.sent || r.CNPsReceived != c.sent || r.CNPsIgnored != c.ignored || l.qp[1].Acts().CNPSent.Count != c.sent {
			t.Errorf("at sender %v: sent %d received %d ignored %d", c.atSender, s.CNPsSent, r.CNPsReceived, r.CNPsIgnored)
		}
		l.qp[0].Rate(20 * us)
		if n := l.qp[0].CC().Cuts.Count; n != c.used {
			t.Errorf("at sender %v: %d cuts, want %d", c.atSender, n, c.used)
		}
	}
}

// TestPacing: with ns-3's preset the gap is the wire time at the rate when the packet
// starts; a later cut does not move it (peers.md B1 2.3); its clock truncates to 1 ns: 1048 B
// at 100 Gb/s take 83 ns, at 50 Gb/s 167 (B1 2.1).
func TestPacing(t *testing.T) {
	cfg := mustPreset(t, "ns3")
	cfg.CC = dcqcn(t, "ns3")
	l := newLoop(t, cfg, attrs(), attrs())
	q := &l.qp[0]
	q.Post(0, WorkRequest{Verb: Write, Bytes: 100_000})
	var p packet.Packet
	const ns = units.Nanosecond
	if _, at := q.Poll(0, &p); at != 83*ns || p.Frame != 1048 {
		t.Fatalf("frame %d next at %d", p.Frame, at)
	}
	flag := packet.Packet{Kind: packet.Ack, AETH: uint32(SynACK) << 24, Flags: packet.CNPFlag}
	q.Receive(50*ns, &flag, new(Replies)) // cut at 50 ns + 4 us + 1 ns
	cut := 50*ns + 4*us + ns
	if r, at := q.Poll(82*ns, &p); r != RateLimit || at != 83*ns || q.ReadyAt() != 83*ns {
		t.Fatalf("%s %d", r, at)
	}
	if _, at := q.Poll(cut-1, &p); at != cut-1+83*ns {
		t.Fatalf("before the cut: next at %d", at)
	}
	if r, at := q.Poll(cut+80*ns, &p); r != RateLimit || at != cut-1+83*ns {
		t.Fatalf("the cut moved the gap: %s %d", r, at)
	}
	start := cut + 83*ns
	rate := q.Rate(start)
	if rate >= 51*units.Gbps || rate < 50*units.Gbps { // alpha after 3 decays of 1/256
		t.Fatalf("rate %d", rate)
	}
	want := units.Time(1048*8*units.Second/units.Time(rate)) / ns * ns
	if _, at := q.Poll(start, &p); at != start+want {
		t.Fatalf("next at %d, want %d later", at, want)
	}
	cfg2 := mustPreset(t, "nic") // rounded up to a picosecond
	cfg2.CC = dcqcn(t, "nvidia")
	l2 := newLoop(t, cfg2, attrs(), attrs())
	l2.qp[0].cc.Init(cfg2.CC, l2.line, 3*units.Gbps, 0)
	l2.qp[0].Post(0, WorkRequest{Verb: Send, Bytes: 4096})
	if _, at := l2.qp[0].Poll(0, &p); at != (4178*8000+2)/3 {
		t.Errorf("next at %d, want 4178 B at 3 Gb/s rounded up", at)
	}
}

// TestWindow: judged before sending, so the last packet may overshoot; the
// variable one follows the rate (peers.md B1 2.3).
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		name    string
		mode    WindowMode
		window  units.Bytes
		initial units.Rate
		want    int
	}{
		{"none", WindowNone, 0, 0, 100},
		{"exact", WindowBytes, 5000, 0, 5},
		{"overshoot", WindowBytes, 5001, 0, 6},
		{"one", WindowBytes, 1, 0, 1},
		{"variable at line", WindowVar, 52000, 0, 52},
		{"variable at a quarter", WindowVar, 52000, 25 * units.Gbps, 13},
		{"variable, at least 1 byte", WindowVar, 52000, 1000, 1},
	} {
		cfg := mustPreset(t, "ns3")
		cfg.CC = dcqcn(t, "ns3")
		cfg.CC.RPGTimeReset = units.Never / 2 // no increase
		cfg.Window, cfg.AckEvery = c.mode, 1000
		a := attrs()
		a.Window = c.window
		l := newLoop(t, cfg, a, attrs())
		q := &l.qp[0]
		if c.initial > 0 {
			q.cc.Init(cfg.CC, l.line, c.initial, 0)
		}
		q.Post(0, WorkRequest{Bytes: 100_000})
		n, now := 0, units.Time(0)
		var p packet.Packet
		var reason Reason
		for {
			var at units.Time
			if reason, at = q.Poll(now, &p); reason != Sent {
				break
			}
			n++
			now = at
		}
		if n != c.want {
			t.Errorf("%s: %d packets, want %d", c.name, n, c.want)
		}
		if c.mode == WindowNone {
			continue
		}
		if reason != Window || q.ReadyAt() != units.Never || p.Flags&packet.AckReq == 0 {
			t.Errorf("%s: %s, ready at %d, flags %#x", c.name, reason, q.ReadyAt(), p.Flags)
		}
		ack := packet.Packet{Kind: packet.Ack, AETH: uint32(SynACK) << 24, PSN: 0}
		q.Receive(now, &ack, new(Replies))
		if r, _ := q.Poll(now, &p); r != Sent {
			t.Errorf("%s: after an ACK %s", c.name, r)
		}
	}
}

// TestStrayAcks: nothing a peer can send breaks the requester.
func TestStrayAcks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, name := range Presets() {
		for range 300 {
			cfg := mustPreset(t, name)
			a := attrs()
			a.SQPSN = psnMask - 3
			l := newLoop(t, cfg, a, attrs())
			q := &l.qp[0]
			now := units.Time(0)
			for i := range uint32(40) {
				q.Post(now, WorkRequest{ID: i, Bytes: units.Bytes(rng.IntN(20000))})
				for range rng.IntN(5) {
					if r, at := q.Poll(now, new(packet.Packet)); r == Sent {
						now = at
					}
				}
				p := packet.Packet{Kind: packet.Kind(rng.IntN(5)), Opcode: uint8(rng.IntN(18)), PSN: uint32(rng.IntN(1 << 24)),
					AETH: rng.Uint32(), Payload: uint32(rng.IntN(9000)), Flags: uint8(rng.IntN(32)), ECN: uint8(rng.IntN(4))}
				if rng.IntN(3) > 0 {
					p.PSN = uint32(int(q.una)+rng.IntN(8)-3) & psnMask
				}
				if rng.IntN(2) > 0 {
					p.AETH = []uint32{uint32(SynACK), uint32(SynNAKSeq), uint32(SynRNR), 0x45}[rng.IntN(4)] << 24
				}
				q.Receive(now, &p, new(Replies))
				q.Expire(now)
				if q.una > q.nxt || q.nxt > q.high || q.high > q.cold.posted {
					t.Fatalf("%s: una %d nxt %d high %d posted %d", name, q.una, q.nxt, q.high, q.cold.posted)
				}
			}
		}
	}
}

func TestPostErrors(t *testing.T) {
	l := newLoop(t, mustPreset(t, "nic"), attrs(), attrs())
	for _, c := range []struct {
		wr   WorkRequest
		want string
	}{
		{WorkRequest{Bytes: -1}, "want 0 to"},
		{WorkRequest{Bytes: MaxMessage + 1}, "want 0 to"},
		{WorkRequest{Verb: numVerbs}, "verb 8 is unknown"},
		{WorkRequest{Verb: FetchAdd, Bytes: 4}, "FETCH_ADD of 4 bytes, want 8"},
	} {
		if err := l.qp[0].Post(0, c.wr); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.wr, err)
		}
	}
	if err := l.qp[0].Post(0, WorkRequest{Bytes: MaxMessage}); err != nil {
		t.Error(err)
	}
	if err := new(QP).Modify(Init, 0); err == nil {
		t.Error("a queue pair without Connect was modified")
	}
}

func TestConfigErrors(t *testing.T) {
	if _, err := Preset("x"); err == nil {
		t.Error("unknown preset accepted")
	}
	for i, set := range []func(*Config){
		func(c *Config) { c.MTU = 0 },
		func(c *Config) { c.MTU = 65537 },
		func(c *Config) { c.AckEvery = 0 },
		func(c *Config) { c.Timeout = -1 },
		func(c *Config) { c.RetryCount = 8 },
		func(c *Config) { c.RNRRetry = 8 },
		func(c *Config) { c.MinRNRTimer = 32 },
		func(c *Config) { c.Window, c.WindowBytes = WindowBytes, -1 },
		func(c *Config) { c.Recovery, c.Bitmap = SelectiveRepeat, 0 },
		func(c *Config) { c.Recovery, c.Bitmap = IRN, MaxBitmap+1 },
		func(c *Config) { c.Recovery, c.Bitmap, c.Window, c.WindowBytes = IRN, 10, WindowBytes, 10*c.MTU+1 },
		func(c *Config) { c.TimeoutLow = c.Timeout + 1 },
		func(c *Config) { c.LowInFlight = -1 },
		func(c *Config) { c.NAKInterval = -1 },
		func(c *Config) { c.TimeQuantum = -1 },
		func(c *Config) { c.CC = dcqcn(t, "paper"); c.CC.RPGGD = 0 },
	} {
		c := mustPreset(t, "nic")
		set(&c)
		if c.Validate() == nil {
			t.Errorf("case %d accepted", i)
		}
	}
	for _, name := range Presets() {
		c := mustPreset(t, name)
		if n := c.Notes(); len(n) != map[string]int{"selective-repeat": 18, "irn": 19, "nic": 17, "ns3": 17, "go-back-0": 17}[name] || n[0].Value != name {
			t.Errorf("%s: %d notes", name, len(n))
		}
	}
}

// BenchmarkPollReceive is one data packet: sent, received, acknowledged.
func BenchmarkPollReceive(b *testing.B) {
	cfg, err := Preset("nic")
	if err != nil {
		b.Fatal(err)
	}
	for _, cc := range []bool{false, true} {
		name := "plain"
		if cc {
			name = "dcqcn"
			p := dcqcnBench()
			cfg.CC = &p
		}
		b.Run(name, func(b *testing.B) {
			var qp [2]QP
			var cq CompletionQueue
			for i := range qp {
				qp[i].Connect(&Setup{Config: &cfg, CQ: &cq, Line: 400 * units.Gbps, Attrs: attrs()}, 0)
			}
			var now units.Time
			var p packet.Packet
			var out, none Replies
			b.ReportAllocs()
			for b.Loop() {
				reason, at := qp[0].Poll(now, &p)
				if reason == Idle {
					qp[0].Post(now, WorkRequest{Bytes: 64 * units.MB, VA: base, RKey: rkey})
					cq.Clear()
					continue
				}
				now = at
				qp[1].Receive(now, &p, &out)
				qp[0].Receive(now, &out.P[0], &none)
			}
		})
	}
}
