package fabric

// warm reads the packets that arrive in the current cell. An event that waits for a packet
// from memory is done with it soon after, and then waits for the next; read one behind the
// other, with nothing that depends on them in between, the misses overlap. It changes nothing.
func (n *Net) warm() {
	var sink uint32
	part := n.part
	coming := part.Coming()
	for k := range coming {
		if ref := coming[k].Ref(); ref.Tag()&^tagIndex == evArrive {
			sink += part.Rec(ref.Low()).Frame
		}
	}
	n.sink += sink
}
