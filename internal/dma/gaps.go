package dma

import "github.com/hopscope/hopscope/internal/units"

// gap is a time in which a track has nothing to do.
type gap struct {
	from, to   units.Time
	next, prev uint16 // its neighbours; of one that is not in use prev is the next such, and to is 0
}

// gaps are the gaps of a track that are not over yet, in order of time: a list, so that
// those in the middle come and go at the same cost as those at an end. A server's memory
// has dozens at a time, as what comes over a link is booked before it is there.
type gaps struct {
	// list holds the gaps, whose places are numbers; number 0 stands before the first and
	// behind the last, and is never over.
	list   []gap
	end    units.Time      // of the last gap; 0: there is none
	near   [streams]uint16 // where a stream found its latest gap
	n      uint16          // gaps
	unused uint16          // place of a gap that is not in use; 0: none
}

// stream is a kind of work whose bookings on a track come nearly in the order of the times at
// which they are to begin, each as long ahead of these as the next. A gap is looked for from
// where the stream's last one was.
type stream uint8

const (
	turning stream = iota // turns of copies over NVLink
	reading               // data of reads
	writing               // posted writes
	asking                // requests for reads, and what else there is

	streams = iota
)

// maxGaps bounds the gaps that a track remembers one by one, an even number. A read leaves
// one on the way of its requests and one on that of its data until these have passed. Cards
// ask for twice what their tags bring, so that of packets of 1 KiB 256 are asked for at
// once, and two cards may share a link.
const maxGaps = 1024

// push puts a gap behind all others.
func (g *gaps) push(now, from, to units.Time) {
	if g.n >= maxGaps {
		g.merge()
	}
	g.forget(now)
	g.insert(0, from, to)
	g.end = to
}

// insert puts a gap before the one in place i.
func (g *gaps) insert(i uint16, from, to units.Time) {
	k := g.unused
	if k == 0 {
		k = g.grow()
	}
	l := g.list
	x, y := &l[k], &l[i]
	g.unused = x.prev
	before := y.prev
	x.from, x.to, x.next, x.prev = from, to, i, before
	l[before].next, y.prev = k, k
	g.n++
}

// grow makes a place for a gap that is not in use.
func (g *gaps) grow() (k uint16) {
	if len(g.list) == 0 {
		g.list = append(make([]gap, 0, 32), gap{to: units.Never})
	}
	g.list = append(g.list, gap{})
	return uint16(len(g.list) - 1)
}

// remove takes the gap in place i out and returns the place of the one behind it.
func (g *gaps) remove(i uint16) (next uint16) {
	x := &g.list[i]
	next = x.next
	g.list[x.prev].next, g.list[next].prev = next, x.prev
	*x = gap{prev: g.unused}
	g.unused = i
	if g.n--; g.n == 0 {
		g.end = 0
	}
	return next
}

// forget drops the gaps that are over.
func (g *gaps) forget(now units.Time) {
	if g.n > 0 {
		for i := g.list[0].next; g.list[i].to <= now; {
			i = g.remove(i)
		}
	}
}

// after is the place of the first gap that is not over at a time, as there is one. It looks
// from place i on, whatever gap is there or was.
func (g *gaps) after(at units.Time, i uint16) uint16 {
	l := g.list
	for l[i].to <= at { // of what is not in use no gap is next
		i = l[i].next
	}
	for k := l[i].prev; k != 0 && l[k].to > at; k = l[k].prev {
		i = k
	}
	return i
}

// merge makes room where there is none: every two neighbours of the later half of the
// gaps become one, with the work between them behind it. What is done in it may begin
// sooner by as much as that takes, and no time of the track is lost.
func (g *gaps) merge() {
	i := g.list[0].next
	for range g.n / 2 {
		i = g.list[i].next
	}
	for i != 0 {
		x := &g.list[i]
		y := &g.list[x.next]
		x.to += y.to - y.from
		i = g.remove(x.next)
	}
	g.end = g.list[g.list[0].prev].to
}

// fill books work in the gaps that lie after a time, as there are some, and returns what does
// not fit.
func (g *gaps) fill(now, at, work units.Time, s stream) (start, end, rest units.Time) {
	if g.n >= maxGaps { // one may become two
		g.merge()
	}
	i := g.list[0].next
	if at > now { // else it goes into one of the first
		i = g.near[s]
	}
	i = g.after(at, i)
	x := &g.list[i]
	start = max(x.from, at)
	if x.to-start > work { // the plain case: it goes into one gap
		switch {
		case x.from >= at:
		case at <= now: // what is before is over
			for first := g.list[0].next; first != i; {
				first = g.remove(first)
			}
		default: // what is before stays free
			g.forget(now)
			g.insert(i, x.from, at)
			x = &g.list[i]
		}
		x.from = start + work
		if at > now {
			g.near[s] = i
		}
		return start, x.from, 0
	}
	if x.from < at {
		work -= x.to - at
		end = x.to
		x.to = at
		i = x.next
	}
	for i != 0 && work > 0 {
		x := &g.list[i]
		take := min(x.to-x.from, work)
		work -= take
		end = x.from + take
		if end < x.to {
			x.from = end
			break
		}
		i = g.remove(i)
	}
	if at > now {
		g.near[s] = i
	}
	if g.n > 0 {
		g.end = g.list[g.list[0].prev].to
	}
	return start, end, work
}
