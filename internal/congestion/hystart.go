package congestion

import "github.com/hopscope/hopscope/internal/units"

// Constants of HyStart++ (RFC 9406 4.3).
const (
	hystartMinThresh = 4 * units.Millisecond
	hystartMaxThresh = 16 * units.Millisecond
	hystartDivisor   = 8
	hystartSamples   = 8
	cssGrowthDivisor = 4
	cssRounds        = 5
)

// hystart is the state of HyStart++: rounds of the first slow start, the least
// round trip of this one and of the one before, and conservative slow start.
type hystart struct {
	end      uint64 // the round ends when this is acknowledged
	last     units.Time
	current  units.Time
	baseline units.Time
	samples  uint8
	rounds   uint8 // of conservative slow start
	css      bool  // in conservative slow start
}

func (h *hystart) init() { *h = hystart{last: units.Never, current: units.Never} }

// OnRTT takes the round trip that an ACK measured; una and nxt are SND.UNA after
// it and SND.NXT. Only the first slow start listens (RFC 9406 4.3).
func (w *Window) OnRTT(p *WindowParams, rtt units.Time, una, nxt uint64) {
	if !p.HyStart || w.ssthresh != maxSsthresh {
		return
	}
	h := &w.hystart
	if una >= h.end {
		w.endRound(nxt)
		if w.ssthresh != maxSsthresh {
			return
		}
	}
	h.current = min(h.current, rtt)
	h.samples = min(h.samples+1, hystartSamples)
	if h.samples < hystartSamples {
		return
	}
	if h.css {
		if h.current < h.baseline {
			h.css = false // delay fell again: the exit was spurious
		}
		return
	}
	if h.last == units.Never {
		return
	}
	thresh := min(max(h.last/hystartDivisor, hystartMinThresh), hystartMaxThresh)
	if h.current >= h.last+thresh {
		h.css, h.baseline, h.rounds = true, h.current, 0
	}
}

// endRound begins the next round; after five rounds of conservative slow start
// the window is where congestion avoidance starts.
func (w *Window) endRound(nxt uint64) {
	h := &w.hystart
	if h.css {
		if h.rounds++; h.rounds >= cssRounds {
			w.ssthresh = w.cwnd
			h.css = false
			return
		}
	}
	h.last, h.current, h.samples, h.end = h.current, units.Never, 0, nxt
}
