package timeline

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/perfetto"
	"github.com/hopscope/hopscope/internal/record"
)

// ranks draws what ranks of jobs did: of each what it spent its time on, and a track for each stream. Operations of a
// stream run one after the other. In a call that waited for a rank that wait is drawn inside.
func (d *drawing) ranks() {
	jobs := map[string]perfetto.Track{}
	for i := range d.trace.Ranks {
		r := &d.trace.Ranks[i]
		job, known := jobs[r.Job]
		if !known {
			job = d.Track(0, "job "+r.Job)
			jobs[r.Job] = job
		}
		group := d.Track(job, strings.TrimSpace(fmt.Sprintf("rank %d, %s %s", r.Rank, r.Host, r.Device)))
		state := d.Track(group, "spends its time on")
		for _, s := range r.States {
			what, _, _ := strings.Cut(s.Label, ":")
			d.Slice(state, s.From, s.To, perfetto.Event{Name: s.Label, Category: what})
		}
		for k := range r.Streams {
			if len(r.Streams[k].Ops) > 0 {
				d.stream(d.Track(group, r.Streams[k].Name), r.Rank, r.Streams[k].Ops)
			}
		}
	}
}

// stream draws the operations of one.
func (d *drawing) stream(track perfetto.Track, rank int, ops []record.OpSlice) {
	for i := range ops {
		o := &ops[i]
		d.Begin(track, o.From, o.To, perfetto.Event{Name: o.Label, Category: o.Kind})
		if o.Came > o.From && o.Last != rank {
			d.Slice(track, o.From, o.Came, perfetto.Event{Name: fmt.Sprintf("waits for rank %d", o.Last), Category: "wait"})
		}
		d.End(track, o.To)
	}
}
