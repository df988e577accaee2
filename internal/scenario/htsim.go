package scenario

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// LoadHTSim reads a topology file (.topo) and a connection matrix (.cm) of
// htsim and turns them into a scenario; what they do not say takes the defaults
// of scenario files. Each element of set is a --set argument over that
// scenario. The error is always an *Error.
func LoadHTSim(topo, cm string, set []string, seed *uint64) (*Valid, error) {
	root, bad := htsimTree(topo, cm, readInput)
	if bad != nil {
		return nil, bad
	}
	v, bad := resolveTree(cm, root, nil, changes{set: set, seed: seed})
	if bad != nil {
		return nil, bad
	}
	return v, nil
}

// htsimTree reads both files into the tree of a scenario whose values point
// back at them.
func htsimTree(topo, cm string, readFile func(string) ([]byte, error)) (*node, *Error) {
	d := &decoder{file: topo, readFile: readFile}
	root := &node{kind: mappingNode, pos: pos{topo, 1, 1}}
	root.add("name", text(htsimName(cm)))
	root.add("description", text("imported from htsim's "+filepath.Base(topo)+" and "+filepath.Base(cm)))
	t := &htsimTopo{d: d, header: map[string]ns3Word{}}
	t.read(d.htsimRows(topo, "topology (.topo)", foreign.HTSimTopology))
	root.add("noise", text("off"))
	root.add("topology", t.tree())
	m := &htsimMatrix{d: d, hosts: t.number("nodes", 2, 1<<18), link: "pod0-agg0, core0"}
	if len(t.tiers) == 2 {
		m.link = "leaf1, spine1"
	}
	m.read(d.htsimRows(cm, "connection matrix (.cm)", foreign.HTSimMatrix))
	m.addTo(root)
	return root, d.err
}

// htsimRows reads a file named on the command line.
func (d *decoder) htsimRows(path, what string, kind foreign.Kind) *ns3Rows {
	if d.err != nil {
		return &ns3Rows{d: d, file: path}
	}
	src, err := d.readFile(path)
	if err != nil {
		d.fail(pos{file: path}, "cannot be read: %v; name a %s of htsim", rootCause(err), what)
	}
	if n := bytes.Count(src, []byte("\n")); n > maxTraceRows {
		d.fail(pos{file: path}, "has more than %d lines; give fewer connections", maxTraceRows)
	}
	if other := foreign.Instead(src, "a "+what+" of htsim", kind); other != "" {
		d.fail(pos{file: path}, "%s", other)
	}
	return &ns3Rows{d: d, file: path, rest: string(src)}
}

func htsimName(cm string) string { return strings.TrimSuffix(filepath.Base(cm), filepath.Ext(cm)) }

// htsimTopo is a topology file: keys before the first "Tier", then those of
// each tier.
type htsimTopo struct {
	d      *decoder
	header map[string]ns3Word // looked up, never iterated
	tiers  []htsimTier
	end    pos
}

type htsimTier struct {
	at   pos
	keys map[string]ns3Word // likewise
}

// read takes a key and a value per line; # begins a comment.
func (t *htsimTopo) read(f *ns3Rows) {
	t.end = f.end()
	for w, ok := f.take(); ok; w, ok = f.take() {
		if strings.HasPrefix(w[0].text, "#") || t.d.err != nil {
			continue
		}
		if len(w) != 2 {
			t.d.fail(w[0].pos, "%d words where a key and its value should stand, such as Nodes 16", len(w))
			return
		}
		t.key(strings.ToLower(w[0].text), w[0], w[1])
	}
}

func (t *htsimTopo) key(key string, name, value ns3Word) {
	headerKeys := []string{"nodes", "tiers", "podsize"}
	tierKeys := []string{"downlink_speed_gbps", "radix_down", "radix_up", "downlink_latency_ns", "switch_latency_ns",
		"oversubscribed", "bundle", "queue_up", "queue_down"}
	known, keys := headerKeys, t.header
	if len(t.tiers) > 0 {
		known, keys = tierKeys, t.tiers[len(t.tiers)-1].keys
	}
	_, twice := keys[key]
	switch {
	case key == "tier":
		if n := t.d.number(value, "Tier", 0, 2); t.d.err == nil && int(n) != len(t.tiers) {
			t.d.fail(value.pos, "Tier %d stands where Tier %d should; list the tiers upwards from 0", n, len(t.tiers))
		}
		t.tiers = append(t.tiers, htsimTier{name.pos, map[string]ns3Word{}})
	case !contains(known, key):
		where := "before the first Tier"
		if len(t.tiers) > 0 {
			where = "in a Tier"
		}
		t.d.fail(name.pos, "unknown key %q %s; %s", name.text, where, suggest(key, append(known, "tier")))
	case twice:
		t.d.fail(name.pos, "%s stands here twice; keep one", name.text)
	case key == "queue_up" || key == "queue_down":
		t.d.fail(name.pos, "%s is not built; remove it and say buffers with --set switch.buffer=16MiB", name.text)
	default:
		keys[key] = value
	}
}

