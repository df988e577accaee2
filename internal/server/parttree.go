package server

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/units"
)

// tree builds the tree. Devices come in the order CPUs, switches, GPUs, cards; links in
// that of the file, so that a drawing looks like it.
func (p *parts) tree(name string) *Tree {
	m := newMaker(name, p.gen())
	m.t.Notes[0].Value = "MPS 256B, MRRS 512B"
	m.t.Notes[0].Source = "assumed: files have no payload sizes; generations and widths are the file's"
	roots := p.roots(m)
	index := p.add(m)
	c2c := false
	for i := range p.devices {
		d := &p.devices[i]
		upper := roots[d.cpu]
		if d.parent >= 0 {
			upper = index[d.parent]
		}
		if d.c2c > 0 {
			m.link(Link{Kind: Interconnect, A: roots[d.cpu], B: index[i], Rate: d.c2c, Latency: c2cLatency, Bridge: d.bridge, Line: d.line})
			c2c = true
			continue
		}
		m.wire(upper, index[i], pcie.New(d.gen, d.width), d.bridge, d.line)
	}
	if c2c {
		m.note("latency.c2c", c2cLatency.String(), "assumed")
	}
	p.join(m, roots)
	p.addNVLinks(m, index)
	t := m.done()
	t.Warnings, t.Assumed = p.sorted(), p.assumed
	return t
}

// gen is the newest generation of PCIe, which buffers go by. That of a root port alone
// says little: bridges of virtual machines show generation 1.
func (p *parts) gen() int {
	gen := 1
	for i := range p.devices {
		gen = max(gen, p.devices[i].gen)
	}
	return gen
}

// roots adds the CPUs with their memory.
func (p *parts) roots(m *maker) []int {
	sockets := min(2, len(p.cpus))
	var roots []int
	for i := range p.cpus {
		c := &p.cpus[i]
		chip := c.processor()
		nodes := (len(p.cpus) + sockets - 1) / sockets
		r := m.root(c.numa, chip.memory/units.Rate(nodes))
		m.t.Devices[r].Line = c.line
		switch {
		case chip.intel:
			m.t.Devices[r].PeerTLP, m.t.Devices[r].Chip = 64, Intel
		case c.arch == "" || c.arch == "x86_64":
			m.t.Devices[r].Chip = AMD
		}
		roots = append(roots, r)
		if i == 0 {
			m.note("dram", fmt.Sprintf("%d GB/s per socket", chip.memory/gbyte), chip.name)
			if chip.intel {
				m.note("peer_tlp", "64B", fromNCCL+": Intel's root complexes cut traffic between devices into TLPs of 64 B")
			}
			if nodes > 1 {
				p.warn(0, "%d NUMA nodes are taken to be %d to a socket, with their share of its memory channels", len(p.cpus), nodes)
			}
			if chip.guessed {
				p.warn(c.line, "the processor is not said, or not known; memory and interconnect of %s are assumed", chip.name)
			}
		}
	}
	return roots
}

// add adds switches, GPUs and cards, each kind in the order of its numbers.
func (p *parts) add(m *maker) (index []int) {
	index = make([]int, len(p.devices))
	for _, kind := range [...]Kind{Switch, GPU, NIC} {
		for _, i := range p.ordered(kind) {
			d := &p.devices[i]
			numa := p.cpus[d.cpu].numa
			var dev int
			if kind == GPU {
				chip := p.accelerator(d)
				dev = m.gpu(numa, p.model(d), chip.memory)
			} else {
				dev = m.add(kind, numa)
			}
			x := &m.t.Devices[dev]
			x.BusID, x.Line, x.Alias, x.NoDirect = d.bus, d.line, d.name, d.noDirect
			index[i] = dev
		}
	}
	p.addNets(m, index)
	p.noteGPU(m)
	return index
}

