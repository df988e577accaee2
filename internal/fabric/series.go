package fabric

// QueueBytes is what waits in class c of port i, the frame on the wire apart;
// always 0 for a host's port.
func (n *Net) QueueBytes(i int, c uint8) int64 { return int64(n.queues[c][i].bytes) }

// Paused reports whether the peer has paused class c of port i.
func (n *Net) Paused(i int, c uint8) bool { return n.ports[i].shut>>c&1 != 0 }
