package calc

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
)

// Flows is what shares a queue that marks.
type Flows struct {
	Count int        // at most MostFlows
	RTT   units.Time // of the idle path
}

// MostFlows and LongestRTT bound what ECN works out.
const (
	MostFlows  = 1 << 16
	LongestRTT = units.Second
)

// ECN works out marking thresholds for flows that share a port, and judges those that scenarios
// have at its rate.
func ECN(s Switch, f Flows) (*report.Calculation, error) {
	b, err := s.read()
	if err != nil {
		return nil, err
	}
	c := &b.cables[0]
	bdp := units.Bytes(float64(c.Rate) / 8 * float64(f.RTT) / 1e12)
	out := &report.Calculation{
		Of: "ecn",
		Title: fmt.Sprintf(
			"Marking at a port of %s that %d flows share, round trip %s",
			c.Rate.Human(),
			f.Count,
			f.RTT.Human(),
		),
	}
	cc := b.v.DCQCN
	e, balanced := equilibrium{}, false
	if cc != nil {
		e, balanced = fixedPoint(cc, c.Rate, f.Count, c.Frame+betweenFrames)
	}
	out.Parts = append(out.Parts, loopPart(c.Rate, bdp, f, cc))
	if balanced {
		out.Parts = append(out.Parts, equilibriumPart(cc, e, f.Count))
	} else if cc != nil {
		out.Notes = append(out.Notes, "Increases and cuts of DCQCN balance at no rate of marks: there is no fixed point.")
	}
	curve := suggest(bdp, e.p, c.Frame)
	first := curvePart("A curve to begin with", curve, e, balanced)
	first.Steps[0].Source = "C * RTT: the queue feeds the line for two round trips when all flows halve their rates"
	if curve.KMin > bdp {
		first.Steps[0].Source = "two frames, more than C * RTT: below that nearly every frame that waits is marked"
	}
	first.Steps[1].Source = "4 * Kmin, as all rows of the ns-3 simulators and SimAI have it"
	if balanced {
		first.Steps[2].Source = "the first of 1, 2, 5, 10, 20, 50, 100 % from 2 * p on: queues settle in the lower half"
	} else { // there is no p that it could follow from
		first.Steps = first.Steps[:2]
	}
	before, err := b.before(0, curve.KMin, "worked out above")
	if err != nil {
		return nil, err
	}
	out.Parts = append(out.Parts, first, before)
	if now := b.red(0); now.KMax > 0 {
		p := curvePart("The curve that scenarios have at this rate, unless --set switch.ecn says otherwise", now, e, balanced)
		before, err := b.before(0, now.KMin, "switch.ecn")
		if err != nil {
			return nil, err
		}
		out.Parts = append(out.Parts, p, before)
	}
	l, err := b.limits(0)
	if err != nil {
		return nil, err
	}
	if burst := int64(f.Count-1) * int64(bdp); l.XOFF >= 0 && burst > l.XOFF*b.cell() {
		out.Notes = append(out.Notes, fmt.Sprintf("Flows that begin at line rate at once put %s into the queue before "+
			"the first cut acts, from however many ports, and one port's XOFF is at %s: "+
			"no threshold of marking keeps PFC out of such an incast.",
			metrics.FormatBytes(burst), metrics.FormatBytes(l.XOFF*b.cell())))
	}
	out.Notes = append(out.Notes, cannotWork(curve, l.XOFF*b.cell(), b.memory.Size)...)
	if !balanced {
		return out, nil
	}
	out.Notes = append(out.Notes,
		"The fixed point is where flows settle that stay; hopscope tune SCENARIO tries curves on a workload.")
	return out, nil
}

// cannotWork says why a curve has no effect in a switch, with XOFF of one port in bytes; below 0: there is none.
func cannotWork(curve fabric.RED, xoff int64, memory units.Bytes) (out []string) {
	if xoff >= 0 && int64(curve.KMin) > xoff {
		out = append(out, fmt.Sprintf("The curve to begin with cannot work here: its Kmin, %s, is above one port's "+
			"XOFF, %s, so that PFC acts before it marks. A loop this long takes more memory, or another alpha.",
			metrics.FormatBytes(int64(curve.KMin)), metrics.FormatBytes(xoff)))
	}
	if curve.KMax > memory {
		out = append(out, fmt.Sprintf("The curve to begin with cannot work here: its Kmax, %s, is more than the "+
			"switch's memory, %s.", metrics.FormatBytes(int64(curve.KMax)), metrics.FormatBytes(int64(memory))))
	}
	return out
}

// betweenFrames is the preamble of a frame and the gap behind it.
const betweenFrames = 20 * units.Byte

