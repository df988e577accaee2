package fabric

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/units"
)

// The PFC watchdog of a switch looks at its lossless queues again and again. One that is
// paused for long enough, by the rule of its ASIC, is in a storm: the watchdog ignores its
// pauses and drops or forwards what waits there, until no PFC frame has come for a while.
// Detection and restoration count polls, not time, as SONiC's scripts do
// (sonic-swss, orchagent/pfc_detect_*.lua and pfc_restore*.lua; see docs/models/watchdog.md).

// WatchdogRule is how an ASIC's watchdog tells a storm.
type WatchdogRule uint8

// Rules, by what SONiC calls the platform.
const (
	// WatchBroadcom: PFC frames came, no pause ended, and the queue was paused at this poll and
	// the one before.
	WatchBroadcom WatchdogRule = iota
	// WatchTomahawk4 is WatchBroadcom on Tomahawk 4 and later, which count no PFC frames once
	// all lossless priorities of the port are in a storm (sonic-buildimage issue 29203).
	WatchTomahawk4
	// WatchMellanox: frames wait, none was sent, and the queue was paused for more than 99 % of
	// the time between polls. 99 % of the detection time will do.
	WatchMellanox
	// WatchBarefoot: frames wait, none was sent and PFC frames came; or none waits, none was
	// sent, and the queue was paused for more than 80 % of the time. Nephos, Clounix, Prestera
	// and the virtual switch have the same.
	WatchBarefoot
	// WatchTeralynx: as WatchBarefoot, where both PFC frames came and 80 % were paused.
	WatchTeralynx
	// WatchCisco8000: the queue is paused at the poll. It is restored when it is not.
	WatchCisco8000
)

// WatchdogParams is the PFC watchdog of a switch.
type WatchdogParams struct {
	Rule                         WatchdogRule
	Detection, Restoration, Poll units.Time // all above 0
	// Reaction is what software takes from finding a storm to having the hardware act.
	Reaction units.Time
	Action   record.WatchdogAction
}

// watchdog is the state of a switch's.
type watchdog struct {
	*WatchdogParams
	queues []watched
	next   units.Time // when it polls next
	awake  bool       // an event keeps the run alive until then
	active int        // queues in a storm whose pauses are ignored
	acted  units.Time // when the latest was found
	plain  []bool     // of the switch's ports, as they are without a storm
	storms []record.Storm
}

// watched is a lossless queue as of the latest poll.
type watched struct {
	port          int
	class         uint8
	storm         bool
	paused        bool // as the rules know it; see observe
	shut          bool // in truth
	frames, ended int64
	sent          int64
	pausedFor     units.Time
	acts          bool       // the storm has been acted on
	left          units.Time // of the detection time, or in a storm of the restoration time
	current       int        // the storm, in storms
}

// startWatchdog has a switch whose ports have all been added watch its lossless queues.
func (n *Net) startWatchdog(sw *swtch) {
	w := sw.watchdog
	if w == nil {
		return
	}
	for i := sw.base; i < sw.base+sw.nports; i++ {
		for v := n.ports[i].pfc; v != 0; v &= v - 1 {
			w.queues = append(w.queues, watched{port: i, class: uint8(bits.TrailingZeros8(v)), left: w.Detection})
		}
		w.plain = append(w.plain, n.ports[i].plain)
	}
	n.nextPoll(0, sw, false)
}

// What an evWatch event says in its low word.
const (
	watchPoll  uint32 = iota // look at the queues
	watchAwake               // nothing: it keeps the run alive until the next poll
	watchAct                 // act on the storm of the first queue; the next numbers are of the next queues
)

func (n *Net) watch(now units.Time, i int, what uint32) {
	sw := &n.switches[n.ports[i].node]
	switch {
	case what == watchPoll:
		n.poll(now, sw)
	case what >= watchAct:
		n.actOn(now, sw, &sw.watchdog.queues[what-watchAct])
	}
}

// nextPoll schedules the next poll of a switch's watchdog, one interval after now. Polls go on
// for ever, and only what they may yet come to keeps a run alive.
func (n *Net) nextPoll(now units.Time, sw *swtch, alive bool) {
	w := sw.watchdog
	w.next, w.awake = now+w.Poll, alive
	ref := sim.MakeRef(evWatch|uint32(sw.base), watchPoll)
	if !alive {
		ref |= sim.Background
	}
	p := &n.ports[sw.base]
	n.part.At(w.next, sim.Order(w.Poll, p.source+2*uint32(p.ports)), ref)
}

