package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/visible"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Measures of charts in pixels.
const (
	chartWidth  = 1100.0
	panelHeight = 132.0
	titleHeight = 26.0
	axisHeight  = 42.0
	legendWidth = 236.0
	legendLine  = 14.5
	fontSize    = 11
	// Inside a panel a pixel has so many units, so that paths need no decimals.
	fine = 10
	// colours is how many a chart tells apart.
	colours = 8
)

// axis is one quantity along an edge.
type axis struct {
	title    string
	min, max float64
	log      bool
	ticks    []plot.Tick
	invert   bool // the largest at the bottom
}

// curve is a line of a chart.
type curve struct {
	name, path string // its name in the legend, and its place in the JSON
	title      string // more than its name
	x, y       []float64
	step       bool // from a point level to the next, and then up or down
	attrs      []string
	colour     int
	dashed     bool
	dots       bool // mark the points
	bare       bool // and nothing else
	// Between low and high lies a band; nil: there is none.
	low, high []float64
	notes     []string // what the points say
}

// panel is a plot area with its curves.
type panel struct {
	title  string
	y      axis
	curves []curve
	class  string
	top    float64 // the largest value of the axis, unscaled
}

// chart draws panels above one another along one axis x.
func chart(name, title string, x axis, panels []panel, height float64, attrs ...string) *Figure {
	n := float64(len(panels))
	f := &Figure{Name: name, Title: title, W: chartWidth, H: n*(height+titleHeight) + axisHeight, attrs: attrs}
	c := &canvas{pen: &pen{}, w: f.W, h: f.H}
	whole := draw.New(c)
	// All plot areas begin where that with the longest labels does.
	left := vg.Length(0)
	plots := make([]*plot.Plot, len(panels))
	for i := range panels {
		plots[i] = newPlot(x, panels[i].y, i == len(panels)-1)
		left = max(left, plots[i].DataCanvas(whole).Min.X)
	}
	for i := range panels {
		top := float64(i) * (height + titleHeight)
		bottom := f.H - top - titleHeight - height - float64(plots[i].DataCanvas(whole).Min.Y)
		area := draw.Crop(whole, 0, -legendWidth, vg.Length(bottom), vg.Length(-top-titleHeight))
		own := plots[i].DataCanvas(area).Min.X
		area = draw.Crop(area, left-own, 0, 0, 0)
		plots[i].Add(&lines{&panels[i], c})
		c.open("g", "class", strings.TrimSpace("panel "+panels[i].class))
		c.text(float64(left), top+18, "title", panels[i].title)
		plots[i].Draw(area)
		c.legend(panels[i].curves, top+titleHeight)
		c.close("g")
	}
	c.text((float64(left)+f.W-legendWidth)/2, f.H-6, "axis-title", x.title, "text-anchor", "middle")
	f.body = c.b.String()
	return f
}

// newPlot is an empty plot; labelled says whether the axis x has labels.
func newPlot(x, y axis, labelled bool) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []struct {
		*plot.Axis
		axis
		label, line ink
	}{{&p.X, x, "xt", "xl"}, {&p.Y, y, "yt", "yl"}} {
		a.Min, a.Max = a.min, a.max
		a.Axis.Padding = 0
		a.Tick.Marker = plot.ConstantTicks(a.ticks)
		a.Tick.Label.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: fontSize}
		a.Tick.Label.Color = a.label
		a.Tick.Length = 4
		a.Tick.LineStyle.Color = a.line
		a.LineStyle.Color = ink("edge")
		if a.log {
			a.Scale = plot.LogScale{}
		}
		if a.invert {
			a.Scale = plot.InvertedScale{Normalizer: a.Scale}
		}
	}
	if !labelled {
		bare := make([]plot.Tick, len(x.ticks))
		for i, t := range x.ticks {
			bare[i].Value = t.Value
		}
		p.X.Tick.Marker = plot.ConstantTicks(bare)
		p.X.Tick.Length = 0
	}
	return p
}

// lines plots the curves of a panel inside a frame of its own, which a script can zoom.
type lines struct {
	*panel
	c *canvas
}

// Plot draws the grid and the curves.
func (l *lines) Plot(dc draw.Canvas, p *plot.Plot) {
	c := l.c
	tx, ty := p.Transforms(&dc)
	x0, y0 := c.at(vg.Point{X: dc.Min.X, Y: dc.Max.Y})
	w, h := float64(dc.Max.X-dc.Min.X), float64(dc.Max.Y-dc.Min.Y)
	for _, t := range l.y.ticks {
		if !t.IsMinor() {
			_, y := c.at(vg.Point{Y: ty(t.Value)})
			c.line(x0, y, x0+w, y, "grid")
		}
	}
	c.open("svg", "class", "area", "x", num(x0), "y", num(y0), "width", num(w), "height", num(h),
		"viewBox", fmt.Sprintf("0 0 %s %s", num(w*fine), num(h*fine)), "preserveAspectRatio", "none", "data-top",
		strconv.FormatFloat(l.top, 'g', -1, 64))
	for i := range l.curves {
		v := &l.curves[i]
		at := func(k int) (x, y int) {
			px, py := c.at(vg.Point{X: tx(v.x[k]), Y: ty(v.y[k])})
			return int(math.Round((px - x0) * fine)), int(math.Round((py - y0) * fine))
		}
		class := "line s" + strconv.Itoa(v.colour%colours)
		if v.dashed || v.colour >= colours {
			class += " dashed"
		}
		if v.low != nil {
			c.band(v, func(x, y float64) (int, int) {
				px, py := c.at(vg.Point{X: tx(x), Y: ty(y)})
				return int(math.Round((px - x0) * fine)), int(math.Round((py - y0) * fine))
			})
		}
		if !v.bare {
			c.empty("path", append([]string{"class", class, "d", pathOf(len(v.x), v.step, at), "data-path", v.path},
				v.attrs...)...)
		}
		if v.dots {
			for k := range v.x {
				x, y := at(k)
				c.dot(v, k, x, y)
			}
		}
	}
	c.close("svg")
}

