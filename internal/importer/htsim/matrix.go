package htsim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// usualClass is the priority of data that says none.
const usualClass = 3

// matrix is a connection matrix: counts, then a line per connection,
// trigger or failure.
type matrix struct {
	d        *importer.Reader
	hosts    int64           // of the topology
	counts   map[string]word // looked up, never iterated
	flows    []*node
	triggers *node
	classes  uint8
	failures int
	endless  int             // line of the first connection that has no end; 0: none
	link     string          // two nodes that a link of the topology joins
	ids      map[string]bool // of connections; looked up, never iterated
}

// Columns of a connection besides from and to, by the words of the file.
func columns() []string {
	return []string{"start", "trigger", "size", "send_done_trigger", "recv_done_trigger", "prio", "id"}
}

func (m *matrix) read(f *importer.Rows) {
	m.counts, m.ids = map[string]word{}, map[string]bool{}
	m.triggers = &node{Kind: tree.Mapping, Pos: pos{File: f.File, Line: 1, Col: 1}}
	for w, ok := f.Take(); ok; w, ok = f.Take() {
		if m.d.Err != nil {
			return
		}
		key := strings.ToLower(w[0].Text)
		switch {
		case strings.HasPrefix(key, "#"):
		case strings.Contains(key, "->"):
			m.connection(w)
		case key == "trigger":
			m.trigger(w)
		case key == "failure":
			m.failures++
			m.d.Fail(w[0].Pos, "failures are not built for these files; remove the line, and let a link "+
				"fail with --set topology.links=[{between: [%s], down_at: 1us}]", m.link)
		case slices.Contains([]string{"nodes", "connections", "triggers", "failures"}, key) && len(w) == 2:
			m.counts[key] = w[1]
		default:
			m.d.Fail(w[0].Pos, "%q begins no line of a connection matrix; write "+
				"Nodes N, Connections N, Triggers N, src->dst ..., or trigger id ...", w[0].Text)
		}
	}
	m.checkCounts(f)
}

// checkCounts compares the header with the lines.
func (m *matrix) checkCounts(f *importer.Rows) {
	for _, c := range []struct {
		key  string
		must bool
		got  int
		what string
	}{
		{"nodes", true, int(m.hosts), "nodes in the topology"},
		{"connections", true, len(m.flows), "connections below"},
		{"triggers", false, len(m.triggers.Fields), "triggers below"},
		{"failures", false, m.failures, "failures below"},
	} {
		w, ok := m.counts[c.key]
		if !ok && !c.must && c.got == 0 {
			continue
		}
		if !ok {
			m.d.Fail(pos{File: f.File, Line: 1, Col: 1}, "%s is missing; add a line %s %d", c.key,
				strings.ToUpper(c.key[:1])+c.key[1:], c.got)
			return
		}
		n := m.d.Number(w, c.key, 0, 1<<24)
		if c.key == "nodes" && m.d.Err == nil && int(n) < c.got {
			m.d.Warn(fmt.Sprintf("%s:%d: of the %d hosts of the topology the matrix uses %d", f.File, w.Pos.Line, c.got, n))
			continue
		}
		if m.d.Err == nil && int(n) != c.got {
			m.d.Fail(w.Pos, "%s %d, but there are %d %s; make them agree", c.key, n, c.got, c.what)
		}
	}
	if m.endless > 0 {
		m.d.Warn(fmt.Sprintf("%s:%d: connections without a size, or of 0, never end in htsim; here they send %s, "+
			"the longest message",
			f.File, m.endless, workload.MaxBytes))
	}
	if m.d.Err == nil && len(m.flows) == 0 {
		m.d.Fail(f.End(), "the matrix has no connection; add a line such as 0->1 start 0 size 2000000")
	}
}

// connection reads "src->dst [id K] [start PS | trigger T] size BYTES
// [send_done_trigger T] [recv_done_trigger T] [prio P]".
func (m *matrix) connection(w []word) {
	d := m.d
	from, to, _ := strings.Cut(w[0].Text, "->")
	src := m.host(word{Text: from, Pos: w[0].Pos}, "source")
	at := w[0].Pos
	at.Col += len(from) + 2
	dst := m.host(word{Text: to, Pos: at}, "destination")
	if d.Err == nil && src == dst {
		d.Fail(at, "host %d sends to itself; name two hosts", dst)
	}
	values := map[string]word{} // looked up, never iterated
	for i := 1; i < len(w) && d.Err == nil; i += 2 {
		key := w[i].Text
		_, twice := values[key]
		switch {
		case key == "addon":
			d.Fail(w[i].Pos, "addon is not built; remove it")
		case !slices.Contains(columns(), key):
			d.Fail(w[i].Pos, "unknown word %q in a connection; %s", key, tree.Suggest(key, columns()))
		case i+1 >= len(w):
			d.Fail(w[i].Pos, "%s has no value; add it", key)
		case twice:
			d.Fail(w[i].Pos, "%s stands here twice; keep one", key)
		default:
			values[key] = w[i+1]
		}
	}
	if d.Err != nil {
		return
	}
	n := &node{Kind: tree.Mapping, Pos: w[0].Pos}
	n.Add("from", w[0].At("h"+strconv.FormatInt(src, 10)))
	n.Add("to", word{Pos: at}.At("h"+strconv.FormatInt(dst, 10)))
	m.fields(n, values)
	m.flows = append(m.flows, n)
}

