package metrics_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
)

// What a connection waits for is looked for before its windows are blamed. Each case was held to
// experiments: what it names was taken away (hopscope whatif).
func TestStreamCauses(t *testing.T) {
	const star = `
name: star
stack: tcp
host: {preset: free}
topology: {star: {hosts: 4, link: {rate: 100Gbps, delay: 10us}}}
`
	for _, c := range []struct {
		name, text string
		message    int
		set        []string
		kind       catalog.Cause
		place      string
		then       catalog.Cause
		how        string
	}{
		// 64 KiB per round trip of 40 us are 13 Gb/s of 100.
		{"small window", star + "workload: [{flow: {from: h0, to: h1, size: 4MB}}]", 0, []string{"tcp.rcvbuf=64KiB", "tcp.autotuning=false"},
			catalog.CausePeerWindow, "h0 tcp 0", 0, "too little for the round trip of"},
		{"small send buffer", star + "workload: [{flow: {from: h0, to: h1, size: 4MB}}]", 0, []string{"tcp.sndbuf=64KiB", "tcp.autotuning=false"},
			catalog.CauseSendBuffer, "h0 tcp 0", 0, "too little for the round trip of"},
		// Ten segments and a second round trip it takes in any case.
		{"small window of a short message", star + "workload: [{flow: {from: h0, to: h1, size: 100KB}}]", 0, nil,
			catalog.CausePeerWindow, "h0 tcp 0", catalog.CauseCwnd, "without it the congestion window, which begins at 89.5 KB, holds it about as long"},
		{"slow start", star + "workload: [{flow: {from: h0, to: h1, size: 1MB}}]", 0, []string{"tcp.rcvbuf=16MiB", "tcp.autotuning=false"},
			catalog.CauseCwnd, "h0 tcp 0", 0, "it begins at 89.5 KB and was not cut"},
		// A queue of others, on a way that takes 3 us.
		{"queue", star + "workload: [{incast: {to: h3, size: 4MB}}]", 0, []string{"topology.star.link.delay=100ns", "tcp.rcvbuf=64KiB", "tcp.autotuning=false"},
			catalog.CausePort, "sw:4", 0, "each in the queue of sw:4"},
		{"class ahead", `
name: starved
stack: rocev2-pfc-only
switch: {buffer: 32MB, scheduler: {strict: [3, 6, 7]}}
topology: {star: {hosts: 4, link: {rate: 25Gbps, length: 30m}}}
workload:
  - {flow: {from: h0, to: h3, size: 4MB, class: 3}}
  - {flow: {from: h1, to: h3, size: 4MB, class: 3}}
  - {flow: {from: h2, to: h3, size: 1MB, stack: tcp}}
`, 2, nil, catalog.CauseClass, "sw:4", 0, "behind prio 3, which is served first"},
		// Interrupts come late, and the congestion window, as small, waits for them too.
		{"cores", `
name: cores
stack: tcp
topology: {star: {hosts: 2, link: {rate: 100Gbps, length: 30m}}}
workload: [{flow: {from: h0, to: h1, size: 100KB}}]
`, 0, nil, catalog.CauseCore, "h1", catalog.CauseCore, "that h1 took to take the last of it in and read it, the wait for interrupts included (moderation adaptive)"},
		// One core of h0 copies, makes segments and takes acknowledgements in: the link waits for it.
		{"kernel that runs iWARP", strings.Replace(star, "tcp\nhost: {preset: free}", "iwarp\niwarp: {preset: siw}", 1) +
			"workload: [{flow: {from: h0, to: h1, size: 4MB}}]", 0, []string{"topology.star.link.delay=100ns"},
			catalog.CauseCore, "h0", 0, "the kernel under h0 qp 0 copied it and made segments of it"},
		{"marks", `
name: marks
stack: dctcp
topology: {star: {hosts: 9, link: 10Gbps}}
workload: [{incast: {to: h8, size: 1MB}}]
`, 0, nil, catalog.CausePort, "sw:9", 0, "sw:9 marked"},
		{"drops", star + "switch: {buffer: 300KB}\nworkload: [{incast: {to: h3, size: 4MB}}]", 0, []string{"topology.star.link.delay=100ns"},
			catalog.CausePort, "sw:4", 0, "sw:4"},
	} {
		r := simulate(t, c.text, c.set...)
		d := metrics.DominantStage(r, c.message)
		then := catalog.NoCause
		if d.Cause.Then != nil {
			then = d.Cause.Then.Kind
		}
		if d.Cause.Kind != c.kind || d.Where != c.place || then != c.then || !strings.Contains(d.How, c.how) {
			t.Errorf("%s: %s at %s, then %s: %d %% %s; want %s at %s, then %s: %s", c.name, d.Cause.Kind, d.Where, then, d.Milli/10, d.How, c.kind, c.place, c.then, c.how)
		}
	}
}

