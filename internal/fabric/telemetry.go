package fabric

import (
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// StopFor notes that a run is to end for what a controller did; the first of several counts.
func (n *Net) StopFor(f *congestion.Fault) {
	if n.fault == nil || f.Before(n.fault) {
		n.fault = f
	}
}

// Fault is why the run is to end, nil if it is not.
func (n *Net) Fault() *congestion.Fault { return n.fault }

// leave notes that a stamped packet starts on its way out of port i: its stamps, what the switch
// writes into it, and, where the peer lives in another partition, the number of all that in the mailbox.
func (n *Net) leave(now units.Time, i int, p *Port, pk *packet.Packet) uint32 {
	n.StampOut(now, i, pk)
	if p.node >= 0 {
		if t := n.TelemetryOf(pk); t != nil && t.INT {
			n.writeINT(now, i, p, pk, t)
		}
	}
	return n.post(int(p.peerPart), pk)
}

// writeINT has the switch at port i write its record into a packet that asks for telemetry: what the
// port has sent before, on the wire, and what of the packet's class it leaves behind.
func (n *Net) writeINT(now units.Time, i int, p *Port, pk *packet.Packet, t *packet.Telemetry) {
	scale := n.switches[p.node].intScale
	if scale == 0 {
		return
	}
	if int(t.Wrote) < len(t.Hop) {
		over := int64(p.overhead)
		sent := -int64(pk.Frame) - over
		for c := range n.queues {
			s := &n.queues[c][i].sent
			sent += s.Bytes + s.Packets*over
		}
		queue := int64(n.queues[pk.Class&(Classes-1)][i].bytes)
		t.Hop[t.Wrote] = uint64(congestion.NewHopRecord(now, sent, queue, n.cold[i].intRate, scale))
	}
	t.Wrote = min(t.Wrote, 254) + 1
}
