package fabric

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// stampNet is a Net of a few ports for stamps alone.
func stampNet(ports int) *Net {
	n := &Net{ports: make([]Port, ports), cold: make([]portCold, ports)}
	n.gates[0] = make([]gate, ports)
	for i := range n.ports {
		n.ports[i].id = uint32(7 * i)
	}
	n.SetPeers(nil)
	return n
}

// TestStamps: what is read back of a way is, to the picosecond, what was stamped, be it
// short or as long as is written down, its times ordinary or hours, the last hop
// under way or not; and what packets give back is used again.
func TestStamps(t *testing.T) {
	r := rng.New(1, "stamps")
	n := stampNet(5)
	duration := func() units.Time {
		return units.Time(r.Uint64() >> (12 + uint(r.IntN(52))))
	}
	type flight struct {
		pk   packet.Packet
		want []Hop
	}
	var flying []*flight
	now := units.Time(0)
	step := func(f *flight) {
		i := r.IntN(len(n.ports))
		now += duration() >> 8
		n.StampIn(now, i, &f.pk)
		h := Hop{Port: n.ports[i].id, In: now, Start: units.Never, Paused: n.gates[0][i].paused}
		counts := len(f.want) < maxHops
		if counts {
			f.want = append(f.want, h)
		}
		if got := n.AppendHops(nil, n.StampsOf(&f.pk)); !slices.Equal(got, f.want) {
			t.Fatalf("while it waits at hop %d:\n%v, want\n%v", len(f.want), got, f.want)
		}
		wait := duration() >> 8
		paused := min(wait, duration())
		now += wait
		n.gates[0][i].paused += paused
		n.StampOut(now, i, &f.pk)
		if counts {
			f.want[len(f.want)-1].Start, f.want[len(f.want)-1].Paused = now, paused
		}
		if got := n.AppendHops(nil, n.StampsOf(&f.pk)); !slices.Equal(got, f.want) {
			t.Fatalf("after hop %d:\n%v, want\n%v", len(f.want), got, f.want)
		}
	}
	for range 20000 {
		now = min(now, 1<<60)
		for i := range n.gates[0] {
			n.gates[0][i].paused = min(n.gates[0][i].paused, 1<<60)
		}
		switch k := r.IntN(40); {
		case len(flying) == 0 || k == 0 && len(flying) < 100:
			f := new(flight)
			n.AddStamps(&f.pk)
			flying = append(flying, f)
		case k < 3:
			i := r.IntN(len(flying))
			n.FreeSides(&flying[i].pk)
			flying = slices.Delete(flying, i, i+1)
		default:
			step(flying[r.IntN(len(flying))])
		}
	}
	for _, f := range flying {
		n.FreeSides(&f.pk)
	}
	if n.stamps.inUse() != 0 || n.records.inUse() != 0 {
		t.Errorf("%d blocks of stamps and %d records left in use", n.stamps.inUse(), n.records.inUse())
	}
}

// TestStampedPacketIsSmall: a packet in flight whose way is written down takes at most
// 200 bytes beside itself, on ways as long as those of fat trees: six transmissions and
// the receive buffer.
func TestStampedPacketIsSmall(t *testing.T) {
	n := stampNet(1)
	const packets, hops = 25600, 7
	for range packets {
		var pk packet.Packet
		n.AddStamps(&pk)
		for k := range units.Time(hops) {
			n.StampIn(k*units.Microsecond, 0, &pk)
			n.StampOut(k*units.Microsecond+units.Nanosecond, 0, &pk)
		}
	}
	size := len(n.stamps.blocks)<<slabBits*int(unsafe.Sizeof(Stamps{})) + len(n.records.blocks)<<slabBits*int(unsafe.Sizeof(sideRecord{})) +
		cap(n.stamps.blocks)*24 + cap(n.records.blocks)*24
	t.Logf("%d bytes per packet", size/packets)
	if size > 200*packets {
		t.Errorf("%d bytes per packet, want at most 200", size/packets)
	}
}
