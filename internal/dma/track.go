package dma

import "github.com/hopscope/hopscope/internal/units"

// track is what carries one piece of data at a time: one direction of a link, or a
// memory, whose reads and writes share its rate. Work is reserved when a transfer is
// asked for, at the time at which its first bytes get there; a time between two
// reservations that nothing uses is a gap, which a later call may fill whose bytes
// get there earlier.
type track struct {
	free units.Time // end of what is reserved
	gaps gaps
	// beside is whether there are bulks or loads, of which most tracks never have any.
	beside bool

	// Bulk copies that want all of the track share it with the rest, half and half while
	// there is both; those that pass more slowly have loads.
	bulks bulks
	loads loads

	outs   [maxOuts]out
	turned units.Time // when the last posted write that was booked is through
	placed units.Time // when the last that came this way to a root complex is in memory
	posted window     // of the buffer at its end

	carried Carried
}

// out is when the last posted write that came over a track had gone on over another.
type out struct {
	to *track
	at units.Time
}

// maxOuts is for how many ways on a track remembers that.
const maxOuts = 4

// behind is when what came over a track may go on over another, behind the writes that
// came before it and went the same way.
func (t *track) behind(to *track) units.Time {
	for i := range t.outs {
		if t.outs[i].to == to {
			return t.outs[i].at
		}
	}
	return 0
}

// went notes that a write that came over a track has gone on over another. The way on
// that was not used for longest is forgotten.
func (t *track) went(to *track, at units.Time) {
	k := 0
	for i := range t.outs {
		if t.outs[i].to == to {
			k = i
			break
		}
		if t.outs[i].at < t.outs[k].at {
			k = i
		}
	}
	t.outs[k] = out{to, max(at, t.behind(to))}
}

// Carried is what went over one direction of a link, or through a memory.
type Carried struct {
	Payload   units.Bytes // data of transfers
	Bytes     units.Bytes // with headers, and requests for reads
	Busy      units.Time  // that they took
	Waited    units.Time  // sum of what transfers waited for their turn, and for credits
	Credits   units.Time  // of that, posted writes for room at the far end
	Peak      units.Time  // longest wait, for either
	PeakAt    units.Time  // when it began
	Transfers int64       // number of transfers
}

// gap is a time in which a track has nothing to do.
type gap struct{ from, to units.Time }

// gaps are the gaps of a track that are not over yet, in order of time: a window of a
// buffer, which moves towards its end.
type gaps struct {
	buffer   []gap
	from, to int
	end      units.Time // of the last of them, while there is one
}

// maxGaps bounds the gaps that a track remembers one by one, an even number. A read leaves one on the way of its requests and one on that of its
// data until these have passed. Cards ask for twice what their tags bring, so that
// of packets of 1 KiB 256 are asked for at once, and two cards may share a link.
const maxGaps = 1024

// all are the gaps.
func (g *gaps) all() []gap { return g.buffer[g.from:g.to] }

// push puts a gap behind all others.
func (g *gaps) push(now units.Time, x gap) {
	g.forget(now)
	if g.to == len(g.buffer) {
		g.makeRoom()
	}
	g.buffer[g.to] = x
	g.to++
	g.end = x.to
}