// awaken has the watchdog of port p's switch see the pause that begins or goes on now, even if
// nothing else happens any more.
func (n *Net) awaken(now units.Time, p *Port) {
	if p.node < 0 {
		return
	}
	sw := &n.switches[p.node]
	w := sw.watchdog
	if w == nil || w.awake {
		return
	}
	for k := range w.queues {
		if q := &w.queues[k]; n.ports[q.port].shut>>q.class&1 != 0 && !q.shut {
			w.awake = true
			first := &n.ports[sw.base]
			order := sim.Order(w.next-now, first.source+2*uint32(first.ports))
			n.part.At(w.next, order, sim.MakeRef(evWatch|uint32(sw.base), watchAwake))
			return
		}
	}
}

// deaf reports whether the ASIC of port p's switch counts no PFC frames now.
func (n *Net) deaf(now units.Time, p *Port) bool {
	if p.stormed == 0 || p.stormed != p.pfc {
		return false
	}
	w := n.switches[p.node].watchdog
	return w.Rule == WatchTomahawk4 && now >= w.acted+min(react, w.Poll/20)
}

// react is what a switch's software takes from finding a storm to setting the hardware, up to which
// PFC frames are counted: milliseconds; this many are assumed.
const react = 5 * units.Millisecond

// poll looks at all lossless queues of a switch.
func (n *Net) poll(now units.Time, sw *swtch) {
	w := sw.watchdog
	alive := false
	for k := range w.queues {
		q := &w.queues[k]
		before := *q
		n.observe(now, w, q)
		switch match := w.matches(&before, q, n.queues[q.class][q.port].head != 0); {
		case q.storm && w.Action == record.WatchdogAlert:
			if !match {
				w.restored(now, q)
			}
		case q.storm:
			if !w.quiet(&before, q) {
				q.left = w.Restoration
			} else if q.left > w.Poll {
				q.left -= w.Poll
			} else {
				n.restore(now, sw, q)
			}
		case !match:
			q.left = w.Detection
			alive = alive || q.shut && !before.shut
		case q.left > w.charge():
			q.left -= w.charge()
			alive = true
		default:
			n.storm(now, sw, k)
		}
	}
	n.nextPoll(now, sw, alive)
}

// observe brings q up to now. In a storm only PFC frames are looked at, and what else was seen
// when it was found is what the first poll after it compares with.
func (n *Net) observe(now units.Time, w *watchdog, q *watched) {
	s, g := n.pauses.of(q.class, q.port), n.gates.of(q.class, q.port)
	q.frames, q.shut = s.frames, n.ports[q.port].shut>>q.class&1 != 0
	if q.storm && w.Action != record.WatchdogAlert {
		return
	}
	q.paused = q.shut
	q.ended, q.sent, q.pausedFor = s.ended, n.queues[q.class][q.port].sent.Packets, g.paused
	if q.paused {
		q.pausedFor += now - g.from
	}
}

// matches reports whether what happened to a queue between two polls looks like a storm.
func (w *watchdog) matches(from, to *watched, waiting bool) bool {
	frames, paused := to.frames > from.frames, to.pausedFor-from.pausedFor
	switch w.Rule {
	case WatchBroadcom, WatchTomahawk4:
		return frames && to.ended == from.ended && from.paused && to.paused
	case WatchMellanox:
		return waiting && to.sent == from.sent && paused*100 > w.Poll*99
	case WatchCisco8000:
		return to.paused
	}
	long := paused*10 > w.Poll*8
	if w.Rule == WatchTeralynx {
		return to.sent == from.sent && frames && long
	}
	return to.sent == from.sent && (waiting && frames || !waiting && long)
}

// charge is what a poll that matches takes off the detection time that is left.
func (w *watchdog) charge() units.Time {
	if w.Rule == WatchMellanox {
		return w.Poll + w.Detection/100
	}
	return w.Poll
}

// quiet reports whether a queue in a storm had no pauses between two polls.
func (w *watchdog) quiet(from, to *watched) bool {
	return to.frames == from.frames
}

