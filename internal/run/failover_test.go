package run_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// One sender alone at the line's rate, over two spines. The frame of a full packet
// is 4096 + 62 bytes and takes 20 more on the wire: 334.24 ns at 100 Gb/s (the first
// of a WRITE is 16 longer).
const failing = `
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, link: 100Gbps}
  links: [{between: [%s], down_at: 100us}]
failover: {detect: %s, converge: %s}
stack: rocev2-pfc-only
nic: {recovery: %s}
workload: [flow: {from: h0, to: h1, size: 20MB}]
`

// failed runs it and returns the result, with the frames dropped by cause.
func failed(t *testing.T, link, detect, converge, recovery string) (*record.Run, map[string]int64) {
	t.Helper()
	r := runText(t, fmt.Sprintf(failing, link, detect, converge, recovery))
	lost := map[string]int64{}
	for i := range r.Ports {
		for _, d := range r.Ports[i].DropCauses {
			lost[d.Cause.String()] += d.Count
		}
	}
	return r, lost
}

// spineOf is the spine that the flow takes.
func spineOf(t *testing.T) string {
	r, _ := failed(t, "leaf1, spine1", "never", "never", "go-back-n")
	for i := range r.Ports {
		if p := &r.Ports[i]; p.Node == "leaf1" && p.Class == 3 && p.TxPackets > 1000 {
			return p.Peer.Node
		}
	}
	t.Fatal("no data left leaf1")
	return ""
}

// What is lost on a link that fails is what the sender puts onto it until that is
// noticed: the rate times the detection time where the end of the link that sends
// has another way, and the convergence time more where it has none and those before
// it must learn. To the packet at each end of the interval.
func TestLostUntilNoticed(t *testing.T) {
	const frame = 334.24 // ns
	spine := spineOf(t)
	for _, c := range []struct {
		link             string
		detect, converge int // microseconds
		down, noRoute    float64
	}{
		{"leaf1, " + spine, 50, 1000, 50e3 / frame, 0},
		{"leaf1, " + spine, 200, 1000, 200e3 / frame, 0},
		{spine + ", leaf2", 50, 100, 50e3 / frame, 100e3 / frame},
		{spine + ", leaf2", 100, 300, 100e3 / frame, 300e3 / frame},
	} {
		for _, recovery := range []string{"go-back-n", "selective-repeat"} {
			r, lost := failed(t, c.link, fmt.Sprintf("%dus", c.detect), fmt.Sprintf("%dus", c.converge), recovery)
			if f := &r.Messages[0]; f.Status != "success" {
				t.Errorf("%s, %s: %s", c.link, recovery, f.Status)
			}
			down, noRoute := c.down, c.noRoute
			if recovery == "selective-repeat" {
				down = min(down, 512)
				noRoute = min(noRoute, 512-down)
			}
			if got := float64(lost[catalog.DropLinkDown.String()]); math.Abs(got-down) > 1.5 {
				t.Errorf("%s, %s, detection %d us: %v frames lost on the link, want %.1f", c.link, recovery, c.detect, got, down)
			}
			if got := float64(lost[catalog.DropNoRoute.String()]); math.Abs(got-noRoute) > 1.5 {
				t.Errorf("%s, %s, convergence %d us: %v frames without a route, want %.1f", c.link, recovery, c.converge, got, noRoute)
			}
			if f := r.Failures[0]; f.LostFrames != lost[catalog.DropLinkDown.String()] || f.NoticedPS-f.DownPS != units.Time(c.detect)*units.Microsecond {
				t.Errorf("%s: recorded as %+v", c.link, f)
			}
		}
	}
}

// A failure costs go-back-N all that was sent since, and the way of a packet and of
// its NAK besides; selective repeat sends again what was lost and no more, and waits
// for nothing, unless the failure lasts longer than its bitmap: then no packet is left
// to be sent that could show the gap, and the timer must, after 4.096 us * 2^14.
func TestOutageOfCompletion(t *testing.T) {
	spine := spineOf(t)
	for _, recovery := range []string{"go-back-n", "selective-repeat"} {
		base := runText(t, `
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, link: 100Gbps}}
stack: rocev2-pfc-only
nic: {recovery: `+recovery+`}
workload: [flow: {from: h0, to: h1, size: 20MB}]
`)
		for _, detect := range []int{100, 400} {
			r, lost := failed(t, "leaf1, "+spine, fmt.Sprintf("%dus", detect), "1ms", recovery)
			longer := r.Messages[0].CompletionPS - base.Messages[0].CompletionPS
			want := units.Time(lost[catalog.DropLinkDown.String()]) * 334240
			room := 2 * units.Time(334240)
			if recovery == "go-back-n" { // the round trip of the first packet that arrives, and its NAK
				want += base.QPs[0].Limits.BaseRTTPS
			}
			if recovery == "selective-repeat" && detect == 400 {
				want, room = units.Time(4096<<14)*units.Nanosecond, units.Millisecond
			}
			if d := longer - want; d < -room || d > room {
				t.Errorf("%s, detection %d us: completion %v later, want %v", recovery, detect, longer, want)
			}
		}
	}
}

