package fabric

import (
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// fecnRig is two senders (0 and 1) to host 2 of which the switch marks all above
// threshold bytes waiting, with room for all in its input buffers.
func fecnRig(t *testing.T, f FECNParams, victim, keeps bool, blocks uint16) *rig {
	sw, ports := lanes(3, 100*units.Gbps, 10*units.Nanosecond, 2000, 1)
	sw.MarkAtEnqueue = true
	host := &CreditParams{}
	for c := range host.Blocks {
		host.Blocks[c], host.Update[c] = blocks, 1
	}
	for i := range ports {
		ports[i].sw.FECN, ports[i].sw.Victim = &f, victim
	}
	ports[2].host.Credit = host
	r := newRigOf(t, wire.InfiniBand, sw, ports)
	r.hosts[2].keeps = keeps
	return r
}

func marked(r *rig) (n int) {
	for i := range r.hosts[2].got {
		if r.hosts[2].got[i].ECN == packet.CE {
			n++
		}
	}
	return n
}

// Two senders of n packets each fill the queue by one packet per packet time: of
// those that arrive k find more than the threshold with themselves, by hand.
func TestFECNThreshold(t *testing.T) {
	const n, frame = 40, 1022 // 1024 B on the wire
	for weight, buffer := range map[int]units.Bytes{1: 16 * 1022, 8: 16 * 1022, 15: 16 * 1022} {
		f := FECNParams{Threshold: FECNThreshold(weight, buffer)}
		r := fecnRig(t, f, false, false, 2000)
		r.sendVL(0, 2, 0, n, frame, 0)
		r.sendVL(1, 2, 0, n, frame, 0)
		r.run(units.Never)
		// Pair k = 1, 2, ... arrives as one packet leaves for the one at the head:
		// the first of the first pair starts at once, so that pair k finds k-1
		// waiting (the port takes its next one after both have come or between them).
		most := 16 - weight // packets in the threshold
		// A packet of pair k is queued as number k-1 or k; above most it is marked.
		lo, hi := 2*(n-most)-2, 2*(n-most)+2
		if got := marked(r); got < lo || got > hi {
			t.Errorf("weight %d: %d packets marked, want %d to %d of %d", weight, got, lo, hi, 2*n)
		}
		p := r.net.Port(2, 0, units.Second, 0)
		if p.Marked != int64(marked(r)) || p.Limits.KMinBytes != int64(f.Threshold) {
			t.Errorf("weight %d: the port counts %d marks at %d B, %d arrived at %d B", weight, p.Marked, p.Limits.KMinBytes, marked(r), f.Threshold)
		}
	}
}

// Marking_Rate packets that could be marked pass between two that are; short
// packets, and those that acknowledge, are never marked.
func TestMarkingRateAndPacketSize(t *testing.T) {
	const n, frame = 60, 1022
	run := func(f FECNParams, kind packet.Kind) int {
		r := fecnRig(t, f, false, false, 2000)
		r.sendVL(0, 2, 0, n, frame, 0)
		r.sendVL(1, 2, 0, n, frame, 0)
		r.at(0, 0, func(units.Time) {
			for k := range r.hosts[0].queue {
				r.hosts[0].queue[k].Kind = kind
			}
		})
		r.at(1, 0, func(units.Time) {
			for k := range r.hosts[1].queue {
				r.hosts[1].queue[k].Kind = kind
			}
		})
		r.run(units.Never)
		return marked(r)
	}
	all := run(FECNParams{Threshold: 2000}, packet.Data)
	if all < 2*n-10 {
		t.Fatalf("%d marked of %d: the queue should pass two packets at once", all, 2*n)
	}
	for _, rate := range []uint32{1, 4, 10, 1000} {
		want := (all + int(rate)) / (int(rate) + 1)
		if got := run(FECNParams{Threshold: 2000, MarkingRate: rate}, packet.Data); got != want {
			t.Errorf("marking rate %d: %d marked, want %d of %d", rate, got, want, all)
		}
	}
	for size, want := range map[units.Bytes]int{frame: all, frame + 1: 0} {
		if got := run(FECNParams{Threshold: 2000, PacketSize: size}, packet.Data); got != want {
			t.Errorf("packet size %d: %d marked, want %d", size, got, want)
		}
	}
	if got := run(FECNParams{Threshold: 2000}, packet.Ack); got != 0 {
		t.Errorf("%d acknowledgements marked", got)
	}
}

// A port that has no credits itself is a victim: it marks only if its bit of
// Victim_Mask says so. Host 2 gives nothing back and takes 16 packets.
func TestFECNVictim(t *testing.T) {
	const n, frame = 40, 1022
	at := func(victim bool) int64 {
		r := fecnRig(t, FECNParams{Threshold: 3 * frame}, victim, true, 16*16)
		r.sendVL(0, 2, 0, n, frame, 0)
		r.sendVL(1, 2, 0, n, frame, 0)
		r.run(units.Never)
		if len(r.hosts[2].got) != 16 {
			t.Fatalf("%d packets arrived, want 16", len(r.hosts[2].got))
		}
		return r.net.cold[2].marks[0].Count
	}
	root, both := at(false), at(true)
	// About 32 packets come in while 16 leave, three of them below the threshold
	// twice; from then on the port is a victim: the other 48 of 80.
	if root < 20 || root > 32 {
		t.Errorf("%d marks as root, want 20 to 32", root)
	}
	if d := both - root; d < 44 || d > 52 {
		t.Errorf("%d marks more as victim, want about 48", d)
	}
}
