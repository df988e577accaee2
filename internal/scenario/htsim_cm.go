package scenario

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// htsimMatrix is a connection matrix: counts, then a line per connection,
// trigger or failure.
type htsimMatrix struct {
	d        *decoder
	hosts    int64              // of the topology
	counts   map[string]ns3Word // looked up, never iterated
	flows    []*node
	triggers *node
	classes  uint8
	failures int
	link     string          // two nodes that a link of the topology joins
	ids      map[string]bool // of connections; looked up, never iterated
}

// Columns of a connection besides from and to, by the words of the file.
func htsimColumns() []string {
	return []string{"start", "trigger", "size", "send_done_trigger", "recv_done_trigger", "prio", "id"}
}

func (m *htsimMatrix) read(f *ns3Rows) {
	m.counts, m.ids = map[string]ns3Word{}, map[string]bool{}
	m.triggers = &node{kind: mappingNode, pos: pos{f.file, 1, 1}}
	for w, ok := f.take(); ok; w, ok = f.take() {
		if m.d.err != nil {
			return
		}
		key := strings.ToLower(w[0].text)
		switch {
		case strings.HasPrefix(key, "#"):
		case strings.Contains(key, "->"):
			m.connection(w)
		case key == "trigger":
			m.trigger(w)
		case key == "failure":
			m.failures++
			m.d.fail(w[0].pos, "failures are not built for these files; remove the line, and let a link fail with --set topology.links=[{between: [%s], down_at: 1us}]", m.link)
		case contains([]string{"nodes", "connections", "triggers", "failures"}, key) && len(w) == 2:
			m.counts[key] = w[1]
		default:
			m.d.fail(w[0].pos, "%q begins no line of a connection matrix; write Nodes N, Connections N, Triggers N, src->dst ..., or trigger id ...", w[0].text)
		}
	}
	m.checkCounts(f)
}

// checkCounts compares the header with the lines.
func (m *htsimMatrix) checkCounts(f *ns3Rows) {
	for _, c := range []struct {
		key  string
		must bool
		got  int
		what string
	}{
		{"nodes", true, int(m.hosts), "nodes in the topology"},
		{"connections", true, len(m.flows), "connections below"},
		{"triggers", false, len(m.triggers.fields), "triggers below"},
		{"failures", false, m.failures, "failures below"},
	} {
		w, ok := m.counts[c.key]
		if !ok && !c.must && c.got == 0 {
			continue
		}
		if !ok {
			m.d.fail(pos{f.file, 1, 1}, "%s is missing; add a line %s %d", c.key, strings.ToUpper(c.key[:1])+c.key[1:], c.got)
			return
		}
		if n := m.d.number(w, c.key, 0, 1<<24); m.d.err == nil && int(n) != c.got {
			m.d.fail(w.pos, "%s %d, but there are %d %s; make them agree", c.key, n, c.got, c.what)
		}
	}
	if m.d.err == nil && len(m.flows) == 0 {
		m.d.fail(f.end(), "the matrix has no connection; add a line such as 0->1 start 0 size 2000000")
	}
}

// connection reads "src->dst [id K] [start PS | trigger T] size BYTES
// [send_done_trigger T] [recv_done_trigger T] [prio P]".
func (m *htsimMatrix) connection(w []ns3Word) {
	d := m.d
	from, to, _ := strings.Cut(w[0].text, "->")
	src := m.host(ns3Word{from, w[0].pos}, "source")
	at := w[0].pos
	at.col += len(from) + 2
	dst := m.host(ns3Word{to, at}, "destination")
	if d.err == nil && src == dst {
		d.fail(at, "host %d sends to itself; name two hosts", dst)
	}
	values := map[string]ns3Word{} // looked up, never iterated
	for i := 1; i < len(w) && d.err == nil; i += 2 {
		key := w[i].text
		_, twice := values[key]
		switch {
		case key == "addon":
			d.fail(w[i].pos, "addon is not built; remove it")
		case !contains(htsimColumns(), key):
			d.fail(w[i].pos, "unknown word %q in a connection; %s", key, suggest(key, htsimColumns()))
		case i+1 >= len(w):
			d.fail(w[i].pos, "%s has no value; add it", key)
		case twice:
			d.fail(w[i].pos, "%s stands here twice; keep one", key)
		default:
			values[key] = w[i+1]
		}
	}
	if d.err != nil {
		return
	}
	n := &node{kind: mappingNode, pos: w[0].pos}
	n.add("from", valueAt(w[0], "h"+strconv.FormatInt(src, 10)))
	n.add("to", valueAt(ns3Word{pos: at}, "h"+strconv.FormatInt(dst, 10)))
	m.fields(n, values)
	m.flows = append(m.flows, n)
}

