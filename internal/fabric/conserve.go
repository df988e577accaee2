package fabric

// Balance is what a fabric or a part of it did to the frames of hosts, PFC
// frames apart.
type Balance struct {
	Sent     int64 // started by hosts
	Received int64 // arrived whole at hosts
	Dropped  int64 // on links and in switches
}

// InFlight is how many frames are on links and in switches.
func (b Balance) InFlight() int64 { return b.Sent - b.Received - b.Dropped }

// Add sums b and c.
func (b Balance) Add(c Balance) Balance {
	return Balance{b.Sent + c.Sent, b.Received + c.Received, b.Dropped + c.Dropped}
}

// Balance returns the account of this partition; only the sum over all of them
// says what is in flight.
func (n *Net) Balance() Balance {
	b := Balance{Received: n.received, Dropped: n.dropped}
	for i := range n.ports {
		if n.ports[i].node < 0 {
			for c := range uint8(Classes) {
				b.Sent += n.sentFrames(i, c).Packets
			}
		}
	}
	return b
}