// dot marks a point of a curve.
func (c *canvas) dot(v *curve, k, x, y int) {
	class, d := "dot s"+strconv.Itoa(v.colour%colours), fmt.Sprintf("M%d %dh0", x, y)
	if v.notes == nil {
		c.empty("path", "class", class, "d", d)
		return
	}
	c.open("path", "class", class, "d", d)
	c.element("title", visible.Text(v.notes[k]))
	c.close("path")
}

// band fills what lies between the ends of the ranges of a curve, or draws each range where nothing joins the points.
func (c *canvas) band(v *curve, at func(x, y float64) (int, int)) {
	n := len(v.x)
	if v.bare || n == 1 {
		for k := range v.x {
			x, low := at(v.x[k], v.low[k])
			_, high := at(v.x[k], v.high[k])
			c.empty("path", "class", "line s"+strconv.Itoa(v.colour%colours), "d", fmt.Sprintf("M%d %dV%d", x, low, high))
		}
		return
	}
	d := ""
	for k := range 2 * n {
		x, y := 0, 0
		letter := "L"
		if k < n {
			x, y = at(v.x[k], v.low[k])
		} else {
			x, y = at(v.x[2*n-1-k], v.high[2*n-1-k])
		}
		if k == 0 {
			letter = "M"
		}
		d += fmt.Sprintf("%s%d %d", letter, x, y)
	}
	c.empty("path", "class", "around f"+strconv.Itoa(v.colour%colours), "d", d+"Z")
}

// pathOf joins n points by a path of relative steps.
func pathOf(n int, step bool, at func(k int) (x, y int)) string {
	var b strings.Builder
	px, py := 0, 0
	for k := range n {
		x, y := at(k)
		switch {
		case k == 0:
			fmt.Fprintf(&b, "M%d %d", x, y)
		case y == py && x == px:
		case y == py:
			fmt.Fprintf(&b, "h%d", x-px)
		case x == px:
			fmt.Fprintf(&b, "v%d", y-py)
		case step:
			fmt.Fprintf(&b, "h%dv%d", x-px, y-py)
		default:
			fmt.Fprintf(&b, "l%d %d", x-px, y-py)
		}
		px, py = x, y
	}
	return b.String()
}

// legend lists the curves beside their plot area.
func (c *canvas) legend(curves []curve, top float64) {
	x := c.w - legendWidth + 14
	for i := range curves {
		if curves[i].name == "" {
			continue
		}
		y := top + 6 + float64(i)*legendLine
		class := "key s" + strconv.Itoa(curves[i].colour%colours)
		if curves[i].dashed || curves[i].colour >= colours {
			class += " dashed"
		}
		c.open("g", "class", "entry", "data-curve", strconv.Itoa(i))
		c.line(x, y, x+16, y, class)
		if curves[i].title != "" {
			c.element("title", visible.Text(curves[i].title))
		}
		c.text(x+22, y+4, "label", short(curves[i].name, 32))
		c.close("g")
	}
}

// steps are round numbers from min to max, about n of them.
func steps(min, max float64, n int) (out []float64, step float64) {
	if !(max > min) {
		return []float64{min}, 1
	}
	raw := (max - min) / float64(n)
	step = math.Pow(10, math.Floor(math.Log10(raw)))
	for _, f := range [...]float64{1, 2, 5, 10} {
		if f*step >= raw*0.999 {
			step *= f
			break
		}
	}
	for v := math.Ceil(min/step-1e-9) * step; v <= max+step*1e-6; v += step {
		out = append(out, v+0) // which is no negative zero
	}
	return out, step
}

// linear is an axis from 0, or from, to the largest value of a quantity.
func linear(title string, from, to float64, n int) axis {
	if to <= from {
		to = from + 1
	}
	a := axis{title: title, min: from, max: to}
	at, step := steps(from, to, n)
	digits := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	for _, v := range at {
		a.ticks = append(a.ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v+0, 'f', digits, 64)})
	}
	return a
}

// scaled is the unit in which the largest of some values reads best, and what to divide by.
func scaled(largest float64, units ...string) (unit string, by float64) {
	by = 1
	unit = units[0]
	for _, u := range units[1:] {
		if largest < 1000*by {
			break
		}
		unit, by = u, by*1000
	}
	return unit, by
}

// Units of axes, a thousand times as large each.
var (
	timeUnits = []string{"ps", "ns", "us", "ms", "s"}
	byteUnits = []string{"B", "KB", "MB", "GB", "TB"}
	rateUnits = []string{"bit/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"}
)

// logTime is a logarithmic axis of times in picoseconds.
func logTime(title string, from, to float64, label func(v float64) string) axis {
	a := axis{title: title, min: from, max: to, log: true}
	wide := to/from > 1000
	for decade := math.Pow(10, math.Floor(math.Log10(from))); decade <= to; decade *= 10 {
		for m := 1.0; m < 10; m++ {
			v := decade * m
			if v < from*0.999 || v > to*1.001 {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || !wide && (m == 2 || m == 5) {
				t.Label = label(v)
			}
			a.ticks = append(a.ticks, t)
		}
	}
	return a
}
