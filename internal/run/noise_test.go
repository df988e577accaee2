package run_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// seededRun runs a scenario's text with a seed.
func seededRun(t *testing.T, text string, seed uint64) *record.Run {
	t.Helper()
	r, _, err := run.Do(context.Background(), run.Options{Scenario: "noise", Text: []byte(text), Seed: &seed, Workers: 1})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return r
}

// starOf is a switch with n senders h0.. and a receiver, whose cables differ by up to spread.
func starOf(n int, rate string, spread units.Time, rnd *rng.Stream) string {
	var hosts, links []string
	for i := range n + 1 {
		hosts = append(hosts, fmt.Sprintf("h%d", i))
		links = append(links, fmt.Sprintf("    - {between: [h%d, sw], rate: %s, delay: %dps}", i, rate, 25_000+rnd.IntN(int(spread))))
	}
	return fmt.Sprintf("topology:\n  hosts: [%s]\n  switches: [sw]\n  links:\n%s\n", strings.Join(hosts, ", "), strings.Join(links, "\n"))
}

// senders lists h0 to h(n-1).
func senders(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("h%d", i))
	}
	return strings.Join(out, ", ")
}

// dropsBySender counts the messages, one packet each, that never arrived.
func dropsBySender(r *record.Run, n int) []int {
	out := make([]int, n)
	for i := range r.Messages {
		f := &r.Messages[i]
		var k int
		if _, err := fmt.Sscanf(f.Src, "h%d", &k); err == nil && f.DeliveredPS < 0 {
			out[k]++
		}
	}
	return out
}

// Senders of equal rate that overload a tail-drop queue lose alike, whatever their cables: in
// a real switch the losses of eight streams were equal within 0.5 %. Without arbitration one
// sender may lose everything (Floyd and Jacobson, 1992). Each sends 10 MB on UC, which never
// slows down; the numbers of drops are those of a fair coin, some thousand times.
func TestTailDropIsFair(t *testing.T) {
	t.Parallel()
	for _, rate := range []struct {
		text  string
		frame units.Time
	}{{"10Gbps", 3_342_400}, {"100Gbps", 334_240}, {"400Gbps", 83_560}} {
		for _, n := range []int{2, 4, 8, 16} {
			if testing.Short() && (n > 8 || rate.text == "10Gbps" && n != 2) {
				continue
			}
			worst := 0.0
			for seed := range seedsOf() {
				rnd := rng.New(seed, "cables")
				r := seededRun(t, starOf(n, rate.text, rate.frame, &rnd)+fmt.Sprintf(`
stack: rocev2-none
dcqcn: none
switch: {buffer: 6MB, ecn: none, lossy: {alpha: 1000, pool: 2MB}}
workload:
  - incast: {from: [%s], to: h%d, size: 4096B, count: 2441, every: 1ps, verb: send, service: uc, receives: 2441}
`, senders(n), n), seed+1)
				drops := dropsBySender(r, n)
				sum := 0
				for _, d := range drops {
					sum += d
				}
				mean := float64(sum) / float64(n)
				if mean < 200 {
					t.Fatalf("%s, %d senders: %v drops, too few to compare", rate.text, n, drops)
				}
				for _, d := range drops {
					worst = max(worst, math.Abs(float64(d)/mean-1))
				}
				limit := 0.10
				if n == 2 {
					limit = 0.25
				}
				if worst > limit {
					t.Errorf("%s, %d senders, seed %d: drops %v, more than %.0f %% off their mean", rate.text, n, seed+1, drops, 100*limit)
					break
				}
			}
			t.Logf("%s, %d senders: at most %.1f %% off the mean", rate.text, n, 100*worst)
		}
	}
}

// seedsOf yields the seeds of a form: few in the short one, 20 in the long one.
func seedsOf() func(func(uint64) bool) {
	n := min(draws(2, 4), 20)
	return func(yield func(uint64) bool) {
		for s := range max(n, 1) {
			if !yield(s) {
				return
			}
		}
	}
}

