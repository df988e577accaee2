package metrics

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Collective is how fast a collective was, as nccl-tests counts it.
type Collective struct {
	Workload string     `json:"workload"`
	Done     int        `json:"done"`    // iterations that were over
	TimePS   units.Time `json:"time_ps"` // mean of those
	// AlgBW is the size over the time, BusBW that times the factor that makes it
	// comparable with the rate of a link (nccl-tests, PERFORMANCE.md); GB/s, of 10^9 B.
	AlgBW float64 `json:"algbw_gbyte_s"`
	BusBW float64 `json:"busbw_gbyte_s"`
}

// Collectives condenses the collectives of a run.
func Collectives(r *record.Run) (out []Collective) {
	for i := range r.Collectives {
		c := &r.Collectives[i]
		x := Collective{Workload: c.Workload}
		end := c.StartPS
		for _, at := range c.EndPS {
			if at >= 0 {
				x.Done++
				end = at
			}
		}
		if x.Done > 0 {
			x.TimePS = (end - c.StartPS) / units.Time(x.Done)
		}
		if x.TimePS > 0 {
			x.AlgBW = float64(c.Bytes) / float64(x.TimePS) * 1e3
			x.BusBW = x.AlgBW * BusFactor(c.Op, c.Ranks)
		}
		out = append(out, x)
	}
	return out
}

// BusFactor is what the bandwidth of an algorithm over a number of ranks is
// multiplied by to give that of the bus (nccl-tests, PERFORMANCE.md).
func BusFactor(op string, ranks int) float64 {
	n := float64(ranks)
	switch op {
	case "allreduce":
		return 2 * (n - 1) / n
	case "reducescatter", "allgather", "alltoall":
		return (n - 1) / n
	}
	return 1
}
