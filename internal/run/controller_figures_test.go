package run_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// Figures that congestion controllers are held to: closed forms and published numbers. Packets have 256 or
// 1024 bytes, as the closed forms are of fluids.

// controlledIncast is an incast to h0 through one switch without latency, and the port to h0.
func controlledIncast(t *testing.T, senders int, line, delay, control, more, entry string) (*record.Run, *record.Port) {
	t.Helper()
	r := simulate(t, parse(t, fmt.Sprintf(`
name: controlled
noise: off
topology: {star: {hosts: %d, link: %s, delay: %s}}
switch: {latency: 0ns, %s}
controller: %s
workload:
%s`, senders+1, line, delay, more, control, entry)), 0, 1)
	for i := range r.Ports {
		if p := &r.Ports[i]; p.Node == "sw" && p.Peer.Node == "h0" && p.Class == 3 {
			return r, p
		}
	}
	t.Fatal("no port to h0")
	return nil, nil
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if got < want*(1-tolerance) || got > want*(1+tolerance) {
		t.Errorf("%s is %.4g, want %.4g within %.3g %%", what, got, want, 100*tolerance)
	}
}

// TestHPCCFixedPoint (F19): the busiest hop settles at U* = eta + N WAI/(B T), 100 Gb/s, T 13 us, WAI 80 B:
// .951 for 2 flows and .958 for 16. U counts the queue too, of less than two packets of 1128 bytes.
func TestHPCCFixedPoint(t *testing.T) {
	for n, want := range map[int]float64{2: .951, 16: .958} {
		_, p := controlledIncast(t, n, "100Gbps", "3.2us", "{hpcc: {base_rtt: 13us, ai_rate: 49.23Mbps}}", "ecn: none",
			fmt.Sprintf("  - incast: {to: h0, size: 1GB, initial_rate: %dMbps}\nmtu: 256\nmeasure: {from: 5ms, to: 8ms}\nstop: 8ms\n", 95000/n))
		within(t, fmt.Sprintf("utilisation with %d flows", n), p.Utilisation, want, .005)
		if p.MeanQueueBytes > 2*1128 {
			t.Errorf("%d flows: mean queue %.0f B, want less than two packets", n, p.MeanQueueBytes)
		}
	}
}

// TestHPCCFairness (F32): the gap between two windows shrinks by eta/U* per round trip: half-life 8.7 ms for two
// flows at 100 Gb/s, T 13 us, WAI 80 B.
func TestHPCCFairness(t *testing.T) {
	gap := func(from, to string) float64 {
		r, _ := controlledIncast(t, 2, "100Gbps", "3.1us", "{hpcc: {base_rtt: 13us, ai_rate: 49.23Mbps}}", "ecn: none",
			"  - flow: {from: h1, to: h0, size: 1GB, initial_rate: 70Gbps}\n"+
				"  - flow: {from: h2, to: h0, size: 1GB, initial_rate: 25Gbps}\n"+
				"mtu: 1024\nmeasure: {from: "+from+", to: "+to+"}\nstop: "+to+"\n")
		var bytes []float64
		for i := range r.QPs {
			if q := &r.QPs[i]; q.Host == "h0" {
				bytes = append(bytes, float64(q.MeasuredBytes))
			}
		}
		sort.Float64s(bytes)
		return bytes[len(bytes)-1] - bytes[len(bytes)-2]
	}
	// The gap over [1, 3] ms and over [9.7, 11.7] ms, one half-life later.
	within(t, "the gap after a half-life of 8.7 ms", gap("9700us", "11700us")/gap("1ms", "3ms"), .5, .1)
}

// TestTIMELYFixedPoint (F20): the patched form settles at q' (1 + N delta/(beta C)), q' = C T_low, which counts
// the data under way: 265.6 KB for 2 flows at 40 Gb/s and 328.1 KB for 10.
func TestTIMELYFixedPoint(t *testing.T) {
	for n, want := range map[int]float64{2: 265.6e3, 10: 328.1e3} {
		_, p := controlledIncast(t, n, "40Gbps", "100ns", "{timely: {preset: patched, ai_rate: 10Mbps}}", "ecn: none",
			fmt.Sprintf("  - incast: {to: h0, size: 2GB, initial_rate: %dMbps}\nmtu: 1024\nmeasure: {from: 40ms, to: 70ms}\nstop: 70ms\n", 40000/n))
		within(t, fmt.Sprintf("the queue of %d flows", n), p.MeanQueueBytes, want, .1)
	}
}

