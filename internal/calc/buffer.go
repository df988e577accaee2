package calc

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// Buffer works out the thresholds of a switch's packet memory, to the cell.
func Buffer(s Switch) (*report.Calculation, error) {
	a, err := asicOf(s.ASIC)
	switch {
	case err != nil:
		return nil, err
	case !a.pools:
		return nil, fmt.Errorf(
			"the pools of %s are not known, only its cells and headroom rule (see hopscope headroom --asic %s); they are of %s",
			a.name,
			a.name,
			strings.Join(ASICs(true), ", "),
		)
	case len(s.Ports) == 0:
		s.Ports = []Ports{a.ports}
	}
	b, err := s.read()
	if err != nil {
		return nil, err
	}
	out := &report.Calculation{Of: "buffer", Title: fmt.Sprintf("%s, %s", a.name, b.portsText())}
	out.Parts = append(out.Parts, b.memoryPart(a))
	for _, k := range b.kinds {
		parts, err := b.kindParts(k)
		if err != nil {
			return nil, err
		}
		out.Parts = append(out.Parts, parts...)
	}
	out.Notes = append(
		out.Notes,
		fmt.Sprintf(
			"Thresholds are those of an empty memory in which only the groups named fill, their egress shut; "+
				"they count frames of one cell, %d B. "+
				"The memory of simulations worked them out.",
			b.cell(),
		),
	)
	for _, w := range b.v.Warnings {
		out.Notes = append(out.Notes, "warning: "+w)
	}
	return out, nil
}

func (b *bench) portsText() string {
	text := ""
	for i, k := range b.kinds {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d ports of %s over %s", k.Count, k.Rate.Human(), k.Length.Human())
	}
	return text
}

// memoryPart lists what the memory is.
func (b *bench) memoryPart(a *asic) report.CalcPart {
	p := report.CalcPart{Title: scenario.MemoryAbout(a.name), Source: a.sources}
	if p.Title == "" {
		p.Title = "Packet memory"
	}
	m := b.memory
	p.Steps = []report.CalcStep{
		{Name: "memory", Numbers: fmt.Sprintf("%d parts", max(1, m.Parts)), Value: float64(m.Size), Unit: "B"},
		{Name: "cell", Value: float64(b.cell()), Unit: "B"},
	}
	in, parts := m.Ingress[m.Groups[0][b.class].Pool], int64(max(1, m.Parts))
	shared, _ := b.pool(0)
	p.Steps = append(
		p.Steps,
		report.CalcStep{
			Name:    "S, shared by groups of a part",
			Numbers: b.sharedText(0),
			Value:   float64(shared),
			Unit:    "cells",
			Source:  in.Name + ", less what it keeps",
		},
	)
	if in.Headroom > 0 {
		p.Steps = append(
			p.Steps,
			report.CalcStep{
				Name:    "headroom pool of a part",
				Numbers: fmt.Sprintf("%s B / %d B / %d parts", count(int64(in.Headroom)), b.cell(), parts),
				Value: float64(
					int64(in.Headroom) / b.cell() / parts,
				),
				Unit:   "cells",
				Source: "the pool's xoff, shared by all groups",
			},
		)
	}
	return p
}

// kindParts are the thresholds of ports of a kind.
func (b *bench) kindParts(k kind) ([]report.CalcPart, error) {
	p, err := b.groupPart(k)
	if err != nil {
		return nil, err
	}
	out := []report.CalcPart{p}
	if kmin := b.red(k.first).KMin; kmin > 0 {
		before, err := b.before(k.first, kmin, kminSource)
		if err != nil {
			return nil, err
		}
		before.Title += ", at " + k.name()
		out = append(out, before)
	}
	return out, nil
}

// kminSource is where Kmin comes from.
const kminSource = "Kmin as scenarios have it at this rate, unless --set switch.ecn.kmin says otherwise"

// name is what a kind of ports is called.
func (k *kind) name() string { return fmt.Sprintf("%s over %s", k.Rate.Human(), k.Length.Human()) }

// groupPart are the thresholds of a lossless group.
func (b *bench) groupPart(k kind) (report.CalcPart, error) {
	g := b.memory.Groups[k.first][b.class]
	shared, reserved := b.pool(k.first)
	p := report.CalcPart{
		Title:   "A lossless group at " + k.name(),
		Formula: "XOFF(k) = m + S * alpha / (1 + k * alpha), k groups of a part that fill together",
		Source:  "Choudhury and Hahne 1998; sonic-mgmt's qos_params.*.yaml measure switches so",
	}
	l, err := b.limits(k.first)
	if err != nil {
		return p, err
	}
	add := func(name, numbers string, cells int64, source string) *report.CalcStep {
		p.Steps = append(p.Steps, report.CalcStep{Name: name, Numbers: numbers + b.inBytes(cells), Value: float64(cells),
			Unit: "cells", Source: source})
		return &p.Steps[len(p.Steps)-1]
	}
	inCells := func(size units.Bytes) string { return fmt.Sprintf("%s B / %d B", count(int64(size)), b.cell()) }
	headroom := int64(g.Headroom) / b.cell()
	add("m, reserve", inCells(g.Reserved), reserved, "the profile's size")
	add("headroom", inCells(g.Headroom), headroom, "the profile's xoff")
	if alpha := alphaText(g.Limit); l.XOFF >= 0 && alpha != "" {
		add("XOFF, alone", fmt.Sprintf("%s + %s * %s", count(reserved), count(shared), ratio(g.Limit.Num, g.Limit.Den)),
			l.XOFF, "alpha "+alpha).Result = true
		for _, n := range b.crowds(k.first) {
			cells, err := b.together(k.first, n)
			if err != nil {
				return p, err
			}
			add(fmt.Sprintf("XOFF, %d groups together", n), fmt.Sprintf("%s + %s * %d/%d", count(reserved), count(shared),
				g.Limit.Num, g.Limit.Den+int64(n)*g.Limit.Num), cells, "")
		}
	} else if l.XOFF >= 0 {
		add("XOFF", "a fixed threshold", l.XOFF, "").Result = true
	}
	drop := add("first drop, alone", fmt.Sprintf("%s + %s + 1", count(l.XOFF), count(headroom)), l.Drop,
		"headroom of the group")
	drop.Result = true
	if g.XONOffset >= 0 {
		add("XON", "the offset below XOFF", (int64(g.XONOffset)+b.cell()-1)/b.cell(), "the profile's xon_offset")
	}
	return p, nil
}

// crowds are how many groups of a port's part are looked at together: powers of two, and all.
func (b *bench) crowds(port int) (out []int) {
	_, ports := b.inPart(port)
	for n := 2; n < ports; n *= 2 {
		out = append(out, n)
	}
	if ports > 1 {
		out = append(out, ports)
	}
	return out
}
