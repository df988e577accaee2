package fabric

import "math/bits"

// warm reads the packets that the events of the current cell are about: those that arrive,
// and the heads of queues whose ports wake up. An event that waits for a packet from memory
// is done with it soon after, and then waits for the next; read one behind the other, with
// nothing that depends on them in between, the misses overlap. It changes nothing.
func (n *Net) warm() {
	var sink uint32
	part := n.part
	coming := part.Coming()
	for k := range coming {
		ref := coming[k].Ref()
		tag := ref.Tag()
		switch i := tag & tagIndex; tag &^ tagIndex {
		case evArrive:
			sink += part.Rec(ref.Low()).Frame
		case evWake:
			if p := &n.ports[i]; p.plain && p.ready != 0 {
				sink += part.Rec(n.queues[bits.TrailingZeros8(p.ready)&(Classes-1)][i].head).Frame
			}
		}
	}
	n.sink += sink
}
