package scenario

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/balance"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/rdma"
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
		for word, want := range map[string]fabric.Balancing{"ecmp": nil, "adaptive": balance.Adaptive{}, "spray": balance.Spray{}} {
			v := parse(t, text+"stack: "+stack+"\nrouting: "+word+"\nnic: {recovery: selective-repeat, out_of_order: true}\n")
			if got := switchNamed(t, v, "leaf1").Balancing; got != want || !v.Transports[0].OutOfOrder {
				t.Errorf("%s, %s: %v", stack, word, got)
			}
			leaf, _ := v.Graph.NodeByName("leaf1")
			ways := v.Routes.Group[leaf][1] & 0xff
			if alone := stack == "infiniband" && want == nil; (ways == 1) != alone {
				t.Errorf("%s, %s: %d ports towards h1", stack, word, ways)
			}
		}
	}
	v := parse(t, text+"nic: {out_of_order: true}\n")
	if !strings.Contains(strings.Join(v.Warnings, "\n"), "out_of_order has no effect: go-back-n keeps nothing that arrives ahead") || v.Transports[0].OutOfOrder {
		t.Errorf("go-back-n: %q", v.Warnings)
	}
	for _, c := range []struct{ keys, want string }{
		{"routing: random", `routing: "random" is not known; give ecmp, adaptive, spray, round-robin, drill, flowlet or dlb, or a mapping`},
		{"routing: {}", "routing is one of ecmp, adaptive"},
		{"routing: {dlb: {min: 80}}", "routing.dlb: min 80 is not below max 80"},
		{"routing: {flowlet: {gap: 0}}", "routing.flowlet.gap: 0s is out of range; give 1ns to 1s"},
		{"routing: {flowlet: {}, drill: {}}", "routing is one of ecmp"},
		{"stack: infiniband\nrouting: adaptive\ninfiniband: {routing: updn, roots: [spine1]}", "infiniband.routing: adaptive sends each packet along any shortest path, which does not go with infiniband.routing: updn"},
		{"stack: infiniband\nrouting: spray\ninfiniband: {sls: 2}", "spray sends each packet along any shortest path, which does not go with infiniband.sls on InfiniBand"},
	} {
		_, err := Parse("s.yaml", []byte(text+c.keys+"\n"), nil, nil)
		if err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(c.want, "infiniband.routing: ")) || !strings.HasPrefix(err.Error(), "s.yaml:") {
			t.Errorf("%s: %v\nwant %s", c.keys, err, c.want)
		}
	}
	// A comparison goes on with the tables.
	v, err := parseStack("s.yaml", []byte(text+"routing: adaptive\ninfiniband: {routing: updn, roots: [spine1, spine2]}\n"), stackInfiniBand, nil, nil)
	if err != nil || switchNamed(t, v, "leaf1").Balancing != nil || !strings.Contains(strings.Join(v.Warnings, "\n"), "the tables are used") {
		t.Errorf("compared: %v", err)
	}
}

// A flow that may change ports before a queue that ECN lets stand has drained overtakes itself: at 100 Gb/s the
// preset's Kmin of 400 KB takes 32 us.
func TestShortGap(t *testing.T) {
	const text = `
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, link: 100Gbps}}
workload:
  - flow: {from: h0, to: h1, size: 1MB}
`
	for routing, want := range map[string]bool{"flowlet": false, "{flowlet: {gap: 1us}}": true, "{flowlet: {gap: 31us}}": true,
		"{flowlet: {gap: 1us}}\nnic: {recovery: selective-repeat, out_of_order: true}": false, "{flowlet: {gap: 33us}}": false, "{dlb: {gap: 1us}}": true, "dlb": false, "ecmp": false} {
		v := parse(t, text+"routing: "+routing+"\n")
		said := strings.Join(v.Warnings, "\n")
		if got := strings.Contains(said, "is shorter than the 32 us that leaf1 port 2 takes for a queue of Kmin, 400KB"); got != want {
			t.Errorf("%s: warned: %v, want %v: %s", routing, got, want, said)
		}
	}
}

