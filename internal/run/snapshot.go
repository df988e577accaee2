package run

import (
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// SnapshotOptions say when to look at all counters of a run. It takes the same course with them and without.
type SnapshotOptions struct {
	Every units.Time // at least a nanosecond; at multiples of it
	// Take is shown each snapshot, from the first post on, and may keep it. It reports whether it wants half as many
	// from now on: those at even multiples, of twice Every.
	Take func(*record.Snapshot) (half bool)
}

// snapshots are those of one run.
type snapshots struct {
	*runner
	opt   *SnapshotOptions
	every units.Time
	next  units.Time
}

// newSnapshots prepares them; nil when none is wanted.
func (r *runner) newSnapshots() *snapshots {
	opt := r.opt.Snapshots
	if opt == nil {
		return nil
	}
	return &snapshots{r, opt, opt.Every, r.firstPost(units.Never) / opt.Every * opt.Every}
}

// due is when the next is taken; Never: none is.
func (s *snapshots) due() units.Time {
	if s == nil {
		return units.Never
	}
	return s.next
}

// take takes the one that is due.
func (s *snapshots) take() {
	if s.opt.Take(s.snapshot(s.next)) {
		s.every *= 2
	}
	s.next = (s.next/s.every + 1) * s.every
}

// snapshot is what was counted before now.
func (s *snapshots) snapshot(now units.Time) *record.Snapshot {
	out := &record.Snapshot{At: now, Run: &record.Run{PauseClasses: s.pauseClasses()}}
	for _, place := range s.Place {
		s.port(out, now, place.Part, place.Index)
		if node := &s.Valid.Graph.Nodes[place.Node]; node.Kind == topology.Switch && place.Local == 0 {
			out.Gauges = append(out.Gauges, record.Gauge{Quantity: record.SeriesBuffer, Place: record.SwitchAt(node.Name),
				Value: s.Nets[place.Part].HeldBytes(place.Index)})
		}
	}
	lossy := s.lossy()
	for _, h := range s.Hosts {
		if h == nil {
			continue
		}
		first := len(out.Run.QPs)
		out.Run.QPs = h.AppendCounted(out.Run.QPs)
		out.Run.Ledger = h.AppendActs(out.Run.Ledger, lossy)
		for i := first; i < len(out.Run.QPs); i++ {
			q := &out.Run.QPs[i]
			if rate, _ := h.RateAt(now, uint32(q.QP)); rate > 0 && q.SentPackets > 0 {
				out.Gauges = append(out.Gauges, record.Gauge{Quantity: record.SeriesRate, Place: q.Place(), Value: int64(rate)},
					record.Gauge{Quantity: record.SeriesWindow, Place: q.Place(), Value: h.WindowOf(uint32(q.QP))})
			}
		}
	}
	return out
}

// port adds what a port has counted.
func (s *snapshots) port(out *record.Snapshot, now units.Time, part, index int) {
	n := s.Nets[part]
	if c, ok := n.Counters(index); ok {
		out.Run.Counters = append(out.Run.Counters, c)
	}
	for c := range uint8(fabric.Classes) {
		if !n.Active(index, c) {
			continue
		}
		p := n.Port(index, c, now, max(now, 1))
		p.PausedPS = n.PausedClock(now, index, c)
		out.Run.Ports = append(out.Run.Ports, p)
		if bytes := n.QueueBytes(index, c); p.PeakQueueBytes > 0 {
			out.Gauges = append(out.Gauges, record.Gauge{Quantity: record.SeriesQueue, Place: p.Place(), Value: bytes})
		}
	}
}
