package card

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Fault is something that goes wrong with a card for a while.
type Fault struct {
	Kind     record.FaultKind
	From, To units.Time // To: Never if it does not end
	Rate     units.Rate // of record.FaultSlow
	// Lapses are when record.FaultPauses lets go for a moment, in order, each before To.
	Lapses []units.Time
}
