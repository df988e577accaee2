package compare

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Spread is a figure over the seeds that have one: the median (the lower of the
// two in the middle, so that it is one run's value), the least and the largest.
// N is 0 when no run has a value.
type Spread[T cmp.Ordered] struct {
	N      int `json:"n"`
	Median T   `json:"median"`
	Min    T   `json:"min"`
	Max    T   `json:"max"`
}

func spread[T cmp.Ordered](v []T) Spread[T] {
	if len(v) == 0 {
		return Spread[T]{}
	}
	v = slices.Clone(v)
	slices.Sort(v)
	return Spread[T]{N: len(v), Median: v[(len(v)-1)/2], Min: v[0], Max: v[len(v)-1]}
}

// figures are one run's numbers; those behind a flag may be missing.
type figures struct {
	messages        metrics.Messages
	calls           metrics.Quantiles // latency of remote procedure calls
	totals          metrics.Totals
	peak            int64
	jain            float64
	over            int  // queue pairs that jain compares, at least 2
	compared        bool // jain and over hold
	wire, delivered int64
	core            units.Time
	copied          int64
	inside          *inside
	collectives     []metrics.Collective
	jobs            []metrics.JobFigures
}

func figuresOf(r *record.Run, s *metrics.Summary) figures {
	f := figures{messages: s.Messages, calls: metrics.CallLatency(r), totals: s.Totals, wire: s.Totals.HostWireBytes,
		delivered: s.Totals.Delivered,
		inside:    insideOf(r), collectives: s.Collectives, jobs: s.Jobs}
	for i := range r.Ports {
		f.peak = max(f.peak, r.Ports[i].PeakQueueBytes)
	}
	for i := range r.Processors {
		f.core += r.Processors[i].TotalPS()
		f.copied += r.Processors[i].CopiedBytes
	}
	if len(s.Fairness) > 0 && s.Fairness[0].Workload == "" {
		f.jain, f.over, f.compared = s.Fairness[0].Jain, s.Fairness[0].Over, true
	}
	return f
}

// collect is the spread of what get returns for the runs that have it.
func collect[T cmp.Ordered](runs []*outcome, get func(*figures) (T, bool)) Spread[T] {
	var v []T
	for _, o := range runs {
		if x, ok := get(&o.figures); ok {
			v = append(v, x)
		}
	}
	return spread(v)
}

// always is collect for what every run has.
func always[T cmp.Ordered](runs []*outcome, get func(*figures) T) Spread[T] {
	return collect(runs, func(f *figures) (T, bool) { return get(f), true })
}

func spreads(runs []*outcome) Figures {
	completion := func(pick func(metrics.Quantiles) int64) Spread[units.Time] {
		return collect(runs, func(f *figures) (units.Time, bool) {
			return units.Time(pick(f.messages.CompletionPS)), f.messages.Completed > 0
		})
	}
	call := func(pick func(metrics.Quantiles) int64) Spread[units.Time] {
		return collect(runs, func(f *figures) (units.Time, bool) { return units.Time(pick(f.calls)), f.calls.N > 0 })
	}
	return Figures{
		Inside: insides(runs), Collectives: collectives(runs), Jobs: jobs(runs),
		Messages:  always(runs, func(f *figures) int64 { return int64(f.messages.Messages) }),
		Completed: always(runs, func(f *figures) int64 { return int64(f.messages.Completed) }),
		Lost:      always(runs, func(f *figures) int64 { return int64(f.messages.Lost) }),
		Failed:    always(runs, func(f *figures) int64 { return int64(f.messages.Failed) }),
		Open:      always(runs, func(f *figures) int64 { return int64(f.messages.Open) }),
		P50PS:     completion(func(q metrics.Quantiles) int64 { return q.P50 }),
		P99PS:     completion(func(q metrics.Quantiles) int64 { return q.P99 }),
		MaxPS:     completion(func(q metrics.Quantiles) int64 { return q.Worst }),
		CallP50PS: call(func(q metrics.Quantiles) int64 { return q.P50 }),
		CallP99PS: call(func(q metrics.Quantiles) int64 { return q.P99 }),
		GoodputBps: collect(runs, func(f *figures) (units.Rate, bool) {
			return f.messages.GoodputBps, f.messages.Completed > 0
		}),
		Jain:      collect(runs, func(f *figures) (float64, bool) { return f.jain, f.compared }),
		PeakQueue: always(runs, func(f *figures) int64 { return f.peak }),
		HeldPS:    always(runs, func(f *figures) units.Time { return f.totals.HeldPS }),
		Pauses:    always(runs, func(f *figures) int64 { return f.totals.PausesSent }),
		Marked:    always(runs, func(f *figures) int64 { return f.totals.Marked }),
		Dropped:   always(runs, func(f *figures) int64 { return f.totals.Dropped }),
		Resent:    always(runs, func(f *figures) int64 { return f.totals.ResentBytes }),
		Timeouts:  always(runs, func(f *figures) int64 { return f.totals.Timeouts }),
		CorePS:    always(runs, func(f *figures) units.Time { return f.core }),
		Copied:    always(runs, func(f *figures) int64 { return f.copied }),
		WireRatio: collect(runs, func(f *figures) (float64, bool) {
			return float64(f.wire) / float64(max(f.delivered, 1)), f.delivered > 0
		}),
	}
}

// answer condenses what the runs of one stack say on question number q.
func answer(q int, runs []*outcome) Answer {
	a := Answer{Question: catalog.Questions[q]}
	var mechanisms []catalog.Mechanism
	for _, o := range runs {
		if got := &o.summary.Answers[q]; got.Happened {
			a.Happened++
			mechanisms = append(mechanisms, got.Mechanisms[0].Mechanism)
		}
	}
	if a.Happened == 0 {
		a.Why = runs[0].summary.Answers[q].Why
		return a
	}
	a.Mechanism, _ = mostFrequent(mechanisms)
	var actors []record.Place
	var first, span, held []units.Time
	var count []int64
	for _, o := range runs {
		got := &o.summary.Answers[q]
		if !got.Happened || got.Mechanisms[0].Mechanism != a.Mechanism {
			continue
		}
		m := &got.Mechanisms[0]
		actors = append(actors, m.Actor)
		first = append(first, m.First-o.base)
		span = append(span, m.Last-m.First)
		count = append(count, m.Count)
		if m.Mechanism.Holds() {
			held = append(held, units.Time(m.Sum))
		}
	}
	a.Actor, a.First = mostFrequent(actors)
	a.FirstPS, a.Count, a.SpanPS, a.HeldPS = spread(first), spread(count), spread(span), spread(held)
	return a
}

// mostFrequent returns the value that occurs most often, the earliest of those
// that tie, and how often.
func mostFrequent[T comparable](v []T) (best T, times int) {
	for i, x := range v {
		n := 0
		for _, y := range v[i:] {
			if x == y {
				n++
			}
		}
		if n > times {
			best, times = x, n
		}
	}
	return best, times
}
