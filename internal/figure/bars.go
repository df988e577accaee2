package figure

import (
	"math"
	"strconv"

	"github.com/hopscope/hopscope/internal/visible"
)

// Measure is a bar beside others.
type Measure struct {
	Name  string
	Value float64
	Text  string // the value as it is written
	Path  string // its place in the JSON
	Kind  string // what Text is of it
	Mark  bool   // it stands out
}

// cutOff is how many times what all are held against a bar is drawn at most.
const cutOff = 3

// Measures draws bars along one axis that begins at 0, with an upright line at a value that all
// are held against. A bar of several times that is cut off.
func Measures(name, title string, list []Measure, against float64) *Figure {
	most := against
	for _, m := range list {
		most = max(most, m.Value)
	}
	if most <= 0 {
		return nil
	}
	end := most
	if against > 0 {
		end = min(most, cutOff*against)
	}
	p := &pen{}
	left := 430.0
	wide := chartWidth - left - 110
	h := float64(len(list)) * (rowHeight + 2)
	for i, m := range list {
		y := 6 + float64(i)*(rowHeight+2)
		class := "f0"
		if m.Mark {
			class = "f1"
		}
		p.open("g")
		p.element("title", visible.Text(m.Name+": "+m.Text))
		p.text(left-10, y+13, "label", short(m.Name, 68), "text-anchor", "end")
		w := math.Max(wide*math.Min(m.Value/end, 1), 0.5)
		p.rect(left, y+2, w, rowHeight-3, class, "data-path", m.Path, "data-value", strconv.FormatFloat(m.Value, 'g', -1, 64))
		if m.Value > end {
			p.line(left+w-14, y+rowHeight, left+w-8, y, "cut")
		}
		p.text(left+w+6, y+13, "label", m.Text, "data-path", m.Path, "data-kind", m.Kind)
		p.close("g")
	}
	if against > 0 {
		x := left + wide*against/end
		p.line(x, 2, x, h+8, "against")
	}
	p.line(left, 2, left, h+8, "edge")
	return &Figure{Name: name, Title: title, W: chartWidth, H: h + 14, body: p.b.String()}
}

// Series is a curve of times over sizes.
type Series struct {
	Name  string
	Place string // of its points in the JSON
	Bytes []float64
	PS    []float64
}

// Sizes draws times over sizes, both on logarithmic axes; nil: there are not two points.
func Sizes(list []Series, size, took func(v float64) string) *Figure {
	x0, x1, y0, y1 := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, s := range list {
		for i := range s.Bytes {
			x0, x1 = math.Min(x0, s.Bytes[i]), math.Max(x1, s.Bytes[i])
			y0, y1 = math.Min(y0, s.PS[i]), math.Max(y1, s.PS[i])
		}
	}
	if !(x1 > x0) || !(y0 > 0) {
		return nil
	}
	p := panel{title: "time", y: logTime("", y0*0.8, y1*1.25, took), class: "sizes"}
	for i, s := range list {
		p.curves = append(p.curves, curve{name: s.Name, path: s.Place, x: s.Bytes, y: s.PS, colour: i, dots: i == 0,
			dashed: i > 1})
	}
	return chart("sizes", "Times over sizes", logTime("size", x0*0.9, x1*1.1, size), []panel{p}, 300)
}