// TestSwiftTracksTarget (F18): round trips of 100 flows at 50 Gb/s follow the target, at the whole line. The
// increase of the paper is not known: a quarter of a packet per round trip.
func TestSwiftTracksTarget(t *testing.T) {
	for _, target := range []float64{25, 70} {
		_, p := controlledIncast(t, 10, "50Gbps", "1us",
			fmt.Sprintf("{swift: {base_target: %gus, per_hop: 0ns, fs_range: 0ns, ai: 0.25}}", target), "ecn: none",
			"  - incast: {to: h0, size: 100MB, qps: 10, initial_rate: 1Gbps}\nmtu: 1024\nmeasure: {from: 5ms, to: 10ms}\nstop: 10ms\n")
		base := 4 + .2 // propagation, an ACK and a packet on the way
		within(t, "the round trip in us", p.MeanQueueBytes*8/50e3+base, target, .1)
		if p.Utilisation < .98 {
			t.Errorf("target %g us: utilisation %.3f, want 49 of 50 Gb/s", target, p.Utilisation)
		}
	}
}

// TestSwiftBelowOnePacket (F18): 5000 flows into one port of 50 Gb/s fill it with a queue far below what their
// first packets put there, and lose nothing once they have found their windows, of a 50th of a packet.
func TestSwiftBelowOnePacket(t *testing.T) {
	r, p := controlledIncast(t, 50, "50Gbps", "1us", "{swift: {initial_window: 0.01}}", "ecn: none, buffer: 16MB",
		"  - incast: {to: h0, size: 100MB, qps: 100}\nstack: rocev2-lossy\nmeasure: {from: 10ms, to: 20ms}\nstop: 20ms\n")
	if p.Utilisation < .98 || p.MeanQueueBytes > 1e6 {
		t.Errorf("utilisation %.3f, mean queue %.0f B", p.Utilisation, p.MeanQueueBytes)
	}
	for i := range r.Ledger {
		if e := &r.Ledger[i]; e.Mechanism == catalog.EgressDrop && e.Last > units.Millisecond {
			t.Errorf("%s dropped a packet at %v", e.Actor, e.Last)
		}
	}
}

// TestRTTTemplate (F35): between answers that raise by a twentieth of the line and those that lower by a tenth
// the share of the former is 2/(N+2); fluid runs give utilisation and mean queue. 100 Gb/s, 8 us unloaded.
func TestRTTTemplate(t *testing.T) {
	for _, c := range []struct {
		n                    int
		share, queue, filled float64
	}{{2, .5, 170e3, .976}, {4, .333, 566e3, .989}} {
		r, p := controlledIncast(t, c.n, "100Gbps", "2us", "rtt-probe", "ecn: none",
			fmt.Sprintf("  - incast: {to: h0, size: 2GB, initial_rate: %dGbps}\nmeasure: {from: 5ms, to: 25ms}\nstop: 25ms\n", 100/c.n))
		share := 1 - float64(act(r, catalog.DelayCut).Count)/float64(act(r, catalog.ProbeAnswer).Count)
		if share < c.share-.03 || share > c.share+.03 || p.Utilisation < c.filled-.01 || p.Utilisation > c.filled+.01 {
			t.Errorf("%d flows: share of increases %.3f, utilisation %.4f, want %g and %g", c.n, share, p.Utilisation, c.share, c.filled)
		}
		within(t, fmt.Sprintf("the queue of %d flows", c.n), p.MeanQueueBytes, c.queue, .15)
	}
}

