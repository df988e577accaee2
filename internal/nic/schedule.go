package nic

import (
	"slices"

	"github.com/hopscope/hopscope/internal/units"
)

// ring is a queue of queue-pair numbers; its room is a power of two.
type ring struct {
	buf  []uint32
	head uint32
	n    uint32
}

func (r *ring) push(q uint32) {
	if int(r.n) == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.n)&uint32(len(r.buf)-1)] = q
	r.n++
}

func (r *ring) pop() uint32 {
	q := r.buf[r.head&uint32(len(r.buf)-1)]
	r.head++
	r.n--
	return q
}

func (r *ring) at(i uint32) uint32 { return r.buf[(r.head+i)&uint32(len(r.buf)-1)] }

func (r *ring) grow() {
	buf := make([]uint32, max(4, 2*len(r.buf)))
	for i := range r.n {
		buf[i] = r.at(i)
	}
	r.buf, r.head = buf, 0
}

// paced is a queue pair that waits for its next sending time.
type paced struct {
	at units.Time
	qp uint32
}

func (a paced) before(b paced) bool { return a.at < b.at || a.at == b.at && a.qp < b.qp }

// pushPaced adds to the binary heap of waiting queue pairs.
func (p *port) pushPaced(e paced) {
	p.paced = append(p.paced, e)
	i := len(p.paced) - 1
	for i > 0 && e.before(p.paced[(i-1)/2]) {
		p.paced[i] = p.paced[(i-1)/2]
		i = (i - 1) / 2
	}
	p.paced[i] = e
}

// hasten moves a waiting queue pair forward to at, if it waits longer than that.
func (p *port) hasten(qp uint32, at units.Time) bool {
	i := slices.IndexFunc(p.paced, func(e paced) bool { return e.qp == qp })
	if i < 0 || p.paced[i].at <= at {
		return false
	}
	e := paced{at, qp}
	for i > 0 && e.before(p.paced[(i-1)/2]) {
		p.paced[i] = p.paced[(i-1)/2]
		i = (i - 1) / 2
	}
	p.paced[i] = e
	return true
}

func (p *port) popPaced() paced {
	top := p.paced[0]
	n := len(p.paced) - 1
	e := p.paced[n]
	p.paced = p.paced[:n]
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && p.paced[c+1].before(p.paced[c]) {
			c++
		}
		if !p.paced[c].before(e) {
			break
		}
		p.paced[i] = p.paced[c]
		i = c
	}
	if n > 0 {
		p.paced[i] = e
	}
	return top
}

// schedule puts a queue pair that has something to send into its port's run
// queue, or into the pacing heap until its time comes.
func (h *Host) schedule(now units.Time, q uint32) {
	s := &h.qps[q]
	if s.scheduled {
		if h.path != nil && h.path.qps[q].rewinds != s.account.rewinds {
			h.gate(now, q)
		}
		if s.qp.Steered() {
			h.hasten(now, q)
		}
		return
	}
	at := s.qp.ReadyAt()
	if at == units.Never {
		return
	}
	if h.path != nil {
		if at = max(at, h.gate(now, q)); at == units.Never {
			return
		}
	}
	h.ready(now, q, at)
	h.net.Kick(now, h.ports[s.port].fabricPort)
}

// ready queues a queue pair that may send from at on.
func (h *Host) ready(now units.Time, q uint32, at units.Time) {
	s := &h.qps[q]
	p := &h.ports[s.port]
	s.scheduled, s.since = true, max(at, now)
	if at > now {
		p.pushPaced(paced{at, q})
		return
	}
	p.run[s.class].push(q)
	p.runReady |= 1 << s.class
}

