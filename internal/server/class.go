package server

import "github.com/hopscope/hopscope/internal/units"

// Class says how near two devices are, in the words of nvidia-smi topo -m. Nearer
// classes are smaller.
type Class uint8

// Classes of pairs of devices.
const (
	SelfX Class = iota // the device itself
	NV                 // joined by NVLink
	PIX                // at most one PCIe switch between them
	PXB                // several PCIe switches, no root complex
	PHB                // the host bridge of one root complex
	NODE               // host bridges of one NUMA node
	SYS                // the interconnect between NUMA nodes
)

// String returns the word that nvidia-smi prints.
func (c Class) String() string {
	return [...]string{"X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS"}[c]
}

// Class returns how near two devices are. It is about the wiring: ACS does not change
// it. Devices that nothing joins are SYS.
func (t *Tree) Class(a, b int) Class {
	if a == b {
		return SelfX
	}
	if _, ok := t.NVPath(a, b); ok {
		return NV
	}
	return t.PCIClass(a, b)
}

// PCIClass is Class without NVLink.
func (t *Tree) PCIClass(a, b int) Class {
	up, root, err := t.climb(a)
	if err != nil {
		return SYS
	}
	down, other, err := t.climb(b)
	switch {
	case err != nil:
		return SYS
	case root != other && (t.Devices[root].NUMA != t.Devices[other].NUMA || t.Devices[root].NUMA < 0):
		return SYS
	case root != other:
		return NODE
	case t.bridges(up, down):
		return NODE
	}
	if n := t.switches(a, b, up, down); n == 1 {
		return PIX
	} else if n > 1 {
		return PXB
	}
	return PHB
}

// bridges reports whether two ways up end in different host bridges of a root complex.
func (t *Tree) bridges(a, b []int) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	x, y := t.Links[a[len(a)-1]].Bridge, t.Links[b[len(b)-1]].Bridge
	return x > 0 && y > 0 && x != y
}

// switches counts the PCIe switches between two devices whose ways up meet in one; 0
// if they meet in the root complex.
func (t *Tree) switches(a, b int, up, down []int) int {
	for len(up) > 0 && len(down) > 0 && up[len(up)-1] == down[len(down)-1] {
		up, down = up[:len(up)-1], down[:len(down)-1]
	}
	top := a
	if len(up) > 0 {
		top = t.Links[up[len(up)-1]].A
	}
	if t.Devices[top].Kind != Switch {
		return 0
	}
	n := 1
	for _, way := range [2][]int{up, down} {
		n += max(len(way)-1, 0)
	}
	return n
}

// NetFor returns which of the first n network ports a GPU, or a memory, should use, as
// NCCL chooses one (ncclTopoGetLocal and ncclTopoGetLocalNet of src/graph/topo.cc): the
// widest way, of those the nearest class, and of equal ones that of its first channel: the
// number of the GPU modulo how many GPUs share the port, by versions before 2.30 the
// number itself, with its bits reversed if there are a power of 2 of them. It is -1 if
// none can be reached.
func (t *Tree) NetFor(dev, n int) (net int, class Class) {
	best := t.local(dev, n)
	if len(best) == 0 {
		return -1, SYS
	}
	number := t.number(dev)
	if !t.OldTies {
		number %= max(t.localGPUs(best[0]), 1)
	}
	net = best[spread(number, len(best))]
	return net, t.PCIClass(dev, t.Nets[net].Card)
}

// localGPUs is how many GPUs are nearest to a network port, in the same order of things.
func (t *Tree) localGPUs(net int) (count int) {
	widest, class := 0.0, SYS+1
	for _, g := range t.GPUs() {
		width, c, ok := t.weigh(g, net)
		switch {
		case !ok || width < widest || width == widest && c > class:
			continue
		case width > widest || c < class:
			count, widest, class = 0, width, c
		}
		count++
	}
	return count
}

// local lists those of the first n network ports to which the way of a device is widest
// and nearest.
func (t *Tree) local(dev, n int) (best []int) {
	widest, class := 0.0, SYS+1
	for i := range t.Nets[:min(n, len(t.Nets))] {
		width, c, ok := t.weigh(dev, i)
		switch {
		case !ok || width < widest || width == widest && c > class:
			continue
		case width > widest || c < class:
			best, widest, class = best[:0], width, c
		}
		best = append(best, i)
	}
	return best
}

// weigh returns the width of the way to a network port, in GB/s by NCCL's weights of
// links, and its class as NCCL has it: what goes through the memory of the host is PHB at
// least (ncclTopoComputePaths), and host bridges of one NUMA node are one.
func (t *Tree) weigh(dev, net int) (width float64, class Class, ok bool) {
	card := t.Nets[net].Card
	path, err := t.Path(dev, card)
	if err != nil {
		return 0, SYS, false
	}
	class = t.PCIClass(dev, card)
	if staged, _ := t.Staged(dev, net); staged && t.DRAMOf(dev) >= 0 {
		class = max(class, PHB)
		up, _ := t.Path(dev, t.DRAMOf(dev))
		down, _ := t.Path(t.DRAMOf(dev), card)
		path = append(up, down...)
	}
	if class == NODE {
		class = PHB
	}
	width = float64(t.Nets[net].Rate) / 8e9
	if width == 0 {
		width = locWeight
	}
	for _, h := range path {
		width = min(width, t.Links[h.Link].weight())
	}
	return width, class, true
}