// fields turns the words of a connection into keys of a flow.
func (m *matrix) fields(n *node, values map[string]word) {
	d := m.d
	size, ok := values["size"]
	bytes := workload.MaxBytes
	if ok {
		bytes = units.Bytes(d.Number(size, "size", 0, int64(workload.MaxBytes)))
	}
	if !ok || bytes == 0 { // it sends for ever
		bytes = workload.MaxBytes
		if size.Pos = n.Pos; m.endless == 0 {
			m.endless = n.Pos.Line
		}
	}
	n.Add("size", size.At(bytes.String()))
	start, timed := values["start"]
	trigger, triggered := values["trigger"]
	switch {
	case timed == triggered:
		d.Fail(n.Pos, "the connection needs a start or a trigger, and one alone; write start 0 for the beginning")
	case timed:
		n.Add("start", start.At(m.picoseconds(start).String()))
	default:
		n.Add("trigger", m.triggerName(trigger))
	}
	if w, ok := values["send_done_trigger"]; ok {
		n.Add("send_done", m.triggerName(w))
	}
	if w, ok := values["recv_done_trigger"]; ok {
		n.Add("recv_done", m.triggerName(w))
	}
	class := int64(usualClass)
	if w, ok := values["prio"]; ok {
		class = d.Number(w, "prio", 0, 7)
		n.Add("class", w.At(w.Text))
	}
	if w, ok := values["id"]; ok {
		if id := strconv.FormatInt(d.Number(w, "id", 1, 1<<31-1), 10); m.ids[id] {
			d.Fail(w.Pos, "connection id %s stands here twice; number them differently", id)
		} else {
			m.ids[id] = true
		}
	}
	m.classes |= 1 << class
}

// picoseconds reads a start time, perhaps with a decimal exponent.
func (m *matrix) picoseconds(w word) units.Time {
	if v, err := strconv.ParseInt(w.Text, 10, 64); err == nil && v >= 0 && units.Time(v) <= workload.MaxStart {
		return units.Time(v)
	}
	v, err := strconv.ParseFloat(w.Text, 64)
	if err != nil || v < 0 || v > 1e18 || v != float64(int64(v)) {
		m.d.Fail(w.Pos, "start %q is not a whole number of picoseconds from 0 to 10^18", w.Text)
		return 0
	}
	return units.Time(v)
}

// host reads a host's number.
func (m *matrix) host(w word, what string) int64 {
	return m.d.Number(w, what, 0, m.hosts-1)
}

func (m *matrix) triggerName(w word) *node {
	return w.At("t" + strconv.FormatInt(m.d.Number(w, "trigger", 0, 1<<31-1), 10))
}

// trigger reads "trigger id T oneshot|multishot|barrier [count N]".
func (m *matrix) trigger(w []word) {
	if len(w) < 4 || w[1].Text != "id" || len(w) != 4 && (len(w) != 6 || w[4].Text != "count") {
		m.d.Fail(w[0].Pos, "a trigger is written: trigger id 1 oneshot, trigger id 1 multishot, or "+
			"trigger id 1 barrier count 4")
		return
	}
	name := m.triggerName(w[2])
	if m.triggers.Get(name.Text) != nil {
		m.d.Fail(w[2].Pos, "trigger %s stands here twice; keep one", w[2].Text)
		return
	}
	t := &node{Kind: tree.Mapping, Pos: w[0].Pos}
	if !slices.Contains(workload.TriggerKinds(), w[3].Text) {
		m.d.Fail(w[3].Pos, "%q is no kind of trigger; %s", w[3].Text, tree.Suggest(w[3].Text, workload.TriggerKinds()))
		return
	}
	t.Add("kind", w[3].At(w[3].Text))
	switch isBarrier := w[3].Text == workload.Barrier.String(); {
	case isBarrier && len(w) == 4:
		m.d.Fail(w[3].Pos, "the barrier has no count; add one such as count 4")
		return
	case isBarrier:
		t.Add("count", w[5].At(w[5].Text))
	}
	m.triggers.Fields = append(m.triggers.Fields, tree.Field{Key: name.Text, Pos: w[2].Pos, Value: t})
}

// addTo adds what the matrix says to a scenario. Data of every priority in use
// is lossless, as priority 3 is by default.
func (m *matrix) addTo(root *node) {
	if m.d.Err != nil {
		return
	}
	if m.classes != 1<<usualClass {
		enabled := &node{Kind: tree.Sequence}
		for p := range 8 {
			if m.classes>>p&1 == 1 {
				enabled.Items = append(enabled.Items, tree.Text(strconv.Itoa(p)))
			}
		}
		pfc := &node{Kind: tree.Mapping}
		pfc.Add("enabled", enabled)
		root.Add("switch", &node{Kind: tree.Mapping}).Add("pfc", pfc)
	}
	if len(m.triggers.Fields) > 0 {
		root.Add("triggers", m.triggers)
	}
	flows := &node{Kind: tree.Mapping, Pos: m.flows[0].Pos}
	flows.Add("list", &node{Kind: tree.Sequence, Pos: flows.Pos, Items: m.flows})
	entry := &node{Kind: tree.Mapping, Pos: flows.Pos}
	entry.Add("flows", flows)
	root.Add("workload", &node{Kind: tree.Sequence, Pos: flows.Pos, Items: []*node{entry}})
}