// ordered lists the devices of a kind: by number if all have different ones, as NCCL
// and the system count them, else by bus number, as both do by default; switches as
// they come.
func (p *parts) ordered(kind Kind) []int {
	var all []int
	for i := range p.devices {
		if p.devices[i].kind == kind {
			all = append(all, i)
		}
	}
	if kind == Switch {
		return all
	}
	byNumber := func(a, b int) int { return cmp.Compare(p.devices[a].number, p.devices[b].number) }
	slices.SortStableFunc(all, byNumber)
	for k := range all {
		if p.devices[all[k]].number < 0 || k > 0 && byNumber(all[k-1], all[k]) == 0 {
			slices.SortStableFunc(all, func(a, b int) int { return compareBus(p.devices[a].bus, p.devices[b].bus) })
			break
		}
	}
	return all
}

// addNets numbers the network ports as NCCL and the system do: by their numbers if all
// have different ones, else card by card.
func (p *parts) addNets(m *maker, index []int) {
	var all []netPart
	for _, i := range p.ordered(NIC) {
		d := &p.devices[i]
		ports := d.ports
		if len(ports) == 0 {
			ports = []netPart{{number: d.number}}
		}
		for _, n := range ports {
			n.Card = index[i]
			all = append(all, n)
		}
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b netPart) int { return cmp.Compare(a.number, b.number) })
	for k := range sorted {
		if sorted[k].number < 0 || k > 0 && sorted[k].number == sorted[k-1].number {
			sorted = all
			break
		}
	}
	for i := range sorted {
		m.t.Nets = append(m.t.Nets, sorted[i].Net)
	}
}

// compareBus orders bus numbers by domain, bus, device and function.
func compareBus(a, b string) int {
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == '.' })
	}
	return slices.CompareFunc(split(a), split(b), func(x, y string) int {
		i, _ := strconv.ParseUint(x, 16, 32)
		j, _ := strconv.ParseUint(y, 16, 32)
		return cmp.Compare(i, j)
	})
}

// wire joins two devices by a PCIe link.
func (m *maker) wire(upper, lower int, l pcie.Link, bridge, line int) {
	m.pci(upper, lower)
	x := &m.t.Links[len(m.t.Links)-1]
	x.PCIe, x.Bridge, x.Line = l, bridge, line
}

// join links every pair of root complexes at the rate of their processors.
func (p *parts) join(m *maker, roots []int) {
	if len(roots) < 2 {
		return
	}
	chip := p.cpus[0].processor()
	m.join(roots, chip.between)
	m.note("interconnect", fmt.Sprintf("%d GB/s", chip.between/gbyte), chip.betweenFrom)
	m.note("latency.interconnect", socketLatency.String(), fabricNotes)
}

// addNVLinks adds the links between GPUs, and the NVSwitches.
func (p *parts) addNVLinks(m *maker, index []int) {
	var switches []int
	for i := range p.nvlinks {
		x := &p.nvlinks[i]
		each := p.accelerator(&p.devices[x.a]).link
		l := Link{Kind: NVLink, A: index[x.a], Rate: units.Rate(x.count) * each, Count: x.count, Latency: nvLatency, Line: x.line}
		if x.b >= 0 {
			l.B = index[x.b]
		} else {
			for len(switches) <= ^x.b {
				switches = append(switches, m.add(NVSwitch, -1))
			}
			l.A, l.B = switches[^x.b], index[x.a]
		}
		m.link(l)
	}
	if len(p.nvlinks) > 0 {
		x := &p.nvlinks[0]
		chip := p.accelerator(&p.devices[x.a])
		m.note("nvlink", fmt.Sprintf("links of %.1f GB/s each way", float64(chip.link)/float64(gbyte)), chip.linkFrom)
		m.note("latency.nvlink", nvLatency.String(), nvAssumed)
	}
}

// noteGPU names the memory of the first GPU, and what was assumed.
func (p *parts) noteGPU(m *maker) {
	all := p.ordered(GPU)
	if len(all) == 0 {
		return
	}
	d := &p.devices[all[0]]
	chip := p.accelerator(d)
	m.note("hbm", fmt.Sprintf("%d GB/s", chip.memory/gbyte), chip.name+" data sheet")
	if d.chip == "" || chip.guessed {
		p.warn(d.line, "the kind of GPU is not said, or not known; the memory of %s is assumed, which limits no path over PCIe", chip.name)
	}
}
