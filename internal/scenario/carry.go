package scenario

import "github.com/hopscope/hopscope/internal/units"

// A run that carries data keeps two copies of every message, and about
// carriedMessage bytes of records beside them.
const (
	maxCarried                 = units.GB
	carriedMessage units.Bytes = 512
)

// checkCarried bounds the memory of a run that carries data.
func (r *resolver) checkCarried(o object) {
	if !r.v.CarryData || r.d.err != nil {
		return
	}
	total := units.Bytes(0)
	for i := range r.v.Plan.Messages {
		total += 2*r.v.Plan.Messages[i].Bytes + carriedMessage
		if total > maxCarried {
			needs := number(len(r.v.Plan.Messages), "message") + " need"
			if len(r.v.Plan.Messages) == 1 {
				needs += "s"
			}
			o.fail("carry_data", "%s more than %s of memory for their bytes, at either end; send fewer or smaller ones, or leave carry_data out",
				needs, maxCarried.Human())
			return
		}
	}
}
