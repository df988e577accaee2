package metrics_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
)

// Two flows share h0's port and two the port to h2; one takes both. As long as either of the
// others is there it has half of a line: without one it gains little, without both it has the
// line for itself.
const bothShared = `
name: both shared
stack: rocev2-pfc-only
topology: {star: {hosts: 4, link: 100Gbps}}
workload:
  - {flow: {name: both, from: h0, to: h2, size: 4MB}}
  - {flow: {name: sender, from: h0, to: h3, size: 4MB, enabled: true}}
  - {flow: {name: receiver, from: h1, to: h2, size: 4MB, enabled: true}}
`

func TestSeries(t *testing.T) {
	base := simulate(t, bothShared)
	took := func(set ...string) float64 { return float64(simulate(t, bothShared, set...).Messages[0].CompletionPS) }
	all := float64(base.Messages[0].CompletionPS)
	sender, receiver := "workload[1].flow.enabled=false", "workload[2].flow.enabled=false"
	d := metrics.DominantStage(base, 0)
	half := float64(d.Milli) / 1000 / 2
	if a, b := 1-took(sender)/all, 1-took(receiver)/all; a >= half || b >= half {
		t.Fatalf("without one of them it gains %.2f or %.2f, with a share of %.2f", a, b, 2*half)
	}
	if both := 1 - took(sender, receiver)/all; both < half {
		t.Fatalf("without both it gains %.2f, with a share of %.2f", both, 2*half)
	}
	ports := map[string]bool{}
	for c := &d.Cause; c != nil; c = c.Then {
		if c.Kind == catalog.CausePort {
			ports[c.Place.PortID().String()] = true
		}
	}
	if len(ports) != 2 || !ports["h0:1"] || !ports["sw:3"] || !strings.Contains(d.How, "either alone gains little") {
		t.Errorf("%+v", d)
	}
	if d := metrics.DominantStage(simulate(t, bothShared, sender), 0); d.Cause.Then != nil || d.Cause.Place.PortID().String() != "sw:3" {
		t.Errorf("one port alone: %+v", d)
	}
}

// With one rate inside both hosts, either alone is hidden behind the other.
func TestSeriesInside(t *testing.T) {
	const text = `
name: both inside
stack: rocev2
server: {preset: dgx-h100, links: {nic0: {gen: 4, width: 8}}}
topology: {star: {hosts: 2, link: 400Gbps}}
workload: [{flow: {from: h0/gpu0, to: h1/gpu0, size: 4MB}}]
`
	d := metrics.DominantStage(simulate(t, text), 0)
	if d.Cause.Kind != catalog.CauseInside || d.Cause.Then == nil || d.Cause.Then.Kind != catalog.CauseInside || d.Cause.Then.Place.Node == d.Cause.Place.Node {
		t.Errorf("%+v", d)
	}
}

// A core that is busy nearly all the time and a port that is hide each other: both are named. With a core
// that takes no time it is the port or a window.
func TestSeriesCores(t *testing.T) {
	const text = `
stack: tcp
host: {preset: linux-xeon, cores: 1, steering: rss}
topology: {star: {hosts: 4, link: {rate: 25Gbps, length: 5m}}}
workload:
  - {flow: {from: h1, to: h0, size: 1MB}}
  - {flow: {from: h2, to: h0, size: 1MB}}
  - {flow: {from: h3, to: h0, size: 1MB}}
`
	named := 0
	r := simulate(t, text)
	for i := range r.Messages {
		d := metrics.DominantStage(r, i)
		if d.Cause.Kind == catalog.CauseCore && d.Cause.Then != nil && d.Cause.Then.Place.PortID().String() == "sw:1" {
			named++
		}
	}
	if named == 0 {
		t.Error("no message is told of both the core and the port")
	}
	r = simulate(t, text, "host.preset=free")
	for i := range r.Messages {
		if d := metrics.DominantStage(r, i); d.Cause.Kind == catalog.CauseCore {
			t.Errorf("without cores that take time: %+v", d)
		}
	}
}

// Two links in a row of one rate, slower than the sender's: without the one that marks the other would, and both are
// named. Where the second is as fast as the sender it is the first alone.
func TestSeriesMarks(t *testing.T) {
	const text = `
seed: 26
stack: rocev2-ecn-only
topology:
  hosts: [h0, h6, h7]
  switches: [leaf1, leaf3, spine1]
  links:
    - {between: [h0, leaf1], rate: 400Gbps, length: 30m}
    - {between: [h6, leaf3], rate: 400Gbps, length: 30m}
    - {between: [h7, leaf3], rate: 400Gbps, length: 30m}
    - {between: [leaf1, spine1], rate: 200Gbps, length: 30m}
    - {between: [leaf3, spine1], rate: 200Gbps, length: 30m}
workload:
  - {flow: {from: h6, to: h0, size: 4MB}}
  - {flow: {from: h7, to: h0, size: 8MB}}
`
	d := metrics.DominantStage(simulate(t, text), 1)
	if d.Cause.Place.PortID().String() != "leaf3:3" || d.Cause.Then == nil || d.Cause.Then.Place.PortID().String() != "spine1:1" ||
		!strings.Contains(d.How, "spine1:1, which is no faster and has as much to send") {
		t.Errorf("%+v", d)
	}
	d = metrics.DominantStage(simulate(t, text, "topology.links[3].rate=400Gbps"), 1)
	if d.Cause.Place.PortID().String() != "leaf3:3" || d.Cause.Then != nil {
		t.Errorf("with a faster second link: %+v", d)
	}
}