// On RC no sender goes without loss while another loses more than 20 packets.
func TestReliableSendersAllLose(t *testing.T) {
	t.Parallel()
	for seed := range seedsOf() {
		for _, rate := range []string{"100Gbps", "400Gbps"} {
			rnd := rng.New(seed, "cables")
			r := seededRun(t, starOf(2, rate, 334_240, &rnd)+`
stack: rocev2-none
dcqcn: none
switch: {buffer: 6MB, ecn: none, lossy: {alpha: 1000, pool: 2MB}}
workload:
  - incast: {from: [h0, h1], to: h2, size: 10MB}
`, seed+1)
			least, most := int64(math.MaxInt64), int64(0)
			for i := range r.QPs {
				if q := &r.QPs[i]; q.SentBytes > 1_000_000 {
					least, most = min(least, q.Retransmitted), max(most, q.Retransmitted)
				}
			}
			if most > 20 && least == 0 {
				t.Errorf("%s, seed %d: one sender retransmits %d packets, another none", rate, seed+1, most)
			}
		}
	}
}

// TCP over 10 Gb/s shares a buffer of 4 MB over half a second: median Jain at least 0.9 for 2
// to 8 senders, 0.8 for 16; nobody starves, and each sender's share is equal on average.
func TestTCPSharesTailDrop(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 4, 8, 16} {
		var jains []float64
		shares := make([]float64, n)
		runs := 0
		for seed := range draws(2, 4) { // 80 in the long form: of 16 senders, 20 leave the mean share 9 % uncertain
			rnd := rng.New(seed, "cables")
			r := seededRun(t, starOf(n, "10Gbps", 7_000_000, &rnd)+fmt.Sprintf(`
stack: tcp
switch: {buffer: 4MB}
measure: {from: 100ms, to: 600ms}
stop: 600ms
workload:
  - incast: {from: [%s], to: h%d, size: 2GB}
`, senders(n), n), seed+1)
			x := measuredBySender(r, n)
			jain, starved := jainOf(x)
			if starved && seed < 20 { // of 80 seeds with 16 senders one has a sender in back-off throughout
				t.Errorf("%d senders, seed %d: one got nothing: %.0f", n, seed+1, x)
			}
			jains = append(jains, jain)
			total := 0.0
			for _, b := range x {
				total += b
			}
			for i, b := range x {
				shares[i] += b / total * float64(n)
			}
			runs++
		}
		slices.Sort(jains)
		limit := 0.9
		if n == 16 {
			limit = 0.8
		}
		t.Logf("%d senders: Jain %.3f, shares %.2f", n, jains, shares)
		if runs < 20 {
			continue // few runs have no median to speak of
		}
		if m := (jains[(runs-1)/2] + jains[runs/2]) / 2; m < limit {
			t.Errorf("%d senders: median Jain %.3f of %.3f, want %.1f", n, m, jains, limit)
		}
		for i := range shares {
			if s := shares[i] / float64(runs); math.Abs(s-1) > 0.15 {
				t.Errorf("%d senders: h%d gets %.2f of an equal share on average", n, i, s)
			}
		}
	}
}

// measuredBySender is the payload that each sender's data brought within the window.
func measuredBySender(r *record.Run, n int) []float64 {
	out := make([]float64, n)
	for i := range r.QPs {
		q := &r.QPs[i]
		var k int
		if _, err := fmt.Sscanf(q.Peer.String(), "h%d", &k); err == nil && q.Host == fmt.Sprintf("h%d", n) {
			out[k] += float64(q.MeasuredBytes)
		}
	}
	return out
}

// jainOf is Jain's index, and whether one has nothing.
func jainOf(x []float64) (jain float64, starved bool) {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum, squares = sum+v, squares+v*v
		starved = starved || v == 0
	}
	return sum * sum / (float64(len(x)) * squares), starved
}