// number returns a header's value.
func (t *htsimTopo) number(key string, lo, hi int64) int64 {
	w, ok := t.header[key]
	if !ok {
		t.d.fail(pos{t.end.file, 1, 1}, "%s is missing; add a line such as %s %d", key, key, 16)
		return lo
	}
	return t.d.number(w, key, lo, hi)
}

// tree writes the topology as a Clos network.
func (t *htsimTopo) tree() *node {
	clos := &node{kind: mappingNode, pos: pos{t.end.file, 1, 1}}
	out := &node{kind: mappingNode, pos: clos.pos}
	out.add("clos", clos)
	hosts, tiers := t.number("nodes", 2, 1<<18), int(t.number("tiers", 2, 3))
	pod := t.number("podsize", 1, 1<<18)
	if t.d.err == nil && len(t.tiers) != tiers {
		t.d.fail(t.header["tiers"].pos, "Tiers %d and %d Tier sections; make them agree", tiers, len(t.tiers))
	}
	if t.d.err == nil && tiers == 2 && pod != hosts {
		t.d.fail(t.header["podsize"].pos, "Podsize %d must be all %d nodes with two tiers", pod, hosts)
	}
	clos.add("hosts", t.value("nodes"))
	if tiers == 3 {
		clos.add("hosts_per_pod", t.value("podsize"))
	}
	list := clos.add("tiers", &node{kind: sequenceNode, pos: clos.pos})
	for i := range t.tiers {
		list.items = append(list.items, t.tiers[i].tree(t.d, i == tiers-1))
	}
	return out
}

func (t *htsimTopo) value(key string) *node { return valueAt(t.header[key], t.header[key].text) }

// valueAt is a scalar that errors place where word stands.
func valueAt(word ns3Word, s string) *node {
	return &node{kind: scalarNode, text: s, pos: word.pos}
}

// need returns a key that every tier must have.
func (t *htsimTier) need(d *decoder, key string, lo, hi int64) ns3Word {
	w, ok := t.keys[key]
	if !ok {
		d.fail(t.at, "%s of this tier is missing; add it", key)
		return ns3Word{"0", t.at}
	}
	d.number(w, key, lo, hi)
	return w
}

func (t *htsimTier) tree(d *decoder, top bool) *node {
	n := &node{kind: mappingNode, pos: t.at}
	down := t.need(d, "radix_down", 1, 1<<18)
	n.add("radix_down", valueAt(down, down.text))
	if !top {
		up := t.need(d, "radix_up", 1, 1<<18)
		n.add("radix_up", valueAt(up, up.text))
		t.checkOversubscription(d, down, up)
	} else if w, ok := t.keys["radix_up"]; ok {
		d.fail(w.pos, "radix_up in the top tier, which has no links up; remove it")
	}
	if w, ok := t.keys["bundle"]; ok {
		d.number(w, "bundle", 1, 256)
		n.add("bundle", valueAt(w, w.text))
	}
	speed := t.need(d, "downlink_speed_gbps", 1, 100_000)
	n.add("link", valueAt(speed, speed.text+"Gbps"))
	delay := t.need(d, "downlink_latency_ns", 1, int64(topology.MaxDelay/units.Nanosecond))
	n.add("delay", t.nanoseconds(d, delay))
	latency := ns3Word{"0", t.at}
	if w, ok := t.keys["switch_latency_ns"]; ok {
		latency = w
	}
	n.add("switch_latency", t.nanoseconds(d, latency))
	return n
}

// nanoseconds is a time up to the longest of a cable.
func (t *htsimTier) nanoseconds(d *decoder, w ns3Word) *node {
	v := d.number(w, "time", 0, int64(topology.MaxDelay/units.Nanosecond))
	return valueAt(w, (units.Time(v) * units.Nanosecond).String())
}

// checkOversubscription holds the file to what it says of itself: links down
// over links up, 1 when it says nothing.
func (t *htsimTier) checkOversubscription(d *decoder, down, up ns3Word) {
	at, ratio := ns3Word{"1", t.at}, int64(1)
	if w, ok := t.keys["oversubscribed"]; ok {
		at, ratio = w, d.number(w, "oversubscribed", 1, 1000)
	}
	n, m := d.number(down, "radix_down", 1, 1<<18), d.number(up, "radix_up", 1, 1<<18)
	if d.err == nil && n != ratio*m {
		d.fail(at.pos, "Oversubscribed %d, but %d links down and %d up; say Oversubscribed %s, or change a radix", ratio, n, m,
			strconv.FormatFloat(float64(n)/float64(m), 'g', 4, 64))
	}
}
