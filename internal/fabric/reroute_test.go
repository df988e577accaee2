package fabric

import (
	"math"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// A packet that leaves by the port it came in by, as new tables may send it back,
// frees its room there as it starts: the flow-control packet goes behind it. So
// packets leave one time of both after the other, the transmitter having been idle.
func TestBackTheWayItCameWithCredits(t *testing.T) {
	const rate, frame, n, delay = 100 * units.Gbps, 2048, 10, 10 * units.Microsecond
	sw, ports := lanes(2, rate, delay, MaxCredits, 1)
	r := newRigOf(t, wire.InfiniBand, sw, ports)
	r.sendVL(0, 0, 0, n, frame, 0)
	r.run(units.Never)
	overhead := units.Bytes(wire.InfiniBand.Overhead)
	tx, control := rate.TxTime(frame+overhead), rate.TxTime(wire.FlowControlLen+overhead)
	got := r.hosts[0].got
	if len(got) != n {
		t.Fatalf("%d packets came back, want %d", len(got), n)
	}
	for k, a := range got {
		if want := 2*(tx+delay) + units.Time(k)*(tx+control); a.at != want {
			t.Errorf("packet %d is back at %v, want %v", k, a.at, want)
		}
	}
	r.net.CheckEmpty()
}

// The same on Ethernet: the frame that brings the use of its ingress port down to
// XON starts first, then the PFC frame.
func TestBackTheWayItCameWithPauses(t *testing.T) {
	const frame = 1500
	sw, ports := star(3, 100*units.Gbps, 50*units.Nanosecond)
	for i := range ports {
		ports[i].pg[3].Static, ports[i].pg[3].XONOffset = 20*frame, 2*frame
	}
	r := newRig(t, sw, ports)
	r.send(0, 0, 0, 200, frame, 3)
	r.send(1, 0, 0, 200, frame, 3)
	r.run(units.Never)
	if got := len(r.hosts[0].got); got != 400 {
		t.Errorf("%d frames came, want 400", got)
	}
	if s := &r.net.pauses[3][0]; s.sent.Count == 0 || s.resumes != s.sent.Count {
		t.Errorf("%d pauses and %d resumptions, want some and as many", s.sent.Count, s.resumes)
	}
	r.net.CheckEmpty()
}

// A group loses a port. Resilient hashing moves the flows of that port and no
// other, evenly to those that are left. Hash-threshold moves 1/N of the flows and
// ((k-1)(k-2) + (N-k)(N-k-1)) / (2N(N-1)) besides, by the regions of RFC 2992,
// section 3.1, which has 1/2 at the ends and less in the middle.
func TestGroupThatShrinks(t *testing.T) {
	const flows, n, salt = 200000, 8, 12345
	all := []uint16{0, 1, 2, 3, 4, 5, 6, 7}
	for k := 1; k <= n; k++ {
		left := slices.Delete(slices.Clone(all), k-1, k)
		for _, resilient := range []bool{true, false} {
			before := choice{all}
			after := before.next(left, resilient)
			moved, taken := 0, [n]int{}
			for i := range uint64(flows) {
				hash := uint32(rng.Mix64(i, 7))
				a, b := before.port(hash, Hash{}, salt), after.port(hash, Hash{}, salt)
				if a != b {
					moved++
					taken[b]++
				}
				if b == k-1 || resilient && a != k-1 && a != b {
					t.Fatalf("port %d gone, resilient %v: a flow goes from %d to %d", k-1, resilient, a, b)
				}
			}
			want := 1.0 / n
			if !resilient {
				want += float64((k-1)*(k-2)+(n-k)*(n-k-1)) / (2 * n * (n - 1))
			}
			got := float64(moved) / flows
			if sd := math.Sqrt(want * (1 - want) / flows); math.Abs(got-want) > 4*sd {
				t.Errorf("port %d gone, resilient %v: %.4f of the flows move, want %.4f", k-1, resilient, got, want)
			}
			for p, c := range taken {
				mean := float64(moved) / (n - 1)
				if resilient && p != k-1 && math.Abs(float64(c)-mean) > 4*math.Sqrt(mean) {
					t.Errorf("port %d gone: port %d takes over %d flows, want %.0f", k-1, p, c, mean)
				}
			}
		}
	}
}

// Flows stay where they are through several failures, come back with a link that
// works again, and have no port while the list is empty.
func TestGroupThatShrinksTwice(t *testing.T) {
	all := []uint16{3, 4, 5}
	first := choice{all}
	twice := first.next([]uint16{3, 5}, true).next([]uint16{5}, true)
	none := twice.next(nil, true)
	back := none.next([]uint16{3, 5}, true)
	for i := range uint64(1000) {
		hash := uint32(rng.Mix64(i, 1))
		switch {
		case twice.port(hash, Hash{}, 9) != 5:
			t.Fatalf("port %d", twice.port(hash, Hash{}, 9))
		case none.port(hash, Hash{}, 9) != noPort:
			t.Fatalf("port %d of none", none.port(hash, Hash{}, 9))
		case back.port(hash, Hash{}, 9) != (choice{{3, 5}}).port(hash, Hash{}, 9):
			t.Fatalf("port %d once links are back", back.port(hash, Hash{}, 9))
		case back.next(all, true).port(hash, Hash{}, 9) != first.port(hash, Hash{}, 9):
			t.Fatal("not as at the start once all links are back")
		}
	}
}

// TestRefill: of a table of 64 slots as few change hands as weights ask for: 11 as two equal ports come to
// weigh 2:1, 16 as one of four goes, which 48 of its flows' slots do not notice.
func TestRefill(t *testing.T) {
	even := func(ports []uint16, weights ...uint64) []uint16 { return topology.Slots(ports, weights, 64) }
	for _, c := range []struct {
		name    string
		from    []uint16
		to      []uint16
		changed int
	}{
		{"two thirds", even([]uint16{1, 2}, 1, 1), even([]uint16{1, 2}, 2, 1), 11},
		{"one of four", even([]uint16{1, 2, 3, 4}, 1, 1, 1, 1),
			slices.DeleteFunc(even([]uint16{1, 2, 3, 4}, 1, 1, 1, 1), func(p uint16) bool { return p == 3 }), 16},
		{"the same", even([]uint16{1, 2}, 3, 1), even([]uint16{2, 1}, 1, 3), 0},
	} {
		got := choice{c.from}.next(c.to, true)
		if len(got) != 1 || len(got[0]) != 64 {
			t.Fatalf("%s: %v", c.name, got)
		}
		n := 0
		for i, p := range got[0] {
			if p != c.from[i] {
				n++
			}
			if !slices.Contains(c.to, p) {
				t.Errorf("%s: slot %d leads to port %d, which is gone", c.name, i, p)
			}
		}
		if n != c.changed {
			t.Errorf("%s: %d slots changed hands, not %d", c.name, n, c.changed)
		}
	}
}
