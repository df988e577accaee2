package fabric

import (
	"fmt"
	"math"
	"testing"
)

// serve lets VLs that always have packets of a size send n times, and returns
// how many bytes each sent and the order.
func serve(arb *VLArbitration, frames map[uint8]uint32, n int) (sent [Classes]int64, order string) {
	s := NewScheduler(&PortParams{VLArb: arb})
	avail := uint8(0)
	for vl := range frames {
		avail |= 1 << vl
	}
	for range n {
		vl := s.Pick(avail)
		s.Charge(vl, frames[vl])
		sent[vl] += int64(frames[vl])
		if n < 100 {
			order += fmt.Sprint(vl)
		}
	}
	return sent, order
}

// Weights 3:1 share a port 75 to 25, whatever the packets' sizes (acceptance
// case F22; IBTA 7.6.9: an entry may overdraw its weight by one packet, which
// is why the weights are large against a packet).
func TestVLWeights(t *testing.T) {
	for _, size := range [][2]uint32{{4122, 4122}, {4122, 282}, {282, 4122}} {
		for _, high := range []bool{false, true} {
			arb := &VLArbitration{HighLimit: 255}
			table := []VLWeight{{0, 192}, {1, 64}, {2, 0}}
			if high {
				arb.High = table
			} else {
				arb.Low = table
			}
			sent, _ := serve(arb, map[uint8]uint32{0: size[0], 1: size[1]}, 200_000)
			// An entry is served until its weight is used up, by the packet that does.
			turn := func(weight, frame int64) float64 {
				return math.Ceil(float64(weight*64)/float64(frame)) * float64(frame)
			}
			a, b := turn(192, int64(size[0])), turn(64, int64(size[1]))
			want := a / (a + b)
			got := float64(sent[0]) / float64(sent[0]+sent[1])
			if math.Abs(got-want) > 0.001 {
				t.Errorf("packets of %v, high %v: VL 0 has %.4f, want %.4f", size, high, got, want)
			}
			if size[0] == 4122 && size[1] == 4122 && math.Abs(got-0.75) > 0.01 {
				t.Errorf("equal packets: VL 0 has %.4f, want 0.75", got)
			}
		}
	}
}

// The limit of high priority (IBTA 7.6.9.1): 0 lets one packet of the high table
// go before one of the low, n lets n times 4 KB, 255 any number.
func TestHighLimit(t *testing.T) {
	for limit, want := range map[uint8]string{0: "101010", 1: "101010", 2: "110110", 3: "111011", 255: "111111"} {
		arb := &VLArbitration{High: []VLWeight{{1, 255}}, Low: []VLWeight{{0, 255}}, HighLimit: limit}
		if _, order := serve(arb, map[uint8]uint32{0: 4096, 1: 4096}, 6); order != want {
			t.Errorf("limit %d: %s, want %s", limit, order, want)
		}
	}
}

// A VL may stand in both tables and several times in one; an entry of weight 0
// has no turn; an entry whose VL has nothing to send loses its turn.
func TestVLTables(t *testing.T) {
	arb := &VLArbitration{Low: []VLWeight{{2, 1}, {0, 1}, {2, 1}, {1, 0}, {3, 1}}}
	if _, order := serve(arb, map[uint8]uint32{0: 64, 1: 64, 2: 64, 3: 64}, 8); order != "20232023" {
		t.Errorf("order %s, want 20232023", order)
	}
	if _, order := serve(arb, map[uint8]uint32{0: 64, 3: 64}, 6); order != "030303" {
		t.Errorf("order %s, want 030303", order)
	}
	both := &VLArbitration{High: []VLWeight{{1, 1}}, Low: []VLWeight{{0, 1}, {1, 1}}}
	if _, order := serve(both, map[uint8]uint32{0: 64, 1: 64}, 8); order != "10111011" {
		t.Errorf("order %s, want 10111011", order)
	}
}

// turns lets the VLs in avail send n packets of a size, and returns who did.
func turns(s *Scheduler, avail uint8, frame uint32, n int) (order string) {
	for range n {
		vl := s.Pick(avail)
		s.Charge(vl, frame)
		order += fmt.Sprint(vl)
	}
	return order
}

// What is sent while nothing else waits takes nothing from a VL's turn.
func TestVLAlone(t *testing.T) {
	s := NewScheduler(&PortParams{VLArb: &VLArbitration{Low: []VLWeight{{0, 2}, {1, 2}}}})
	for range 100 {
		s.Charge(s.Pick(1), 64)
	}
	if order := turns(&s, 3, 64, 8); order != "00110011" {
		t.Errorf("order %s, want 00110011", order)
	}
}

// What the high table sends while nothing waits in the low one does not count
// against its limit, however much it is.
func TestHighAlone(t *testing.T) {
	for _, n := range []int{1, 1000, 600_000} { // the last: more bytes than 31 bits count
		s := NewScheduler(&PortParams{VLArb: &VLArbitration{High: []VLWeight{{1, 255}, {2, 255}}, Low: []VLWeight{{0, 255}}, HighLimit: 2}})
		for range n {
			s.Charge(s.Pick(0b110), 4096)
		}
		if order := turns(&s, 0b11, 4096, 6); order != "110110" {
			t.Errorf("behind %d packets alone: %s, want 110110", n, order)
		}
	}
}
