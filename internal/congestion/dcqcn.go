package congestion

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// alphaBits is the number of fractional bits of alpha: 1.0 is 1<<40.
const alphaBits = 40

// maxStage is where the stage counters stop. Only HAITimesStage reads a stage
// beyond the threshold, and it has long reached the line by then.
const maxStage = 60000

// DCQCN is the reaction point of one flow. Nothing is scheduled: each method
// first runs the timers that were due at or before now, in the order in which
// they would have fired, so that the outcome does not depend on when it is
// asked. At equal times alpha comes first; of increase and decrease the one
// that was armed earlier, which is the one with the longer period (equal
// periods: decrease).
//
// The gap behind a packet is a debt, of its bits on the wire, that the rate pays off:
// when the rate changes before it is paid, what is left is paid at the new one.
//
// With ReleaseAtMaxRate the first CNP allocates a limiter, with the initial alpha and
// a monitoring grid of its own, and a flow back at its maximum gives it up.
//
// Times given to one DCQCN must not go backwards.
type DCQCN struct {
	next    units.Time // earliest decrease or increase that can change the rate
	rate    units.Rate // Rc
	target  units.Rate // Rt
	max     units.Rate
	alpha   int64
	alphaAt units.Time // next end of an alpha period
	decAt   units.Time // a point of the monitoring grid; the next one while cutDue
	incAt   units.Time // next increase by the timer; Never while it can change nothing
	bytes   int64      // sent since the last increase by the byte counter
	owed    uint64     // what is left at paidAt of the gap behind the latest packet, in bits * ps/s
	paidAt  units.Time

	timeStage, byteStage uint16
	seenCNP              bool
	alphaCNP             bool // a CNP came within this alpha period
	cutDue               bool // a CNP came within this monitoring interval

	// Cuts counts the cuts that lowered the rate, by the time at which they
	// took effect; its sum is bit/s taken off.
	Cuts record.Act
	// MinRate is the lowest rate so far.
	MinRate units.Rate

	floorAt units.Time // since when the rate is RPGMinRate; Never: it is not
	atFloor units.Time // for how long it was before that
}

// Init starts a flow at rate initial (0: line). A flow that starts below its
// maximum has its increase timer running from now; one at its maximum waits for
// a CNP.
func (d *DCQCN) Init(p *DCQCNParams, line, initial units.Rate, now units.Time) {
	*d = DCQCN{max: line, incAt: units.Never, next: units.Never, floorAt: units.Never}
	if p.RPGMaxRate > 0 {
		d.max = min(line, p.RPGMaxRate)
	}
	d.rate = d.max
	if initial > 0 {
		d.rate = min(initial, d.max)
	}
	d.target, d.MinRate = d.rate, d.rate
	if d.rate <= p.RPGMinRate {
		d.floorAt = now
	}
	d.alpha = p.InitialAlpha << (alphaBits - 10)
	if d.rate < d.max {
		d.incAt = now + p.RPGTimeReset
		d.setNext()
	}
}

// Rate returns the sending rate at now, in bit/s.
func (d *DCQCN) Rate(p *DCQCNParams, now units.Time) units.Rate {
	if now >= d.next {
		d.run(p, now)
	}
	return d.rate
}

// Target returns the target rate as of the last evaluation.
func (d *DCQCN) Target() units.Rate { return d.target }

// Alpha returns the estimate of congestion at now in units of 2^-40, for
// series and tests.
func (d *DCQCN) Alpha(p *DCQCNParams, now units.Time) int64 {
	if now >= d.next {
		d.run(p, now)
	}
	if d.seenCNP {
		d.runAlpha(p, now)
	}
	return d.alpha
}

// OnCNP handles a congestion notification that arrives at now.
func (d *DCQCN) OnCNP(p *DCQCNParams, now units.Time) {
	if now >= d.next {
		d.run(p, now)
	}
	first := !d.seenCNP
	if first {
		d.firstCNP(p, now)
	} else {
		d.runAlpha(p, now)
	}
	if p.RateReduceMonitorPeriod == 0 {
		// models.md 1.1: cut by the old alpha, raise alpha, restart its timer.
		d.cut(p, now)
		d.alpha = d.alphaStep(p, true)
		d.alphaAt = now + p.DCETCPRTT
		d.setNext()
		return
	}
	if !first { // the first CNP belongs to no alpha period (peers.md B1 2.5)
		d.alphaCNP = true
	}
	if !d.cutDue {
		d.cutDue = true
		if d.decAt <= now {
			d.decAt += ((now-d.decAt)/p.RateReduceMonitorPeriod + 1) * p.RateReduceMonitorPeriod
		}
		d.setNext()
	}
}

