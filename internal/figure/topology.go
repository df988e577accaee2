package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/visible"
)

// Measures of topologies in pixels.
const (
	rowGap     = 120.0
	boxHeight  = 22.0
	upright    = 26.0 // boxes narrower than their names' letters have the names upright
	uprightBox = 54.0
	apart      = 2.2 // of a direction from the middle of the link
	// legendElements are the marks of the legend.
	legendElements = 8
)

// loads are the bounds of the classes of load, in parts of the time.
var loads = [...]float64{0, 0.25, 0.5, 0.75, 0.95}

// loadClass is how a link's load is drawn.
func loadClass(use float64) string {
	if use <= 0 {
		return "l0"
	}
	k := 0
	for k < len(loads) && use >= loads[k] {
		k++
	}
	return "l" + strconv.Itoa(k)
}

// Part is a part of the network that the topology shows as boxes.
type Part struct {
	ID    string // of the element that the topology's boxes lead to
	Label string
	*Figure
}

// mostParts bounds the parts that can be opened, and what a page takes for them.
const mostParts = 64

// mostNodes bounds the nodes in them.
const mostNodes = 4096

// Topology draws the network with what was used, held and dropped on its links. If it has too
// many, nodes are folded into boxes, and parts are what these hold; left is how many of them
// there are beyond. Nil: the record has no network.
func Topology(r *record.Run) (f *Figure, parts []Part, left int) {
	n := networkOf(r)
	if n == nil {
		return nil, nil, 0
	}
	p := n.whole()
	if p.elements() <= MostElements-legendElements {
		f = p.draw("topology", "The network, with load, time held and drops on its links", r, nil)
		return f, nil, 0
	}
	p = n.folded()
	refs := map[int]string{}
	drawn := 0
	for part := range n.parts {
		if part == mostParts || drawn > mostNodes {
			left = n.parts - part
			break
		}
		refs[part] = "part-" + strconv.Itoa(part)
		o := n.opened(part)
		var own []int
		for i := range n.nodes {
			if n.part[i] == part {
				own = append(own, i)
			}
		}
		drawn += len(own)
		name := "topology-" + strconv.Itoa(part)
		parts = append(parts, Part{ID: refs[part], Label: n.parted(own), Figure: o.draw(name,
			"Part of the network: "+n.parted(own), r, nil)})
	}
	f = p.draw("topology", "The network, folded: "+p.classes(), r, refs)
	return f, parts, left
}

// parted names the nodes of a part.
func (n *network) parted(nodes []int) string {
	var out []string
	for t := n.top; t >= 0; t-- {
		var row []int
		for _, i := range nodes {
			if n.tier[i] == t {
				row = append(row, i)
			}
		}
		if len(row) > 0 {
			out = append(out, n.label(row))
		}
	}
	return strings.Join(out, ", ")
}

// draw draws groups and bundles. refs are the elements that boxes of parts lead to.
func (p *picture) draw(name, title string, r *record.Run, refs map[int]string) *Figure {
	pen := &pen{}
	h := p.place(chartWidth, rowGap)
	bottom := h
	for g := range p.groups {
		if p.upright(&p.groups[g]) {
			bottom = h + uprightBox - boxHeight
		}
	}
	span := max(1, int64(metrics.EndOf(r)-r.FirstPost()))
	pen.open("g", "class", "links")
	pair := func(b *bundle) [2]int { return [2]int{min(b.a, b.b), max(b.a, b.b)} }
	all, seen := map[[2]int]int{}, map[[2]int]int{}
	for i := range p.bundles {
		all[pair(&p.bundles[i])]++
	}
	for i := range p.bundles {
		b := &p.bundles[i]
		gaps := float64(all[pair(b)] - 1)
		shift := (float64(seen[pair(b)]) - gaps/2) * math.Min(4*apart, widest/math.Max(gaps, 1))
		p.bundle(pen, b, shift, span)
		seen[pair(b)]++
	}
	pen.close("g")
	for g := range p.groups {
		p.box(pen, &p.groups[g], refs)
	}
	p.legend(pen, bottom+10)
	return &Figure{Name: name, Title: title, W: chartWidth, H: bottom + 34, body: pen.b.String()}
}

// widest is how far apart the outermost of parallel links are at most.
const widest = 36

