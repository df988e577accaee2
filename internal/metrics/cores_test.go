package metrics_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
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
	if want := "core 0 of h1, with the application and softirqs of that end, was busy for 9"; d.Stage != "receive window" || !strings.Contains(d.How, want) {
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
	if d, _ = metrics.Explain(r, 0); d.Stage != "receive window" || !strings.Contains(d.How, "its buffer is too small") {
		t.Errorf("a small buffer: %s: %s", d.Stage, d.How)
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
	for i := range r.Flows {
		d, _ := metrics.Explain(r, i)
		if d.Stage != record.StageReceiveWindow || r.Flows[i].CompletionPS < 100*units.Millisecond {
			continue
		}
		told++
		if want := "the update that said there was room again was lost (1 time)"; !strings.Contains(d.How, want) {
			t.Errorf("%s, want %q", d.How, want)
		}
	}
	if told == 0 {
		t.Error("no message waited for a persist timer")
	}
}