// Computed headroom holds what arrives after XOFF under the default noise, whatever the rate,
// the cable and the number of senders.
func TestHeadroomHoldsNoise(t *testing.T) {
	t.Parallel()
	rates := []int{10, 25, 40, 50, 100, 200, 400, 800}
	fullest := 0.0
	for k := range draws(25, 25) {
		rnd := rng.New(k, "headroom")
		n, rate, metres := 2+rnd.IntN(63), rates[rnd.IntN(len(rates))], 1+rnd.IntN(1000)
		flight := rate * metres * 10 / 8 // bytes of a round trip in the cable
		r := seededRun(t, fmt.Sprintf(`
topology: {star: {hosts: %d, link: {rate: %dGbps, length: %dm}}}
stack: rocev2-pfc-only
switch: {pfc: {xoff: 20KB, xon_offset: 4KB}}
workload:
  - incast: {from: [%s], to: h%d, size: %dB}
`, n+1, rate, metres, senders(n), n, 2*flight+150_000), k+1)
		dropped, pauses, peak := int64(0), int64(0), int64(0)
		for i := range r.Ports {
			p := &r.Ports[i]
			dropped, pauses, peak = dropped+p.Dropped, pauses+p.PausesSent, max(peak, p.PeakHeadroom)
		}
		if dropped > 0 || pauses == 0 {
			t.Errorf("draw %d: %d to 1 at %d Gb/s over %d m: %d frames lost, %d pauses", k, n, rate, metres, dropped, pauses)
		}
		fullest = max(fullest, float64(peak)/float64(headroomOf(t, r)))
	}
	t.Logf("headroom was filled to %.1f %% at most", 100*fullest)
}