// firstCNP starts alpha's timer and the monitoring grid.
func (d *DCQCN) firstCNP(p *DCQCNParams, now units.Time) {
	d.seenCNP = true
	d.alphaAt = now + p.DCETCPRTT
	d.decAt = now + p.RateReduceMonitorPeriod + p.MonitorOffset
	if r := p.RateToSetOnFirstCNP; r > 0 && r < d.rate {
		d.lower(p, now, r)
		d.target = r
		d.incAt = now + p.RPGTimeReset
		d.setNext()
	}
}

// OnSend counts wireBytes sent at now for the byte counter.
func (d *DCQCN) OnSend(p *DCQCNParams, now units.Time, wireBytes units.Bytes) {
	if now >= d.next {
		d.run(p, now)
	}
	if d.incAt == units.Never || p.RPGByteReset == 0 {
		return
	}
	d.bytes += int64(wireBytes)
	reset := p.RPGByteReset * p.RPGByteResetUnit
	for d.bytes >= reset {
		d.bytes -= reset
		d.increase(p, now, false)
	}
	d.setNext()
}

// run fires the increases and decreases due at or before now.
func (d *DCQCN) run(p *DCQCNParams, now units.Time) {
	for d.next <= now {
		t := d.next
		dec := d.cutDue && d.decAt == t
		if dec && d.incAt == t && p.RPGTimeReset > p.RateReduceMonitorPeriod {
			dec = false // the increase was armed earlier
		}
		if dec {
			d.runAlpha(p, t)
			d.cutDue = false
			d.cut(p, t)
			d.decAt += p.RateReduceMonitorPeriod
		} else {
			d.increaseByTime(p, now)
		}
		d.setNext()
	}
}

func (d *DCQCN) setNext() {
	d.next = d.incAt
	if d.cutDue && d.decAt < d.next {
		d.next = d.decAt
	}
}

// runAlpha ends the alpha periods up to and including t. Once alpha is zero and
// no CNP came, the rest are skipped at once.
func (d *DCQCN) runAlpha(p *DCQCNParams, t units.Time) {
	for d.alphaAt <= t {
		if d.alpha == 0 && !d.alphaCNP {
			d.alphaAt += ((t-d.alphaAt)/p.DCETCPRTT + 1) * p.DCETCPRTT
			return
		}
		d.alpha = d.alphaStep(p, d.alphaCNP)
		d.alphaCNP = false
		d.alphaAt += p.DCETCPRTT
	}
}

// alphaStep is (1-g)*alpha, plus g when the period saw a CNP.
func (d *DCQCN) alphaStep(p *DCQCNParams, cnp bool) int64 {
	a := d.alpha * p.DCETCPG >> p.DCETCPGBits
	if cnp {
		a += (1<<p.DCETCPGBits - p.DCETCPG) << (alphaBits - p.DCETCPGBits)
	}
	return a
}

// cut lowers the rate by rate*alpha*2^10/2^gd at time t and begins recovery
// afresh: stages, byte counter and increase timer restart.
func (d *DCQCN) cut(p *DCQCNParams, t units.Time) {
	raised := d.byteStage > 0 || d.timeStage > 0 && p.ClampTargetRateAfterTimeInc
	if p.ClampTargetRate || raised {
		d.target = d.rate
	}
	d.lower(p, t, d.afterCut(p))
	d.timeStage, d.byteStage, d.bytes = 0, 0, 0
	d.incAt = t + p.RPGTimeReset
	d.settle(p)
}

// afterCut is floor(rate - rate*alpha*2^10/2^gd), no lower than one cut and the
// minimum rate allow.
func (d *DCQCN) afterCut(p *DCQCNParams) units.Rate {
	hi, lo := bits.Mul64(uint64(d.rate), uint64(d.alpha))
	s := uint(alphaBits - 10 + p.RPGGD)
	off := units.Rate(hi<<(64-s) | lo>>s)
	if lo<<(64-s) != 0 {
		off++
	}
	r := max(d.rate-off, p.RPGMinRate)
	if p.RPGMinDecFac > 0 {
		r = max(r, d.rate/100*units.Rate(p.RPGMinDecFac)+d.rate%100*units.Rate(p.RPGMinDecFac)/100)
	}
	return r
}

// lower sets the rate to r if that is less, and counts it.
func (d *DCQCN) lower(p *DCQCNParams, t units.Time, r units.Rate) {
	d.pay(t)
	if r >= d.rate {
		return
	}
	d.Cuts.Add(t, int64(d.rate-r))
	d.rate = r
	d.MinRate = min(d.MinRate, r)
	if r <= p.RPGMinRate {
		d.floorAt = t
	}
}

// AtFloor is for how long up to now, the time of the latest call, the rate was the
// minimum rate.
func (d *DCQCN) AtFloor(now units.Time) units.Time {
	return d.atFloor + max(0, now-d.floorAt)
}

