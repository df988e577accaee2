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
	for i := range r.v.Plan.Series {
		s := &r.v.Plan.Series[i]
		total += units.Bytes(s.Count) * (2*s.Bytes + carriedMessage)
		if total > maxCarried {
			needs := number(r.v.Plan.Len(), "message") + " need"
			if r.v.Plan.Len() == 1 {
				needs += "s"
			}
			o.fail("carry_data", "%s more than %s of memory for their bytes, at either end; send fewer or smaller ones, or leave carry_data out",
				needs, maxCarried.Human())
			return
		}
	}
}
