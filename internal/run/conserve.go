package run

import "github.com/hopscope/hopscope/internal/fabric"

// checkConserved panics unless every frame that hosts sent has been received or
// dropped, or is in flight: the records in use are those frames, the PFC frames,
// and what the hosts hold in queues of their own. It looks at a consistent cut.
func (r *runner) checkConserved() {
	var b fabric.Balance
	records := int64(r.Engine.Alive())
	for _, n := range r.Nets {
		b = b.Add(n.Balance())
		records -= n.LinkFrames()
	}
	for node, h := range r.Hosts {
		if h != nil && r.Fold.Runs(node) {
			records -= int64(h.Held())
		}
	}
	if b.InFlight() != records {
		r.Nets[0].Part().Bug("hosts sent %d frames, received %d, %d were dropped: %d should be in flight, but %d are",
			b.Sent, b.Received, b.Dropped, b.InFlight(), records)
	}
}
