package run_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
)

// TestSuperSegments: what a report says that super-segments spare is what a run without
// them costs: the output path's time for a segment, times the frames of one.
func TestSuperSegments(t *testing.T) {
	for _, mtu := range []int{1500, 9000} {
		output := func(tso bool) (spent float64, p *record.Processors) {
			r := simulate(t, parse(t, fmt.Sprintf(`
topology: {star: {hosts: 2, link: 100Gbps}}
stack: tcp
tcp: {mtu: %d}
host: {tso: %v, gso: %v}
workload: [flow: {from: h0, to: h1, size: 50MB}]
`, mtu, tso, tso)), 0, 1)
			for i := range r.Processors {
				if p = &r.Processors[i]; p.Host == "h0" {
					break
				}
			}
			for _, x := range p.Times {
				if x.Direction == "transmit" && x.Cause == "output" {
					spent = float64(x.PS)
				}
			}
			return spent, p
		}
		with, p := output(true)
		without, alone := output(false)
		each := float64(p.FramesOut) / float64(p.SegmentsOut)
		if each < 5 || alone.FramesOut != alone.SegmentsOut || p.GSOFrames != 0 {
			t.Errorf("mtu %d: %.1f frames a segment; without, %d frames as %d segments", mtu, each, alone.FramesOut, alone.SegmentsOut)
		}
		if math.Abs(with*each-without) > 0.05*without {
			t.Errorf("mtu %d: output took %.0f us, by %.1f frames a segment, and %.0f us without", mtu, with/1e6, each, without/1e6)
		}
	}
}