// bundle draws the two directions of a bundle, beside those of the same groups before it.
func (p *picture) bundle(pen *pen, b *bundle, shift float64, span int64) {
	for side := range 2 {
		from, to := &p.groups[b.a], &p.groups[b.b]
		if side == 1 {
			from, to = to, from
		}
		x1, y1, x2, y2 := from.x, from.y, to.x, to.y
		length := math.Max(math.Hypot(x2-x1, y2-y1), 1)
		nx, ny := (y1-y2)/length, (x2-x1)/length // traffic keeps to the right
		off := apart
		if side == 0 {
			off += shift
		} else {
			off -= shift
		}
		x1, y1, x2, y2 = x1+nx*off, y1+ny*off, x2+nx*off, y2+ny*off
		up := p.bow(from, to)
		d, at := bowed(x1, y1, x2, y2, up)
		w := p.most(b, side)
		if w.use == nil {
			pen.open("path", "class", "way l0", "d", d)
			pen.element("title", fmt.Sprintf("%s → %s: nothing was sent", visible.Text(from.label), visible.Text(to.label)))
			pen.close("path")
			continue
		}
		pen.open("path", "class", "way "+loadClass(w.use.use), "d", d, "data-path",
			pointers(w.use.rows, "utilisation"),
			"data-value", strconv.FormatFloat(w.use.use, 'g', -1, 64))
		pen.element("title", visible.Text(wayTitle(w, len(b.links))))
		pen.close("path")
		clear := math.Min(0.4, 20/length) // of the box
		if v := w.held; v != nil {
			x, y := at(clear + 0.06)
			size := 3 + 5*math.Sqrt(math.Min(1, float64(v.held)/float64(span)))
			pen.open("circle", "class", "held", "cx", num(x), "cy", num(y), "r", num(size), "data-path", pointers(v.rows,
				"held_ps"), "data-value", strconv.FormatInt(v.held, 10))
			pen.element("title", visible.Text(wayTitle(w, len(b.links))))
			pen.close("circle")
		}
		if v := w.drops; v != nil {
			x, y := at(clear + 0.16)
			pen.open("path", "class", "drops", "d", fmt.Sprintf("M%s %sl8 8m0 -8l-8 8", num(x-4), num(y-4)), "data-path",
				pointers(v.rows, "dropped"), "data-value", strconv.FormatInt(v.drops, 10))
			pen.element("title", visible.Text(wayTitle(w, len(b.links))))
			pen.close("path")
		}
	}
}

// bowed is a path that goes up by so much on its way, 0: straight, and where it is after a part
// of it.
func bowed(x1, y1, x2, y2, up float64) (d string, at func(t float64) (x, y float64)) {
	if math.Abs(up) < 10 {
		return segment(x1, y1, x2, y2), func(t float64) (x, y float64) { return x1 + (x2-x1)*t, y1 + (y2-y1)*t }
	}
	cx, cy := (x1+x2)/2, (y1+y2)/2-2*up // a quadratic curve goes half way to its control point
	d = fmt.Sprintf("M%s %sQ%s %s %s %s", num(x1), num(y1), num(cx), num(cy), num(x2), num(y2))
	return d, func(t float64) (x, y float64) {
		r := 1 - t
		return r*r*x1 + 2*r*t*cx + t*t*x2, r*r*y1 + 2*r*t*cy + t*t*y2
	}
}

// segment is a straight path.
func segment(x1, y1, x2, y2 float64) string {
	return "M" + num(x1) + " " + num(y1) + "L" + num(x2) + " " + num(y2)
}

// pointers are the places of a field of ports: of several the figure is the sum.
func pointers(rows []int, field string) string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = Pointer("ports", row, field)
	}
	return strings.Join(out, " ")
}

// wayTitle says what happened on a direction of a link, or on the worst of several.
func wayTitle(w worst, of int) string {
	name := func(v *way) string { return v.from.String() + " → " + v.to.String() }
	s := fmt.Sprintf("%s: sends %.1f %% of the time", name(w.use), 100*w.use.use)
	if of > 1 {
		s = fmt.Sprintf("the busiest of %d: %s", of, s)
	}
	for _, part := range []struct {
		v    *way
		text func(v *way) string
	}{
		{w.held, func(v *way) string { return "held " + metrics.FormatTime(units.Time(v.held)) }},
		{w.drops, func(v *way) string { return metrics.FormatCount(v.drops) + " dropped" }},
	} {
		if part.v == nil {
			continue
		}
		s += "; "
		if part.v != w.use {
			s += name(part.v) + ": "
		}
		s += part.text(part.v)
	}
	return s
}

