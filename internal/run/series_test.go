package run_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

func everything(every units.Time) *run.SeriesOptions {
	return &run.SeriesOptions{Quantities: record.Quantities[:], Every: every, Top: 16}
}

func sampled(t *testing.T, v *scenario.Valid, opt *run.SeriesOptions, parts, workers int) *record.Run {
	t.Helper()
	w, err := build.New(v, build.Options{Partitions: parts})
	if err != nil {
		t.Fatal(err)
	}
	return run.Simulate(context.Background(), w, run.Options{Workers: workers, Series: opt})
}

// values are all samples of the curves of one quantity.
func values(s *record.Series, q record.Quantity) (out [][]int64) {
	for _, c := range s.Of(q) {
		var v []int64
		c.Values(s.Samples, func(_ int, x int64) { v = append(v, x) })
		out = append(out, v)
	}
	return out
}

// ramp: two senders at the line's rate, one receiver, nothing that slows them.
const ramp = `
name: ramp
stack: rocev2-none
topology: {star: {hosts: 3, link: 100Gbps, delay: 500ns}}
switch: {buffer: 64MiB, latency: 300ns}
workload:
  - incast: {from: [h0, h1], to: h2, size: 4MB}
`

// TestSeriesOfRamp holds every sample of a queue to the closed form. The k-th
// packet of a sender is on the wire from the sum of the lengths before it, is
// enqueued 800 ns after its last bit left (500 ns of cable, 300 of pipeline), and
// the port sends one packet after the other from the first one on. 100 Gb/s: 80
// ps per byte; 62 B around the payload of a frame and 20 more on the wire; the
// first packet of a message has a RETH of 16 B.
func TestSeriesOfRamp(t *testing.T) {
	const packets, until = 4_000_000 / 4096, 300 * units.Microsecond // full ones; both still send
	r := sampled(t, parse(t, ramp), everything(700*units.Nanosecond), 0, 1)
	frame := func(k int) int64 {
		if k == 0 {
			return 4096 + 62 + 16
		}
		return 4096 + 62
	}
	tx := func(k int) units.Time { return units.Time(frame(k)+20) * 80 }
	queued := func(at units.Time) (bytes int64) {
		arrival, free := units.Time(0), units.Time(-1)
		for k := range packets {
			arrival += tx(k)
			in := arrival + 800*units.Nanosecond
			for range 2 { // one packet of each sender
				start := max(in, free)
				free = start + tx(k)
				if in < at && start >= at {
					bytes += frame(k)
				}
			}
		}
		return bytes
	}
	curves := r.Series.Of(record.SeriesQueue)
	if len(curves) != 1 || curves[0].Node != "sw" || curves[0].Port != 3 || curves[0].Class != 3 || curves[0].Peer != "h2:1" {
		t.Fatalf("curves %+v, want the queue of sw:3 alone", curves)
	}
	largest, checked := int64(0), 0
	curves[0].Values(r.Series.Samples, func(i int, v int64) {
		at := r.Series.FromPS + units.Time(i)*r.Series.EveryPS
		if at > until {
			return
		}
		checked++
		largest = max(largest, v)
		if want := queued(at); v != want {
			t.Errorf("queue at %v is %d B, want %d", at, v, want)
		}
	})
	if checked < 400 || largest < 3_000_000 {
		t.Errorf("%d samples checked, the largest %d B: the ramp is not there", checked, largest)
	}
}

// What series say of queue pairs agrees with the record.
func TestSeriesAgreeWithRecord(t *testing.T) {
	v := parse(t, ramp, "stack=rocev2", "dcqcn=paper")
	r := sampled(t, v, everything(units.Microsecond), 0, 1)
	for i, c := range values(r.Series, record.SeriesGoodput) {
		sum := int64(0)
		for _, x := range c {
			sum += x
		}
		if sum != 4_000_000 {
			t.Errorf("samples of goodput %d add up to %d B, not the 4 MB delivered", i, sum)
		}
	}
	for i, c := range values(r.Series, record.SeriesRate) {
		least := r.QPs[i].MinRateBps
		if got := lowest(c[1:]); got < int64(least) || float64(got) > 1.2*float64(least) {
			t.Errorf("lowest sample of rate %d is %d bit/s; the lowest rate was %d", i, got, least)
		}
		if c[0] != 0 || c[1] != 100e9 {
			t.Errorf("rate %d begins with %d, %d; want 0 before the post and the line's after", i, c[0], c[1])
		}
	}
}

