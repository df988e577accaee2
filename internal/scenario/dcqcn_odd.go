package scenario

import (
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Settings of DCQCN that are legal but odd, with their consequence.

// warnDCQCN looks at them once the workload is known.
func (r *resolver) warnDCQCN() {
	p := r.v.DCQCN
	if p == nil {
		return
	}
	r.warnClamp(p)
	if line := r.fastestSender(); r.dcqcnGiven.has("rpg_min_rate") && p.RPGMinRate >= line && line > 0 {
		r.warn("min rate", "dcqcn.rpg_min_rate: %v is not below the line of %v, so that no cut lowers a rate: "+
			"congestion control does nothing; give less, such as 10Mbps, or dcqcn: none", p.RPGMinRate, line)
	}
	counts := p.CNPCoalesce == congestion.AtReceiver && p.MinTimeBetweenCNPs > 0
	if counts && p.CNPLimiter != congestion.PerQueuePair && r.dcqcnGiven.has("cnp_limiter") && r.mostTaken() == 1 {
		r.warn("limiter", "dcqcn.cnp_limiter: %v is the same as queue-pair here: no port takes the data of more than one queue pair, "+
			"which hears one CNP per %v at most either way", p.CNPLimiter, p.MinTimeBetweenCNPs)
	}
}

// cnpsOnAcks says that no host sends CNPs, if so.
func (r *resolver) cnpsOnAcks() string {
	for i := range r.v.Transports {
		if !r.v.Transports[i].CNPOnAck {
			return ""
		}
	}
	return when(len(r.v.Transports) > 0, "the transport has a flag on ACKs in place of CNPs, as ns-3 does")
}

// wholeQuanta says that gaps are fixed, if so.
func (r *resolver) wholeQuanta() string {
	return when(r.v.TimeQuantum > 0, "with a time_quantum gaps are fixed when a packet is sent, as ns-3 has them")
}

// slowClimb is from when on a way back up to half the line counts as a collapse: by then
// an incast of 32 MB messages is over.
const slowClimb = 10 * units.Millisecond

// warnClamp tells what a target that falls with every cut does.
func (r *resolver) warnClamp(p *congestion.DCQCNParams) {
	if !p.ClampTargetRate || !r.dcqcnGiven.has("clamp_tgt_rate") {
		return
	}
	line := r.fastestSender()
	steps := units.Time(1e6)
	if p.RPGAIRate > 0 {
		steps = min(steps, units.Time(line/2/p.RPGAIRate))
	}
	if climb := steps * p.RPGTimeReset; climb >= slowClimb {
		r.warn("clamp", "dcqcn.clamp_tgt_rate: true lets no rate return to what it was before a cut: from there only rpg_ai_rate leads up, "+
			"%v per %v, which takes %s to half of a line of %v; incasts leave most of the line idle (docs/models/dcqcn.md)",
			p.RPGAIRate, p.RPGTimeReset, climb.Human(), line)
	}
}

// fastestSender is the highest rate of a port that sends.
func (r *resolver) fastestSender() (line units.Rate) {
	for i := range r.v.Plan.Conns {
		e := r.v.Graph.Endpoints[r.v.Plan.Conns[i].Src]
		line = max(line, r.v.Graph.LinkAt(e.Node, e.Port).Rate)
	}
	return line
}

// mostTaken is the most reliable queue pairs whose data one port takes.
func (r *resolver) mostTaken() (most int) {
	taken := make([]int, len(r.v.Graph.Endpoints))
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		if c.Service != workload.RC || c.Profile > 0 {
			continue
		}
		to := c.Dst
		if c.Reads {
			to = c.Src
		}
		taken[to]++
		most = max(most, taken[to])
	}
	return most
}
