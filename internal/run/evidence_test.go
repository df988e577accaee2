package run_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// portOf is the name of a port by its global number.
func portOf(r *record.Run, m *record.Met) string {
	if m.Port == record.OtherPorts {
		return "others"
	}
	p := r.Evidence.Ports[m.Port]
	return fmt.Sprintf("%s:%d", p.Node, p.Port)
}

// metAt is what message i met at a port, one way, in any class.
func metAt(r *record.Run, i int, port string, answer bool) (sum record.Met) {
	for _, m := range r.Evidence.Met(i) {
		if portOf(r, &m) == port && m.Answer == answer {
			sum.Add(&m)
		}
	}
	return sum
}

// sayMet is all evidence, for comparison.
func sayMet(r *record.Run) string {
	var b strings.Builder
	for i := range r.Messages {
		fmt.Fprintln(&b, i, r.Evidence.Met(i), r.Evidence.Lost(i))
	}
	fmt.Fprintln(&b, r.Evidence.Fills, r.Evidence.Ahead, r.Evidence.Detours)
	return b.String()
}

// laterTraffic has a flow that shares an uplink at first, and a workload towards its
// receiver that begins long after its end.
const laterTraffic = `
name: later
stack: %s
topology: {leaf_spine: {leaves: 3, spines: 1, hosts_per_leaf: 4, host_link: 100Gbps, uplink: 100Gbps}}
%s
workload:
  - flow: {name: f, from: h0, to: h4, size: 4MB}
  - flows: {name: up, size: 4MB, list: [{from: h1, to: h8}, {from: h2, to: h9}]}
  - flows: {name: later, size: 8MB, start: %s, list: [{from: h5, to: h4}, {from: h6, to: h4}, {from: h7, to: h4}]}
`

// TestMetOfItsOwnTime: a message's marks and waits are those of its own packets: traffic
// that begins after its end, and fills another queue of its way, adds nothing to them.
func TestMetOfItsOwnTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ stack, more string }{
		{"rocev2", ""},
		{"rocev2-none", "switch: {lossy: unlimited}\nnic: {window: 100KB}"},
		{"rocev2-pfc-only", ""},
		{"infiniband", ""},
		{"tcp", ""},
	} {
		with := simulate(t, parse(t, fmt.Sprintf(laterTraffic, c.stack, c.more, "20ms")), 0, 1)
		alone := simulate(t, parse(t, fmt.Sprintf(laterTraffic, c.stack, c.more, "20ms")+"stop: 20ms\n"), 0, 1)
		if with.Messages[0].CompletionPS != alone.Messages[0].CompletionPS || with.Messages[0].CompletionPS > 20*units.Millisecond {
			t.Fatalf("%s: the later workload changed the message, or it lasts %v", c.stack, with.Messages[0].CompletionPS)
		}
		if a, b := with.Evidence.Met(0), alone.Evidence.Met(0); !slices.Equal(a, b) {
			t.Errorf("%s: the message met\n%v with what comes later, and\n%v without", c.stack, a, b)
		}
		up, down := metAt(with, 0, "leaf1:5", false), metAt(with, 0, "leaf2:1", false)
		if up.Wait+up.Held < 10*(down.Wait+down.Held) || down.Marks > 0 {
			t.Errorf("%s: leaf1:5 %+v, leaf2:1 %+v: the first is shared, the second idle until later", c.stack, up, down)
		}
		if c.stack == "rocev2" && up.Marks == 0 {
			t.Errorf("%s: no packet of the message was marked at leaf1:5", c.stack)
		}
	}
}

