package metrics_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

const oneStream = `
name: one stream
stack: tcp
topology: {star: {hosts: 2, link: 100Gbps, length: 5m}}
host: {preset: linux-xeon}
workload: [{flow: {from: h0, to: h1, size: 50MB}}]
`

// The core that receives is full, and is what the receive window is told to be due
// to; with copies and input that cost nothing it is not, and neither is named.
func TestFullCore(t *testing.T) {
	r := simulate(t, oneStream, "tcp.hystart=off")
	d, _ := metrics.Explain(r, 0)
	if want := "core 0 of h1, with the application and softirqs of that end, was busy for 9"; d.Stage.String() != "receive window" || !strings.Contains(d.How, want) {
		t.Errorf("%s: %s, want %q", d.Stage, d.How, want)
	}
	bills := metrics.Cores(r, 0)
	if len(bills) != 2 || bills[0].Host != "h0" || bills[1].Host != "h1" {
		t.Fatalf("%+v", bills)
	}
	for i, b := range bills {
		share := 0.0
		for _, c := range b.Causes {
			share += c.Share
		}
		if full := b.Busy >= 0.9; full != (i == 1) || b.CorePS != r.Processors[i].TotalPS() || share < 0.999999 || share > 1.000001 {
			t.Errorf("%+v", b)
		}
	}
	r = simulate(t, oneStream, "tcp.hystart=off", "tcp.rcvbuf=64KB")
	if d, _ = metrics.Explain(r, 0); d.Stage.String() != "receive window" || !strings.Contains(d.How, "its buffer holds 64.0 KB at the end, too little for the round trip of") {
		t.Errorf("a small buffer: %s: %s", d.Stage, d.How)
	}
}

// Without window scaling the window is told to be at its limit.
func TestUnscaled(t *testing.T) {
	r := simulate(t, oneStream, "tcp.window_scaling=false")
	d, _ := metrics.Explain(r, 0)
	if want := "without window scaling (RFC 7323) it is 65.5 KB at most, too little for the round trip of"; d.Stage.String() != "receive window" || !strings.Contains(d.How, want) {
		t.Errorf("%s: %s, want %q", d.Stage, d.How, want)
	}
	if d, _ = metrics.Explain(simulate(t, oneStream), 0); strings.Contains(d.How, "window scaling") {
		t.Errorf("with it: %s", d.How)
	}
}

// Calls come faster than a core can make them: whatever stage their wait shows in, the
// full core is named, with what is missing from the ceiling too. Half as fast it is not.
func TestFullCoreOfTheSender(t *testing.T) {
	const calls = `
name: calls
stack: tcp
topology: {star: {hosts: 4, link: 100Gbps, length: 5m}}
workload: [{rpc: {between: [h0, h1], size: 100B, every: 2us, count: 1000}}]
`
	r := simulate(t, calls)
	last := len(r.Messages) - 1
	d, c := metrics.Explain(r, last)
	if want := "core 0 of h0, with the application and softirqs of that end, was busy for"; !strings.Contains(d.How+d.Core, want) || !strings.Contains(c.How, want) || d.Stage != catalog.StageEarlierWork {
		t.Errorf("%+v\n%+v", d, c)
	}
	if strings.Contains(d.How, "what held its messages most: sending") {
		t.Error(d.How)
	}
	if d, _ = metrics.Explain(simulate(t, strings.Replace(calls, "2us", "20us", 1)), last); strings.Contains(d.How+d.Core, "was busy for") {
		t.Errorf("%+v", d)
	}
}

// Cores that fall behind let the receive queue overflow: the report of mechanisms counts
// what the port does, and with a queue that is long enough says that all found room.
func TestReceiveQueueDrops(t *testing.T) {
	state := func(ring string) (s metrics.State, dropped int64) {
		r := simulate(t, oneStream, "host.ring="+ring)
		for i := range r.Processors {
			dropped += r.Processors[i].RingDrops
		}
		for _, s = range metrics.Mechanisms(r, 1) {
			if s.Mechanism == catalog.ReceiveDrop {
				break
			}
		}
		return s, dropped
	}
	if s, dropped := state("8"); dropped == 0 || s.Count != dropped {
		t.Errorf("the queues dropped %d frames: %+v", dropped, s)
	}
	if s, dropped := state("4096"); dropped != 0 || s.Armed == 0 || !strings.Contains(s.Why, "found room in its receive queue") {
		t.Errorf("the queues dropped %d frames: %+v", dropped, s)
	}
}

// The ceiling tells of the flows that shared a port while a message was under way, and
// not of those before or after it.
func TestShared(t *testing.T) {
	const incast = `
name: incast
stack: tcp
topology: {star: {hosts: 5, link: 100Gbps, length: 5m}}
host: {preset: free}
workload:
  - incast: {from: [h0, h1, h2], to: h4, size: 4MB}
  - flow: {from: h3, to: h4, size: 4MB, start: 1s}
`
	r := simulate(t, incast)
	if _, c := metrics.Explain(r, 0); c.Shared != "3 flows shared sw:5, 33.0 Gb/s each" {
		t.Errorf("%q", c.Shared)
	}
	if _, c := metrics.Explain(r, 3); c.Shared != "" {
		t.Errorf("alone: %q", c.Shared)
	}
}

// An end whose application runs on another core than its softirqs has two bills.
func TestCoresApart(t *testing.T) {
	r := simulate(t, oneStream, "host.steering=rss", "host.numa={sockets: 4, application: remote}")
	bills := metrics.Cores(r, 0)
	if len(bills) != 4 || bills[2].Core == bills[3].Core || bills[2].Does != "application" || bills[3].Does != "softirqs" {
		t.Fatalf("%+v", bills)
	}
	if bills[2].Causes[0].Cause != "syscall" || bills[2].CorePS+bills[3].CorePS != r.Processors[1].TotalPS() {
		t.Errorf("%+v", bills)
	}
	if got := metrics.Cores(simulate(t, oneStream, "host.preset=free"), 0); got != nil {
		t.Errorf("a host that costs nothing: %+v", got)
	}
}

// A link fails while a window is nearly closed, and the update that opens it is lost
// with it: that is told, not that the application is slow.
func TestUpdateLost(t *testing.T) {
	r := simulate(t, `
name: link failure
stack: tcp
topology:
  leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 4, link: 100Gbps, length: 10m}
  links: [{between: [leaf1, spine1], down_at: 200us}]
failover: {detect: 200us, converge: 800us}
workload: [{permutation: {size: 10MB}}]
`)
	told := 0
	for i := range r.Messages {
		d, _ := metrics.Explain(r, i)
		if d.Stage != catalog.StageReceiveWindow || r.Messages[i].CompletionPS < 100*units.Millisecond {
			continue
		}
		told++
		if want := "an update that said there was room again was lost"; !strings.Contains(d.How, want) {
			t.Errorf("%s, want %q", d.How, want)
		}
	}
	if told == 0 {
		t.Error("no message waited for a persist timer")
	}
}
