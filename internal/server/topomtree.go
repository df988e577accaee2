package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Matrix returns the class of every pair of GPUs and cards, as nvidia-smi topo -m
// prints it.
func (t *Tree) Matrix() *Matrix {
	gpus, nics := t.GPUs(), t.NICs()
	devices := slices.Concat(gpus, nics)
	n := len(devices)
	m := &Matrix{Cards: make([]string, n), Affinity: make([]string, n), NUMA: make([]int, n)}
	for i, d := range devices {
		m.NUMA[i] = -1
		if i < len(gpus) {
			m.Names = append(m.Names, fmt.Sprintf("GPU%d", i))
			if root := t.RootOf(d); root >= 0 {
				m.NUMA[i] = t.Devices[root].NUMA
			}
		} else {
			m.Names = append(m.Names, fmt.Sprintf("NIC%d", i-len(gpus)))
			m.Cards[i] = cmp.Or(t.Devices[d].Alias, t.Devices[d].Name)
		}
		row := make([]Cell, n)
		for j, other := range devices {
			row[j] = Cell{Class: t.Class(d, other)}
			if row[j].Class == NV {
				row[j].Links = t.nvCount(d, other)
			}
		}
		m.Cells = append(m.Cells, row)
	}
	return m
}

// nvCount is how many NVLinks the way between two GPUs has: those of the hop with the
// fewest.
func (t *Tree) nvCount(a, b int) int {
	path, _ := t.NVPath(a, b)
	least := 0
	for _, h := range path {
		if l := &t.Links[h.Link]; l.Kind == NVLink && (least == 0 || l.Count < least) {
			least = l.Count
		}
	}
	return least
}

// Write prints the matrix as nvidia-smi does, without its legend of classes.
func (m *Matrix) Write(b *strings.Builder) {
	for _, name := range m.Names {
		b.WriteString("\t" + name)
	}
	b.WriteString("\tCPU Affinity\tNUMA Affinity\n")
	for i, name := range m.Names {
		b.WriteString(name)
		for _, c := range m.Cells[i] {
			s := c.String()
			if c.Class == SelfX {
				s = " X "
			}
			b.WriteString("\t" + s)
		}
		if m.NUMA[i] >= 0 {
			fmt.Fprintf(b, "\tN/A\t%d", m.NUMA[i])
		}
		b.WriteString("\n")
	}
	first := true
	for i, card := range m.Cards {
		if card == "" {
			continue
		}
		if first {
			b.WriteString("\nNIC Legend:\n\n")
			first = false
		}
		fmt.Fprintf(b, "  %s: %s\n", m.Names[i], card)
	}
}

// Tree returns a tree in which every pair of devices is of the class that the matrix
// gives. An error is an *Error: no tree has these classes.
func (m *Matrix) Tree(name string) (*Tree, error) {
	g := &grouping{m: m}
	for level := PIX; level < SYS; level++ {
		g.of[level] = g.groups(level)
	}
	if err := g.check(); err != nil {
		return nil, err
	}
	p := &parts{}
	g.place(p)
	g.nvlinks(p)
	return p.tree(name), nil
}

// grouping sorts the devices of a matrix into groups: those within PIX of one another
// hang off one switch, those within PXB are below one root port, those within PHB below
// one host bridge, those within NODE on one NUMA node.
type grouping struct {
	m    *Matrix
	of   [SYS][]int // by level: the first device of each device's group
	part []int      // of each device, its index in parts.devices
}

// groups joins devices that a class of at most level connects. What NVLink hides is
// left open, but GPUs next to the same CPUs are on one NUMA node.
func (g *grouping) groups(level Class) []int {
	first := make([]int, len(g.m.Names))
	for i := range first {
		first[i] = i
	}
	for i := range first {
		for j := range i {
			c := g.m.Cells[i][j].Class
			if c != NV && c <= level || c == NV && level == NODE && g.m.sameNode(i, j) {
				join(first, first[i], first[j])
			}
		}
	}
	return first
}

// join makes two groups one, named after its first device.
func join(first []int, a, b int) {
	for i := range first {
		if first[i] == a || first[i] == b {
			first[i] = min(a, b)
		}
	}
}

