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

// NICFor returns the card that a GPU should use: see Nearest.
func (t *Tree) NICFor(gpu int) (nic int, class Class) { return t.Nearest(gpu, t.NICs()) }

// Nearest returns which of some cards a GPU, or a memory, should use: that of the
// nearest class, of those the ones with the fastest way, and of equal ones that which
// NCCL's first channel takes: the number of the GPU modulo their number, with its bits
// reversed if that is a power of 2 (ncclTopoGetLocalNet). It is -1 if none can be
// reached.
func (t *Tree) Nearest(dev int, nics []int) (nic int, class Class) {
	var best []int
	var rate units.Rate
	class = SYS + 1
	for _, n := range nics {
		path, err := t.Path(dev, n)
		if err != nil {
			continue
		}
		c, r := t.PCIClass(dev, n), t.pathRate(path)
		if c < class || c == class && r > rate {
			best, class, rate = best[:0], c, r
		}
		if c == class && r == rate {
			best = append(best, n)
		}
	}
	if len(best) == 0 {
		return -1, SYS
	}
	return best[spread(t.number(dev), len(best))], class
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

// pathRate returns the rate of the slowest link of a way, for writes.
func (t *Tree) pathRate(path []Hop) units.Rate {
	slowest := units.Rate(1<<63 - 1)
	for _, h := range path {
		slowest = min(slowest, t.LinkRate(h.Link))
	}
	return slowest
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
