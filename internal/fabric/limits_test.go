package fabric

import (
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// A switch forwards a packet whose time to live is 2 with 1, and discards one with 1
// or less (RFC 1812 5.3.1).
func TestTimeToLive(t *testing.T) {
	sw, ports := star(2, 100*units.Gbps, 0)
	r := newRig(t, sw, ports)
	r.at(0, 0, func(now units.Time) {
		h := r.hosts[0]
		for ttl := range uint8(4) {
			h.queue = append(h.queue, packet.Packet{Frame: 1000, Dst: 1, Class: 3, DSCP: 24, TTL: ttl, PSN: uint32(ttl)})
		}
		r.net.Kick(now, h.port)
	})
	r.run(units.Second)
	var got []uint8
	for _, a := range r.hosts[1].got {
		got = append(got, a.TTL)
	}
	if len(got) != 2 || got[0] != 1 || got[1] != 2 {
		t.Errorf("of packets with 0, 1, 2 and 3 hops to live those with %v left arrive, want 1 and 2", got)
	}
	expired := int64(0)
	for _, d := range r.net.Port(0, 3, units.Second, 0).DropCauses {
		if d.Cause == catalog.DropTTL {
			expired += d.Count
		}
	}
	if expired != 2 {
		t.Errorf("%d packets expired, want 2", expired)
	}
}

// A switch that marks as it enqueues judges by the queue with the packet in it: one
// that comes to an empty queue is marked if it alone is more than KMin.
func TestMarkAtEnqueueCountsThePacketItself(t *testing.T) {
	const frame = 1000
	for _, c := range []struct {
		kmin units.Bytes
		want bool
	}{{frame - 1, true}, {frame, false}} {
		sw, ports := star(2, 100*units.Gbps, 0)
		sw.MarkAtEnqueue = true
		ports[1].sw.RED[3] = RED{KMin: c.kmin, KMax: c.kmin, PMax: 1}
		r := newRig(t, sw, ports)
		r.send(0, 1, 0, 1, frame, 3)
		r.run(units.Second)
		if got := r.hosts[1].got; len(got) != 1 || (got[0].ECN == packet.CE) != c.want {
			t.Errorf("KMin %d: a packet of %d bytes alone: %v; want it marked: %v", c.kmin, frame, got, c.want)
		}
	}
}

// PortXmitWait leaves out what a port transmits: a lane stands for want of credits
// while another sends. The wait is what is left of the time.
func TestXmitWaitIsNoTransmission(t *testing.T) {
	const (
		frame, n = 4096, 100
		rate     = 100 * units.Gbps
		begin    = 50 * units.Microsecond
		end      = 200 * units.Microsecond
	)
	sw, ports := lanes(3, rate, 20*units.Nanosecond, 1024, 1)
	r := newRigOf(t, wire.InfiniBand, sw, ports)
	r.hosts[1].keeps = true
	r.sendVL(0, 1, 0, 100, frame, 0) // fill the input buffers of host 1 and the switch
	r.sendVL(0, 2, begin, n, frame, 1)
	r.run(end)
	h := r.hosts[0]
	fit := len(h.sentAt) - n
	if fit < 1 || fit > 40 || len(r.hosts[2].got) != n {
		t.Fatalf("%d packets sent on the lane that stands, %d arrived on the other, want 32 and %d", fit, len(r.hosts[2].got), n)
	}
	r.net.Finish(end)
	c, ok := r.net.Counters(h.port)
	one := rate.TxTime(units.Bytes(frame + wire.InfiniBand.Overhead))
	want := end - h.sentAt[fit-1] - one - n*one
	// Flow-control packets in between take a little of the time away.
	if got := units.Time(c.PortXmitWait) * units.Time(TickQuantum.Bits(4)) * (units.Second / units.Time(rate)); !ok || got > want || got < want*98/100 {
		t.Errorf("waited for %v, want %v or a little less", got, want)
	}
}
