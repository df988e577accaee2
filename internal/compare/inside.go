package compare

import (
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// inside adds up what one run moved inside its hosts, in bytes.
type inside struct {
	staged  int64 // by copy engines
	crossed int64 // payload, once per PCIe link
	pcie    int64 // bytes on those links
	dram    int64 // through the memories of hosts
}

// insideOf is nil where no host has an inside that anything went over.
func insideOf(r *record.Run) *inside {
	if len(r.Servers) == 0 {
		return nil
	}
	var in inside
	for i := range r.Servers {
		s := &r.Servers[i]
		for k := range s.Links {
			switch l := &s.Links[k]; {
			case l.PCIe():
				in.crossed += l.PayloadBytes
				in.pcie += l.Bytes
			case l.Kind == record.KindDRAM:
				in.dram += l.PayloadBytes
			}
		}
		for k := range s.Copies {
			in.staged += s.Copies[k].Bytes
		}
	}
	return &in
}

// insides is nil where no run has any.
func insides(runs []*outcome) *Inside {
	some := false
	for _, o := range runs {
		some = some || o.figures.inside != nil
	}
	if !some {
		return nil
	}
	ratio := func(get func(*inside) int64) Spread[float64] {
		return collect(runs, func(f *figures) (float64, bool) {
			if f.inside == nil || f.delivered == 0 {
				return 0, false
			}
			return float64(get(f.inside)) / float64(f.delivered), true
		})
	}
	return &Inside{
		Staged: collect(runs, func(f *figures) (int64, bool) {
			if f.inside == nil {
				return 0, false
			}
			return f.inside.staged, true
		}),
		PCIeRatio:      ratio(func(in *inside) int64 { return in.crossed }),
		PCIeBytesRatio: ratio(func(in *inside) int64 { return in.pcie }),
		DRAMRatio:      ratio(func(in *inside) int64 { return in.dram }),
	}
}

// collectives spreads each collective over the runs.
func collectives(runs []*outcome) (out []Collective) {
	for k := range runs[0].figures.collectives {
		at := func(f *figures) *metrics.Collective { return &f.collectives[k] }
		out = append(out, Collective{
			Workload: at(&runs[0].figures).Workload,
			Done:     always(runs, func(f *figures) int64 { return int64(at(f).Done) }),
			TimePS:   collect(runs, func(f *figures) (units.Time, bool) { return at(f).TimePS, at(f).Done > 0 }),
			BusBW:    collect(runs, func(f *figures) (float64, bool) { return at(f).BusBW, at(f).Done > 0 }),
		})
	}
	return out
}
