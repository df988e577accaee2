package run_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// ibVictim: four senders to h5 fill the input buffers up to their own leaf, where
// h4, which sends elsewhere, waits for credits with them.
const ibVictim = `
name: ib-victim
stack: infiniband
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 5, host_link: 100Gbps, uplink: 400Gbps, length: 5m}}
infiniband: {congestion_control: ofed}
workload:
  - incast: {from: [h0, h1, h2, h3], to: h5, size: 8MB}
  - flow: {from: h4, to: h6, size: 8MB}
`

func sumOf(r *record.Run, m catalog.Mechanism) (count, sum int64) {
	for _, e := range r.Ledger {
		if e.Mechanism == m {
			count, sum = count+e.Count, sum+e.Sum
		}
	}
	return count, sum
}

// goodputOf is in Gb/s.
func goodputOf(t *testing.T, r *record.Run, src string) float64 {
	t.Helper()
	for _, f := range r.Messages {
		if f.Src == src && f.Status == "success" {
			return float64(f.Bytes) * 8 / (float64(f.CompletionPS) / float64(units.Nanosecond))
		}
	}
	t.Fatalf("%s: no message completed", src)
	return 0
}

// TestCongestionControlFreesVictim: without congestion control the victim gets a
// fifth of what passes its leaf's uplink, a quarter of its line; with it nobody
// waits long for credits, and the victim has more.
func TestCongestionControlFreesVictim(t *testing.T) {
	off := simulate(t, parse(t, ibVictim, "infiniband.congestion_control=none"), 0, 1)
	v := parse(t, ibVictim)
	on := simulate(t, v, 0, 1)
	if g := goodputOf(t, off, "h4"); g < 24 || g > 26 {
		t.Errorf("without: victim at %.1f Gb/s, want 25: as much as each of the four that share 100 Gb/s", g)
	}
	if g := goodputOf(t, on, "h4"); g < 33 {
		t.Errorf("with: victim at %.1f Gb/s, want a third of its line at least", g)
	}
	_, before := sumOf(off, catalog.CreditWait)
	_, after := sumOf(on, catalog.CreditWait)
	if before < 12e9 || after > before/50 {
		t.Errorf("waits for credits: %d ps without, %d with; want a fiftieth at most", before, after)
	}
	marks, _ := sumOf(on, catalog.FECNMark)
	becns, _ := sumOf(on, catalog.BECNOnAck)
	slowed, off1 := sumOf(on, catalog.CCTIIncrease)
	if marks == 0 || becns != marks || slowed != becns || off1 <= 0 {
		t.Errorf("%d FECNs, %d BECNs, %d increases: with an ACK per packet and no limit reached they are as many", marks, becns, slowed)
	}
	if n, _ := sumOf(off, catalog.FECNMark); n != 0 {
		t.Errorf("%d marks without congestion control", n)
	}
	for _, parts := range []int{1, 2, 5} {
		if bad := differ(t, on, simulate(t, v, parts, 3)); bad != "" {
			t.Errorf("%d partitions: %s", parts, bad)
		}
	}
	if count := len(on.Messages); on.OpenMessages != 0 || count != 5 {
		t.Errorf("%d of %d messages open", on.OpenMessages, count)
	}
}

// TestCongestionControlByService: whatever the service or verb, who sends the data
// is told and slows: by BECN on acknowledgements of RC requests, by CNPs of
// InfiniBand's own kind of UC, UD and READ responses.
func TestCongestionControlByService(t *testing.T) {
	const text = `
name: ib-services
stack: infiniband
topology: {star: {hosts: 3, link: 100Gbps, length: 5m}}
infiniband: {congestion_control: {marking_rate: 0, ccti_timer: 10}}
carry_data: true
workload:
  - flow: {from: h0, to: h2, size: %s, count: %d, %s}
  - flow: {from: h1, to: h2, size: %s, count: %d, %s}
`
	for _, c := range []struct {
		name, size string
		count      int
		keys       string
		cnp        bool
	}{
		{"RC WRITE", "1MB", 2, "verb: write", false},
		{"RC SEND", "1MB", 2, "verb: send", false},
		{"RC READ", "1MB", 2, "verb: read", true},
		{"UC WRITE", "1MB", 2, "verb: write, service: uc", true},
		{"UC SEND", "1MB", 2, "verb: send, service: uc", true},
		{"UD SEND", "4000B", 500, "verb: send, service: ud", true},
	} {
		v := parse(t, fmt.Sprintf(text, c.size, c.count, c.keys, c.size, c.count, c.keys))
		r := simulate(t, v, 0, 1)
		becns, _ := sumOf(r, catalog.BECNOnAck)
		cnps, _ := sumOf(r, catalog.CNPSent)
		if c.cnp && (cnps == 0 || becns != 0) || !c.cnp && (becns == 0 || cnps != 0) {
			t.Errorf("%s: %d CNPs and %d BECNs on ACKs", c.name, cnps, becns)
		}
		for _, e := range r.Ledger {
			if e.Mechanism == catalog.CCTIIncrease && e.Actor.Node == "h2" {
				t.Errorf("%s: h2 slowed, which sends no data", c.name)
			}
		}
		slowed := 0
		for i := range r.QPs {
			if q := &r.QPs[i]; q.RateCuts > 0 && q.PeakCCTI > 0 && q.MinRateBps < 100*units.Gbps {
				slowed++
			}
		}
		if slowed != 2 {
			t.Errorf("%s: %d queue pairs slowed, want both senders", c.name, slowed)
		}
		for i := range r.Messages {
			if f := &r.Messages[i]; f.Status != "success" {
				t.Errorf("%s: message ended as %s", c.name, f.Status)
			}
		}
		if r.Data.Differ != 0 || r.Data.Lost != 0 {
			t.Errorf("%s: %d messages differ, %d lost", c.name, r.Data.Differ, r.Data.Lost)
		}
		if bad := differ(t, r, simulate(t, v, 3, 2)); bad != "" {
			t.Errorf("%s: %s", c.name, bad)
		}
	}
}

// TestCongestionControlPerSL: queue pairs of a port that share a service level
// share an index: a flow that met no congestion slows with its neighbour; with
// another service level, or by queue pair, it does not.
func TestCongestionControlPerSL(t *testing.T) {
	const text = `
name: ib-sl
stack: infiniband
topology: {star: {hosts: 4, link: 100Gbps, length: 5m}}
infiniband: {congestion_control: {marking_rate: 0, based_on: %s}}
workload:
  - incast: {from: [h0, h1], to: h2, size: 2MB}
  - flow: {from: h0, to: h3, size: 2KB, every: 5us, count: 40, class: %d}
`
	for _, c := range []struct {
		basis string
		class int
		slows bool
	}{{"sl", 0, true}, {"sl", 1, false}, {"qp", 0, false}} {
		r := simulate(t, parse(t, fmt.Sprintf(text, c.basis, c.class)), 0, 1)
		least := 100 * units.Gbps
		cuts := int64(0)
		for i := range r.QPs {
			q := &r.QPs[i]
			if q.Host == "h0" && q.Workload != "incast" && q.Workload != "incast[0]" {
				least = min(least, q.MinRateBps)
			}
			cuts += q.RateCuts
		}
		if (least < 100*units.Gbps) != c.slows {
			t.Errorf("based on %s, class %d: the other flow of h0 sent at %d bit/s at least", c.basis, c.class, least)
		}
		if n, _ := sumOf(r, catalog.CCTIIncrease); n != cuts || n == 0 {
			t.Errorf("based on %s: the ledger has %d increases, the queue pairs %d", c.basis, n, cuts)
		}
	}
}
