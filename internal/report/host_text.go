package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
)

// Text writes the server for reading: its tree, the class of every GPU with every card,
// which card each GPU should use, and what the ways allow.
func (h *Host) Text(w io.Writer, opt TextOptions) error {
	t := newText(&record.Run{Notes: h.Notes}, opt)
	h.head(t)
	h.draw(t)
	h.classes(t)
	h.cards(t)
	h.ways(t)
	h.hops(t)
	if opt.Verbose {
		t.section()
		for _, n := range h.Notes { // sources are too long for a table
			t.prose(fmt.Sprintf("%s %s: %s", n.Key, n.Value, n.Source), plain)
		}
	}
	return t.end(w)
}

// head counts the devices and repeats the warnings.
func (h *Host) head(t *text) {
	count := [server.NVSwitch + 1]int64{}
	for i := range h.tree.Devices {
		count[h.tree.Devices[i].Kind]++
	}
	parts := []string{}
	for _, k := range []struct {
		kind      server.Kind
		one, more string
	}{{server.GPU, "GPU", "GPUs"}, {server.NIC, "network card", "network cards"}, {server.Switch, "PCIe switch",
		"PCIe switches"},
		{server.Root, "NUMA node", "NUMA nodes"}} {
		if count[k.kind] > 0 {
			parts = append(parts, numbered(count[k.kind], k.one, k.more))
		}
	}
	acs := ""
	if h.ACS {
		acs = "; ACS redirects to the root complex"
	}
	if h.tree.Assumed != "" {
		parts[0] += " (" + h.tree.Assumed + ")"
	}
	t.prose(h.Source+": "+strings.Join(parts, ", ")+acs, t.paint.bold)
	for i, w := range h.Warnings {
		if i == listedOdd && !t.opt.Verbose {
			t.prose(fmt.Sprintf("and %s more: --verbose", numbered(int64(len(h.Warnings)-i), "warning", "warnings")),
				t.paint.warn)
			break
		}
		t.prose("warning: "+server.Warning(w).In(h.Source), t.paint.warn)
	}
}

// branches are the lines of a drawn tree: to a child that others follow, to the last,
// and what goes on below either.
type branches struct{ child, last, bar, blank string }

func (t *text) branches() branches {
	if t.opt.Unicode {
		return branches{"├─ ", "└─ ", "│  ", "   "}
	}
	return branches{"|- ", "`- ", "|  ", "   "}
}

// draw draws the tree below every root complex, and names what joins them.
func (h *Host) draw(t *text) {
	for i := range h.tree.Devices {
		if h.tree.Devices[i].Kind == server.Root {
			t.section()
			h.drawRoot(t, i)
		}
	}
	between, nv := h.joints(server.Interconnect), h.nvlinks()
	if len(between)+len(nv) > 0 {
		t.section()
	}
	for _, s := range append(between, nv...) {
		t.prose(s, plain)
	}
}

func (h *Host) drawRoot(t *text, root int) {
	d := &h.tree.Devices[root]
	memory := ""
	if m := h.tree.DRAMOf(root); m >= 0 {
		memory = fmt.Sprintf(", %s %s", h.tree.Devices[m].Name, perSecond(h.tree.Devices[m].Memory))
	}
	t.line(t.paint.bold(d.Name) + fmt.Sprintf("  NUMA node %d%s", d.NUMA, memory))
	h.drawBelow(t, root, "")
}

// drawBelow draws the links that lead down from a device.
func (h *Host) drawBelow(t *text, dev int, indent string) {
	lines := t.branches()
	down := []int{}
	for i := range h.tree.Links {
		l := &h.tree.Links[i]
		packaged := l.Kind == server.Interconnect && h.tree.Devices[l.B].Kind == server.GPU
		if l.A == dev && (l.Kind == server.PCIe || packaged) {
			down = append(down, i)
		}
	}
	for k, i := range down {
		branch, below := lines.child, lines.bar
		if k == len(down)-1 {
			branch, below = lines.last, lines.blank
		}
		to := h.tree.Links[i].B
		t.line(indent + branch + t.paint.bold(h.tree.Devices[to].Name) + "  " + h.describe(i))
		h.drawBelow(t, to, indent+below)
	}
}

