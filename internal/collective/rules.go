package collective

// Version of NCCL, without the patch level: 2.26 is 226.
const (
	DefaultVersion = 226
	OldestVersion  = 218
	NewestVersion  = 230
	NewTies        = 230 // chooses between equal cards by how many GPUs share them
)

// rules are what versions of NCCL decide differently.
type rules struct {
	maxChannels   int     // MAXCHANNELS
	traffic       bool    // channels by their traffic
	ringSteps     bool    // 2(n-1) steps of a ring between n hosts rather than 2n
	exposed       bool    // one GPU per host has the latencies of trees, and LL128 its whole bandwidth
	halvedByDepth bool    // chunks of Simple trees
	halvedMost    bool    // most channels of a peer
	nvlsInside    float64 // latency of NVLS inside a host, us
	nvlsLatency   float64 // of a step of NVLSTree between hosts, us
	nvlsChain     bool    // NVLSTree is estimated as if hosts were a chain
	nvlsBounds    bool    // bandwidth of NVLS by what GPUs reach
	blackwell     limits3 // the row of Blackwell
}

// limits3 are limits of one host, two and more.
type limits3 [3]limits

// rules are those of the spec's version (src/graph/tuning.cc, src/enqueue.cc and
// src/include/device.h of the tags from 2.18.6 to 2.29.3; 2.28 as 2.28.9 has it, 2.30 as 2.29).
func (s *Spec) rules() rules {
	v := s.Version
	if v == 0 {
		v = DefaultVersion
	}
	r := rules{maxChannels: 32, traffic: v >= 222, ringSteps: v >= 223, exposed: v >= 223, halvedByDepth: v < 220, halvedMost: v < 220,
		nvlsInside: 25, nvlsLatency: 14, nvlsBounds: v >= 228, blackwell: hopperLimits()}
	switch {
	case v >= 228:
		r.nvlsLatency = 20.9
		r.blackwell = measuredBlackwell()
		if v == 228 {
			r.blackwell[0].ring128, r.blackwell[2].ring128 = 2*36.7, 2*36.7
		}
	case v >= 225:
		for i, l := range hopperLimits() {
			r.blackwell[i] = limits{2 * l.ll, 2 * l.ring128, 2 * l.tree128, 2 * l.tree}
		}
	}
	if v >= 225 {
		r.maxChannels = 64
	}
	if v <= 220 {
		r.nvlsInside = 23
	}
	if v == 218 {
		r.nvlsLatency, r.nvlsChain = 19, true
	}
	return r
}

// hopperLimits is the row of Hopper.
func hopperLimits() limits3 {
	return limits3{{141, 36.7, 36.7, 38.7}, {45, 36.7, 36.7, 41.4}, {35, 36.7, 29, 36}}
}

// measuredBlackwell is the row of Blackwell from 2.29 on; by 2.27 it was twice Hopper's.
func measuredBlackwell() limits3 {
	return limits3{{282, 34.5, 55.6, 70}, {90, 34.6, 31.67, 42.8}, {70, 34.5, 20, 24}}
}
