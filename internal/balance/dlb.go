package balance

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

const bands = 8

// DLB takes a port of the best of eight quality bands, any of them with equal chance: dynamic load balancing as
// Juniper documents it of Broadcom's chips (egress-quantization). The quality of a port is what Weight per cent of
// its load and the rest of its queue say: loads up to Min per cent of the link's rate are in the best band and
// above Max in the worst, queues likewise from none to what the link drains in Deep. Loads are measured every
// Sample and averaged with the past by halves, as a discounting rate estimator does. With a Gap each flow keeps
// its port until it has sent nothing for longer; without, each packet chooses.
type DLB struct {
	Weight, Min, Max  int // per cent; Min below Max
	Sample, Deep, Gap units.Time
}

// makeDLB has Juniper's bands, weights and thresholds of the load; what such chips take for a long queue, and how
// the recent past is weighed, is not published.
func makeDLB() ([]param.Param, func() fabric.Balancing) {
	d := DLB{Weight: 50, Min: 20, Max: 80, Sample: 16 * units.Microsecond, Deep: 100 * units.Microsecond}
	const juniper = "egress-quantization of Junos: its default, or the example of its page"
	second := float64(units.Second)
	return []param.Param{
		{Name: "weight", Value: &d.Weight, Max: 100, Source: juniper,
			Text: "What the load counts, in per cent; the queue counts the rest."},
		{Name: "min", Value: &d.Min, Max: 99, Source: juniper,
			Text: "Up to this load, in per cent of the link's rate, a port is in the best band."},
		{Name: "max", Value: &d.Max, Min: 1, Max: 100, Source: juniper,
			Text: "Above this load a port is in the worst band; more than `min`."},
		{Name: "sample", Value: &d.Sample, Min: 1e6, Max: second, Source: "assumed: not published",
			Text: "How often loads are measured; half of each stays from before."},
		{Name: "deep", Value: &d.Deep, Min: 1e3, Max: second, Source: "assumed: not published",
			Text: "What takes longer to drain than this is the longest queue."},
		{Name: "gap", Value: &d.Gap, Max: second, Source: "the per-packet mode of Junos",
			Text: "The pause of a flow after which it may take another port (16us to 32ms on such chips); 0: each packet may."},
	}, func() fabric.Balancing { return d }
}

// String is "dlb".
func (DLB) String() string { return "dlb" }

// KeepsOrder is true of flowlets.
func (d DLB) KeepsOrder() bool { return d.Gap > 0 }

// Mechanism is that of its flowlets or of adaptive routing.
func (d DLB) Mechanism() catalog.Mechanism {
	if d.Gap > 0 {
		return catalog.Flowlets
	}
	return catalog.Adaptive
}

// New implements fabric.Balancing.
func (d DLB) New(ports int, rnd *rng.Stream) fabric.Balancer {
	q := &quality{DLB: d, rnd: rnd, loads: make([]load, ports)}
	for i := range q.loads {
		q.loads[i].dre = dre{period: d.Sample, alpha: 500}
	}
	if d.Gap > 0 {
		return &flowlets{gap: d.Gap, pick: q.best}
	}
	return q
}

type quality struct {
	DLB
	rnd   *rng.Stream
	loads []load // by port
}

// load is the load of a port, in per cent of its link's rate, as measured last.
type load struct {
	dre
	percent int64
}

func (q *quality) Choose(_ fabric.Arrival, ports fabric.Ports) int { return q.best(ports) }

// best draws one of the ports in the best band.
func (q *quality) best(ports fabric.Ports) int {
	best, band, alike := 0, -1, 0
	for i := range ports.Len() {
		b := q.band(ports, i)
		switch {
		case b > band:
			best, band, alike = i, b, 1
		case b == band:
			// Of k alike the k-th takes the place of the one that holds it with probability 1/k.
			if alike++; q.rnd.IntN(alike) == 0 {
				best = i
			}
		}
	}
	return best
}

// band is the quality of candidate i, from 0, the worst, to 7; -1 if its link is known to be down.
func (q *quality) band(ports fabric.Ports, i int) int {
	if !ports.Up(i) {
		return -1
	}
	l := &q.loads[ports.Number(i)]
	if ports.Now() >= l.end && l.to(ports.Now(), ports.Sent(i)) {
		l.percent = l.share(ports.Rate(i))
	}
	worse := q.Weight * grade(l.percent, int64(q.Min), int64(q.Max))
	worse += (100 - q.Weight) * grade(int64(ports.Wait(i)), 0, int64(q.Deep))
	return bands - 1 - worse/100
}

// grade is 0 up to lo, 7 above hi and the like parts between them.
func grade(x, lo, hi int64) int {
	switch {
	case x <= lo:
		return 0
	case x > hi:
		return bands - 1
	}
	return int(1 + (x-lo-1)*(bands-2)/(hi-lo))
}

// dre is a discounting rate estimator of one port (CONGA, SIGCOMM 2014, section 3.2): what is sent is added to
// a register, and alpha per mille of it are let go at the end of each period. At a constant rate R it holds between
// R T (1-alpha)/alpha, just after, and R T/alpha, just before.
type dre struct {
	period units.Time
	alpha  int64 // per mille
	end    units.Time
	sent   units.Bytes // before the period
	after  units.Bytes // the register at the end of the last period
	before units.Bytes // likewise, before it was discounted
}

// to brings the register up to now, by when the port has sent so many bytes. What was sent in several periods
// that nobody looked at counts as sent evenly. It reports whether a period has ended.
func (d *dre) to(now units.Time, sent units.Bytes) bool {
	if now < d.end {
		return false
	}
	periods := units.Time(1)
	if d.end > 0 {
		periods += (now - d.end) / d.period
	}
	each := (sent - d.sent) / units.Bytes(periods)
	for range min(periods, 1<<10) { // more leave nothing of what was before
		d.before = d.after + each
		d.after = d.before - d.before*units.Bytes(d.alpha)/1000
	}
	d.sent, d.end = sent, now-now%d.period+d.period
	return true
}

// share is the register just after a period as a part of what it would hold at a rate, in per cent.
func (d *dre) share(line units.Rate) int64 {
	full := float64(line) / 8e12 * float64(d.period) * float64(1000-d.alpha) / float64(d.alpha)
	return int64(100 * float64(d.after) / full)
}
