// Package htsim reads topologies (.topo) and connection matrices (.cm) of htsim.
package htsim

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
)

type (
	word = tree.Word
	node = tree.Node
	pos  = tree.Pos
)

// Importer reads both files; what they do not say takes the defaults of scenario files.
func Importer() importer.Importer {
	return importer.Importer{
		Flags: []importer.Flag{
			{Name: "topo", Value: "FILE", Text: "htsim's topology `FILE` instead of a scenario; with --cm",
				What: "htsim's topology"},
			{Name: "cm", Value: "FILE", Text: "htsim's connection matrix `FILE`; with --topo",
				What: "htsim's connection matrix"},
		},
		Read: read,
	}
}

// maxLines bounds a file; a connection takes one.
const maxLines = 1 << 20

// read makes a scenario's tree of both files.
func read(q importer.Request) (*importer.Scenario, *tree.Error) {
	r := importer.NewReader(q)
	topoFile, cm := q.Files[0], q.Files[1]
	r.File, r.Set = cm, q.Set
	root := &node{Kind: tree.Mapping, Pos: pos{File: topoFile, Line: 1, Col: 1}}
	root.Add("name", tree.Text(strings.TrimSuffix(filepath.Base(cm), filepath.Ext(cm))))
	root.Add("description", tree.Text("imported from htsim's "+filepath.Base(topoFile)+" and "+filepath.Base(cm)))
	t := &topo{d: r, header: map[string]word{}}
	t.read(rows(r, topoFile, "topology (.topo)", foreign.HTSimTopology))
	root.Add("noise", tree.Text("off"))
	root.Add("topology", t.tree())
	m := &matrix{d: r, hosts: t.number("nodes", 2, 1<<18), link: "pod0-agg0, core0"}
	if len(t.tiers) == 2 {
		m.link = "leaf1, spine1"
	}
	m.read(rows(r, cm, "connection matrix (.cm)", foreign.HTSimMatrix))
	m.addTo(root)
	r.Root = root
	return &r.Scenario, r.Err
}

// rows reads a file named on the command line.
func rows(r *importer.Reader, path, what string, kind foreign.Kind) *importer.Rows {
	src := r.Load(path, "a "+what+" of htsim", kind)
	if n := bytes.Count(src, []byte("\n")); n > maxLines {
		r.Fail(pos{File: path}, "has more than %d lines; give fewer connections", maxLines)
	}
	return r.Rows(path, src)
}

// topo is a topology file: keys before the first "Tier", then those of
// each tier.
type topo struct {
	d      *importer.Reader
	header map[string]word // looked up, never iterated
	tiers  []tier
	end    pos
}

type tier struct {
	at   pos
	keys map[string]word // likewise
}

// read takes a key and a value per line; # begins a comment.
func (t *topo) read(f *importer.Rows) {
	t.end = f.End()
	for w, ok := f.Take(); ok; w, ok = f.Take() {
		if strings.HasPrefix(w[0].Text, "#") || t.d.Err != nil {
			continue
		}
		if len(w) != 2 {
			t.d.Fail(w[0].Pos, "%d words where a key and its value should stand, such as Nodes 16", len(w))
			return
		}
		t.key(strings.ToLower(w[0].Text), w[0], w[1])
	}
}

func (t *topo) key(key string, name, value word) {
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
		if n := t.d.Number(value, "Tier", 0, 2); t.d.Err == nil && int(n) != len(t.tiers) {
			t.d.Fail(value.Pos, "Tier %d stands where Tier %d should; list the tiers upwards from 0", n, len(t.tiers))
		}
		t.tiers = append(t.tiers, tier{name.Pos, map[string]word{}})
	case !slices.Contains(known, key):
		where := "before the first Tier"
		if len(t.tiers) > 0 {
			where = "in a Tier"
		}
		t.d.Fail(name.Pos, "unknown key %q %s; %s", name.Text, where, tree.Suggest(key, append(known, "tier")))
	case twice:
		t.d.Fail(name.Pos, "%s stands here twice; keep one", name.Text)
	case key == "queue_up" || key == "queue_down":
		t.d.Fail(name.Pos, "%s is not built; remove it and say buffers with --set switch.buffer=16MiB", name.Text)
	default:
		keys[key] = value
	}
}

