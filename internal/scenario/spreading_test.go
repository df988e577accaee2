package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/fabric"
)

// routing says how switches choose among equal ports, in every stack; on InfiniBand
// any choice per packet takes the place of the subnet manager's tables.
func TestSpreading(t *testing.T) {
	const text = `
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, link: 100Gbps}}
workload:
  - flow: {from: h0, to: h1, size: 1MB}
`
	for _, stack := range []string{"rocev2", "infiniband"} {
		for word, want := range map[string]fabric.Spreading{"ecmp": fabric.ByHash, "adaptive": fabric.Adaptive, "spray": fabric.Spray} {
			v := parse(t, text+"stack: "+stack+"\nrouting: "+word+"\nnic: {recovery: selective-repeat, out_of_order: true}\n")
			if got := switchNamed(t, v, "leaf1").Spreading; got != want || !v.Transports[0].OutOfOrder {
				t.Errorf("%s, %s: %v", stack, word, got)
			}
			leaf, _ := v.Graph.NodeByName("leaf1")
			ways := v.Routes.Group[leaf][1] & 0xff
			if alone := stack == "infiniband" && want == fabric.ByHash; (ways == 1) != alone {
				t.Errorf("%s, %s: %d ports towards h1", stack, word, ways)
			}
		}
	}
	v := parse(t, text+"nic: {out_of_order: true}\n")
	if !strings.Contains(strings.Join(v.Warnings, "\n"), "out_of_order has no effect: go-back-n keeps nothing that arrives ahead") || v.Transports[0].OutOfOrder {
		t.Errorf("go-back-n: %q", v.Warnings)
	}
	for _, c := range []struct{ keys, want string }{
		{"routing: random", `routing: "random" is not known; use one of ecmp, adaptive, spray`},
		{"stack: infiniband\nrouting: adaptive\ninfiniband: {routing: updn, roots: [spine1]}", "infiniband.routing: adaptive sends each packet along any shortest path, which does not go with infiniband.routing: updn"},
		{"stack: infiniband\nrouting: spray\ninfiniband: {sls: 2}", "spray sends each packet along any shortest path, which does not go with infiniband.sls on InfiniBand"},
	} {
		_, err := Parse("s.yaml", []byte(text+c.keys+"\n"), nil, nil)
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(c.want, "infiniband.routing: ")) || !strings.HasPrefix(err.Error(), "s.yaml:") {
			t.Errorf("%s: %v\nwant %s", c.keys, err, c.want)
		}
	}
	// A comparison goes on with the tables.
	v, err := ParseStack("s.yaml", []byte(text+"routing: adaptive\ninfiniband: {routing: updn, roots: [spine1, spine2]}\n"), stackInfiniBand, nil, nil)
	if err != nil || switchNamed(t, v, "leaf1").Spreading != fabric.ByHash || !strings.Contains(strings.Join(v.Warnings, "\n"), "the tables are used") {
		t.Errorf("compared: %v", err)
	}
}