// TestDCTCPClosedForm (F34): DCTCP with rates is DCTCP with the packet replaced by s = R_AI RTT/8. With s one
// packet of 1106 bytes the queue of N flows runs as that of F17: 10 Gb/s, 100 us, K 40 packets: 31 to 42 for
// two flows and 23 to 50 for ten.
func TestDCTCPClosedForm(t *testing.T) {
	for n, want := range map[int][2]float64{2: {31, 42}, 10: {23, 50}} {
		_, p := controlledIncast(t, n, "10Gbps", "24.5us", "{dctcp: {ai_rate: 88.5Mbps, min_rate: 10Mbps}}",
			"ecn: {kmin: 44240B, kmax: 44240B, pmax: 1}",
			fmt.Sprintf("  - incast: {to: h0, size: 1GB, initial_rate: %dMbps}\nmtu: 1024\nmeasure: {from: 50ms, to: 100ms}\nstop: 100ms\n", 10000/n))
		within(t, fmt.Sprintf("the longest queue of %d flows in packets", n), float64(p.MaxQueueBytes)/1106, want[1], .2)
		within(t, fmt.Sprintf("the shortest queue of %d flows in packets", n), float64(p.MinQueueBytes)/1106, want[0], .2)
	}
}

// TestTelemetryOnTheWire (F33): 42 bytes are added to each packet and each acknowledgement, and a flow that was
// silent for 20 ms, longer than the counters take to wrap, goes on at its rate.
func TestTelemetryOnTheWire(t *testing.T) {
	bytes := func(control string) (sent, acks int64) {
		r, p := controlledIncast(t, 1, "100Gbps", "1us", control, "ecn: none",
			"  - flow: {from: h1, to: h0, size: 1024B, count: 100, every: 10us}\nmtu: 1024\n")
		for i := range r.Ports {
			if q := &r.Ports[i]; q.Node == "h0" && q.Class == 3 {
				acks = q.TxBytes
			}
		}
		return p.TxBytes, acks
	}
	sent, acks := bytes("hpcc")
	without, ackless := bytes("dctcp")
	if sent-without != 4200 || acks-ackless != 4200 {
		t.Errorf("100 packets and ACKs are %d and %d B longer, want 4200", sent-without, acks-ackless)
	}
	r, _ := controlledIncast(t, 1, "100Gbps", "1us", "hpcc", "ecn: none",
		"  - flow: {from: h1, to: h0, size: 4MB, count: 2, every: 20500us}\n")
	within(t, "the second message's time, after 20 ms of silence", float64(r.Messages[1].CompletionPS), float64(r.Messages[0].CompletionPS), .02)
}

// TestReferenceControllers: runs of the ns-3 RDMA simulators with HPCC, TIMELY and DCTCP. Without ties between
// frames of one nanosecond they agree to the nanosecond; where ties decide who goes first, which those
// simulators leave to the order of their events, sorted completions agree on average and at the end.
func TestReferenceControllers(t *testing.T) {
	data := os.Getenv("HOPSCOPE_DATA")
	if data == "" || testing.Short() {
		t.Skip("HOPSCOPE_DATA does not name the folder of real files, or there is no time for 10 s")
	}
	for _, c := range []struct {
		name       string
		each, mean float64
	}{
		{"tiny_trace_hpcc", 0, 0}, {"two_dctcp", 1e-6, 1e-6}, {"two_timely", .02, .01}, {"two_hpcc", .06, .05},
		{"incast16_timely", .02, .01}, {"incast16_dctcp", .06, .01}, {"incast16_hpcc", .25, .02},
	} {
		v, err := run.Load(run.Options{Files: map[string]string{"ns3": filepath.Join(data, "ns3", c.name, "config.txt")}})
		if err != nil {
			t.Fatal(err)
		}
		r := simulate(t, v, 0, 1)
		var ours []float64
		for _, at := range completions(r) {
			ours = append(ours, float64(at/units.Nanosecond))
		}
		sort.Float64s(ours)
		ref := referenceTimes(t, filepath.Join(data, "ns3", c.name, "fct.txt"))
		if len(ours) != len(ref) {
			t.Fatalf("%s: %d flows, want %d", c.name, len(ours), len(ref))
		}
		sum, of := 0.0, 0.0
		for i := range ref {
			within(t, fmt.Sprintf("%s: completion %d in ns", c.name, i), ours[i], ref[i], c.each)
			sum, of = sum+ours[i], of+ref[i]
		}
		within(t, c.name+": the mean", sum, of, max(c.mean, 1e-12))
	}
}

// referenceTimes are the sorted completion times of an fct.txt, in ns.
func referenceTimes(t *testing.T, file string) (out []float64) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		v, err := strconv.ParseFloat(strings.Fields(line)[6], 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	sort.Float64s(out)
	return out
}
