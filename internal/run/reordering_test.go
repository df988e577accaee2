package run_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// longWay: packets from h0 to h1 have two ways, of which one is 5 us longer, and take
// them in turn.
const longWay = `
name: long-way
topology:
  hosts: [h0, h1]
  switches: [a, s0, s1, b]
  links:
    - {between: [h0, a], rate: 100Gbps, delay: 50ns}
    - {between: [a, s0], rate: 100Gbps, delay: 50ns}
    - {between: [a, s1], rate: 100Gbps, delay: 50ns}
    - {between: [s0, b], rate: 100Gbps, delay: 50ns}
    - {between: [s1, b], rate: 100Gbps, delay: 5us}
    - {between: [b, h1], rate: 100Gbps, delay: 50ns}
stack: %s
routing: adaptive
nic: {%s}
workload:
  - flow: {from: h0, to: h1, size: 4MB, verb: %s}
carry_data: true
`

// TestReordering: whoever takes a gap for a loss sends again what was never lost, and
// go-back-N far more of it than selective repeat; who expects packets in any order
// sends nothing again and has the line: a message takes what its bytes take, and
// the longer way.
func TestReordering(t *testing.T) {
	for _, stack := range []string{"rocev2-pfc-only", "infiniband"} {
		for _, verb := range []string{"write", "send", "read"} {
			resent := map[string]float64{}
			for name, nic := range map[string]string{"go-back-n": "recovery: go-back-n", "selective": "recovery: selective-repeat, out_of_order: false",
				"any order": "recovery: selective-repeat, out_of_order: true"} {
				v := parse(t, fmt.Sprintf(longWay, stack, nic, verb))
				r := simulate(t, v, 0, 1)
				f := &r.Messages[0]
				if f.Status != "success" || r.Data.Differ != 0 {
					t.Fatalf("%s %s %s: %s, %d messages differ", stack, verb, name, f.Status, r.Data.Differ)
				}
				late, _ := sumOf(r, catalog.Reordering)
				if late == 0 && verb != "read" {
					t.Errorf("%s %s %s: no packet came late", stack, verb, name)
				}
				again, _ := sumOf(r, catalog.RetransReordered)
				if verb == "read" { // whoever misses a response asks again
					again, _ = sumOf(r, catalog.RetransRead)
				}
				if lost, _ := sumOf(r, catalog.RetransNAK); lost != 0 || (again > 0) == (name == "any order") {
					t.Errorf("%s %s %s: %d packets sent again as reordered, %d as lost; none was lost", stack, verb, name, again, lost)
				}
				for i := range r.QPs {
					resent[name] += float64(r.QPs[i].RetransmittedBytes)
				}
				// 977 packets with 82 B around the payload, or 28 on InfiniBand; then the longer
				// way there, perhaps back, and less than 4 us through the switches.
				around := map[bool]units.Time{true: 28, false: 82}[r.Ports[0].Layer == catalog.InfiniBand]
				line := (4_000_000 + 977*around) * 80
				if spare := f.CompletionPS - line; name == "any order" && (spare < 5*units.Microsecond || spare > 14*units.Microsecond) {
					t.Errorf("%s %s: done after %d ps, want %d and 5 to 14 us", stack, verb, f.CompletionPS, line)
				}
				if name == "go-back-n" && f.CompletionPS < 2*line {
					t.Errorf("%s %s: go-back-N is done after %d ps, and needs %d without reordering", stack, verb, f.CompletionPS, line)
				}
				if bad := differ(t, r, simulate(t, v, 4, 3)); bad != "" {
					t.Errorf("%s %s %s: %s", stack, verb, name, bad)
				}
			}
			if resent["any order"] != 0 || resent["selective"] < 100e3 || resent["go-back-n"] < resent["selective"] {
				t.Errorf("%s %s: bytes sent again %v", stack, verb, resent)
			}
		}
	}
}

// TestPeakAhead: packets of 4,178 bytes on the wire take two ways in turn, of which one is 4.95 us longer. While one
// of the longer way is under way, 14.8 come behind it, every second one by the short way: 7 or 8 are held.
func TestPeakAhead(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(longWay, "rocev2-pfc-only", "out_of_order: true", "write"), "adaptive", "round-robin", 1)
	for routing, most := range map[string][2]int64{"round-robin": {7, 8}, "ecmp": {}, "{flowlet: {gap: 1us}}": {}} {
		r := simulate(t, parse(t, strings.Replace(text, "round-robin", routing, 1)), 0, 1)
		peak, late := int64(0), int64(0)
		for i := range r.QPs {
			peak = max(peak, int64(r.QPs[i].PeakAhead))
		}
		late, _ = sumOf(r, catalog.Reordering)
		if peak < most[0] || peak > most[1] || (late > 0) != (peak > 0) {
			t.Errorf("%s: at most %d packets held, %d came late, want %v", routing, peak, late, most)
		}
		said := strings.Join(metrics.Control(r), "\n")
		if want := fmt.Sprintf("held at most %d packets of a bitmap of 512 until an earlier one came", peak); (peak > 0) != strings.Contains(said, want) {
			t.Errorf("%s: %q", routing, said)
		}
	}
}