// number returns a header's value.
func (t *topo) number(key string, lo, hi int64) int64 {
	w, ok := t.header[key]
	if !ok {
		t.d.Fail(pos{File: t.end.File, Line: 1, Col: 1}, "%s is missing; add a line such as %s %d", key, key, 16)
		return lo
	}
	return t.d.Number(w, key, lo, hi)
}

// tree writes the topology as a Clos network.
func (t *topo) tree() *node {
	clos := &node{Kind: tree.Mapping, Pos: pos{File: t.end.File, Line: 1, Col: 1}}
	out := &node{Kind: tree.Mapping, Pos: clos.Pos}
	out.Add("clos", clos)
	hosts, tiers := t.number("nodes", 2, 1<<18), int(t.number("tiers", 2, 3))
	pod := t.number("podsize", 1, 1<<18)
	if t.d.Err == nil && len(t.tiers) != tiers {
		t.d.Fail(t.header["tiers"].Pos, "Tiers %d and %d Tier sections; make them agree", tiers, len(t.tiers))
	}
	if t.d.Err == nil && tiers == 2 && pod != hosts {
		t.d.Fail(t.header["podsize"].Pos, "Podsize %d must be all %d nodes with two tiers", pod, hosts)
	}
	clos.Add("hosts", t.value("nodes"))
	if tiers == 3 {
		clos.Add("hosts_per_pod", t.value("podsize"))
	}
	list := clos.Add("tiers", &node{Kind: tree.Sequence, Pos: clos.Pos})
	for i := range t.tiers {
		list.Items = append(list.Items, t.tiers[i].tree(t.d, i == tiers-1))
	}
	return out
}

func (t *topo) value(key string) *node { return t.header[key].At(t.header[key].Text) }

// need returns a key that every tier must have.
func (t *tier) need(d *importer.Reader, key string, lo, hi int64) word {
	w, ok := t.keys[key]
	if !ok {
		d.Fail(t.at, "%s of this tier is missing; add it", key)
		return word{Text: "0", Pos: t.at}
	}
	d.Number(w, key, lo, hi)
	return w
}

func (t *tier) tree(d *importer.Reader, top bool) *node {
	n := &node{Kind: tree.Mapping, Pos: t.at}
	down := t.need(d, "radix_down", 1, 1<<18)
	n.Add("radix_down", down.At(down.Text))
	if !top {
		up := t.need(d, "radix_up", 1, 1<<18)
		n.Add("radix_up", up.At(up.Text))
		t.checkOversubscription(d, down, up)
	} else if w, ok := t.keys["radix_up"]; ok {
		d.Fail(w.Pos, "radix_up in the top tier, which has no links up; remove it")
	}
	if w, ok := t.keys["bundle"]; ok {
		d.Number(w, "bundle", 1, 256)
		n.Add("bundle", w.At(w.Text))
	}
	speed := t.need(d, "downlink_speed_gbps", 1, 100_000)
	n.Add("link", speed.At(speed.Text+"Gbps"))
	delay := t.need(d, "downlink_latency_ns", 1, int64(topology.MaxDelay/units.Nanosecond))
	n.Add("delay", t.nanoseconds(d, delay))
	latency := word{Text: "0", Pos: t.at}
	if w, ok := t.keys["switch_latency_ns"]; ok {
		latency = w
	}
	n.Add("switch_latency", t.nanoseconds(d, latency))
	return n
}

// nanoseconds is a time up to the longest of a cable.
func (t *tier) nanoseconds(d *importer.Reader, w word) *node {
	v := d.Number(w, "time", 0, int64(topology.MaxDelay/units.Nanosecond))
	return w.At((units.Time(v) * units.Nanosecond).String())
}

// checkOversubscription holds the file to what it says of itself: links down
// over links up, 1 when it says nothing.
func (t *tier) checkOversubscription(d *importer.Reader, down, up word) {
	at, ratio := word{Text: "1", Pos: t.at}, int64(1)
	if w, ok := t.keys["oversubscribed"]; ok {
		at, ratio = w, d.Number(w, "oversubscribed", 1, 1000)
	}
	n, m := d.Number(down, "radix_down", 1, 1<<18), d.Number(up, "radix_up", 1, 1<<18)
	if d.Err == nil && n/m != ratio {
		d.Fail(at.Pos, "Oversubscribed %d, but %d links down and %d up; say Oversubscribed %s, or change a radix",
			ratio, n, m,
			strconv.FormatFloat(float64(n)/float64(m), 'g', 4, 64))
	}
}