func (p *picture) upright(g *group) bool {
	room := min(visible.Width(g.label), uprightRoom+1)
	return g.w < upright || len(g.nodes) == 1 && g.w < characterWidth*float64(room)
}

// uprightRoom is how many characters an upright label has.
const uprightRoom = 8

// characterWidth is that of the fonts that browsers take where the first ones of the style are
// missing, on average, in pixels.
const characterWidth = 6.8

// fitting is a group's label, or what says as much of it as its box has room for: "8 pod0-agg",
// "8 agg", "8 switches".
func (p *picture) fitting(g *group) string {
	room := max(3, int(g.w/characterWidth))
	if visible.Width(g.label) <= room || len(g.nodes) == 1 {
		return short(g.label, room)
	}
	first, last := p.nodes[g.nodes[0]].Name, p.nodes[g.nodes[len(g.nodes)-1]].Name
	k := 0
	for k < min(len(first), len(last)) && first[k] == last[k] {
		k++
	}
	for k > 0 && !utf8.ValidString(first[:k]) {
		k--
	}
	of := strings.TrimRight(first[:k], "0123456789")
	if len(of) < 2 { // "h" says less than that they are hosts
		of = "switches"
		if !p.nodes[g.nodes[0]].Switch {
			of = "hosts"
		}
	}
	label := fmt.Sprintf("%d %s", len(g.nodes), of)
	if last := strings.LastIndexByte(of, '-'); visible.Width(label) > room && last >= 0 {
		label = fmt.Sprintf("%d %s", len(g.nodes), of[last+1:])
	}
	return short(label, room)
}

// box draws a group.
func (p *picture) box(pen *pen, g *group, refs map[int]string) {
	class := "host"
	if p.nodes[g.nodes[0]].Switch {
		class = "switch"
	}
	ref := refs[g.part]
	if len(g.nodes) > 1 {
		class += " many"
	}
	if ref != "" {
		pen.open("a", "href", "#"+ref)
	}
	h := boxHeight
	if p.upright(g) {
		h = uprightBox
		if g.tier > 0 {
			h = boxHeight
		}
	}
	top := g.y - boxHeight/2
	pen.open("rect", "x", num(g.x-g.w/2), "y", num(top), "width", num(g.w), "height", num(h), "rx", "3", "class", class)
	pen.element("title", visible.Text(g.label))
	pen.close("rect")
	switch {
	case !p.upright(g):
		pen.text(g.x, g.y+4, "name", p.fitting(g), "text-anchor", "middle", "data-path", "/network/nodes",
			"data-kind", "sentence")
	case h > boxHeight && g.w >= 9:
		pen.text(0, 0, "name", short(g.label, uprightRoom), "transform",
			fmt.Sprintf("translate(%s %s) rotate(90)", num(g.x-4),
				num(top+4)))
	}
	if ref != "" {
		pen.close("a")
	}
}

// legend explains the marks.
func (p *picture) legend(pen *pen, y float64) {
	x := 8.0
	entry := func(class, text string) {
		pen.line(x, y, x+22, y, class)
		pen.text(x+27, y+4, "muted", text)
		x += 40 + 5.8*float64(visible.Width(text))
	}
	entry("way l0", "nothing sent")
	for k := range loads {
		text := fmt.Sprintf("to %.0f %%", 100*loads[min(k+1, len(loads)-1)])
		if k == 0 {
			text = "sends up to 25 % of the time"
		}
		if k == len(loads)-1 {
			text = "above"
		}
		entry("way l"+strconv.Itoa(k+1), text)
	}
	pen.empty("circle", "class", "held", "cx", num(x+8), "cy", num(y), "r", "5")
	pen.text(x+18, y+4, "muted", "held: paused or without credits")
	x += 200
	pen.empty("path", "class", "drops", "d", fmt.Sprintf("M%s %sl8 8m0 -8l-8 8", num(x), num(y-4)))
	pen.text(x+14, y+4, "muted", "drops")
}
