package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// parse reads a scenario of which a test knows the exact outcome: without noise, unless it has
// some of its own. Random scenarios (property_test.go) have that of the default.
func parse(t *testing.T, text string, set ...string) *scenario.Valid {
	t.Helper()
	if !strings.Contains(text, "noise:") {
		set = append([]string{"noise=off"}, set...)
	}
	v, err := scenario.Parse("test", []byte(text), set, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ring is a cyclic buffer dependency: each switch of a ring sends traffic of its
// two predecessors on, so that no buffer can drain before the next one has
// (models.md 2.8).
const ring = `
name: ring
stack: rocev2-pfc-only
topology:
  hosts: [a, b, c, d]
  switches: [s0, s1, s2, s3]
  links:
    - {between: [a, s0], rate: 100Gbps, delay: 500ns}
    - {between: [b, s1], rate: 100Gbps, delay: 500ns}
    - {between: [c, s2], rate: 100Gbps, delay: 500ns}
    - {between: [d, s3], rate: 100Gbps, delay: 500ns}
    - {between: [s0, s1], rate: 40Gbps, delay: 500ns}
    - {between: [s1, s2], rate: 40Gbps, delay: 500ns}
    - {between: [s2, s3], rate: 40Gbps, delay: 500ns}
    - {between: [s3, s0], rate: 40Gbps, delay: 500ns}
switch: {buffer: 4MB, pfc: {xoff: 40KB}}
nic: {timeout: 0}
workload:
  - flow: {from: a, to: c, size: 4MB, path: [a, s0, s1, s2, c]}
  - flow: {from: b, to: d, size: 4MB, path: [b, s1, s2, s3, d]}
  - flow: {from: c, to: a, size: 4MB, path: [c, s2, s3, s0, a]}
  - flow: {from: d, to: b, size: 4MB, path: [d, s3, s0, s1, b]}
`

// TestDeadlock: a cycle of holds ends the run as a deadlock, at the same time and
// with the same counts however the network is cut.
func TestDeadlock(t *testing.T) {
	for _, c := range []struct {
		name string
		set  []string
	}{
		{"IEEE pause times", nil},
		{"short pauses, refreshed", []string{"switch.pfc.quanta=100"}},
		{"retransmission timers run meanwhile", []string{"nic.timeout=4", "nic.retry=7"}},
		{"no pause time", []string{"switch.pfc.quanta=0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := parse(t, ring, c.set...)
			base := simulate(t, v, 1, 1)
			if base.Stopped != "deadlock" {
				t.Fatalf("stopped by %s with %d messages open, not by deadlock", base.Stopped, base.OpenMessages)
			}
			for _, parts := range []int{2, 4, 8} {
				if bad := differ(t, base, simulate(t, v, parts, 2)); bad != "" {
					t.Errorf("%d partitions give another result: %s", parts, bad)
				}
			}
			held := 0
			for _, p := range base.Ports {
				if p.HeldPS > 0 && p.PausedPS > 0 && strings.HasPrefix(p.Node, "s") && strings.HasPrefix(p.Peer.Node, "s") {
					held++
				}
			}
			if held < 4 {
				t.Errorf("%d of the ring's four ports are held", held)
			}
			if got := cycleOf(base); got != "s0:2 s1:3 s2:3 s3:3" {
				t.Errorf("cycle %q", got)
			}
		})
	}
}

// cycleOf lists the ports of a deadlock's cycle.
func cycleOf(r *record.Run) string {
	var ports []string
	for _, w := range r.Cycle {
		ports = append(ports, w.Port.String())
	}
	return strings.Join(ports, " ")
}

// TestCreditDeadlock: the same ring without a pause. Where heads of queues have a
// lifetime, it moves on, and what is discarded is sent again.
func TestCreditDeadlock(t *testing.T) {
	text := strings.Replace(ring, "stack: rocev2-pfc-only", "stack: infiniband", 1)
	v := parse(t, text)
	base := simulate(t, v, 1, 1)
	if got := cycleOf(base); base.Stopped != "deadlock" || got != "s0:2 s1:3 s2:3 s3:3" {
		t.Errorf("stopped by %s, cycle %q", base.Stopped, got)
	}
	for _, parts := range []int{2, 4, 8} {
		if bad := differ(t, base, simulate(t, v, parts, 2)); bad != "" {
			t.Errorf("%d partitions give another result: %s", parts, bad)
		}
	}
	r := simulate(t, parse(t, text, "infiniband.hoq_life=4", "nic.timeout=8"), 4, 2)
	for _, e := range ofQuestion(r, catalog.Detected) {
		if e.Mechanism == catalog.BufferDrop {
			t.Errorf("%s: what lived too long counts as dropped for want of a buffer", e.Actor)
		}
	}
	discards := int64(0)
	for _, c := range r.Counters {
		discards += c.PortXmitDiscards
	}
	told := int64(0)
	for _, e := range r.Ledger {
		if e.Mechanism == catalog.LifetimeEnd {
			told += e.Count
		}
	}
	if told != discards {
		t.Errorf("the ledger has %d discards, the counters %d", told, discards)
	}
	if r.Stopped != "quiescence" || r.OpenMessages != 0 || discards == 0 || r.Cycle != nil {
		t.Errorf("with lifetimes: stopped by %s, %d messages open, %d discards", r.Stopped, r.OpenMessages, discards)
	}
}

// A deadlock is reported for when the last frame moved, whatever timers run on: the
// circle closes at the same time with them and without, and ports are held up to it.
func TestDeadlockTime(t *testing.T) {
	for _, stack := range []string{"rocev2-pfc-only", "infiniband"} {
		text := strings.Replace(ring, "stack: rocev2-pfc-only", "stack: "+stack, 1)
		bare := simulate(t, parse(t, text), 1, 1)
		timed := simulate(t, parse(t, text, "nic.timeout=10"), 1, 1) // 4.2 ms
		if bare.StillPS == 0 || timed.StillPS != bare.StillPS || timed.EndPS < 4*units.Millisecond {
			t.Errorf("%s: nothing moved since %v, with timers %v up to %v", stack, bare.StillPS, timed.StillPS, timed.EndPS)
		}
		for i := range timed.Ports {
			p := &timed.Ports[i]
			if p.PausedPS > timed.StillPS || p.PausedPS != bare.Ports[i].PausedPS || p.MeanQueueBytes != bare.Ports[i].MeanQueueBytes {
				t.Errorf("%s: %s:%d was shut for %v, without timers %v", stack, p.Node, p.Port, p.PausedPS, bare.Ports[i].PausedPS)
			}
		}
	}
}

// TestPausesRunOut: pauses that are not refreshed run out, so that the same cycle
// loses frames instead of standing still.
func TestPausesRunOut(t *testing.T) {
	r := simulate(t, parse(t, ring, "switch.pfc.refresh=never", "switch.pfc.quanta=1000", "nic.timeout=8"), 0, 1)
	dropped := int64(0)
	for _, p := range r.Ports {
		dropped += p.Dropped
	}
	if r.Stopped != "quiescence" || dropped == 0 {
		t.Errorf("stopped by %s after %d drops", r.Stopped, dropped)
	}
}

const pair = `
name: pair
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
switch: {latency: 0ns}
workload:
  - flow: {from: h0, to: h1, size: 1MB}
`

// TestEnd: why and when a run ends.
func TestEnd(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     []string
		stopped string
		open    int
		end     units.Time // 0: not checked
	}{
		{"all delivered", nil, "quiescence", 0, 0},
		{"at the stop time", []string{"stop=20us"}, "stop time", 1, 20 * units.Microsecond},
		{"before the stop time", []string{"stop=20ms"}, "quiescence", 0, 0},
		{"nothing pending", []string{"nic.timeout=0", "topology.star.down_at=20us"}, "stalled", 1, 0},
		{"all in error", []string{"nic.timeout=1", "topology.star.down_at=20us"}, "quiescence", 0, 0},
		{"measure window past the end", []string{"measure.from=10us", "measure.to=1s"}, "quiescence", 0, 0},
		{"measure window after the end", []string{"measure.from=1s", "measure.to=2s"}, "quiescence", 0, 0},
		{"stop within the measure window", []string{"measure.from=10us", "measure.to=1s", "stop=30us"}, "stop time", 1, 30 * units.Microsecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := parse(t, pair, c.set...)
			r := simulate(t, v, 0, 1)
			if r.Stopped != c.stopped || r.OpenMessages != c.open || c.end != 0 && r.EndPS != c.end {
				t.Errorf("stopped by %s at %d ps with %d open, want %s at %d with %d", r.Stopped, r.EndPS, r.OpenMessages, c.stopped, c.end, c.open)
			}
			if bad := ordered(v, draw{}, r) + withinRate(v, draw{}, r); bad != "" {
				t.Error(bad)
			}
			if bad := differ(t, r, simulate(t, v, 1, 1)); bad != "" {
				t.Errorf("one partition gives another result: %s", bad)
			}
		})
	}
}

