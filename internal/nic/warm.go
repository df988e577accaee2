package nic

import "github.com/hopscope/hopscope/internal/packet"

// WarmReceive reads what the arrival of pk will touch; see fabric.Net.Warm.
func (h *Host) WarmReceive(pk *packet.Packet) (sink uint64) {
	if pk.Kind != packet.Segment && int(pk.DestQP) < len(h.qps) {
		if s := &h.qps[pk.DestQP]; s.qp != nil {
			sink = uint64(s.armed) + s.qp.Warm()
		}
	}
	return sink
}

// WarmSend reads what a wake-up of local port i will touch.
func (h *Host) WarmSend(i int) (sink uint64) {
	p := &h.ports[i]
	if p.runReady != 0 {
		for c := range p.run {
			if p.runReady>>c&1 != 0 {
				if s := &h.qps[p.run[c].at(0)]; s.qp != nil {
					sink += s.qp.Warm()
				}
			}
		}
	}
	return sink + uint64(len(p.paced))
}
