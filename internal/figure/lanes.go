package figure

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/visible"
)

// Lanes have places for names of so many pixels, and heights.
const (
	laneName   = 190.0
	laneHeight = 11.0
)

// stateClass is how what a rank spends its time on is drawn.
func stateClass(kind string) string {
	switch kind {
	case record.JobComputes:
		return "f0"
	case record.JobExposed:
		return "f1"
	case record.JobCopies:
		return "f5"
	case record.JobHost:
		return "p11"
	case record.JobWaits:
		return "f3"
	case record.JobMessage:
		return "held"
	}
	return "p12"
}

// states are what ranks spend their time on, with what it is called beside its colour.
var states = []struct{ kind, name string }{
	{record.JobComputes, "computes"},
	{record.JobExposed, "exposed communication"},
	{record.JobCopies, "copies"},
	{record.JobHost, "host works"},
	{record.JobWaits, "waits for other ranks of a collective"},
	{record.JobMessage, "bubble: waits for a message"},
	{record.JobIdle, "step over"},
}

// laneClass is how what a stream runs is drawn.
func laneClass(kind string) string {
	switch kind {
	case record.LaneComputes:
		return "f0"
	case record.LaneMessage:
		return "f4"
	case record.LaneCopies:
		return "f5"
	case record.LaneHost:
		return "p11"
	}
	return "f2"
}

// JobLanes draws the lanes of job k: of some ranks what they spend their time on in a step, and below it each of
// their streams; nil: there are none.
func JobLanes(r *record.Run, k int) *Figure {
	j := &r.Jobs[k]
	from, to := units.Never, units.Time(0)
	for i := range j.Lanes {
		for _, s := range j.Lanes[i].Spans {
			from, to = min(from, s.FromPS), max(to, s.FromPS+s.PS)
		}
	}
	if to <= from {
		return nil
	}
	p := &pen{}
	wide := chartWidth - laneName - 10
	x := func(t units.Time) float64 { return laneName + wide*float64(t-from)/float64(to-from) }
	h := 4.0
	for i := range j.Lanes {
		if h += laneHeight; j.Lanes[i].Stream == "" {
			h += laneHeight * 0.8
		}
	}
	timeGrid(p, laneName, wide, 4, h, to-from)
	y := 4.0
	for i := range j.Lanes {
		l := &j.Lanes[i]
		name, class, label := l.Stream, laneClass, "muted"
		if l.Stream == "" {
			y += laneHeight * 0.8
			name, class, label = fmt.Sprintf("rank %d, %s %s", l.Rank, l.Host, l.Device), stateClass, "label"
		}
		p.text(laneName-6, y+laneHeight-2, label, short(name, 32), "text-anchor", "end")
		for n := range l.Spans {
			s := &l.Spans[n]
			at := Pointer("jobs", k, "lanes", strconv.Itoa(i), "spans", strconv.Itoa(n), "ps")
			opacity := ""
			if share := float64(s.BusyPS) / float64(s.PS); share < 0.95 {
				opacity = num(math.Max(share, 0.2))
			}
			p.open("rect", "x", num(x(s.FromPS)), "y", num(y+1), "width",
				num(math.Max(x(s.FromPS+s.PS)-x(s.FromPS), 0.3)), "height", num(laneHeight-2), "class", class(s.Kind),
				"fill-opacity", opacity, "data-path", at, "data-value", strconv.FormatInt(int64(s.PS), 10))
			p.element("title", visible.Text(spanSays(l, s, from)))
			p.close("rect")
		}
		y += laneHeight
	}
	y += 36
	at := laneName
	legend := func(class, name string) {
		p.rect(at, y-9, 12, 11, class)
		p.text(at+17, y+1, "muted", name)
		at += 36 + 6.0*float64(len(name))
	}
	for _, s := range states {
		if slices.ContainsFunc(j.Times, func(t record.JobTime) bool { return t.Kind == s.kind }) {
			legend(stateClass(s.kind), s.name)
		}
	}
	y += 18
	at = laneName
	p.text(at, y+1, "muted", "streams:")
	at += 56
	legend(laneClass(record.LaneComputes), "computation")
	legend(laneClass(record.LaneCalls), "collective")
	legend(laneClass(record.LaneMessage), "message to or from a rank")
	legend(laneClass(record.LaneCopies), "copy")
	legend(laneClass(record.LaneHost), "work of the host")
	return &Figure{Name: "lanes-" + strconv.Itoa(k), Title: "What ranks of " + j.Workload + " and their streams do over a step",
		W: chartWidth, H: y + 10, body: p.b.String()}
}