// TestMetOnTheWayBack: acknowledgements that wait in a queue say so; see the idle way for
// what they meet without.
func TestMetOnTheWayBack(t *testing.T) {
	t.Parallel()
	const text = `
name: acks
stack: rocev2-none
topology: {star: {hosts: 5, link: 100Gbps}}
switch: {lossy: unlimited}
nic: {window: 128KB}
workload:
  - flow: {name: f, from: h0, to: h1, size: 2MB}
  - incast: {from: [h2, h3, h4], to: h0, size: 2MB}
`
	r := simulate(t, parse(t, text), 0, 1)
	back := metAt(r, 0, "sw:1", true)
	// Three windows of 128 KB, less what is on its way: 100 Gb/s take 31.5 us for them.
	if mean := back.Wait / units.Time(back.Packets); mean < 20*units.Microsecond || mean > 32*units.Microsecond {
		t.Errorf("the ACKs followed waited %v each at sw:1: %+v", mean, back)
	}
	if idle := metAt(r, 0, "h1:1", true); idle.Packets != back.Packets || idle.Wait > idle.Own+units.Microsecond {
		t.Errorf("h1:1: %+v, sw:1: %+v", idle, back)
	}
	if there := metAt(r, 0, "sw:2", false); there.Wait > 20*units.Microsecond {
		t.Errorf("sw:2, which is idle: %+v", there)
	}
}

// TestMetWaysTaken: with a way per packet the record has the ways that were taken, in about
// equal shares; one flow whose link fails has both of its ways.
func TestMetWaysTaken(t *testing.T) {
	t.Parallel()
	const spray = `
name: spray
stack: rocev2
routing: spray
topology: {leaf_spine: {leaves: 2, spines: 4, hosts_per_leaf: 4, link: 100Gbps}}
workload:
  - flows: {size: 4MB, list: [{from: h0, to: h4}, {from: h1, to: h5}, {from: h2, to: h6}]}
`
	r := simulate(t, parse(t, spray), 0, 1)
	for i := range r.Messages {
		all := metAt(r, i, fmt.Sprintf("leaf2:%d", i+1), false).Packets
		for port := 5; port <= 8; port++ {
			if n := metAt(r, i, fmt.Sprintf("leaf1:%d", port), false).Packets; n < all/10 || n > all/2 {
				t.Errorf("message %d: %d of %d packets went by leaf1:%d", i, n, all, port)
			}
		}
	}
	const failover = `
name: failover
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 100Gbps}
  links: [{between: [leaf1, %s], down_at: 100us}]
failover: {detect: 10us, converge: 10us}
nic: {timeout: 8}
workload:
  - flow: {from: h0, to: h2, size: 4MB, src_port: 50000}
`
	first := "spine1"
	for range 2 { // the hash chooses one of them
		r := simulate(t, parse(t, fmt.Sprintf(failover, first)), 0, 1)
		one, two := metAt(r, 0, "leaf1:3", false).Packets, metAt(r, 0, "leaf1:4", false).Packets
		if r.FlowsMoved > 0 && one > 0 && two > 0 {
			return
		}
		first = "spine2"
	}
	t.Error("no message went two ways, whichever link failed")
}

// TestMetAddsUp: over random networks, the marks that messages met are those that ports
// set, as far as marked packets arrived; what is said to stand in a message's account does
// to the picosecond; and nothing depends on how the network is cut.
func TestMetAddsUp(t *testing.T) {
	t.Parallel()
	marks, own := int64(0), units.Time(0)
	for seed := range draws(12, 60) {
		for _, text := range []string{drawScenario(seed).text, harsh(seed)} {
			v, err := scenario.Parse("drawn", []byte(text), nil, nil)
			if err != nil {
				if text == drawScenario(seed).text || !strings.Contains(text, "time_quantum") {
					t.Fatal(err)
				}
				continue // a quantum longer than a frame
			}
			r := simulate(t, v, 1, 1)
			if seed < 4 {
				if a, b := sayMet(r), sayMet(simulate(t, v, 3, 2)); a != b {
					t.Fatalf("seed %d: three partitions give\n%s\none gives\n%s", seed, b, a)
				}
			}
			met := map[string]int64{}
			whole := r.OpenMessages == 0
			for i := range r.Messages {
				whole = whole && r.Messages[i].Service == catalog.RC && r.Messages[i].Status == "success"
				for _, m := range r.Evidence.Met(i) {
					met[portOf(r, &m)] += m.Marks
					marks += m.Marks
				}
				own += checkOwn(t, r, i)
			}
			for k := range r.Ports {
				whole = whole && r.Ports[k].Dropped == 0
			}
			for k := range r.Ports {
				p := &r.Ports[k]
				set := int64(0)
				for j := range r.Ports {
					if o := &r.Ports[j]; o.Node == p.Node && o.Port == p.Port {
						set += o.Marked
					}
				}
				if n := met[fmt.Sprintf("%s:%d", p.Node, p.Port)]; n > set {
					t.Errorf("seed %d: messages met %d marks of %s:%d, which set %d", seed, n, p.Node, p.Port, set)
				} else if n < set && whole && met["others"] == 0 {
					t.Errorf("seed %d: messages met %d marks of %s:%d, which set %d, and nothing was lost", seed, n, p.Node, p.Port, set)
				}
			}
		}
	}
	if marks == 0 || own == 0 {
		t.Errorf("%d marks and %v of waits: the draws say nothing", marks, own)
	}
}

