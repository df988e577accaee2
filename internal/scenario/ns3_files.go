package scenario

import (
	"math"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// ns3Rows reads a file of whitespace-separated rows. Blank lines are skipped;
// each row keeps its line and each word its column.
type ns3Rows struct {
	d    *decoder
	file string
	rows []ns3Row
	next int
}

type ns3Row struct {
	line  int
	words []ns3Word
}

type ns3Word struct {
	text string
	pos  pos
}

// readRows opens a file that another one names at place from.
func (d *decoder) readRows(path string, from pos, key string) *ns3Rows {
	src, err := d.readFile(path)
	if err != nil {
		d.fail(from, "%s %s cannot be read: %v; name an existing file, relative to the config file", key, path, rootCause(err))
		return &ns3Rows{d: d, file: path}
	}
	return &ns3Rows{d: d, file: path, rows: splitRows(path, string(src))}
}

func splitRows(file, src string) []ns3Row {
	var rows []ns3Row
	line := 0
	for text := range strings.SplitSeq(src, "\n") {
		line++
		if words := splitWords(file, line, text); len(words) > 0 {
			rows = append(rows, ns3Row{line, words})
		}
	}
	return rows
}

func splitWords(file string, line int, text string) []ns3Word {
	var words []ns3Word
	for i := 0; i < len(text); {
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
	if r.next >= len(r.rows) {
		r.d.fail(r.end(), "the file ends where %s should stand; add it, or lower the count above", what)
		return nil
	}
	row := r.rows[r.next]
	r.next++
	for _, n := range counts {
		if len(row.words) == n {
			return row.words
		}
	}
	r.d.fail(row.words[0].pos, "%d words where %s should stand; give %d", len(row.words), what, counts[0])
	return nil
}

// end is the place just after the last row.
func (r *ns3Rows) end() pos {
	line := 1
	if len(r.rows) > 0 {
		line = r.rows[len(r.rows)-1].line + 1
	}
	return pos{r.file, line, 1}
}

// finish refuses rows beyond the announced count.
func (r *ns3Rows) finish(what string, n int) {
	if r.d.err == nil && r.next < len(r.rows) {
		r.d.fail(r.rows[r.next].words[0].pos, "a row after the last of %d %s; raise the count in the first row, or remove it", n, what)
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

// readNS3Topology reads "nodes switches links", the switch ids, and a row per
// link: src dst rate delay error_rate. Node ids become node indices.
func (r *resolver) readNS3Topology(path string, from pos, errorRate float64) {
	f := r.d.readRows(path, from, "TOPOLOGY_FILE")
	head := f.row("the counts of nodes, switches and links", 3)
	if head == nil {
		return
	}
	nodes := r.d.number(head[0], "node count", 2, topology.MaxNodes)
	switches := r.d.number(head[1], "switch count", 0, nodes)
	links := r.d.number(head[2], "link count", 1, 1<<24)
	isSwitch := r.readSwitchIDs(f, nodes, switches)
	g := new(topology.Graph)
	for id := range isSwitch {
		if r.d.err != nil {
			return
		}
		err := error(nil)
		if isSwitch[id] {
			_, err = g.AddSwitch("s"+strconv.Itoa(id), 0)
		} else {
			_, err = g.AddHost("h" + strconv.Itoa(id))
		}
		if err != nil {
			r.d.fail(head[0].pos, "%v", err)
		}
	}
	for i := int64(0); i < links && r.d.err == nil; i++ {
		r.readNS3Link(f, g, nodes, errorRate)
	}
	f.finish("links", int(links))
	if r.d.err != nil {
		return
	}
	err := g.Finish()
	r.graph(head[0].pos, g, err)
}

// readSwitchIDs reads the ids of the switches, which may fill several rows.
func (r *resolver) readSwitchIDs(f *ns3Rows, nodes, switches int64) []bool {
	if r.d.err != nil {
		return nil
	}
	isSwitch := make([]bool, nodes)
	for n := int64(0); n < switches && r.d.err == nil; {
		if f.next >= len(f.rows) {
			r.d.fail(f.end(), "the file ends after %d of %d switch ids; add the rest", n, switches)
			return isSwitch
		}
		row := f.rows[f.next].words
		f.next++
		for _, w := range row {
			id := r.d.number(w, "switch id", 0, nodes-1)
			if r.d.err == nil && (isSwitch[id] || n == switches) {
				r.d.fail(w.pos, "switch id %d is one too many or stands twice; the first row announces %d switches", id, switches)
			}
			isSwitch[id] = true
			n++
		}
	}
	return isSwitch
}

func (r *resolver) readNS3Link(f *ns3Rows, g *topology.Graph, nodes int64, errorRate float64) {
	w := f.row("a link (src dst rate delay error_rate)", 5)
	if w == nil {
		return
	}
	a, b := r.d.number(w[0], "link end", 0, nodes-1), r.d.number(w[1], "link end", 0, nodes-1)
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
func (r *resolver) readNS3Flows(path string, from pos) {
	if r.d.err != nil {
		return
	}
	f := r.d.readRows(path, from, "FLOW_FILE")
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
	f.finish("flows", int(count))
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
