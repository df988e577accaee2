package scenario

import (
	"math"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// ns3Rows reads a file of whitespace-separated rows, one at a time, for there may be
// millions. Blank lines are skipped; each row keeps its line and each word its column.
type ns3Rows struct {
	d    *decoder
	file string
	rest string // what was not read yet
	line int    // of what was read last
	last int    // the line of the row that was taken last
}

type ns3Row struct {
	line  int
	words []ns3Word
}

type ns3Word struct {
	text string
	pos  pos
}

// maxRowWords bounds the words of a row: the longest lists all switches of a topology.
const maxRowWords = topology.MaxNodes

// peek is the next row that is not empty, whose words nobody has taken; ok is false at the
// end of the file.
func (r *ns3Rows) peek() (words []ns3Word, ok bool) {
	for r.rest != "" && r.d.err == nil {
		text, rest, _ := strings.Cut(r.rest, "\n")
		if words = splitWords(r.file, r.line+1, text, maxRowWords); len(words) > maxRowWords {
			r.d.fail(words[maxRowWords].pos, "more than %d words in a line; no row has so many", maxRowWords)
			return nil, false
		}
		if len(words) > 0 {
			return words, true
		}
		r.rest, r.line = rest, r.line+1
	}
	return nil, false
}

// take is peek and goes on.
func (r *ns3Rows) take() (words []ns3Word, ok bool) {
	if words, ok = r.peek(); ok {
		_, r.rest, _ = strings.Cut(r.rest, "\n")
		r.line++
		r.last = r.line
	}
	return words, ok
}

// splitRows reads all rows of a text.
func splitRows(file, src string) []ns3Row {
	var rows []ns3Row
	line := 0
	for text := range strings.SplitSeq(src, "\n") {
		line++
		if words := splitWords(file, line, text, len(text)); len(words) > 0 {
			rows = append(rows, ns3Row{line, words})
		}
	}
	return rows
}

// splitWords splits a line into words, at most one more than most.
func splitWords(file string, line int, text string, most int) []ns3Word {
	var words []ns3Word
	for i := 0; i < len(text) && len(words) <= most; {
		if isSpace(text[i]) {
			i++
			continue
		}
		j := i
		for j < len(text) && !isSpace(text[j]) {
			j++
		}
		words = append(words, ns3Word{text[i:j], pos{file, line, i + 1}})
		i = j
	}
	return words
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// row returns the next row, which must have one of the given numbers of words.
func (r *ns3Rows) row(what string, counts ...int) []ns3Word {
	if r.d.err != nil {
		return nil
	}
	words, ok := r.take()
	if !ok {
		r.d.fail(r.end(), "the file ends where %s should stand; add it, or lower the count above", what)
		return nil
	}
	for _, n := range counts {
		if len(words) == n {
			return words
		}
	}
	r.d.fail(words[0].pos, "%d words where %s should stand; give %d", len(words), what, counts[0])
	return nil
}

// end is the place just after the row that was taken last.
func (r *ns3Rows) end() pos { return pos{r.file, r.last + 1, 1} }

// finishRows warns of what stands beyond the announced count, which the simulators do not read:
// further rows, or prose.
func (r *resolver) finishRows(f *ns3Rows, what string, n int) {
	if words, ok := f.peek(); ok {
		r.warn(f.file, "%s:%d: what stands behind the last of %d %s is not read; the first row counts them",
			f.file, words[0].pos.line, n, what)
	}
}

// number parses a whole number within a range.
func (d *decoder) number(w ns3Word, what string, lo, hi int64) int64 {
	if d.err != nil {
		return lo
	}
	v, err := strconv.ParseInt(w.text, 10, 64)
	if err != nil || v < lo || v > hi {
		d.fail(w.pos, "%s %q is not a whole number from %d to %d", what, w.text, lo, hi)
		return lo
	}
	return v
}

// decimal parses a number of at least zero.
func (d *decoder) decimal(w ns3Word, what string, hi float64) float64 {
	if d.err != nil {
		return 0
	}
	v, err := strconv.ParseFloat(w.text, 64)
	if err != nil || !(v >= 0 && v <= hi) || math.IsInf(v, 0) {
		d.fail(w.pos, "%s %q is not a number from 0 to %g", what, w.text, hi)
		return 0
	}
	return v
}

// seconds parses a time in seconds exactly and truncates it to nanoseconds,
// the resolution of these simulators.
func (d *decoder) seconds(w ns3Word, what string) units.Time {
	if d.err != nil {
		return 0
	}
	whole, frac, _ := strings.Cut(w.text, ".")
	if len(frac) > 9 && strings.Trim(frac, "0123456789") == "" {
		frac = frac[:9]
	}
	text := whole
	if frac != "" {
		text += "." + frac
	}
	t, err := units.ParseTime(text + "s")
	if err != nil {
		d.fail(w.pos, "%s %q is not a time in seconds from 0 to 9223372, such as 2.000001", what, w.text)
	}
	return t
}

// ns3Rate parses a data rate, in which these files write k for kilo.
func (d *decoder) ns3Rate(w ns3Word, what string) units.Rate {
	if d.err != nil {
		return 0
	}
	text := w.text
	for _, suffix := range []string{"kbps", "kb/s"} {
		if num, ok := strings.CutSuffix(text, suffix); ok {
			text = num + "Kbps"
		}
	}
	v, err := units.ParseRate(text)
	switch {
	case err != nil:
		d.fail(w.pos, "%s: %v", what, err)
	case v == 0:
		d.fail(w.pos, "%s is 0; give a positive rate such as 100Gbps", what)
	}
	return v
}

// ns3Counts are the first row of a topology. SimAI's has six words: nodes, GPUs per server,
// NVSwitches, switches, links, kind of GPU; its nodes are GPUs, each with a card of its own.
type ns3Counts struct{ nodes, perServer, nvswitches, switches, links int64 }

func (r *resolver) readNS3Counts(f *ns3Rows) (n ns3Counts, at pos) {
	head := f.row("the counts of nodes, switches and links", 3, 6)
	if head == nil {
		return n, at
	}
	n.nodes = r.d.number(head[0], "node count", 2, topology.MaxNodes)
	rest := head[1:]
	if len(head) == 6 {
		n.perServer = r.d.number(head[1], "count of GPUs per server", 1, n.nodes)
		n.nvswitches = r.d.number(head[2], "NVSwitch count", 0, n.nodes)
		rest = head[3:]
	}
	n.switches = r.d.number(rest[0], "switch count", 0, n.nodes)
	n.links = r.d.number(rest[1], "link count", 1, 1<<24)
	return n, head[0].pos
}

// Kinds of nodes of a topology file.
const (
	ns3HostNode uint8 = iota
	ns3SwitchNode
	ns3NVSwitchNode
)

// readNS3Topology reads "nodes switches links", the switch ids, and a row per
// link: src dst rate delay error_rate. Node ids become node indices. SimAI's NVSwitches,
// which stand before its switches (its common.h), keep their numbers without their links.
func (r *resolver) readNS3Topology(f *ns3Rows, errorRate float64) {
	n, at := r.readNS3Counts(f)
	kinds := r.readSwitchIDs(f, n)
	g := new(topology.Graph)
	for id, kind := range kinds {
		if r.d.err != nil {
			return
		}
		err := error(nil)
		if kind == ns3HostNode {
			_, err = g.AddHost("h" + strconv.Itoa(id))
		} else { // an NVSwitch without links keeps the numbers of the others
			_, err = g.AddSwitch("s"+strconv.Itoa(id), 0)
		}
		if err != nil {
			r.d.fail(at, "%v", err)
		}
	}
	for i := int64(0); i < n.links && r.d.err == nil; i++ {
		r.readNS3Link(f, g, kinds, errorRate)
	}
	r.finishRows(f, "links", int(n.links))
	if n.perServer > 1 && n.nvswitches > 0 {
		r.perServer = int(n.perServer)
		r.warn("nvlink", "NVSwitches and NVLink are left out: flows run from card to card, and within a server "+
			"of %d GPUs none can", n.perServer)
	}
	if r.d.err != nil {
		return
	}
	err := g.Finish()
	r.graph(at, g, err)
}

// readSwitchIDs reads the ids of the NVSwitches, then of the switches, which may fill several
// rows, and returns what each node is.
func (r *resolver) readSwitchIDs(f *ns3Rows, n ns3Counts) []uint8 {
	if r.d.err != nil {
		return nil
	}
	kinds := make([]uint8, n.nodes)
	all := n.nvswitches + n.switches
	for got := int64(0); got < all && r.d.err == nil; {
		row, ok := f.take()
		if !ok {
			r.d.fail(f.end(), "the file ends after %d of %d switch ids; add the rest", got, all)
			return kinds
		}
		for _, w := range row {
			id := r.d.number(w, "switch id", 0, n.nodes-1)
			if r.d.err == nil && (kinds[id] != ns3HostNode || got == all) {
				r.d.fail(w.pos, "switch id %d is one too many or stands twice; the first row announces %d switches", id, all)
			}
			if r.d.err != nil {
				return kinds
			}
			kinds[id] = ns3SwitchNode
			if got < n.nvswitches {
				kinds[id] = ns3NVSwitchNode
			}
			got++
		}
	}
	return kinds
}

func (r *resolver) readNS3Link(f *ns3Rows, g *topology.Graph, kinds []uint8, errorRate float64) {
	w := f.row("a link (src dst rate delay error_rate)", 5)
	if w == nil {
		return
	}
	last := int64(len(kinds)) - 1
	a, b := r.d.number(w[0], "link end", 0, last), r.d.number(w[1], "link end", 0, last)
	spec := topology.LinkSpec{Rate: r.d.ns3Rate(w[2], "link rate")}
	if r.d.err != nil {
		return
	}
	delay, err := units.ParseTime(w[3].text)
	if err != nil {
		r.d.fail(w[3].pos, "link delay: %v", err)
	}
	spec.Delay, spec.Loss = delay, r.d.decimal(w[4], "error rate", 1)
	if spec.Loss == 0 {
		spec.Loss = errorRate
	}
	if kinds[a] == ns3NVSwitchNode || kinds[b] == ns3NVSwitchNode {
		return
	}
	for i, end := range []int64{a, b} {
		n := &g.Nodes[end]
		if r.d.err == nil && n.Kind == topology.Host && len(n.Ports) > 0 {
			r.d.fail(w[i].pos, "host %d has a second link; these files describe hosts with one", end)
		}
	}
	if r.d.err != nil {
		return
	}
	if err := g.AddLink(int(a), int(b), spec); err != nil {
		r.d.fail(w[0].pos, "%v", err)
	}
}

// readNS3Flows reads the number of flows and a row per flow, sorted by start
// time: src dst pg dport bytes start_s, or the same without dport.
func (r *resolver) readNS3Flows(f *ns3Rows) {
	head := f.row("the number of flows", 1)
	if head == nil {
		return
	}
	count := r.d.number(head[0], "flow count", 1, workload.MaxMessages)
	plan := &workload.Plan{}
	r.v.Plan = plan
	entry := plan.AddEntry("flows")
	columns := []int{6, 5}
	perPair := map[[2]int]int{} // flows so far of a pair: looked up, never iterated
	last := units.Time(0)
	for i := int64(0); i < count && r.d.err == nil; i++ {
		w := f.row("a flow (src dst pg dport bytes start)", columns...)
		if w == nil {
			return
		}
		columns = []int{len(w)}
		last = r.readNS3Flow(w, entry, last, perPair)
	}
	r.finishRows(f, "flows", int(count))
	if r.d.err != nil {
		return
	}
	if err := plan.Finish(r.v.Graph); err != nil {
		r.d.fail(head[0].pos, "%v", err)
	}
}

func (r *resolver) readNS3Flow(w []ns3Word, entry int, last units.Time, perPair map[[2]int]int) units.Time {
	d, g := r.d, r.v.Graph
	src := r.ns3Host(w[0], "source")
	dst := r.ns3Host(w[1], "destination")
	if d.err == nil && src == dst {
		d.fail(w[1].pos, "flow from host %s to itself; name two hosts", w[0].text)
	}
	if n := r.perServer; d.err == nil && n > 0 && src/n == dst/n {
		d.fail(w[1].pos, "flow from %d to %d, GPUs of one server, whose NVLink is left out; name GPUs of two servers",
			src, dst)
	}
	pg := d.number(w[2], "priority group", 0, 7)
	dport := int64(0)
	if len(w) == 6 {
		dport = d.number(w[3], "destination port", 0, 65535)
	}
	tail := w[len(w)-2:]
	size := d.number(tail[0], "flow size", 1, int64(workload.MaxBytes))
	start := d.seconds(tail[1], "start time")
	if d.err == nil && start < last {
		d.fail(tail[1].pos, "start time %s is before the row above; sort the flows by start time", tail[1].text)
	}
	if d.err != nil {
		return last
	}
	opt := workload.DefaultOptions()
	opt.Start, opt.Class, opt.DSCP = start, uint8(pg), uint8(8*pg)
	opt.DstPort = uint16(dport)
	pair := [2]int{src, dst}
	opt.SrcPort = uint16(10000 + perPair[pair]%55000)
	perPair[pair]++
	r.classes |= 1 << opt.Class
	if err := r.v.Plan.Flow(entry, g.First[src], g.First[dst], units.Bytes(size), opt); err != nil {
		d.fail(w[0].pos, "%v", err)
		return last
	}
	if err := r.v.Routes.CheckPair(g, g.First[src], g.First[dst]); err != nil {
		d.fail(w[0].pos, "%v", err)
	}
	return start
}

// ns3Host reads a node id that must be a host's.
func (r *resolver) ns3Host(w ns3Word, what string) int {
	id := int(r.d.number(w, what, 0, int64(len(r.v.Graph.Nodes))-1))
	if r.d.err == nil && r.v.Graph.Nodes[id].Kind != topology.Host {
		r.d.fail(w.pos, "%s %d is a switch; flows run between hosts", what, id)
	}
	return id
}
