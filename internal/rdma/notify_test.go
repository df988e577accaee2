package rdma

import (
	"testing"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// TestLateCNP: with a delay the responder asks for the CNP that much later and counts it
// when it is sent; the limiter counts from the mark.
func TestLateCNP(t *testing.T) {
	cfg := mustPreset(t, "nic")
	cfg.CC = dcqcn(t, "nvidia")
	cfg.CC.CNPDelay = 55 * us
	l := newLoop(t, cfg, attrs(), attrs())
	q := &l.qp[1]
	for i, want := range []units.Time{55 * us, 0, 55 * us} { // at 0, 3 and 6 us, 4 us between CNPs
		var out Replies
		q.Receive(units.Time(i)*3*us, &packet.Packet{Opcode: OpSendOnly, PSN: uint32(i), ECN: packet.CE, Flags: packet.AckReq}, &out)
		if out.CNPAfter != want || out.N != 1 || out.P[0].Kind != packet.Ack {
			t.Fatalf("mark %d: %d replies, CNP after %d, want the ACK and %d", i, out.N, out.CNPAfter, want)
		}
	}
	if c := q.Counters(); c.CNPsSent != 0 || c.CNPsLimited != 1 {
		t.Errorf("before the delay: %+v", c)
	}
	p, ok := q.LateCNP(55 * us)
	if !ok || p.Kind != packet.CNP || p.Opcode != OpCNP || p.Frame != 78 {
		t.Fatalf("late CNP %+v", p)
	}
	if a := q.Acts().CNPSent; q.Counters().CNPsSent != 1 || a.First != 55*us {
		t.Errorf("late CNP counted as %+v", a)
	}
	q.mustModify(Err, 60*us)
	if _, ok := q.LateCNP(61 * us); ok {
		t.Error("a queue pair in error sent a CNP")
	}
}

// TestSharedNotification: queue pairs with one notification point have one CNP per
// interval among them.
func TestSharedNotification(t *testing.T) {
	cfg := mustPreset(t, "nic")
	cfg.CC = dcqcn(t, "nvidia")
	cfg.CC.CNPDelay = 0
	var shared congestion.NP
	cq := new(CompletionQueue)
	var qp [2]QP
	for i := range qp {
		qp[i].Connect(&Setup{Config: &cfg, CQ: cq, Line: 100 * units.Gbps, Attrs: attrs(), Notification: &shared}, 0)
	}
	sent := func(i int, psn uint32, at units.Time) int {
		var out Replies
		qp[i].Receive(at, &packet.Packet{Opcode: OpSendOnly, PSN: psn, ECN: packet.CE}, &out)
		return out.N
	}
	first := uint32(attrs().RQPSN)
	if a, b, c := sent(0, first, 0), sent(1, first, 3*us), sent(1, first+1, 4*us); a != 1 || b != 0 || c != 1 {
		t.Errorf("CNPs at 0, 3 and 4 us: %d %d %d, want 1 0 1", a, b, c)
	}
}

// TestGapFollowsTheRate: a CNP inside the gap behind a packet moves its end: with 10,000
// of 33,424 bits paid at 100 Gb/s the rest takes 468.48 ns at 50 Gb/s. A fixed gap, and
// ns-3's clock, keep it.
func TestGapFollowsTheRate(t *testing.T) {
	for _, c := range []struct {
		set  func(*Config)
		want units.Time
	}{
		{func(*Config) {}, 568_480},
		{func(c *Config) { c.CC.FixedGap = true }, 334_240},
		{func(c *Config) { c.TimeQuantum = units.Nanosecond }, 334_000},
	} {
		cfg := mustPreset(t, "nic")
		cfg.CC = dcqcn(t, "paper")
		c.set(&cfg)
		l := newLoop(t, cfg, attrs(), attrs())
		q := &l.qp[0]
		q.Post(0, WorkRequest{Verb: Send, Bytes: 3 * 4096})
		var p packet.Packet
		q.Poll(0, &p)
		q.Receive(100_000, &packet.Packet{Kind: packet.CNP}, new(Replies))
		if at := q.ReadyAt(); at != c.want {
			t.Errorf("next packet at %d ps, want %d", at, c.want)
		}
		if why, at := q.Poll(c.want-1, &p); why != RateLimit || at != c.want {
			t.Errorf("at %d: %s until %d", c.want-1, why, at)
		}
		if why, _ := q.Poll(c.want, &p); why != Sent {
			t.Errorf("at %d: %s", c.want, why)
		}
	}
}
