package nic

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// scheduleFaults has the card begin and end its faults. What a timer is for stands in low: 1 + 2k
// for the beginning of fault k, 2 + 2k for its end, and with lapseBegins or lapseEnds for a lapse.
func (h *Host) scheduleFaults() {
	for k, f := range h.faults {
		if f.Kind == record.FaultPauses {
			h.timer(f.From, f.From, timerPost, uint32(1+2*k))
			h.nextLapse(k)
		}
		if f.To != units.Never && f.Kind != record.FaultSlow {
			h.timer(f.To, f.To, timerPost, uint32(2+2*k))
		}
	}
}

// Bits of low.
const (
	lapseBegins = 1 << 16
	lapseEnds   = 1 << 17
)

// lapseLasts is how long a lapse takes: what makes a generator late for a refresh, such as collecting
// garbage, takes some milliseconds of software. It only has to end a pause.
const lapseLasts = units.Millisecond

// nextLapse schedules the next lapse of fault k.
func (h *Host) nextLapse(k int) {
	if list := h.faults[k].Lapses; h.lapses[k] < len(list) {
		at := list[h.lapses[k]]
		h.lapses[k]++
		h.timer(at, at, timerPost, lapseBegins|uint32(1+2*k))
	}
}

// fault begins or ends a fault, or a lapse of one, in which it is over for a moment.
func (h *Host) fault(now units.Time, low uint32) {
	lapse := low &^ (1<<16 - 1)
	low &= 1<<16 - 1
	k := int(low-1) / 2
	begins := low%2 == 1 && lapse != lapseBegins
	pauses := h.faults[k].Kind == record.FaultPauses
	switch {
	case lapse == lapseBegins && now+lapseLasts < h.faults[k].To:
		h.timer(now+lapseLasts, now+lapseLasts, timerPost, lapseEnds|uint32(1+2*k))
	case lapse == lapseEnds:
		h.nextLapse(k)
	}
	if pauses {
		h.pausing = begins
	}
	for i := range h.ports {
		p := &h.ports[i]
		if pauses && !p.credited {
			h.net.PauseAnyway(now, p.fabricPort, p.rx.classes, begins || p.rx.xoff)
		}
		if !pauses {
			h.net.Kick(now, p.fabricPort)
		}
	}
}

// hungUntil is when the card goes on that hangs at now; now: it does not hang.
func (h *Host) hungUntil(now units.Time) units.Time {
	for k := range h.faults {
		if f := &h.faults[k]; f.Kind == record.FaultHang && f.From <= now && now < f.To {
			return f.To
		}
	}
	return now
}

// hungWithin is for how long the card hung between two instants.
func (h *Host) hungWithin(from, to units.Time) (d units.Time) {
	for k := range h.faults {
		if f := &h.faults[k]; f.Kind == record.FaultHang {
			d += overlap(from, to, f.From, f.To)
		}
	}
	return d
}

// drainedAt is when a frame of so many bytes has left the receive buffer that begins to do so at
// t, where the host takes rate (0: all at once) but for faults; Never: it does not.
func (h *Host) drainedAt(t units.Time, rate units.Rate, size units.Bytes) units.Time {
	left := int64(size) * 8 * int64(units.Second) // in bits times ps: at a rate of r it takes left/r
	for {
		r, until := h.takes(t, rate)
		switch {
		case r == 0 && until == units.Never:
			return units.Never
		case r == 0:
			t = until
			continue
		case r == unlimited:
			return t
		}
		d := units.Time((left + int64(r) - 1) / int64(r))
		if d <= until-t {
			return t + d
		}
		left -= int64(until-t) * int64(r)
		t = until
	}
}

// soundAt reports whether a frame that has come in by port i finds a card that takes it at once, as one does that
// has no faults: nothing waits, and none is at hand.
func (h *Host) soundAt(now units.Time, i int) bool {
	rx := &h.ports[i].rx
	if h.path != nil || rx.DrainRate > 0 || rx.queue.head != 0 {
		return false
	}
	r, _ := h.takes(now, 0)
	return r == unlimited
}

// unlimited is the rate of a host that keeps up.
const unlimited = units.Rate(1<<63 - 1)

// takes is the rate at which the host takes data at t, and up to when.
func (h *Host) takes(t units.Time, rate units.Rate) (r units.Rate, until units.Time) {
	r, until = rate, units.Never
	if r == 0 {
		r = unlimited
	}
	for k := range h.faults {
		switch f := &h.faults[k]; {
		case f.Kind == record.FaultPauses || f.To <= t:
		case f.From > t:
			until = min(until, f.From)
		case f.Kind == record.FaultHang:
			return 0, f.To
		default:
			return min(r, f.Rate), f.To
		}
	}
	return r, until
}
