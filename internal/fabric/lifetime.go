package fabric

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/sim"
	"github.com/hopscope/hopscope/internal/units"
)

// Lifetime is how long InfiniBand's lifetime limit of code n lasts, a switch's or
// that of the head of a queue: 4.096 us * 2^n, and 0, for ever, above 19 (IBTA
// 14.2.5.4, 18.2.5.4).
func Lifetime(n int) units.Time {
	if n > 19 {
		return 0
	}
	return 4096 * units.Nanosecond << n
}

// lifetime is the deadline of the head of one switch queue, where there are
// lifetime limits.
type lifetime struct {
	deadline units.Time
	armed    bool
	// When each packet of the queue came in, the head's first: a ring.
	entered []units.Time
	head, n uint32
}

func (l *lifetime) push(at units.Time) {
	if int(l.n) == len(l.entered) {
		old := *l
		l.entered, l.head = make([]units.Time, max(8, 2*len(old.entered))), 0
		for k := range old.n {
			l.entered[k] = old.entered[(old.head+k)&uint32(len(old.entered)-1)]
		}
	}
	l.entered[(l.head+l.n)&uint32(len(l.entered)-1)] = at
	l.n++
}

func (l *lifetime) pop() {
	l.head = (l.head + 1) & uint32(len(l.entered)-1)
	l.n--
}

// entered notes that a packet joined the queue of class c of switch port i.
func (n *Net) entered(now units.Time, sw *swtch, i int, c uint8) {
	l := &n.lives[c][i]
	l.push(now)
	if l.n == 1 {
		n.newHead(now, sw, i, c)
	}
}

// left notes that the head of a queue has gone.
func (n *Net) left(now units.Time, sw *swtch, i int, c uint8) {
	l := &n.lives[c][i]
	l.pop()
	if l.n > 0 {
		n.newHead(now, sw, i, c)
	}
}

// newHead gives the packet that stands at the head of a queue from now on its
// deadline: by the time it may stand there, and by that it may spend in the
// switch.
func (n *Net) newHead(now units.Time, sw *swtch, i int, c uint8) {
	l := &n.lives[c][i]
	l.deadline = units.Never
	if sw.hoqLife > 0 {
		l.deadline = now + sw.hoqLife
	}
	if sw.packetLife > 0 {
		l.deadline = min(l.deadline, max(now, l.entered[l.head]+sw.packetLife))
	}
	n.armLifetime(now, i, c)
}

func (n *Net) armLifetime(now units.Time, i int, c uint8) {
	if l := &n.lives[c][i]; !l.armed {
		l.armed = true
		p := &n.ports[i]
		n.part.At(l.deadline, sim.Order(l.deadline-now, p.source+2*uint32(p.ports)), sim.MakeRef(evExpire|uint32(i), uint32(c)))
	}
}

// lifetimeOver discards the heads of a queue whose time is over.
func (n *Net) lifetimeOver(now units.Time, i int, c uint8) {
	l, p := &n.lives[c][i], &n.ports[i]
	sw := &n.switches[p.node]
	l.armed = false
	for l.n > 0 && l.deadline <= now {
		l.deadline = units.Never
		slot := n.takeHead(now, p, &n.queues[c][i], c)
		pk := *n.part.Rec(slot)
		cause := catalog.DropHOQ
		if sw.packetLife > 0 && l.entered[l.head]+sw.packetLife <= now {
			cause = catalog.DropLifetime
		}
		n.expirePacket(now, i, sw, cause, slot, &pk)
	}
	if l.n > 0 {
		n.armLifetime(now, i, c)
	}
	switch {
	case p.shut>>c&1 == 0:
		n.checkHead(now, i, c)
	case n.reopen(now, i):
		n.kick(now, i)
	}
}

// takeHead takes the head of q, the queue of class c of port p, off it as dequeue
// does: a call there costs every frame more than these lines.
func (n *Net) takeHead(now units.Time, p *Port, q *queue, c uint8) uint32 {
	slot := q.head
	pk := n.part.Rec(slot)
	q.head = pk.Next
	if q.head == 0 {
		p.ready &^= 1 << c
	}
	q.integrate(now)
	q.bytes -= int32(pk.Frame)
	q.least = min(q.least, q.bytes)
	return slot
}

// expirePacket drops a packet that was taken off the queue of port i.
func (n *Net) expirePacket(now units.Time, i int, sw *swtch, cause catalog.Drop, slot uint32, pk *packet.Packet) {
	n.drop(now, i, pk.Class, cause, slot)
	n.part.NoteWork()
	n.left(now, sw, i, pk.Class)
	n.GiveBack(now, sw.base+int(pk.In), pk.VL(), pk.Frame)
}
