package server

import "strconv"

// Broadcom's switches in base mode show as bridges below bridges of the same chip. NCCL
// takes such a pair for one switch (ncclTopoFlattenBcmSwitches and getBcmGen in
// src/graph/topo.cc of 2.19 and later): vendor 0x1000 with device 0xc010, subsystem 0x1000
// and 0xa..., which is generation 4, or device 0xc030, subsystem 0x1000 and 0x0... above
// and 0x1... below, which is generation 5.

// bcmGen is the generation of a Broadcom switch by its PCI numbers; 0: it is none.
func bcmGen(e *element, level uint64) int {
	var id uint64
	for _, name := range []string{"vendor", "device", "subsystem_vendor", "subsystem_device"} {
		s, _ := e.attr(name)
		n, err := strconv.ParseUint(s, 0, 16)
		if err != nil {
			return 0
		}
		id = id<<16 | n
	}
	switch id &^ 0xfff {
	case 0x1000c0101000a000:
		return 4
	case 0x1000c03010000000 | level*0x1000:
		return 5
	}
	return 0
}

// flatten joins bridges as NCCL does and returns, by node, the one that it became part
// of; -1: it stays. What hangs below a bridge that is gone hangs below the other.
func (r *xmlReader) flatten() (into []int) {
	into = make([]int, len(r.nodes))
	for i := range r.nodes {
		n := &r.nodes[i]
		into[i] = -1
		if n.parent < 0 {
			continue
		}
		top := n.parent
		if into[top] >= 0 { // its bridge is part of another now
			top = into[top]
			n.parent = top
			continue // a third level stays
		}
		if gen := bcmGen(r.nodes[top].el, 0); n.kind == Switch && r.nodes[top].kind == Switch && gen > 0 && bcmGen(n.el, 1) == gen {
			into[i] = top
		}
	}
	return into
}