// headroomOf is what a run's only switch has for each port, by its parameters.
func headroomOf(t *testing.T, r *record.Run) units.Bytes {
	t.Helper()
	for _, n := range r.Notes {
		if strings.HasPrefix(n.Key, "switch.pfc.headroom (") {
			b, err := units.ParseBytes(n.Value)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatal("no parameter says what the headroom is")
	return 0
}

// A switch without congestion takes as long as the 400G switch on SONiC's test bed: 800 to
// 980 ns, on average 915 to 952, if its pipeline takes 860 and up to 120 more.
func TestSwitchLatencyAsMeasured(t *testing.T) {
	const delay = 25 * units.Nanosecond
	r := seededRun(t, `
topology: {star: {hosts: 2, link: {rate: 400Gbps, delay: 25ns}}}
stack: rocev2-none
switch: {latency: 860ns}
noise: {pipeline: 120ns, card: 0ns, clocks: 0}
workload:
  - flow: {from: h0, to: h1, size: 1000B, verb: send, service: uc, count: 3000, every: 3us, receives: 3000}
`, 1)
	tx := units.Rate(400 * units.Gbps).TxTime(1000 + 62 + 20)
	least, most, sum := units.Never, units.Time(0), units.Time(0)
	for i := range r.Messages {
		d := r.Messages[i].DeliveredPS - 2*tx - 2*delay
		least, most, sum = min(least, d), max(most, d), sum+d
	}
	mean := sum / units.Time(len(r.Messages))
	if least < 860*units.Nanosecond || least > 861*units.Nanosecond || most < 979*units.Nanosecond || most > 980*units.Nanosecond ||
		mean < 915*units.Nanosecond || mean > 952*units.Nanosecond {
		t.Errorf("%v to %v, mean %v", least, most, mean)
	}
}

// Interrupts and wakeups that come late delay a message over TCP, and take no processor time.
func TestKernelIsLate(t *testing.T) {
	text := func(noise string) string {
		return `
topology: {star: {hosts: 2, link: 100Gbps}}
stack: tcp
host: {moderation: off}
noise: {pipeline: 0ns, card: 0ns, clocks: 0, host: ` + noise + `}
workload:
  - flow: {from: h0, to: h1, size: 1000B, count: 500, every: 200us}
`
	}
	exact, late := seededRun(t, text("0ns"), 1), seededRun(t, text("2us"), 1)
	sum, most := units.Time(0), units.Time(0)
	for i := range late.Messages[1:] {
		d := late.Messages[i+1].CompletionPS - exact.Messages[i+1].CompletionPS
		sum, most = sum+d, max(most, d)
		if d < 0 {
			t.Fatalf("message %d ends %v earlier", i+1, -d)
		}
	}
	// An interrupt brings the segment up, and the reader is woken: both on a core that was idle.
	if mean := sum / units.Time(len(late.Messages)-1); mean < 1900*units.Nanosecond || mean > 2100*units.Nanosecond || most > 4*units.Microsecond {
		t.Errorf("late by %v on average, %v at most; want 2 and 4 us", mean, most)
	}
	for i := range late.Processors {
		if a, b := late.Processors[i].TotalPS(), exact.Processors[i].TotalPS(); a != b {
			t.Errorf("%s: %v of processor time, %v without delays", late.Processors[i].Host, a, b)
		}
	}
}

// A headroom without the jitter loses frames, and a warning says so before.
func TestHeadroomWithoutJitterDrops(t *testing.T) {
	t.Parallel()
	const text = `
topology: {star: {hosts: 17, link: {rate: 400Gbps, length: 3m}}}
stack: rocev2-pfc-only
noise: {pipeline: 10us}
switch: {pfc: {xoff: 20KB, xon_offset: 4KB, headroom: %s}}
workload:
  - incast: {from: [%s], to: h16, size: 1MB}
`
	for _, c := range []struct {
		headroom string
		lossless bool
	}{{"auto", true}, {"90KB", false}} {
		r := seededRun(t, fmt.Sprintf(text, c.headroom, senders(16)), 1)
		dropped, warned := int64(0), false
		for i := range r.Ports {
			dropped += r.Ports[i].Dropped
		}
		for _, w := range r.Warnings {
			warned = warned || strings.Contains(w, "headroom 90KB is short for the cable")
		}
		if (dropped == 0) != c.lossless || warned == c.lossless {
			t.Errorf("headroom %s: %d frames lost, warnings %q", c.headroom, dropped, r.Warnings)
		}
	}
}

// Starts that differ by nanoseconds, cables by centimetres and seeds by one are draws from one
// distribution: none of them says which sender of two loses how much.
func TestPhasesAreOneDistribution(t *testing.T) {
	t.Parallel()
	n := int(min(draws(8, 16), 50))
	share := func(start, delay units.Time, seed uint64) float64 {
		r := seededRun(t, fmt.Sprintf(`
topology:
  hosts: [h0, h1, h2]
  switches: [sw]
  links:
    - {between: [h0, sw], rate: 100Gbps, delay: 25ns}
    - {between: [h1, sw], rate: 100Gbps, delay: %dps}
    - {between: [h2, sw], rate: 100Gbps, delay: 25ns}
stack: rocev2-none
dcqcn: none
switch: {buffer: 6MB, ecn: none, lossy: {alpha: 1000, pool: 1MB}}
workload:
  - flow: {from: h0, to: h2, size: 4096B, count: 1000, every: 1ps, verb: send, service: uc, receives: 1000}
  - flow: {from: h1, to: h2, size: 4096B, count: 1000, every: 1ps, start: %dps, verb: send, service: uc, receives: 1000}
`, 25_000+delay, start), seed)
		d := dropsBySender(r, 2)
		return float64(d[0]) / float64(d[0]+d[1])
	}
	var starts, cables, seeds []float64
	for i := range n {
		starts = append(starts, share(units.Time(i)*units.Nanosecond, 0, uint64(i+1)))
		cables = append(cables, share(0, units.Time(i)*50, uint64(i+1001))) // 50 ps are a centimetre
		seeds = append(seeds, share(0, 0, uint64(i+2001)))
	}
	for _, c := range []struct {
		what string
		x    []float64
	}{{"starts", starts}, {"cables", cables}} {
		if d, limit := kolmogorovSmirnov(c.x, seeds), 1.628*math.Sqrt(2/float64(n)); d > limit {
			t.Errorf("%s: D %.3f from the seeds, above %.3f\n%.3f\n%.3f", c.what, d, limit, c.x, seeds)
		}
	}
}

// kolmogorovSmirnov is the two-sample statistic: the largest distance of the distributions.
func kolmogorovSmirnov(a, b []float64) (d float64) {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	for _, x := range slices.Concat(a, b) {
		below := func(v []float64) float64 {
			n, _ := slices.BinarySearchFunc(v, x, func(e, x float64) int {
				if e <= x {
					return -1
				}
				return 1
			})
			return float64(n) / float64(len(v))
		}
		d = max(d, math.Abs(below(a)-below(b)))
	}
	return d
}
