package run_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// star returns a run of a scenario on one switch.
func star(t *testing.T, hosts int, link, rest string) *record.Run {
	t.Helper()
	v, err := scenario.Parse("star.yaml", fmt.Appendf(nil, "noise: off\ntopology: {star: {hosts: %d, link: %s}}\n%s", hosts, link, rest), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return simulate(t, v, 0, 1)
}

// reader is the end of the only TCP connection that reads.
func reader(t *testing.T, r *record.Run) *record.QP {
	t.Helper()
	for i := range r.QPs {
		if q := &r.QPs[i]; q.Service == catalog.TCP && q.DeliveredBytes > 0 {
			return q
		}
	}
	t.Fatal("nothing was read")
	return nil
}

// One connection fills the wire but for headers: payload over what a full frame
// takes, with preamble and gap (models.md 4.5: 94.15 % and 99.00 % with
// timestamps; IEEE 802.3, RFC 791, 9293, 7323).
func TestStreamGoodput(t *testing.T) {
	for _, c := range []struct {
		mtu   int
		extra string
		want  float64
	}{
		{1500, "", 1448.0 / 1538},
		{9000, "", 8948.0 / 9038},
		{1500, ", timestamps: false", 1460.0 / 1538},
		{1500, ", tso: false", 1448.0 / 1538},
		{9000, ", mss: 1000", 988.0 / (1000 + 78)},
	} {
		for _, rate := range []string{"10Gbps", "100Gbps"} {
			r := star(t, 2, rate, fmt.Sprintf("stack: tcp\nhost: {preset: free}\ntcp: {mtu: %d%s}\nmeasure: {from: 3ms, to: 13ms}\nstop: 13ms\nworkload: [{flow: {from: h0, to: h1, size: 800MB}}]\n", c.mtu, c.extra))
			line, err := units.ParseRate(rate)
			if err != nil {
				t.Fatal(err)
			}
			got := float64(reader(t, r).MeasuredBytes) * 8e2 / float64(line)
			if math.Abs(got/c.want-1) > 0.001 {
				t.Errorf("MTU %d%s at %s: %.4f %% of the line, want %.4f %%", c.mtu, c.extra, rate, 100*got, 100*c.want)
			}
		}
	}
}

// A message of one segment takes the way of its frame, and with a handshake a
// round trip of the SYN before that; a frame of payload p has 78 + p bytes with
// timestamps, and a SYN 78.
func TestStreamLatency(t *testing.T) {
	const payload = 2000
	way := func(bytes int64) units.Time { // two links of 100 Gb/s and 5 m, one switch of 300 ns
		return 2*(units.Time(bytes+20)*80+25*units.Nanosecond) + 300*units.Nanosecond
	}
	for _, c := range []struct {
		handshake string
		want      units.Time
	}{
		{"ahead", way(payload + 70)},
		{"first-message", 2*way(78) + way(payload+70)},
	} {
		r := star(t, 2, "100Gbps, length: 5m", fmt.Sprintf("stack: tcp\nhost: {preset: free}\ntcp: {handshake: %s}\nworkload: [{flow: {from: h0, to: h1, size: %dB}}]\n", c.handshake, payload))
		if got := r.Messages[0].CompletionPS; got != c.want {
			t.Errorf("%s: %v, want %v: %v", c.handshake, got, c.want, r.Messages[0].Account.Stages())
		}
	}
}

// Slow start from ten segments on a long path: a message of n segments takes
// rounds of 10, 20, 40 ... segments, each a round trip after the one before, as
// long as the pipe is not full. The receiver's window is no limit.
func TestStreamSlowStart(t *testing.T) {
	const rest = "stack: tcp\nhost: {preset: free}\ntcp: {mtu: 1500, tso: false, autotuning: false, rcvbuf: 100MB, sndbuf: 100MB, hystart: off, cc: reno, ack_every: 1}\nworkload: [{flow: {from: h0, to: h1, size: %dB}}]\n"
	took := func(segments int) units.Time {
		return star(t, 2, "100Gbps, delay: 1ms", fmt.Sprintf(rest, segments*1448)).Messages[0].CompletionPS
	}
	one := took(1)
	for _, c := range []struct{ segments, rounds int }{{10, 0}, {11, 1}, {30, 1}, {31, 2}, {70, 2}, {71, 3}, {150, 3}, {151, 4}} {
		trips := float64(took(c.segments)-one) / float64(4*units.Millisecond)
		if math.Floor(trips) != float64(c.rounds) || trips-math.Floor(trips) > 0.02 {
			t.Errorf("%d segments: %.4f round trips after the first segment, want %d and the time of a burst", c.segments, trips, c.rounds)
		}
	}
}

// A receive window of w bytes lets through per round trip the full segments that
// fit, an even number where every second one is acknowledged: 40 of 1448 bytes.
func TestStreamReceiveWindow(t *testing.T) {
	r := star(t, 2, "100Gbps, delay: 100us", "stack: tcp\nhost: {preset: free}\ntcp: {mtu: 1500, tso: false, autotuning: false, rcvbuf: 60000B}\nmeasure: {from: 20ms, to: 60ms}\nstop: 60ms\nworkload: [{flow: {from: h0, to: h1, size: 400MB}}]\n")
	rate := float64(reader(t, r).MeasuredBytes) / 40e-3
	want := 40 * 1448 / 400.86e-6 // of a segment there and an ACK back
	if math.Abs(rate/want-1) > 0.005 {
		t.Errorf("%.4g bytes per second, want %.4g", rate, want)
	}
	if q := &r.QPs[0]; q.TCP.ReceiveWindowPS < r.EndPS*9/10 {
		t.Errorf("%v of %v behind the receive window", q.TCP.ReceiveWindowPS, r.EndPS)
	}
}

// TCP beside RDMA in a class of its own takes its share by the scheduler's
// weights, and PFC of the other class does not touch it.
func TestStreamsBesideQueuePairs(t *testing.T) {
	r := star(t, 4, "100Gbps", `switch: {scheduler: {weights: {0: 1, 3: 3}}}
host: {preset: free}
dcqcn: none
measure: {from: 3ms, to: 5ms}
stop: 5ms
workload:
  - flow: {from: h0, to: h3, size: 200MB}
  - flow: {from: h1, to: h3, size: 200MB, stack: tcp}
`)
	var tcp, rdma float64
	for _, q := range r.QPs {
		if q.Service == catalog.TCP {
			tcp += float64(q.MeasuredBytes) * 8 / 2e-3
		} else {
			rdma += float64(q.MeasuredBytes) * 8 / 2e-3
		}
	}
	if math.Abs(tcp/25e9/0.99-1) > 0.02 || math.Abs(rdma/75e9/0.98-1) > 0.02 {
		t.Errorf("TCP %.4g and RDMA %.4g bit/s, want a quarter and three", tcp, rdma)
	}
	for _, p := range r.Ports {
		if p.Class == 0 && p.PausesSent+p.PausesReceived > 0 {
			t.Errorf("%s:%d pauses the class of TCP", p.Node, p.Port)
		}
	}
}

// A connection whose peer cannot be reached ends after tcp_retries2 timeouts, and
// so do its messages; the run does not wait for them.
func TestStreamEnds(t *testing.T) {
	v, err := scenario.Parse("cut.yaml", []byte(`topology:
  hosts: [h0, h1]
  switches: [s]
  links: [{between: [h0, s], rate: 10Gbps}, {between: [h1, s], rate: 10Gbps, down_at: 1us}]
stack: tcp
workload:
  - flow: {from: h0, to: h1, size: 1MB, count: 2}
  - flow: {from: h0, to: h1, size: 1MB, start: 2000s}
`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := simulate(t, v, 0, 1)
	if r.Stopped != "quiescence" || r.OpenMessages != 0 {
		t.Errorf("stopped by %s, %d open", r.Stopped, r.OpenMessages)
	}
	for i, f := range r.Messages {
		if f.Status != "connection timed out" {
			t.Errorf("message %d: %s", i, f.Status)
		}
		if f.Account.Stages().Total() != f.CompletionPS {
			t.Errorf("message %d: %v of %v", i, f.Account.Stages().Total(), f.CompletionPS)
		}
	}
	// Doubling from 200 ms and a round trip to 120 s: 924.6 s (ip-sysctl: tcp_retries2).
	if got := float64(r.Messages[0].CompletionPS) / 1e12; math.Abs(got-924.6) > 1 {
		t.Errorf("ended after %.4g s, want 924.6 s", got)
	}
}

// The permutation over TCP: Linux opens its windows after a millisecond.
func BenchmarkTCP128(b *testing.B)    { benchmarkPermutation(b, 8, "tcp") }
func BenchmarkTCP1024(b *testing.B)   { benchmarkPermutation(b, 16, "tcp") }
func BenchmarkDCTCP128(b *testing.B)  { benchmarkPermutation(b, 8, "dctcp") }
func BenchmarkDCTCP1024(b *testing.B) { benchmarkPermutation(b, 16, "dctcp") }

// A comparison's text says what TCP did.
func TestStreamNames(t *testing.T) {
	r := star(t, 3, "10Gbps", "stack: tcp\nworkload: [{flow: {from: h0, to: h1, size: 1KB, qps: 2}}]\n")
	var names []string
	for _, q := range r.QPs {
		names = append(names, q.Name()+" to "+q.Peer.String())
	}
	if got := strings.Join(names, ", "); got != "h0 tcp 0 to h1 tcp 0, h0 tcp 1 to h1 tcp 1, h1 tcp 0 to h0 tcp 0, h1 tcp 1 to h0 tcp 1" {
		t.Error(got)
	}
}

// F27: one connection at 100 Gb/s between hosts of preset linux-xeon is bound by
// the core that receives, at 42 Gb/s +-10 %, about half of it in copies (Cai et
// al., SIGCOMM 2021, section 3.1). The figure follows from its parts: without the
// copy's cost the rest is what the bill says. Without HyStart, which ends slow start
// long before the receiver is the bound.
func TestStreamHostBound(t *testing.T) {
	const rest = "stack: tcp\ntcp: {hystart: off}\nhost: {preset: linux-xeon%s}\nmeasure: {from: 10ms, to: 20ms}\nstop: 20ms\nworkload: [{flow: {from: h0, to: h1, size: 2GB}}]\n"
	bound := func(more string) (float64, *record.Processors) {
		r := star(t, 2, "100Gbps, length: 2m", fmt.Sprintf(rest, more))
		for i := range r.Processors {
			if r.Processors[i].Host == "h1" {
				return float64(reader(t, r).MeasuredBytes) * 8 / 10e-3, &r.Processors[i]
			}
		}
		t.Fatal("no bill")
		return 0, nil
	}
	got, bill := bound("")
	if got < 0.9*42e9 || got > 1.1*42e9 {
		t.Errorf("%.4g bit/s, want 42 Gb/s", got)
	}
	var busy, copies units.Time
	for _, u := range bill.Times {
		busy += u.PS
		if u.Cause == "copy" {
			copies += u.PS
		}
	}
	if share := float64(copies) / float64(busy); share < 0.42 || share > 0.58 {
		t.Errorf("copies are %.3g of the receiving core's time, want about half", share)
	}
	half, _ := bound(", costs: {copy_dram: 128Gbps, copy_llc: 256Gbps}")
	want := got / (1 - float64(copies)/float64(busy)/2)
	if math.Abs(half/want-1) > 0.05 {
		t.Errorf("%.4g bit/s with copies of half the cost, want %.4g by the bill", half, want)
	}
}

// Connections that close do so in order, whatever is lost of the FINs: the end that
// wrote is in TIME-WAIT, which keeps no run alive, and the other closed. With a last
// segment that Nagle's rule does not hold, messages take as long as without.
func TestStreamCloses(t *testing.T) {
	for _, c := range []struct{ when, active, passive string }{{"never", "ESTABLISHED", "ESTABLISHED"}, {"last-message", "TIME-WAIT", "CLOSED"}} {
		r := star(t, 3, "{rate: 10Gbps, loss: 0.05}", "stack: tcp\ntcp: {nagle: off, rto_min: 1ms, close: "+c.when+"}\nworkload: [{permutation: {size: 2KB, count: 9, qps: 3}}]\n")
		for i := range r.QPs {
			q, want := &r.QPs[i], c.passive
			if len(q.Limits.Path) > 0 {
				want = c.active
			}
			if q.State != want {
				t.Errorf("close %s: %s is %s, want %s", c.when, q.Name(), q.State, want)
			}
		}
		if r.EndPS > 10*units.Second {
			t.Errorf("close %s: TIME-WAIT kept the run alive until %v", c.when, r.EndPS)
		}
	}
	once := func(when, host string) (took []units.Time, calls int64) {
		r := star(t, 2, "{rate: 10Gbps, length: 5m}", "stack: tcp\ntcp: {close: "+when+"}\nhost: {preset: "+host+"}\nworkload: [{flow: {from: h0, to: h1, size: 89480B, count: 3}}]\n")
		for i := range r.Messages {
			took = append(took, r.Messages[i].CompletionPS)
		}
		for i := range r.Processors {
			calls += r.Processors[i].Syscalls
		}
		return took, calls
	}
	open, _ := once("never", "free")
	shut, _ := once("last-message", "free")
	if !slices.Equal(open, shut) {
		t.Errorf("messages take %v, and %v with a close behind them", open, shut)
	}
	_, before := once("never", "linux-xeon")
	_, after := once("last-message", "linux-xeon")
	if after != before+3 { // a close, and a read that finds the end and a close
		t.Errorf("%d system calls, want three more than %d", after, before)
	}
}
