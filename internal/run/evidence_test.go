package run_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
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

// sayMet is all that messages met, for comparison.
func sayMet(r *record.Run) string {
	var b strings.Builder
	for i := range r.Flows {
		fmt.Fprintln(&b, i, r.Evidence.Met(i))
	}
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
		if with.Flows[0].CompletionPS != alone.Flows[0].CompletionPS || with.Flows[0].CompletionPS > 20*units.Millisecond {
			t.Fatalf("%s: the later workload changed the message, or it lasts %v", c.stack, with.Flows[0].CompletionPS)
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
	for i := range r.Flows {
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
			for i := range r.Flows {
				whole = whole && r.Flows[i].Service == "" && r.Flows[i].Status == "success"
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
	f := &r.Flows[i]
	if f.CompletionPS < 0 || f.Status != "success" || f.Verb == "READ" || f.Service != "" && f.Service != "TCP" {
		return 0
	}
	account := units.Time(0)
	for _, s := range f.Account.Stages() {
		name, back := strings.CutPrefix(s.Name, record.AckStage)
		switch name {
		case record.StageReordered, record.StageReassembly, record.StageImplied, record.StageInOrder, record.StageBeyond, record.StageLoss, record.StageAckWay:
			return 0
		case record.StageQueue, record.StageReceiveBuffer, record.StagePipeline:
			account += s.Time
		case record.StagePaused, record.StageCredits:
			if back || record.HostOf(s.Where) != record.HostOf(f.Src) {
				account += s.Time
			}
		}
	}
	for _, m := range r.Evidence.Met(i) {
		own += m.Own
	}
	if own != account {
		t.Errorf("%s to %s: %d ps of waits are said to stand in the account, which has %d: %v\n%v", f.Src, f.Dst, own, account, f.Account.Stages(), r.Evidence.Met(i))
	}
	return own
}
