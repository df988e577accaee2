package congestion

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// HyStart is when the first slow start ends before anything is lost.
type HyStart uint8

// Ways out of slow start.
const (
	HyStartOff   HyStart = iota // at the first loss
	HyStartPlus                 // HyStart++ (RFC 9406)
	HyStartLinux                // hybrid slow start as in Linux's CUBIC (Ha and Rhee, 2011; hystart_update), with CUBIC only
	numHyStarts
)

func (h HyStart) String() string { return [...]string{"off", "rfc9406", "linux"}[h] }

// HyStartNamed returns the way out of that name.
func HyStartNamed(name string) (HyStart, error) {
	var names []string
	for h := range numHyStarts {
		if h.String() == name {
			return h, nil
		}
		names = append(names, h.String())
	}
	return 0, fmt.Errorf("congestion control: unknown hystart %q, want one of %s", name, strings.Join(names, ", "))
}

// Constants of HyStart++ (RFC 9406 4.3).
const (
	hystartMinThresh = 4 * units.Millisecond
	hystartMaxThresh = 16 * units.Millisecond
	hystartDivisor   = 8
	hystartSamples   = 8
	cssGrowthDivisor = 4
	cssRounds        = 5
)

// Constants of Linux's hybrid slow start (hystart_low_window, hystart_ack_delta_us).
const (
	hystartLowWindow = 16 // segments
	hystartAckDelta  = 2 * units.Millisecond
)

// hystart is the state of slow start: rounds of the first one, the least round trip
// of this round and of the one before, and conservative slow start; or with Linux's
// rules the train of ACKs.
type hystart struct {
	end      uint64     // the round ends when this is acknowledged
	last     units.Time // least of the round before; HyStartLinux: latest ACK of the train
	current  units.Time
	baseline units.Time // in conservative slow start; HyStartLinux: when the round began
	samples  uint8
	rounds   uint8      // of conservative slow start
	css      bool       // in conservative slow start
	found    bool       // HyStartLinux: it has acted, until a timeout
	least    units.Time // least round trip since the start or a timeout; Never: none
}

// RTT is what OnRTT needs to know of a round trip that an ACK measured.
type RTT struct {
	Now      units.Time
	RTT      units.Time
	Una, Nxt uint64     // SND.UNA after the ACK, and SND.NXT
	Slack    units.Time // what segmentation offload may hold ACKs apart; 0 or more
	Paced    bool       // segments are paced
}

func (h *hystart) init() { *h = hystart{last: units.Never, current: units.Never, least: units.Never} }

// OnRTT takes the round trip that an ACK measured.
func (w *Window) OnRTT(p *WindowParams, s RTT) {
	fresh := w.cubic.inCA && s.Now-w.cubic.epoch < units.Second // just after a recovery it says little
	if !fresh {
		w.hystart.least = min(w.hystart.least, s.RTT)
	}
	switch {
	case p.HyStart == HyStartPlus:
		w.hystartPlus(s.RTT, s.Una, s.Nxt)
	case p.HyStart == HyStartLinux && p.Algorithm == Cubic && !fresh:
		w.hystartLinux(s)
	}
}

// hystartLinux ends slow start where the window is when the ACKs of a round have
// come without a pause for half of the least round trip, which is when the queue
// begins to hold what the path does not, or when the round trips of a round are all
// longer than the least by an eighth of it, 4 to 16 ms. With pacing a train may be
// twice as long.
func (w *Window) hystartLinux(s RTT) {
	h := &w.hystart
	if h.found || !w.SlowStart() {
		return
	}
	if s.Una > h.end {
		h.end, h.baseline, h.last, h.current, h.samples = s.Nxt, s.Now, s.Now, units.Never, 0
	}
	if w.cwnd < hystartLowWindow*w.mss {
		return
	}
	if s.Now-h.last <= hystartAckDelta {
		h.last = s.Now
		train := h.least + s.Slack
		if !s.Paced {
			train /= 2
		}
		h.found = s.Now-h.baseline > train
	}
	h.current = min(h.current, s.RTT)
	if h.samples < hystartSamples {
		h.samples++
	} else if h.current > h.least+min(max(h.least/hystartDivisor, hystartMinThresh), hystartMaxThresh) {
		h.found = true
	}
	if h.found {
		w.ssthresh = w.cwnd
	}
}

// hystartPlus is RFC 9406 4.2. Only the first slow start listens (4.3).
func (w *Window) hystartPlus(rtt units.Time, una, nxt uint64) {
	if w.ssthresh != maxSsthresh {
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
