package run_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// last is when the message of a workload entry ended.
func last(t *testing.T, r *record.Run, entry string) (end units.Time) {
	t.Helper()
	for i := range r.Messages {
		if f := &r.Messages[i]; f.Workload == entry {
			if f.Status != "success" {
				t.Fatalf("%s: %s", f.Workload, f.Status)
			}
			end = max(end, f.StartPS+f.CompletionPS)
		}
	}
	if end == 0 {
		t.Fatalf("no message of %s", entry)
	}
	return end
}

// paused has two slow receivers behind two switches, so that a pause goes upstream.
const paused = `
name: paused
hosts: {h2: {drain_rate: 40Gbps}}
topology:
  hosts: [h0, h1, h2, h3]
  switches: [a, b]
  links:
    - {between: [h0, a], rate: 100Gbps}
    - {between: [h1, a], rate: 100Gbps}
    - {between: [a, b], rate: 100Gbps}
    - {between: [h2, b], rate: 100Gbps}
    - {between: [h3, b], rate: 100Gbps}
stack: rocev2-pfc-only
workload:
  - {flow: {name: slow, from: h0, to: h2, size: 4MB}}
  - {flow: {name: other, from: h1, to: h3, size: 2MB}}
`

// TestKeysThatRemove: every key that takes one thing away gives the same as the scenario that
// never had it, or what a closed form says.
func TestKeysThatRemove(t *testing.T) {
	same := func(text, set, never string) {
		t.Helper()
		a, b := simulate(t, parse(t, text, strings.Fields(set)...), 1, 1), simulate(t, parse(t, never), 1, 1)
		if a.Fingerprint != b.Fingerprint || a.EndPS != b.EndPS {
			t.Errorf("%s: ends at %v, %s; without the thing itself %v, %s", set, a.EndPS, a.Fingerprint, b.EndPS, b.Fingerprint)
		}
		if c := simulate(t, parse(t, text), 1, 1); c.Fingerprint == a.Fingerprint {
			t.Errorf("%s changes nothing", set)
		}
	}
	same(paused, "hosts.h2.drain_rate=none", strings.Replace(paused, "drain_rate: 40Gbps", "", 1))
	card := "name: card\nnic: {preset: connectx-5}\ntopology: {star: {hosts: 2, link: 100Gbps}}\nworkload:\n  - flow: {from: h0, to: h1, size: 1MB}\n"
	inside := func(v *scenario.Valid) bool { return v.NICs[v.Graph.HostOf(0)].Server != nil }
	if inside(parse(t, card, "nic.drain_rate=none")) || !inside(parse(t, card)) {
		t.Error("a card's own PCIe link stands beside drain_rate: none, or is missing without it")
	}
	fails := strings.Replace(paused, "[a, b], rate: 100Gbps", "[a, b], rate: 100Gbps, down_at: 40us, up_at: 90us", 1)
	same(fails, "topology.links[2]={between:[a,b],rate:100Gbps,down_at:never}", paused)
	tier := "name: tier\ntopology:\n  leaf_spine: {leaves: 2, hosts_per_leaf: 1, spines: 1, link: {rate: 100Gbps, down_at: 20us, up_at: 60us}}\n" +
		"  links:\n%sworkload:\n  - flow: {from: h0, to: h1, size: 4MB}\n"
	never := ""
	for _, l := range []string{"h0, leaf1", "h1, leaf2", "leaf1, spine1", "leaf2, spine1"} {
		never += "    - {between: [" + l + "], down_at: never}\n"
	}
	v := parse(t, fmt.Sprintf(tier, never))
	for _, l := range v.Graph.Links {
		if len(l.Outages) != 0 {
			t.Errorf("a link fails at %v although down_at is never", l.FailsAt())
		}
	}
}