// after is the place in the buffer of the first gap that is not over at a time, as there is
// one. What is read now goes into one of the first.
func (g *gaps) after(at units.Time) int {
	b := g.buffer[:g.to]
	lo := g.from
	if b[lo].to > at {
		return lo
	}
	if lo++; b[lo].to > at {
		return lo
	}
	for hi := len(b); lo < hi; {
		if m := int(uint(lo+hi) / 2); b[m].to <= at {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// forget drops the gaps that are over.
func (g *gaps) forget(now units.Time) {
	for g.from < g.to && g.buffer[g.from].to <= now {
		g.from++
	}
}

// makeRoom leaves a quarter of the buffer free before the window and half of it behind.
func (g *gaps) makeRoom() {
	to := g.buffer
	if n := g.to - g.from; 4*n >= len(to) {
		to = make([]gap, max(32, 2*len(to)))
	}
	from := len(to) / 4
	n := copy(to[from:], g.all())
	g.buffer, g.from, g.to = to, from, from+n
}

// insert puts a gap into place i of the buffer, before the one there, which may then be
// elsewhere. What is over goes to make room, and the shorter side moves.
func (g *gaps) insert(now units.Time, i int, x gap) {
	g.forget(now)
	i = max(i, g.from)
	if g.from == 0 || g.to == len(g.buffer) {
		i -= g.from
		g.makeRoom()
		i += g.from
	}
	if i-g.from < g.to-i {
		copy(g.buffer[g.from-1:], g.buffer[g.from:i])
		g.from--
		i--
	} else {
		copy(g.buffer[i+1:], g.buffer[i:g.to])
		g.to++
	}
	g.buffer[i] = x
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
	g.to = g.from + k
	g.end = all[k-1].to
}

// cut takes the gaps from place i to place j, without j, out. They are next to the front more
// often than not.
func (g *gaps) cut(i, j int) {
	if i < j {
		copy(g.buffer[g.from+j-i:], g.buffer[g.from:i])
		g.from += j - i
	}
}

// reserve books work, asked for now, that could begin at a time, and says when it begins
// and ends.
func (t *track) reserve(now, at, work units.Time) (start, end units.Time) {
	if work == 0 {
		return at, at
	}
	if t.beside {
		if k := t.bulks.during(at); k >= 0 { // every other turn is the copy's
			t.bulks.delay(k, work)
			work *= 2
		}
		work = t.loads.beside(at, work)
	}
	if at >= t.free {
		if at > t.free {
			t.gaps.condense()
			t.gaps.push(now, gap{t.free, at})
		}
		t.free = at + work
		return at, t.free
	}
	if g := &t.gaps; g.from == g.to || g.end <= at {
		start = t.free
		t.free += work
		return start, t.free
	}
	return t.fill(now, at, work)
}

// slip books requests, which are a TLP each and take turns with what is reserved: they
// go when they are there, and what is behind them loses their time.
func (t *track) slip(now, at, work units.Time) (start, end units.Time) {
	shared := t.beside && t.bulks.during(at) >= 0
	start, end = t.reserve(now, at, work)
	if start > at && !shared {
		start, end = at, at+work
	}
	return start, end
}

// turn books posted writes, which take turns with what else is reserved, as round robin
// between the ports of a switch has them do: they are through after twice their time at
// most, and what was reserved before loses theirs at its end.
func (t *track) turn(now, at, work units.Time) (start, end units.Time) {
	at = max(at, t.turned)
	start, end = t.reserve(now, at, work)
	if end > at+2*work {
		start, end = at, at+2*work
	}
	t.turned = end
	return start, end
}

// fill books work in the gaps that lie after a time, and what does not fit behind
// all that is reserved.
func (t *track) fill(now, at, work units.Time) (start, end units.Time) {
	g := &t.gaps
	g.condense() // one may become two
	i := g.after(at)
	x := &g.buffer[i]
	start = max(x.from, at)
	if rest := x.to - start; rest > work { // the plain case: it goes into one gap
		switch {
		case x.from >= at:
			x.from += work
		case at <= now: // what is before is over
			g.from = i
			x.from = at + work
		default:
			x.to = at
			g.insert(now, i+1, gap{at + work, at + rest})
		}
		return start, start + work
	}
	if x.from < at { // what is before stays free
		work -= x.to - at
		end = x.to
		x.to = at
		i++
	}
	j := i
	for ; j < g.to && work > 0; j++ {
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
	if g.from < g.to {
		g.end = g.buffer[g.to-1].to
	}
	if work > 0 {
		t.free += work
		end = t.free
	}
	return start, end
}

// bulk books a bulk copy's work, whose bytes come and go over a span of time. One that
// takes the whole track, or most of it, goes behind those before it; of what is reserved
// for the rest meanwhile it yields to as much as its own work: the two take turns.
func (t *track) bulk(now, at, work, span units.Time) (start, end units.Time) {
	if work == 0 {
		return at, at + span
	}
	t.beside = true
	if work*1000 <= span*maxLoad {
		if k := t.bulks.during(at); k >= 0 {
			t.bulks.delay(k, work)
			span = max(span, 2*work)
		}
		return t.loads.add(now, at, work, span)
	}
	work = t.loads.beside(at, work)
	start = max(at, t.bulks.end())
	end = start + work
	if other := t.free - start; other > 0 {
		end += min(other, work)
	}
	t.bulks.add(now, start, end)
	return start, end
}

// note counts a transfer that could have begun at a time.
func (c *Carried) note(at, start units.Time, x *cost, payload units.Bytes) {
	c.Payload += payload
	c.Bytes += x.bytes
	c.Busy += x.work
	c.Transfers++
	if start > at {
		c.wait(at, start)
	}
}

// wait counts what a transfer waited for its turn.
func (c *Carried) wait(at, start units.Time) {
	c.Waited += start - at
	if start-at > c.Peak {
		c.Peak, c.PeakAt = start-at, at
	}
}

// room is when the first piece of n bytes and the last may go, by the credits for
// posted writes; a piece is at most n.
func (t *track) room(now units.Time, piece, n units.Bytes) flow {
	w := &t.posted
	if w.size == 0 {
		return flow{}
	}
	w.forget(now)
	head := w.room(min(piece, n))
	return flow{head: head, tail: w.room(n)}
}