// TestUtilisationOfWindow: a saturated link is busy all the measured window, to
// a frame.
func TestUtilisationOfWindow(t *testing.T) {
	r := simulate(t, parse(t, pair, "dcqcn=none", "measure.from=10us", "measure.to=60us"), 0, 1)
	frame := 4.178 * 8 / 100 / 50 // share of the window that a frame takes
	for _, p := range r.Ports {
		if p.Node == "h0" && p.Class == 3 && (p.Utilisation < 1-frame || p.Utilisation > 1+frame) {
			t.Errorf("utilisation of the sender is %g in the middle of its message", p.Utilisation)
		}
	}
}

// cancelled is a context that ends after a number of looks at it.
type cancelled struct {
	context.Context
	looks int
}

func (c *cancelled) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterrupted: a run that is interrupted ends at a consistent cut, and its
// account adds up.
func TestInterrupted(t *testing.T) {
	v := parse(t, `
name: busy
topology: {leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 4, link: 100Gbps}}
switch: {buffer: 4MB, pfc: {xoff: 20KB}}
workload:
  - incast: {to: h0, size: 1MB}
`)
	for looks := range 40 {
		w, err := build.New(v, build.Options{Partitions: 4})
		if err != nil {
			t.Fatal(err)
		}
		r := run.Simulate(&cancelled{context.Background(), 10 * looks}, w, run.Options{Workers: 1})
		if r.Stopped != "interrupted" || r.OpenMessages == 0 {
			t.Fatalf("after %d windows: stopped by %s with %d open", looks, r.Stopped, r.OpenMessages)
		}
		if bad := ordered(v, draw{}, r) + withinRate(v, draw{}, r); bad != "" {
			t.Errorf("after %d windows: %s", 10*looks, bad)
		}
	}
}