// TestSpeedup: a port that is faster alone changes no threshold, no headroom and no host, and
// takes the time on the wire that its rate says.
func TestSpeedup(t *testing.T) {
	faster := func(set ...string) *scenario.Valid { return parse(t, paused, set...) }
	v, w := faster(), faster("topology.links[2]={between:[a,b],rate:100Gbps,speedup:16,speedup_of:a}")
	if !reflect.DeepEqual(v.Switches, w.Switches) || !reflect.DeepEqual(v.NICs, w.NICs) {
		t.Error("thresholds, headroom or cards follow a speedup")
	}
	r := simulate(t, w, 1, 1)
	for i := range r.Ports {
		p := &r.Ports[i]
		want := units.Rate(100 * units.Gbps)
		if p.Node == "a" && p.Peer.String() == "b:1" {
			want *= 16
		}
		if p.RateBps != want {
			t.Errorf("%s:%d sends at %v, want %v", p.Node, p.Port, p.RateBps, want)
		}
	}
	// One packet over three links: the middle one takes a sixteenth of its time.
	one := strings.Replace(paused, "size: 4MB", "size: 4096B", 1)
	slow := simulate(t, parse(t, one, "workload[1].flow.start=1ms", "hosts.h2.drain_rate=none"), 1, 1)
	fast := simulate(t, parse(t, one, "workload[1].flow.start=1ms", "hosts.h2.drain_rate=none",
		"topology.links[2]={between:[a,b],rate:100Gbps,speedup:16,speedup_of:a}"), 1, 1)
	frame := units.Rate(100 * units.Gbps).TxTime(4096 + 62 + 16 + 20)
	if saved := slow.Messages[0].CompletionPS - fast.Messages[0].CompletionPS; saved < frame*15/16-1 || saved > frame*15/16+1 {
		t.Errorf("a port 16 times as fast saves %v of a frame's %v", saved, frame)
	}
	for _, p := range [][2]int{{2, 2}, {3, 1}} {
		if differ(t, simulate(t, w, p[0], p[1]), r) != "" {
			t.Error("a speedup makes results depend on partitions")
		}
	}
}

// TestSilent: a class that never pauses keeps its threshold and loses what goes beyond memory.
func TestSilent(t *testing.T) {
	with := simulate(t, parse(t, paused, "stop=20ms"), 1, 1)
	silent := simulate(t, parse(t, paused, "switch.pfc.silent=[3]", "switch.buffer=600KB", "nic.pfc.silent=[3]", "stop=20ms"), 1, 1)
	count := func(r *record.Run) (pauses, drops int64) {
		for i := range r.Ports {
			pauses += r.Ports[i].PausesSent
		}
		for _, e := range r.Ledger {
			if e.Mechanism == catalog.BufferDrop {
				drops += e.Count
			}
		}
		return pauses, drops
	}
	if p, d := count(with); p == 0 || d != 0 {
		t.Errorf("%d pauses and %d drops, want pauses only", p, d)
	}
	if p, d := count(silent); p != 0 || d == 0 {
		t.Errorf("silent: %d pauses and %d drops, want drops only", p, d)
	}
}

// TestEndlessCredits: with input buffers without end nobody waits for credits, and a way with
// a bandwidth-delay product above 128 KiB carries the line's rate.
func TestEndlessCredits(t *testing.T) {
	text := "name: far\nstack: infiniband\ntopology: {star: {hosts: 3, link: {rate: 400Gbps, length: 4km}}}\nworkload:\n  - incast: {from: [h0, h1], to: h2, size: 2MB}\n"
	r, e := simulate(t, parse(t, text), 1, 1), simulate(t, parse(t, text, "infiniband.buffer=unlimited"), 1, 1)
	waits := func(r *record.Run) (n int64) {
		for _, e := range r.Ledger {
			if e.Mechanism == catalog.CreditsOut {
				n += e.Count
			}
		}
		return n
	}
	if waits(r) == 0 || waits(e) != 0 {
		t.Errorf("%d waits for credits, and %d with buffers without end", waits(r), waits(e))
	}
	ideal := units.Rate(400 * units.Gbps).TxTimeLong(4 * units.MB)
	if end := e.EndPS; end > ideal*115/100+90*units.Microsecond {
		t.Errorf("4 MB take %v, on the wire alone %v and 80 us of cable there and back", end, ideal)
	}
	if differ(t, simulate(t, parse(t, text, "infiniband.buffer=unlimited"), 2, 2), e) != "" {
		t.Error("results depend on partitions")
	}
}

