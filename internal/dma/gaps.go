package dma

import "github.com/hopscope/hopscope/internal/units"

// gap is a time in which a track has nothing to do.
type gap struct{ from, to units.Time }

// gaps are the gaps of a track that are not over yet, in order of time: a window of a
// buffer, which moves towards its end. A server's memory has dozens at a time, as what comes
// over a link is booked before it is there.
type gaps struct {
	buffer   []gap
	end      units.Time      // of the last of them; 0: there is none
	from, to uint16          // of buffer
	near     [streams]uint16 // where in buffer a stream found its latest gap
}

// stream is a kind of work whose bookings on a track come nearly in the order of the times at
// which they are to begin, each as long ahead of these as the next. A gap is looked for from
// where the stream's last one was: it is a step or two from there.
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
// once, and two cards may share a link. The buffer has less than eight times as many places.
const maxGaps = 1024

// all are the gaps.
func (g *gaps) all() []gap { return g.buffer[g.from:g.to] }

// push puts a gap behind all others.
func (g *gaps) push(now, from, to units.Time) {
	g.condense()
	g.forget(now)
	n := int(g.to)
	if n == len(g.buffer) {
		g.makeRoom()
		n = int(g.to)
	}
	g.buffer[n] = gap{from, to}
	g.to, g.end = uint16(n+1), to
}

// forget drops the gaps that are over.
func (g *gaps) forget(now units.Time) {
	i := int(g.from)
	for b := g.buffer[:g.to]; i < len(b) && b[i].to <= now; {
		i++
	}
	g.from = uint16(i)
}

// stepsAtMost is how far from a stream's last gap the next is looked for one by one.
const stepsAtMost = 8

// after is the place in the buffer of the first gap that is not over at a time, as there is
// one, looked for from a place on.
func (g *gaps) after(at units.Time, place int) int {
	b, lo := g.buffer[:g.to], int(g.from)
	i := min(max(place, lo), len(b)-1)
	if b[i].to <= at {
		for range stepsAtMost {
			if i++; b[i].to > at {
				return i
			}
		}
		lo, i = i+1, len(b)
	} else {
		for range stepsAtMost {
			if i == lo || b[i-1].to <= at {
				return i
			}
			i--
		}
	}
	for lo < i {
		if m := int(uint(lo+i) / 2); b[m].to <= at {
			lo = m + 1
		} else {
			i = m
		}
	}
	return lo
}

// makeRoom leaves a quarter of the buffer free before the window and half of it behind.
func (g *gaps) makeRoom() {
	to := g.buffer
	if n := int(g.to - g.from); 4*n >= len(to) {
		to = make([]gap, max(32, 2*len(to)))
	}
	from := len(to) / 4
	n := copy(to[from:], g.all())
	for s := range g.near {
		g.near[s] += uint16(from) - g.from // whatever comes of one that was over
	}
	g.buffer, g.from, g.to = to, uint16(from), uint16(from+n)
}

// insert puts a gap into place i of the buffer, before the one there, and returns where it is
// then. What is over goes to make room, and the shorter side moves.
func (g *gaps) insert(now units.Time, i int, x gap) int {
	g.forget(now)
	i = max(i, int(g.from))
	if g.from == 0 || int(g.to) == len(g.buffer) {
		i -= int(g.from)
		g.makeRoom()
		i += int(g.from)
	}
	if i-int(g.from) < int(g.to)-i {
		copy(g.buffer[g.from-1:], g.buffer[g.from:i])
		g.from--
		i--
	} else {
		copy(g.buffer[i+1:], g.buffer[i:g.to])
		g.to++
	}
	g.buffer[i] = x
	return i
}

// condense makes room where there is none: every two neighbours of the later half of the
// gaps become one, with the work between them behind it. What is done in it may begin
// sooner by as much as that takes, and no time of the track is lost.
func (g *gaps) condense() {
	if g.to-g.from >= maxGaps {
		g.merge()
	}
}

// merge is condense where there is no room.
func (g *gaps) merge() {
	all := g.all()
	k := len(all) / 2
	for j := k; j+1 < len(all); j += 2 {
		x, y := all[j], all[j+1]
		all[k] = gap{x.from, x.to + y.to - y.from}
		k++
	}
	g.to = g.from + uint16(k)
	g.end = all[k-1].to
}

// cut takes the gaps from place i to place j, without j, out. They are next to the front more
// often than not.
func (g *gaps) cut(i, j int) {
	if i < j {
		copy(g.buffer[int(g.from)+j-i:], g.buffer[g.from:i])
		g.from += uint16(j - i)
	}
	g.end = 0
	if g.from < g.to {
		g.end = g.buffer[g.to-1].to
	}
}

// fill books work in the gaps that lie after a time, as there are some, and returns what does
// not fit.
func (g *gaps) fill(now, at, work units.Time, s stream) (start, end, rest units.Time) {
	g.condense() // one may become two
	if at > now {
		return g.fillAt(now, at, work, g.after(at, int(g.near[s])), &g.near[s])
	}
	b, i := g.buffer[:g.to], int(g.from)
	for b[i].to <= at {
		i++
	}
	x := &b[i]
	if start = max(x.from, at); x.to-start > work { // the plain case of fillAt
		if x.from < at {
			g.from = uint16(i)
		}
		x.from = start + work
		return start, x.from, 0
	}
	return g.fillAt(now, at, work, i, nil)
}

// fillAt is fill from the gap in place i of the buffer on, and notes where it found room. With
// no place for that it was seen that the first gap does not do.
func (g *gaps) fillAt(now, at, work units.Time, i int, found *uint16) (start, end, rest units.Time) {
	x := &g.buffer[i]
	start = max(x.from, at)
	if rest := x.to - start; rest > work && found != nil { // the plain case: it goes into one gap
		end = start + work
		if x.from >= at {
			x.from = end
		} else { // what is before stays free
			x.to = at
			i = g.insert(now, i+1, gap{end, at + rest})
		}
		*found = uint16(i)
		return start, end, 0
	}
	if x.from < at { // what is before stays free
		work -= x.to - at
		end = x.to
		x.to = at
		i++
	}
	j := i
	for ; j < int(g.to) && work > 0; j++ {
		x := &g.buffer[j]
		take := min(x.to-x.from, work)
		work -= take
		end = x.from + take
		if end < x.to {
			x.from = end
			break
		}
	}
	g.cut(i, j)
	if found != nil {
		*found = uint16(j)
	}
	return start, end, work
}
