package metrics

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Control says what the settings of DCQCN meant for this run: where queue pairs shared
// a limiter of CNPs, how rarely each could hear; where rates left a line idle, what
// fills it and what that costs. Empty where there is nothing of the kind.
func Control(r *record.Run) []string {
	return append(sharedLimiters(r), idleLine(r)...)
}

// listedLimiters is how many limiters have a sentence of their own.
const listedLimiters = 3

// limiter is one limiter of CNPs that several queue pairs shared.
type limiter struct {
	*record.CNPLimiter
	to      string // the host at the other end, with scope destination
	pairs   int
	from    []string // the hosts at the other end
	limited int64
	// Least and most CNPs that one of the queue pairs was sent.
	least, most int64
}

// who are the queue pairs at the other end: senders, where each host has one.
func (l *limiter) who() string {
	if len(l.from) == l.pairs {
		return "senders"
	}
	return "queue pairs"
}

// sharedLimiters tells of the limiters of several queue pairs that left marks
// unanswered, the busiest first.
func sharedLimiters(r *record.Run) (out []string) {
	all := limitersOf(r)
	for i, l := range all {
		if i == listedLimiters {
			return append(out, fmt.Sprintf("and %s more that share a limiter of CNPs so", plural(int64(len(all)-i), "port")))
		}
		per := "per port"
		if l.to != "" {
			per = "to " + l.to
		}
		out = append(out, fmt.Sprintf("%s: %s CNP/s %s, each of %d %s hears one per %s at most, on average (min_time_between_cnps %s, cnp_limiter %s); the least was sent %s CNPs, the most %s; %s got none",
			l.Port, FormatCount(int64(units.Second/l.IntervalPS)), per, l.pairs, l.who(), microseconds(units.Time(l.pairs)*l.IntervalPS),
			microseconds(l.IntervalPS), l.Scope, FormatCount(l.least), FormatCount(l.most), plural(l.limited, "marked packet")))
	}
	return out
}

func limitersOf(r *record.Run) []limiter {
	var all []limiter
	for i := range r.QPs {
		q := &r.QPs[i]
		l := q.Limits.CNPLimiter
		if l == nil || l.Scope == "queue-pair" || l.IntervalPS <= 0 {
			continue
		}
		to := ""
		if l.Scope == "destination" {
			to = peerHost(q)
		}
		k := slices.IndexFunc(all, func(o limiter) bool { return o.Port == l.Port && o.to == to })
		if k < 0 {
			k, all = len(all), append(all, limiter{CNPLimiter: l, to: to, least: q.CNPsSent})
		}
		all[k].pairs++
		all[k].least, all[k].most = min(all[k].least, q.CNPsSent), max(all[k].most, q.CNPsSent)
		if from := peerHost(q); !slices.Contains(all[k].from, from) {
			all[k].from = append(all[k].from, from)
		}
		all[k].limited += q.CNPsLimited
	}
	all = slices.DeleteFunc(all, func(l limiter) bool { return l.pairs < 2 || l.limited == 0 })
	slices.SortStableFunc(all, func(a, b limiter) int { return cmp.Compare(b.limited, a.limited) })
	return all
}

// microseconds prints whole microseconds as such.
func microseconds(t units.Time) string {
	if t%units.Microsecond == 0 {
		return fmt.Sprintf("%d us", t/units.Microsecond)
	}
	return FormatTime(t)
}

// What idleLine looks for: a line of which a tenth and more was idle, by rates for at
// least half of that time.
const (
	idleShare = 0.1
	fillingUS = 50 // min_time_between_cnps that fills a line, in us
)

// Fill is what an incast of the firmware's DCQCN reached with min_time_between_cnps of
// 50 us, 32 MB from each sender: the table of docs/models/dcqcn.md.
type Fill struct {
	Gbps, Senders int
	Scope         string
	Share         float64 // of the line, in percent
	QueueMB       float64 // mean
}

// Fills are the rows that the report quotes; a test holds them to the document.
func Fills() []Fill {
	return []Fill{
		{100, 2, "port", 97.3, 4.97}, {100, 4, "port", 98.0, 10.32}, {100, 8, "port", 98.0, 16.11}, {100, 16, "port", 98.0, 21.78}, {100, 64, "port", 98.0, 29.17},
		{400, 2, "port", 98.0, 4.79}, {400, 4, "port", 98.0, 33.23}, {400, 8, "port", 98.0, 56.88}, {400, 16, "port", 98.0, 81.01}, {400, 64, "port", 98.0, 115.12},
		{100, 2, "queue-pair", 94.8, 3.12}, {100, 4, "queue-pair", 96.3, 6.29}, {100, 8, "queue-pair", 96.4, 12.38}, {100, 16, "queue-pair", 96.2, 15.15}, {100, 64, "queue-pair", 98.0, 25.61},
		{400, 2, "queue-pair", 96.5, 1.87}, {400, 4, "queue-pair", 93.0, 23.73}, {400, 8, "queue-pair", 95.6, 40.98}, {400, 16, "queue-pair", 95.0, 45.77}, {400, 64, "queue-pair", 97.8, 104.89},
	}
}