// All that a host's cores did for a message counts together.
func TestCoresTogether(t *testing.T) {
	r := simulate(t, "name: cores\nstack: tcp\ntopology: {star: {hosts: 2, link: 100Gbps}}\nworkload: [{flow: {from: h0, to: h1, size: 20KB}}]\n")
	d := metrics.DominantStage(r, 0)
	stages := ""
	for _, p := range d.Parts {
		stages += p.Stage.String() + " "
	}
	if d.Cause.Kind != catalog.CauseCore || d.Where != "h1" || stages != "interrupt and input receiving application " {
		t.Errorf("%s at %s: %s", d.Cause.Kind, d.Where, stages)
	}
}

// What a card reads from memory waits for the slowest link inside, for others that share the
// card where no link is slower than the line, and then for the links of the receiver.
func TestReadCauses(t *testing.T) {
	const servers = `
name: servers
stack: rocev2-pfc-only
topology: {star: {hosts: 3, link: {rate: %, length: 30m}}}
server: dgx-a100
workload:
  - {flow: {from: h0/gpu0, to: h1/gpu0, size: 1MB}}
`
	narrow := "hosts: {h0: {server: {links: {nic0: {gen: 3, width: 4}}}}}\n"
	both := "  - {flow: {from: h0/gpu0, to: h2/gpu0, size: 1MB}}\n"
	for _, c := range []struct {
		name, text string
		kind       catalog.Cause
		place      string
		then       bool
	}{
		{"narrow link", strings.Replace(servers, "%", "200Gbps", 1) + narrow, catalog.CauseInside, "h0 PCIe gen3 x4, switch0 to nic0", false},
		{"the other end as narrow", strings.Replace(servers, "%", "400Gbps", 1), catalog.CauseInside, "h0 PCIe gen4 x16", true},
		{"shared card", strings.Replace(servers, "%", "200Gbps", 1) + both, catalog.CausePort, "h0:1", false},
	} {
		d := metrics.DominantStage(simulate(t, c.text), 0)
		if d.Cause.Kind != c.kind || !strings.HasPrefix(d.Where, c.place) || (d.Cause.Then != nil) != c.then {
			t.Errorf("%s: %s at %s, then %+v: %d %% %s", c.name, d.Cause.Kind, d.Where, d.Cause.Then, d.Milli/10, d.How)
		}
	}
}

// Who begins after a message's end is not counted among those it shared a port with, and
// changes no word.
func TestLaterFlowsAreNotCounted(t *testing.T) {
	const flows = `
name: later
stack: rocev2-pfc-only
topology: {star: {hosts: 4, link: 100Gbps}}
workload:
  - {flow: {from: h0, to: h3, size: 1MB}}
  - {flow: {from: h1, to: h3, size: 1MB}}
  - {flow: {from: h0, to: h2, size: 1MB}}
`
	const later = "  - {flow: {from: h2, to: h3, size: 1MB, start: 1ms}}\n  - {flow: {from: h0, to: h1, size: 1MB, start: 1ms}}\n"
	alone, with := simulate(t, flows), simulate(t, flows+later)
	for i := range 3 {
		a, b := metrics.DominantStage(alone, i), metrics.DominantStage(with, i)
		if a.How != b.How || a.Cause.Kind != b.Cause.Kind || a.Milli != b.Milli {
			t.Errorf("message %d: %q; with later flows %q", i, a.How, b.How)
		}
		if !strings.Contains(a.How, "1 other queue pair") {
			t.Errorf("message %d: %q, want one that it shares the port with", i, a.How)
		}
	}
}
