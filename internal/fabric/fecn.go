package fabric

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// FECNParams is how an InfiniBand switch marks packets that join an output queue
// (SwitchCongestionSetting, IBTA A10.4.3.6).
type FECNParams struct {
	// Threshold is the queue of a port and VL, the arriving packet included, above
	// which it is congested; see FECNThreshold.
	Threshold units.Bytes
	// PacketSize is the least length of a packet that is marked; 0: any.
	PacketSize units.Bytes
	// MarkingRate is how many packets that could be marked pass between two that
	// are; 0: all are marked.
	MarkingRate uint32
}

// FECNThreshold is the queue that weight, 1 to 15, stands for where input buffers
// of a VL have buffer bytes. The standard only asks for thresholds that fall
// evenly from 1 to 15; here they are (16-weight)/16 of the buffer.
func FECNThreshold(weight int, buffer units.Bytes) units.Bytes {
	return buffer * units.Bytes(16-weight) / 16
}

// markFECN sets FECN on pk, which joins a queue longer than the threshold, if
// port i is the root of the congestion: it has credits to send on VL c. A port
// that has none is a victim of congestion further on, and marks only if its bit
// of Victim_Mask is set. What acknowledges or notifies is not marked.
func (n *Net) markFECN(now units.Time, i int, c uint8, pk *packet.Packet) {
	k := &n.cold[i]
	if n.ports[i].shut>>c&1 != 0 && !k.victim || !pk.Kind.CarriesData() || units.Bytes(pk.Frame) < k.fecn.PacketSize {
		return
	}
	if k.eligible[c] > 0 {
		k.eligible[c]--
		return
	}
	k.eligible[c] = k.fecn.MarkingRate
	if pk.ECN != packet.CE {
		pk.ECN = packet.CE
		k.marks[c].Add(now, int64(pk.Frame))
		n.noteMark(i, c, pk)
	}
}