// TestSlowReceiver: when a host drains its NIC too slowly, the NIC detects it
// and the switch is what it holds; no buffer of the switch need have crossed XOFF
// first.
func TestSlowReceiver(t *testing.T) {
	v, err := scenario.Load("slow-receiver", []string{"dcqcn=none"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := simulate(t, v, 0, 1)
	first := map[catalog.Mechanism]record.Entry{}
	for _, e := range r.Ledger {
		if f, ok := first[e.Mechanism]; !ok || e.First < f.First {
			first[e.Mechanism] = e
		}
	}
	for m, actor := range map[catalog.Mechanism]string{
		catalog.XOFFCross: "h3:1 prio 3", catalog.PFCSent: "h3:1 prio 3", catalog.PFCPause: "sw:4 prio 3",
	} {
		if first[m].Actor.String() != actor {
			t.Errorf("first %s is of %q, want %q", m, first[m].Actor, actor)
		}
	}
	// The host takes frame bytes at 40 Gb/s: 8 MB in packets of 4096 with 62
	// bytes of frame each, 16 more for the WRITE.
	const frames = 8e6 + 1954*62 + 16
	least := units.Rate(40 * units.Gbps).TxTimeLong(frames)
	if f := r.Messages[0]; f.CompletionPS < least || f.CompletionPS > least+least/50 {
		t.Errorf("the slow host completes in %d ps; its drain takes %d", f.CompletionPS, least)
	}
}

// TestTTL: a frame passes as many switches as its TTL less one.
func TestTTL(t *testing.T) {
	for ttl, reach := range map[int]string{1: "leaf1", 2: "spine1", 3: "leaf2", 4: "h1"} {
		t.Run(fmt.Sprint(ttl), func(t *testing.T) {
			r := simulate(t, parse(t, `
name: ttl
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, link: 100Gbps}}
nic: {timeout: 1, retry: 1}
workload:
  - flow: {from: h0, to: h1, size: 1KB}
`, fmt.Sprintf("nic.ttl=%d", ttl)), 0, 1)
			got := "h1"
			for _, p := range r.Ports {
				for _, d := range p.DropCauses {
					if d.Cause.String() != "TTL expired" || d.Count != 2 {
						t.Errorf("%s drops %d frames: %s", p.Node, d.Count, d.Cause)
					}
					got = p.Node
				}
			}
			if got != reach {
				t.Errorf("the frame ends at %s, want %s", got, reach)
			}
			if want := map[bool]string{true: "success", false: "RETRY_EXC_ERR"}[reach == "h1"]; r.Messages[0].Status != want {
				t.Errorf("status %s, want %s", r.Messages[0].Status, want)
			}
		})
	}
}

// TestECMPSpread: 8 flows over 8 equal paths fill 1-(1-1/8)^8 = .656 of them on
// average (case F30).
func TestECMPSpread(t *testing.T) {
	t.Parallel()
	const seeds = 600
	used := 0
	for seed := range uint64(seeds) {
		v, err := scenario.Parse("ecmp", []byte(`
name: ecmp
topology: {leaf_spine: {leaves: 2, spines: 8, hosts_per_leaf: 8, link: 100Gbps}}
workload:
  - flows:
      size: 1B
      list:
        - {from: h0, to: h8}
        - {from: h1, to: h9}
        - {from: h2, to: h10}
        - {from: h3, to: h11}
        - {from: h4, to: h12}
        - {from: h5, to: h13}
        - {from: h6, to: h14}
        - {from: h7, to: h15}
`), nil, &seed)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range simulate(t, v, 1, 1).Ports {
			if p.Node == "leaf1" && strings.HasPrefix(p.Peer.Node, "spine") && p.TxPackets > 0 {
				used++
			}
		}
	}
	if mean := float64(used) / seeds / 8; mean < .636 || mean > .676 {
		t.Errorf("8 flows use %.3f of 8 links on average, want .656 +- .02", mean)
	}
}

// What becomes of a measure window that the run does not last for is said.
func TestMeasureWindowPastTheEnd(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want string // the warning; empty: none
	}{
		{[]string{"measure.from=1us", "measure.to=2us"}, ""},
		{[]string{"measure.from=1us"}, ""}, // to the end, as asked
		{[]string{"stop=30us", "measure.from=10us", "measure.to=1s"}, "measure: the run ended at 30us, so the window from 10us to 1s was cut off there"},
		{[]string{"workload[0].flow.size=4KB", "measure.from=10ms", "measure.to=50ms"}, ", before the window began at 10ms: mean queues and utilisation are those of the whole run"},
	} {
		r := simulate(t, parse(t, pair, c.set...), 0, 1)
		got := strings.Join(r.Warnings, "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%v: warnings %q, want %q", c.set, got, c.want)
		}
	}
}

