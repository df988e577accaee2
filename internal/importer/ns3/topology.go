package ns3

import (
	"fmt"
	"strconv"

	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
)

// counts are the first row of a topology. SimAI's has six words: nodes, GPUs per server,
// NVSwitches, switches, links, kind of GPU; its nodes are GPUs, each with a card of its own.
type counts struct{ nodes, perServer, nvswitches, switches, links int64 }

// Kinds of nodes of a topology file.
const (
	hostNode uint8 = iota
	switchNode
	nvswitchNode
)

// topo is a topology file.
type topo struct {
	*config
	at        pos // the first word
	kinds     []uint8
	links     []*node
	ends      []int // links by node
	perServer int64 // GPUs of a server whose NVLink was left out; 0: none
}

// read reads "nodes switches links", the switch ids, and a row per link: src dst rate delay
// error_rate. SimAI's NVSwitches, which stand before its switches (its common.h), keep their
// numbers without their links.
func (t *topo) read(f *importer.Rows) {
	errorRate := t.Decimal(t.word("ERROR_RATE_PER_LINK", "0"), "ERROR_RATE_PER_LINK", 1)
	n := t.readCounts(f)
	t.readSwitches(f, n)
	if t.Err != nil {
		return
	}
	t.ends = make([]int, n.nodes)
	cut := t.linkDown()
	for i := int64(0); i < n.links && t.Err == nil; i++ {
		t.readLink(f, errorRate, cut)
	}
	if t.Err == nil && cut.after > 0 && !cut.found {
		t.Fail(cut.at, "LINK_DOWN: there is no link between %d and %d; name a link of the topology", cut.a, cut.b)
	}
	t.finish(f, "links", int(n.links))
	t.sayDualHomed()
	if n.perServer > 1 && n.nvswitches > 0 {
		t.perServer = n.perServer
		t.Warn(fmt.Sprintf("NVSwitches and NVLink are left out: flows run from card to card, and within a server "+
			"of %d GPUs none can", n.perServer))
	}
}

func (t *topo) readCounts(f *importer.Rows) (n counts) {
	head := f.Row("the counts of nodes, switches and links", 3, 6)
	if head == nil {
		return n
	}
	t.at = head[0].Pos
	n.nodes = t.Number(head[0], "node count", 2, topology.MaxNodes)
	rest := head[1:]
	if len(head) == 6 {
		n.perServer = t.Number(head[1], "count of GPUs per server", 1, n.nodes)
		n.nvswitches = t.Number(head[2], "NVSwitch count", 0, n.nodes)
		rest = head[3:]
	}
	n.switches = t.Number(rest[0], "switch count", 0, n.nodes)
	n.links = t.Number(rest[1], "link count", 1, 1<<24)
	return n
}

// readSwitches reads the ids of the NVSwitches, then of the switches, which may fill several
// rows.
func (t *topo) readSwitches(f *importer.Rows, n counts) {
	if t.Err != nil {
		return
	}
	t.kinds = make([]uint8, n.nodes)
	all := n.nvswitches + n.switches
	for got := int64(0); got < all && t.Err == nil; {
		row, ok := f.Peek()
		if !ok {
			t.Fail(f.End(), "the file ends after %d of %d switch ids; add the rest", got, all)
			return
		}
		if shortOfSwitches(row) {
			t.Warn(fmt.Sprintf("%s:%d: the first row announces %d switches, and %d stand here; the others are taken for hosts",
				f.File, row[0].Pos.Line, all, got))
			return
		}
		f.Take()
		for _, w := range row {
			id := t.Number(w, "switch id", 0, n.nodes-1)
			if t.Err == nil && (t.kinds[id] != hostNode || got == all) {
				t.Fail(w.Pos, "switch id %d is one too many or stands twice; the first row announces %d switches", id, all)
			}
			if t.Err != nil {
				return
			}
			t.kinds[id] = switchNode
			if got < n.nvswitches {
				t.kinds[id] = nvswitchNode
			}
			got++
		}
	}
}

// cut is a link that fails.
type cut struct {
	after int64 // microseconds from 2 s; 0: none
	a, b  int64
	at    pos
	found bool
}

// linkDown reads "us_after_2s nodeA nodeB"; time 0 means none.
func (t *topo) linkDown() *cut {
	w := t.keys["LINK_DOWN"]
	if t.Err != nil || len(w) != 3 {
		return new(cut)
	}
	const longest = 1 << 40 // microseconds
	hi := int64(len(t.kinds)) - 1
	return &cut{after: t.Number(w[0], "LINK_DOWN time", 0, longest), a: t.Number(w[1], "LINK_DOWN node", 0, hi),
		b: t.Number(w[2], "LINK_DOWN node", 0, hi), at: w[1].Pos}
}

func (t *topo) readLink(f *importer.Rows, errorRate float64, cut *cut) {
	w := f.Row("a link (src dst rate delay error_rate)", 5)
	if w == nil {
		return
	}
	last := int64(len(t.kinds)) - 1
	a, b := t.Number(w[0], "link end", 0, last), t.Number(w[1], "link end", 0, last)
	rate, bad := Rate(w[2], "link rate")
	t.Keep(bad)
	delay, err := units.ParseTime(w[3].Text)
	if err != nil {
		t.Fail(w[3].Pos, "link delay: %v", err)
	}
	loss := t.Decimal(w[4], "error rate", 1)
	if loss == 0 {
		loss = errorRate
	}
	if t.Err != nil || t.kinds[a] == nvswitchNode || t.kinds[b] == nvswitchNode {
		return
	}
	t.ends[a]++
	t.ends[b]++
	l := &node{Kind: tree.Mapping, Pos: w[0].Pos}
	ends := &node{Kind: tree.Sequence, Pos: w[0].Pos, Items: []*node{w[0].At(t.name(a)), w[1].At(t.name(b))}}
	l.Put("between", w[0].Pos, ends)
	l.Put("rate", w[2].Pos, w[2].At(rate.String()))
	l.Put("delay", w[3].Pos, w[3].At(delay.String()))
	if loss > 0 {
		l.Put("loss", w[4].Pos, w[4].At(strconv.FormatFloat(loss, 'f', -1, 64)))
	}
	if cut.after > 0 && (a == cut.a && b == cut.b || a == cut.b && b == cut.a) {
		down := word{Text: (2*units.Second + units.Time(cut.after)*units.Microsecond).String(), Pos: cut.at}
		l.Put("down_at", cut.at, down.At(down.Text))
		cut.found = true
	}
	t.links = append(t.links, l)
}

// name is that of a node: h and its number of a host, s and its number of a switch.
func (t *topo) name(id int64) string {
	if t.kinds[id] == hostNode {
		return "h" + strconv.FormatInt(id, 10)
	}
	return "s" + strconv.FormatInt(id, 10)
}

// tree writes the topology node by node and link by link. The order of the nodes is that of
// their numbers.
func (t *topo) tree() *node {
	var hosts, switches, order []string
	sorted := true // hosts, then switches
	for id, kind := range t.kinds {
		name := t.name(int64(id))
		order = append(order, name)
		if kind == hostNode {
			hosts = append(hosts, name)
			sorted = sorted && len(switches) == 0
		} else {
			switches = append(switches, name)
		}
	}
	n := &node{Kind: tree.Mapping, Pos: t.at}
	n.Add("hosts", tree.Texts(hosts))
	n.Add("switches", tree.Texts(switches))
	if !sorted {
		n.Add("order", tree.Texts(order))
	}
	n.Add("links", &node{Kind: tree.Sequence, Pos: t.at, Items: t.links})
	return n
}
