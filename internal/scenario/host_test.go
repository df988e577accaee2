package scenario

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/units"
)

// What hosts and cards cost holds in every stack, for all hosts and for one.
func TestHostInEveryStack(t *testing.T) {
	const text = `
topology: {star: {hosts: 3, link: 100Gbps}}
nic: {qpc_cache: 100, max_rd_atomic: 4}
host: {post: 200ns, register: once, registration: {base: 1us, per_page: 10ns}, page_size: 2MB}
hosts: {h1: {repost: 5us, connect: 1ms, mtt_cache: 2048, max_inline: 64B}}
workload:
  - flow: {from: h0, to: h1, size: 1KB, verb: send}
`
	for _, stack := range StackNames() {
		v, err := parseStack("s.yaml", []byte(text), stack, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", stack, err)
			continue
		}
		all := Host{Register: RegisterOnce, RegisterBase: units.Microsecond, RegisterPage: 10 * units.Nanosecond, PageSize: 2 * units.MiB}
		all.Spec, _ = host.Preset("free")
		if OverTCP(stack) {
			all.Spec, _ = host.Preset("linux-xeon")
		}
		all.Post = 200 * units.Nanosecond
		one := all
		one.Reposts, one.Repost, one.Connect = true, 5*units.Microsecond, units.Millisecond
		h0, h1 := &v.NICs[mustNode(t, v, "h0")], &v.NICs[mustNode(t, v, "h1")]
		if h0.Host != all || h1.Host != one {
			t.Errorf("%s: hosts cost %+v and %+v, want %+v and %+v", stack, h0.Host, h1.Host, all, one)
		}
		if h0.QPCCache != 100 || h0.MTTCache != 0 || h1.MTTCache != 2048 || h0.MaxRdAtomic != 4 || h1.MaxDestRdAtomic != 16 ||
			h0.MaxInline != 220 || h1.MaxInline != 64 || h0.DrainRate != 100*units.Gbps || h0.CacheMiss != 547*units.Nanosecond {
			t.Errorf("%s: cards are %+v and %+v", stack, h0, h1)
		}
	}
}

// A host that ends a TCP connection is a server with Linux unless the scenario says
// otherwise; one with RDMA alone costs nothing.
func TestHostsOfTCPHaveCosts(t *testing.T) {
	const hosts = "topology: {star: {hosts: 5, link: 100Gbps}}\n"
	const mixed = hosts + `workload:
  - flow: {from: h0, to: h1, size: 1KB}
  - flow: {from: h1, to: h2, size: 1KB, stack: dctcp}
`
	const server = "the default of hosts that run TCP"
	for _, c := range []struct{ text, want, note string }{
		{"stack: tcp\n" + hosts + "workload: [flow: {from: h0, to: h1, size: 1KB}]\n", "24 24 24 24 24", server + ": Cai"},
		{mixed, "1 24 24 1 1", server + ", others cost nothing: Cai"},
		{mixed + "host: {cores: 4}\n", "4 4 4 4 4", server + ", others cost nothing: Cai"},
		{mixed + "host: {cores: 4}\nhosts: {h0: {preset: linux-xeon}, h2: {preset: free}}\n", "24 4 1 4 4", server + ", others cost nothing: Cai"},
		{mixed + "host: {preset: linux-xeon}\n", "24 24 24 24 24", fromScenario},
		{mixed + "host: {preset: free}\n", "1 1 1 1 1", fromScenario},
		{hosts + "workload: [flow: {from: h0, to: h1, size: 1KB}]\n", "1 1 1 1 1", ""},
	} {
		v, err := parseStack("s.yaml", []byte(c.text), "", nil, nil)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var cores []string
		for n := range 5 {
			cores = append(cores, fmt.Sprint(v.NICs[mustNode(t, v, fmt.Sprintf("h%d", n))].Host.Cores))
		}
		if got := strings.Join(cores, " "); got != c.want {
			t.Errorf("%scores %s, want %s", c.text, got, c.want)
		}
		source := ""
		for _, n := range v.Notes {
			if n.Key == "host.preset" {
				source += n.Source
			}
		}
		if !strings.HasPrefix(source, c.note) || source != "" && c.note == "" {
			t.Errorf("%spreset from %q, want %q", c.text, source, c.note)
		}
	}
}

// A run says which hosts with TCP cost nothing.
func TestFreeHostsAreNamed(t *testing.T) {
	const text = "stack: tcp\ntopology: {star: {hosts: 4, link: 100Gbps}}\nworkload: [incast: {to: h0, size: 1KB}]\n"
	const nothing = "cost nothing, so that the network alone bounds TCP there"
	for _, c := range []struct{ host, key, want string }{
		{"", "host.free", ""},
		{"host: {preset: free}\n", "host.preset", "free: hosts " + nothing},
		{"hosts: {h2: {preset: free}}\n", "host.free", "h2 costs nothing, so that the network alone bounds TCP there"},
		{"hosts: {h1: {preset: free}, h2: {preset: free}, h3: {preset: free}}\n", "host.free", "h1 and 2 more " + nothing},
		{"host: {preset: free}\nhosts: {h1: {preset: linux-xeon}}\n", "host.free", "h0 and 2 more " + nothing},
	} {
		v, err := parseStack("s.yaml", []byte(text+c.host), "", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, n := range v.Notes {
			if n.Key == c.key {
				got += n.Value
			}
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.host, got, c.want)
		}
	}
}