// TestEndAfterGivenUpRead: a responder sends all responses to a READ whose requester
// has given up, and the run ends when the last has arrived. They are paced, so that
// between two of them nothing is on its way; how the network is cut must not tell
// when the run ends.
func TestEndAfterGivenUpRead(t *testing.T) {
	v := parse(t, `
name: given-up
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, link: 100Gbps}}
dcqcn: {initial_rate: 1Gbps}
mtu: 4096
nic: {timeout: 1, retry: 0}
workload:
  - flow: {from: h0, to: h1, size: 100KB, verb: read}
`)
	base := simulate(t, v, 1, 1)
	if got := base.Messages[0].Status; got != "RETRY_EXC_ERR" || base.Stopped != "quiescence" {
		t.Fatalf("the READ ends with %s, the run by %s", got, base.Stopped)
	}
	sent := int64(0)
	for i := range base.QPs {
		sent += base.QPs[i].SentBytes
	}
	// 24 full packets before the last, each 4096 + 62 and 20 on the wire.
	if least := units.Rate(units.Gbps).TxTimeLong(24 * 4178); sent != 100_000 || base.EndPS < least {
		t.Errorf("%d bytes sent up to %d ps; 100000 take %d at least", sent, base.EndPS, least)
	}
	for _, parts := range []int{2, 3} {
		if bad := differ(t, base, simulate(t, v, parts, 2)); bad != "" {
			t.Errorf("%d partitions give another result: %s", parts, bad)
		}
	}
}
