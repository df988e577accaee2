package account

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// New is the account of what has run; a bit of lossy says of a connection that something of
// it was dropped.
func New(e *Ends, lossy []uint64) *Book {
	return &Book{Ends: e, names: stageNames, loss: catalog.StageLoss, reordered: catalog.StageReordered,
		places: placesOf(e.World), lossy: lossy}
}

// Delivered is when message i, of a service without acknowledgements, was in its responder's memory;
// Never: it did not arrive.
func (a *Book) Delivered(i int) units.Time {
	if taken := a.taken(i); taken != nil {
		return taken.Placed
	}
	return units.Never
}

// End completes the record of message i, which has completed at its requester.
// What is not in memory when the run ends is open.
func (a *Book) End(f *record.Message, i int, end units.Time) {
	at := a.ended(i)
	if at > end {
		a.Open(f, i)
		return
	}
	f.CompletionPS, f.Status = at-f.StartPS, a.Messages[i].Status.String()
	a.check(f, i, a.account(i))
	if a.Messages[i].Status == rdma.Success && a.Untold(i) {
		f.DeliveredPS = -1
	}
	if polled := a.Messages[i].Polled; a.Placing(&a.Valid.Plan.Conns[a.Valid.Plan.At(i).Conn]) && polled != units.Never {
		f.EntryPS = polled - f.StartPS
	}
}

// hasBit reports whether bit i of a set is there.
func hasBit(set []uint64, i int) bool { return set[i/64]>>(i%64)&1 != 0 }
