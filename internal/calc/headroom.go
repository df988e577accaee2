package calc

import (
	"fmt"
	"math"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// Headroom works out the headroom of a lossless group for a cable, by the model's own bound and
// by the rules and tables that switches are shipped with.
func Headroom(s Switch) (*report.Calculation, error) {
	b, err := s.read()
	if err != nil {
		return nil, err
	}
	c := b.cables[0]
	group := b.memory.Groups[0][b.class]
	out := &report.Calculation{Of: "headroom", Title: fmt.Sprintf("Headroom of a lossless priority at %s over %s: %s B",
		c.Rate.Human(), c.Length.Human(), count(int64(group.Headroom)))}
	if s.ASIC != "" {
		out.Title += ", " + whence(s.ASIC, c, group.Headroom)
	}
	if bound := c.Physical(); group.Headroom < bound {
		out.Title += fmt.Sprintf("; short of the bound, %s B", count(int64(bound)))
	}
	out.Parts = append(out.Parts, physicalPart(c), spectrumPart(c), shippedPart(c))
	share, err := b.share(0)
	if err != nil {
		return nil, err
	}
	out.Parts = append(out.Parts, share)
	if kmin := b.red(0).KMin; kmin > 0 {
		before, err := b.before(0, kmin, kminSource)
		if err != nil {
			return nil, err
		}
		out.Parts = append(out.Parts, before)
	}
	if bound := c.Physical(); group.Headroom < bound {
		out.Notes = append(
			out.Notes,
			fmt.Sprintf(
				"The headroom is %s B short of the physical bound: frames can be lost when every one of these comes together.",
				count(int64(bound-group.Headroom)),
			),
		)
	}
	out.Notes = append(
		out.Notes,
		"The bound leaves out gearboxes and retimers, unless --set switch.pfc.response or a longer cable stands for them. "+
			"Without jitter and fast clocks: --set noise=off.",
	)
	return out, nil
}

// whence says where the headroom of an ASIC comes from: its table, or a rule where the table has no such row.
func whence(asic string, c scenario.Cable, headroom units.Bytes) string {
	chip, err := asicOf(asic)
	for _, row := range scenario.ShippedHeadroom(c.Rate, c.Length) {
		if err == nil && row.Preset == chip.name && row.Headroom == headroom {
			return fmt.Sprintf("by the table of %s for cables up to %v", asic, row.Length)
		}
	}
	switch headroom {
	case c.Spectrum():
		return "by Spectrum's rule for " + asic
	case c.Physical():
		return "by the physical bound, as " + asic + " has no row for this cable"
	}
	return "though no row of " + asic + " is for this cable"
}

// physicalPart is the bound of docs/models/headroom.md, term by term. The terms are rounded so
// that their sum is the bound.
func physicalPart(c scenario.Cable) report.CalcPart {
	p := report.CalcPart{Title: "What can arrive after XOFF (the default, headroom_rule: physical)",
		Formula: "C * (2 * tprop + tresp + tpipe + tjitter) + 3 * F + P",
		Source:  "docs/models/headroom.md; response by IEEE 802.3 31B.3.7"}
	speed := fmt.Sprintf("%.5g B/ns", float64(c.Top())/8e9)
	passed, sum := units.Time(0), units.Bytes(0)
	time := func(name, numbers string, t units.Time, source string) {
		if t == 0 {
			return
		}
		passed += t
		term := c.InFlight(passed) - sum
		sum += term
		p.Steps = append(
			p.Steps,
			report.CalcStep{Name: name, Numbers: numbers + " * " + speed, Value: float64(term), Unit: "B", Source: source},
		)
	}
	response := "given"
	if c.Response == c.Rate.TxTimeLong(units.Bytes(c.Quanta*64)) {
		response = fmt.Sprintf("%d quanta of 512 bit times", c.Quanta)
	}
	clock := fmt.Sprintf("C is %s", c.Rate.Human())
	if c.Fast > 0 {
		clock += fmt.Sprintf(" and %d ppm, a fast clock (IEEE 802.3)", c.Fast)
	}
	time("propagation, both ways", "2 * "+c.Delay.Human(), 2*c.Delay, "5 ns per metre; "+clock)
	time("response of the peer", c.Response.Human(), c.Response, response)
	time("pipeline", c.Pipeline.Human(), c.Pipeline, "switch.latency")
	time("jitter", c.Jitter.Human(), c.Jitter, "noise: of the card and of the pipeline")
	p.Steps = append(
		p.Steps,
		report.CalcStep{
			Name:    "frames",
			Numbers: fmt.Sprintf("3 * %s B", count(int64(c.Frame))),
			Value:   float64(3 * c.Frame),
			Unit:    "B",
			Source:  "one crosses XOFF, one blocks the PFC frame, one has begun at the peer",
		},
		report.CalcStep{
			Name:    "PFC frame",
			Numbers: "64 B + 20 B",
			Value:   float64(c.PFC),
			Unit:    "B",
			Source:  "with preamble and gap",
		},
	)
	bound := c.Physical()
	if c.Taken > 1 {
		p.Steps = append(
			p.Steps,
			report.CalcStep{Name: "waste of cells", Numbers: fmt.Sprintf("whole cells of %v, smallest frames", c.Taken),
				Value: float64(
					bound - sum - 3*c.Frame - c.PFC,
				), Unit: "B", Source: "frames of 64 B, or a byte longer than a cell, each 20 B apart"},
		)
	}
	p.Steps = append(
		p.Steps,
		report.CalcStep{
			Name:    "headroom",
			Numbers: metrics.FormatBytes(int64(bound)),
			Value:   float64(bound),
			Unit:    "B",
			Result:  true,
		},
	)
	return p
}

// spectrumPart is SONiC's rule for Spectrum switches.
func spectrumPart(c scenario.Cable) report.CalcPart {
	p := report.CalcPart{Title: fmt.Sprintf("Spectrum's rule, for cells of %v (headroom_rule: spectrum)", c.Cell),
		Formula: "pathMTU + (portMTU + 2 * length * C / 1.98e8 m/s + 0.8 KiB + quanta * 64 B + tile) * w, up to whole KiB",
		Source:  "SONiC, buffer_headroom_mellanox.lua since September 2024"}
	add := func(name, numbers string, bytes float64, source string) {
		p.Steps = append(p.Steps, report.CalcStep{Name: name, Numbers: numbers, Value: bytes, Unit: "B", Source: source})
	}
	add("path MTU", "", float64(c.PathMTU), "mtu")
	add("port MTU", "", float64(c.PortMTU), "switch.mtu")
	wire := 2 * float64(c.Length) / 1000 * float64(c.Rate) / 8 / 1.98e8
	add("cable, both ways", fmt.Sprintf("2 * %v * %s / 8 / 1.98e8 m/s", c.Length, c.Rate.Human()), math.Round(wire), "")
	add("MAC and PHY", "0.8 * 1,024 B", math.Round(0.8*1024), "asic_table.j2")
	add("response of the peer", fmt.Sprintf("%d quanta * 64 B", c.Quanta), float64(c.Quanta*64), "IEEE 802.3 31B.3.7")
	if tile := c.Tile(); tile > 0 {
		add("tile", "120 ns * "+c.Rate.Human(), tile, "Spectrum-4 and -5")
	}
	p.Steps = append(
		p.Steps,
		report.CalcStep{Name: "w", Numbers: fmt.Sprintf("cells of %v for packets of 64 B", c.Cell), Value: c.CellFactor(),
			Source: "cell / 64 B, rounded up; to 128 B: 2 * cell / (1 + cell)"},
	)
	if c.Cell == 256 {
		add("Spectrum-6", "18 KiB", 18*1024, "sonic-swss 4757, 4797")
	}
	p.Steps = append(
		p.Steps,
		report.CalcStep{
			Name:    "headroom",
			Numbers: metrics.FormatBytes(int64(c.Spectrum())),
			Value:   float64(c.Spectrum()),
			Unit:    "B",
			Result:  true,
		},
	)
	return p
}

// shippedPart has the rows of shipped tables.
func shippedPart(c scenario.Cable) report.CalcPart {
	p := report.CalcPart{
		Title:  "Tables that switches are shipped with, in whole cells",
		Source: "sonic-buildimage, pg_profile_lookup.ini",
	}
	for _, row := range scenario.ShippedHeadroom(c.Rate, c.Length) {
		p.Steps = append(p.Steps, report.CalcStep{Name: row.Preset, Numbers: fmt.Sprintf("cables up to %v", row.Length),
			Value: float64(row.Headroom), Unit: "B", Source: row.About})
	}
	if len(p.Steps) == 0 {
		p.Source = ""
		p.Title = fmt.Sprintf("No table that is known has a row for %s over %s", c.Rate.Human(), c.Length.Human())
	}
	return p
}

// share is what headroom leaves of a memory.
func (b *bench) share(port int) (p report.CalcPart, err error) {
	pool := b.memory.Ingress[b.memory.Groups[port][b.class].Pool]
	group := b.memory.Groups[port][b.class]
	ports, priorities := len(b.memory.Groups), b.lossless()
	p = report.CalcPart{Title: fmt.Sprintf("In a switch of %d such ports and %s of memory", ports, b.memory.Size.Human())}
	all := int64(group.Headroom) * int64(ports) * int64(priorities)
	if pool.Headroom > 0 {
		p.Steps = append(
			p.Steps,
			report.CalcStep{Name: "headroom, shared", Numbers: fmt.Sprintf(
				"%s B hold %.3g groups' headroom",
				count(int64(pool.Headroom)),
				float64(
					pool.Headroom,
				)/float64(
					group.Headroom,
				),
			), Value: float64(pool.Headroom), Unit: "B", Source: "the pool's xoff"},
		)
	} else {
		p.Steps = append(p.Steps, report.CalcStep{
			Name:    "headroom, all groups",
			Numbers: fmt.Sprintf("%d ports * %d lossless * %s B", ports, priorities, count(int64(group.Headroom))),
			Value:   float64(all),
			Unit:    "B",
			Source:  fmt.Sprintf("%.3g %% of the memory", 100*float64(all)/float64(b.memory.Size)),
		})
	}
	shared, reserved := b.pool(port)
	p.Steps = append(
		p.Steps,
		report.CalcStep{Name: "S, shared by all groups", Numbers: b.sharedText(port), Value: float64(shared), Unit: b.unit()},
	)
	l, err := b.limits(port)
	if err != nil {
		return p, err
	}
	if text := alphaText(group.Limit); text != "" {
		p.Formula = "XOFF = m + S * alpha / (1 + alpha)"
		p.Source = "Choudhury and Hahne 1998; what sonic-mgmt measures of switches (docs/models/ethernet.md)"
		p.Steps = append(
			p.Steps,
			report.CalcStep{
				Name: "XOFF of one group",
				Numbers: fmt.Sprintf("%s + %s * %s%s", count(reserved), count(shared), ratio(group.Limit.Num, group.Limit.Den),
					b.inBytes(l.XOFF)),
				Value:  float64(l.XOFF),
				Unit:   b.unit(),
				Result: true,
			},
		)
	} else if l.XOFF >= 0 {
		p.Steps = append(p.Steps, report.CalcStep{
			Name: "XOFF of one group", Numbers: "a fixed threshold", Value: float64(l.XOFF), Unit: b.unit(), Result: true,
		})
	}
	return p, nil
}

// ratio writes alpha / (1 + alpha).
func ratio(num, den int64) string { return fmt.Sprintf("%d/%d", num, num+den) }
