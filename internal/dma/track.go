package dma

import "github.com/hopscope/hopscope/internal/units"

// track is what carries one piece of data at a time: one direction of a link, or a
// memory, whose reads and writes share its rate. Work is reserved when a transfer is
// asked for, at the time at which its first bytes get there; a time between two
// reservations that nothing uses is a gap, which a later call may fill whose bytes
// get there earlier.
type track struct {
	// What every booking needs fills the first cache line, what counts it the second, and
	// what posted writes need two more.
	free   units.Time // end of what is reserved
	gaps   gaps
	beside *beside // nil: no bulk copy ever passed

	carried Carried

	turned, placed units.Time // when the last posted write that was booked is through, and when the last that came this way to a root complex is in memory
	posted         *window    // of the buffer at its end; nil: no bound
	outs           [maxOuts]out
	_              [4]int64
}

// beside is what else most tracks never carry: bulk copies. Those that want all of the track
// share it with the rest, half and half while there is both; those that pass more slowly have
// loads.
type beside struct {
	bulks bulks
	loads loads
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
		x := &t.outs[i]
		if x.to == to {
			x.at = max(x.at, at)
			return
		}
		if x.at < t.outs[k].at {
			k = i
		}
	}
	t.outs[k] = out{to, at}
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
	trace     *workLog    // nil: nobody asked
}

// reserve books work of a stream, asked for now, that could begin at a time, and says when it
// begins and ends.
func (t *track) reserve(now, at, work units.Time, s stream) (start, end units.Time) {
	if work == 0 {
		return at, at
	}
	if b := t.beside; b != nil {
		if k := b.bulks.during(at); k >= 0 { // every other turn is the copy's
			b.bulks.delay(k, work)
			work *= 2
		}
		work = b.loads.beside(at, work)
	}
	if at >= t.free {
		if at > t.free {
			t.gaps.push(now, t.free, at)
		}
		t.free = at + work
		return at, t.free
	}
	if t.gaps.end <= at {
		start = t.free
		t.free += work
		return start, t.free
	}
	start, end, work = t.gaps.fill(now, at, work, s)
	if work > 0 { // behind all that is reserved
		t.free += work
		end = t.free
	}
	return start, end
}

// slip books requests, which are a TLP each and take turns with what is reserved: they
// go when they are there, and what is behind them loses their time.
func (t *track) slip(now, at, work units.Time) (start, end units.Time) {
	shared := t.beside != nil && t.beside.bulks.during(at) >= 0
	start, end = t.reserve(now, at, work, asking)
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
	start, end = t.reserve(now, at, work, writing)
	if end > at+2*work {
		start, end = at, at+2*work
	}
	t.turned = end
	return start, end
}

// bulk books a bulk copy's work, whose bytes come and go over a span of time. One that
// takes the whole track, or most of it, goes behind those before it; of what is reserved
// for the rest meanwhile it yields to as much as its own work: the two take turns.
func (t *track) bulk(now, at, work, span units.Time) (start, end units.Time) {
	if work == 0 {
		return at, at + span
	}
	if t.beside == nil {
		t.beside = new(beside)
	}
	b := t.beside
	if work*1000 <= span*maxLoad {
		if k := b.bulks.during(at); k >= 0 {
			b.bulks.delay(k, work)
			span = max(span, 2*work)
		}
		return b.loads.add(now, at, work, span)
	}
	work = b.loads.beside(at, work)
	start = max(at, b.bulks.end())
	end = start + work
	if other := t.free - start; other > 0 {
		end += min(other, work)
	}
	b.bulks.add(now, start, end)
	return start, end
}

// note counts a transfer that could have begun at a time.
func (c *Carried) note(at, start units.Time, x *cost, payload units.Bytes) {
	c.Payload += payload
	c.Bytes += x.bytes
	c.Busy += x.work
	c.Transfers++
	if c.trace != nil {
		c.trace.add(start, x.work)
	}
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
	w := t.posted
	if w == nil {
		return flow{}
	}
	w.forget(now)
	head := w.room(min(piece, n))
	return flow{head: head, tail: w.room(n)}
}
