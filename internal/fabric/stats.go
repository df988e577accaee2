package fabric

import (
	"math"
	"strconv"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

func itoa(i int) string { return strconv.Itoa(i) }

// Fingerprint is the sum of the hashes of (time, port, length) of every arrival.
func (n *Net) Fingerprint() uint64 { return n.fingerprint }

// Hops counts the packets and ACKs that a port sent; PFC frames apart.
func (n *Net) Hops() int64 { return n.hops }

// PlainHops counts those of them that a switch sent on the plain path.
func (n *Net) PlainHops() int64 { return n.plainHops }

// Measure begins (from) or ends the measured window at now, a consistent cut.
func (n *Net) Measure(now units.Time, from bool) {
	n.measuring = true
	for i := range n.ports {
		for c := range Classes {
			q := &n.queues[c][i]
			q.integrate(now)
			s := snapshot{area: q.mean(1), sent: n.sentFrames(i, uint8(c)), unsent: n.unsent(now, &n.ports[i], uint8(c))}
			if from {
				n.measureFrom(i, c, s)
			} else {
				n.measureTo(i, c, s)
			}
		}
	}
}

// measureFrom begins the window of one queue: extremes start afresh, and the
// peak so far is kept aside.
func (n *Net) measureFrom(i, c int, s snapshot) {
	q, cold := &n.queues[c][i], &n.cold[i]
	s.peak, s.peakAt = q.peak, cold.peakAt[c]
	cold.window()[c].from = s
	q.least, q.peak = q.bytes, q.bytes
}

// measureTo ends the window of one queue and gives the peak of the whole run
// back.
func (n *Net) measureTo(i, c int, s snapshot) {
	q, cold := &n.queues[c][i], &n.cold[i]
	s.peak = q.peak
	cold.window()[c].to = s
	from := &cold.window()[c].from
	from.min = int64(q.least)
	if from.peak >= q.peak {
		q.peak, cold.peakAt[c] = from.peak, from.peakAt
	}
}

// Finish books what is still pending at the end of the run, or as the last frame moved:
// pauses and the time integrals of the queues.
func (n *Net) Finish(now units.Time) {
	n.end = now
	for i := range n.ports {
		if p := &n.ports[i]; p.credited {
			n.countWait(now, i, p)
		}
		for c := range uint8(Classes) {
			n.queues[c][i].integrate(now)
			if n.ports[i].shut>>c&1 != 0 {
				n.bookGate(now, i, c)
				n.gates[c][i].log.End(n.gates[c][i].from, now)
			}
		}
	}
}

// CheckEmpty panics unless all buffers are empty: called when no packet is alive.
func (n *Net) CheckEmpty() {
	for c := range Classes {
		for i := range n.ports {
			if q := &n.queues[c][i]; q.bytes != 0 || q.head != 0 {
				n.part.Bug("%s class %d holds %d bytes but no packet is alive", n.cold[i].name, c, q.bytes)
			}
		}
	}
	n.checkCredits()
	for k := range n.switches {
		sw := &n.switches[k]
		if what := sw.memory.Empty(); what != "" {
			n.part.Bug("%s: %s holds something but no packet is alive", sw.name, what)
		}
	}
	if r, st, s := n.records.inUse(), n.stamps.inUse(), n.sides.inUse()+n.told.inUse(); r != 0 || st != 0 || s != 0 {
		n.part.Bug("%d side records, %d of them with stamps, %d with sides, but no packet is alive", r, st, s)
	}
}

// Port returns what port i did in class c over a run that lasted to end (or in
// the measured window of length window, when there is one).
func (n *Net) Port(i int, c uint8, end, window units.Time) record.Port {
	p, cold := &n.ports[i], &n.cold[i]
	q, s, shut := &n.queues[c][i], n.pauses.of(c, i), n.gates.of(c, i)
	sent := n.sentFrames(i, c)
	r := record.Port{
		Node: cold.node, Port: int(p.local) + 1, Peer: cold.peer, Class: int(c), Layer: n.Layer(i), RateBps: p.rate,
		PeakQueueBytes: int64(q.peak), PeakQueuePS: cold.peakAt[c], MeanQueueBytes: q.mean(end),
		TxPackets: sent.Packets, TxBytes: sent.Bytes,
		Utilisation: n.utilisation(p, sent, Sent{}, end, n.unsent(n.end, p, c)),
		Marked:      cold.marks[c].Count,
		PausesSent:  s.sent.Count, PausesReceived: s.received.Count, RefreshesSent: s.refresh, ResumesSent: s.resumes,
		HeldPS: units.Time(shut.held.Sum), PausedPS: shut.paused, AskedPS: n.askedFor(end, i, c),
	}
	if m, g := n.losslessGroup(i, c); g != nil {
		r.PeakIngress, r.PeakHeadroom = m.Peaks(g)
	}
	if p.credited {
		r.PeakIngress = int64(n.credits[c][i].peak) * wire.CreditBlock
	}
	if n.measuring {
		from, to := cold.window()[c].from, cold.window()[c].to
		r.MeanQueueBytes = (to.area - from.area) / float64(window)
		r.MinQueueBytes, r.MaxQueueBytes = from.min, int64(to.peak)
		r.Utilisation = n.utilisation(p, to.sent, from.sent, window, to.unsent-from.unsent)
	}
	r.Limits = n.limits(i, c)
	for cause, act := range n.drops(i, c) {
		if act.Count > 0 {
			r.Dropped += act.Count
			r.DroppedBytes += act.Sum
			r.DropCauses = append(r.DropCauses, record.Drop{Cause: catalog.Drop(cause), Act: act})
		}
	}
	return r
}

// drops returns what port i dropped in class c, and what its link lost of what
// it sent: the far end counts that.
func (n *Net) drops(i int, c uint8) (d dropStat) {
	p := &n.ports[i]
	if own := n.cold[i].drops[c]; own != nil {
		d = *own
	}
	far := n.peers[p.peerPart].cold[p.peerPort].drops[c]
	for cause := range d {
		if catalog.Drop(cause).BySender() {
			d[cause] = record.Act{}
			if far != nil {
				d[cause] = far[cause]
			}
		}
	}
	return d
}

// unsent is the part of the frame on the wire at now that is still to come, if
// it is one of class c.
func (n *Net) unsent(now units.Time, p *Port, c uint8) units.Time {
	if p.lastClass != c {
		return 0
	}
	return max(0, p.freeAt-now)
}

// limits returns how near class c of port i came to each mechanism.
func (n *Net) limits(i int, c uint8) (l record.PortLimits) {
	p := &n.ports[i]
	if p.credited {
		s := &n.credits[c][i]
		if p.node < 0 {
			l = n.hosts[^p.node].ReceiveLimits(int(p.local), c)
		}
		if l.DrainBps > 0 || l.ReceivePeak > 0 {
			l.BufferBytes = int64(s.size) * wire.CreditBlock
		}
		granted := int64(min(n.peers[p.peerPart].credits[c][p.peerPort].size, MaxCredits))
		l.Credits = &record.Approach{Value: (granted - int64(s.least)) * wire.CreditBlock, Threshold: granted * wire.CreditBlock, At: s.leastAt}
		if f := n.cold[i].fecn; f != nil && p.node >= 0 {
			l.KMinBytes, l.KMaxBytes, l.PMax, l.MarkAtEnqueue = int64(f.Threshold), int64(f.Threshold), 1, true
		}
		return l
	}
	if p.node < 0 {
		return n.hosts[^p.node].ReceiveLimits(int(p.local), c)
	}
	sw, cold := &n.switches[p.node], &n.cold[i]
	if red := &cold.red[c]; red.kmax > 0 {
		l.KMinBytes, l.KMaxBytes, l.PMax = red.kmin, red.kmax, math.Round(float64(red.pmax)/(1<<32)*1e6)/1e6
		l.MarkAtEnqueue = sw.markAtEnqueue
	}
	m, lossless := n.losslessGroup(i, c)
	pfc := p.pfc>>c&1 != 0
	if lossless != nil && pfc {
		l.HeadroomBytes = m.Headroom(lossless)
	}
	if lossless == nil {
		l.EgressDrop = approach(sw.memory.NearestDrop(int(p.local), int(c)))
		l.QueueBytes = sw.memory.QueueAlone(int(p.local), int(c))
	} else if pfc {
		l.XOFF = approach(m.NearestXOFF(lossless))
	}
	return l
}

// approach is what a memory says of how near a use came to its threshold; nil: nothing.
func approach(use, threshold int64, at units.Time, ok bool) *record.Approach {
	if !ok {
		return nil
	}
	return &record.Approach{Value: use, Threshold: threshold, At: at}
}

// losslessGroup returns the memory of the switch that port i belongs to and the group of
// class c there; nil where there is none that stops its peer.
func (n *Net) losslessGroup(i int, c uint8) (*mmu.Memory, *mmu.Group) {
	p := &n.ports[i]
	if p.node < 0 || p.credited {
		return nil, nil
	}
	m := &n.switches[p.node].memory
	if g := m.Group(int(p.local), int(c)); g.Lossless() {
		return m, g
	}
	return nil, nil
}

// sentFrames counts what port i sent in class c, by its own queue or its host.
func (n *Net) sentFrames(i int, c uint8) Sent {
	if p := &n.ports[i]; p.node < 0 {
		return n.hosts[^p.node].SentFrames(int(p.local), c)
	}
	return n.queues[c][i].sent
}

// utilisation is the share of a time d that the frames of one class took on
// the wire, less the time unsent that lies beyond it. With a time quantum the
// frames count as long as they took, by their mean size.
func (n *Net) utilisation(p *Port, to, from Sent, d, unsent units.Time) float64 {
	packets := to.Packets - from.Packets
	if d <= 0 || packets == 0 {
		return 0
	}
	bytes := to.Bytes - from.Bytes + packets*int64(p.overhead)
	busy := float64(bytes) * 8e12 / float64(p.rate)
	if n.quantum > 0 {
		busy = float64(packets) * float64(n.txTime(p, uint32(bytes/packets)))
	}
	return (busy - float64(unsent)) / float64(d)
}

// AppendLedger appends the acts of port i in class c.
func (n *Net) AppendLedger(out []record.Entry, i int, c uint8) []record.Entry {
	cold := &n.cold[i]
	s := n.pauses.of(c, i)
	layer := n.Layer(i)
	words, actor := layer.Vocabulary(), record.ClassAt(cold.node, int(n.ports[i].local)+1, int(c), layer)
	add := func(q catalog.Question, m catalog.Mechanism, a record.Act) {
		if a.Count > 0 {
			out = append(out, record.Entry{Question: q, Mechanism: m, Actor: actor, Act: a})
		}
	}
	add(catalog.Detected, words.Mark, cold.marks[c])
	add(catalog.Detected, catalog.XOFFCross, cold.xoff[c])
	for _, sign := range []catalog.Mechanism{catalog.BufferDrop, catalog.WREDDrop, catalog.LifetimeEnd, catalog.StormDrop} {
		var full record.Act
		for cause, a := range n.drops(i, c) {
			if catalog.Drop(cause).Sign() == sign && a.Count > 0 {
				full = full.Merge(a)
			}
		}
		add(catalog.Detected, sign, full)
	}
	add(catalog.Detected, catalog.Storm, n.stormsOf(i, c))
	add(catalog.FedBack, catalog.PFCSent, s.sent)
	if n.ports[i].credited {
		add(catalog.Detected, words.Fill, n.credits[c][i].starved)
	}
	add(catalog.Held, words.Hold, n.gates.of(c, i).held)
	return out
}

// Layer is the link layer of port i.
func (n *Net) Layer(i int) catalog.Layer {
	if n.ports[i].credited {
		return catalog.InfiniBand
	}
	return catalog.Ethernet
}

// Counters returns the standard counters of port i; ok is false unless it is an
// InfiniBand port.
func (n *Net) Counters(i int) (r record.IBCounters, ok bool) {
	p, cold := &n.ports[i], &n.cold[i]
	if !p.credited {
		return r, false
	}
	var sent, arrived Sent
	for c := range uint8(Classes) {
		s, own := n.sentFrames(i, c), &n.credits[c][i]
		sent.Packets, sent.Bytes = sent.Packets+s.Packets, sent.Bytes+s.Bytes
		arrived.Packets, arrived.Bytes = arrived.Packets+own.arrived.Packets, arrived.Bytes+own.arrived.Bytes
		r.CreditUpdates += own.updates
		d := n.drops(i, c)
		r.PortXmitDiscards += d[catalog.DropHOQ].Count + d[catalog.DropLifetime].Count + d[catalog.DropLinkDown].Count
		if in := cold.drops[c]; in != nil {
			for cause := range in {
				if catalog.Drop(cause).Damages() {
					r.PortRcvErrors += in[cause].Count
				}
			}
		}
	}
	words := func(s Sent) int64 { return (s.Bytes - s.Packets*wire.VCRCLen) / 4 }
	r.Node, r.Port = cold.node, int(p.local)+1
	r.PortXmitData, r.PortXmitPkts = words(sent), sent.Packets
	r.PortRcvData, r.PortRcvPkts = words(arrived), arrived.Packets
	r.PortXmitWait = cold.waitTick.count(cold.xmitWait, cold.nominal, cold.lanes)
	return r, true
}

// Active reports whether class c of port i carried, held or lost anything.
func (n *Net) Active(i int, c uint8) bool {
	if m, g := n.losslessGroup(i, c); g != nil {
		if peak, _ := m.Peaks(g); peak != 0 {
			return true
		}
	}
	s := n.pauses.of(c, i)
	return n.sentFrames(i, c).Packets != 0 || s.sent.Count != 0 || s.received.Count != 0 || n.drops(i, c) != dropStat{}
}

// PortID returns the global number of port i.
func (n *Net) PortID(i int) uint32 { return n.ports[i].id }

// LastMove is when a frame last arrived or was dropped, those of the links' own apart.
func (n *Net) LastMove() units.Time { return n.moved }

// LastActivity is the time of the last event that might have made something move;
// PFC frames, refreshes and expiries do not count.
func (n *Net) LastActivity() units.Time { return n.stirred }

// LinkFrames counts the frames of the links' own (PFC frames, flow-control
// packets) in flight or waiting to take effect.
func (n *Net) LinkFrames() int64 { return n.linkFrames }

// ShutPorts counts the ports of which a class is shut.
func (n *Net) ShutPorts() (ports int) {
	for i := range n.ports {
		if n.ports[i].shut != 0 {
			ports++
		}
	}
	return ports
}

// LongestPause is the longest time a pause of any port lasts without refresh, or
// for which a port keeps a change to itself.
func (n *Net) LongestPause() (d units.Time) {
	for i := range n.ports {
		d = max(d, n.pauseTime(i, n.cold[i].pfc.Quanta), n.cold[i].updateInterval)
	}
	return d
}

// LongestControl bounds the time from when a PFC frame is due to its effect:
// the frame in transmission, its own, propagation and response.
func (n *Net) LongestControl() (d units.Time) {
	for i := range n.ports {
		p := &n.ports[i]
		frames := n.txTime(p, maxFrame) + n.txTime(p, uint32(n.cold[i].wire.Control)+uint32(p.overhead))
		d = max(d, frames+p.delay+n.cold[i].pfc.Response)
	}
	return d
}

// maxFrame bounds any frame: the largest payload a transport may be set to, and
// room for its headers.
const maxFrame = 65536 + 256