// checkOwn compares what is said to stand in the account of message i with the account's
// stages at ports. Where the account has not the ways, it is left out.
func checkOwn(t *testing.T, r *record.Run, i int) (own units.Time) {
	t.Helper()
	f := &r.Messages[i]
	if f.CompletionPS < 0 || f.Status != "success" || f.Verb == "READ" || f.Service != catalog.RC && f.Service != catalog.TCP {
		return 0
	}
	account := units.Time(0)
	for _, s := range f.Account.Stages() {
		back := s.Stage.Leg() == catalog.LegAck
		switch s.Stage.Base() {
		case catalog.StageReordered, catalog.StageReassembly, catalog.StageImplied.Base(), catalog.StageInOrder, catalog.StageBeyond,
			catalog.StageLoss, catalog.StageAckWay.Base():
			return 0
		case catalog.StageQueue, catalog.StageReceiveBuffer, catalog.StagePipeline:
			account += s.Time
		case catalog.StagePaused, catalog.StageCredits:
			if back || s.Place().Node != record.HostOf(f.Src) {
				account += s.Time
			}
		}
	}
	met := r.Evidence.Met(i)
	for _, m := range met {
		own += m.Own
	}
	if len(met) > 0 && own != account {
		t.Errorf("%s to %s: %d ps of waits are said to stand in the account, which has %d: %v\n%v", f.Src, f.Dst, own, account, f.Account.Stages(), r.Evidence.Met(i))
	}
	return own
}

// number is the global number of a port.
func number(t *testing.T, r *record.Run, name string) uint32 {
	t.Helper()
	for i, p := range r.Evidence.Ports {
		if fmt.Sprintf("%s:%d", p.Node, p.Port) == name {
			return uint32(i)
		}
	}
	t.Fatalf("no port %s", name)
	return 0
}

// TestFilledBy: who fills an ingress buffer is who is waited for there, not the longest
// queue of the switch. h0 and h1 send to h6 with all they have, four others to h7, and h0
// a little: what stops h0 is that sw:7 cannot send as fast as two of them do, though sw:8 has
// the longest queue.
func TestFilledBy(t *testing.T) {
	t.Parallel()
	const text = `
name: fills
stack: %s
topology: {star: {hosts: 8, link: 100Gbps}}
%s
workload:
  - flows: {name: e1, size: 8MB, list: [{from: h0, to: h6}, {from: h1, to: h6}]}
  - flow: {name: trickle, from: h0, to: h7, size: 4KB, count: 40, every: 30us}
  - incast: {name: e2, from: [h2, h3, h4, h5], to: h7, size: 4MB}
`
	for _, c := range []struct{ stack, more string }{
		{"rocev2-pfc-only", "switch: {buffer: 64MB, pfc: {xoff: 200KB}}"},
		{"infiniband", ""},
	} {
		r := simulate(t, parse(t, fmt.Sprintf(text, c.stack, c.more)), 0, 1)
		for in, out := range map[string]string{"sw:1": "sw:7", "sw:2": "sw:7", "sw:3": "sw:8", "sw:6": "sw:8"} {
			class := uint8(3)
			if c.stack == "infiniband" {
				class = 0
			}
			f := r.Evidence.FilledAt(number(t, r, in), class)
			if f == nil {
				t.Errorf("%s: nothing was seen of %s: %v", c.stack, in, r.Evidence.Fills)
				continue
			}
			by := f.By(0, r.EndPS)
			if len(by) == 0 || by[0].Port != number(t, r, out) || len(by) > 1 && by[1].Bytes*5 > by[0].Bytes {
				t.Errorf("%s: %s was filled by %v, want %s (%d) by far", c.stack, in, by, out, number(t, r, out))
			}
			if int64(len(f.Seen)) > f.Times || len(f.Seen) < 16 {
				t.Errorf("%s: %s: %d of %d times were looked at", c.stack, in, len(f.Seen), f.Times)
			}
		}
	}
}

