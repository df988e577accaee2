package figure

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// quantityOf says how a quantity is drawn.
type quantityOf struct {
	of       record.Quantity
	title    string
	units    []string
	interval bool // a value is of the time since the sample before
}

// Quantities of a timeline, in the order of its panels.
var quantities = []quantityOf{
	{record.SeriesQueue, "queue", byteUnits, true},
	{record.SeriesPaused, "paused", nil, true},
	{record.SeriesRate, "rate allowed", rateUnits, false},
	{record.SeriesWindow, "window", byteUnits, false},
	{record.SeriesGoodput, "goodput", rateUnits, true},
}

// value is a sample as it is drawn, before it is scaled: bytes, bit/s, or percent.
func (q *quantityOf) value(t *record.Timeline, v int64) float64 {
	switch q.of {
	case record.SeriesPaused:
		return 100 * float64(v) / float64(t.EveryPS)
	case record.SeriesGoodput:
		return float64(v) * 8 / float64(t.EveryPS) * float64(units.Second)
	}
	return float64(v)
}

// Timeline is the samples of a run, with its place in the JSON and, among several, its name.
type Timeline struct {
	Name, Place string
	*record.Timeline
}

// Timelines draws samples, quantity by quantity along one axis of time that begins with the first
// post, all quantities or one; nil: there are none. Of several runs each has its colour.
func Timelines(list []Timeline, of ...record.Quantity) *Figure {
	list = slices.DeleteFunc(slices.Clone(list), func(t Timeline) bool { return t.Timeline == nil || t.Samples < 2 })
	if len(list) == 0 {
		return nil
	}
	from, to := list[0].Time(0), units.Time(0)
	for _, t := range list {
		from, to = min(from, t.Time(0)), max(to, t.Time(t.Samples-1))
	}
	until := Until(list)
	x, by := timeAxis(from, until)
	var panels []panel
	name := "timeline"
	for i := range quantities {
		q := quantities[i]
		if len(of) > 0 && of[0] != q.of {
			continue
		}
		if len(of) > 0 {
			name = string(q.of)
		}
		if p, ok := q.panel(list, by); ok {
			panels = append(panels, p)
		}
	}
	if len(panels) == 0 {
		return nil
	}
	return chart(name, "Queues, pauses, rates and windows over time, along one axis", x, panels, panelHeight,
		"data-from", strconv.FormatInt(int64(from), 10), "data-to", strconv.FormatInt(int64(to), 10),
		"data-until", strconv.FormatInt(int64(until), 10))
}

// Until is up to when several timelines are drawn at first: where one goes on for several times
// as long as most do, only so far that these can be seen.
func Until(list []Timeline) units.Time {
	var ends []units.Time
	for _, t := range list {
		if t.Timeline != nil {
			ends = append(ends, t.Time(t.Samples-1))
		}
	}
	return shown(ends)
}

// shown is how long an axis is on which times stand beside each other: where one is several times
// as long as most, only so long that these can be seen.
func shown(times []units.Time) units.Time {
	if len(times) == 0 {
		return 0
	}
	times = slices.Sorted(slices.Values(times))
	most, last := times[(len(times)-1)*3/4], times[len(times)-1]
	if last > 4*most && most > 0 {
		return most + most/2
	}
	return last
}

// timeAxis is a linear axis of time in its own unit; by is that in picoseconds.
func timeAxis(from, to units.Time) (x axis, by float64) {
	unit, by := scaled(float64(to), timeUnits...)
	return linear(fmt.Sprintf("time after the first post (%s)", unit), float64(from)/by, float64(to)/by, 10), by
}

// panel draws the curves of one quantity.
func (q *quantityOf) panel(list []Timeline, by float64) (p panel, ok bool) {
	largest := 0.0
	for _, t := range list {
		for i := range t.Curves {
			if c := &t.Curves[i]; c.Quantity == q.of {
				ok = true
				most := q.value(t.Timeline, c.Most())
				if line := float64(c.LineBps); q.of == record.SeriesGoodput && line > 0 {
					most = min(most, line)
				}
				largest = max(largest, most)
			}
		}
	}
	if !ok {
		return p, false
	}
	unit, div := "% of the time", 1.0
	if q.units != nil {
		unit, div = scaled(largest, q.units...)
	}
	p.title = fmt.Sprintf("%s (%s)", q.title, unit)
	p.class = string(q.of)
	p.y = linear("", 0, largest/div*1.04, 4)
	if q.of == record.SeriesPaused {
		p.y = linear("", 0, 100, 5)
	}
	p.top = p.y.max * div
	for k, t := range list {
		for i := range t.Curves {
			c := &t.Curves[i]
			if c.Quantity != q.of {
				continue
			}
			v := curve{name: CurveName(c), path: t.Place + "/curves/" + strconv.Itoa(i), colour: len(p.curves), step: true}
			if len(list) > 1 {
				v.name, v.colour, v.title = t.Name, k, CurveName(c)
			}
			v.x, v.y = q.points(t.Timeline, c, by, div)
			p.curves = append(p.curves, v)
		}
	}
	return p, true
}

// bins is about how many parts of the time sums are drawn of: of more, several samples are one.
const bins = 140

// points are where a curve changes, and its ends.
func (q *quantityOf) points(t *record.Timeline, c *record.TimeCurve, by, div float64) (x,
	y []float64) {
	now := func(sample int) float64 { return float64(t.Time(max(0, sample))) / by }
	if q.of == record.SeriesPaused || q.of == record.SeriesGoodput {
		line := 0.0
		if q.of == record.SeriesGoodput {
			line = float64(c.LineBps)
		}
		for _, b := range q.averages(t, c, line) {
			x, y = append(x, now(b.from-1)), append(y, b.value(q, t)/div)
		}
		return append(x, now(t.Samples-1)), append(y, y[len(y)-1])
	}
	shift := 0
	if q.interval {
		shift = -1
	}
	last := 0.0
	x, y = append(x, now(0)), append(y, 0)
	for k, at := range c.At {
		last = min(q.value(t, c.Value[k])/div, 1e15)
		x, y = append(x, now(int(at)+shift)), append(y, last)
	}
	return append(x, now(t.Samples-1)), append(y, last)
}

// average is what n samples from one on come to together.
type average struct {
	from, n int
	sum     int64
}

func (a *average) value(q *quantityOf, t *record.Timeline) float64 {
	return q.value(t, a.sum) / float64(a.n)
}

// averages are of parts of the time. When a gap closes, what came in behind it is released in order at
// once: such a part is as long as that took to come in at the rate of the line; 0: none is known.
func (q *quantityOf) averages(t *record.Timeline, c *record.TimeCurve, line float64) (out []average) {
	bin := max(1, (t.Samples-1)/bins)
	for s := 0; s < t.Samples; s += bin {
		a := average{from: s}
		c.Values(s, min(s+bin, t.Samples), func(v int64) { a.n, a.sum = a.n+1, a.sum+v })
		for line > 0 && len(out) > 0 && a.value(q, t) > line {
			before := out[len(out)-1]
			out = out[:len(out)-1]
			a = average{before.from, before.n + a.n, before.sum + a.sum}
		}
		out = append(out, a)
	}
	return out
}

// CurveName is how a legend names a curve.
func CurveName(c *record.TimeCurve) string {
	if c.Quantity.PerPort() {
		return fmt.Sprintf("%s → %s (%d)", record.PortName(c.Node, c.Port), record.NodeOf(c.Peer), c.Class)
	}
	return fmt.Sprintf("%s qp %d → %s", c.Node, c.QP, c.Peer)
}
