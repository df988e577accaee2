// Package openmetrics writes the counters of a run over its time as OpenMetrics text
// (github.com/prometheus/OpenMetrics, specification/OpenMetrics.md), for promtool to make blocks of Prometheus'
// database of.
//
// Prometheus keeps milliseconds, and a run takes as long. So time is stretched: from one sample to the next it is a
// second, and a metric of its own says how much longer that is than in the run.
package openmetrics

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/counters"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Bounds of what is kept.
const (
	mostSamples = 1_000     // then every second one goes
	mostChanges = 4_000_000 // of all counters, likewise
	mostPairs   = 1_024     // queue pairs with metrics of their own
)

// freshFor is after how many samples a value that did not change is written again, so that rates over twice as long
// are 0, and not unknown.
const freshFor = 10

// Recorder keeps what snapshots of a run hold: for each counter when it changed, and to what.
type Recorder struct {
	exporter *counters.Exporter
	every    units.Time // from one sample to the next: sample k is at k times that
	first    int64      // number of the first sample; -1: none was taken
	last     int64      // of the last
	changes  int
	columns  map[column]*values
	pairs    map[record.Place]bool // those with metrics of their own
	without  map[record.Place]bool // those without
	own      map[owned]string      // labels
	families []*counters.Family    // hopscope's own
	shown    int64                 // number of the last snapshot, up to which gauges are known
}

// column is a series: the labels are text.
type column struct {
	family *counters.Family
	labels string
}

// values are those of a series.
type values struct {
	at    []int64 // numbers of samples at which it changed; 0 before the first
	value []int64
}

// owned is what a label of hopscope's own metrics is made of.
type owned struct {
	place record.Place
	peer  record.Place
}

// NewRecorder returns one for snapshots that are so far apart, at multiples of that.
func NewRecorder(every units.Time) *Recorder {
	c := &Recorder{exporter: counters.NewExporter(), every: every, first: -1, columns: map[column]*values{},
		pairs: map[record.Place]bool{}, without: map[record.Place]bool{}, own: map[owned]string{}}
	for _, f := range families {
		c.families = append(c.families, &f)
	}
	return c
}

// Take keeps a snapshot. It reports whether it wants half as many from now on; see run.SnapshotOptions.
func (c *Recorder) Take(s *record.Snapshot) (half bool) {
	k := int64(s.At / c.every)
	c.sample(k, s.Run)
	for i := range s.Gauges {
		g := &s.Gauges[i]
		if which, known := gauges[g.Quantity]; known && c.listed(g.Place) {
			c.set(k, c.families[which], c.labels(owned{place: g.Place}), g.Value)
		}
	}
	c.shown = k
	if c.last-c.first+1 < mostSamples && c.changes < mostChanges {
		return false
	}
	c.fold()
	return true
}

// sample keeps the counters of a run at sample k.
func (c *Recorder) sample(k int64, r *record.Run) {
	if c.first < 0 {
		c.first = k
	}
	c.last = k
	c.exporter.Points(r, func(f *counters.Family, labels string, n int64) { c.set(k, f, labels, n) })
	for i := range r.QPs {
		q := &r.QPs[i]
		if !c.listed(q.Place()) {
			continue
		}
		labels := c.labels(owned{q.Place(), q.Peer})
		c.set(k, c.families[pairSent], labels, q.SentBytes)
		c.set(k, c.families[pairDelivered], labels, q.DeliveredBytes)
		c.set(k, c.families[pairAgain], labels, q.Retransmitted)
		c.set(k, c.families[pairTimeouts], labels, q.Timeouts)
	}
}

// listed reports whether a place has metrics of its own: of queue pairs the first do.
func (c *Recorder) listed(p record.Place) bool {
	if p.Kind != catalog.AtQueuePair && p.Kind != catalog.AtConnection || c.pairs[p] {
		return true
	}
	if len(c.pairs) == mostPairs {
		c.without[p] = true
		return false
	}
	c.pairs[p] = true
	return true
}

// set notes the value of a series at sample k.
func (c *Recorder) set(k int64, f *counters.Family, labels string, n int64) {
	v := c.columns[column{f, labels}]
	if v == nil {
		v = &values{}
		c.columns[column{f, labels}] = v
	}
	if last := len(v.value) - 1; last < 0 && n == 0 || last >= 0 && v.value[last] == n {
		return
	}
	v.at, v.value = append(v.at, k), append(v.value, n)
	c.changes++
}

// fold leaves out the samples of odd numbers.
func (c *Recorder) fold() {
	c.every *= 2
	c.first, c.last, c.shown, c.changes = (c.first+1)/2, c.last/2, c.shown/2, 0
	for _, v := range c.columns {
		v.fold()
		c.changes += len(v.at)
	}
}

// fold has what changed at a sample that goes change at the next.
func (v *values) fold() {
	n := 0
	for i := range v.at {
		at := (v.at[i] + 1) / 2
		if n > 0 && v.at[n-1] == at {
			n--
		}
		if last := int64(0); n > 0 && v.value[n-1] == v.value[i] || n == 0 && v.value[i] == last {
			continue
		}
		v.at[n], v.value[n] = at, v.value[i]
		n++
	}
	v.at, v.value = v.at[:n], v.value[:n]
}

