package timeline

import (
	"container/heap"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/perfetto"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// way is when a message was posted, had arrived at its peer (-1: it did not, or that is not known) and was over at
// who posted it (-1: it was open).
type way struct{ posted, arrived, done units.Time }

// wayOf is that of a message with its account.
func (d *drawing) wayOf(m *record.Message, a record.Account) way {
	w := way{m.StartPS, -1, -1}
	if m.CompletionPS >= 0 {
		w.done = m.StartPS + m.CompletionPS
	}
	there := m.StartPS // when the account's first leg was over
	for i := range a {
		if a[i].Stage.Leg() != catalog.LegThere {
			w.arrived = there
			break
		}
		there += a[i].Time
	}
	_, known := d.peers[end{record.HostOf(m.Src), m.QP}]
	switch {
	case !known:
		w.arrived = -1
	case m.DeliveredPS > 0:
		w.arrived = m.StartPS + m.DeliveredPS
	case m.DeliveredPS < 0 || m.Status != "success":
		w.arrived = -1
	case w.arrived < 0: // it is over when its bytes are in the peer's memory
		w.arrived = w.done
	}
	return w
}

// arrow is the number of a message's arrow, which leads from its post by its arrival to its completion, or the other
// way round where that comes first; 0: it has no second end. What comes in the same nanosecond has no order on a
// timeline: then the arrival is the end.
func (w *way) arrow(m *record.Message) uint64 {
	if w.arrived < 0 && w.done < 0 {
		return 0
	}
	return uint64(m.Number) + 1
}

// together reports whether arrival and completion come in the same nanosecond.
func (w *way) together() bool {
	return w.arrived >= 0 && w.done >= 0 && w.arrived/units.Nanosecond == w.done/units.Nanosecond
}

// shown reports whether a message is drawn: it was posted, and is one of the first.
func (d *drawing) shown(m *record.Message) bool {
	return m.Number < mostMessages && (m.CompletionPS >= 0 || m.OpenPS > 0)
}

// messages draws the messages that a queue pair posted, each with the stages of its account, side by side where they
// overlap.
func (d *drawing) messages(parent perfetto.Track, list []int32) {
	var free rows
	var account record.Account
	for _, k := range list {
		m := &d.r.Messages[k]
		account = m.Account.Append(account[:0])
		if !d.shown(m) {
			continue
		}
		from, to := m.StartPS, m.StartPS+m.Life()
		track := free.take(from, to, func() perfetto.Track { return d.Track(parent, "messages") })
		w := d.wayOf(m, account)
		e := perfetto.Event{Name: m.Verb + " " + metrics.FormatBytes(m.Bytes) + " to " + m.Dst, Category: "message",
			Notes: []perfetto.Note{{Name: "message", Number: int64(m.Number)}, {Name: "bytes", Number: m.Bytes},
				{Name: "status", Text: m.Status}, {Name: "src", Text: m.Src}, {Name: "workload", Text: m.Workload}}}
		if id := w.arrow(m); id != 0 {
			e.Flows = []uint64{id}
		}
		d.Begin(track, from, to, e)
		at := from
		for i := range account {
			s := &account[i]
			d.Slice(track, at, at+s.Time, perfetto.Event{Name: s.Stage.String(), Category: category(s.Stage), Notes: where(s)})
			at += s.Time
		}
		if w.done >= 0 {
			e := w.event(m, "completion", w.done > w.arrived)
			if w.together() {
				e.Flows, e.Ends = nil, nil
			}
			d.Instant(track, w.done, e)
		}
		d.End(track, to)
	}
}

// where is the annotation that says where a stage passed.
func where(s *record.StageTime) []perfetto.Note {
	if s.Where == nil {
		return nil
	}
	return []perfetto.Note{{Name: "where", Text: s.Where.String()}}
}

// event is one end of a message's way, the last or another.
func (w *way) event(m *record.Message, name string, last bool) perfetto.Event {
	e := perfetto.Event{Name: name, Category: "message"}
	e.Notes = []perfetto.Note{{Name: "message", Number: int64(m.Number)}}
	if last {
		e.Ends = []uint64{w.arrow(m)}
	} else {
		e.Flows = []uint64{w.arrow(m)}
	}
	return e
}

// arrivals draws when messages had come to a queue pair.
func (d *drawing) arrivals(parent perfetto.Track, list []int32) {
	var track perfetto.Track
	var account record.Account
	for _, k := range list {
		m := &d.r.Messages[k]
		account = m.Account.Append(account[:0])
		w := d.wayOf(m, account)
		if w.arrived < 0 || !d.shown(m) {
			continue
		}
		if track == 0 {
			track = d.Track(parent, "arrivals")
		}
		d.Instant(track, w.arrived, w.event(m, m.Verb+" from "+m.Src, w.done <= w.arrived || w.together()))
	}
}

// rows are tracks for slices that may overlap, by when each is free.
type rows struct{ list []row }

type row struct {
	free  units.Time
	track perfetto.Track
}

// take returns a track that is free from a time on, for a slice that ends at another, and makes one if there is none.
func (r *rows) take(from, to units.Time, more func() perfetto.Track) perfetto.Track {
	if len(r.list) > 0 && r.list[0].free <= from {
		r.list[0].free = to
		track := r.list[0].track
		heap.Fix(r, 0)
		return track
	}
	track := more()
	heap.Push(r, row{to, track})
	return track
}

func (r *rows) Len() int { return len(r.list) }
func (r *rows) Less(i, j int) bool {
	return r.list[i].free < r.list[j].free || r.list[i].free == r.list[j].free && r.list[i].track < r.list[j].track
}
func (r *rows) Swap(i, j int) { r.list[i], r.list[j] = r.list[j], r.list[i] }
func (r *rows) Push(x any)    { r.list = append(r.list, x.(row)) }
func (r *rows) Pop() any {
	last := r.list[len(r.list)-1]
	r.list = r.list[:len(r.list)-1]
	return last
}