// describe says what a device is and what its link upwards is.
func (h *Host) describe(link int) string {
	l := &h.tree.Links[link]
	d := &h.tree.Devices[l.B]
	parts := []string{perSecond(l.Rate) + " chip to chip"}
	if l.Kind == server.PCIe {
		parts[0] = l.PCIe.String()
	}
	if d.Memory > 0 {
		parts = append(parts, "HBM "+perSecond(d.Memory))
	}
	if d.Kind == server.NIC {
		parts = append(parts, h.portsText(l.B))
	}
	alias := d.Alias
	if d.Kind == server.NIC {
		alias = h.portNames(l.B)
	}
	for _, s := range []string{alias, d.BusID} {
		if s != "" && s != d.Name {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ", ")
}

// portsText writes the line rates of a card's ports.
func (h *Host) portsText(card int) string {
	var rates []string
	for _, n := range h.tree.PortsOf(card) {
		if h.tree.Nets[n].Rate == 0 {
			return "port rate not known"
		}
		rates = append(rates, metrics.FormatRate(h.tree.Nets[n].Rate))
	}
	if all := slices.Compact(slices.Clone(rates)); len(rates) > 1 && len(all) == 1 {
		return fmt.Sprintf("%d x %s", len(rates), all[0])
	}
	return strings.Join(rates, " and ")
}

// portNames are what the system calls a card's ports.
func (h *Host) portNames(card int) string {
	var names []string
	for _, n := range h.tree.PortsOf(card) {
		if name := h.tree.Nets[n].Name; name != "" {
			names = append(names, name)
		}
	}
	return cmp.Or(strings.Join(names, " and "), h.tree.Devices[card].Alias)
}

// perSecond writes a rate in bytes.
func perSecond(r units.Rate) string { return metrics.FormatBytes(int64(r/8)) + "/s" }

// joints groups the links between root complexes by rate.
func (h *Host) joints(kind server.LinkKind) (out []string) {
	var pairs []string
	rate := units.Rate(0)
	for i := range h.tree.Links {
		l := &h.tree.Links[i]
		if l.Kind == kind && h.tree.Devices[l.A].Kind == server.Root && h.tree.Devices[l.B].Kind == server.Root {
			pairs, rate = append(pairs, h.tree.LinkName(i)), l.Rate
		}
	}
	switch {
	case len(pairs) == 0:
		return nil
	case len(pairs) > 3:
		return []string{fmt.Sprintf("between NUMA nodes: all joined to all, %s each way", perSecond(rate))}
	}
	return []string{fmt.Sprintf("between NUMA nodes: %s, %s each way", strings.Join(pairs, ", "), perSecond(rate))}
}

// nvlinks lists the links between GPUs: per NVSwitch its GPUs, or per GPU its peers.
func (h *Host) nvlinks() (out []string) {
	t := h.tree
	for d := range t.Devices {
		hub := t.Devices[d].Kind == server.NVSwitch
		var peers, counted []string
		count, rate, same := 0, units.Rate(0), true
		for i := range t.Links {
			l := &t.Links[i]
			if l.Kind != server.NVLink || l.A != d && l.B != d || !hub && t.Devices[l.A].Kind == server.NVSwitch {
				continue
			}
			same = same && (count == 0 || count == l.Count)
			count, rate = l.Count, l.Rate
			peer := t.Devices[l.A+l.B-d].Name
			peers, counted = append(peers, peer), append(counted, fmt.Sprintf("%s x%d", peer, l.Count))
		}
		switch {
		case len(peers) == 0:
		case hub && same:
			out = append(
				out,
				fmt.Sprintf(
					"%s: %s with %s each, %s each way",
					t.Devices[d].Name,
					span(peers),
					numbered(int64(count), "NVLink", "NVLinks"),
					perSecond(rate),
				),
			)
		default:
			out = append(
				out,
				fmt.Sprintf(
					"%s to others: %s, %s each way per link",
					t.Devices[d].Name,
					strings.Join(counted, ", "),
					perSecond(rate/units.Rate(count)),
				),
			)
		}
	}
	return out
}

// span shortens a run of names.
func span(names []string) string {
	if len(names) < 3 {
		return strings.Join(names, " and ")
	}
	return names[0] + " to " + names[len(names)-1]
}

// classes prints the class of every GPU with every card, in blocks that fit.
func (h *Host) classes(t *text) {
	gpus, nics := h.tree.GPUs(), h.tree.NICs()
	if len(nics) == 0 && len(gpus) > 1 {
		nics = gpus // how near they are to each other
	}
	if len(gpus) == 0 || len(nics) == 0 {
		return
	}
	width := len(gap) + len("NODE")
	for _, n := range nics {
		width = max(width, len(gap)+len(h.tree.Devices[n].Name))
	}
	first := 0
	for _, g := range gpus {
		first = max(first, len(h.tree.Devices[g].Name))
	}
	block := max((t.width-first)/width, 1)
	for from := 0; from < len(nics); from += block {
		t.section()
		tab := &table{columns: []column{{title: "Class"}}}
		some := nics[from:min(from+block, len(nics))]
		for _, n := range some {
			tab.columns = append(tab.columns, column{title: h.tree.Devices[n].Name})
		}
		for _, g := range gpus {
			row := []string{h.tree.Devices[g].Name}
			for _, n := range some {
				row = append(row, h.tree.Class(g, n).String())
			}
			tab.add(row...)
		}
		t.table(tab)
	}
}

// find returns the way between a memory and a card.
func (h *Host) find(memory, card string) *HostPair {
	for i := range h.Pairs {
		if p := &h.Pairs[i]; p.Memory == memory && p.Card == card {
			return p
		}
	}
	return nil
}

// flowColumns are the columns that flowCells fills.
func flowColumns(first ...column) []column {
	return append(
		first,
		column{title: "Send\nGB/s", right: true},
		column{title: "\nset by"},
		column{title: "64 B\nafter", right: true},
		column{
			title: "Receive\nGB/s",
			right: true,
		},
		column{title: "\nset by", drop: 1},
		column{title: "64 B\nafter", right: true},
		column{title: "Both ways\nGB/s each", right: true, drop: 2},
	)
}

func flowCells(p *HostPair, first ...string) []string {
	return append(first, gigabytes(p.Send.Rate), p.Send.Limit, metrics.FormatTime(units.Time(p.Send.Latency)),
		gigabytes(p.Receive.Rate), p.Receive.Limit, metrics.FormatTime(units.Time(p.Receive.Latency)), gigabytes(p.Duplex))
}

// gigabytes writes a rate of bit/s in GB/s with three significant digits.
func gigabytes(bps int64) string {
	g := float64(bps) / 8e9
	switch {
	case g >= 99.95:
		return fmt.Sprintf("%.0f", g)
	case g >= 9.995:
		return fmt.Sprintf("%.1f", g)
	}
	return fmt.Sprintf("%.2f", g)
}

// cards says which card each GPU should use, and what that gives.
func (h *Host) cards(t *text) {
	if len(h.Cards) == 0 {
		return
	}
	t.section()
	tab := &table{columns: flowColumns(column{title: "GPU"}, column{title: "Card"}, column{title: "Class"})}
	used := map[string]bool{}
	for _, c := range h.Cards {
		used[c.Card] = true
		card, net := c.Card, h.tree.Nets[c.Port-1]
		if net.Name != "" && len(h.tree.PortsOf(net.Card)) > 1 {
			card += " " + net.Name
		}
		tab.add(flowCells(h.find(c.GPU, c.Card), c.GPU, card, c.Class)...)
	}
	t.table(tab)
	var idle []string
	for _, n := range h.tree.NICs() {
		if name := h.tree.Devices[n].Name; !used[name] {
			idle = append(idle, name)
		}
	}
	if len(idle) > 0 {
		t.prose(fmt.Sprintf("No GPU is to use %s.", strings.Join(idle, ", ")), plain)
	}
	h.staged(t)
	var far []string
	for _, c := range h.Cards {
		if c.Class == server.SYS.String() {
			far = append(far, c.GPU)
		}
	}
	if len(far) > 0 {
		t.prose(
			fmt.Sprintf(
				"No card is on the NUMA node of %s: all that they send and receive crosses the interconnect.",
				strings.Join(far, ", "),
			),
			t.paint.warn,
		)
	}
}

// staged lists the GPUs whose data go through the memory of the host on their way to a
// card, and why. What other cards would do is in the JSON.
func (h *Host) staged(t *text) {
	tab := &table{columns: []column{{title: "Staged"}, {title: "Card"}, {title: "Why"}}}
	for _, c := range h.Cards {
		for _, s := range h.Staged {
			if s.GPU == c.GPU && s.Port == c.Port {
				tab.add(s.GPU, s.Card, s.Why)
			}
		}
	}
	if len(tab.rows) > 0 {
		t.section()
		t.prose("NCCL takes what these GPUs send and receive through the memory of the host:", plain)
		t.table(tab)
	}
}

// kinds gathers pairs whose ways allow the same: the first of each, and how many.
func (h *Host) kinds(gpu bool) (first []*HostPair, count []int64) {
	for i := range h.Pairs {
		p := &h.Pairs[i]
		if p.gpu != gpu {
			continue
		}
		k := 0
		for k < len(first) && !alike(first[k], p) {
			k++
		}
		if k == len(first) {
			first, count = append(first, p), append(count, 0)
		}
		count[k]++
	}
	return first, count
}

func alike(a, b *HostPair) bool {
	same := func(f, g HostFlow) bool { return f.Rate == g.Rate && f.Latency == g.Latency }
	return a.Class == b.Class && same(a.Send, b.Send) && same(a.Receive, b.Receive) && a.Duplex == b.Duplex
}

// ways lists the kinds of ways, or with Verbose every way.
func (h *Host) ways(t *text) {
	if len(h.Pairs) == 0 {
		return
	}
	t.section()
	t.prose(
		"GPUDirect with nothing else on the way, payload. Send: the card reads memory; receive: it writes.",
		t.paint.dim,
	)
	if t.opt.Verbose {
		tab := &table{columns: flowColumns(column{title: "Memory"}, column{title: "Card"}, column{title: "Class"})}
		for i := range h.Pairs {
			p := &h.Pairs[i]
			tab.add(flowCells(p, p.Memory, p.Card, p.Class)...)
		}
		t.table(tab)
		return
	}
	tab := &table{columns: flowColumns(column{title: "Ways"}, column{title: "Class"}, column{title: "such as"})}
	for _, gpu := range [2]bool{true, false} {
		first, count := h.kinds(gpu)
		for k, p := range first {
			tab.add(flowCells(p, metrics.FormatCount(count[k]), p.Class, p.Memory+" "+p.Card)...)
		}
	}
	t.table(tab)
}

// hops shows where rate and latency of a way come from: of the first GPU with its card,
// or the first memory; with Verbose of every kind of way.
func (h *Host) hops(t *text) {
	var show []*HostPair
	for _, gpu := range [2]bool{true, false} {
		first, _ := h.kinds(gpu)
		show = append(show, first...)
	}
	if len(show) == 0 {
		return
	}
	if !t.opt.Verbose {
		show = show[:1]
		if len(h.Cards) > 0 {
			show[0] = h.find(h.Cards[0].GPU, h.Cards[0].Card)
		}
	}
	for _, p := range show {
		t.section()
		h.hopTable(t, p)
	}
}

func (h *Host) hopTable(t *text, p *HostPair) {
	t.prose(fmt.Sprintf("%s to %s (%s), what each hop allows and adds to 64 B:", p.Memory, p.Card, p.Class), t.paint.bold)
	tab := &table{
		columns: []column{
			{title: "Hop"},
			{title: "What"},
			{title: "Send GB/s", right: true},
			{title: "adds", right: true},
			{title: "Receive GB/s", right: true},
			{title: "adds", right: true},
		},
	}
	rate := func(bps int64) string {
		if bps == 0 {
			return ""
		}
		return gigabytes(bps)
	}
	adds := func(ps int64) string {
		if ps == 0 {
			return ""
		}
		return metrics.FormatTime(units.Time(ps))
	}
	for _, x := range p.Hops {
		tab.add(x.Hop, x.What, rate(x.SendRate), adds(x.Send), rate(x.ReceiveRate), adds(x.Receive))
	}
	tab.add(
		"in all",
		"",
		gigabytes(p.Send.Rate),
		metrics.FormatTime(units.Time(p.Send.Latency)),
		gigabytes(p.Receive.Rate),
		metrics.FormatTime(units.Time(p.Receive.Latency)),
	)
	t.table(tab)
}
