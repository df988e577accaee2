package figure

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/headline"
	"github.com/hopscope/hopscope/internal/visible"
	"gonum.org/v1/plot"
)

// Varied is a key along an axis.
type Varied struct {
	Title string
	Log   bool
	Ticks []float64              // its values; nil: the axis chooses
	Label func(v float64) string // a value as it is written
}

// Panel is a figure of runs over a key.
type Panel struct {
	Title  string
	Unit   headline.Unit
	Curves []Curve
}

// Curve is the medians of a figure over the values of a key, with ranges around them.
type Curve struct {
	Name           string
	Place          string // in the JSON
	X              []float64
	Mid, Low, High []float64
	Apart          bool // points that nothing joins
}

// Over draws figures over a key, one above the other; nil: there is no range of the key, or no curve.
func Over(name, title string, key Varied, panels []Panel) *Figure {
	from, to := math.Inf(1), math.Inf(-1)
	for _, p := range panels {
		for _, c := range p.Curves {
			for _, x := range c.X {
				from, to = min(from, x), max(to, x)
			}
		}
	}
	if !(to > from) {
		return nil
	}
	var list []panel
	for _, p := range panels {
		list = append(list, p.panel())
	}
	return chart(name, title, key.axis(from, to), list, 168)
}

// mostTicks is how many values of a key have a label each.
const mostTicks = 12

// axis is that of the key between two values, with a little room.
func (k Varied) axis(from, to float64) axis {
	room := 0.03 * (to - from)
	a := axis{title: k.Title, min: from - room, max: to + room}
	if k.Log {
		room = math.Pow(to/from, 0.03)
		a = logTime(k.Title, from/room, to*room, k.Label)
	}
	switch {
	case k.Ticks != nil && len(k.Ticks) <= mostTicks:
		a.ticks = nil
		last := math.Inf(-1)
		for _, v := range k.Ticks {
			t := plot.Tick{Value: v}
			if at := a.share(v); at-last > 0.06 { // labels must not lie on each other
				t.Label, last = k.Label(v), at
			}
			a.ticks = append(a.ticks, t)
		}
	case !k.Log:
		at, _ := steps(from, to, 8)
		for _, v := range at {
			a.ticks = append(a.ticks, plot.Tick{Value: v, Label: k.Label(v)})
		}
	}
	return a
}

// share is how far along the axis a value lies, from 0 to 1.
func (a *axis) share(v float64) float64 {
	if a.log {
		return math.Log(v/a.min) / math.Log(a.max/a.min)
	}
	return (v - a.min) / (a.max - a.min)
}

// closeBy is how close to the largest value the least is, as a part of it, for an axis that does not begin at 0.
const closeBy = 0.5

// logFrom is the ratio of values from which an axis is logarithmic.
const logFrom = 30

// panel has an axis from 0, or a logarithmic one where values are far apart.
func (p *Panel) panel() panel {
	least, most := math.Inf(1), 0.0
	for _, c := range p.Curves {
		for i := range c.Mid {
			least, most = min(least, c.Low[i]), max(most, c.High[i])
		}
	}
	unit, by := unitOf(p.Unit, most)
	out := panel{title: p.Title, class: "sweep", top: most}
	if unit != "" {
		out.title += " (" + unit + ")"
	}
	if least > 0 && most/least > logFrom {
		out.y = logTime("", least/by*0.8, most/by*1.25, func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) })
	} else {
		from := 0.0
		if least > most*closeBy { // else all curves lie flat at the top
			from = least - 0.3*(most-least)
		}
		out.y = linear("", from/by, (most+0.08*(most-from))/by, 5)
	}
	for i, c := range p.Curves {
		v := curve{name: c.Name, path: c.Place, colour: i, dots: true, bare: c.Apart, x: c.X}
		for k := range c.Mid {
			v.y = append(v.y, c.Mid[k]/by)
			v.low, v.high = append(v.low, c.Low[k]/by), append(v.high, c.High[k]/by)
			v.notes = append(v.notes, fmt.Sprintf("%s: %s", c.Name, p.Unit.Format(c.Mid[k])))
		}
		if slices.Equal(v.low, v.high) {
			v.low, v.high = nil, nil
		}
		out.curves = append(out.curves, v)
	}
	return out
}

// unitOf is the unit in which values up to most read best, and what to divide by.
func unitOf(u headline.Unit, most float64) (unit string, by float64) {
	switch u {
	case headline.Time:
		return scaled(most, timeUnits...)
	case headline.Rate:
		return scaled(most, rateUnits...)
	case headline.Size:
		return scaled(most, byteUnits...)
	case headline.Bandwidth:
		return "GB/s", 1
	}
	return "", 1
}

// Heat is a figure over two keys.
type Heat struct {
	Title          string // what the colours are
	XTitle, YTitle string
	X, Y           []string // the values of the keys
	Unit           headline.Unit
	Cells          [][]HeatCell // by Y, then X
}

// HeatCell is a combination of two values.
type HeatCell struct {
	Value float64
	Text  string // in place of a value that there is not: what became of it
	Path  string // of the value in the JSON
}

// Measures of heat maps in pixels.
const (
	heatRow    = 30.0
	heatLeft   = 170.0
	heatRight  = 150.0
	heatWidest = 130.0
	heatText   = 44.0 // of a cell at least, for its value to be written in it
	heatShades = 8
)

