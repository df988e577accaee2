package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/workload"
)

// Bad collectives are one line that says where, what and what would be right.
func TestBadCollectives(t *testing.T) {
	const star = "topology: {star: {hosts: 4, link: 100Gbps}}\n"
	for _, c := range []struct{ text, want string }{
		{star + "workload: [collective: {size: 1KB}]\n", `s.yaml:2:25: workload[0].collective has no op; give one of allreduce, reducescatter,`},
		{star + "workload: [collective: {op: allreduce}]\n", `s.yaml:2:25: workload[0].collective has no size; give the bytes of the operation, as nccl-tests does, such as size: 64MB`},
		{star + "workload: [collective: {op: allreduc, size: 1KB}]\n", `s.yaml:2:29: workload[0].collective.op: "allreduc" is not known; did you mean "allreduce"?`},
		{star + "workload: [collective: {op: allreduce, size: 10B}]\n", `s.yaml:2:25: workload[0].collective: size 10B is no whole number of elements of 4B; give 8B`},
		{star + "workload: [collective: {op: allgather, size: 100B}]\n", `s.yaml:2:25: workload[0].collective: size 100B does not divide into the equal parts of 4 ranks; give a multiple of 16B such as 96B`},
		{star + "workload: [collective: {op: allreduce, size: 1KB, ranks: [h2]}]\n", `s.yaml:2:25: workload[0].collective: a collective over 1 rank moves nothing; give at least two ranks`},
		{star + "workload: [collective: {op: allreduce, size: 1KB, ranks: [h2, h3, h2]}]\n", `s.yaml:2:25: workload[0].collective: ranks 0 and 2 are the same;`},
		{star + "workload: [collective: {op: alltoall, size: 1600B, algorithm: tree}]\n", `s.yaml:2:25: workload[0].collective: alltoall has no algorithm tree; use pairwise`},
		{star + "workload: [collective: {op: allreduce, size: 1KB, verb: read}]\n", `s.yaml:2:51: unknown key "verb" in workload[0].collective`},
		{star + "workload: [collective: {op: allreduce, size: 1KB, ranks: [h0/gpu0, h1]}]\n", `s.yaml:2:59: workload[0].collective.ranks: h0 has no server, so no "gpu0";`},
		{star + "server: dgx-a100\nworkload: [collective: {op: allreduce, size: 1KB, ranks: [h0/gpu8, h1]}]\n", `s.yaml:3:59: workload[0].collective.ranks: h0, a dgx-a100, has no GPU or memory "gpu8"; it has gpu0 to gpu7,`},
		{star + "server: dgx-a100\nworkload: [collective: {op: allreduce, size: 1KB, overhead: 1us}]\n", `s.yaml:3:61: workload[0].collective.overhead: stands for what steps take on plain hosts; ranks that are GPUs have costs`},
		{star + "server: dgx-a100\nworkload: [collective: {op: allreduce, size: 1KB, costs: {pol: 1us}}]\n", `s.yaml:3:59: unknown key "pol" in workload[0].collective.costs; did you mean "poll"?`},
		{star + "stack: tcp\nworkload: [collective: {op: allreduce, size: 1000B, algorithm: ring, protocol: simple, ranks: [h0, h1, h2]}]\n", `s.yaml:3:25: workload[0].collective: over TCP all messages of a collective's connection must be equal,`},
		{"topology: {rail: {servers: 2, rails: 4, link: 100Gbps}}\nserver: dgx-a100\nworkload: [collective: {op: allreduce, size: 1KB, algorithm: single-ring}]\n",
			`s.yaml:3:12: workload[0]: no path leads from h0:4 to h1:1; hosts do not forward, so join them by switches, or keep to rails, which lead from port to port (h0:1 to h1:1): algorithm: ring does, with PXN`},
		{star + "workload: [collective: {op: allreduce, size: 1KB, root: 1}]\n", ""}, // ignored, with a warning
	} {
		v, err := Parse("s.yaml", []byte(c.text), nil, nil)
		switch {
		case c.want == "" && (err != nil || !strings.Contains(strings.Join(v.Warnings, "\n"), "workload[0].collective.root has no effect: allreduce has no root")):
			t.Errorf("%s: %v", c.text, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// Ranks are GPUs where there are any, hosts by their first port otherwise; each GPU
// goes out by the card that is nearest to it.
func TestRanks(t *testing.T) {
	for _, c := range []struct {
		text, algorithm string
		conns           int
	}{
		{"topology: {rail: {servers: 4, rails: 2, link: 100Gbps}}\nworkload: [collective: {op: allreduce, size: 64KB, algorithm: ring, protocol: simple}]\n", "ring", 4},
		{"topology: {rail: {servers: 4, rails: 8, link: 100Gbps}}\nserver: dgx-h100\nworkload: [collective: {op: allreduce, size: 64MiB, algorithm: hierarchical, protocol: simple}]\n", "ring", 64},
		{"topology: {rail: {servers: 4, rails: 2, link: 100Gbps}}\nserver: dgx-h100\nworkload: [collective: {op: allreduce, ranks: hosts, size: 64KB, algorithm: ring, protocol: simple}]\n", "ring", 4},
	} {
		v, err := Parse("s.yaml", []byte(c.text), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		data := 0
		for i := range v.Plan.Conns {
			x := &v.Plan.Conns[i]
			if x.Slots {
				continue
			}
			data++
			if x.SrcDevice != workload.NoDevice {
				s := v.NICs[v.Graph.HostOf(x.Src)].Server
				if port := v.Graph.Endpoints[x.Src].Port; s.Devices[x.SrcDevice].Name != "gpu"+string(rune('0'+port)) {
					t.Errorf("port %d carries %s", port, s.Devices[x.SrcDevice].Name)
				}
			}
		}
		if got := v.Plan.Collectives[0].Algorithm; got != c.algorithm || data != c.conns {
			t.Errorf("%s: %s over %d connections, want %s over %d", c.text, got, data, c.algorithm, c.conns)
		}
	}
}

// What cannot matter is not warned of, and what has no effect is: a collective inside
// one server meets no switch that could mark, and hosts have no GPUs.
func TestCollectiveWarnings(t *testing.T) {
	const star = "topology: {star: {hosts: 2, link: 400Gbps}}\ndcqcn: nvidia\nswitch: {ecn: none}\n"
	const marks, direct = "DCQCN runs but no switch marks", "workload[0].collective.gpudirect has no effect: no rank is a GPU"
	for _, c := range []struct{ text, want string }{
		{star + "server: dgx-h100\nworkload: [collective: {op: sendrecv, size: 64KB, ranks: [h0/gpus]}]\n", ""},
		{star + "server: dgx-h100\nworkload: [collective: {op: sendrecv, size: 64KB}]\n", marks},
		{star + "server: dgx-h100\nworkload: [collective: {op: sendrecv, size: 64KB, ranks: [h0/gpus], gpudirect: off}]\n", ""},
		{"topology: {star: {hosts: 2, link: 400Gbps}}\ndcqcn: none\nworkload: [collective: {op: sendrecv, size: 64KB, gpudirect: off}]\n", direct},
	} {
		v, err := Parse("s.yaml", []byte(c.text), nil, nil)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got := strings.Join(v.Warnings, "\n"); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", c.text, got, c.want)
		}
	}
}

// TestCollectivesHaveNoNagle: NCCL sets TCP_NODELAY on its sockets (misc/socket.cc); flows
// beside a collective have what tcp.nagle says.
func TestCollectivesHaveNoNagle(t *testing.T) {
	v, err := Parse("s.yaml", []byte("stack: tcp\n"+base+"  - collective: {op: allreduce, size: 1MiB}\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range v.Plan.Conns {
		if c := &v.Plan.Conns[i]; c.NoDelay != (c.Entry == 1) {
			t.Errorf("connection %d of entry %d: TCP_NODELAY %v", i, c.Entry, c.NoDelay)
		}
	}
}

// Sums in place of messages are refused where a collective has none.
func TestSumsRefused(t *testing.T) {
	const rail = "topology: {rail: {servers: 2, rails: 8, link: 400Gbps}}\nserver: dgx-h100\n"
	for _, c := range []struct{ text, want string }{
		{rail + "carry_data: true\nworkload: [{collective: {op: allreduce, size: 1MiB, algorithm: ring, records: sums}}]", "carry_data"},
		{rail + "workload: [{collective: {op: allreduce, size: 1MiB, records: none}}]", "records"},
	} {
		if _, err := Parse("c", []byte("name: c\n"+c.text+"\n"), nil, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}