// fields turns the words of a connection into keys of a flow.
func (m *htsimMatrix) fields(n *node, values map[string]ns3Word) {
	d := m.d
	size, ok := values["size"]
	if !ok {
		d.fail(n.pos, "the connection has no size; add one such as size 2000000")
		return
	}
	n.add("size", valueAt(size, units.Bytes(d.number(size, "size", 1, int64(workload.MaxBytes))).String()))
	start, timed := values["start"]
	trigger, triggered := values["trigger"]
	switch {
	case timed == triggered:
		d.fail(n.pos, "the connection needs a start or a trigger, and one alone; write start 0 for the beginning")
	case timed:
		n.add("start", valueAt(start, m.picoseconds(start).String()))
	default:
		n.add("trigger", m.triggerName(trigger))
	}
	if w, ok := values["send_done_trigger"]; ok {
		n.add("send_done", m.triggerName(w))
	}
	if w, ok := values["recv_done_trigger"]; ok {
		n.add("recv_done", m.triggerName(w))
	}
	class := int64(dataClass)
	if w, ok := values["prio"]; ok {
		class = d.number(w, "prio", 0, 7)
		n.add("class", valueAt(w, w.text))
	}
	if w, ok := values["id"]; ok {
		if id := strconv.FormatInt(d.number(w, "id", 1, 1<<31-1), 10); m.ids[id] {
			d.fail(w.pos, "connection id %s stands here twice; number them differently", id)
		} else {
			m.ids[id] = true
		}
	}
	m.classes |= 1 << class
}

// picoseconds reads a start time, perhaps with a decimal exponent.
func (m *htsimMatrix) picoseconds(w ns3Word) units.Time {
	if v, err := strconv.ParseInt(w.text, 10, 64); err == nil && v >= 0 && units.Time(v) <= workload.MaxStart {
		return units.Time(v)
	}
	v, err := strconv.ParseFloat(w.text, 64)
	if err != nil || v < 0 || v > 1e18 || v != float64(int64(v)) {
		m.d.fail(w.pos, "start %q is not a whole number of picoseconds from 0 to 10^18", w.text)
		return 0
	}
	return units.Time(v)
}

// host reads a host's number.
func (m *htsimMatrix) host(w ns3Word, what string) int64 {
	return m.d.number(w, what, 0, m.hosts-1)
}

func (m *htsimMatrix) triggerName(w ns3Word) *node {
	return valueAt(w, "t"+strconv.FormatInt(m.d.number(w, "trigger", 0, 1<<31-1), 10))
}

// trigger reads "trigger id T oneshot|multishot|barrier [count N]".
func (m *htsimMatrix) trigger(w []ns3Word) {
	if len(w) < 4 || w[1].text != "id" || len(w) != 4 && (len(w) != 6 || w[4].text != "count") {
		m.d.fail(w[0].pos, "a trigger is written: trigger id 1 oneshot, trigger id 1 multishot, or trigger id 1 barrier count 4")
		return
	}
	name := m.triggerName(w[2])
	if m.triggers.get(name.text) != nil {
		m.d.fail(w[2].pos, "trigger %s stands here twice; keep one", w[2].text)
		return
	}
	t := &node{kind: mappingNode, pos: w[0].pos}
	if !contains(workload.TriggerKinds(), w[3].text) {
		m.d.fail(w[3].pos, "%q is no kind of trigger; %s", w[3].text, suggest(w[3].text, workload.TriggerKinds()))
		return
	}
	t.add("kind", valueAt(w[3], w[3].text))
	switch isBarrier := w[3].text == workload.Barrier.String(); {
	case isBarrier && len(w) == 4:
		m.d.fail(w[3].pos, "the barrier has no count; add one such as count 4")
		return
	case isBarrier:
		t.add("count", valueAt(w[5], w[5].text))
	}
	m.triggers.fields = append(m.triggers.fields, field{name.text, w[2].pos, t})
}

// addTo adds what the matrix says to a scenario. Data of every priority in use
// is lossless, as priority 3 is by default.
func (m *htsimMatrix) addTo(root *node) {
	if m.d.err != nil {
		return
	}
	if m.classes != 1<<dataClass {
		enabled := &node{kind: sequenceNode}
		for p := range 8 {
			if m.classes>>p&1 == 1 {
				enabled.items = append(enabled.items, text(strconv.Itoa(p)))
			}
		}
		pfc := &node{kind: mappingNode}
		pfc.add("enabled", enabled)
		root.add("switch", &node{kind: mappingNode}).add("pfc", pfc)
	}
	if len(m.triggers.fields) > 0 {
		root.add("triggers", m.triggers)
	}
	flows := &node{kind: mappingNode, pos: m.flows[0].pos}
	flows.add("list", &node{kind: sequenceNode, pos: flows.pos, items: m.flows})
	entry := &node{kind: mappingNode, pos: flows.pos}
	entry.add("flows", flows)
	root.add("workload", &node{kind: sequenceNode, pos: flows.pos, items: []*node{entry}})
}
