package figure

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/visible"
)

// Measures of accounts in pixels.
const (
	rowHeight  = 18.0
	nameWidth  = 300.0
	placeWidth = 170.0
	timeWidth  = 130.0
)

// PartClass is how the time of a part of an account is drawn.
func PartClass(p catalog.Part) string { return "p" + strconv.Itoa(int(p)) }

// Bar is a line of a waterfall.
type Bar struct {
	From, PS    units.Time
	Part        catalog.Part
	Name, Where string
	Path        string // places in the JSON whose sum it is
}

// Waterfall draws a message's time stage by stage: each bar begins where the one before ended.
// whole is the place of all of it in the JSON.
func Waterfall(name, title, whole string, bars []Bar) *Figure {
	total := units.Time(0)
	for _, b := range bars {
		total += b.PS
	}
	if total <= 0 {
		return nil
	}
	p := &pen{}
	left := nameWidth + placeWidth
	wide := chartWidth - left - timeWidth
	at := func(t units.Time) float64 { return left + wide*float64(t)/float64(total) }
	h := float64(len(bars)) * rowHeight
	timeGrid(p, left, wide, 4, h, total)
	for i, b := range bars {
		y := 4 + float64(i)*rowHeight
		p.text(0, y+13, "label", short(b.Name, 48))
		p.text(nameWidth, y+13, "muted", short(b.Where, 28))
		p.open("rect", "x", num(at(b.From)), "y", num(y+3), "width", num(math.Max(at(b.From+b.PS)-at(b.From), 1)), "height",
			num(rowHeight-5),
			"class", PartClass(b.Part), "data-path", b.Path, "data-value", strconv.FormatInt(int64(b.PS), 10))
		p.element("title", visible.Text(fmt.Sprintf("%s %s: %s", b.Name, b.Where, metrics.FormatTimeDigits(b.PS, 4))))
		p.close("rect")
		p.text(chartWidth-timeWidth+64, y+13, "label", metrics.FormatTimeDigits(b.PS, 4), "text-anchor", "end", "data-path",
			b.Path, "data-kind", "ps")
		p.text(chartWidth-8, y+13, "muted", percent(b.PS, total), "text-anchor", "end", "data-path", b.Path,
			"data-of", whole, "data-kind", "share")
	}
	return &Figure{Name: name, Title: title, W: chartWidth, H: h + 26, body: p.b.String()}
}

func percent(part, of units.Time) string {
	if u := float64(part) / float64(of); u >= 0.0005 {
		return fmt.Sprintf("%.1f %%", 100*u)
	}
	return "<0.1 %"
}

// timeGrid draws upright lines at round times, with labels below.
func timeGrid(p *pen, left, wide, top, height float64, total units.Time) {
	unit, by := scaled(float64(total), timeUnits...)
	a := linear("", 0, float64(total)/by, 6)
	for _, t := range a.ticks {
		x := left + wide*t.Value*by/float64(total)
		p.line(x, top, x, top+height, "grid")
		label := t.Label
		if t.Value == 0 {
			label += " " + unit
		}
		p.text(x, top+height+14, "xt", label, "text-anchor", "middle")
	}
}

// Segment is a part of a stacked row.
type Segment struct {
	Part catalog.Part
	PS   units.Time
	Path string // places in the JSON whose sum it is
}

// Row is where the time of one message, collective or stack went.
type Row struct {
	Name     string
	Segments []Segment
}

// Stacked draws where the time of several went along one axis, and what the colours stand for. A
// bar of several times most others is cut off, with all of its time beside it.
func Stacked(name, title string, rows []Row) *Figure {
	var sums []units.Time
	used := map[catalog.Part]bool{}
	for _, r := range rows {
		sum := units.Time(0)
		for _, s := range r.Segments {
			sum += s.PS
			used[s.Part] = true
		}
		sums = append(sums, sum)
	}
	most := shown(sums)
	if most <= 0 {
		return nil
	}
	p := &pen{}
	left, step := 190.0, rowHeight+3
	wide := chartWidth - left - 90
	h := float64(len(rows)) * step
	timeGrid(p, left, wide, 4, h, most)
	for i, r := range rows {
		y := 4 + float64(i)*step
		p.text(left-8, y+14, "label", short(r.Name, 28), "text-anchor", "end")
		at := units.Time(0)
		paths := ""
		for _, s := range r.Segments {
			from, to := wide*float64(min(at, most))/float64(most), wide*float64(min(at+s.PS, most))/float64(most)
			p.open("rect", "x", num(left+from), "y", num(y+2), "width", num(math.Max(to-from, 0.3)), "height", num(step-4),
				"class", PartClass(s.Part), "data-path", s.Path, "data-value", strconv.FormatInt(int64(s.PS), 10))
			p.element("title", visible.Text(fmt.Sprintf("%s: %s %s", r.Name, s.Part, metrics.FormatTimeDigits(s.PS, 4))))
			p.close("rect")
			at += s.PS
			paths += " " + s.Path
		}
		if at > most {
			p.line(left+wide-14, y+step, left+wide-8, y, "cut")
		}
		p.text(left+wide*float64(min(at, most))/float64(most)+6, y+14, "label", metrics.FormatTimeDigits(at, 4),
			"data-path", paths,
			"data-kind", "ps")
	}
	x, y := left, h+34
	for _, part := range catalog.Parts() {
		if !used[part] {
			continue
		}
		width := 34 + 6.2*float64(len(part.String()))
		if x+width > chartWidth {
			x, y = left, y+18
		}
		p.rect(x, y-9, 12, 11, PartClass(part))
		p.text(x+17, y+1, "muted", part.String())
		x += width
	}
	return &Figure{Name: name, Title: title, W: chartWidth, H: y + 10, body: p.b.String()}
}

// Sorted lists segments by their parts, those of a part as one.
func Sorted(list []Segment) (out []Segment) {
	for _, s := range list {
		k := slices.IndexFunc(out, func(o Segment) bool { return o.Part == s.Part })
		if k < 0 {
			out = append(out, s)
			continue
		}
		out[k].PS += s.PS
		out[k].Path += " " + s.Path
	}
	slices.SortStableFunc(out, func(a, b Segment) int { return int(a.Part) - int(b.Part) })
	return out
}
