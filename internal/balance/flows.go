package balance

// Flows is how many flows a switch's table tells apart: those that fall on one entry count as one, as in
// the hardware (LetFlow, NSDI 2017, section 3: 64K entries, collisions are not looked for).
const Flows = 1 << 16

// chunk is how many entries are made at once: a table of 64K for a switch that sees ten flows would be waste.
const chunk = 256

// flowTable is a state per flow, by the hash of its five-tuple.
type flowTable[S any] struct {
	chunks [Flows / chunk]*[chunk]S
}

// at returns the entry of a flow.
func (t *flowTable[S]) at(flow uint32) *S {
	// The hash of the tuple also chooses ports: multiplied by an odd number (Knuth, TAOCP 3, 6.4: the golden
	// ratio), its top bits are others than those.
	k := flow * 0x9e3779b1 >> 16
	c := t.chunks[k/chunk]
	if c == nil {
		c = new([chunk]S)
		t.chunks[k/chunk] = c
	}
	return &c[k%chunk]
}
