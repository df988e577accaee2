package compare

import (
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// drawn is what a page draws of a run and a comparison else has no use for.
type drawn struct {
	completions []units.Time
	timeline    *record.Timeline
}

// drawnOf is empty unless the run was asked for the samples of a page.
func drawnOf(r *record.Run) (d drawn) {
	if r.Timeline == nil {
		return d
	}
	for i := range r.Messages {
		if metrics.Completed(&r.Messages[i]) {
			d.completions = append(d.completions, r.Messages[i].CompletionPS)
		}
	}
	d.completions = metrics.Thin(d.completions)
	t := *r.Timeline
	t.Curves, t.LeftOut = []record.TimeCurve{}, []string{}
	for _, q := range []record.Quantity{record.SeriesQueue, record.SeriesPaused, record.SeriesRate, record.SeriesWindow,
		record.SeriesGoodput} {
		if c := worstCurve(r, q); c != nil {
			t.Curves = append(t.Curves, *c)
		}
	}
	d.timeline = &t
	return d
}

// worstCurve is the one of a quantity that stands for a run beside others: of ports the deepest
// queue or that which was paused longest, else that of the slowest message; nil: there is none.
func worstCurve(r *record.Run, q record.Quantity) (best *record.TimeCurve) {
	slow, most := metrics.Slowest(r), int64(-1)
	for i := range r.Timeline.Curves {
		c := &r.Timeline.Curves[i]
		if c.Quantity != q {
			continue
		}
		weight := int64(0)
		switch {
		case q == record.SeriesQueue:
			weight = c.Most()
		case q == record.SeriesPaused:
			c.Values(0, r.Timeline.Samples, func(v int64) { weight += v })
		case slow != nil && record.HostOf(slow.Src) == c.Node && slow.QP == c.QP:
			weight = 1
		}
		if weight > most {
			best, most = c, weight
		}
	}
	return best
}
