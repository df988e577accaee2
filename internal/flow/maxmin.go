package flow

import (
	"cmp"
	"math"
	"slices"

	"github.com/hopscope/hopscope/internal/units"
)

// link is a capacity that flows share: a direction of a network link, or a place inside a server.
type link struct {
	capacity float64 // bytes/ps
	active   []member
	// While rates are worked out: what of the capacity is left, and what the flows without a rate take
	// of it for each byte/ps of their level.
	left, load float64
	open       int    // flows without a rate
	reached    uint32 // by the search that met it last
}

// member is a flow on a link, and which of its uses that is.
type member struct {
	flow *flow
	use  int32
}

// use is what a flow takes of a link for each byte of its own.
type use struct {
	link   int32
	weight float64
	at     int32 // its place among the link's active flows
}

// flow is bytes on their way over links.
type flow struct {
	uses    []use
	most    float64    // rate that something beside the links allows it, bytes/ps
	rest    float64    // bytes to go at since
	rate    float64    // bytes/ps
	since   units.Time // when rest was true
	due     units.Time // when nothing will be left at this rate
	place   int32      // in the heap of ends, from 1; 0: it is not there
	number  int32      // in the order in which flows first started, which decides among equals
	reached uint32
	fixed   bool
	over    func(now units.Time) // called when nothing is left
}

// network shares links among flows so that rates are max-min fair: no flow can be faster without a slower
// one, or one as slow, losing. Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2 has the method,
// progressive filling: all rates rise together, and those stop whose link is full.
type network struct {
	links    []link
	dirty    []int32 // links whose flows are to be given rates again
	flows    int32
	searches uint32
	ends     ends
	// Room for settle.
	part   []int32
	met    []*flow
	queue  levels
	solved int64 // flows that were given a rate, of all times
}

// add adds a link and returns its number.
func (n *network) add(capacity float64) int32 {
	n.links = append(n.links, link{capacity: capacity})
	return int32(len(n.links) - 1)
}

// start lets a flow of so many bytes begin.
func (n *network) start(f *flow, bytes float64, now units.Time) {
	if f.number == 0 {
		n.flows++
		f.number = n.flows
	}
	f.rest, f.rate, f.since, f.due = bytes, 0, now, units.Never
	for i := range f.uses {
		u := &f.uses[i]
		l := &n.links[u.link]
		u.at = int32(len(l.active))
		l.active = append(l.active, member{f, int32(i)})
		n.dirty = append(n.dirty, u.link)
	}
	if len(f.uses) == 0 { // nothing limits it but itself
		n.pace(f, f.most, now)
	}
}

// stop takes a flow off its links.
func (n *network) stop(f *flow) {
	for i := range f.uses {
		u := &f.uses[i]
		l := &n.links[u.link]
		last := l.active[len(l.active)-1]
		l.active[u.at] = last
		last.flow.uses[last.use].at = u.at
		l.active = l.active[:len(l.active)-1]
		n.dirty = append(n.dirty, u.link)
	}
	n.ends.remove(f)
	f.rate = 0
}

// refill has a flow go on with as many bytes more, at the rate that it has.
func (n *network) refill(f *flow, bytes float64, now units.Time) {
	f.rest, f.since = bytes, now
	f.due = now + units.Time(math.Ceil(bytes/f.rate))
	n.ends.put(f)
}

// settle gives rates to the flows that anything since the last time may have changed: those of the
// components, flows joined by links that they share, to which the changed links belong.
func (n *network) settle(now units.Time) {
	if len(n.dirty) == 0 {
		return
	}
	n.searches++
	for _, l := range n.dirty {
		if n.links[l].reached != n.searches {
			n.component(l)
			n.fill(now)
		}
	}
	n.dirty = n.dirty[:0]
}