// HeatMap draws a figure over two keys as colours, darker for larger; nil: no cell has a value.
func HeatMap(name string, h Heat) *Figure {
	least, most := math.Inf(1), math.Inf(-1)
	for _, row := range h.Cells {
		for _, c := range row {
			if c.Text == "" {
				least, most = min(least, c.Value), max(most, c.Value)
			}
		}
	}
	if most < least {
		return nil
	}
	unit, by := unitOf(h.Unit, most)
	title := h.Title
	if unit != "" {
		title += " (" + unit + ")"
	}
	p := &pen{}
	p.text(heatLeft, 18, "title", title)
	p.text(heatLeft-10, 40, "axis-title", h.YTitle, "text-anchor", "end")
	wide := math.Min(heatWidest, (chartWidth-heatLeft-heatRight)/float64(len(h.X)))
	top := 48.0
	for i, row := range h.Cells {
		y := top + float64(len(h.Cells)-1-i)*heatRow // the first value lies at the bottom
		p.text(heatLeft-10, y+heatRow/2+4, "label", short(h.Y[i], 26), "text-anchor", "end")
		for k, c := range row {
			p.heatCell(heatLeft+float64(k)*wide, y, wide, c, shade(c.Value, least, most), h.X[k]+", "+h.Y[i], h.Unit, by)
		}
	}
	bottom := top + float64(len(h.Cells))*heatRow
	for k, x := range h.X {
		if every := int(math.Ceil(46 / wide)); k%every == 0 {
			p.text(heatLeft+(float64(k)+0.5)*wide, bottom+16, "label", short(x, max(4,
				int(wide*float64(every)/7))), "text-anchor", "middle")
		}
	}
	p.text(heatLeft+float64(len(h.X))*wide/2, bottom+36, "axis-title", h.XTitle, "text-anchor", "middle")
	p.shades(heatLeft+float64(len(h.X))*wide+24, top, h.Unit, least, most)
	height := math.Max(bottom+46, top+heatShades*16+30)
	return &Figure{Name: name, Title: h.Title + " over " + h.XTitle + " and " + h.YTitle, W: chartWidth,
		H: height, body: p.b.String()}
}

// shade is the number of a colour.
func shade(v, least, most float64) int {
	if most <= least {
		return heatShades / 2
	}
	return min(int(float64(heatShades)*(v-least)/(most-least)), heatShades-1)
}

// heatCell draws one.
func (p *pen) heatCell(x, y, w float64, c HeatCell, shade int, where string, unit headline.Unit, by float64) {
	p.open("g")
	defer p.close("g")
	if c.Text != "" {
		p.element("title", visible.Text(where+": "+c.Text))
		p.rect(x, y, w-1, heatRow-1, "nocell")
		p.text(x+w/2, y+heatRow/2+4, "muted", short(c.Text, int(w/6)), "text-anchor", "middle")
		return
	}
	p.element("title", visible.Text(where+": "+unit.Format(c.Value)))
	p.rect(x, y, w-1, heatRow-1, "h"+strconv.Itoa(shade), "data-path", c.Path, "data-value",
		strconv.FormatFloat(c.Value, 'g', -1, 64))
	if w >= heatText {
		class := "on"
		if shade >= heatShades/2 {
			class = "ondark"
		}
		p.text(x+w/2, y+heatRow/2+4, class, strconv.FormatFloat(c.Value/by, 'g', 4, 64), "text-anchor", "middle")
	}
}

// shades is the legend.
func (p *pen) shades(x, y float64, unit headline.Unit, least, most float64) {
	if most <= least {
		p.rect(x, y, 18, 14, "h"+strconv.Itoa(heatShades/2))
		p.text(x+26, y+11, "label", unit.Format(least))
		return
	}
	for k := range heatShades {
		at := y + float64(heatShades-1-k)*16
		p.rect(x, at, 18, 15, "h"+strconv.Itoa(k))
	}
	p.text(x+26, y+11, "label", unit.Format(most))
	p.text(x+26, y+float64(heatShades)*16-4, "label", unit.Format(least))
}

// Interval is a median with a range around it.
type Interval struct {
	Name           string
	Mid, Low, High float64
	Path           string // of the median in the JSON
}

// Intervals draws medians and ranges along one axis, a row each; nil: there is none.
func Intervals(name, title string, unit headline.Unit, rows []Interval) *Figure {
	most := 0.0
	for _, r := range rows {
		most = max(most, r.High)
	}
	if most <= 0 {
		return nil
	}
	word, by := unitOf(unit, most)
	p := &pen{}
	const left, right = 330.0, 130.0
	wide := chartWidth - left - right
	at := func(v float64) float64 { return left + wide*v/(most*1.02) }
	bottom := 30 + float64(len(rows))*rowHeight
	head := title
	if word != "" {
		head += " (" + word + ")"
	}
	p.text(left, 18, "title", head)
	ticks, _ := steps(0, most/by, 8)
	for _, v := range ticks {
		p.line(at(v*by), 26, at(v*by), bottom, "grid")
		p.text(at(v*by), bottom+14, "xt", strconv.FormatFloat(v+0, 'g', 4, 64), "text-anchor", "middle")
	}
	for i, r := range rows {
		y := 30 + (float64(i)+0.5)*rowHeight
		p.open("g")
		p.element("title", visible.Text(r.Name+": "+unit.Format(r.Mid)+", "+unit.Format(r.Low)+" to "+unit.Format(r.High)))
		p.text(left-10, y+4, "label", short(r.Name, 52), "text-anchor", "end")
		if r.High > r.Low {
			p.line(at(r.Low), y, at(r.High), y, "key s0")
		}
		p.rect(at(r.Mid)-4, y-4, 8, 8, "f0", "data-path", r.Path, "data-value", strconv.FormatFloat(r.Mid, 'g', -1, 64))
		p.text(at(r.High)+10, y+4, "label", unit.Format(r.Mid))
		p.close("g")
	}
	p.line(left, 26, left, bottom, "edge")
	return &Figure{Name: name, Title: title, W: chartWidth, H: bottom + 24, body: p.b.String()}
}