// sameNode reports whether the matrix puts two devices next to the same CPUs.
func (m *Matrix) sameNode(i, j int) bool {
	if m.NUMA[i] >= 0 && m.NUMA[j] >= 0 {
		return m.NUMA[i] == m.NUMA[j]
	}
	return m.Affinity[i] != "" && m.Affinity[i] == m.Affinity[j]
}

// check finds a pair that is farther apart than the ways over other devices.
func (g *grouping) check() error {
	m := g.m
	for i := range m.Names {
		for j := range i {
			c := m.Cells[i][j].Class
			if c == NV || c == PIX {
				continue
			}
			if nearer := c - 1; g.of[nearer][i] == g.of[nearer][j] {
				return &Error{m.lines[i], m.columns[i][j], fmt.Sprintf("no tree has these classes: %s to %s is %s, but %s", m.Names[i], m.Names[j], c, g.witness(i, j, nearer))}
			}
		}
	}
	return nil
}

// witness says why i and j must be within a class.
func (g *grouping) witness(i, j int, level Class) string {
	m := g.m
	for k := range m.Names {
		a, b := m.Cells[i][k].Class, m.Cells[j][k].Class
		if k != i && k != j && a != NV && b != NV && a <= level && b <= level {
			return fmt.Sprintf("%s is %s from the one and %s from the other", m.Names[k], a, b)
		}
	}
	return fmt.Sprintf("other devices join them within %s", level)
}

// place gives every device its place below a CPU.
func (g *grouping) place(p *parts) {
	m := g.m
	g.part = make([]int, len(m.Names))
	link := m.assumedLink()
	p.warn(m.lines[0], "a matrix has no speeds: all PCIe links are taken to be %s x16, %s", speedText(link.gen), link.why)
	for i := range m.Names {
		if g.of[NODE][i] != i {
			continue
		}
		cpu := len(p.cpus)
		p.cpus = append(p.cpus, cpuPart{numa: g.numa(p, i)})
		for j := range m.Names { // groups below one root port, in the order of their first devices
			if g.of[NODE][j] == i && g.of[PXB][j] == j {
				g.placeBelow(p, j, part{cpu: cpu, parent: -1, bridge: g.bridge(j), gen: link.gen, width: 16, number: -1})
			}
		}
	}
}

// bridge numbers the host bridges of a NUMA node from 1; 0 if it has one only.
func (g *grouping) bridge(dev int) int {
	number, all := 0, 0
	for j := range g.m.Names {
		if g.of[NODE][j] != g.of[NODE][dev] || g.of[PHB][j] != j {
			continue
		}
		if all++; j == g.of[PHB][dev] {
			number = all
		}
	}
	if all == 1 {
		return 0
	}
	return number
}

// placeBelow hangs a group of PXB below a root port: a device alone at the port itself,
// devices within PIX below one switch, and others below a switch for each group of PIX,
// all of them below another.
func (g *grouping) placeBelow(p *parts, first int, at part) {
	m := g.m
	alone, single := true, true
	for j := range m.Names {
		if g.of[PXB][j] == first && j != first {
			alone = false
			single = single && g.of[PIX][j] == first
		}
	}
	if !single {
		at = below(p, at)
	}
	for j := range m.Names {
		if g.of[PXB][j] != first || g.of[PIX][j] != j {
			continue
		}
		inner := at
		if !alone {
			inner = below(p, at)
		}
		for k := range m.Names {
			if g.of[PIX][k] == j {
				g.addDevice(p, k, inner)
			}
		}
	}
}

// below adds a switch and returns the place under it.
func below(p *parts, at part) part {
	at.kind = Switch
	p.devices = append(p.devices, at)
	at.parent, at.bridge = len(p.devices)-1, 0
	return at
}

func (g *grouping) addDevice(p *parts, dev int, at part) {
	m := g.m
	at.kind, at.name, at.line = NIC, m.Cards[dev], m.lines[dev]
	if isGPUName(m.Names[dev]) {
		at.kind, at.chip = GPU, m.chip(dev)
	}
	at.number = int64(dev)
	g.part[dev] = len(p.devices)
	p.devices = append(p.devices, at)
}

