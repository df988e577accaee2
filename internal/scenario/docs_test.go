package scenario

import (
	"os"
	"strings"
	"testing"
)

// docsPage is the page that must name every key.
const docsPage = "../../docs/formats/scenario.md"

// Every key that any section accepts stands on the page about scenario files.
func TestEveryKeyIsDocumented(t *testing.T) {
	page, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	seen := map[string]bool{}
	d := &decoder{file: "s.yaml", onKeys: func(path string, keys []string) {
		for _, k := range keys {
			if !seen[k] && !strings.Contains(text, "`"+k) && !strings.Contains(text, k+"`") && !strings.Contains(text, "."+k) && !strings.Contains(text, k+":") {
				t.Errorf("%s: key %q is not on the page", path, k)
			}
			seen[k] = true
		}
	}}
	src := base + `  - flows: {list: [{from: h0, to: h1, size: 1KB}]}
  - permutation: {size: 1KB}
  - all_to_all: {size: 1KB}
  - flow: {from: h0, to: h1, size: 1KB}
  - rpc: {between: [h0, h1], size: 1KB}
switch: {pfc: {alpha: 1/8}, ecn: {per_rate: {1Gbps: {kmin: 1KB, kmax: 1KB}}}, lossy: {alpha: 1}, scheduler: {strict: [7]}}
nic: {pfc: {quanta: 1}}
server: {preset: dgx-h100, links: {nic0: {gen: 4}}, costs: {poll: 1ns}}
dcqcn: {preset: paper}
measure: {to: 1ms}
triggers: {t: {kind: oneshot}}
`
	topologies := []string{"leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: {rate: 1Gbps}}\n  links: [{between: [h0, leaf1], loss: 1%}]",
		"clos: {hosts: 4, tiers: [{radix_down: 2, radix_up: 1, link: 1Gbps}, {radix_down: 2, link: 1Gbps}]}",
		"star: {hosts: 4, link: 1Gbps}", "fat_tree: {k: 4, link: 1Gbps}", "rail: {servers: 4, rails: 1, link: 1Gbps}",
		"hosts: [h0, h1, h3]\n  switches: [s]\n  links: [{between: [h0, s], rate: 1Gbps}, {between: [h1, s], rate: 1Gbps}, {between: [h3, s], rate: 1Gbps}]"}
	for _, topo := range topologies {
		full := strings.Replace(src, "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 100Gbps}", topo, 1)
		root, bad := parseTree("s.yaml", []byte(full))
		if bad != nil {
			t.Fatal(bad)
		}
		d.err = nil
		r := &resolver{d: d, v: &Valid{}}
		r.resolve(root)
		if d.err != nil {
			t.Fatalf("%s: %v", topo, d.err)
		}
	}
	if len(seen) < 120 {
		t.Errorf("only %d keys were seen; the sections above no longer cover the format", len(seen))
	}
}
