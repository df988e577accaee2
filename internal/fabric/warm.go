package fabric

// warm reads the packets, ports and routes that the arrivals of the current cell will
// touch. An event that waits for a packet from memory is done with it soon after, and
// then waits for the next; read one behind the other, with nothing that depends on
// them in between, the misses overlap. It changes nothing.
func (n *Net) warm() {
	var sink uint64
	part := n.part
	coming := part.Coming()
	for k := range coming {
		if ref := part.Peek(k); ref.Tag()&^tagIndex == evArrive {
			sink += uint64(part.Rec(ref.Low()).Frame)
		}
	}
	for k := range coming {
		ref := part.Peek(k)
		if ref.Tag()&^tagIndex != evArrive {
			continue
		}
		p := &n.ports[ref.Tag()&tagIndex]
		sink += uint64(p.id)
		if p.node >= 0 {
			sink += uint64(n.switches[p.node].routes[part.Rec(ref.Low()).Dst])
		}
	}
	n.sink += sink
}