// increaseByTime is one expiry of the increase timer. When it changed nothing
// and no later expiry can without a byte-counter event, those up to now are
// skipped at once.
func (d *DCQCN) increaseByTime(p *DCQCNParams, now units.Time) {
	rate, target := d.rate, d.target
	at := d.incAt
	d.incAt += p.RPGTimeReset
	d.increase(p, at, true)
	unchanged := d.rate == rate && d.target == target
	if unchanged && d.constant(p) && d.incAt <= now {
		d.incAt += ((now-d.incAt)/p.RPGTimeReset + 1) * p.RPGTimeReset
	}
}

// constant reports whether an expiry of the increase timer that changed nothing is
// followed by others like it, until the byte counter or a CNP intervenes.
func (d *DCQCN) constant(p *DCQCNParams) bool { return int(d.timeStage) > p.RPGThreshold+1 }

// increase is one rate increase event at t (models.md 1.1): fast recovery while both
// stages are below F, hyper increase when both are above, else active increase.
// Without a byte counter the time stage stands for both (peers.md B1 2.5).
func (d *DCQCN) increase(p *DCQCNParams, t units.Time, byTime bool) {
	d.pay(t)
	if p.CountBeforeTest {
		d.count(byTime)
	}
	ts, b, f := int(d.timeStage), int(d.byteStage), p.RPGThreshold
	if p.RPGByteReset == 0 {
		b = ts
	}
	if low := min(ts, b); low > f {
		step := p.RPGHAIRate
		if p.HAITimesStage {
			step *= units.Rate(low - f)
		}
		d.target = min(d.target+step, d.max)
	} else if max(ts, b) >= f {
		d.target = min(d.target+p.RPGAIRate, d.max)
	}
	d.rate = d.average(p)
	if d.floorAt != units.Never && d.rate > p.RPGMinRate {
		d.atFloor += t - d.floorAt
		d.floorAt = units.Never
	}
	if !p.CountBeforeTest {
		d.count(byTime)
	}
	d.settle(p)
}

// settle stops the increase timer when the flow is at the top: neither fast
// recovery nor any increase of the target can change the rate before the next cut.
func (d *DCQCN) settle(p *DCQCNParams) {
	if d.target == d.max && d.average(p) == d.rate {
		d.incAt = units.Never
		if p.ReleaseAtMaxRate && !d.cutDue {
			d.release(p)
		}
	}
}

// release gives the limiter up: the flow is unlimited, and its next CNP is a first one.
func (d *DCQCN) release(p *DCQCNParams) {
	d.rate = d.max
	d.alpha = p.InitialAlpha << (alphaBits - 10)
	d.seenCNP, d.alphaCNP = false, false
	d.timeStage, d.byteStage, d.bytes = 0, 0, 0
}

func (d *DCQCN) count(byTime bool) {
	if byTime {
		d.timeStage = min(d.timeStage+1, maxStage)
	} else {
		d.byteStage = min(d.byteStage+1, maxStage)
	}
}

// average is the middle of rate and target.
func (d *DCQCN) average(p *DCQCNParams) units.Rate {
	if p.HalveSeparately {
		return d.rate/2 + d.target/2
	}
	return (d.rate + d.target + 1) / 2
}

// pay takes off the debt what the rate has paid by t; the rate may then change.
func (d *DCQCN) pay(t units.Time) {
	if d.owed == 0 || t <= d.paidAt {
		return
	}
	hi, paid := bits.Mul64(uint64(d.rate), uint64(t-d.paidAt))
	if hi > 0 || paid > d.owed {
		paid = d.owed
	}
	d.owed -= paid
	d.paidAt = t
}

// Owe begins the gap behind a packet of wireBytes, up to 2 MB, sent at now. end is
// where it ends at the present rate; the result is its end; see GapEnd.
func (d *DCQCN) Owe(p *DCQCNParams, now units.Time, wireBytes units.Bytes, end units.Time) units.Time {
	d.owed, d.paidAt = uint64(wireBytes)*8e12, now
	if end <= d.next {
		return end
	}
	return d.GapEnd(p)
}

// GapEnd is when the gap behind the latest packet is over if no CNP comes before: when
// the rates up to then, those of increases and of a cut that is due among them, have
// come to its bits. The picosecond is rounded up.
func (d *DCQCN) GapEnd(p *DCQCNParams) units.Time {
	end := d.atThisRate()
	if end <= d.next {
		return end
	}
	c := *d
	for end > c.next {
		rate, target, stage := c.rate, c.target, c.timeStage
		c.run(p, c.next)
		end = c.atThisRate()
		if c.rate == rate && c.target == target && c.timeStage > stage && c.constant(p) && !c.cutDue {
			break
		}
	}
	return end
}

// atThisRate is when the debt is paid at the present rate.
func (d *DCQCN) atThisRate() units.Time {
	return d.paidAt + units.Time((d.owed+uint64(d.rate)-1)/uint64(d.rate))
}