// TestServedAhead: a message of a lower class waits as long as the strict class is on the
// wire, and the record says which that was; with the message in the higher class nothing was
// ahead of it.
func TestServedAhead(t *testing.T) {
	t.Parallel()
	const text = `
name: strict
stack: rocev2-pfc-only
topology: {star: {hosts: 3, link: 100Gbps}}
switch: {pfc: {enabled: [3, 6]}}
workload:
  - flow: {name: bulk, from: h0, to: h2, size: 8MB, class: 6}
  - flow: {name: low, from: h1, to: h2, size: 1MB, class: 3}
`
	r := simulate(t, parse(t, text), 0, 1)
	low, bulk := metAt(r, 1, "sw:3", false), metAt(r, 0, "sw:3", false)
	if low.Served != 6 || low.Ahead < low.Wait*9/10 || bulk.Ahead != 0 {
		t.Errorf("of the waits of the lower class, %v, class %d was on the wire for %v; of the higher one's, %v, others for %v", low.Wait, low.Served, low.Ahead, bulk.Wait, bulk.Ahead)
	}
	for _, a := range r.Evidence.Ahead {
		if a.Port != number(t, r, "sw:3") {
			continue
		}
		// 8 MB in frames of 4,096 bytes and 78 around them, and 20 on the wire, but the first few.
		want := units.Time(8_000_000 / 4096 * (4096 + 98) * 80)
		if a.Class != 3 || a.Served != 6 || !a.Strict || units.Time(a.Sum) < want*9/10 || units.Time(a.Sum) > want*11/10 {
			t.Errorf("%+v, want class 6 ahead of 3 for about %v", a, want)
		}
	}
}

// TestDetours: packets that take another way than by hash are counted by switch, from the
// first on: of those sprayed over four ports three in four; none with a fixed way.
func TestDetours(t *testing.T) {
	t.Parallel()
	const text = `
name: detours
stack: rocev2
routing: %s
topology: {leaf_spine: {leaves: 2, spines: 4, hosts_per_leaf: 4, link: 100Gbps}}
workload:
  - flow: {from: h0, to: h4, size: 4MB}
`
	for _, c := range []struct {
		routing string
		by      catalog.Mechanism
	}{{"spray", catalog.Spraying}, {"adaptive", catalog.Adaptive}} {
		r := simulate(t, parse(t, fmt.Sprintf(text, c.routing)), 0, 1)
		var d record.Detour
		for _, x := range r.Evidence.Detours {
			if x.Node == "leaf1" {
				d = x
			}
		}
		sent := int64(0)
		for _, p := range r.Ports {
			if p.Node == "leaf1" && strings.HasPrefix(p.Peer.Node, "spine") {
				sent += p.TxPackets
			}
		}
		if d.By != c.by || d.Packets.Count < sent*65/100 || d.Packets.Count > sent*85/100 || d.Packets.First > 10*units.Microsecond {
			t.Errorf("%s: %+v of %d packets", c.routing, d, sent)
		}
	}
	if r := simulate(t, parse(t, fmt.Sprintf(text, "ecmp")), 0, 1); len(r.Evidence.Detours) > 0 {
		t.Errorf("by hash: %+v", r.Evidence.Detours)
	}
}