// component finds the links and flows that are joined with a link.
func (n *network) component(first int32) {
	n.part, n.met = append(n.part[:0], first), n.met[:0]
	n.links[first].reached = n.searches
	for k := 0; k < len(n.part); k++ {
		for _, m := range n.links[n.part[k]].active {
			if m.flow.reached == n.searches {
				continue
			}
			m.flow.reached = n.searches
			n.met = append(n.met, m.flow)
			for _, u := range m.flow.uses {
				if l := &n.links[u.link]; l.reached != n.searches {
					l.reached = n.searches
					n.part = append(n.part, u.link)
				}
			}
		}
	}
}

// fill gives rates to the flows of a component.
func (n *network) fill(now units.Time) {
	n.solved += int64(len(n.met))
	slices.SortFunc(n.met, func(a, b *flow) int {
		if c := cmp.Compare(a.most, b.most); c != 0 {
			return c
		}
		return cmp.Compare(a.number, b.number)
	})
	slices.Sort(n.part)
	for _, l := range n.part {
		x := &n.links[l]
		x.left, x.load, x.open = x.capacity, 0, len(x.active)
	}
	for _, f := range n.met {
		f.fixed = false
		for _, u := range f.uses {
			n.links[u.link].load += u.weight
		}
	}
	n.queue = n.queue[:0]
	for _, l := range n.part {
		if x := &n.links[l]; len(x.active) > 0 {
			n.queue.push(level{x.left / x.load, l})
		}
	}
	limited := n.met // by themselves, from the slowest on
	for {
		for len(limited) > 0 && limited[0].fixed {
			limited = limited[1:]
		}
		if len(limited) == 0 {
			return
		}
		full := n.nextFull()
		if own := limited[0].most; own <= full.at {
			n.fix(limited[0], own, now)
			continue
		}
		for _, m := range n.links[full.link].active {
			if !m.flow.fixed {
				n.fix(m.flow, full.at, now)
			}
		}
	}
}

// nextFull is the link that will be full first as the rates of flows without one rise together, and their
// level then. What waits in the queue may have become later since, never sooner.
func (n *network) nextFull() level {
	for len(n.queue) > 0 {
		top := n.queue[0]
		l := &n.links[top.link]
		if l.open == 0 {
			n.queue.pop()
			continue
		}
		if at := max(l.left, 0) / l.load; at > top.at {
			n.queue.pop()
			n.queue.push(level{at, top.link})
			if n.queue[0].link != top.link {
				continue
			}
		}
		return n.queue[0]
	}
	return level{math.Inf(1), -1}
}

// fix gives a flow its rate.
func (n *network) fix(f *flow, rate float64, now units.Time) {
	f.fixed = true
	for _, u := range f.uses {
		l := &n.links[u.link]
		l.left -= u.weight * rate
		l.load -= u.weight
		l.open--
	}
	n.pace(f, rate, now)
}

// steady is by how much a rate must change to count: less is rounding.
const steady = 1e-9

// pace has a flow go on at a rate.
func (n *network) pace(f *flow, rate float64, now units.Time) {
	if math.Abs(rate-f.rate) <= steady*rate {
		return
	}
	f.rest = max(0, f.rest-f.rate*float64(now-f.since))
	f.since, f.rate = now, rate
	f.due = now
	if f.rest > 0 {
		f.due += units.Time(math.Ceil(f.rest / rate))
	}
	n.ends.put(f)
}

// level is when a link will be full.
type level struct {
	at   float64
	link int32
}

// levels is a heap of them, the least first.
type levels []level

func (q levels) less(a, b int) bool {
	return q[a].at < q[b].at || q[a].at == q[b].at && q[a].link < q[b].link
}

func (q *levels) push(x level) {
	*q = append(*q, x)
	s := *q
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s.less(i, up) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

func (q *levels) pop() {
	s := *q
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	*q = s
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return
		}
		if down+1 < last && s.less(down+1, down) {
			down++
		}
		if !s.less(down, i) {
			return
		}
		s[i], s[down] = s[down], s[i]
		i = down
	}
}
