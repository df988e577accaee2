package fabric

import (
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// fan is a switch with two senders (ports 0 and 1) and n equal ports to endpoint 2.
func fan(t *testing.T, n int, s Spreading) *rig {
	t.Helper()
	sw, ports := star(2+n, 100*units.Gbps, 10*units.Nanosecond)
	sw.Spreading = s
	r := newRig(t, sw, ports)
	x := &r.net.switches[0]
	var members []uint16
	for k := range n {
		members = append(members, uint16(2+k))
	}
	x.members = append(members, 0, 1)
	x.routes = compact([]uint32{uint32(n)<<8 | 1, uint32(n+1)<<8 | 1, uint32(n)})
	return r
}

// ports counts what arrived by each of the equal ports.
func (r *rig) arrived() (n []int) {
	for _, h := range r.hosts[2:] {
		n = append(n, len(h.got))
	}
	return n
}

// TestAdaptiveSpreads: two senders at line rate and two equal ports: each packet finds
// one idle, none ever waits, and both carry the same.
func TestAdaptiveSpreads(t *testing.T) {
	r := fan(t, 2, Adaptive)
	r.send(0, 2, 0, 500, 1000, 3)
	r.send(1, 2, 0, 500, 1000, 3)
	r.run(units.Never)
	got := r.arrived()
	if got[0] != 500 || got[1] != 500 {
		t.Errorf("%v packets by the two ports, want 500 each", got)
	}
	for p := 2; p < 4; p++ {
		if peak := r.net.Port(p, 3, units.Second, 0).PeakQueueBytes; peak > 1000 {
			t.Errorf("port %d held %d bytes: a packet waited while the other port was idle", p, peak)
		}
	}
}

// TestAdaptiveAvoids: a port that is busy with a queue gets nothing until the others
// have as much to do. Port 2 is given 20 packets of pinned traffic first.
func TestAdaptiveAvoids(t *testing.T) {
	r := fan(t, 3, Adaptive)
	r.net.switches[0].turn = 2 // the next turn is port 2's
	r.net.pins = []Pin{{There: []uint16{2}}}
	r.at(0, 0, func(now units.Time) {
		for k := range 40 {
			pk := packet.Packet{Frame: 1000, Dst: 2, Class: 3, DSCP: 24, TTL: 9, PSN: uint32(k), Flags: packet.Pinned}
			r.hosts[0].queue = append(r.hosts[0].queue, pk)
		}
		r.net.Kick(now, r.hosts[0].port)
	})
	r.send(1, 2, 500*units.Nanosecond, 60, 1000, 3)
	r.run(units.Never)
	mine := [3]int{}
	for i, h := range r.hosts[2:] {
		for _, a := range h.got {
			if a.Flags&packet.Pinned == 0 {
				mine[i]++
			}
		}
	}
	// Port 2 sends the pinned packets as they come and is busy all the time; while they
	// last, the 60 take the two others in turn.
	if mine[0] > 60-35 || mine[1] < 17 || mine[2] < 17 || mine[0]+mine[1]+mine[2] != 60 {
		t.Errorf("%v of 60 by the three ports; the first was busy for most of them", mine)
	}
}

// TestAdaptiveTurns: among idle ports the turn goes round, so that none is preferred.
func TestAdaptiveTurns(t *testing.T) {
	r := fan(t, 3, Adaptive)
	for k := range 30 {
		r.send(0, 2, units.Time(k)*units.Microsecond, 1, 1000, 3)
	}
	r.run(units.Never)
	for i, n := range r.arrived() {
		if n != 10 {
			t.Errorf("port %d took %d of 30, want 10", i, n)
		}
	}
}

// TestSpray: each port has an equal chance.
func TestSpray(t *testing.T) {
	const n, k = 8000, 8
	r := fan(t, k, Spray)
	r.send(0, 2, 0, n, 100, 3)
	r.run(units.Never)
	chi := 0.0
	for _, got := range r.arrived() {
		d := float64(got) - n/k
		chi += d * d / (n / k)
	}
	if chi > 24.3 || chi < 0.6 { // 99.9 % and 0.1 % of chi-square with seven degrees of freedom
		t.Errorf("%v packets by port: chi-square %.1f", r.arrived(), chi)
	}
}
