package decode

import (
	"github.com/hopscope/hopscope/internal/pcap"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// pauserKey is a port that sends PFC frames, as one capture point sees it, and a class.
type pauserKey struct {
	point int
	mac   wire.MAC
	class uint8
}

// pauser is what a port asked of its peer for one class.
type pauser struct {
	pauserKey
	frames     int64
	first      units.Time
	last       units.Time
	number     int
	acts       record.Act // pauses, not counting frames that prolong one
	prolonged  int64
	resumed    int64 // by a frame with time 0
	lapsed     int64 // that ran out
	open       bool
	since      units.Time
	until      units.Time // where the rate is known
	asked      units.Time // for which it asked in all
	longest    units.Time
	unmeasured int64 // pauses without an end in the capture
}

// quantumBytes is how many bytes a port sends in a quantum, 512 bit times (IEEE 802.3 31B.2).
const quantumBytes = 512 / 8

// pause takes a PFC frame.
func (d *Decoder) pause(p *pcap.Packet, f *frame) {
	for class := range uint8(8) {
		if f.pfc.Enable>>class&1 == 0 {
			continue
		}
		key := pauserKey{p.Point, f.mac, class}
		x := d.byPauser[key]
		if x == nil {
			if len(d.pauses) == maxPauses {
				continue
			}
			x = &pauser{pauserKey: key, number: len(d.pauses), first: d.now}
			d.byPauser[key] = x
			d.pauses = append(d.pauses, x)
		}
		x.frames++
		x.last = d.now
		x.take(d.now, f.pfc.Time[class], d.rate(p.Point))
	}
}

// slowestRate is below that of any link with PFC: where the rate is not known, a pause has run out at least
// when it would have at this one.
const slowestRate = units.Gbps

// take acts on one frame. Rate 0 is not known.
func (x *pauser) take(now units.Time, quanta uint16, rate units.Rate) {
	if x.open && now >= x.until {
		x.lapsed++
		x.lapse(rate)
	}
	if quanta == 0 {
		if x.open {
			x.end(now)
			x.resumed++
		}
		return
	}
	if x.open {
		x.prolonged++
	} else {
		x.open, x.since = true, now
		x.acts.Add(now, 0)
	}
	x.until = now + max(rate, slowestRate).TxTimeLong(units.Bytes(quanta)*quantumBytes)
}

// lapse ends a pause that ran out.
func (x *pauser) lapse(rate units.Rate) {
	if rate > 0 {
		x.end(x.until)
		return
	}
	x.open = false
	x.unmeasured++
}

// end ends the pause that is under way.
func (x *pauser) end(at units.Time) {
	x.open = false
	x.asked += at - x.since
	x.longest = max(x.longest, at-x.since)
}

// over ends what the capture leaves open.
func (x *pauser) over(last units.Time, rate units.Rate) {
	switch {
	case !x.open:
	case rate > 0:
		x.end(min(x.until, last))
	default:
		x.lapse(rate)
	}
}
