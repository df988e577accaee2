package metrics

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// FirstLost is the first frame that was lost of a message's connection in the message's time, on the way of its data.
type FirstLost struct {
	At    units.Time    // in the run's time, as captures and timelines have it
	Where record.PortID // the port that dropped it, or whose cable lost it
	Cause catalog.Drop
	// Again is when the sender first sent something again; -1: not in that time, or before this loss.
	Again units.Time
	By    record.Place // the sender
}

// FirstLostOf is that of message i; false: nothing was lost.
func FirstLostOf(r *record.Run, i int) (first FirstLost, lost bool) {
	f := &r.Messages[i]
	x := newIndex(r)
	if _, ok := x.sender(f); !ok || r.Evidence == nil {
		return first, false
	}
	for _, l := range r.Evidence.Lost(int(f.Number)) {
		if at := l.Acts[0].First; l.Answer == Reads(f) && (!lost || at < first.At) {
			first, lost = FirstLost{At: at, Where: r.Evidence.Ports[l.Port], Cause: l.Cause}, true
		}
	}
	if !lost {
		return first, false
	}
	first.By, first.Again = x.actor(f, Reads(f)).Place(), -1
	for k := range r.Ledger {
		e := &r.Ledger[k]
		if e.Question == catalog.Recovered && e.Actor == first.By && (first.Again < 0 || e.First < first.Again) {
			first.Again = e.First
		}
	}
	if first.Again < first.At || first.Again > f.StartPS+f.Life() {
		first.Again = -1
	}
	return first, true
}
