package fidelity

import (
	"fmt"
	"math"
	"sort"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// streamGoodput: a full segment of MTU 1500 is 1448 of 1538 bytes on the wire, of
// MTU 9000 8948 of 9038.
func (c *checker) streamGoodput() {
	const source = "byte count: IEEE 802.3, RFC 791, 9293, 7323"
	for _, mtu := range []float64{1500, 9000} {
		for _, gbps := range []float64{10, 100} {
			r := c.scenario("tcp-goodput", fmt.Sprintf("tcp.mtu=%g", mtu), fmt.Sprintf("topology.star.link=%gGbps", gbps))
			c.near(fmt.Sprintf("goodput over line rate, MTU %g, %g Gb/s", mtu, gbps), (mtu-52)/(mtu+38), c.readRate(r)/gbps, 0.001, source)
		}
	}
}

// readRate is what applications read in the measured window, in Gb/s.
func (c *checker) readRate(r *record.Run) (sum float64) {
	for _, bytes := range received(r) {
		sum += bytes
	}
	return sum * 8 / float64(r.MeasureTo-r.MeasureFrom) * 1000
}

// dctcp, case F17: the saw tooth of the queue, averaged over milliseconds, of which
// each holds one tooth at least, and alpha, averaged over the flows and over runs
// that end at different phases of it. The paper's fixed point of alpha, 0.18 and
// 0.40, has windows grow at once after a cut: cwr_growth. TCP holds them for a round
// trip (Linux's state CWR; RFC 8257 3.3: once per window), whose segments are not
// marked, so that the period is longer and alpha smaller.
func (c *checker) dctcp() {
	const source = "SIGMETRICS 2011: W* = (C RTT + K)/N, alpha^2 (1 - alpha/4) = (2W + 1)/(W + 1)^2, A = N (W + 1) alpha/2"
	const held = "the same with windows that stand still for the round trip after a cut (RFC 3168 6.1.2)"
	for _, f := range []struct {
		from      string
		flows     int
		low, high float64
	}{{"[h1, h2]", 2, 31, 42}, {"[h1, h2, h3, h4, h5, h6, h7, h8, h9, h10]", 10, 23, 50}} {
		name := fmt.Sprintf("%d flows: ", f.flows)
		low, high := c.teeth("workload[0].incast.from=" + f.from)
		c.near(name+"least queue, packets", f.low, low, 0.15, source)
		c.near(name+"largest queue, packets", f.high, high, 0.15, source)
		alpha := func(growth string) (sum float64) {
			const ends = 10
			for k := range ends {
				sum += meanAlpha(c.scenario("f17-dctcp", "workload[0].incast.from="+f.from, "tcp.cwr_growth="+growth, fmt.Sprintf("stop=%dus", 120000+k*130))) / ends
			}
			return sum
		}
		window := (10e9*100e-6/8/1538 + 40) / float64(f.flows)
		c.near(name+"alpha with windows that grow at once after a cut", toothAlpha(window, 0), alpha("true"), 0.15, source)
		c.near(name+"alpha", toothAlpha(window, 1), alpha("false"), 0.15, held)
	}
}

// toothAlpha is DCTCP's alpha for windows of w segments at the mark: the share of a
// period's segments that are marked, w + 1/2 of those of the rise from (w+1)(1 -
// alpha/2) to w+1 and of the round trips before it in which windows are held and
// nothing is marked.
func toothAlpha(w, held float64) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		alpha := (low + high) / 2
		cut := (w + 1) * (1 - alpha/2)
		if alpha*(held*cut+((w+1)*(w+1)-cut*cut)/2) < w+0.5 {
			low = alpha
		} else {
			high = alpha
		}
	}
	return low
}

// teeth returns the mean least and largest queue of the last hundred milliseconds
// of F17's run, in packets.
func (c *checker) teeth(set ...string) (low, high float64) {
	text, err := files.ReadFile("cases/f17-dctcp.yaml")
	c.must(err)
	const every, per, skip = 2 * units.Microsecond, 500, 100
	r := c.do(run.Options{Scenario: "f17-dctcp.yaml", Text: text, Set: append(set, "stop=200ms"),
		Series: &run.SeriesOptions{Quantities: []record.Quantity{record.SeriesQueue}, Every: every, Ports: []string{"sw:1"}, Top: 1}})
	curves := r.Series.Of(record.SeriesQueue)
	if len(curves) != 1 {
		c.abort("%d queues sampled, want one", len(curves))
	}
	var least, most float64
	teeth := 0
	curves[0].Values(r.Series.Samples, func(i int, v int64) {
		if i < skip*per {
			return
		}
		if i%per == 0 {
			least, most = math.Inf(1), 0
		}
		least, most = min(least, float64(v)), max(most, float64(v))
		if i%per == per-1 {
			low, high = low+least/1518, high+most/1518
			teeth++
		}
	})
	return low / float64(teeth), high / float64(teeth)
}

// meanAlpha is the mean of DCTCP's estimate over the senders.
func meanAlpha(r *record.Run) (sum float64) {
	n := 0
	for i := range r.QPs {
		if q := &r.QPs[i]; q.TCP != nil && q.SentBytes > 0 {
			sum += q.TCP.Alpha
			n++
		}
	}
	return sum / float64(n)
}

// hostBound, case F27: the core that receives bounds one connection, and a small
// message pays for interrupts, calls and layers.
func (c *checker) hostBound() {
	r := c.scenario("f27-kernel")
	const cai = "SIGCOMM 2021 (Cai et al.), one flow with all offloads"
	c.near("goodput of one connection at 100 Gb/s, Gb/s", 42, c.readRate(r), 0.1, cai)
	for i := range r.Processors {
		p := &r.Processors[i]
		if p.Host != "h1" {
			continue
		}
		var copies units.Time
		for _, x := range p.Times {
			if x.Cause == "copy" {
				copies += x.PS
			}
		}
		c.inRange("share of the run for which the receiving core is busy", float64(p.BusyPS[0])/float64(r.EndPS), 0.9, 1, cai)
		c.near("share of copies in the receiving core's time", 0.49, float64(copies)/float64(p.TotalPS()), 0.1, cai)
	}
	c.inRange("MSG_ZEROCOPY costs the sender less than a copy from, KB", float64(c.zeroCopyPays())/1000, 5, 20,
		"Linux, Documentation/networking/msg_zerocopy.rst: above around 10 KB")
	took := func(stack string) float64 {
		return float64(c.scenario("f27-latency", "stack="+stack).Messages[0].CompletionPS)
	}
	c.near("2 KB: time over TCP against that with RDMA", 25.4/1.7, took("tcp")/took("rocev2"), 0.3, "SIGCOMM 2015 (Zhu et al.), figure 1: 25.4 and 1.7 us")
}

// zeroCopyPays is the size of the smallest message, a multiple of 256 bytes, for
// which the sender's cores take less time with MSG_ZEROCOPY, its notification
// included, than with a copy. A larger one saves more.
func (c *checker) zeroCopyPays() int {
	sender := func(way string, size int) units.Time {
		r := c.scenario("f27-latency", "stack=tcp", "host.send="+way, fmt.Sprintf("workload[0].flow.size=%dB", size))
		for i := range r.Processors {
			if p := &r.Processors[i]; p.Host == "h0" {
				return p.TotalPS()
			}
		}
		c.abort("h0 has no processors")
		return 0
	}
	const most = 250 // 64 KB
	return 256 * (1 + sort.Search(most, func(k int) bool {
		size := 256 * (k + 1)
		return sender("zerocopy", size) < sender("copy", size)
	}))
}