// numa chooses the number of a NUMA node for a group: what the matrix says of one of
// its devices, or one that no other has.
func (g *grouping) numa(p *parts, first int) int {
	m := g.m
	said := -1
	for j := range m.Names {
		if g.of[NODE][j] == first && m.NUMA[j] >= 0 && said < 0 {
			said = m.NUMA[j]
		}
	}
	taken := func(n int) bool { return slices.ContainsFunc(p.cpus, func(c cpuPart) bool { return c.numa == n }) }
	if said >= 0 && !taken(said) {
		return said
	}
	free := 0
	for taken(free) || slices.Contains(m.NUMA, free) {
		free++
	}
	if said >= 0 {
		p.warn(m.lines[first], "%s is on NUMA node %d like devices that are SYS away; node %d is assumed for it", m.Names[first], said, free)
	} else {
		p.warn(m.lines[first], "nothing says on which NUMA node %s is; %d is assumed, one that no other device has", m.Names[first], free)
	}
	return free
}

// assumption is what is taken for what a matrix does not say.
type assumption struct {
	gen int
	why string
}

// assumedLink guesses the generation of PCIe from the NVLinks: 12 are of A100, with
// PCIe 4.0, 18 of H100 and later, with 5.0, and 6 of V100, with 3.0.
func (m *Matrix) assumedLink() assumption {
	for i := range m.Names {
		switch m.chip(i) {
		case "sm70":
			return assumption{3, "as V100 has with its 6 NVLinks"}
		case "sm80":
			return assumption{4, "as A100 has with its 12 NVLinks"}
		case "sm90":
			return assumption{5, "as H100 has with its 18 NVLinks"}
		}
	}
	return assumption{4, "for want of anything that tells"}
}

// chip guesses a GPU from how many NVLinks it has.
func (m *Matrix) chip(dev int) string {
	most, sum := 0, 0
	for _, c := range m.Cells[dev] {
		most, sum = max(most, c.Links), sum+c.Links
	}
	links := sum
	if m.switched(dev) {
		links = most
	}
	switch links {
	case 6:
		return "sm70"
	case 12:
		return "sm80"
	case 18:
		return "sm90"
	}
	return ""
}

// switched reports whether a GPU's NVLinks go to NVSwitches: it has as many to each of
// at least two others, and more in all than any GPU has.
func (m *Matrix) switched(dev int) bool {
	const most = 18 // links of a GPU up to Blackwell
	links, peers := 0, 0
	for _, c := range m.Cells[dev] {
		if c.Class != NV {
			continue
		}
		if links != 0 && c.Links != links {
			return false
		}
		links = c.Links
		peers++
	}
	return peers > 1 && links*peers > most
}

// nvlinks adds the NVLinks: to NVSwitches where all GPUs of a group reach all others
// with more links than a GPU has, else from GPU to GPU.
func (g *grouping) nvlinks(p *parts) {
	m := g.m
	group := make([]int, len(m.Names))
	for i := range group {
		group[i] = i
	}
	for i := range m.Names {
		for j := range i {
			if m.Cells[i][j].Class == NV {
				join(group, group[i], group[j])
			}
		}
	}
	island := 0
	for first := range m.Names {
		if group[first] != first {
			continue
		}
		if g.allSwitched(group, first) {
			for i := range m.Names {
				if group[i] == first {
					p.nvlinks = append(p.nvlinks, nvPart{g.part[i], ^island, g.mostLinks(i), m.lines[i]})
				}
			}
			island++
			continue
		}
		for i := range m.Names {
			for j := range i {
				if c := m.Cells[i][j]; group[i] == first && c.Class == NV {
					p.nvlinks = append(p.nvlinks, nvPart{g.part[j], g.part[i], c.Links, m.lines[i]})
				}
			}
		}
	}
}

// allSwitched reports whether the GPUs of a group can only be joined by NVSwitches.
func (g *grouping) allSwitched(group []int, first int) bool {
	for i := range group {
		if group[i] != first {
			continue
		}
		if !g.m.switched(i) {
			return false
		}
		for j := range i {
			if group[j] == first && g.m.Cells[i][j].Class != NV {
				return false
			}
		}
	}
	return true
}

func (g *grouping) mostLinks(dev int) int {
	most := 0
	for _, c := range g.m.Cells[dev] {
		most = max(most, c.Links)
	}
	return most
}
