package dma

import "github.com/hopscope/hopscope/internal/units"

// turnBytes is what a copy over NVLink moves before others that are under way have their
// turn: what a warp of a thread block stores in one round of NCCL's loop, COLL_UNROLL (8
// from Ampere on) times 16 B for each of 32 threads (src/device/common.h,
// common_kernel.h).
const turnBytes = 8 * 16 * 32 * units.Byte

// Turns are the links of a chain of copies over NVLink, by turns, with what one costs.
type Turns struct {
	now   *units.Time // of the engine
	way   units.Time  // of all links: how long after it has left a turn is there
	taken int64       // turns that the sums of the tracks do not have yet
	legs  []leg
	least units.Time // from a turn to the next of the same copy: the slowest leg's work
}

// leg is one hop of a turn. Most of a server's cost the same, so that what it costs is in few
// places.
type leg struct {
	track *track
	pass  *pass
}

// pass is what a turn costs on a hop.
type pass struct {
	work    units.Time
	head    units.Time // from its start to when the first piece is at the next hop
	end     units.Time // of the last piece
	latency units.Time
	bytes   units.Bytes
}

// turnsOver works out what a turn over a chain costs.
func (e *Engine) turnsOver(c *Chain) *Turns {
	t := &Turns{now: &e.now, way: c.latency}
	for i := range c.data {
		h := &c.data[i]
		x := h.sized(write, turnBytes, c.mrrs)
		t.legs = append(t.legs, leg{h.track, e.pass(pass{x.work, x.first + h.latency, x.end, h.latency, x.bytes})})
		t.least = max(t.least, x.work)
	}
	e.turns = append(e.turns, t)
	return t
}

// pass keeps what a turn costs on a hop.
func (e *Engine) pass(x pass) *pass {
	for _, p := range e.passes {
		if *p == x {
			return p
		}
	}
	e.passes = append(e.passes, &x)
	return &x
}

// NVLink reports whether the chain leads over NVLink.
func (c *Chain) NVLink() bool { return c.turns != nil }

// Turns are those of a copy over the chain, which has them; nil over PCIe, whose links are
// shared by Copy itself.
func (c *Chain) Turns() *Turns { return c.turns }

// Pace is how a copy is to be cut up so that it shares its links as thread blocks do: into
// turns of n bytes, each of which begins no sooner than least after the one before.
func (t *Turns) Pace() (n units.Bytes, least units.Time) { return turnBytes, t.least }

// Take moves the bytes of one turn, and returns when they have left: when the next may begin.
// It is Copy, to the picosecond.
func (t *Turns) Take(now units.Time) (left units.Time) {
	*t.now = now
	head, tail := now, now
	for i := range t.legs {
		g := &t.legs[i]
		r, x := g.track, g.pass
		start, end := head, head+x.work
		switch { // what reserve does, without a call where it needs no gap
		case r.beside != nil || x.work == 0 || head < r.gaps.end:
			if start, end = r.reserve(now, head, x.work, turning); start > head {
				r.carried.wait(head, start)
			}
		case head < r.free:
			start, end = r.free, r.free+x.work
			r.free = end
			r.carried.wait(head, start)
		case head > r.free:
			r.gaps.push(now, r.free, head)
			fallthrough
		default:
			r.free = end
		}
		head, tail = start+x.head, max(end, tail+x.end)+x.latency
	}
	t.taken++
	return tail - t.way
}

// Rest moves what is left of a copy, at most a turn, and returns when it has left.
func (e *Engine) Rest(now units.Time, c *Chain, n units.Bytes) (left units.Time) {
	return e.Copy(now, c, n) - c.turns.way
}

// Before has the engine call catchUp before it books anything on a track that turns share:
// the caller then takes all turns that come before what it asks for.
func (e *Engine) Before(catchUp func()) { e.catchUp = catchUp }

// before is called before work on the tracks of a chain.
func (e *Engine) before(c *Chain) {
	if c.turning && e.catchUp != nil {
		now := e.now
		e.catchUp()
		e.now = max(e.now, now)
	}
}

// count adds the turns that were taken to the sums of their tracks.
func (e *Engine) count() {
	for _, t := range e.turns {
		for i := range t.legs {
			g := &t.legs[i]
			c := &g.track.carried
			c.Payload += turnBytes * units.Bytes(t.taken)
			c.Bytes += g.pass.bytes * units.Bytes(t.taken)
			c.Busy += g.pass.work * units.Time(t.taken)
			c.Transfers += t.taken
		}
		t.taken = 0
	}
}
