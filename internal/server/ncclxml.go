package server

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/units"
)

// ParseXML reads a topology as NCCL and RCCL take and write it (NCCL_TOPO_FILE,
// NCCL_TOPO_DUMP_FILE) and as clouds ship it: docs/formats/server.md says which
// elements and attributes count. name becomes the tree's. An error is an *Error.
//
// NCCL drops the downstream ports of a PCIe switch when it writes a topology, so
// that one element of class 0x060400 is one switch, and a device that stands in a
// <cpu> is at a root port.
func ParseXML(name string, text []byte) (*Tree, error) {
	system, err := parseElements(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err != nil {
		return nil, err
	}
	r := &xmlReader{at: map[string]int{}}
	for _, step := range []func(*element) error{r.checkSystem, r.readCPUs, r.resolveLinks, r.resolvePeers} {
		if err := step(system); err != nil {
			return nil, err
		}
	}
	return r.tree(name), nil
}

// isXML reports whether text looks like XML rather than a matrix.
func isXML(text []byte) bool {
	s := bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\ufeff")), " \t\r\n")
	return len(s) > 0 && s[0] == '<'
}

// xmlReader gathers what a file says before the tree is built from it.
type xmlReader struct {
	warnings
	cpus  []cpuNode
	nodes []pciNode      // in the order of the file
	gpus  int            // of them
	at    map[string]int // index in nodes by bus number
	named []namedPeer
	peers []peerLink
	noGDR []string // names of cards, and bus numbers of GPUs, whose gdr is 0
}

// cpuNode is a <cpu>: one NUMA node.
type cpuNode struct {
	el   *element
	numa int
}

// pciNode is a <pci>: a switch, a GPU or a card.
type pciNode struct {
	el     *element
	kind   Kind
	bus    string
	cpu    int // index in xmlReader.cpus
	parent int // index in xmlReader.nodes; -1: at a root port of the cpu
	gpu    *element
	nets   []*element
	gen    int // 0: not said
	width  int // 0: not said
	dev    int64
	name   string
	c2c    units.Rate
	ports  []netPart
	// noDirect: of a GPU, whose memory cards cannot reach.
	noDirect bool
}

// label names a node in messages.
func (n *pciNode) label() string { return n.kind.String() + " " + n.bus }

// checkSystem looks at the root element.
func (r *xmlReader) checkSystem(system *element) error {
	switch system.name {
	case "system":
	case "graphs", "graph":
		return system.errorf("<%s> is NCCL's choice of rings and trees (NCCL_GRAPH_DUMP_FILE); give the topology that NCCL_TOPO_DUMP_FILE writes", system.name)
	default:
		return system.errorf("the root element is <%s>; that of NCCL's topology is <system>", clip(system.name))
	}
	version, _ := system.attr("version")
	switch version {
	case "1", "2":
	case "":
		return system.errorf(`<system> has no version; write version="1" (NCCL) or "2" (RCCL)`)
	default:
		return system.attrErrorf("version", "version %q; this reads 1 (NCCL) and 2 (RCCL)", clip(version))
	}
	return nil
}

// readCPUs reads all that stands in <system>.
func (r *xmlReader) readCPUs(system *element) error {
	for _, e := range system.children {
		if e.name != "cpu" {
			if e.name == "pci" || e.name == "nic" || e.name == "gpu" {
				return e.errorf("<%s> stands outside a <cpu>; every PCIe device belongs to one", e.name)
			}
			r.warn(e.line, "<%s> is not known and left out", clip(e.name))
			continue
		}
		if err := r.readCPU(e); err != nil {
			return err
		}
	}
	switch {
	case len(r.cpus) == 0:
		return system.errorf(`<system> has no <cpu>; every PCIe device belongs to one, such as <cpu numaid="0">`)
	case len(r.nodes) == 0:
		return system.errorf("the file has no PCIe device: no <pci> in any <cpu>")
	}
	return r.checkDevices()
}

// checkDevices refuses files without GPUs and cards.
func (r *xmlReader) checkDevices() error {
	for i := range r.nodes {
		if k := r.nodes[i].kind; k == NIC || k == GPU {
			return nil
		}
	}
	return r.nodes[0].el.errorf("the file has neither a GPU (class 0x0302, 0x0380 or 0x1200) nor a network card (0x0200 or 0x0207)")
}

// readCPU reads a NUMA node and what is below it.
func (r *xmlReader) readCPU(e *element) error {
	numa, err := e.integer("numaid", -1)
	if err != nil {
		return err
	}
	if numa < -1 || numa > 1023 {
		return e.attrErrorf("numaid", "numaid=%d; NUMA nodes are counted from 0 to 1023", numa)
	}
	if numa < 0 {
		numa = r.freeNUMA()
		r.warn(e.line, "this <cpu> has no NUMA node (numaid), as in virtual machines; node %d is assumed", numa)
	}
	host, _ := e.attr("host_hash")
	for i := range r.cpus {
		other := &r.cpus[i]
		if first, _ := other.el.attr("host_hash"); first != host {
			return e.attrErrorf("host_hash", "this <cpu> belongs to another server than that of line %d; give a file of one server", other.el.line)
		}
		if other.numa == int(numa) {
			return e.attrErrorf("numaid", "NUMA node %d stands in line %d already; each <cpu> has its own", numa, other.el.line)
		}
	}
	r.cpus = append(r.cpus, cpuNode{e, int(numa)})
	for _, c := range e.children {
		switch c.name {
		case "pci":
			if err := r.readPCI(c, -1); err != nil {
				return err
			}
		case "nic":
			if err := r.readLooseNIC(c); err != nil {
				return err
			}
		default:
			r.warn(c.line, "<%s> is not known and left out", clip(c.name))
		}
	}
	return nil
}

// freeNUMA is the lowest NUMA node that no cpu has.
func (r *xmlReader) freeNUMA() int64 {
	for n := int64(0); ; n++ {
		if !slices.ContainsFunc(r.cpus, func(c cpuNode) bool { return int64(c.numa) == n }) {
			return n
		}
	}
}

// readPCI reads a PCIe device and those below it.
func (r *xmlReader) readPCI(e *element, parent int) error {
	n := pciNode{el: e, parent: parent, cpu: len(r.cpus) - 1, dev: -1}
	var err error
	if n.bus, err = r.busID(e, parent); err != nil {
		return err
	}
	if err := r.readParts(e, &n); err != nil {
		return err
	}
	if n.kind, err = r.kindOf(e, &n); err != nil {
		return err
	}
	if n.kind == other {
		if e.child("pci") == nil {
			class, _ := e.attr("class")
			r.warn(e.line, "class %s of %s is neither a bridge, a GPU nor a network card; left out", cmp.Or(class, `""`), n.bus)
			return nil
		}
		n.kind = Switch
	}
	if n.gen, n.width, err = r.readLink(e, n.bus); err != nil {
		return err
	}
	if n.kind == GPU {
		err = r.readGPU(&n)
	} else if n.kind == NIC {
		err = r.readNets(&n)
	}
	if err != nil {
		return err
	}
	if n.kind == NIC && r.mergeFunction(&n) {
		return nil
	}
	self := len(r.nodes)
	if err := r.admit(&n); err != nil {
		return err
	}
	if _, twice := r.at[n.bus]; !twice {
		r.at[n.bus] = self
	}
	r.nodes = append(r.nodes, n)
	for _, c := range e.children {
		if c.name != "pci" {
			continue
		}
		if n.kind != Switch {
			return c.errorf("a device below %s, which is no bridge (class 0x060400)", n.label())
		}
		if err := r.readPCI(c, self); err != nil {
			return err
		}
	}
	return nil
}

// maxGPUs and maxDevices bound a server: those sold have up to 16 GPUs (DGX-2), those composed
// over PCIe switches up to 32, and some 30 devices.
const (
	maxGPUs    = 32
	maxDevices = 256
)

// admit refuses a device more than a server has. A file with more GPUs is of a rack or of
// several servers.
func (r *xmlReader) admit(n *pciNode) error {
	if len(r.nodes) == maxDevices {
		return n.el.errorf("more than %d devices; no server has as many", maxDevices)
	}
	if n.kind != GPU {
		return nil
	}
	if r.gpus++; r.gpus > maxGPUs {
		return n.el.errorf("more than %d GPUs; no server has as many: give a file of one server", maxGPUs)
	}
	return nil
}

// mergeFunction adds the ports of a card to those of another function of it, which has
// the same slot: the bus number without its function, as NCCL has it
// (NCCL_TOPO_LOCAL_NIC_ID of a bus number whose last digit is cut off).
func (r *xmlReader) mergeFunction(n *pciNode) bool {
	slot, _, _ := strings.Cut(n.bus, ".")
	for i := range r.nodes {
		first := &r.nodes[i]
		of, _, _ := strings.Cut(first.bus, ".")
		if first.kind != NIC || of != slot || first.bus == n.bus || first.parent != n.parent || first.cpu != n.cpu {
			continue
		}
		first.ports = append(first.ports, n.ports...)
		first.dev = min(first.dev, n.dev)
		r.at[n.bus] = i
		return true
	}
	return false
}

// readLooseNIC reads a <nic> that stands in a <cpu>, as NCCL writes one whose place it
// does not find, such as a virtual machine's. It takes it to be at the CPU.
func (r *xmlReader) readLooseNIC(e *element) error {
	n := pciNode{el: e, kind: NIC, parent: -1, cpu: len(r.cpus) - 1, dev: -1, gen: 1, width: 16}
	for _, net := range e.children {
		if net.name == "net" {
			n.nets = append(n.nets, net)
		}
	}
	if err := r.readNets(&n); err != nil {
		return err
	}
	sum := units.Rate(0)
	for _, p := range n.ports {
		sum += p.Rate
	}
	for n.gen < 6 && pcie.New(n.gen, n.width).WriteRate() < sum {
		n.gen++
	}
	r.warn(e.line, "a <nic> outside a <pci>: where it sits on PCIe is not known; it is taken to be at this CPU (PHB, as NCCL does), on a link as fast as its ports need, gen%d x%d", n.gen, n.width)
	r.nodes = append(r.nodes, n)
	return nil
}

// busID reads a bus number, domain:bus:device.function in hexadecimal, of what stands
// below a node.
func (r *xmlReader) busID(e *element, parent int) (string, error) {
	bus, _ := e.attr("busid")
	if bus == "" {
		return "", e.attrErrorf("busid", `<pci> has no busid; write busid="0000:3b:00.0"`)
	}
	bus = strings.ToLower(bus)
	if !isBusID(bus) {
		return "", e.attrErrorf("busid", `busid=%q; write domain, bus, device and function in hexadecimal, such as "0000:3b:00.0"`, clip(bus))
	}
	for i := parent; i >= 0; i = r.nodes[i].parent {
		if r.nodes[i].bus == bus {
			return "", e.attrErrorf("busid", "busid %s stands in line %d already, of a bridge above: a device below itself closes a circle", bus, r.nodes[i].el.line)
		}
	}
	if i, twice := r.at[bus]; twice {
		r.warn(e.line, "busid %s stands in line %d already; they are taken to be two devices, and what names it means the first", bus, r.nodes[i].el.line)
	}
	return bus, nil
}

// isBusID accepts the form that the kernel writes, and what clouds make of it for
// bridges that a virtual machine does not see: domain:bus:device.function, or with
// the function after a colon's missing part (ffff:ff:01.0).
func isBusID(s string) bool {
	domain, rest, ok := strings.Cut(s, ":")
	bus, rest, ok2 := strings.Cut(rest, ":")
	device, function, ok3 := strings.Cut(rest, ".")
	if !ok || !ok2 || !ok3 {
		return false
	}
	for _, x := range []struct {
		digits string
		most   int
	}{{domain, 8}, {bus, 2}, {device, 2}, {function, 1}} {
		if x.digits == "" || len(x.digits) > x.most || strings.Trim(x.digits, "0123456789abcdef") != "" {
			return false
		}
	}
	return true
}

// readParts finds what stands in a <pci> beside other <pci>.
func (r *xmlReader) readParts(e *element, n *pciNode) error {
	for _, c := range e.children {
		switch c.name {
		case "pci":
		case "gpu":
			if n.gpu != nil {
				return c.errorf("a second <gpu> in %s; each has a <pci> of its own", n.bus)
			}
			n.gpu = c
		case "nic":
			for _, net := range c.children {
				if net.name == "net" {
					n.nets = append(n.nets, net)
				} else {
					r.warn(net.line, "<%s> in a <nic> is not known and left out", clip(net.name))
				}
			}
		default:
			r.warn(c.line, "<%s> is not known and left out", clip(c.name))
		}
	}
	if n.gpu != nil && e.child("nic") != nil {
		return e.errorf("%s has a <gpu> and a <nic>; each has a <pci> of its own", n.bus)
	}
	return nil
}

// other is a device that carries none of the data.
const other = ^Kind(0)

// kindOf follows the class: base class and subclass of the PCI code and ID
// assignment specification. What stands in the element wins, as in NCCL.
func (r *xmlReader) kindOf(e *element, n *pciNode) (Kind, error) {
	class, _ := e.attr("class")
	digits := strings.TrimPrefix(strings.ToLower(class), "0x")
	code, bad := strconv.ParseUint(digits, 16, 32)
	switch {
	case n.gpu != nil:
		return GPU, nil
	case e.child("nic") != nil:
		return NIC, nil
	case class == "" && e.child("pci") != nil:
		r.warn(e.line, "%s has no class; as devices stand in it, it is taken to be a bridge", n.bus)
		return Switch, nil
	case class == "":
		return other, nil
	case bad != nil || len(digits) > 6:
		return 0, e.attrErrorf("class", `class=%q of %s; write six hexadecimal digits, such as "0x060400"`, clip(class), n.bus)
	}
	switch code >> 16 { // base class
	case 0x02: // network controller
		return NIC, nil
	case 0x03, 0x12: // display controller, processing accelerator (AMD Instinct MI300)
		return GPU, nil
	}
	if code>>8 == 0x0604 { // PCI-to-PCI bridge
		return Switch, nil
	}
	return other, nil
}

// readLink reads speed and width of the link above a device; 0 is "not said".
func (r *xmlReader) readLink(e *element, bus string) (gen, width int, err error) {
	speed, _ := e.attr("link_speed")
	gen, ok := generation(speed)
	if !ok {
		return 0, 0, e.attrErrorf("link_speed", "link_speed=%q of %s: no PCIe has it; lanes run at %s GT/s", clip(speed), bus, speedList)
	}
	lanes, _ := e.attr("link_width")
	width, ok = laneCount(lanes)
	if !ok {
		return 0, 0, e.attrErrorf("link_width", "link_width=%q of %s: no PCIe has it; links have %s lanes", clip(lanes), bus, laneList)
	}
	return gen, width, nil
}

// Speeds and widths of PCIe, for messages.
const (
	speedList = "2.5, 5, 8, 16, 32 or 64"
	laneList  = "1, 2, 4, 8, 12 or 16"
)

// generation reads a speed as the kernel writes it, up to 5.6 ("16 GT/s") and since
// ("16.0 GT/s PCIe"). What it writes for links that it does not know is 0.
func generation(s string) (gen int, ok bool) {
	s = strings.TrimSpace(strings.TrimSuffix(s, "PCIe"))
	s = strings.TrimSpace(strings.TrimSuffix(s, "GT/s"))
	switch strings.TrimSuffix(s, ".0") {
	case "", "0", "Unknown", "Unknown speed":
		return 0, true
	case "2.5":
		return 1, true
	case "5":
		return 2, true
	case "8":
		return 3, true
	case "16":
		return 4, true
	case "32":
		return 5, true
	case "64":
		return 6, true
	}
	return 0, false
}

// laneCount reads a width. 0, 63 and 255 are what the kernel writes for links that it
// does not know.
func laneCount(s string) (lanes int, ok bool) {
	switch s {
	case "", "0", "63", "255":
		return 0, true
	case "1", "2", "4", "8", "12", "16":
		lanes, _ = strconv.Atoi(s)
		return lanes, true
	}
	return 0, false
}

// readGPU reads a <gpu>, if there is one.
func (r *xmlReader) readGPU(n *pciNode) (err error) {
	if n.gpu == nil {
		return nil
	}
	dev, bad := n.gpu.integer("dev", -1)
	if bad != nil {
		return bad
	}
	n.dev = dev
	if gdr, _ := n.gpu.attr("gdr"); gdr == "0" {
		n.noDirect = true
		r.noGDR = append(r.noGDR, "GPU "+n.bus)
	}
	for _, c := range n.gpu.children {
		switch c.name {
		case "nvlink", "xgmi":
			if bad := r.readPeer(n, c); bad != nil {
				return bad
			}
		case "c2c":
			if n.c2c, bad = readC2C(c); bad != nil {
				return bad
			}
		default:
			r.warn(c.line, "<%s> in a <gpu> is not known and left out", clip(c.name))
		}
	}
	return nil
}

// readC2C reads the link of a GPU with the CPU that it is packaged with: count times bw
// in MB/s. Data go over it rather than over PCIe.
func readC2C(e *element) (units.Rate, error) {
	count, err := e.integer("count", 1)
	if err != nil {
		return 0, err
	}
	bw, err := e.integer("bw", 0)
	switch {
	case err != nil:
		return 0, err
	case count < 1 || count > 1000:
		return 0, e.attrErrorf("count", "count=%d; a GPU has 1 to 1000 links with its CPU", count)
	case bw < 1 || bw > 1_000_000:
		return 0, e.attrErrorf("bw", "bw=%d MB/s; a link between a GPU and its CPU has 1 to 1000000", bw)
	}
	return units.Rate(count*bw) * 8 * units.Mbps, nil
}

// readNets reads the ports of a card. Speeds are in Mb/s.
func (r *xmlReader) readNets(n *pciNode) error {
	if len(n.nets) == 0 {
		n.ports = []netPart{{bus: n.bus, number: -1}}
	}
	for i, net := range n.nets {
		name, _ := net.attr("name")
		dev, bad := net.integer("dev", -1)
		if bad != nil {
			return bad
		}
		if i == 0 {
			n.name, n.dev = name, dev
		}
		n.dev = min(n.dev, dev)
		speed, bad := net.integer("speed", 0)
		if bad != nil {
			return bad
		}
		if speed > 10_000_000 {
			return net.attrErrorf("speed", "speed=%d Mb/s; no port has more than 10 Tb/s (200 Gb/s is 200000)", speed)
		}
		if speed <= 0 {
			speed = 0
			r.warn(net.line, "the speed of port %s is missing; it is taken to be no limit (NCCL takes 10 Gb/s)", cmp.Or(clip(name), n.bus))
		}
		gdr, _ := net.attr("gdr")
		n.ports = append(n.ports, netPart{Net{Name: name, Rate: units.Rate(speed) * units.Mbps, NoDirect: gdr == "0"}, n.bus, dev})
		if label := cmp.Or(name, n.bus); gdr == "0" && !slices.Contains(r.noGDR, label) {
			r.noGDR = append(r.noGDR, label)
		}
	}
	return nil
}

// resolveLinks gives a speed and a width to links without: a bridge is as fast and as
// wide as the best below it, a device as the bridge above; else what NCCL takes.
func (r *xmlReader) resolveLinks(*element) error {
	for i := range r.nodes {
		r.resolve(i, "link_speed", func(n *pciNode) *int { return &n.gen }, 3, speedText)
		r.resolve(i, "link_width", func(n *pciNode) *int { return &n.width }, 16, func(w int) string { return fmt.Sprintf("x%d", w) })
	}
	return nil
}

// resolve fills one property of a node's link. Parents come before what is below them.
func (r *xmlReader) resolve(i int, name string, of func(*pciNode) *int, def int, text func(int) string) {
	n := &r.nodes[i]
	if *of(n) != 0 {
		return
	}
	v, from := r.bestBelow(i, of), "the best below it"
	if v == 0 && n.parent >= 0 {
		v, from = *of(&r.nodes[n.parent]), "as the bridge above it"
	}
	if v == 0 {
		v, from = def, "as NCCL does"
	}
	*of(n) = v
	said, _ := n.el.attr(name)
	r.warn(n.el.line, "%s=%q of %s says nothing; %s is assumed, %s", name, clip(said), n.label(), text(v), from)
}

// bestBelow is the largest value among all nodes below one, which follow it.
func (r *xmlReader) bestBelow(i int, of func(*pciNode) *int) int {
	best := 0
	for j := i + 1; j < len(r.nodes) && r.below(j, i); j++ {
		best = max(best, *of(&r.nodes[j]))
	}
	return best
}

// below reports whether node j hangs below node i.
func (r *xmlReader) below(j, i int) bool {
	for j > i {
		j = r.nodes[j].parent
	}
	return j == i
}

// speedText writes the speed of a generation's lanes.
func speedText(gen int) string {
	return [...]string{"", "2.5", "5", "8", "16", "32", "64"}[gen] + " GT/s"
}

// tree builds the tree from what was read.
func (r *xmlReader) tree(name string) *Tree {
	p := &parts{warnings: r.warnings}
	for i := range r.cpus {
		p.cpus = append(p.cpus, r.cpus[i].part())
	}
	into := r.flatten()
	at := make([]int, len(r.nodes)) // index in p.devices
	said := false
	for i := range r.nodes {
		n := &r.nodes[i]
		if into[i] >= 0 {
			at[i] = at[into[i]]
			continue
		}
		d := part{kind: n.kind, name: n.name, bus: n.bus, cpu: n.cpu, parent: -1, gen: n.gen, width: n.width,
			ports: n.ports, number: n.dev, c2c: n.c2c, noDirect: n.noDirect, line: n.el.line}
		if n.parent >= 0 {
			d.parent = at[n.parent]
		}
		if n.kind == GPU {
			d.chip = chipOf(n)
			said = said || n.gpu != nil
		}
		at[i] = len(p.devices)
		p.devices = append(p.devices, d)
	}
	for _, l := range r.peers {
		b := l.b
		if b >= 0 {
			b = at[b]
		}
		p.nvlinks = append(p.nvlinks, nvPart{at[l.a], b, l.count, l.el.line})
	}
	if len(r.noGDR) > 0 {
		p.warn(0, "gdr=0 of %s: when the file was written, the driver that lets cards reach GPU memory was missing; data go through the memory of the host", strings.Join(r.noGDR, ", "))
	}
	if !said {
		p.assumeNVSwitch()
	}
	p.warnNoNVLinks()
	return p.tree(name)
}

// part takes what the file says of a processor; what is no number is not said.
func (c *cpuNode) part() cpuPart {
	p := cpuPart{numa: c.numa, line: c.el.line}
	p.arch, _ = c.el.attr("arch")
	p.maker, _ = c.el.attr("vendor")
	family, err := c.el.integer("familyid", 0)
	model, err2 := c.el.integer("modelid", 0)
	if err == nil && err2 == nil {
		p.family, p.model = int(family), int(model)
	}
	return p
}

// chipOf says which GPU one is: sm is NVIDIA's compute capability, gcn AMD's target;
// without a <gpu> by vendor and device.
func chipOf(n *pciNode) string {
	if n.gpu == nil {
		vendor, _ := n.el.attr("vendor")
		device, _ := n.el.attr("device")
		return chipByID(strings.ToLower(vendor), strings.ToLower(device))
	}
	if gcn, _ := n.gpu.attr("gcn"); gcn != "" {
		return "gfx" + strings.TrimPrefix(gcn, "gfx")
	}
	if sm, _ := n.gpu.attr("sm"); sm != "" {
		return "sm" + sm
	}
	return ""
}
