package fabric

import (
	"math"

	"github.com/hopscope/hopscope/internal/packet"
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
// up to PMax at KMax, certain beyond).
func (n *Net) mark(now units.Time, sw *swtch, i int, c uint8, q int32, pk *packet.Packet) {
	if sw.credited {
		n.markFECN(now, i, c, pk)
		return
	}
	if pk.ECN == packet.CE || pk.ECN == packet.NotECT && !sw.markAny {
		return
	}
	r := &n.cold[i].red[c]
	if int64(q) <= r.kmax {
		p := r.pmax * uint64(int64(q)-r.kmin) / uint64(r.kmax-r.kmin)
		if uint64(sw.rnd.Uint32()) >= p {
			return
		}
	}
	pk.ECN = packet.CE
	n.cold[i].marks[c].Add(now, int64(pk.Frame))
}
