package metrics

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// faultOf is the fault of a host's card that lasted longest within the time asked about; nil:
// there was none.
func (x *index) faultOf(host string) (longest *record.Fault) {
	from, to := units.Time(0), x.r.EndPS
	if x.known.to > 0 {
		from, to = x.known.from, x.known.to
	}
	var most units.Time
	for i := range x.r.Faults {
		f := &x.r.Faults[i]
		end := f.ToPS
		if end < 0 {
			end = x.r.EndPS
		}
		if d := min(end, to) - max(f.FromPS, from); f.Node == host && d > most {
			longest, most = f, d
		}
	}
	return longest
}

// ofCard is the card of a host as a cause.
func ofCard(host string) Cause {
	return Cause{Kind: catalog.CauseFault, Place: record.Place{Kind: catalog.AtHost, Node: host}}
}

// SayFault tells of a fault, in words that follow the name of its host.
func SayFault(f *record.Fault) string {
	when := "from " + FormatTime(f.FromPS) + " on"
	if f.ToPS >= 0 {
		when = "from " + FormatTime(f.FromPS) + " to " + FormatTime(f.ToPS)
	}
	switch f.Kind {
	case record.FaultHang:
		return "hung " + when
	case record.FaultPauses:
		if f.Lapses > 0 {
			when += ", but for " + plural(int64(f.Lapses), "lapse")
		}
		return "paused its switch for no reason of its own " + when
	}
	return fmt.Sprintf("took data only at %s %s", FormatRate(f.RateBps), when)
}
