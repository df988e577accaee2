package metrics

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// What is said of a message does not change by what starts after its end: who shared a port
// with it is who had messages under way while it was.

// underWay is when the messages were under way whose data each queue pair sends.
type underWay struct {
	once  sync.Once
	spans [][]stretch // by index into QPs, in order of their start
}

// stretch is the time of a message: its start, and the latest end of it and those before it.
type stretch struct{ from, latest units.Time }

// endOf is when the last of a message had arrived and it was complete: the end of the run for
// one that is open.
func (x *index) endOf(f *record.Message) units.Time {
	if f.CompletionPS < 0 {
		return x.r.EndPS
	}
	return f.StartPS + max(f.CompletionPS, f.DeliveredPS)
}

// sending reports whether queue pair k sent data of messages that were under way in the time
// that is asked about; without one, in the run.
func (x *index) sending(k int32) bool {
	w := &x.together.underWay
	w.once.Do(func() {
		w.spans = make([][]stretch, len(x.r.QPs))
		for i := range x.r.Messages {
			f := &x.r.Messages[i]
			if n, ok := x.sender(f); ok {
				w.spans[n] = append(w.spans[n], stretch{f.StartPS, x.endOf(f)})
			}
		}
		for _, all := range w.spans {
			slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
			for i := 1; i < len(all); i++ {
				all[i].latest = max(all[i].latest, all[i-1].latest)
			}
		}
	})
	from, to := x.known.from, x.known.to
	if to == 0 {
		to = x.r.EndPS
	}
	all := w.spans[k]
	n := sort.Search(len(all), func(i int) bool { return all[i].from >= to })
	return n > 0 && all[n-1].latest > from
}

// beside counts the queue pairs other than q that sent data through a port, in q's class or
// with all in any, in the time that is asked about.
func (x *index) beside(port record.PortID, q *record.QP, all bool) (n int64) {
	for _, k := range x.out(port) {
		o := &x.r.QPs[k]
		if o != q && (all || o.Limits.Class == q.Limits.Class) && x.sending(k) {
			n++
		}
	}
	return n
}

// done reports whether someone had done something by the end of the time that is asked about.
func (x *index) done(m catalog.Mechanism, by record.Place) bool {
	a, to := x.acts[actKey{m, by}], x.known.to
	return a.Count > 0 && (to == 0 || a.First <= to)
}

// witnessed reports whether the run wrote down what the packets of messages met. What it does
// not tell of a message then did not happen to it.
func (x *index) witnessed() bool { return x.r.Evidence != nil && x.r.Evidence.Meetings != nil }