// TestOutOfOrderLoss: with gaps expected, the timer alone tells of a loss, and what
// was lost is sent again alone.
func TestOutOfOrderLoss(t *testing.T) {
	const text = `
name: any-order-loss
topology: {star: {hosts: 2, link: 100Gbps, length: 5m, drop_every: 200}}
stack: rocev2-lossy
dcqcn: none
nic: {recovery: selective-repeat, out_of_order: true, timeout: 8}
workload:
  - flow: {from: h0, to: h1, size: 4MB, verb: %s}
carry_data: true
`
	for _, verb := range []string{"write", "send", "read"} {
		r := simulate(t, parse(t, fmt.Sprintf(text, verb)), 0, 1)
		if r.Messages[0].Status != "success" || r.Data.Differ != 0 {
			t.Fatalf("%s: %s", verb, r.Messages[0].Status)
		}
		dropped, resent, timeouts := int64(0), int64(0), int64(0)
		for i := range r.Ports {
			dropped += r.Ports[i].Dropped
		}
		for i := range r.QPs {
			resent, timeouts = resent+r.QPs[i].Retransmitted, timeouts+r.QPs[i].Timeouts
		}
		if naks, _ := sumOf(r, catalog.NAKSent); naks != 0 || timeouts == 0 || dropped < 4 {
			t.Errorf("%s: %d NAKs, %d timeouts, %d dropped", verb, naks, timeouts, dropped)
		}
		if late, _ := sumOf(r, catalog.Reordering); late != 0 {
			t.Errorf("%s: %d packets came late on a single path", verb, late)
		}
		if resent > 2*dropped {
			t.Errorf("%s: %d packets sent again for %d dropped", verb, resent, dropped)
		}
	}
}

// TestSpreadingIsNotSlower: with the receivers that routing per packet brings, no
// fabric is slower with it than with a path per flow. Where queues may drop, receivers
// NAK gaps, and what is sent again in vain costs up to a tenth.
func TestSpreadingIsNotSlower(t *testing.T) {
	draws := 3
	if !testing.Short() {
		draws = 12
	}
	rnd := rand.New(rand.NewPCG(13, 1))
	for range draws {
		hosts, size := 16, 1+rnd.IntN(4)
		shape := "fat_tree: {k: 4"
		if rnd.IntN(2) == 0 {
			leaves, each := 2+rnd.IntN(3), 2+rnd.IntN(4)
			hosts = leaves * each
			shape = fmt.Sprintf("leaf_spine: {leaves: %d, spines: %d, hosts_per_leaf: %d", leaves, 2+rnd.IntN(3), each)
		}
		link := "host_link"
		if strings.HasPrefix(shape, "leaf") {
			link = "link"
		}
		rate := []string{"25Gbps", "100Gbps", "400Gbps"}[rnd.IntN(3)]
		work := []string{
			fmt.Sprintf("permutation: {size: %dMB}", size),
			fmt.Sprintf("permutation: {size: %dMB, verb: read}", size),
			fmt.Sprintf("incast: {from: [h%d, h%d, h%d], to: h0, size: %dMB}", hosts-3, hosts-2, hosts-1, size),
			fmt.Sprintf("flow: {from: h%d, to: h0, size: %dMB}", hosts-1, size),
		}[rnd.IntN(4)]
		text := fmt.Sprintf("name: spread\ntopology: {%s, %s: %s}}\nseed: %d\nworkload: [{%s}]\n", shape, link, rate, rnd.IntN(1000), work)
		for _, stack := range []string{"infiniband", "rocev2", "rocev2-pfc-only", "rocev2-lossy"} {
			took := func(routing string) units.Time {
				r := simulate(t, parse(t, text+"stack: "+stack+"\nrouting: "+routing+"\n"), 0, 1)
				last := units.Time(0)
				for i := range r.Messages {
					if r.Messages[i].Status != "success" {
						t.Fatalf("%s%s %s: %s", text, stack, routing, r.Messages[i].Status)
					}
					last = max(last, r.Messages[i].CompletionPS)
				}
				return last
			}
			most := map[bool]float64{true: 1.1, false: 1.03}[stack == "rocev2-lossy"]
			if strings.Contains(work, "incast") && (stack == "rocev2" || stack == "rocev2-lossy") {
				continue // how soon DCQCN cuts depends on which queue marks, whatever the order
			}
			fixed := took("ecmp")
			for _, routing := range []string{"adaptive", "spray"} {
				if got := took(routing); float64(got) > most*float64(fixed) {
					t.Errorf("%s%s: %s takes %v, ecmp %v", text, stack, routing, got, fixed)
				}
			}
		}
	}
}
