package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/visible"
)

// within is a device inside a server, and where it is drawn.
type within struct {
	name   string
	depth  int
	x, y   float64
	memory int // its row among the links, of the memory; -1: none
}

// insideTree is the devices of a server that anything went through.
type insideTree struct {
	list  []within
	at    map[string]int
	joins map[[2]int][2]int // devices, the one nearer to the root first: rows of the directions down and up; -1: none
	order [][2]int
}

// Inside draws the devices of the host at row k of the record's servers, and what went over the
// links between them; nil: nothing did.
func Inside(r *record.Run, k int) *Figure {
	s := &r.Servers[k]
	t := &insideTree{at: map[string]int{}, joins: map[[2]int][2]int{}}
	t.read(s)
	if len(t.order) == 0 {
		return nil
	}
	span := float64(max(1, metrics.EndOf(r)-r.FirstPost()))
	h := t.place()
	p := &pen{}
	for _, pair := range t.order {
		a, b := &t.list[pair[0]], &t.list[pair[1]]
		for side, row := range t.joins[pair] {
			length := math.Max(math.Hypot(b.x-a.x, b.y-a.y), 1)
			off := apart * float64(1-2*side)
			dx, dy := off*(a.y-b.y)/length, off*(b.x-a.x)/length
			x1, y1, x2, y2 := a.x+dx, a.y+dy, b.x+dx, b.y+dy
			if row < 0 {
				p.line(x1, y1, x2, y2, "way l0")
				continue
			}
			l := &s.Links[row]
			use := float64(l.BusyPS) / span
			at := fmt.Sprintf("/servers/%d/links/%d/", k, row)
			p.open("path", "class", "way "+loadClass(use), "d", segment(x1, y1, x2, y2), "data-path", at+"busy_ps",
				"data-value", strconv.FormatInt(int64(l.BusyPS), 10))
			p.element("title", visible.Text(fmt.Sprintf(
				"%s, %s: busy for %s, %.1f %% of the time; %s of payload; waited %s", l.Name,
				l.Kind,
				metrics.FormatTime(l.BusyPS), 100*use, metrics.FormatBytes(l.PayloadBytes), metrics.FormatTime(l.WaitedPS))))
			p.close("path")
			if wait := float64(l.WaitedPS) / span; wait > 0.05 {
				p.empty("circle", "class", "held", "cx", num((x1+x2)/2), "cy", num((y1+y2)/2), "r",
					num(3+3*math.Sqrt(math.Min(wait, 1))),
					"data-path", at+"waited_ps", "data-value", strconv.FormatInt(int64(l.WaitedPS), 10))
			}
		}
	}
	t.boxes(p, s, k, span)
	p.text(8, h-4, "muted",
		"lines: how much of the time a direction is busy; dots: transfers waited, for 5 % of the time or more; "+
			"figures: memory, busy")
	return &Figure{Name: "inside-" + strconv.Itoa(k), Title: "Inside " + s.Host + " (" + s.Server + ")", W: chartWidth,
		H: h + 6, body: p.b.String()}
}

// boxes draws the devices.
func (t *insideTree) boxes(p *pen, s *record.Server, k int, span float64) {
	room := map[int]float64{}
	for i := range t.list {
		room[t.list[i].depth]++
	}
	for i := range t.list {
		d := &t.list[i]
		w := math.Min(110, chartWidth/room[d.depth]-6)
		p.rect(d.x-w/2, d.y-boxHeight/2, w, boxHeight, "host", "rx", "3")
		p.text(d.x, d.y+4, "name", short(d.name, max(4, int(w/6.2))), "text-anchor", "middle")
		if d.memory < 0 {
			continue
		}
		l := &s.Links[d.memory]
		p.text(d.x, d.y+24, "muted", fmt.Sprintf("%.1f %%", 100*float64(l.BusyPS)/span), "text-anchor", "middle",
			"data-path", fmt.Sprintf("/servers/%d/links/%d/busy_ps", k, d.memory), "data-value",
			strconv.FormatInt(int64(l.BusyPS), 10))
	}
}

// read finds the devices in the names of links: "nic0 to switch0", "memory of gpu0".
func (t *insideTree) read(s *record.Server) {
	device := func(name string) int {
		i, known := t.at[name]
		if !known {
			i = len(t.list)
			t.at[name] = i
			t.list = append(t.list, within{name: name, depth: -1, memory: -1})
		}
		return i
	}
	for row := range s.Links {
		l := &s.Links[row]
		if name, is := strings.CutPrefix(l.Name, record.MemoryOf); is {
			t.list[device(name)].memory = row
			continue
		}
		from, to, is := strings.Cut(l.Name, " to ")
		if !is {
			continue
		}
		a, b := device(from), device(to)
		pair, side := [2]int{a, b}, 0
		if _, other := t.joins[[2]int{b, a}]; other {
			pair, side = [2]int{b, a}, 1
		}
		rows, known := t.joins[pair]
		if !known {
			rows = [2]int{-1, -1}
			t.order = append(t.order, pair)
		}
		rows[side] = row
		t.joins[pair] = rows
	}
}

// place puts processors at the top, and below each device those behind it.
func (t *insideTree) place() (height float64) {
	next := make([][]int, len(t.list))
	for _, pair := range t.order {
		next[pair[0]], next[pair[1]] = append(next[pair[0]], pair[1]), append(next[pair[1]], pair[0])
	}
	var queue []int
	for i := range t.list {
		if strings.HasPrefix(t.list[i].name, "cpu") {
			t.list[i].depth = 0
			queue = append(queue, i)
		}
	}
	deepest, order := 0, []int{}
	for start := 0; ; start++ {
		for len(queue) > 0 {
			i := queue[0]
			queue = queue[1:]
			order = append(order, i)
			deepest = max(deepest, t.list[i].depth)
			for _, to := range next[i] {
				if t.list[to].depth < 0 {
					t.list[to].depth = t.list[i].depth + 1
					queue = append(queue, to)
				}
			}
		}
		rest := slices.IndexFunc(t.list, func(d within) bool { return d.depth < 0 })
		if rest < 0 {
			break
		}
		t.list[rest].depth = 0
		queue = append(queue, rest)
	}
	rows := make([][]int, deepest+1)
	for _, i := range order {
		rows[t.list[i].depth] = append(rows[t.list[i].depth], i)
	}
	for d, row := range rows {
		for n, i := range row {
			t.list[i].x, t.list[i].y = (float64(n)+0.5)*chartWidth/float64(len(row)), 20+float64(d)*80
		}
	}
	return 20 + float64(deepest)*80 + 60
}

// BusiestInside are the rows of the record's servers, those with the busiest links first, at most n,
// in their order.
func BusiestInside(r *record.Run, n int) []int {
	busy := make([]units.Time, len(r.Servers))
	order := make([]int, len(r.Servers))
	for i := range r.Servers {
		order[i] = i
		for k := range r.Servers[i].Links {
			busy[i] = max(busy[i], r.Servers[i].Links[k].BusyPS)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(busy[b], busy[a]) })
	order = order[:min(n, len(order))]
	slices.Sort(order)
	return order
}
