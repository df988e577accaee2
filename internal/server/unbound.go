package server

import "slices"

// Speedup is how much faster the links of an unbound server are: no port of a network comes
// near that.
const Speedup = 64

// Unbound returns t without what binds inside it: its links are Speedup times as fast and have
// no latency, memories answer at once, reads and posted writes never wait for tags or credits,
// and no address is translated. What copies and kernels take to start stays.
func (t *Tree) Unbound() *Tree {
	out := *t
	out.Devices, out.Links = slices.Clone(t.Devices), slices.Clone(t.Links)
	for i := range out.Devices {
		out.Devices[i].Memory *= Speedup
		out.Devices[i].PeerTLP = 0
	}
	for i := range out.Links {
		out.Links[i].Rate *= Speedup
		out.Links[i].Latency = 0
		out.Links[i].PCIe.Speedup = Speedup
	}
	out.Costs.ReadTags *= Speedup
	out.Costs.PostedCredits *= Speedup
	out.Costs.Doorbell, out.Costs.Poll, out.Costs.DRAMRead, out.Costs.LLCRead, out.Costs.HBMRead = 0, 0, 0, 0, 0
	out.IOMMU = false
	return &out
}
