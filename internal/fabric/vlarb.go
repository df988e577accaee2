package fabric

import "math/bits"

// VLWeight is one entry of a VL arbitration table.
type VLWeight struct {
	VL     uint8 // 0 to Classes-1
	Weight uint8 // times 64 bytes before the next entry has its turn; 0: none
}

// VLArbitration is how an InfiniBand port chooses among its data VLs (IBTA
// 7.6.9): two tables, each served as a weighted round, the high one first.
type VLArbitration struct {
	High, Low []VLWeight // each at most 64 entries; a VL may have several
	// HighLimit times 4 KB of the high table may go before something that waits
	// in the low one; 0: one packet, 255: without limit.
	HighLimit uint8
}

// Units of VL arbitration in bytes (IBTA 7.6.9.2).
const (
	vlWeightUnit  = 64
	highLimitUnit = 4096
	highUnlimited = 255
)

// arbTable is one table with the entry that has its turn.
type arbTable struct {
	entries []VLWeight
	cur     int
	left    int32 // weight of that entry not used yet
}

// pick returns the VL of the first entry, from the current one on, with weight
// left and something to send. An entry that is passed over loses its turn.
func (t *arbTable) pick(avail uint8) (vl uint8, ok bool) {
	for range len(t.entries) + 1 {
		if e := t.entries[t.cur]; t.left > 0 && avail>>e.VL&1 != 0 {
			return e.VL, true
		}
		if t.cur++; t.cur == len(t.entries) {
			t.cur = 0
		}
		t.left = int32(t.entries[t.cur].Weight) * vlWeightUnit
	}
	return 0, false
}

// vls is the set of VLs that the table may send.
func (t *arbTable) vls() (mask uint8) {
	for _, e := range t.entries {
		if e.Weight > 0 {
			mask |= 1 << e.VL
		}
	}
	return mask
}

// vlArbiter is the state of a port's VL arbitration.
type vlArbiter struct {
	high, low arbTable
	lowVLs    uint8 // that the low table may send
	limit     int32 // bytes; negative: none
	room      int32 // what the high table may still send before the low one
	fromHigh  bool  // the latest choice
	lowWaits  bool  // ... was made while the low table had something
	chosen    uint8 // and its VL; Classes: charged already
}

func newVLArbiter(p *VLArbitration) *vlArbiter {
	a := &vlArbiter{high: arbTable{entries: p.High}, low: arbTable{entries: p.Low},
		limit: int32(p.HighLimit) * highLimitUnit, chosen: Classes}
	for _, t := range []*arbTable{&a.high, &a.low} {
		if len(t.entries) == 0 {
			t.entries = []VLWeight{{}} // never chosen
		}
		t.left = int32(t.entries[0].Weight) * vlWeightUnit
	}
	switch p.HighLimit {
	case 0:
		a.limit = 1
	case highUnlimited:
		a.limit = -1
	}
	a.room, a.lowVLs = a.limit, a.low.vls()
	return a
}

// pick chooses among the VLs in avail. The high table goes first until it has
// sent its limit while the low one waited.
func (a *vlArbiter) pick(avail uint8) uint8 {
	a.lowWaits = avail&a.lowVLs != 0
	if a.limit < 0 || a.room > 0 || !a.lowWaits {
		if vl, ok := a.high.pick(avail); ok {
			a.fromHigh, a.chosen = true, vl
			return vl
		}
	}
	a.fromHigh, a.room = false, a.limit
	vl, ok := a.low.pick(avail)
	if !ok {
		vl = uint8(bits.TrailingZeros8(avail)) // in no table: the scenario refuses that
	}
	a.chosen = vl
	return vl
}

// charge books a packet of a VL. One that was not chosen, because nothing else
// waited, takes nothing from anybody's turn.
func (a *vlArbiter) charge(vl uint8, frame uint32) {
	if vl != a.chosen {
		return
	}
	a.chosen = Classes
	t := &a.low
	if a.fromHigh {
		t = &a.high
		if a.lowWaits {
			a.room -= int32(frame)
		}
	}
	t.left -= int32(frame)
}
