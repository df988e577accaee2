package metrics

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// idleShare is the share of a line that is idle where it is worth a sentence.
const idleShare = 0.1

// idleLine says of one line that rates left a tenth of it and more idle, and names what
// fills it: of a line that its senders may not fill together their rate, else of the port
// with most marks what keeps DCQCN from it, and at which price.
func idleLine(l lang.Language, r *record.Run) []string {
	if r.Control == nil {
		return nil
	}
	x := newIndexIn(l, r)
	if says := x.heldBelow(); says != "" {
		return []string{says}
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
	says := x.leftIdle(worst)
	if says == "" {
		return nil
	}
	says += l.Of(", because DCQCN held back what was to leave by it")
	if worst.Limits.EgressDrop != nil {
		return []string{says + l.Of("; what fills it fills its queue, and this class drops what finds no room there "+
			"(docs/models/dcqcn.md)")}
	}
	senders := x.class(x.out(worst.ID()), worst.Class)
	if s := x.setting(worst, senders); s != nil {
		says += x.fills(s, worst, senders)
	}
	return []string{says}
}

// fills names a setting and its price: the queue of a like incast, where it is one to a
// host that keeps up.
func (x *index) fills(s *Setting, p *record.Port, senders []int32) string {
	says := x.l.Sprintf("; dcqcn.%s: %s fills a line", s.Key, s.Value)
	if s.Key != clampKey && x.r.Control.ClampTargetRate && slices.Contains(x.r.Control.Changed, clampKey) {
		says = x.l.Sprintf("; with %s: true no rate comes back from a cut: dcqcn.%s: false with %s: %s fills a line",
			clampKey, clampKey, s.Key, s.Value)
	}
	says += x.l.Of(" at the price of its queue")
	if len(senders) < 2 || x.drains[p.Peer.Node] != nil {
		return says + x.l.Of(" (docs/models/dcqcn.md)")
	}
	scope, _ := x.limiterOf(senders)
	f := s.nearest(p.RateBps, len(senders), scope)
	return x.l.Sprintf("%s: %d to 1 at %d Gb/s, 32 MB each, then reaches %.0f %% with %.3g MB in it on average "+
		"(docs/models/dcqcn.md)",
		says, f.Senders, f.Gbps, f.Share, f.QueueMB)
}

// setting is what fills a port's line; nil: what does with these values of DCQCN is not
// known, or is set.
func (x *index) setting(p *record.Port, senders []int32) *Setting {
	c := x.r.Control
	for _, k := range c.Changed {
		if !slices.Contains([]string{"cnp_limiter", "cnp_delay", "min_time_between_cnps", "rpg_max_rate", clampKey}, k) {
			return nil
		}
	}
	scope, interval := x.limiterOf(senders)
	if scope == "" {
		return nil
	}
	least := int64(-1)
	for _, k := range senders {
		if n := x.r.QPs[k].SentBytes; least < 0 || n < least {
			least = n
		}
	}
	for _, s := range Settings() {
		early := p.RateBps.TxTimeLong(units.Bytes(p.Limits.KMinBytes)) < s.Marking
		if s.Preset == c.Preset && !early && least >= s.LeastMB*1e6 && (s.Interval == 0 || interval < s.Interval) && (s.Key != clampKey || c.ClampTargetRate) {
			return &s
		}
	}
	return nil
}

// leftIdle says how much of a port's line, or of what its host takes where that is less,
// DCQCN's rates and not pauses left unused: some sender waited for its rate for half of
// that time at least. It is empty where that is less than a tenth.
func (x *index) leftIdle(p *record.Port) string {
	says, idle := x.idle(p)
	for _, k := range x.class(x.out(p.ID()), p.Class) {
		if q := &x.r.QPs[k]; q.RateCuts > 0 && says != "" && x.waited(q, idle) {
			return says
		}
	}
	return ""
}

// waited reports whether a queue pair waited for its rate for half of what was idle.
func (x *index) waited(q *record.QP, idle float64) bool {
	return float64(q.Limits.RatePS) > idle*x.active()/2
}

// active is the time that utilisations are over, in ps.
func (x *index) active() float64 { return float64(EndOf(x.r) - x.r.FirstPost()) }

// idle says how much of a port's line, or of what its host takes, was not used, pauses
// apart; "" where that is less than a tenth.
func (x *index) idle(p *record.Port) (says string, idle float64) {
	span := x.active()
	says, idle = p.Name()+x.l.Of(" was idle for %.0f %% of the time"), 1-p.Utilisation-float64(p.PausedPS)/span
	if p.PausedPS > 0 {
		says += x.l.Of(" beside its pauses")
	}
	if d := x.drains[p.Peer.Node]; d != nil && d.DrainBps < p.RateBps { // its pauses are what it does not take
		says = x.l.Sprintf("%s got %%.0f %%%% less than the %s that its host takes", p.Peer, FormatRate(d.DrainBps))
		idle = 1 - p.Utilisation*float64(p.RateBps)/float64(d.DrainBps)
	}
	if idle < idleShare || span <= 0 {
		return "", idle
	}
	return fmt.Sprintf(says, 100*idle), idle
}

// heldBelow tells of the port whose senders, by the rate that each began at or may have at
// most, cannot fill its line together, and of the rate that does, equal for all: the line's
// share of each. It is empty where a port on their way has no room for that, and where
// they did not send side by side.
func (x *index) heldBelow() (says string) {
	var most *record.Port
	for i := range x.r.Ports {
		p := &x.r.Ports[i]
		if most != nil && p.Utilisation <= most.Utilisation {
			continue
		}
		if s := x.below(p); s != "" {
			most, says = p, s
		}
	}
	return says
}

// below is what heldBelow says of a port.
func (x *index) below(p *record.Port) string {
	says, idle := x.idle(p)
	senders := x.class(x.out(p.ID()), p.Class)
	if says == "" || len(senders) == 0 {
		return ""
	}
	line := p.RateBps
	if d := x.drains[p.Peer.Node]; d != nil {
		line = min(line, d.DrainBps)
	}
	share, sum := line/units.Rate(len(senders)), units.Rate(0)
	key, low := "", units.Rate(0)
	for _, k := range senders {
		q := &x.r.QPs[k]
		rate, by := heldAt(q)
		if by == "" || key != "" && by != key || rate >= share || !x.waited(q, idle) || !x.room(q, share) {
			return ""
		}
		key, low, sum = by, max(low, rate), sum+rate
	}
	if 1-idle < 0.9*float64(sum)/float64(line) {
		return "" // they did not all send all the time
	}
	who := x.who(senders)
	if len(senders) > 1 {
		who = x.l.Of("each of ") + who
	}
	how := x.l.Sprintf("%s holds %s at %s", key, who, FormatRate(low))
	if key == initialKey {
		how = x.l.Sprintf("%s had %s begin at %s, and rates rise slowly from there", key, who, FormatRate(low))
	}
	return x.l.Sprintf("%s, for %s; %s: %v fills it", says, how, key, share/units.Mbps*units.Mbps)
}

// The keys that hold a line below its rate.
const (
	initialKey = "initial_rate"
	maxKey     = "rpg_max_rate"
	clampKey   = "clamp_tgt_rate"
)

// heldAt is the rate that holds a queue pair which heard of no congestion, and its key;
// "" where none does.
func heldAt(q *record.QP) (units.Rate, string) {
	l := &q.Limits
	switch {
	case !l.CC || q.RateCuts > 0:
		return 0, ""
	case l.InitialBps > 0 && l.InitialBps < l.LineBps && (l.MaxBps == 0 || l.InitialBps < l.MaxBps):
		return l.InitialBps, initialKey
	case l.MaxBps > 0 && l.MaxBps < l.LineBps:
		return l.MaxBps, maxKey
	}
	return 0, ""
}

// room reports whether each port on the way of a queue pair has room for a rate of each
// that leaves by it.
func (x *index) room(q *record.QP, rate units.Rate) bool {
	for _, h := range q.Limits.Path {
		if rate*units.Rate(len(x.out(h.Port))) > h.RateBps {
			return false
		}
	}
	return true
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