// spanSays is a piece of a lane in words.
func spanSays(l *record.JobLane, s *record.JobSpan, base units.Time) string {
	what := s.Name
	if l.Stream == "" {
		what = record.JobSays(s.Kind, s.Name)
	} else if s.Count > 1 {
		what = fmt.Sprintf("%d operations, %s and others, %s of them busy", s.Count, s.Name,
			metrics.FormatTimeDigits(s.BusyPS, 3))
	}
	return fmt.Sprintf("%s: %s from %s on", what, metrics.FormatTimeDigits(s.PS, 4), metrics.FormatTimeDigits(s.FromPS-base, 4))
}

// JobTimes draws where the time of ranks of job k went, a bar for each.
func JobTimes(r *record.Run, k int, ranks []int) *Figure {
	j := &r.Jobs[k]
	total := units.Time(0)
	for i := range j.Times {
		if j.Times[i].Rank == j.Times[0].Rank {
			total += j.Times[i].TimePS
		}
	}
	if total <= 0 {
		return nil
	}
	first := make(map[int]int, j.Ranks) // by rank: its first row; looked up, never iterated
	for i := len(j.Times) - 1; i >= 0; i-- {
		first[j.Times[i].Rank] = i
	}
	p := &pen{}
	wide := chartWidth - laneName - 90
	step := rowHeight - 3
	if len(ranks) > 40 {
		step = 9
	}
	h := float64(len(ranks)) * step
	timeGrid(p, laneName, wide, 4, h, total)
	for n, rank := range ranks {
		y := 4 + float64(n)*step
		if step > 9 || n%4 == 0 {
			p.text(laneName-6, y+step-3, "label", fmt.Sprintf("rank %d", rank), "text-anchor", "end")
		}
		x := laneName
		for _, s := range states {
			for i := first[rank]; i < len(j.Times) && j.Times[i].Rank == rank; i++ {
				t := &j.Times[i]
				if t.Kind != s.kind {
					continue
				}
				w := wide * float64(t.TimePS) / float64(total)
				p.open("rect", "x", num(x), "y", num(y+1), "width", num(math.Max(w, 0.3)), "height", num(step-2), "class",
					stateClass(t.Kind), "data-path", Pointer("jobs", k, "times", strconv.Itoa(i), "time_ps"), "data-value",
					strconv.FormatInt(int64(t.TimePS), 10))
				p.element("title", visible.Text(fmt.Sprintf("rank %d %s: %s, %s", rank, record.JobSays(t.Kind, t.What),
					metrics.FormatTimeDigits(t.TimePS, 4), percent(t.TimePS, total))))
				p.close("rect")
				x += w
			}
		}
	}
	x, y := laneName, h+34
	for _, s := range states {
		if !slices.ContainsFunc(j.Times, func(t record.JobTime) bool { return t.Kind == s.kind }) {
			continue
		}
		p.rect(x, y-9, 12, 11, stateClass(s.kind))
		p.text(x+17, y+1, "muted", s.name)
		x += 36 + 6.0*float64(len(s.name))
	}
	return &Figure{Name: "ranks-" + strconv.Itoa(k), Title: "Where the time of ranks of " + j.Workload + " goes",
		W: chartWidth, H: y + 10, body: p.b.String()}
}