func lowest(v []int64) int64 {
	m := v[0]
	for _, x := range v {
		m = min(m, x)
	}
	return m
}

// TestSeriesOfPauses: the share of samples that see a port paused is the share of
// time that it was.
func TestSeriesOfPauses(t *testing.T) {
	v, err := scenario.Load("slow-receiver", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := sampled(t, v, everything(100*units.Nanosecond), 0, 1)
	found := 0
	for _, c := range r.Series.Of(record.SeriesPause) {
		for i := range r.Ports {
			p := &r.Ports[i]
			if p.Node != c.Node || p.Port != c.Port || p.Class != c.Class {
				continue
			}
			found++
			seen := units.Time(c.Above(r.Series.Samples)) * r.Series.EveryPS
			if slack := units.Time(p.PausesReceived) * r.Series.EveryPS; seen < p.PausedPS-slack || seen > p.PausedPS+slack {
				t.Errorf("%s:%d was seen paused for %v and was for %v (%d pauses)", c.Node, c.Port, seen, p.PausedPS, p.PausesReceived)
			}
		}
	}
	if found == 0 {
		t.Error("no port was paused")
	}
}

// TestSeriesChangeNothing: a run takes the same course with samples and without,
// and the samples are the same on any number of workers and partitions.
func TestSeriesChangeNothing(t *testing.T) {
	t.Parallel()
	cases := map[string]*scenario.Valid{"deadlock": parse(t, ring), "deadlock with short pauses": parse(t, ring, "switch.pfc.quanta=100"),
		"deadlock without end of pauses": parse(t, ring, "switch.pfc.quanta=0"), "deadlock and timers": parse(t, ring, "nic.timeout=4", "nic.retry=7"),
		"measured": parse(t, ramp, "measure.from=50us", "measure.to=90us", "stop=100us"), "late": parse(t, ramp, "workload[0].incast.start=5ms")}
	// The 977th packet is a message's last: no gap shows that it was lost.
	cases["stall"] = parse(t, strings.Replace(ramp, "delay: 500ns}", "delay: 500ns}, links: [{between: [h0, sw], delay: 500ns, rate: 100Gbps, drop_every: 977}]", 1), "nic.timeout=0")
	for _, info := range scenario.List() {
		cases[info.Name] = shipped(t, info.Name)
	}
	for name, v := range cases {
		t.Run(name, func(t *testing.T) {
			without := simulate(t, v, 0, 1)
			if word, _, _ := strings.Cut(name, " "); word == "deadlock" && without.Stopped != word || word == "stall" && without.Stopped != "stalled" {
				t.Fatalf("the run ended by %s", without.Stopped)
			}
			var first *record.Run
			for _, one := range []struct{ parts, workers int }{{0, 1}, {0, 3}, {1, 1}, {7, 2}} {
				r := sampled(t, v, everything(3*units.Microsecond), one.parts, one.workers)
				if bad := differ(t, without, r); bad != "" {
					t.Errorf("%d partitions, %d workers: with samples the result is another: %s", one.parts, one.workers, bad)
				}
				if first == nil {
					first = r
				}
				sameSeries(t, first.Series, r.Series)
			}
			if first.Series.Samples < 10 {
				t.Errorf("%d samples", first.Series.Samples)
			}
		})
	}
}

func sameSeries(t *testing.T, a, b *record.Series) {
	t.Helper()
	if a.Samples != b.Samples || a.FromPS != b.FromPS || len(a.Curves) != len(b.Curves) {
		t.Errorf("%d samples from %v of %d curves, not %d from %v of %d", b.Samples, b.FromPS, len(b.Curves), a.Samples, a.FromPS, len(a.Curves))
		return
	}
	for i := range a.Curves {
		x, y := a.Curves[i], b.Curves[i]
		var want []int64
		x.Values(a.Samples, func(_ int, v int64) { want = append(want, v) })
		y.Values(b.Samples, func(k int, v int64) {
			if v != want[k] {
				t.Fatalf("%s of %s: sample %d is %d, not %d", y.Quantity, y.Node, k, v, want[k])
			}
		})
	}
}

// TestSeriesLeaveOut: the default keeps what says most and names the rest; a name
// keeps just that.
func TestSeriesLeaveOut(t *testing.T) {
	v := parse(t, ramp, "topology.star.hosts=5", "workload[0].incast.from=[h0, h1, h3]", "stack=rocev2", "dcqcn=paper")
	opt := everything(units.Microsecond)
	opt.Top = 1
	r := sampled(t, v, opt, 0, 1)
	if n := len(r.Series.Of(record.SeriesRate)); n != 1 {
		t.Errorf("%d rates kept, want 1", n)
	}
	if out := strings.Join(r.Series.LeftOut, "\n"); !strings.Contains(out, "rate of 2 of the 3 queue pairs") {
		t.Errorf("left out: %q", out)
	}
	opt.Ports, opt.QPs = []string{"sw:1", "h4"}, []string{"h3:0"}
	r = sampled(t, v, opt, 0, 1)
	if q, p := r.Series.Of(record.SeriesQueue), r.Series.Of(record.SeriesPause); len(q) != 1 || q[0].Port != 1 || len(p) != 2 {
		t.Errorf("%d queues and %d pauses for sw:1 and h4, want 1 and 2: a card has no queue of frames", len(q), len(p))
	}
	if q := r.Series.Of(record.SeriesRate); len(q) != 1 || q[0].Node != "h3" {
		t.Errorf("rates %+v, want h3's", q)
	}
}

// An idle network takes no more samples than a run keeps.
func TestSeriesBound(t *testing.T) {
	v := parse(t, ramp, "workload[0].incast.start=0s", "topology.star.hosts=4")
	late := parse(t, strings.Replace(ramp, "workload:\n", "workload:\n  - flow: {from: h0, to: h1, size: 1KB, start: 2s}\n", 1))
	for _, one := range []*scenario.Valid{v, late} {
		r := sampled(t, one, everything(units.Nanosecond), 0, 1)
		if r.Series.Samples != 100_000 || len(r.Series.LeftOut) == 0 || !strings.HasPrefix(r.Series.LeftOut[0], "everything from 100us on") {
			t.Errorf("%d samples, left out %q", r.Series.Samples, r.Series.LeftOut)
		}
	}
}

func TestSeriesNames(t *testing.T) {
	for _, one := range []struct{ ports, qps, want string }{
		{"sw:9", "", "series: sw:9 is no port; sw has 3, from sw:1 to sw:3"},
		{"sw:x", "", "series: sw:x is no port; sw has 3"},
		{"leaf", "", `series: there is no node "leaf"; name a port as `},
		{"", "h2:0", "series: h2 has no queue pair that posts; name one such as h0:0"},
		{"", "h0:1", "series: h0:1 is no queue pair that posts; h0 has 1, from h0:0 to h0:0"},
	} {
		opt := everything(units.Microsecond)
		if one.ports != "" {
			opt.Ports = []string{one.ports}
		}
		if one.qps != "" {
			opt.QPs = []string{one.qps}
		}
		_, _, err := run.Do(context.Background(), run.Options{Scenario: "ramp", Text: []byte(ramp), Workers: 1, Series: opt})
		if err == nil || !strings.HasPrefix(err.Error(), one.want) {
			t.Errorf("%v: %v, want %s", one, err, one.want)
		}
	}
}