// Next implements fabric.Host: queue pairs take turns within a class, after
// the class's ACKs and CNPs.
func (h *Host) Next(now units.Time, i int, open uint8) (slot uint32, again units.Time) {
	p := &h.ports[i]
	if h.faults != nil && h.hungUntil(now) > now {
		return 0, units.Never // the end of the fault asks again
	}
	if p.latest != none {
		h.look(now, &h.qps[p.latest])
		p.latest = none
	}
	for len(p.paced) > 0 && p.paced[0].at <= now {
		q := p.popPaced().qp
		h.end(q).paced(now, q)
	}
	for {
		avail := (p.ctlReady | p.runReady) & open
		if avail == 0 {
			break
		}
		c := p.sched.Pick(avail)
		if p.credited && !h.net.MayStart(now, p.fabricPort, c, h.HeadFrame(i, c)) {
			open &^= 1 << c
			continue
		}
		if p.ctlReady>>c&1 != 0 {
			slot = h.popControl(p, c)
		} else {
			slot = h.poll(now, p, c)
		}
		if slot != 0 {
			pk := h.net.Part().Rec(slot)
			if avail&(avail-1) != 0 {
				h.net.NoteAhead(now, p.fabricPort, c, avail, pk.Frame)
			}
			p.sched.Charge(c, pk.Frame)
			p.sent[pk.Class].Add(pk)
			break
		}
	}
	if slot != 0 && (p.ctlReady|p.runReady)&open != 0 {
		return slot, 0
	}
	if len(p.paced) > 0 {
		return slot, p.paced[0].at
	}
	return slot, units.Never
}

// HeadFrame implements fabric.Host: of a queue pair it is what rdma.QP bounds.
func (h *Host) HeadFrame(i int, class uint8) uint32 {
	p := &h.ports[i]
	switch {
	case p.ctlReady>>class&1 != 0:
		return h.net.Part().Rec(p.control[class].head).Frame
	case p.runReady>>class&1 != 0:
		q := p.run[class].at(0)
		return h.end(q).nextFrame(q)
	}
	return 0
}

func (h *Host) popControl(p *port, c uint8) uint32 {
	f := &p.control[c]
	slot := f.head
	f.head = h.net.Part().Rec(slot).Next
	if f.head == 0 {
		p.ctlReady &^= 1 << c
	}
	return slot
}

// poll asks the next queue pair of class c for a packet. It returns 0 when
// that one has nothing to send now; it is then out of the run queue.
func (h *Host) poll(now units.Time, p *port, c uint8) uint32 {
	q := p.run[c].pop()
	if p.run[c].n == 0 {
		p.runReady &^= 1 << c
	}
	s := &h.qps[q]
	s.scheduled = false
	h.settle(now, s)
	return h.kinds[s.kind].poll(now, p, q)
}

// sentOne lets queue pair q, which has sent a packet that ends at end, come back when
// it may send the next, at until: if that is by the time the port is free it keeps
// its place in the round. If it has none an ACK, a timer or a post schedules it.
func (h *Host) sentOne(now, end, until units.Time, q uint32) {
	s := &h.qps[q]
	if h.path != nil {
		until = max(until, h.gate(now, q))
	}
	if until == units.Never || s.qp.ReadyAt() == units.Never {
		return
	}
	at := until
	if at <= end {
		at = now
	}
	h.ready(now, q, at)
	s.since = until
}

// WaitingSince implements fabric.Host.
func (h *Host) WaitingSince(now units.Time, i int, class uint8) units.Time {
	p := &h.ports[i]
	since := units.Never
	if p.ctlReady>>class&1 != 0 {
		since = p.control[class].since
	}
	// Queue pairs join the run queue in the order in which they become ready,
	// but for the one that sent last, which is ready when its packet is through.
	for k := range min(2, p.run[class].n) {
		since = min(since, h.qps[p.run[class].at(k)].since)
	}
	if len(p.paced) > 0 && h.qps[p.paced[0].qp].class == class {
		return min(since, p.paced[0].at)
	}
	for _, e := range p.paced {
		if h.qps[e.qp].class == class {
			since = min(since, e.at)
		}
	}
	return since
}