// idleLine names what fills the line of the port with most marks that DCQCN left idle.
func idleLine(r *record.Run) []string {
	if !firmware(r) {
		return nil
	}
	var worst *record.Port
	for i := range r.Ports {
		if p := &r.Ports[i]; p.Marked > 0 && (worst == nil || p.Marked > worst.Marked) {
			worst = p
		}
	}
	if worst == nil {
		return nil
	}
	x := newIndex(r)
	says := x.leftIdle(worst)
	senders := x.class(x.out(worst.ID()), worst.Class)
	scope, longest := x.limiterOf(senders)
	if says == "" || scope == "" || longest >= fillingUS*units.Microsecond {
		return nil
	}
	price := "at the price of its queue"
	if worst.Limits.EgressDrop != nil {
		price = "where its queue finds room, and this class drops what does not"
	}
	says += fmt.Sprintf(", for DCQCN held back what was to leave by it; dcqcn.min_time_between_cnps: %dus fills a line %s", fillingUS, price)
	if len(senders) < 2 || x.drains[worst.Peer.Node] != nil {
		return []string{says + " (docs/models/dcqcn.md)"} // Fills tells of incasts to a host that keeps up
	}
	f := nearestFill(worst.RateBps, len(senders), scope)
	return []string{fmt.Sprintf("%s: %d to 1 at %d Gb/s, 32 MB each, then reaches %.0f %% with %.3g MB in it on average (docs/models/dcqcn.md)",
		says, f.Senders, f.Gbps, f.Share, f.QueueMB)}
}

// firmware reports whether the senders' DCQCN is the firmware's, of which Fills tells.
func firmware(r *record.Run) bool {
	return r.ControlPreset == "nvidia" || r.ControlPreset == "nvidia-slow-cnp"
}

// leftIdle says how much of a port's line, or of what its host takes where that is less,
// DCQCN's rates and not pauses left unused: some sender waited for its rate for half of
// that time at least. It is empty where that is less than a tenth.
func (x *index) leftIdle(p *record.Port) string {
	span := float64(EndOf(x.r) - x.r.FirstPost())
	says, idle := p.Name()+" was idle for %.0f %% of the time", 1-p.Utilisation-float64(p.PausedPS)/span
	if p.PausedPS > 0 {
		says += " beside its pauses"
	}
	if d := x.drains[p.Peer.Node]; d != nil && d.DrainBps < p.RateBps { // its pauses are what it does not take
		says = fmt.Sprintf("%s got %%.0f %%%% less than the %s that its host takes", p.Peer, FormatRate(d.DrainBps))
		idle = 1 - p.Utilisation*float64(p.RateBps)/float64(d.DrainBps)
	}
	if idle < idleShare || span <= 0 {
		return ""
	}
	for _, k := range x.class(x.out(p.ID()), p.Class) {
		if q := &x.r.QPs[k]; q.RateCuts > 0 && float64(q.Limits.RatePS) > idle*span/2 {
			return fmt.Sprintf(says, 100*idle)
		}
	}
	return ""
}

// limiterOf is the scope and the interval of the limiter that the peers of queue pairs
// have; "" where they sent no CNP.
func (x *index) limiterOf(qps []int32) (scope string, interval units.Time) {
	for _, k := range qps {
		i, ok := x.peer(&x.r.QPs[k])
		if !ok {
			continue
		}
		if l := x.r.QPs[i].Limits.CNPLimiter; l != nil {
			scope, interval = l.Scope, max(interval, l.IntervalPS)
		}
	}
	return scope, interval
}

// nearestFill is the row of Fills with the nearest rate, and of that the nearest number
// of senders, by their ratio.
func nearestFill(rate units.Rate, senders int, scope string) (best Fill) {
	if scope == "destination" { // a sender is one host there as a rule
		scope = "queue-pair"
	}
	ratio := func(a, b int) float64 { return max(float64(a)/float64(b), float64(b)/float64(a)) }
	near := func(f Fill) (float64, float64) {
		return ratio(int(rate/units.Gbps)+1, f.Gbps), ratio(max(1, senders), f.Senders)
	}
	for _, f := range Fills() {
		if f.Scope != scope {
			continue
		}
		r, n := near(f)
		br, bn := 0.0, 0.0
		if best.Senders > 0 {
			br, bn = near(best)
		}
		if best.Senders == 0 || r < br || r == br && n < bn {
			best = f
		}
	}
	return best
}
