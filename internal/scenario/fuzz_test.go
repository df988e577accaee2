package scenario

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/importer/htsim"
	"github.com/hopscope/hopscope/internal/importer/ns3"
)

// checkResult holds what every input must give: a scenario or an *Error of one
// line.
func checkResult(t *testing.T, v *Valid, err error) {
	t.Helper()
	if err == nil {
		if v == nil || v.Graph == nil || v.Routes == nil || v.Plan == nil || v.Plan.Len() == 0 {
			t.Fatalf("no error and no whole scenario: %+v", v)
		}
		return
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error is a %T: %v", err, err)
	}
	if strings.Contains(err.Error(), "\n") || e.Msg == "" || e.File == "" {
		t.Fatalf("not one line with a place: %q", err)
	}
}

// Any text is a scenario or an error, and a scenario reads back from its
// rendered source.
func FuzzParse(f *testing.F) {
	f.Add(base, "")
	for _, seed := range []string{
		"topology: {star: {hosts: 3, link: 1Gbps}}\nworkload:\n  - permutation: {size: 1KB}\n",
		"a: [b, {c: d}]\n", "{", "- x", "? [a]\n: b\n", "a: &x b\nc: *x\n", "a: |\n  b\n  c\n", "a: !!binary x\n", "<<: {a: b}\n", "\t", "'", "a: 'b\n", "---\n---\n",
	} {
		f.Add(seed, "topology.star.hosts=2")
	}
	f.Add(base+"  - flows:\n      rows: |\n        from,to,size,class\n        h0,h1,1KB,4\n        h1,h0,2KB,\n", "seed=3")
	f.Add(base+"  - rpc: {between: [h0, h1], request: 1B, reply: 9KB, every: 7us, think: 1us, nodelay: false, stack: tcp}\nstop: 1ms\n", "workload[1].rpc.verb=write")
	f.Add(base+"  - flow: {from: h0, to: h1, size: 1KB, send_done: t}\n  - flow: {from: h1, to: h0, size: 1KB, trigger: t}\ntriggers: {t: {kind: barrier, count: 1}}\n", "vlan=true")
	f.Add("topology: {clos: {hosts: 4, tiers: [{radix_down: 2, radix_up: 1, link: 1Gbps}, {radix_down: 2, link: 1Gbps}]}}\nworkload: [{permutation: {size: 1KB}}]\n", "switch.trust=pcp")
	f.Add("topology: {hosts: [a, b], switches: [s], order: [s, a, b], links: [{between: [a, s], rate: 1Gbps}, {between: [s, b], rate: 1Gbps}]}\nworkload: [{flow: {from: a, to: b, size: 1KB}}]\nns3: {ENABLE_QCN: 0}\n", "ns3.BUFFER_SIZE=4")
	f.Add(base, "workload[0].incast.path=[h0, leaf1]")
	f.Add(base+"  - flow: {from: h0/gpu0, to: h1:1/dram1, size: 1KB, gpudirect: off}\nserver: {preset: dgx-h100, acs: redirect, links: {nic0: {gen: 4}, hbm: {rate: 9Tbps}}, costs: {poll: 1ns}}\nhosts: {h1: {server: two-socket}, h2: {server: {iommu: on}}, h3: {server: none}}\n", "hosts.h0.server.mps=512B")
	f.Add(base+"  - incast: {from: h0/gpus, to: h1, size: 1KB}\nserver: {file: x.xml, text: \"<system version='1'><cpu numaid='0'/></system>\"}\n", "server=dgx-a100")
	f.Add(base, "a[0][1].b={c: [d]}")
	f.Fuzz(func(t *testing.T, src, set string) {
		var sets []string
		if set != "" {
			sets = []string{set}
		}
		// Sizes are bounded by the caller's patience, not by the parser.
		if digits(src) > 3 || digits(set) > 3 {
			t.Skip()
		}
		v, err := Parse("f.yaml", []byte(src), sets, nil)
		if v == nil && err == nil {
			t.Fatal("neither scenario nor error")
		}
		checkResult(t, v, err)
		if err == nil {
			if _, err := Parse("f.yaml", v.Source, nil, nil); err != nil {
				t.Fatalf("its own source: %v\n%s", err, v.Source)
			}
		}
	})
}

// digits is the longest run of digits, so that fuzzing stays with small networks.
func digits(s string) int {
	longest, n := 0, 0
	for i := range len(s) {
		n++
		if s[i] < '0' || s[i] > '9' {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}

// Any three files are a scenario or an error.
func FuzzNS3(f *testing.F) {
	f.Add(ns3ConfigText, ns3TopologyText, ns3FlowText)
	f.Add("KMAX_MAP 64", "1", "1")
	f.Add("KMAX_MAP -1 { a", "2 1 1\n1\n0 1 1Gbps 1ns 0", "1\n0 0 3 1 1")
	f.Fuzz(func(t *testing.T, config, topo, flow string) {
		if digits(topo) > 4 {
			t.Skip()
		}
		files := map[string]string{"config.txt": config, "topology.txt": topo, "flow.txt": flow}
		read := func(path string) ([]byte, error) {
			if text, ok := files[filepath.Base(path)]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}
		v, err := imported(ns3.Importer(), importer.Request{Files: []string{"config.txt"}, ReadFile: read}, nil)
		checkResult(t, v, err)
		if err != nil {
			return
		}
		if _, err := Parse("s.yaml", v.Source, nil, nil); err != nil {
			t.Fatalf("its own source: %v\n%s", err, v.Source)
		}
	})
}

// Any two files are a scenario that reads back, or an error.
func FuzzHTSim(f *testing.F) {
	f.Add(htsimTopoText, htsimMatrixText)
	f.Add("Nodes 2\nTier", "0->1 start")
	f.Add("Tiers 3\nTier 0\nTier 1\nTier 2\n", "trigger id 0 barrier count 0\n")
	f.Fuzz(func(t *testing.T, topo, cm string) {
		if digits(topo) > 3 {
			t.Skip()
		}
		read := func(path string) ([]byte, error) {
			return map[string][]byte{"a.topo": []byte(topo), "b.cm": []byte(cm)}[path], nil
		}
		v, err := imported(htsim.Importer(), importer.Request{Files: []string{"a.topo", "b.cm"}, ReadFile: read}, nil)
		checkResult(t, v, err)
		if err != nil {
			return
		}
		if _, err := Parse("s.yaml", v.Source, nil, nil); err != nil {
			t.Fatalf("its own source: %v\n%s", err, v.Source)
		}
	})
}
