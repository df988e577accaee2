package scenario

import (
	"slices"
	"strings"
	"testing"
)

// What iWARP lacks, and what its segments and cards cannot carry, is refused in one line that says why.
func TestBadIWARP(t *testing.T) {
	const star = "topology: {star: {hosts: 4, link: 100Gbps}}\n"
	flow := func(rest string) string { return "workload: [{flow: {from: h0, to: h1, size: 1MB" + rest + "}}]\n" }
	for _, c := range []struct{ name, src, want string }{
		{"immediate data", "stack: iwarp\n" + star + flow(", verb: write-imm"),
			`s.yaml:3:55: workload[0].flow.verb: iWARP has no immediate data before RFC 7306, and write-imm brings some; use write, send, send-inv or read`},
		{"atomics", "stack: iwarp\n" + star + "workload: [{flow: {from: h0, to: h1, verb: fetch-add}}]\n",
			`s.yaml:3:44: workload[0].flow.verb: iWARP has no atomics before RFC 7306, and fetch-add is one; use write, send, send-inv or read`},
		{"datagrams", "stack: iwarp\n" + star + flow(", service: ud"),
			`s.yaml:3:58: workload[0].flow.service: iWARP has no datagrams: a stream of TCP has one peer; use service: rc, or an RoCEv2 stack`},
		{"unreliable connections", "stack: iwarp\n" + star + flow(", service: uc"),
			`s.yaml:3:58: workload[0].flow.service: iWARP has no unreliable connections: TCP repairs losses; use service: rc, or an RoCEv2 stack`},
		{"markers in small segments", "stack: iwarp\ntcp: {mss: 130}\niwarp: {markers: true}\n" + star + flow(""),
			`s.yaml:3:18: iwarp: segments of 118 B, markers taken off, leave 106 B for DDP, and MPA wants 128 at least (RFC 5044); raise tcp.mtu or tcp.mss, or leave markers out`},
		{"a switch with a smaller MTU", "stack: iwarp\ntcp: {mtu: 9600}\nswitch: {mtu: 9000}\n" + star + flow(""),
			`s.yaml:2:12: an IP packet of tcp.mtu, 9600 B, does not fit the port MTU 9000 of sw; lower tcp.mtu or raise the port MTU`},
		{"a host with a smaller MTU", "stack: iwarp\nhosts: {h1: {mtu: 1500}}\n" + star + flow(""),
			`s.yaml:2:19: an IP packet of tcp.mtu, 9000 B, does not fit the port MTU 1500 of h1; lower tcp.mtu or raise the port MTU`},
		{"over InfiniBand", "stack: infiniband\n" + star + flow(", stack: iwarp"),
			`s.yaml:3:56: workload[0].flow.stack: iWARP is carried by TCP, which needs Ethernet, and the stack infiniband has none; give stack: iwarp to the scenario, or leave stack out here`},
		{"beside RoCEv2", "stack: rocev2\n" + star + flow(", stack: iwarp"),
			`s.yaml:3:56: workload[0].flow.stack: "iwarp" beside "rocev2": a fabric is set up for one stack, beside which only tcp and dctcp can run; leave stack out here`},
		{"an MTU of RDMA that there is none of", "stack: iwarp\nmtu: 1500\n" + star + flow(""),
			`s.yaml:2:6: mtu: "1500": the stack iwarp has no path MTU, and the MTU of its IP packets is tcp.mtu; give tcp: {mtu: 1500}`},
		{"a card without MPA", "stack: iwarp\nhosts: {h1: {preset: connectx-7}}\n" + star + flow(""),
			`s.yaml:4:13: workload[0]: the card of h1, NVIDIA ConnectX-7, speaks no MPA, so that the request of h0 for an iWARP connection has no answer; give nic.preset: ideal, e810 or chelsio-t6; iwarp.preset: siw, which asks nothing of a card; or an RoCEv2 stack`},
		{"jobs", "stack: iwarp\ntopology: {rail: {servers: 2, rails: 8, spines: 1, link: 400Gbps}}\nserver: dgx-h100\n" +
			"jobs:\n  - {operations: [{send: {to: 8, size: 1MB, ranks: 0}}, {recv: {from: 0, size: 1MB, ranks: 8}}]}\n",
			`s.yaml:5:6: jobs[0]: operations of jobs are writes with immediate data, which iWARP has none of before RFC 7306; take another RDMA stack`},
		{"markers of the kernel", "stack: iwarp\niwarp: {preset: siw, markers: true}\n" + star + flow(""),
			`s.yaml:2:31: iwarp.markers: siw rejects a peer that asks for markers (Linux siw_cm.c); leave markers out, or take preset: offload`},
		{"the kernel in a server", "stack: iwarp\niwarp: {preset: siw}\nserver: dgx-h100\n" + star + flow(""),
			`s.yaml:2:17: iwarp.preset: siw on h0, which has a server: the way of what a kernel receives to memory and GPUs is not modelled for iWARP; leave server out, or take preset: offload`},
		{"ECN of its own beside DCTCP", "stack: iwarp\niwarp: {cc: dctcp, ecn: classic}\n" + star + flow(""),
			`s.yaml:2:25: iwarp.ecn: DCTCP has a use of ECN of its own; leave ecn out, or give another cc`},
		{"a controller of RoCEv2", "stack: iwarp\ncontroller: hpcc\n" + star + flow(""),
			`s.yaml:2:13: controller: hpcc is for RoCEv2, and the stack is iwarp; take the stack rocev2, or leave controller out`},
	} {
		_, err := Parse("s.yaml", []byte(c.src), nil, nil)
		if got := errText(err); got != c.want {
			t.Errorf("%s:\n got  %s\n want %s", c.name, got, c.want)
		}
	}
}

// What acknowledges and repairs queue pairs with sequence numbers of packets has no effect on those that TCP carries.
func TestIdleForIWARP(t *testing.T) {
	const text = "stack: iwarp\ntopology: {star: {hosts: 2, link: 100Gbps}}\nworkload: [{flow: {from: h0, to: h1, size: 1MB}}]\n"
	for _, key := range []string{"nic: {retry: 3}", "nic: {qpc_cache: 4}", "nic: {recovery: go-back-n}", "nic: {timeout: 10}",
		"mtu: 1024", "packet_payload: 1000B"} {
		v, err := Parse("s.yaml", []byte(text+key+"\n"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(v.Warnings, func(w string) bool { return strings.Contains(w, "has no effect") }) {
			t.Errorf("%s: no warning among %q", key, v.Warnings)
		}
	}
}

// Figures that nobody published say so.
func TestIWARPNotes(t *testing.T) {
	v, err := Parse("s.yaml", []byte("stack: iwarp\nnic: {preset: chelsio-t6}\niwarp: {markers: true}\n"+
		"topology: {star: {hosts: 2, link: 100Gbps}}\nworkload: [{flow: {from: h0, to: h1, size: 1MB}}]\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	source := map[string]string{}
	for _, n := range v.Notes {
		source[n.Key] = n.Source
	}
	for _, key := range []string{"iwarp.tcp.rto_min", "iwarp.tcp.sndbuf", "iwarp.tcp.timestamps", "iwarp.tcp.initial_window"} {
		if !strings.Contains(source[key], "assumed") {
			t.Errorf("%s [%s]: want assumed", key, source[key])
		}
	}
	if source["iwarp.markers"] != "scenario" {
		t.Errorf("iwarp.markers [%s]", source["iwarp.markers"])
	}
}
