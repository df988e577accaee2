package rdma

import (
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// TestTimerFromFirst: the retransmission timer runs from the first packet
// outstanding, restarts on progress and rests when nothing is outstanding.
func TestTimerFromFirst(t *testing.T) {
	l := newLoop(t, mustPreset(t, "nic"), attrs(), attrs())
	q, rto := &l.qp[0], TimeoutCode(14)
	l.post(0, WorkRequest{Bytes: 3 * 4096})
	if q.Deadline() != units.Never {
		t.Error("armed before anything was sent")
	}
	l.poll1()
	l.now = 50 * us
	l.poll1()
	if d := q.Deadline(); d != rto {
		t.Errorf("deadline %d, want %d after the first packet", d, rto)
	}
	l.now = 60 * us
	l.ack(SynACK, 0)
	if d := q.Deadline(); d != 60*us+rto {
		t.Errorf("deadline %d, want restarted by progress", d)
	}
	l.now = 70 * us
	l.ack(SynACK, 0) // no progress
	if d := q.Deadline(); d != 60*us+rto {
		t.Errorf("deadline %d moved without progress", d)
	}
	l.ack(SynACK, 1)
	if d := q.Deadline(); d != units.Never {
		t.Errorf("deadline %d with nothing outstanding", d)
	}
}

// TestRetryCounters: what uses them up and what restores them (models.md 4.3).
func TestRetryCounters(t *testing.T) {
	type ev struct {
		syndrome uint8
		psn      uint32
	}
	nak, rnr := SynNAKSeq, SynRNR|1
	for _, c := range []struct {
		name     string
		consumes bool
		events   []ev
		want     Status
	}{
		{"two NAKs without progress", true, []ev{{nak, 0}, {nak, 0}}, Success},
		{"three NAKs without progress", true, []ev{{nak, 0}, {nak, 0}, {nak, 0}}, RetryExc},
		{"NAKs free of charge", false, []ev{{nak, 0}, {nak, 0}, {nak, 0}, {nak, 0}}, Success},
		{"NAKs with progress", true, []ev{{nak, 0}, {nak, 0}, {nak, 1}, {nak, 1}, {nak, 1}}, Success},
		{"RNR", true, []ev{{rnr, 0}, {rnr, 0}}, Success},
		{"RNR once more", true, []ev{{rnr, 0}, {rnr, 0}, {rnr, 0}}, RNRRetryExc},
		{"RNR with progress", true, []ev{{rnr, 0}, {rnr, 0}, {rnr, 1}, {rnr, 1}}, Success},
		{"two separate counters", true, []ev{{nak, 0}, {nak, 0}, {rnr, 0}, {rnr, 0}}, Success},
	} {
		cfg := mustPreset(t, "nic")
		cfg.RetryCount, cfg.RNRRetry, cfg.NAKConsumesRetry = 2, 2, c.consumes
		l := newLoop(t, cfg, attrs(), attrs())
		l.post(0, WorkRequest{Bytes: 20 * 4096})
		for _, e := range c.events {
			if d := l.qp[0].rnrUntil; d != units.Never {
				l.now = d
			}
			for range 3 {
				l.poll1()
			}
			l.ack(e.syndrome, e.psn)
		}
		got := Success
		if s := l.statuses(0); len(s) > 0 {
			got = s[0]
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestImpossibleNumbers: an ACK or NAK for what was never sent, and a NAK for what
// was acknowledged, change nothing.
func TestImpossibleNumbers(t *testing.T) {
	l := newLoop(t, mustPreset(t, "nic"), attrs(), attrs())
	q := &l.qp[0]
	l.post(0, WorkRequest{Bytes: 10 * 4096})
	for range 4 {
		l.poll1()
	}
	l.ack(SynACK, 1)
	for i, bad := range []struct {
		syndrome uint8
		psn      uint32
	}{{SynACK, 4}, {SynNAKSeq, 4}, {SynNAKSeq, 1}, {SynNAKAccess, 0}, {SynRNR, 4}, {SynACK, 4 + 1<<22}, {0x45, 2}} {
		l.ack(bad.syndrome, bad.psn)
		if q.una != 2 || q.nxt != 4 || q.State() != RTS || q.reqState != reqSend || q.Counters().Discarded != int64(i+1) {
			t.Errorf("%#x PSN %d: una %d nxt %d %s, %d discarded", bad.syndrome, bad.psn, q.una, q.nxt, q.reqState, q.Counters().Discarded)
		}
	}
}

// TestHalfThePSNSpace: never more than 2^23-1 packets outstanding (IBTA 9.7.2).
func TestHalfThePSNSpace(t *testing.T) {
	cfg := mustPreset(t, "nic")
	cfg.MTU, cfg.AckEvery = 1, 1<<30
	a, b := attrs(), attrs()
	a.SQPSN, b.RQPSN = 1<<23, 1<<23
	l := newLoop(t, cfg, a, b)
	l.post(0, WorkRequest{Bytes: 1 << 24})
	q := &l.qp[0]
	var p packet.Packet
	n, now := 0, units.Time(0)
	for {
		r, at := q.Poll(now, &p)
		if r != Sent {
			if r != Bitmap {
				t.Error(r)
			}
			break
		}
		n++
		now = at
	}
	if n != 1<<23-1 || p.PSN != psnMask-1 || p.Flags&packet.AckReq == 0 {
		t.Errorf("%d packets outstanding, last PSN %#x, flags %#x", n, p.PSN, p.Flags)
	}
	// The last of them acknowledges all.
	l.ack(SynACK, p.PSN)
	if q.Outstanding() != 0 {
		t.Errorf("%d outstanding after the ACK", q.Outstanding())
	}
}

// TestRewindCountsAnew: the count towards AckEvery starts again with a rewind.
func TestRewindCountsAnew(t *testing.T) {
	cfg := mustPreset(t, "nic")
	cfg.AckEvery = 3
	l := newLoop(t, cfg, attrs(), attrs())
	l.post(0, WorkRequest{Bytes: 20 * 4096})
	l.poll1()
	l.poll1()
	l.ack(SynNAKSeq, 0)
	var asked []uint32
	for range 6 {
		var p packet.Packet
		_, at := l.qp[0].Poll(l.now, &p)
		l.now = at
		if p.Flags&packet.AckReq != 0 {
			asked = append(asked, p.PSN)
		}
	}
	if !slices.Equal(asked, []uint32{2, 5}) {
		t.Errorf("asked at PSNs %v, want 2 and 5", asked)
	}
}

// TestFlagOnLastAck: a flow that the ACK finishes reacts no more (peers.md B3,
// zombie timers).
func TestFlagOnLastAck(t *testing.T) {
	cfg := mustPreset(t, "ns3")
	cfg.CC = dcqcn(t, "ns3")
	l := newLoop(t, cfg, attrs(), attrs())
	l.post(0, WorkRequest{Bytes: 2000})
	l.poll1()
	l.poll1()
	q := &l.qp[0]
	for psn, want := range []int64{1, 1} {
		q.Receive(l.now, &packet.Packet{Kind: packet.Ack, PSN: uint32(psn), AETH: uint32(SynACK) << 24, Flags: packet.CNPFlag}, new(Replies))
		if got := q.Counters().CNPsReceived; got != want {
			t.Errorf("after the ACK of PSN %d: %d CNPs, want %d", psn, got, want)
		}
	}
	if q.Open() != 0 {
		t.Error("still open")
	}
}

// TestWrap: expected PSN and MSN stay within 24 bits.
func TestWrap(t *testing.T) {
	a := attrs()
	a.RQPSN = psnMask
	l := newLoop(t, mustPreset(t, "nic"), a, attrs())
	q := &l.qp[0]
	q.msn = psnMask
	var out Replies
	q.Receive(0, &packet.Packet{Opcode: OpSendOnly, PSN: psnMask, Flags: packet.AckReq}, &out)
	if p := out.P[0]; p.PSN != psnMask || p.AETH != uint32(SynACK)<<24 {
		t.Errorf("ACK PSN %#x AETH %#x, want MSN 0", p.PSN, p.AETH)
	}
	q.Receive(0, &packet.Packet{Opcode: OpSendOnly, PSN: 3, Flags: packet.AckReq}, &out)
	if p := out.P[0]; p.PSN != 0 || p.AETH != uint32(SynNAKSeq)<<24 {
		t.Errorf("NAK PSN %#x AETH %#x, want 0", p.PSN, p.AETH)
	}
	q.Receive(0, &packet.Packet{Opcode: OpSendOnly, PSN: psnMask, Flags: packet.AckReq}, &out)
	if p := out.P[0]; p.PSN != psnMask || p.AETH != uint32(SynACK)<<24 {
		t.Errorf("duplicate before any other: PSN %#x", p.PSN)
	}
}

// TestGoBack0Responder: it returns to the message's first PSN at a gap, reports
// every gap among what arrives, and stays silent within a run of packets
// (models.md 9 case 3).
func TestGoBack0Responder(t *testing.T) {
	none := attrs()
	l := newLoop(t, mustPreset(t, "go-back-0"), attrs(), none)
	q := &l.qp[1]
	type in struct {
		op  uint8
		psn uint32
		nak int64 // PSN of the NAK, -1 none
	}
	send := func(steps []in) {
		t.Helper()
		for i, s := range steps {
			var out Replies
			q.Receive(0, &packet.Packet{Opcode: s.op, PSN: s.psn, Payload: 4096}, &out)
			got := int64(-1)
			if out.N == 1 {
				got = int64(out.P[0].PSN)
			}
			if got != s.nak {
				t.Errorf("step %d PSN %d: answer %d, want %d", i, s.psn, got, s.nak)
			}
		}
	}
	send([]in{
		{OpSendFirst, 0, -1}, {OpSendMiddle, 1, -1},
		{OpSendMiddle, 3, 0}, {OpSendMiddle, 4, -1}, // 2 is lost: back to 0
		{OpSendMiddle, 6, 0}, {OpSendMiddle, 7, -1}, // 5 is lost too
		{OpSendFirst, 0, -1}, {OpSendMiddle, 1, -1}, {OpSendMiddle, 2, -1},
		{OpSendMiddle, 8, 0}, // right after the last one seen ahead, yet a new gap
	})
	if q.Delivered() != 0 || q.Acts().SequenceGap.Count != 3 {
		t.Errorf("delivered %d, %d gaps", q.Delivered(), q.Acts().SequenceGap.Count)
	}
	q.setReceives(0)
	var out Replies
	q.Receive(0, &packet.Packet{Opcode: OpSendFirst, PSN: 0, Payload: 4096}, &out)
	if uint8(out.P[0].AETH>>24) != SynRNR|12 {
		t.Fatalf("AETH %#x", out.P[0].AETH)
	}
	send([]in{{OpSendMiddle, 1, -1}, {OpSendMiddle, 2, -1}}) // what follows an RNR NAK is no gap
}

// TestSetReset: Reset forgets work and Err flushes it, whatever was under way.
func TestSetReset(t *testing.T) {
	for _, to := range []State{Reset, Err} {
		l := newLoop(t, mustPreset(t, "nic"), attrs(), attrs())
		q := &l.qp[0]
		l.post(0, WorkRequest{ID: 1, Bytes: 20 * 4096})
		l.poll1()
		l.ack(SynRNR|12, 0)
		q.mustModify(to, l.now)
		want := []Status(nil)
		if to == Err {
			want = []Status{WRFlush}
		}
		if got := l.statuses(0); !slices.Equal(got, want) || q.Open() != 0 || q.Deadline() != units.Never || q.ReadyAt() != units.Never {
			t.Errorf("%s: statuses %v, open %d, deadline %d", to, got, q.Open(), q.Deadline())
		}
	}
}

// TestReadyAtFollowsWindow: an ACK that arrives after the rate rose finds the
// window that goes with the new rate (peers.md B1 2.3: win*rate/R).
func TestReadyAtFollowsWindow(t *testing.T) {
	cfg := mustPreset(t, "ns3")
	cfg.CC = dcqcn(t, "ns3")
	cfg.CC.RPGAIRate = 100 * units.Gbps // the second increase goes halfway to the line
	cfg.Window = WindowVar
	a := attrs()
	a.Window = 40_000
	l := newLoop(t, cfg, a, attrs())
	q := &l.qp[0]
	q.cc.Init(cfg.CC, l.line, 25*units.Gbps, 0)
	l.post(0, WorkRequest{Bytes: 100_000})
	for range 10 { // 40000 * 25/100
		l.poll1()
	}
	if r, _ := q.Poll(l.now, new(packet.Packet)); r != Window || q.ReadyAt() != units.Never {
		t.Fatalf("%s, ready at %d", r, q.ReadyAt())
	}
	l.now = 2 * cfg.CC.RPGTimeReset
	l.ack(SynNAKSeq+0x20, 0) // reserved syndrome: acknowledges nothing
	if q.Rate(l.now) != 62_500*units.Mbps || q.ReadyAt() > l.now {
		t.Errorf("rate %d, ready at %d, want open at 62.5 Gb/s", q.Rate(l.now), q.ReadyAt())
	}
}