// Finish takes the last sample, of what the whole run has counted, and what follows from its messages.
func (c *Recorder) Finish(r *record.Run) {
	end := int64(r.EndPS/c.every) + 1
	for _, v := range c.columns { // a run that was folded at its very end may have samples behind it
		for len(v.at) > 0 && v.at[len(v.at)-1] > end {
			v.at, v.value = v.at[:len(v.at)-1], v.value[:len(v.value)-1]
		}
	}
	c.sample(end, r)
	c.exporter.Requests(r, func(f *counters.Family, labels string, messages []*record.Message) {
		times := make([]int64, len(messages))
		for i, m := range messages {
			times[i] = min(int64((m.StartPS+m.CompletionPS)/c.every)+1, end) // the first sample behind it
		}
		slices.Sort(times)
		c.set(c.first, f, labels, 0)
		for i, k := range times {
			if i+1 == len(times) || times[i+1] != k {
				c.set(k, f, labels, int64(i+1))
			}
		}
	})
	c.jobs(r, end)
	stretch := int64(math.Round(float64(units.Second) / float64(c.every)))
	c.set(c.first, c.families[timeStretch], "", max(stretch, 1))
	c.set(c.first, c.families[runInfo], counters.Label("scenario", r.Scenario)+","+counters.Label("stack", r.Stack)+","+
		counters.Label("seed", fmt.Sprint(r.Seed)), 1)
}

// jobs tells of the steps of jobs as they end, and at the end where the time of ranks went.
func (c *Recorder) jobs(r *record.Run, end int64) {
	figures := metrics.Jobs(r)
	for i := range r.Jobs {
		job, f := counters.Label("job", r.Jobs[i].Workload), &figures[i]
		at := r.Jobs[i].StartPS
		for n, d := range metrics.StepTimes(&r.Jobs[i]) {
			at += d
			k := min(int64(at/c.every)+1, end)
			c.put(k, c.families[jobSteps], job, int64(n+1))
			c.put(k, c.families[jobStep], job, int64(d/units.Nanosecond))
		}
		for _, x := range []struct {
			doing string
			time  units.Time
		}{{record.JobComputes, f.ComputePS}, {record.JobExposed, f.ExposedPS}, {record.JobCopies, f.CopyPS},
			{record.JobHost, f.HostPS}, {record.JobWaits, f.WaitPS},
			{record.JobMessage, f.BubblePS}, {record.JobIdle, f.OverPS}} {
			if f.Whole() {
				c.set(end, c.families[jobTime], job+","+counters.Label("doing", x.doing), int64(x.time/units.Nanosecond))
			}
		}
	}
}

// put is set, which a later value at the same sample replaces.
func (c *Recorder) put(k int64, f *counters.Family, labels string, n int64) {
	if v := c.columns[column{f, labels}]; v != nil {
		if last := len(v.at) - 1; last >= 0 && v.at[last] == k {
			v.value[last] = n
			return
		}
	}
	c.set(k, f, labels, n)
}

// LeftOut says what is not there, in words.
func (c *Recorder) LeftOut(asked units.Time) []string {
	left := []string{counters.LeftOut}
	if c.every > asked {
		left = append(left, fmt.Sprintf("samples between those every %v: so many are kept", c.every))
	}
	if n := len(c.without); n > 0 {
		left = append(left, fmt.Sprintf("the metrics of %d of %d queue pairs", n, n+len(c.pairs)))
	}
	return left
}

// Write writes all series, metric by metric and in order of time.
func (c *Recorder) Write(to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<16)
	list := make([]column, 0, len(c.columns))
	for x := range c.columns {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b column) int {
		return cmp.Or(cmp.Compare(a.family.Name, b.family.Name), cmp.Compare(a.labels, b.labels))
	})
	for i, x := range list {
		if i == 0 || list[i-1].family != x.family {
			head(w, x.family)
		}
		name := x.family.Name
		if x.labels != "" {
			name += "{" + x.labels + "}"
		}
		v, last := c.columns[x], c.last
		switch {
		case x.family.Type != "gauge":
			v.settle()
		case slices.Index(c.families, x.family) >= queueBytes:
			last = c.shown
		}
		v.each(c.first, last, func(k, n int64) { fmt.Fprintf(w, "%s %d %d\n", name, n, k) })
	}
	fmt.Fprintln(w, "# EOF")
	return w.Flush()
}

// head writes what a metric is. Of a type that is not known, which is what exporters say of ethtool's counters,
// nothing is said.
func head(w io.Writer, f *counters.Family) {
	name := f.Name
	if f.Type == "counter" {
		name = name[:len(name)-len("_total")]
	}
	if f.Type != "" {
		fmt.Fprintf(w, "# TYPE %s %s\n", name, f.Type)
	}
	if f.Unit != "" {
		fmt.Fprintf(w, "# UNIT %s %s\n", name, f.Unit)
	}
	fmt.Fprintf(w, "# HELP %s %s\n", name, f.Help)
}

// settle has a counter never go back: what counted as received while it was on a link that then lost it had not been.
func (v *values) settle() {
	for i := len(v.value) - 2; i >= 0; i-- {
		v.value[i] = min(v.value[i], v.value[i+1])
	}
}

// each calls yield with the samples to write, from one number to another: where the value changes, the last before
// that, and those in between that keep it fresh.
func (v *values) each(first, last int64, yield func(k, n int64)) {
	next, n := sort.Search(len(v.at), func(i int) bool { return v.at[i] > first }), int64(0)
	if next > 0 {
		n = v.value[next-1]
	}
	for k := first; k <= last; {
		until := last + 1
		if next < len(v.at) {
			until = min(v.at[next], until)
		}
		for ; k < until; k += freshFor {
			yield(k, n)
			if k < until-1 && k+freshFor >= until {
				yield(until-1, n)
			}
		}
		if k = until; next < len(v.at) {
			n = v.value[next]
			next++
		}
	}
}