// suggest is a curve by round trip and marking, from two frames on.
func suggest(bdp units.Bytes, p float64, frame units.Bytes) fabric.RED {
	pmax := 1.0
	for _, nice := range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5} {
		if nice >= 2*p && pmax == 1 {
			pmax = nice
		}
	}
	kmin := max(bdp, 2*(frame+betweenFrames))
	return fabric.RED{KMin: kmin, KMax: 4 * kmin, PMax: pmax}
}

// loopPart is what the round trip alone says.
func loopPart(rate units.Rate, bdp units.Bytes, f Flows, cc *congestion.DCQCNParams) report.CalcPart {
	p := report.CalcPart{Title: "The loop of marks and cuts"}
	p.Steps = []report.CalcStep{
		{
			Name:    "C * RTT",
			Numbers: fmt.Sprintf("%s * %s / 8", rate.Human(), f.RTT.Human()),
			Value:   float64(bdp),
			Unit:    "B",
			Source:  "what is under way when a mark is made and its cut arrives",
		},
		{Name: "least threshold, C * RTT / 7", Numbers: count(int64(bdp)) + " B / 7", Value: float64(bdp / 7), Unit: "B",
			Source: "Alizadeh et al., SIGCOMM 2010, section 3.4: below it DCTCP leaves the line idle"},
		{
			Name:    "before the first cut, (N - 1) * C * RTT",
			Numbers: fmt.Sprintf("%d * %s B", f.Count-1, count(int64(bdp))),
			Value:   float64(int64(f.Count-1) * int64(bdp)),
			Unit:    "B",
			Source:  "all flows begin at line rate at once",
		},
	}
	if cc != nil && cc.MinTimeBetweenCNPs > 0 && sharedCNPs(cc) {
		p.Steps = append(
			p.Steps,
			report.CalcStep{
				Name:    "between two CNPs of a flow, at least",
				Numbers: fmt.Sprintf("%d * %s", f.Count, cc.MinTimeBetweenCNPs.Human()),
				Value: float64(
					f.Count,
				) * float64(
					cc.MinTimeBetweenCNPs,
				) / 1e6,
				Unit:   "us",
				Source: "min_time_between_cnps of dcqcn " + cc.Name + ", per port",
			},
		)
	}
	return p
}

// equilibriumPart is where DCQCN settles.
func equilibriumPart(cc *congestion.DCQCNParams, e equilibrium, flows int) report.CalcPart {
	return report.CalcPart{Title: fmt.Sprintf("Where %d flows of DCQCN (%s) settle", flows, cc.Name),
		Formula: "E[what a rate gains between two CNPs] = alpha / 2 * C / N, CNPs " + metrics.FormatTime(
			units.Time(e.quiet*1e12),
		) + " + Exp(p * packets/s) apart",
		Source: "renewal fixed point of DCQCN (docs/fidelity.md, F6); the fluid model is CoNEXT 2016's",
		Steps: []report.CalcStep{
			{Name: "p, packets marked", Numbers: "solved", Value: 100 * e.p, Unit: "%", Result: true},
			{Name: "alpha", Value: e.alpha},
			{Name: "CNPs of a flow", Value: e.cnps, Unit: "/s"},
		}}
}

// curvePart is a curve, and where flows settle on it.
func curvePart(title string, r fabric.RED, e equilibrium, balanced bool) report.CalcPart {
	p := report.CalcPart{
		Title:   title,
		Formula: "q = Kmin + p / Pmax * (Kmax - Kmin)",
		Source:  "WRED on the instantaneous queue (docs/models/ethernet.md)",
		Steps: []report.CalcStep{
			{Name: "Kmin", Numbers: r.KMin.Human(), Value: float64(r.KMin), Unit: "B"},
			{Name: "Kmax", Numbers: r.KMax.Human(), Value: float64(r.KMax), Unit: "B"},
			{Name: "Pmax", Value: 100 * r.PMax, Unit: "%"},
		},
	}
	switch {
	case !balanced:
	case e.p > r.PMax:
		p.Steps = append(
			p.Steps,
			report.CalcStep{
				Name:    "queue",
				Numbers: fmt.Sprintf("p %.3g %% is above Pmax: it stands at Kmax and swings", 100*e.p),
				Value:   float64(r.KMax),
				Unit:    "B",
				Result:  true,
			},
		)
	default:
		q := float64(r.KMin) + e.p/r.PMax*float64(r.KMax-r.KMin)
		p.Steps = append(
			p.Steps,
			report.CalcStep{
				Name: "queue",
				Numbers: fmt.Sprintf(
					"%s + %.3g %% / %.3g %% * %s",
					count(int64(r.KMin)),
					100*e.p,
					100*r.PMax,
					count(int64(r.KMax-r.KMin)),
				),
				Value:  float64(int64(q + 0.5)),
				Unit:   "B",
				Result: true,
			},
		)
	}
	return p
}
