package fidelity

import (
	"fmt"
	"math"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// IRN's topology: a fat-tree of k = 6, three hosts at an edge switch, nine in a
// pod.
const (
	irnHosts   = 54
	irnPerEdge = 3
	irnPerPod  = 9
	irnGbps    = 40
)

// irn holds the order that IRN's evaluation found (SIGCOMM 2018): without PFC
// it beats go-back-N with PFC, with and without congestion control; PFC gives it
// nothing; go-back-N needs PFC. The figures are mean slowdowns: completion time
// over that of the same message alone.
func (c *checker) irn() {
	const source = "IRN, SIGCOMM 2018: its evaluation with other random messages of like sizes"
	if !c.long("the fat-tree") {
		return
	}
	text := c.irnScenario()
	slowdown := func(set ...string) float64 {
		return meanSlowdown(c.do(run.Options{Scenario: "irn.yaml", Text: text, Set: set}))
	}
	roce, irn := slowdown("stack=rocev2-pfc-only"), slowdown("stack=rocev2-irn")
	c.inRange("no congestion control: go-back-N with PFC over IRN without", roce/irn, 2.8, 3.7, source)
	c.inRange("IRN without PFC over IRN with", irn/slowdown("stack=rocev2-pfc-only", "nic.recovery=irn"), upTo(), 1.01, source)
	// Timeouts of 1 ms: those of 67 ms would be all there is to see.
	c.inRange("go-back-N without PFC over with", slowdown("stack=rocev2-none", "nic.timeout=8")/roce, 1.35, 3.5, source)

	roce, irn = slowdown("stack=rocev2", "dcqcn=paper"), slowdown("stack=rocev2-lossy", "dcqcn=paper", "nic.recovery=irn")
	c.inRange("DCQCN: share of the slowdown that IRN without PFC saves", 1-irn/roce, 0.06, 0.83, source)
	c.inRange("DCQCN: IRN without PFC over IRN with", irn/slowdown("stack=rocev2", "dcqcn=paper", "nic.recovery=irn"), upTo(), 1.01, source)
}

// irnScenario adds Poisson arrivals of 2 ms at 70 % of the hosts' links: half of
// the messages are small (32 B to 1 KB), 15 % large (200 KB to 3 MB), the rest
// lies between.
func (c *checker) irnScenario() []byte {
	const (
		load = 0.7
		end  = 2e6 // ns
	)
	text, err := files.ReadFile("cases/irn.yaml")
	c.must(err)
	r := rng.New(1, "irn")
	mean := 0.0
	for range 100_000 {
		mean += irnSize(&r) / 100_000
	}
	gap := mean * 8 / (irnGbps * load) // ns
	var b strings.Builder
	b.Write(text)
	for from := range irnHosts {
		for at := exponential(&r, gap); at < end; at += exponential(&r, gap) {
			to := r.IntN(irnHosts - 1)
			if to >= from {
				to++
			}
			fmt.Fprintf(&b, "        h%d, h%d, %dB, %dns\n", from, to, int(irnSize(&r)), int(at))
		}
	}
	return []byte(b.String())
}

// irnSize draws a message's bytes, in each part even in the logarithm.
func irnSize(r *rng.Stream) float64 {
	low, high := 32.0, 1e3
	switch u := r.Float64(); {
	case u >= 0.85:
		low, high = 200e3, 3e6
	case u >= 0.5:
		low, high = 1e3, 200e3
	}
	return low * math.Pow(high/low, r.Float64())
}

func exponential(r *rng.Stream, mean float64) float64 { return -mean * math.Log(1-r.Float64()) }

// meanSlowdown is over the messages that completed.
func meanSlowdown(r *record.Run) float64 {
	sum, n := 0.0, 0
	for i := range r.Messages {
		if f := &r.Messages[i]; f.Status == "success" {
			sum += float64(f.CompletionPS) / irnAlone(f)
			n++
		}
	}
	return sum / float64(n)
}

// irnAlone is the time of a message alone on its path, in ps: its wire time, and
// per link 2 us each way, a frame stored on all but the first, and an ACK.
func irnAlone(f *record.Message) float64 {
	var from, to int
	fmt.Sscanf(f.Src+" "+f.Dst, "h%d h%d", &from, &to)
	links := 6
	switch {
	case from/irnPerEdge == to/irnPerEdge:
		links = 2
	case from/irnPerPod == to/irnPerPod:
		links = 4
	}
	const mtu, ack, delay = 1024, 62 + 4 + 20, float64(2 * units.Microsecond)
	packets := math.Ceil(float64(f.Bytes) / mtu)
	frame := min(float64(f.Bytes), mtu) + wireOverhead
	bytes := float64(f.Bytes) + packets*wireOverhead + float64(links-1)*frame + float64(links*ack)
	return bytes*8000/irnGbps + 2*float64(links)*delay
}
