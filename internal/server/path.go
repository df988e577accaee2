package server

import "fmt"

// Hop is the passage of one link in one direction.
type Hop struct {
	Link    int  // index into the tree's links
	Forward bool // from A to B: away from the root complex, into a memory
}

// End returns the device at the end of a hop.
func (t *Tree) End(h Hop) int {
	if h.Forward {
		return t.Links[h.Link].B
	}
	return t.Links[h.Link].A
}

// Start returns the device at the start of a hop.
func (t *Tree) Start(h Hop) int {
	return t.End(Hop{h.Link, !h.Forward})
}

// Path returns the way of DMA from one device to another over PCIe: up to where both
// ways meet and down, between sockets over their interconnect. A way from or to a GPU
// begins or ends with its HBM. With ACS, what would turn round in a switch goes up to
// the root complex first. NVPath has the way over NVLink.
func (t *Tree) Path(from, to int) ([]Hop, error) {
	if from == to {
		return nil, fmt.Errorf("%s to itself is no path", t.Devices[from].Name)
	}
	up, root, err := t.climb(from)
	if err != nil {
		return nil, err
	}
	down, other, err := t.climb(to)
	if err != nil {
		return nil, err
	}
	between, ok := t.cross(root, other)
	if !ok {
		return nil, fmt.Errorf("%s and %s hang off root complexes that nothing joins", t.Devices[from].Name, t.Devices[to].Name)
	}
	if !t.redirected(from, to) {
		for len(up) > 0 && len(down) > 0 && up[len(up)-1] == down[len(down)-1] {
			up, down = up[:len(up)-1], down[:len(down)-1]
		}
	}
	var path []Hop
	path = t.memory(path, from, false)
	for _, l := range up {
		path = append(path, Hop{l, false})
	}
	path = append(path, between...)
	for i := len(down) - 1; i >= 0; i-- {
		path = append(path, Hop{down[i], true})
	}
	return t.memory(path, to, true), nil
}

// memory adds the hop of a GPU's memory.
func (t *Tree) memory(path []Hop, dev int, into bool) []Hop {
	if l := t.hbm(dev); l >= 0 {
		path = append(path, Hop{l, into})
	}
	return path
}

// redirected reports whether ACS sends TLPs between two devices to the root complex.
// Switches do that with what one endpoint sends another.
func (t *Tree) redirected(from, to int) bool {
	endpoint := func(d int) bool { return t.Devices[d].Kind == GPU || t.Devices[d].Kind == NIC }
	return t.ACS && endpoint(from) && endpoint(to)
}

// climb lists the links from a device up to its root complex.
func (t *Tree) climb(dev int) (up []int, root int, err error) {
	at := dev
	for t.Devices[at].Kind != Root {
		l := t.parent(at)
		if l < 0 || len(up) > len(t.Devices) {
			return nil, -1, fmt.Errorf("%s hangs off no root complex", t.Devices[dev].Name)
		}
		up = append(up, l)
		at = t.Links[l].A
	}
	return up, at, nil
}

// cross returns the shortest way between two root complexes, of equal ones that over
// the links that come first.
func (t *Tree) cross(from, to int) ([]Hop, bool) {
	came := make([]Hop, len(t.Devices))
	seen := make([]bool, len(t.Devices))
	seen[from] = true
	for queue := []int{from}; len(queue) > 0 && !seen[to]; queue = queue[1:] {
		for i := range t.Links {
			l := &t.Links[i]
			if l.Kind != Interconnect || l.A != queue[0] && l.B != queue[0] {
				continue
			}
			h := Hop{i, l.A == queue[0]}
			if next := t.End(h); !seen[next] && t.Devices[next].Kind == Root {
				seen[next], came[next] = true, h
				queue = append(queue, next)
			}
		}
	}
	return t.walkBack(came, from, to), seen[to]
}

// walkBack turns what a search noted into the way it found.
func (t *Tree) walkBack(came []Hop, from, to int) []Hop {
	var reversed []Hop
	for at := to; at != from && len(reversed) < len(came); at = t.Start(came[at]) {
		reversed = append(reversed, came[at])
	}
	path := make([]Hop, 0, len(reversed))
	for i := len(reversed) - 1; i >= 0; i-- {
		path = append(path, reversed[i])
	}
	return path
}

// NVPath returns the way from one GPU to another over NVLink: over the link between
// them or, of those through an NVSwitch, the first. It begins and ends with HBM.
func (t *Tree) NVPath(fromGPU, toGPU int) ([]Hop, bool) {
	if fromGPU == toGPU {
		return nil, false
	}
	var through []Hop
	for i := range t.Links {
		h, ok := t.nvlink(i, fromGPU)
		switch {
		case !ok:
		case t.End(h) == toGPU:
			return t.withMemory(fromGPU, []Hop{h}, toGPU), true
		case len(through) == 0 && t.Devices[t.End(h)].Kind == NVSwitch:
			for j := range t.Links {
				if g, ok := t.nvlink(j, t.End(h)); ok && t.End(g) == toGPU {
					through = []Hop{h, g}
					break
				}
			}
		}
	}
	return t.withMemory(fromGPU, through, toGPU), len(through) > 0
}

func (t *Tree) withMemory(from int, hops []Hop, to int) []Hop {
	return t.memory(append(t.memory(nil, from, false), hops...), to, true)
}

// nvlink returns the hop over link i that starts at a device.
func (t *Tree) nvlink(i, dev int) (Hop, bool) {
	l := &t.Links[i]
	return Hop{i, l.A == dev}, l.Kind == NVLink && (l.A == dev || l.B == dev)
}