// Routing per packet brings receivers that take packets in any order, where neither
// queues nor links drop; a scenario that wants others is told what becomes of it.
func TestSpreadingBringsReceivers(t *testing.T) {
	const text = `
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, link: {rate: 100Gbps%s}}}
stack: %s
routing: %s
nic: {%s}
workload:
  - flow: {from: h0, to: h1, size: 1MB}
`
	for _, c := range []struct {
		link, stack, routing, nic string
		recovery                  rdma.Recovery
		anyOrder                  bool
		warning                   string
	}{
		{"", "infiniband", "adaptive", "", rdma.SelectiveRepeat, true, ""},
		{"", "rocev2", "spray", "", rdma.SelectiveRepeat, true, ""},
		{"", "rocev2", "ecmp", "", rdma.GoBackN, false, ""},
		{"", "rocev2-pfc-only", "adaptive", "recovery: irn", rdma.IRN, true, ""},
		{"", "rocev2-ecn-only", "adaptive", "", rdma.SelectiveRepeat, false, "as queues drop (stack rocev2-ecn-only has no lossless class)"}, // a gap may be a loss
		{"", "rocev2-none", "spray", "", rdma.SelectiveRepeat, false, "sent again in vain; nic.out_of_order: true waits for it"},
		{"", "rocev2-none", "spray", "out_of_order: true", rdma.SelectiveRepeat, true, ""},
		{"", "rocev2-none", "spray", "recovery: go-back-n", rdma.GoBackN, false, "nic.recovery: go-back-n sends all of them again"},
		{"", "rocev2-irn", "spray", "", rdma.IRN, false, "as queues drop (stack rocev2-irn has no lossless class)"},
		{"", "rocev2-lossy", "adaptive", "out_of_order: true", rdma.SelectiveRepeat, true, ""},
		{", loss: 0.001", "rocev2", "adaptive", "", rdma.SelectiveRepeat, false, "as links lose packets, receivers take each gap for a loss"},
		{"", "rocev2", "adaptive", "recovery: go-back-n", rdma.GoBackN, false, "nic.recovery: go-back-n sends all of them again"},
		{"", "infiniband", "spray", "recovery: go-back-0", rdma.GoBack0, false, "nic.recovery: go-back-0 sends all of them again"},
		{"", "rocev2", "adaptive", "preset: e810", rdma.GoBackN, false, "no Intel E810 is known to take them in any order"},
		{"", "rocev2", "spray", "preset: e810, recovery: selective-repeat", rdma.SelectiveRepeat, true, ""},
		{"", "rocev2", "adaptive", "preset: connectx-7", rdma.SelectiveRepeat, true, ""},
		{"", "rocev2", "adaptive", "out_of_order: false", rdma.SelectiveRepeat, false, "though nothing was lost; leave out_of_order out"},
	} {
		v := parse(t, fmt.Sprintf(text, c.link, c.stack, c.routing, c.nic))
		got, said := &v.Transports[0], strings.Join(v.Warnings, "\n")
		if got.Recovery != c.recovery || got.OutOfOrder != c.anyOrder || !strings.Contains(said, c.warning) || c.warning == "" && strings.Contains(said, "overtake") {
			t.Errorf("%+v: %v, any order %v, warnings %q", c, got.Recovery, got.OutOfOrder, said)
		}
	}
	// One host's card is enough to keep all from it: both ends of a connection need the same.
	v := parse(t, fmt.Sprintf(text, "", "rocev2", "adaptive", "preset: connectx-7")+"hosts: {h1: {preset: connectx-5}}\n")
	if v.Transports[0].Recovery != rdma.GoBackN || !strings.Contains(strings.Join(v.Warnings, "\n"), "no NVIDIA ConnectX-5 is known") {
		t.Errorf("mixed cards: %v, %q", v.Transports[0].Recovery, v.Warnings)
	}
	// Two round trips of 400 us at 100 Gb/s: 2442 packets, and what switches and frames add.
	v = parse(t, fmt.Sprintf(text, ", delay: 50us", "rocev2", "adaptive", ""))
	if got := v.Transports[0].Bitmap; got < 2441 || got > 2470 {
		t.Errorf("bitmap %d over 400 us", got)
	}
	// Senders of TCP and receivers of UC have no key that cures it; with one path nothing overtakes.
	for _, c := range []struct{ spines, entry, want string }{
		{"2", ", stack: tcp", "which TCP takes for losses"},
		{"2", ", service: uc", "a UC receiver gives up each message"},
		{"1", ", stack: tcp", ""},
		{"1", ", service: uc", ""},
	} {
		v := parse(t, strings.NewReplacer("spines: 2", "spines: "+c.spines, "size: 1MB", "size: 1MB"+c.entry).Replace(fmt.Sprintf(text, "", "rocev2", "spray", "")))
		said := strings.Join(v.Warnings, "\n")
		if !strings.Contains(said, c.want) || (c.want != "") != strings.Contains(said, "overtake") {
			t.Errorf("%+v: warnings %q", c, said)
		}
	}
}
