package metrics

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// HostCPU is what a host's processors spent on the network.
type HostCPU struct {
	Host   string     `json:"host"`
	CorePS units.Time `json:"core_ps"` // time of all cores
	// Cores is how many cores were kept busy on average from the first post to the last
	// completion, and Busiest the share of that time of the busiest one.
	Cores      float64    `json:"cores"`
	Busiest    float64    `json:"busiest"`
	Directions []CPUShare `json:"directions"` // those with any time
}

// CPUShare is the part of one direction.
type CPUShare struct {
	Direction string       `json:"direction"`
	CorePS    units.Time   `json:"core_ps"`
	Causes    []CauseShare `json:"causes"` // in the order of the record
}

// CauseShare is the part of one cause.
type CauseShare struct {
	Cause  string     `json:"cause"`
	CorePS units.Time `json:"core_ps"`
	Share  float64    `json:"share"` // of the host's
}

// spanOf is the time from the first post to the last completion, of which the shares
// of cores are: after that they take and send acknowledgements, or poll for nothing.
func spanOf(r *record.Run) float64 { return float64(max(r.LastCompletion()-r.FirstPost(), 1)) }

// busyOf is the time of a core up to the last completion, busy polling included.
func busyOf(c *record.CoreTimes) float64 {
	busy := c.InTimePS
	for _, t := range c.Times {
		if t.Cause == record.BusyPoll {
			busy += t.PS
		}
	}
	return float64(busy)
}

// hostCPU condenses the processors' records.
func hostCPU(r *record.Run) (out []HostCPU) {
	span := spanOf(r)
	for i := range r.Processors {
		p := &r.Processors[i]
		total := p.TotalPS()
		h := HostCPU{Host: p.Host, CorePS: total}
		for k := range p.ByCore {
			b := busyOf(&p.ByCore[k]) / span
			h.Cores += b
			h.Busiest = max(h.Busiest, b)
		}
		for _, x := range p.Times {
			n := len(h.Directions)
			if n == 0 || h.Directions[n-1].Direction != x.Direction {
				h.Directions = append(h.Directions, CPUShare{Direction: x.Direction})
				n++
			}
			d := &h.Directions[n-1]
			d.CorePS += x.PS
			d.Causes = append(d.Causes, CauseShare{x.Cause, x.PS, float64(x.PS) / float64(total)})
		}
		out = append(out, h)
	}
	return out
}