// storm begins a storm of the k-th queue.
func (n *Net) storm(now units.Time, sw *swtch, k int) {
	w := sw.watchdog
	q := &w.queues[k]
	p := &n.ports[q.port]
	q.storm, q.left, q.current = true, w.Restoration, len(w.storms)
	w.storms = append(w.storms, record.Storm{Port: n.PortName(q.port), Class: int(q.class), FromPS: now, ToPS: -1,
		Action: w.Action})
	switch {
	case w.Action == record.WatchdogAlert:
	case w.Reaction > 0:
		n.part.At(now+w.Reaction, sim.Order(w.Reaction, p.source+2*uint32(p.ports)),
			sim.MakeRef(evWatch|uint32(sw.base), watchAct+uint32(k)))
	default:
		n.actOn(now, sw, q)
	}
}

// actOn has the hardware act on the storm of a queue, if that is not over: ignore its pauses, and drop
// or send what waits there.
func (n *Net) actOn(now units.Time, sw *swtch, q *watched) {
	w, p := sw.watchdog, &n.ports[q.port]
	if !q.storm || q.acts || now < w.storms[q.current].FromPS+w.Reaction {
		return
	}
	n.stir(now)
	q.acts, w.acted = true, now
	if w.active++; w.active == 1 {
		for k := range w.plain {
			n.ports[sw.base+k].plain = false // the plain path knows nothing of storms
		}
	}
	p.stormed |= 1 << q.class
	if p.shut>>q.class&1 != 0 {
		n.openGate(now, q.port, q.class)
		n.trace.add(now, q.port, q.class, false)
	}
	if w.Action == record.WatchdogDrop {
		for p.ready>>q.class&1 != 0 {
			slot := n.takeHead(now, p, &n.queues[q.class][q.port], q.class)
			n.release(now, sw, q.port, q.class, n.part.Rec(slot))
			w.drop(n, now, q, slot)
			n.part.NoteWork()
		}
		if p.ready == 0 {
			p.contended = false
		}
	}
	n.kick(now, q.port)
}

// drop drops a frame for the storm of q, at the port of q.
func (w *watchdog) drop(n *Net, now units.Time, q *watched, slot uint32) {
	w.storms[q.current].Dropped.Add(now, int64(n.part.Rec(slot).Frame))
	n.drop(now, q.port, q.class, catalog.DropStorm, slot)
}

// restore ends a storm: pauses count again from the next PFC frame on.
func (n *Net) restore(now units.Time, sw *swtch, q *watched) {
	w := sw.watchdog
	w.restored(now, q)
	n.stir(now)
	if !q.acts {
		return
	}
	q.acts = false
	n.ports[q.port].stormed &^= 1 << q.class
	if w.active--; w.active == 0 {
		for k, plain := range w.plain {
			n.ports[sw.base+k].plain = plain
		}
	}
}

// restored notes the end of a storm.
func (w *watchdog) restored(now units.Time, q *watched) {
	w.storms[q.current].ToPS = now
	q.storm, q.left = false, w.Detection
}

// stormDrops drops a frame from port i, in class in there, to port e, in class c, if a watchdog has
// it do so: what goes to a queue in a storm, and what comes from the one that is held responsible
// for it, in the same class. It reports whether it did.
func (n *Net) stormDrops(now units.Time, sw *swtch, i, e int, in, c uint8, slot uint32) bool {
	w := sw.watchdog
	if w.active == 0 || w.Action != record.WatchdogDrop || (n.ports[i].stormed>>in|n.ports[e].stormed>>c)&1 == 0 {
		return false
	}
	for k := range w.queues {
		if q := &w.queues[k]; q.acts && (q.port == e && q.class == c || q.port == i && q.class == in) {
			if q.port == i {
				w.storms[q.current].FromPeer++
			}
			w.drop(n, now, q, slot)
			return true
		}
	}
	return false
}

// Storms appends the storms that the watchdogs of this partition's switches found.
func (n *Net) Storms(out []record.Storm) []record.Storm {
	for k := range n.switches {
		if w := n.switches[k].watchdog; w != nil {
			out = append(out, w.storms...)
		}
	}
	return out
}

// stormsOf adds up the storms of class c of port i: how long they lasted, the last perhaps to
// the end of the run.
func (n *Net) stormsOf(i int, c uint8) (a record.Act) {
	p := &n.ports[i]
	if p.node < 0 || n.switches[p.node].watchdog == nil {
		return a
	}
	for _, s := range n.switches[p.node].watchdog.storms {
		if s.Port != n.PortName(i) || s.Class != int(c) {
			continue
		}
		to := s.ToPS
		if to < 0 {
			to = n.end
		}
		a.Add(s.FromPS, int64(max(0, to-s.FromPS)))
	}
	return a
}
