package fabric

import (
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// lanes is an InfiniBand switch with n equal ports, whose input buffers have so
// many blocks for each VL; service level n travels on VL n.
func lanes(n int, rate units.Rate, delay units.Time, blocks, update uint16) (rigSwitch, []rigPort) {
	sw := rigSwitch{SwitchParams: SwitchParams{SL2VL: make([]uint8, 16)}}
	for sl := range sw.SL2VL {
		sw.SL2VL[sl] = uint8(sl % Classes)
	}
	credit := &CreditParams{}
	for c := range credit.Blocks {
		credit.Blocks[c], credit.Update[c] = blocks, update
	}
	ports := make([]rigPort, n)
	for i := range ports {
		ports[i] = rigPort{rate: rate, delay: delay}
		ports[i].sw.Credit, ports[i].host.Credit = credit, credit
	}
	return sw, ports
}

// sendVL queues n packets of a size from host i to host to at a service level.
func (r *rig) sendVL(i, to int, at units.Time, n int, frame uint32, sl uint8) {
	r.at(i, at, func(now units.Time) {
		h := r.hosts[i]
		for k := range n {
			h.queue = append(h.queue, packet.Packet{Frame: frame, Dst: uint32(to), Class: sl, DSCP: sl, TTL: 9, PSN: uint32(k)})
		}
		r.net.Kick(now, h.port)
	})
}

// An input buffer of more than a flow-control packet can grant fills all the same: the
// limit moves on as packets come in (FCCL = ABR + what may be granted).
func TestLargeInputBuffer(t *testing.T) {
	const blocks, frame = 4 * MaxCredits, 2048
	sw, ports := lanes(2, 100*units.Gbps, 50*units.Nanosecond, blocks, 256)
	narrow := *ports[1].host.Credit
	narrow.Blocks[0], narrow.Update[0] = frame/64, 1
	ports[1].host.Credit = &narrow
	r := newRigOf(t, wire.InfiniBand, sw, ports)
	r.hosts[1].keeps = true
	r.sendVL(0, 1, 0, 1000, frame, 0)
	r.run(units.Millisecond)
	if got := r.net.credits[0][0].occupied; got != blocks {
		t.Errorf("%d blocks in an input buffer of %d that nothing leaves", got, blocks)
	}
}

// A packet is forwarded whole where its arrival makes a flow-control packet due at
// once: that takes a record, and may move all others.
func TestGrantOnArrival(t *testing.T) {
	for delay := range units.Time(12) {
		sw, ports := lanes(3, 100*units.Gbps, 50*units.Nanosecond+delay*333, 3*MaxCredits, 1)
		_, plain := lanes(3, 100*units.Gbps, 0, MaxCredits, 512)
		for i := range ports {
			ports[i].host.Credit = plain[i].host.Credit
		}
		r := newRigOf(t, wire.InfiniBand, sw, ports)
		const n = 5000 // more records than a partition starts with
		r.sendVL(1, 0, 0, n, 64, 0)
		r.sendVL(2, 0, 0, n, 64, 0)
		r.run(units.Never)
		if got := len(r.hosts[0].got); got != 2*n {
			t.Errorf("%d of %d packets arrived", got, 2*n)
		}
		r.net.CheckEmpty()
	}
}

// TestCreditLoop is acceptance case F22: a link carries no more than its credits
// per credit loop. The loop is from the first symbol of a packet to the arrival
// of the flow-control packet that gives its room back: the packet's own time,
// the cable, a stay of nothing in the switch, the flow-control packet's time, the
// cable.
func TestCreditLoop(t *testing.T) {
	const rate, loop, frame = 100 * units.Gbps, 20 * units.Microsecond, 2048 // 32 blocks, nothing lost to rounding
	for _, c := range []struct {
		blocks uint16
		gbps   float64 // blocks * 64 B / 20 us
	}{{512, 13.107}, {1024, 26.214}, {2048, 52.429}} {
		overhead := uint32(wire.InfiniBand.Overhead)
		delay := (loop - rate.TxTime(units.Bytes(frame+overhead)) - rate.TxTime(units.Bytes(wire.FlowControlLen+overhead))) / 2
		sw, ports := lanes(2, rate, delay, c.blocks, 1)
		for _, end := range []*PortParams{&ports[1].sw, &ports[1].host} {
			wide := *end.Credit // the second link does not hold anything up
			wide.Blocks[0] = MaxCredits
			end.Credit = &wide
		}
		ports[1].delay = 0
		r := newRigOf(t, wire.InfiniBand, sw, ports)
		r.sendVL(0, 1, 0, 4000, frame, 0)
		r.run(units.Never)
		got := r.hosts[1].got
		if len(got) != 4000 {
			t.Fatalf("%d blocks: %d packets arrived", c.blocks, len(got))
		}
		const from, to = 960, 3840 // whole loops: 16, 32 or 64 packets each
		rateOf := (to - from) * frame * 8e3 / float64(got[to].at-got[from].at)
		if math.Abs(rateOf-c.gbps) > 0.001*c.gbps {
			t.Errorf("%d blocks in a loop of %v: %.3f Gb/s, want %.3f", c.blocks, units.Time(loop), rateOf, c.gbps)
		}
		r.net.CheckEmpty()
	}
}

// A host that gives nothing back gets what its buffer holds and no block more:
// then its lane stands, and the others go on as if it were not there.
func TestCreditsRunOut(t *testing.T) {
	for _, frame := range []uint32{30, 64, 65, 4122} {
		sw, ports := lanes(3, 100*units.Gbps, 20*units.Nanosecond, 200, 1)
		r := newRigOf(t, wire.InfiniBand, sw, ports)
		r.hosts[1].keeps = true
		r.sendVL(0, 1, 0, 500, frame, 0)
		r.sendVL(0, 2, 0, 500, frame, 1)
		r.run(units.Never)
		fit := 200 / int(Blocks(frame))
		if n := len(r.hosts[1].got); n != fit {
			t.Errorf("packets of %d B: %d passed, want %d", frame, n, fit)
		}
		if n := len(r.hosts[2].got); n != 500 {
			t.Errorf("packets of %d B: %d of the other lane passed, want all 500", frame, n)
		}
		// The switch's input buffer fills as well, and stops the sender.
		if n := r.hosts[0].sent[0].Packets; n != int64(2*fit) {
			t.Errorf("packets of %d B: the host sent %d, want %d", frame, n, 2*fit)
		}
		out, in := r.net.Port(1, 0, units.Second, 0), r.net.Port(r.hosts[0].port, 0, units.Second, 0)
		if out.PeakIngress != 0 || in.TxPackets != int64(2*fit) || r.net.Port(0, 0, units.Second, 0).PeakIngress != int64(fit)*int64(Blocks(frame))*64 {
			t.Errorf("packets of %d B: input buffers of %d and %d B", frame, out.PeakIngress, in.PeakIngress)
		}
		if r.net.ShutPorts() != 2 {
			t.Errorf("packets of %d B: %d ports are shut, want the host's and the switch's", frame, r.net.ShutPorts())
		}
	}
}

// A map per pair of ports, [in][out][16], chooses the lane by where a packet comes
// from and goes to (IBTA 7.6.6).
func TestSLToVLByPorts(t *testing.T) {
	const n = 3
	sw, ports := lanes(n, 100*units.Gbps, 0, 200, 1)
	sw.SL2VL = make([]uint8, n*n*16)
	vl := func(in, out, sl int) uint8 { return uint8((2*in + 3*out + sl) % Classes) }
	for k := range sw.SL2VL {
		sw.SL2VL[k] = vl(k/16/n, k/16%n, k%16)
	}
	r := newRigOf(t, wire.InfiniBand, sw, ports)
	for in := range n {
		for out := range n {
			if in != out {
				r.sendVL(in, out, 0, 4, 100, uint8(in+out))
			}
		}
	}
	r.run(units.Never)
	for out := range n {
		seen := 0
		for _, a := range r.hosts[out].got {
			in := int(a.In)
			if want := vl(in, out, in+out); a.Class != want || a.VL() != uint8(in+out) {
				t.Errorf("from %d to %d: came in on VL %d, left on %d, want %d and %d", in, out, a.VL(), a.Class, in+out, want)
			}
			seen++
		}
		if seen != 8 {
			t.Errorf("%d packets at host %d, want 8", seen, out)
		}
	}
	r.net.CheckEmpty()
}

// A change is told at once when enough was freed, and else within 65,536 symbol
// times: 5.243 us on four lanes at 400 Gb/s (a symbol is a byte on one lane).
func TestUpdates(t *testing.T) {
	const rate, delay = 400 * units.Gbps, 10 * units.Nanosecond
	if d := UpdateInterval(rate, 4); d != 5_242_880 {
		t.Errorf("interval %d ps, want 65,536 * 4 * 20 ps", d)
	}
	for _, c := range []struct {
		packets int
		at      units.Time // of the last flow-control packet at host 0, after the last packet came in
	}{{1, UpdateInterval(rate, 4)}, {4, 0}} {
		sw, ports := lanes(2, rate, delay, 64, 4)
		r := newRigOf(t, wire.InfiniBand, sw, ports)
		r.sendVL(0, 1, 0, c.packets, 62, 0) // one block, 64 B on the wire
		in := units.Time(64*20*c.packets) + delay
		told := in + 8*20 + delay
		s := &r.net.credits[0][r.hosts[0].port]
		left := func() uint16 { return (s.limit - s.sent) & creditMask }
		r.engine.Prime()
		r.engine.Run(told+c.at, 1, func(units.Time) bool { return true })
		if got := left(); got != uint16(64-c.packets) {
			t.Errorf("%d packets: %d credits just before the update, want %d", c.packets, got, 64-c.packets)
		}
		r.engine.Run(told+c.at+1, 1, func(units.Time) bool { return true })
		if got := left(); got != 64 {
			t.Errorf("%d packets: %d credits after it, want all 64", c.packets, got)
		}
		r.run(units.Never)
		r.net.CheckEmpty()
	}
}

// Links that lose packets lose credits with them, until the sender's FCTBS puts
// the receiver's count right; lost flow-control packets are repeated.
func TestLostCredits(t *testing.T) {
	sw, ports := lanes(2, 100*units.Gbps, 50*units.Nanosecond, 130, 1)
	for i := range ports {
		ports[i].loss = 0.05
	}
	r := newRigOf(t, wire.InfiniBand, sw, ports)
	const n = 3000
	r.sendVL(0, 1, 0, n, 4122, 0)
	r.run(200 * units.Millisecond)
	if sent := r.hosts[0].sent[0].Packets; sent != n {
		t.Fatalf("%d of %d packets sent: credits were lost for good", sent, n)
	}
	lost := n - len(r.hosts[1].got)
	if want := n * (1 - 0.95*0.95); math.Abs(float64(lost)-want) > 5*math.Sqrt(want) {
		t.Errorf("%d packets lost, want about %.0f", lost, want)
	}
	for i := range r.net.ports {
		s, p := &r.net.credits[0][i], &r.net.ports[i]
		peer := &r.net.credits[0][p.peerPort]
		if left := (s.limit - s.sent) & creditMask; left != 130 || peer.occupied != 0 || peer.received+peer.missed != s.sent && !p.impaired {
			t.Errorf("port %d: %d credits left at rest, want 130; the peer holds %d", i, left, peer.occupied)
		}
	}
}

// Lifetime limits (off unless set) discard what stands at the head of a queue,
// or is in the switch, for too long, and give its room back.
func TestLifetimes(t *testing.T) {
	for n, want := range map[int]units.Time{0: 4_096_000, 18: 1_073_741_824_000, 19: 2_147_483_648_000, 20: 0, 31: 0} {
		if got := Lifetime(n); got != want {
			t.Errorf("code %d: %d ps, want %d", n, got, want)
		}
	}
	const limit = 10 * units.Microsecond
	for _, c := range []struct {
		hoq, life units.Time
		cause     catalog.Drop
		last      units.Time // of the last discard, behind the first
	}{
		{hoq: limit, cause: catalog.DropHOQ, last: 7 * limit},       // each head has its own time
		{life: limit, cause: catalog.DropLifetime, last: 3 * limit}, // in four pairs that came in together
	} {
		sw, ports := lanes(2, 100*units.Gbps, 0, 130, 1)
		sw.HOQLife, sw.PacketLife = c.hoq, c.life
		r := newRigOf(t, wire.InfiniBand, sw, ports)
		r.hosts[1].keeps = true
		r.sendVL(0, 1, 0, 10, 4122, 0) // two fit the host, two the switch
		r.run(units.Never)
		p := r.net.Port(1, 0, units.Second, 0)
		if len(r.hosts[1].got) != 2 || len(p.DropCauses) != 1 || p.DropCauses[0].Cause != c.cause || p.DropCauses[0].Count != 8 {
			t.Fatalf("%d arrived, drops %v; want 2, and 8 by %s", len(r.hosts[1].got), p.DropCauses, c.cause)
		}
		if got := p.DropCauses[0].Last - p.DropCauses[0].First; got < c.last || got > c.last+5*units.Microsecond {
			t.Errorf("%s: the last discard comes %d ps after the first, want %d and a little", c.cause, got, c.last)
		}
		if n := r.net.ShutPorts(); n != 0 {
			t.Errorf("%s: %d ports are shut", c.cause, n)
		}
		if s := &r.net.credits[0][0]; s.occupied != 0 {
			t.Errorf("%s: %d blocks in the switch's input buffer", c.cause, s.occupied)
		}
	}
}

// A link that goes down takes what waits for credits, and loses it.
func TestCreditsOfDownLink(t *testing.T) {
	sw, ports := lanes(2, 100*units.Gbps, 50*units.Nanosecond, 130, 1)
	ports[1].downAt = 100 * units.Microsecond
	r := newRigOf(t, wire.InfiniBand, sw, ports)
	r.hosts[1].keeps = true
	r.sendVL(0, 1, 0, 100, 4122, 0)
	r.run(units.Millisecond)
	if got := len(r.hosts[1].got); got != 2 {
		t.Errorf("%d packets arrived, want the 2 that fit", got)
	}
	for _, d := range r.net.Port(1, 0, units.Second, 0).DropCauses {
		if d.Cause == catalog.DropLinkDown && d.Count != 98 || d.Cause != catalog.DropLinkDown && d.Cause != catalog.DropCredit {
			t.Errorf("%s: %d packets, want the other 98 lost with the link", d.Cause, d.Count)
		}
	}
	if n := r.net.ShutPorts(); n != 0 {
		t.Errorf("%d ports are shut", n)
	}
}

// A head that fits its credits is discarded while another lane has the wire; the one
// behind it does not fit, and may not start once the wire is free.
func TestDiscardedHeadUncoversLarge(t *testing.T) {
	sw, ports := lanes(3, units.Gbps, 0, 400, 1)
	sw.HOQLife = Lifetime(2) // 16.4 us: the packet of VL 1 takes 33
	few := *ports[1].host.Credit
	few.Blocks[0] = 10
	ports[1].host.Credit = &few
	r := newRigOf(t, wire.InfiniBand, sw, ports)
	r.sendVL(0, 1, 0, 1, 4096, 1)
	r.sendVL(2, 1, 33*units.Microsecond, 1, 64, 0)
	r.sendVL(2, 1, 33*units.Microsecond, 1, 64*11, 0)
	r.run(units.Never)
	if n := r.net.Port(1, 0, units.Second, 0).Dropped; n != 2 {
		t.Errorf("%d packets discarded, want the small one and the one that never fits", n)
	}
	r.net.CheckEmpty()
}
