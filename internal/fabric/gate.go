package fabric

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// The gate of a port says which classes may start a frame now: Port.shut is the
// set of those that may not. Why a class is shut, and what opens it again, is a
// matter of the rule that the link follows: a pause (pause.go), or the want of
// credits for the frame at the head of its queue (credit.go). The port's loop
// knows neither by name. The time is booked here, alike for both.

// gate is the account of one class of a port's gate.
type gate struct {
	from     units.Time // when it was shut
	ended    units.Time // when it was opened
	waitFrom units.Time // since when a frame waits behind it; Never: none (switch)
	clear    units.Time // when the frame on the wire as it was shut is through: nothing is held before
	paused   units.Time // total, all times shut
	held     record.Act // times that it held a frame; sum: time held
	log      *record.StretchLog
}

// closeGate shuts class c of port i, which is open.
func (n *Net) closeGate(now units.Time, i int, c uint8) {
	p := &n.ports[i]
	g := n.gates.use(c, i, len(n.ports))
	n.part.NoteWork()
	p.shut |= 1 << c
	n.turnControl(now, i, c, true)
	g.from, g.clear = now, p.freeAt
	g.waitFrom = units.Never
	if p.ready>>c&1 != 0 {
		g.waitFrom = now
	}
}

// openGate opens class c of port i, which is shut, and books its time.
func (n *Net) openGate(now units.Time, i int, c uint8) {
	n.part.NoteWork()
	n.bookGate(now, i, c)
	n.gates[c][i].ended = now
	n.ports[i].shut &^= 1 << c
	n.turnControl(now, i, c, false)
}

// bookGate adds the time for which class c was shut, which ends now or with the
// run, to the port's account: all of it as paused, and as held from
// when a frame waited.
func (n *Net) bookGate(now units.Time, i int, c uint8) {
	p := &n.ports[i]
	g := &n.gates[c][i]
	g.paused += max(0, now-g.from) // less: shut after all had come to rest
	if g.log == nil {
		g.log = &take(&n.rooms.shut, 1)[0]
		g.log.Seen = take(&n.rooms.stretches, roomForShut)[:0]
	}
	g.log.Add(g.from, now)
	since := g.waitFrom
	if p.node < 0 {
		since = n.hosts[^p.node].WaitingSince(now, int(p.local), c)
	}
	since = max(since, g.from, g.clear)
	if n.timeline != nil {
		n.noteShut(i, c, g.from, now, since)
	}
	if since < now {
		if mutantHeldEarly {
			since = g.from - units.Nanosecond
		}
		g.held.Add(since, int64(now-since))
		g.held.Last = max(g.held.Last, now)
	}
}
