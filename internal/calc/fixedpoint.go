package calc

import (
	"math"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/units"
)

// equilibrium is where DCQCN's increases and cuts balance.
type equilibrium struct {
	p     float64 // probability that a packet is marked
	alpha float64
	cnps  float64 // per second and flow
	quiet float64 // seconds after a CNP in which a flow hears of no other
}

// fixedPoint finds the equilibrium of n equal flows that share a line, by the renewal argument
// that case F6 of `hopscope fidelity` holds simulations against: after a cut of alpha/2 a flow
// is deaf for min_time_between_cnps, and the next CNP comes an exponential time later; what its
// rate gains until then by timer and byte counter makes good what the cut took. packet is in
// bytes on the wire. ok is false where nothing balances.
//
// The fluid model of "ECN or Delay" (CoNEXT 2016) leaves out the deaf time and marks too
// little, by up to a third.
func fixedPoint(c *congestion.DCQCNParams, line units.Rate, n int, packet units.Bytes) (e equilibrium, ok bool) {
	perFlow := float64(line) / float64(n) / 8 / float64(packet) // packets per second
	e.quiet = float64(c.MinTimeBetweenCNPs) / 1e12
	if sharedCNPs(c) {
		e.quiet *= float64(n)
	}
	gain := func(p float64) float64 {
		lambda := -math.Log1p(-p) * perFlow
		e.alpha = alphaOf(float64(c.DCETCPRTT)/1e12, e.quiet, lambda)
		e.cnps = 1 / (e.quiet + 1/lambda)
		return netChange(c, perFlow, float64(packet), e, lambda)
	}
	lo, hi := 1e-9, 0.9
	if gain(lo) <= 0 || gain(hi) >= 0 {
		return e, false
	}
	for range 100 {
		e.p = math.Sqrt(lo * hi)
		if gain(e.p) > 0 {
			lo = e.p
		} else {
			hi = e.p
		}
	}
	return e, true
}

// sharedCNPs reports whether all senders to a port share its CNPs.
func sharedCNPs(c *congestion.DCQCNParams) bool {
	return c.CNPCoalesce == congestion.AtReceiver && c.CNPLimiter == congestion.PerPort
}

// alphaOf is the share of alpha's periods in which a CNP comes: one over one and the periods
// between two CNPs, sum over k of P(X > k period), X = quiet + Exp(lambda).
func alphaOf(period, quiet, lambda float64) float64 {
	whole := math.Floor(quiet / period)
	first := math.Exp(-lambda * ((whole+1)*period - quiet))
	return 1 / (1 + whole + first/-math.Expm1(-lambda*period))
}

// netChange is what a flow's rate changes by between two CNPs, weighed by time, in packets:
// above 0 marks are too few.
func netChange(c *congestion.DCQCNParams, rate, packet float64, e equilibrium, lambda float64) float64 {
	timer, counter := float64(c.RPGTimeReset)/1e12, math.Inf(1)
	if c.RPGByteReset > 0 {
		counter = float64(c.RPGByteReset*c.RPGByteResetUnit) / packet / rate
	}
	current, target := -math.Ldexp(e.alpha*rate, 10-c.RPGGD), 0.0
	first := c.RPGThreshold // the event from which increases are active
	if !c.CountBeforeTest {
		first++
	}
	beyond := func(t float64) float64 { // the chance that no CNP came until t
		if t <= e.quiet {
			return 1
		}
		return math.Exp(-lambda * (t - e.quiet))
	}
	step := func(r units.Rate) float64 { return float64(r) / 8 / packet }
	sum, last := 0.0, 0.0
	timers, counts := 0, 0
	for end := e.quiet + 25/lambda; ; {
		t := min(timer*float64(timers+1), counter*float64(counts+1))
		if so := sum + current*beyond(last); t >= end || current > 0 && so > 0 { // the rate never falls again
			return so
		}
		sum += current * (beyond(last) - beyond(t))
		last = t
		if t == timer*float64(timers+1) {
			timers++
		} else {
			counts++
		}
		switch {
		case min(timers, counts) >= first && counter < math.Inf(1):
			hyper := step(c.RPGHAIRate)
			if c.HAITimesStage {
				hyper *= float64(min(timers, counts) - first + 1)
			}
			target += hyper
		case max(timers, counts) >= first:
			target += step(c.RPGAIRate)
		}
		current = (current + target) / 2
	}
}
