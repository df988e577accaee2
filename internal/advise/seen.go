package advise

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/counters"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Seen is what advice takes from one run. The data plane is all messages that belong to no remote procedure call, the
// control plane the calls.
type Seen struct {
	Seed     uint64
	Trouble  string // how the run failed to carry everything: "a deadlock"; "": it did
	Messages int    // of the data plane; 0 of large collectives and of jobs, which keep none
	Programs int    // collectives and jobs
	P99      units.Time
	Span     units.Time // of the data plane, from its first post, or start of a job, to its last completion
	Whole    bool       // Span is what counts, as collectives or jobs wait for all of it
	Calls    int
	CallP99  units.Time
	Bytes    int64 // of payload that was completed
	// Cores is how many cores the host's part of the network keeps busy up to the last completion: of the busiest
	// host, and of all.
	Cores, AllCores         float64
	DRAM, Copied, Staged    int64 // bytes at hosts
	Switches, Cables, Cards int
	Tune                    [3]int // parameters, by group
	Layers                  []catalog.Layering
	CallsOver               string // the transport of the calls
	Totals                  metrics.Totals
	PeakQueue               int64
	Pauses                  []int            // priorities that PFC stops
	counts                  map[string]int64 // by name: the largest of all boxes and ports; looked up
	// What counters of queue pairs and of ports count over: the latter have the measure window, where there is one.
	over, window units.Time
}

// Read takes from a run what advice needs.
func Read(r *record.Run) *Seen {
	s := metrics.Summarise(r)
	o := &Seen{Seed: r.Seed, Totals: s.Totals, Layers: r.Layers, Bytes: s.Totals.Delivered}
	o.Trouble = trouble(r, s)
	o.planes(r)
	calls := metrics.CallLatency(r)
	o.Calls, o.CallP99 = calls.N, units.Time(calls.P99)
	o.hosts(r)
	o.base(r)
	o.counts = countsOf(counters.Files(r))
	o.Pauses = r.PauseClasses
	o.over = max(r.LastCompletion()-r.FirstPost(), 1)
	if o.window = o.over; r.MeasureTo > 0 {
		o.window = max(min(r.MeasureTo, r.EndPS)-r.MeasureFrom, 1)
	}
	for i := range r.Ports {
		o.PeakQueue = max(o.PeakQueue, r.Ports[i].PeakQueueBytes)
	}
	return o
}

// trouble is how a run did not carry everything.
func trouble(r *record.Run, s *metrics.Summary) string {
	m := &s.Messages
	switch {
	case r.Stopped == "deadlock":
		return "a deadlock"
	case r.Stopped == "stalled":
		return "a stall"
	case m.Lost > 0:
		return fmt.Sprintf("%d of %d messages never delivered", m.Lost, m.Messages)
	case m.Failed > 0:
		return fmt.Sprintf("%d of %d messages failed", m.Failed, m.Messages)
	case m.Open > 0:
		return fmt.Sprintf("%d of %d messages open", m.Open, m.Messages)
	}
	return ""
}

// planes measures the data plane, and finds what carries the calls.
func (o *Seen) planes(r *record.Run) {
	first, last := units.Time(math.MaxInt64), units.Time(0)
	var took []units.Time
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Call != 0 {
			o.CallsOver = m.Service.String()
			continue
		}
		o.Messages++
		if metrics.Completed(m) {
			took = append(took, m.CompletionPS)
			first, last = min(first, m.StartPS), max(last, m.StartPS+m.CompletionPS)
		}
	}
	if len(took) > 0 {
		slices.Sort(took)
		o.P99 = took[(len(took)*99+99)/100-1] // by nearest rank
	}
	together := func(start units.Time, ends []units.Time) {
		o.Programs++
		first = min(first, start)
		for _, end := range ends {
			last = max(last, end)
			if end < 0 && o.Trouble == "" {
				o.Trouble = "a collective or job that is not over"
			}
		}
	}
	for i := range r.Collectives {
		together(r.Collectives[i].StartPS, r.Collectives[i].EndPS)
	}
	for i := range r.Jobs {
		together(r.Jobs[i].StartPS, r.Jobs[i].EndPS)
	}
	o.Whole, o.Span = o.Programs > 0, last-first
}

// hosts adds up what processors did.
func (o *Seen) hosts(r *record.Run) {
	over := float64(max(r.LastCompletion()-r.FirstPost(), 1))
	for i := range r.Processors {
		p := &r.Processors[i]
		busy := units.Time(0)
		for k := range p.ByCore {
			busy += p.ByCore[k].InTimePS
		}
		cores := float64(busy) / over
		o.Cores, o.AllCores = max(o.Cores, cores), o.AllCores+cores
		o.DRAM, o.Copied = o.DRAM+p.DRAMBytes, o.Copied+p.CopiedBytes
	}
}

// Groups of parameters, as Seen.Tune counts them.
const (
	ofSwitches = iota
	ofControl
	ofHosts
)

// groups are the beginnings of keys whose parameters somebody must decide on. What follows from others, such as the
// pools that switch.buffer makes, and what is a property of a device are not among them.
func groups() [3][]string {
	return [3][]string{
		{"switch.pfc.", "switch.ecn", "switch.lossy.", "switch.buffer", "infiniband."},
		{"dcqcn.", "controller."},
		{"transport.", "tcp."},
	}
}

// base counts what must be bought and tuned.
func (o *Seen) base(r *record.Run) {
	isSwitch := map[string]bool{} // looked up, never iterated
	for i := range r.Network.Nodes {
		if n := &r.Network.Nodes[i]; n.Switch {
			isSwitch[n.Name] = true
			o.Switches++
		}
	}
	for i := range r.Network.Links {
		o.Cables++
		for _, end := range []record.PortID{r.Network.Links[i].A, r.Network.Links[i].B} {
			if !isSwitch[end.Node] {
				o.Cards++
			}
		}
	}
	for g, starts := range groups() {
		for i := range r.Notes {
			key := r.Notes[i].Key
			if strings.HasSuffix(key, ".preset") {
				continue // it stands for the others
			}
			if slices.ContainsFunc(starts, func(s string) bool { return strings.HasPrefix(key, s) }) {
				o.Tune[g]++
			}
		}
	}
	for i := range r.Servers {
		s := &r.Servers[i]
		for k := range s.Copies {
			o.Staged += s.Copies[k].Bytes
		}
		for k := range s.Links {
			if s.Links[k].Kind == record.KindDRAM {
				o.DRAM += s.Links[k].PayloadBytes
			}
		}
	}
}