// With one of n uplinks gone, the others carry all there is: (n-1)/n of before.
func TestRemainingUplinks(t *testing.T) {
	var flows strings.Builder
	for h := range 16 {
		fmt.Fprintf(&flows, "  - flow: {from: h%d, to: h%d, size: 1GB, qps: 8}\n", h, h+16)
	}
	r := runText(t, `
topology:
  leaf_spine: {leaves: 2, spines: 4, hosts_per_leaf: 16, link: 100Gbps}
  links: [{between: [leaf1, spine2], down_at: 20us}]
failover: {detect: 10us, converge: 10us}
stack: rocev2-pfc-only
measure: {from: 300us, to: 500us}
stop: 500us
workload:
`+flows.String())
	var sum float64
	for i := range r.Ports {
		if p := &r.Ports[i]; p.Node == "leaf1" && p.Port > 16 && p.Class == 3 {
			sum += p.Utilisation
		}
	}
	if math.Abs(sum-3) > 0.03 {
		t.Errorf("four uplinks, one of them gone, are in use for %.3f together, want 3", sum)
	}
}

// TestShortOutage: an outage that is over when it would be detected is not noticed: no table
// changes, and what the link lost is all; a longer one is, and the report says so where the
// link works again before all have rerouted.
func TestShortOutage(t *testing.T) {
	spine := spineOf(t)
	for _, c := range []struct {
		down  string
		steps string
		moved bool
	}{
		{"49us", "over after 49.0 us, before it was noticed", false},
		{"50us", "over after 50.0 us, before it was noticed", false},
		{"51us", "noticed after 50.0 us, converged after 150 us (50.0 us detection, 100 us convergence), 99.0 us after the link worked again", true},
		{"200us", "noticed after 50.0 us, converged after 150 us (50.0 us detection, 100 us convergence)", true},
	} {
		r := simulate(t, parse(t, `
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, link: 100Gbps}
  links: [{between: [leaf1, `+spine+`], flap: {from: 100us, every: 800us, down_for: `+c.down+`, times: 1}}]
failover: {detect: 50us, converge: 100us}
stack: rocev2-pfc-only
nic: {recovery: selective-repeat}
workload: [flow: {from: h0, to: h1, size: 8MB}]
`), 0, 1)
		if got := metrics.FailureSteps(lang.English, &r.Failures[0]); got != c.steps || (r.FlowsMoved > 0) != c.moved || (r.Failures[0].Switches > 0) != c.moved || r.Failures[0].LostFrames == 0 {
			t.Errorf("down for %s: %q, %d flows moved, %+v", c.down, got, r.FlowsMoved, r.Failures[0])
		}
	}
}

// TestOutages: every outage of a link takes what the sender puts onto it until that is
// noticed, the second and those of a link that flaps as well as the first, however the
// scenario says so; and traffic comes back onto the link between them.
func TestOutages(t *testing.T) {
	const frame = 334.24 // ns; see failing
	spine := spineOf(t)
	between := "between: [leaf1, " + spine + "], "
	for _, links := range []string{
		"{" + between + "down: [{at: 100us, until: 300us}, {at: 900us, until: 1100us}, {at: 1700us, until: 1900us}]}",
		"{" + between + "flap: {from: 100us, every: 800us, down_for: 200us, times: 3}}",
		"{" + between + "down_at: 900us, up_at: 1100us, down: [{at: 1700us, until: 1900us}, {at: 100us, until: 300us}]}",
		"{" + between + "down_at: 900us, up_at: 1100us}, {" + between + "down_at: 100us, up_at: 300us}, {" + between + "down_at: 1700us, up_at: 1900us}",
	} {
		v := parse(t, `
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, link: 100Gbps}
  links: [`+links+`]
failover: {detect: 50us, converge: 100us}
stack: rocev2-pfc-only
nic: {recovery: selective-repeat}
workload: [flow: {from: h0, to: h1, size: 40MB}]
`)
		r := simulate(t, v, 0, 1)
		if len(r.Failures) != 3 || r.Messages[0].Status != "success" {
			t.Fatalf("%s: %d failures, %s", links, len(r.Failures), r.Messages[0].Status)
		}
		for k := range r.Failures {
			f := &r.Failures[k]
			down := units.Time(100+800*k) * units.Microsecond
			if f.DownPS != down || f.UpPS != down+200*units.Microsecond || f.NoticedPS != down+50*units.Microsecond || f.ReroutedPS != down+150*units.Microsecond {
				t.Errorf("%s: outage %d recorded as %+v", links, k, f)
			}
			if got := float64(f.LostFrames); math.Abs(got-50e3/frame) > 1.5 {
				t.Errorf("%s: outage %d took %v frames, want %.1f", links, k, got, 50e3/frame)
			}
			if f.Switches < 1 {
				t.Errorf("%s: no table changed for outage %d", links, k)
			}
		}
		if bad := differ(t, r, simulate(t, v, 4, 3)); bad != "" {
			t.Errorf("%s: %s", links, bad)
		}
	}
}