// TestEnabled: an entry that is switched off changes no number, port or hash of the others,
// and leaves what they do alone when they do not meet.
func TestEnabled(t *testing.T) {
	text := "name: off\ntopology: {leaf_spine: {leaves: 2, hosts_per_leaf: 3, spines: 2, link: 100Gbps}}\nworkload:\n" +
		"  - {permutation: {name: first, hosts: [h0, h3], size: 1MB}}\n" +
		"  - {collective: {name: ring, op: allreduce, ranks: [h1, h4], size: 1MB, start: 1us}}\n" +
		"  - {flow: {name: last, from: h2, to: h5, size: 1MB, qps: 2}}\n" +
		"  - {rpc: {name: calls, between: [h2, h5], size: 2KB}}\n"
	all := parse(t, text)
	for entry, kind := range []string{"permutation", "collective", "flow", "rpc"} {
		v := parse(t, text, fmt.Sprintf("workload[%d].%s.enabled=false", entry, kind))
		if !reflect.DeepEqual(v.Plan.Conns, all.Plan.Conns) {
			t.Errorf("%s off changes connections", kind)
		}
		r := simulate(t, v, 1, 1)
		for i := range r.Messages {
			if r.Messages[i].Workload == all.Plan.Entries[entry] {
				t.Errorf("%s is off and sends %s", kind, r.Messages[i].Dst)
			}
		}
		w, err := scenario.Read(scenario.Source{Name: "off", Text: []byte(text), Set: []string{"noise=off"},
			Without: scenario.Without{Entries: []int{entry}}})
		if err != nil {
			t.Fatal(err)
		}
		if d := differ(t, simulate(t, w, 1, 1), r); d != "" {
			t.Errorf("loading without %s differs from enabled: false: %s", kind, d)
		}
	}
	// first, ring and last share no host; over the same spine or not, lines are faster than hosts send.
	before := simulate(t, all, 1, 1)
	after := simulate(t, parse(t, text, "workload[0].permutation.enabled=false", "workload[1].collective.enabled=false"), 1, 1)
	if a, b := last(t, before, "calls"), last(t, after, "calls"); b > a {
		t.Errorf("calls end at %v, later than the %v with more beside them", b, a)
	}
	list := "name: list\ntopology: {star: {hosts: 3, link: 100Gbps}}\nworkload:\n  - flows: {list: [{from: h0, to: h1, size: 1MB, enabled: false}, {from: h0, to: h2, size: 1MB}]}\n"
	if r := simulate(t, parse(t, list), 1, 1); len(r.Messages) != 1 || r.Messages[0].Dst != "h2" {
		t.Errorf("%d messages of a list of which one is on", len(r.Messages))
	}
}

// TestFirstWindow: a receiver that grants all at once lets a message out in one round trip
// where no congestion window holds it back; without it the window opens from 64 KiB on.
func TestFirstWindow(t *testing.T) {
	text := "name: window\nstack: tcp\nhost: {preset: free}\ntcp: {rcvbuf: 16MB, sndbuf: 16MB, autotuning: false, cc: none}\n" +
		"topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 100us}}}\nworkload:\n  - flow: {from: h0, to: h1, size: 4MB}\n"
	wire := units.Rate(100 * units.Gbps).TxTimeLong(4 * units.MB)
	{
		narrow, wide := simulate(t, parse(t, text), 1, 1), simulate(t, parse(t, text, "tcp.first_window=16MB"), 1, 1)
		if took := wide.Messages[0].CompletionPS; took > 2*200*units.Microsecond+wire*102/100 {
			t.Errorf("the message takes %v, where the wire takes %v and a round trip 400 us", took, wire)
		}
		if took := narrow.Messages[0].CompletionPS; took < 3*400*units.Microsecond {
			t.Errorf("the message takes %v through a window that opens from 64 KiB", took)
		}
	}
}

// TestNoWindow: without congestion control a loss is repaired, and the window never cut.
func TestNoWindow(t *testing.T) {
	text := "name: none\nstack: tcp\nhost: {preset: free}\ntcp: {cc: none, sndbuf: 16MB, rcvbuf: 16MB}\ntopology: {star: {hosts: 2, link: {rate: 10Gbps, delay: 10us, drop_every: 400}}}\n" +
		"workload:\n  - flow: {from: h0, to: h1, size: 16MB}\n"
	cut := simulate(t, parse(t, text, "tcp.cc=cubic"), 1, 1)
	none := simulate(t, parse(t, text), 1, 1)
	if none.Messages[0].Status != "success" || none.Messages[0].CompletionPS >= cut.Messages[0].CompletionPS {
		t.Errorf("%s after %v; with CUBIC, whose window losses cut, %v", none.Messages[0].Status, none.Messages[0].CompletionPS, cut.Messages[0].CompletionPS)
	}
}

// TestUnboundServer: a transfer that a PCIe link bounds runs at the network's rate where
// nothing inside the servers binds.
func TestUnboundServer(t *testing.T) {
	text := "name: inside\nserver: {preset: two-socket, links: {nic0: {gen: 3, width: 4}}}\ntopology: {star: {hosts: 2, link: 100Gbps}}\nworkload:\n  - flow: {from: h0, to: h1, size: 8MB}\n"
	bound, free := simulate(t, parse(t, text), 1, 1), simulate(t, parse(t, text, "server.unbound=true"), 1, 1)
	wire := units.Rate(100 * units.Gbps).TxTimeLong(8 * units.MB)
	if took := bound.Messages[0].CompletionPS; took < 3*wire {
		t.Errorf("through four lanes of PCIe 3 it takes %v, on the wire alone %v", took, wire)
	}
	if took := free.Messages[0].CompletionPS; took > wire*105/100+20*units.Microsecond {
		t.Errorf("unbound it takes %v, on the wire alone %v", took, wire)
	}
}