// throughPeer reports whether another GPU, which NVLink joins with one, is near enough to a
// card to hand on what goes there (NCCL's PXN).
func (t *Tree) throughPeer(gpu, card int, level Class) bool {
	for _, g := range t.GPUs() {
		if t.Class(gpu, g) == NV && t.PCIClass(g, card) <= min(level, PXB) {
			return true
		}
	}
	return false
}

// Levels are the classes that NCCL_NET_GDR_LEVEL and NCCL_P2P_LEVEL name, nearest first;
// LOC is none but the device itself.
func Levels() []string { return []string{"LOC", "NVL", "PIX", "PXB", "PHB", "SYS"} }

// Level is the farthest class that a level of NCCL has: host bridges of one NUMA node are
// one to it, and LOC leaves nothing.
func Level(name string) Class {
	return map[string]Class{"LOC": NV, "NVL": NV, "PIX": PIX, "PXB": PXB, "PHB": NODE, "SYS": SYS}[name]
}

// PeerStaged reports whether NCCL has data between two GPUs of the server go through the
// memory of the host, and why (ncclTopoCheckP2p in src/graph/paths.cc): where they are
// farther apart than the level that is set, else than PXB, or on AMD's processors with
// at most two GPUs than SYS. What NVLink joins is never staged.
func (t *Tree) PeerStaged(a, b int) (staged bool, why string) {
	class := t.Class(a, b)
	if class <= NV {
		return false, ""
	}
	level, from := t.PeerLevel, "p2p_level"
	if level == SelfX {
		level, from = PXB, "NCCL's P2P_LEVEL"
		if root := t.RootOf(a); root >= 0 && t.Devices[root].Chip == AMD && len(t.GPUs()) <= 2 {
			level = SYS
		}
	}
	if class <= level {
		return false, ""
	}
	return true, class.String() + " is farther than " + level.String() + ", " + from
}

// locWeight is NCCL's LOC_BW, what is as good as no limit.
const locWeight = 5000

// weight is what NCCL's graph has a link for, in GB/s: lanes times a speed that is three
// quarters of the raw one (kvDictPciGen in src/graph/topo.cc).
func (l *Link) weight() float64 {
	switch l.Kind {
	case PCIe:
		return float64(l.PCIe.Width) * [...]float64{15, 15, 30, 60, 120, 240, 480}[l.PCIe.Gen] / 80
	case HBM, MemoryBus:
		return locWeight
	}
	return float64(l.Rate) / 8e9
}

// Staged reports whether NCCL has data between a GPU and a network port go through the
// memory of the host, and why (ncclTopoCheckGdr in src/graph/paths.cc): where the driver
// for direct access is missing, and where the card is farther from the GPU than the level
// that is set, else than PXB; a GPU packaged with its CPU reaches cards at that CPU too
// (NCCL_NET_GDR_C2C, on from 2.27).
func (t *Tree) Staged(gpu, net int) (staged bool, why string) {
	if t.Devices[gpu].Kind != GPU {
		return false, ""
	}
	n := &t.Nets[net]
	class := t.PCIClass(gpu, n.Card)
	level, from := t.DirectLevel, "net_gdr_level"
	if level == SelfX {
		level, from = PXB, "NCCL's NET_GDR_LEVEL"
		if l := t.parent(gpu); l >= 0 && t.Links[l].Kind == Interconnect {
			level, from = NODE, "NCCL's NET_GDR_LEVEL with NET_GDR_C2C"
		}
	}
	switch {
	case t.Devices[gpu].NoDirect:
		return true, "gdr=0 of the GPU"
	case n.NoDirect:
		return true, "gdr=0 of the card"
	case class > level && !t.throughPeer(gpu, n.Card, level):
		return true, class.String() + " is farther than " + level.String() + ", " + from
	}
	return false, ""
}

// number returns how many GPUs come before a device.
func (t *Tree) number(gpu int) int {
	n := 0
	for i := range gpu {
		if t.Devices[i].Kind == GPU {
			n++
		}
	}
	return n
}

// spread chooses one of n equal cards for a GPU.
func spread(gpu, n int) int {
	if n&(n-1) != 0 {
		return gpu % n
	}
	mirrored := 0
	for low, high := 1, n>>1; low < n; low, high = low<<1, high>>1 {
		if gpu&low != 0 {
			mirrored |= high
		}
	}
	return mirrored
}

// LinkRate returns the payload rate of a link in one direction: of full posted writes
// on PCIe.
func (t *Tree) LinkRate(link int) units.Rate {
	l := &t.Links[link]
	if l.Kind == PCIe {
		return l.PCIe.WriteRate()
	}
	return l.Rate
}
