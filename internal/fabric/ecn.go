package fabric

import (
	"math"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// redCurve is a RED in integers.
type redCurve struct {
	kmin, kmax int64
	pmax       uint64 // 2^32 is certain
}

func (r RED) curve() (redCurve, int32) {
	if r.KMax <= 0 {
		return redCurve{}, math.MaxInt32
	}
	return redCurve{int64(r.KMin), int64(r.KMax), uint64(r.PMax * (1 << 32))}, int32(min(r.KMin, math.MaxInt32-1))
}

// mark sets CE on pk by the queue length q above KMin (models.md 1.1: linear
// up to PMax at KMax, certain beyond). Acknowledgements of queue pairs are left out: a mark
// on them tells nobody anything, and reports would count it among those that slow senders.
func (n *Net) mark(now units.Time, sw *swtch, i int, c uint8, q int32, pk *packet.Packet) {
	if sw.credited {
		n.markFECN(now, i, c, pk)
		return
	}
	if pk.ECN == packet.CE || !sw.markAny && (pk.ECN == packet.NotECT || pk.Kind == packet.Ack || pk.Kind == packet.Probe) {
		return
	}
	if !n.cold[i].red[c].hits(int64(q), &sw.rnd) {
		return
	}
	pk.ECN = packet.CE
	n.cold[i].marks[c].Add(now, int64(pk.Frame))
	n.noteMark(i, c, pk)
}

// hits draws with the curve's probability for a queue of q bytes, which is above KMin.
func (r *redCurve) hits(q int64, rnd *rng.Stream) bool {
	return q > r.kmax || uint64(rnd.Uint32()) < r.pmax*uint64(q-r.kmin)/uint64(r.kmax-r.kmin)
}

// early reports whether WRED drops a frame that is to wait in class c of port e, where q
// bytes wait then, above KMin: of frames that are not ECN-capable the same curve drops as
// many as it would mark of the others, as they are queued, in lossless classes too.
func (n *Net) early(sw *swtch, e int, c uint8, q int32, pk *packet.Packet) bool {
	return pk.ECN == packet.NotECT && !sw.markAny && !sw.credited && n.cold[e].red[c].hits(int64(q), &sw.wred)
}