// TestDetoursAfterFailure: all packets of the flows that a failure moves are counted, from
// when their switch knew of it.
func TestDetoursAfterFailure(t *testing.T) {
	t.Parallel()
	const text = `
name: failover
topology:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, link: 100Gbps}
  links: [{between: [leaf1, spine2], down_at: 100us}]
failover: {detect: 10us, converge: 10us}
nic: {timeout: 8}
workload:
  - flows: {size: 2MB, list: [{from: h0, to: h4}, {from: h1, to: h5}, {from: h2, to: h6}, {from: h3, to: h7}]}
`
	r := simulate(t, parse(t, text), 0, 1)
	for _, d := range r.Evidence.Detours {
		if d.By != catalog.NoMechanism || d.Flows == 0 || d.Packets.Count < 10*d.Flows || d.Packets.First < 110*units.Microsecond {
			t.Errorf("%+v", d)
		}
	}
	if len(r.Evidence.Detours) == 0 {
		t.Error("no packet took another way")
	}
}

// TestLost: the drops that a message met are those of its own connection, in its time, at
// the port that made them, and all of them.
func TestLost(t *testing.T) {
	t.Parallel()
	const text = `
name: lost
stack: rocev2-lossy
topology:
  hosts: [h0, h1, h2]
  switches: [sw]
  links:
    - {between: [h0, sw], rate: 100Gbps, drop_every: 100}
    - {between: [h1, sw], rate: 100Gbps}
    - {between: [h2, sw], rate: 100Gbps}
nic: {timeout: 8}
workload:
  - flow: {name: first, from: h0, to: h2, size: 1MB}
  - flow: {name: clean, from: h1, to: h2, size: 1MB, start: 3ms}
  - flow: {name: later, from: h0, to: h2, size: 1MB, start: 6ms}
`
	r := simulate(t, parse(t, text), 0, 1)
	total := int64(0)
	for i := range r.Messages {
		n := int64(0)
		for _, l := range r.Evidence.Lost(i) {
			a := l.Acts.Total()
			n += a.Count
			f := &r.Messages[i]
			if l.Port != number(t, r, "h0:1") || l.Cause != catalog.DropEvery || l.Answer || a.First < f.StartPS || a.Last > f.StartPS+f.CompletionPS {
				t.Errorf("%s: %+v", f.Workload, l)
			}
		}
		if (n == 0) != (r.Messages[i].Workload == "clean") {
			t.Errorf("%s met %d drops", r.Messages[i].Workload, n)
		}
		total += n
	}
	dropped := int64(0)
	for _, p := range r.Ports {
		dropped += p.Dropped
	}
	if total != dropped {
		t.Errorf("messages met %d drops of %d", total, dropped)
	}
}

// TestEvidenceComesBack: what is read from a document is what the run wrote down.
func TestEvidenceComesBack(t *testing.T) {
	t.Parallel()
	for seed := range draws(3, 12) {
		v, err := scenario.Parse("drawn", []byte(drawScenario(seed).text), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := simulate(t, v, 0, 1)
		data, err := report.JSON(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := report.ParseJSON(data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Messages {
			if a, b := asJSON(t, r.Evidence.Met(i)), asJSON(t, back.Evidence.Met(i)); a != b {
				t.Fatalf("seed %d: message %d met\n%s, read back\n%s", seed, i, a, b)
			}
			// None is none, whether or not a list was begun for it.
			a, b := r.Evidence.Lost(i), back.Evidence.Lost(i)
			if len(a)+len(b) > 0 && asJSON(t, a) != asJSON(t, b) {
				t.Fatalf("seed %d: message %d lost\n%s, read back\n%s", seed, i, asJSON(t, a), asJSON(t, b))
			}
		}
		if a, b := asJSON(t, r.Evidence), asJSON(t, back.Evidence); a != b {
			t.Fatalf("seed %d: evidence\n%s, read back\n%s", seed, a, b)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
