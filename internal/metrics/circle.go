package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// A deadlock that a PFC watchdog or a lifetime limit breaks is over when the run ends, so that it is looked for in what
// was written down: just before the break each port of a circle might not send, and what had stopped it waited for the
// next one.

// brokenCircle is a circle of waits that was broken.
type brokenCircle struct {
	ports  []record.Waiting // each waits for the next, the last for the first
	stood  []record.Stretch // the times in which it stood, of Times, in order; Sum is not used
	over   []units.Time     // when what broke it let its queues be as before
	breaks catalog.Drop     // DropStorm: a watchdog did; else which lifetime limit did
}

// BrokenCircle is the circle of waits that was broken first in a run; nil: none was, as far as the record tells.
func BrokenCircle(r *record.Run) []record.Waiting {
	if c := newIndex(r).brokenCircle(); c != nil {
		return c.ports
	}
	return nil
}

// brokenCircle finds the circle that was broken first, and each time that it was.
func (x *index) brokenCircle() *brokenCircle {
	var c *brokenCircle
	for i := range x.r.Storms {
		s := &x.r.Storms[i]
		if s.Action == record.WatchdogAlert {
			continue
		}
		over := s.ToPS
		if over < 0 {
			over = x.r.EndPS
		}
		c = x.addBreak(c, portClass{s.Port, s.Class}, s.FromPS, over, catalog.DropStorm)
	}
	if c != nil {
		return c
	}
	type ended struct {
		at   portClass
		drop record.Drop
	}
	var all []ended
	for i := range x.r.Ports {
		p := &x.r.Ports[i]
		for _, d := range p.DropCauses {
			if d.Cause.Sign() == catalog.LifetimeEnd && d.Count > 0 {
				all = append(all, ended{portClass{p.ID(), p.Class}, d})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ended) int { return cmp.Compare(a.drop.First, b.drop.First) })
	for _, e := range all { // the record tells of the first at each port only
		if c = x.addBreak(c, e.at, e.drop.First, e.drop.First, e.drop.Cause); c != nil {
			return c
		}
	}
	return nil
}

// addBreak adds to c, or to a new circle, that a queue was let go at an instant, if that broke a circle.
func (x *index) addBreak(c *brokenCircle, at portClass, now, over units.Time, by catalog.Drop) *brokenCircle {
	if c != nil {
		if last := len(c.stood) - 1; c.stood[last].To == now && c.has(at) { // likewise another port of it
			c.over[last] = max(c.over[last], over)
			return c
		}
	}
	path := x.circleAt(at, now)
	if path == nil || c != nil && !c.has(at) {
		return c
	}
	if c == nil {
		c = &brokenCircle{breaks: by}
		for _, p := range path {
			c.ports = append(c.ports, record.Waiting{Port: p.port, Class: p.class, Layer: x.ports[p].Layer})
		}
	}
	closed := units.Time(0)
	for _, p := range path {
		closed = max(closed, x.shutAt(p, now).From)
	}
	c.stood, c.over = append(c.stood, record.Stretch{From: closed, To: now}), append(c.over, over)
	return c
}

func (c *brokenCircle) has(at portClass) bool {
	return slices.ContainsFunc(c.ports, func(w record.Waiting) bool { return w.Port == at.port && w.Class == at.class })
}

// circleAt is a circle of waits from a port back to it as it stood just before an instant; nil: there was none. All of
// it had stood for at least half of the time that the port might not send, or it was not what kept that shut.
func (x *index) circleAt(start portClass, now units.Time) []portClass {
	first := x.shutAt(start, now)
	if first == nil {
		return nil
	}
	latest := first.From + (now-first.From)/2
	seen := map[portClass]bool{} // looked up, never iterated
	var follow func(at portClass) []portClass
	follow = func(at portClass) []portClass {
		if s := x.shutAt(at, now); seen[at] || s == nil || s.From > latest {
			return nil
		}
		seen[at] = true
		for _, next := range x.waitsFor(at, now) {
			if next == start {
				return []portClass{at}
			}
			if rest := follow(next); rest != nil {
				return append([]portClass{at}, rest...)
			}
		}
		return nil
	}
	return follow(start)
}

// shutAt is the time in which a port might not send that an instant ended, or is within; nil: it might.
func (x *index) shutAt(at portClass, now units.Time) *record.Stretch {
	seen := x.shut[at]
	for i := range seen {
		if seen[i].From < now && now <= seen[i].To {
			return &seen[i]
		}
	}
	return nil
}

// waitsFor lists the egress ports behind a port that might not send at an instant: those for which what had filled the
// ingress port at the other end waited, as far as it was looked at.
func (x *index) waitsFor(at portClass, now units.Time) (all []portClass) {
	p := x.ports[at]
	if p == nil || x.hosts[p.Peer.Node] {
		return nil
	}
	f := x.filledAt(p.Peer, at.class)
	if f == nil {
		return nil
	}
	var last *record.Fill
	for i := range f.Seen {
		if f.Seen[i].At <= now {
			last = &f.Seen[i]
		}
	}
	if last == nil {
		return nil
	}
	for _, by := range last.By {
		next := portClass{x.metPort(&record.Met{Port: by.Port}), at.class}
		if by.Bytes > 0 && x.ports[next] != nil {
			all = append(all, next)
		}
	}
	return all
}

// brokenVerdict is the verdict on a circle of waits that was broken, if what went through it spent enough of all
// messages' time while it stood and what broke it went on; else it is what else was found.
func (x *index) brokenVerdict(c *brokenCircle, other *Verdict) *Verdict {
	held, after, n := x.heldByCircle(c)
	total := units.Time(0)
	for i := range x.r.Messages {
		total += x.r.Messages[i].Life()
	}
	if total == 0 {
		return other
	}
	milli := mulDiv(int64(held+after), 1000, int64(total))
	said := x.sayBroken(c) + x.l.Sprintf(": %.0f %% of all messages' time went to that", 100*float64(held)/float64(total))
	if 100*after >= total {
		said += x.l.Sprintf(", and %.0f %% to the storms that the watchdog saw in it", 100*float64(after)/float64(total))
	}
	if milli < dominates && other != nil {
		if milli >= defectTells {
			other.Text += x.l.Of("; besides, ") + said
		}
		return other
	}
	if milli < defectTells {
		return other
	}
	v := &Verdict{Kind: catalog.VerdictDeadlock, Ports: len(c.ports), Of: len(x.r.Messages), Messages: n, Text: said}
	first := &c.ports[0]
	v.Cause = Cause{Kind: catalog.CausePort, Place: record.ClassAt(first.Port.Node, first.Port.Port, first.Class,
		first.Layer)}
	v.Cause.Milli = milli
	return v
}

// heldByCircle adds up, of the messages that take a port of a circle, how long they were under way while it stood, and
// from then until its queues were as before. n counts them. A lifetime limit lets one packet go, and the circle closes
// again: it counts for as long as none of its ports might send, at most.
func (x *index) heldByCircle(c *brokenCircle) (held, after units.Time, n int) {
	in := func(at portClass) bool { return c.has(at) }
	for i := range x.r.Messages {
		f := &x.r.Messages[i]
		k, ok := x.sender(f)
		if !ok || f.Life() <= 0 || !x.crosses(&x.r.QPs[k], in) {
			continue
		}
		from, to := f.StartPS, f.StartPS+f.Life()
		was, known := held, units.Time(0) // known: up to when its time has been added
		if c.breaks != catalog.DropStorm {
			least := f.Life()
			for _, w := range c.ports {
				least = min(least, x.shut[portClass{w.Port, w.Class}].Within(max(from, c.stood[0].From), to))
			}
			if held += least; least > 0 {
				n++
			}
			continue
		}
		for k, s := range c.stood {
			held += max(0, min(to, s.To)-max(from, s.From, known))
			known = max(known, s.To)
			after += max(0, min(to, c.over[k])-max(from, known))
			known = max(known, c.over[k])
		}
		if held > was {
			n++
		}
	}
	return held, after, n
}

// sayBroken tells of a circle: its ports, since when it stood, and what broke it how often.
func (x *index) sayBroken(c *brokenCircle) string {
	names := make([]string, len(c.ports))
	for i := range c.ports {
		names[i] = c.ports[i].Port.String()
	}
	start := x.r.FirstPost()
	said := x.l.Sprintf("deadlock: %s waited for each other in a circle from %s on, until ", listNames(x.l, names, 8),
		FormatTime(c.stood[0].From-start))
	broken := FormatTime(c.stood[0].To - start)
	if c.breaks != catalog.DropStorm {
		lost := int64(0)
		for i := range x.r.Ports {
			p := &x.r.Ports[i]
			if !c.has(portClass{p.ID(), p.Class}) {
				continue
			}
			for _, d := range p.DropCauses {
				if d.Cause.Sign() == catalog.LifetimeEnd {
					lost += d.Count
				}
			}
		}
		return said + x.l.Sprintf("the %s broke it at %s, and then each time that it closed again, by %s there in all",
			c.breaks, broken, plural(x.l, lost, "discard"))
	}
	said += x.l.Of("the PFC watchdog broke it at ") + broken
	storms := 0 // of one of its ports, of which the record may not tell of all that the circle stood
	for _, w := range c.ports {
		n := 0
		for i := range x.r.Storms {
			if s := &x.r.Storms[i]; s.Port == w.Port && s.Class == w.Class {
				n++
			}
		}
		storms = max(storms, n)
	}
	if n := len(c.stood); n > 1 {
		sum := units.Time(0)
		for _, s := range c.stood {
			sum += s.To - s.From
		}
		least := ""
		if storms > n {
			least = x.l.Of("at least ")
		}
		said += x.l.Sprintf(" (%s%d times, for it closed again; it stood for %s%s in all)", least, n, least, FormatTime(sum))
	}
	return said
}
