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

	// Bulk copies that want all of the track share it with the rest, half and half while
	// there is both; those that pass more slowly have loads.
	bulkFrom, bulkFree units.Time
	loads              loads

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

// gaps are the latest gaps of a track, in order of time; what no longer fits is
// forgotten, the oldest first, and stays unused.
type gaps struct {
	at    [maxGaps]gap
	first uint8
	n     uint8
}

// maxGaps bounds the gaps that a track remembers. An access takes some 500 ns from
// request to data and a packet of 4 KiB some 80 ns of a link, so that there are
// seven or so between now and the end of what is reserved.
const maxGaps = 16

func (g *gaps) get(i int) *gap { return &g.at[(int(g.first)+i)%maxGaps] }

func (g *gaps) push(x gap) {
	if g.n == maxGaps {
		g.first = (g.first + 1) % maxGaps
		g.n--
	}
	*g.get(int(g.n)) = x
	g.n++
}

// remove takes gap i out.
func (g *gaps) remove(i int) {
	for ; i+1 < int(g.n); i++ {
		*g.get(i) = *g.get(i + 1)
	}
	g.n--
}

// reserve books work that could begin at a time, and says when it begins and ends.
func (t *track) reserve(at, work units.Time) (start, end units.Time) {
	if work == 0 {
		return at, at
	}
	if at < t.bulkFree && at >= t.bulkFrom { // every other turn is the copy's
		t.bulkFree += work
		work *= 2
	}
	if t.loads.n > 0 {
		work = t.loads.beside(at, work)
	}
	if at >= t.free {
		if at > t.free {
			t.gaps.push(gap{t.free, at})
		}
		t.free = at + work
		return at, t.free
	}
	if n := int(t.gaps.n); n == 0 || t.gaps.get(n-1).to <= at {
		start = t.free
		t.free += work
		return start, t.free
	}
	return t.fill(at, work)
}

// slip books requests, which are a TLP each and take turns with what is reserved: they
// go when they are there, and what was reserved before loses their time at its end.
func (t *track) slip(at, work units.Time) (start, end units.Time) {
	if at >= t.free || at < t.bulkFree && at >= t.bulkFrom {
		return t.reserve(at, work)
	}
	t.free += work
	return at, at + work
}

// turn books posted writes, which take turns with what else is reserved, as round robin
// between the ports of a switch has them do: they are through after twice their time at
// most, and what was reserved before loses theirs at its end.
func (t *track) turn(at, work units.Time) (start, end units.Time) {
	at = max(at, t.turned)
	start, end = t.reserve(at, work)
	if end > at+2*work {
		start, end = at, at+2*work
	}
	t.turned = end
	return start, end
}

// fill books work in the gaps that lie after a time, and what does not fit behind
// all that is reserved.
func (t *track) fill(at, work units.Time) (start, end units.Time) {
	started := false
	for i := 0; i < int(t.gaps.n) && work > 0; {
		g := t.gaps.get(i)
		if g.to <= at {
			i++
			continue
		}
		from := max(g.from, at)
		take := min(g.to-from, work)
		if !started {
			start, started = from, true
		}
		work -= take
		end = from + take
		switch before, after := from > g.from, end < g.to; {
		case before && after:
			rest := gap{end, g.to}
			g.to = from
			t.gaps.insert(i+1, rest)
			i += 2
		case before:
			g.to = from
			i++
		case after:
			g.from = end
			i++
		default:
			t.gaps.remove(i)
		}
	}
	if work > 0 {
		if !started {
			start = t.free
		}
		t.free += work
		end = t.free
	}
	return start, end
}

// insert puts a gap before gap i; the oldest goes when there is no room.
func (g *gaps) insert(i int, x gap) {
	if g.n == maxGaps {
		g.first = (g.first + 1) % maxGaps
		g.n--
		i--
	}
	g.n++
	for k := int(g.n) - 1; k > i; k-- {
		*g.get(k) = *g.get(k - 1)
	}
	*g.get(i) = x
}

// bulk books a bulk copy's work, whose bytes come and go over a span of time. One that
// takes the whole track, or most of it, goes behind those before it; of what is reserved
// for the rest meanwhile it yields to as much as its own work: the two take turns.
func (t *track) bulk(now, at, work, span units.Time) (start, end units.Time) {
	if work == 0 {
		return at, at + span
	}
	if work*1000 <= span*maxLoad {
		if at < t.bulkFree && at >= t.bulkFrom {
			t.bulkFree += work
			span = max(span, 2*work)
		}
		return t.loads.add(now, at, work, span)
	}
	work = t.loads.beside(at, work)
	start = max(at, t.bulkFree)
	if start > t.bulkFree || t.bulkFree == 0 {
		t.bulkFrom = start
	}
	end = start + work
	if other := t.free - start; other > 0 {
		end += min(other, work)
	}
	t.bulkFree = end
	return start, end
}

// note counts a transfer that could have begun at a time.
func (c *Carried) note(at, start units.Time, x *cost, payload units.Bytes) {
	c.Payload += payload
	c.Bytes += x.bytes
	c.Busy += x.work
	c.Transfers++
	if start > at {
		c.Waited += start - at
		if start-at > c.Peak {
			c.Peak, c.PeakAt = start-at, at
		}
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
