// Package calc works out headroom, marking thresholds and buffer thresholds without a run. It
// lets the scenario reader resolve a single switch, and the packet memory itself says when it
// pauses and drops, so that no calculator can disagree with a simulation.
package calc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/typo"
	"github.com/hopscope/hopscope/internal/units"
)

// Ports are equal ports of a switch.
type Ports struct {
	Count  int
	Rate   units.Rate
	Length units.Length // of their cables
}

// Switch is a switch to work something out for.
type Switch struct {
	ASIC  string // a name of ASICs; "": the scenario format's own switch
	Ports []Ports
	Set   []string // key=value, as for a scenario
	Known scenario.Known
}

// MostPorts is how many ports a switch may have here.
const MostPorts = 1024

// asic is a switch chip by name.
type asic struct {
	name    string
	others  []string // other names: the chip's, and of switches that have it
	set     []string // keys of a scenario that describe it
	pools   bool     // its pools are known, and not only its headroom rule
	ports   Ports    // of the switch whose files they are
	sources string
}

// asics lists them. Sizes of cells are those of SONiC's asic_table.j2 and pg_profile_lookup.ini,
// pools those of the presets of switch.memory.
func asics() []asic {
	spectrum := func(n, cell string, others ...string) asic {
		return asic{name: "spectrum" + n, others: append(others, "spectrum-"+n),
			set:     []string{"switch.pfc.headroom_rule=spectrum", "switch.pfc.cell=" + cell + "B"},
			sources: "sonic-buildimage platform/mellanox/asic_table.j2 (cell), buffer_headroom_mellanox.lua (rule)"}
	}
	preset := func(name string, ports Ports, sources string, others ...string) asic {
		return asic{
			name:    name,
			others:  others,
			set:     []string{"switch.memory.preset=" + name},
			pools:   true,
			ports:   ports,
			sources: sources,
		}
	}
	const device = "sonic-buildimage device/"
	four := preset("spectrum4", Ports{64, 800 * units.Gbps, 5 * units.Metre},
		device+"mellanox/x86_64-nvidia_sn5600-r0, asic_table.j2", "spectrum-4", "sn5600", "sn5400")
	return []asic{
		preset(
			"tomahawk",
			Ports{32, 100 * units.Gbps, 40 * units.Metre},
			device+"arista/x86_64-arista_7060_cx32s: buffers_defaults_t0.j2, pg_profile_lookup.ini",
			"th",
			"7060cx",
			"7060cx-32s",
		),
		preset(
			"tomahawk5",
			Ports{64, 400 * units.Gbps, 30 * units.Metre},
			device+"arista/x86_64-arista_7060x6_64pe_b: buffers_defaults_t1.j2, pg_profile_lookup.ini",
			"th5",
			"7060x6",
			"7060x6-64pe",
		),
		preset(
			"trident3",
			Ports{32, 100 * units.Gbps, 40 * units.Metre},
			device+"arista/x86_64-arista_7050cx3_32s: buffers_defaults_t0.j2, pg_profile_lookup.ini",
			"td3",
			"7050cx3",
			"7050cx3-32s",
		),
		spectrum("1", "96", "sn2700", "sn2410", "spectrum"), spectrum("2", "144", "sn3700", "sn3800"),
		spectrum("3", "144", "sn4600", "sn4700"), four, spectrum("5", "192", "sn5640"), spectrum("6", "256", "sn6600"),
		preset(
			"azure",
			Ports{32, 100 * units.Gbps, 40 * units.Metre},
			"NSDI 2023, appendix A: the sample of Azure's SONiC switches",
		),
	}
}

// ASICs lists the names of chips; with pools those whose pools are known.
func ASICs(pools bool) (names []string) {
	for _, a := range asics() {
		if a.pools || !pools {
			names = append(names, a.name)
		}
	}
	return names
}

// asicOf finds a chip by one of its names.
func asicOf(name string) (*asic, error) {
	plain := strings.NewReplacer(" ", "", "_", "").Replace(strings.ToLower(name))
	var words []string
	for _, a := range asics() {
		words = append(append(words, a.name), a.others...)
		for _, n := range append(a.others, a.name) {
			if n == plain {
				return &a, nil
			}
		}
	}
	if meant := typo.Nearest(plain, words); meant != "" {
		return nil, fmt.Errorf(
			"there is no ASIC %q; did you mean %s? Known are %s",
			name,
			meant,
			strings.Join(ASICs(false), ", "),
		)
	}
	return nil, fmt.Errorf("there is no ASIC %q; known are %s", name, strings.Join(ASICs(false), ", "))
}

// ParsePorts reads ports: "32x400Gbps", "32x400Gbps:300m" or "32", several with commas between.
// What is not said is as in usual.
func ParsePorts(text string, usual Ports) (out []Ports, err error) {
	all := 0
	for part := range strings.SplitSeq(text, ",") {
		p := usual
		head, length, long := strings.Cut(strings.TrimSpace(part), ":")
		count, rate, rated := strings.Cut(head, "x")
		if p.Count, err = strconv.Atoi(count); err != nil || p.Count < 1 {
			return nil, fmt.Errorf(
				"--ports %s: %q is no number of ports; write ports as 32x400Gbps:300m, several with commas between",
				text,
				count,
			)
		}
		if rated {
			if p.Rate, err = parseRate(rate); err != nil {
				return nil, fmt.Errorf("--ports %s: %w", text, err)
			}
		}
		if long {
			if p.Length, err = units.ParseLength(length); err != nil {
				return nil, fmt.Errorf("--ports %s: %w", text, err)
			}
		}
		if all += p.Count; all > MostPorts {
			return nil, fmt.Errorf("--ports %s: that are more than %d ports", text, MostPorts)
		}
		out = append(out, p)
	}
	if all < 2 {
		return nil, fmt.Errorf("--ports %s: a switch has at least 2 ports", text)
	}
	return out, nil
}

// parseRate reads a rate above 0.
func parseRate(s string) (units.Rate, error) {
	r, err := units.ParseRate(s)
	if err == nil && r == 0 {
		err = errors.New("a rate of 0 sends nothing")
	}
	return r, err
}

// bench is a switch that was read.
type bench struct {
	v      *scenario.Valid
	node   int
	cables []scenario.Cable // by port
	memory *mmu.Params
	class  int // the lowest lossless priority
	kinds  []kind
}

// kind is a run of equal ports.
type kind struct {
	Ports
	first int // the number of the first, from 0
}

// read resolves the switch as the scenario reader does.
func (s Switch) read() (*bench, error) {
	var text strings.Builder
	text.WriteString("name: switch\ntopology:\n  hosts: [")
	n := 0
	var links strings.Builder
	b := &bench{node: -1}
	for _, p := range s.Ports {
		b.kinds = append(b.kinds, kind{p, n})
		for range p.Count {
			n++
			fmt.Fprintf(&text, "p%d, ", n)
			fmt.Fprintf(&links, "    - {between: [sw, p%d], rate: %v, length: %v}\n", n, p.Rate, p.Length)
		}
	}
	text.WriteString(
		"]\n  switches: [sw]\n  links:\n" + links.String() + "workload:\n  - flow: {from: p1, to: p2, size: 1KB}\n",
	)
	set := s.Set
	if s.ASIC != "" {
		a, err := asicOf(s.ASIC)
		if err != nil {
			return nil, err
		}
		set = append(append([]string(nil), a.set...), s.Set...)
	}
	v, cables, err := scenario.Cables(
		scenario.Source{Name: "switch", Text: []byte(text.String()), Set: set, Known: s.Known},
	)
	if err != nil {
		return nil, own(err)
	}
	b.v = v
	for i := range v.Graph.Nodes {
		if v.Graph.Nodes[i].Kind == topology.Switch {
			b.node = i
		}
	}
	for port := range n {
		c, ok := cables[topology.Hop{Node: b.node, Port: port}]
		if !ok {
			return nil, errors.New("the stack has no switches with PFC; leave --set stack out")
		}
		b.cables = append(b.cables, c)
	}
	b.memory = v.Switches[b.node].Memory
	for b.class = 0; b.class < mmu.Classes && !b.memory.Groups[0][b.class].Lossless; b.class++ {
	}
	if b.class == mmu.Classes {
		return nil, errors.New("the switch has no lossless priority; give one, such as --set switch.pfc.enabled=3")
	}
	return b, nil
}

// own leaves out the place of an error in the text that the calculator wrote itself.
func own(err error) error {
	var bad *scenario.Error
	if errors.As(err, &bad) && bad.File == "switch" {
		return errors.New(bad.Msg)
	}
	return err
}

// red is the marking curve of a port's lossless class.
func (b *bench) red(port int) fabric.RED { return b.v.Switches[b.node].Ports[port].RED[b.class] }

// lossless is how many priorities are.
func (b *bench) lossless() (n int) {
	for c := range mmu.Classes {
		if b.memory.Groups[0][c].Lossless {
			n++
		}
	}
	return n
}

// inPart is how many of the switch's ports are in the part of a port, and which is the first.
func (b *bench) inPart(port int) (first, count int) {
	parts, ports := max(1, b.memory.Parts), len(b.memory.Groups)
	part := port * parts / ports
	for first = port; first > 0 && (first-1)*parts/ports == part; first-- {
	}
	for last := first; last < ports && last*parts/ports == part; last++ {
		count++
	}
	return first, count
}

// cell is the size of one; 1: bytes are counted.
func (b *bench) cell() int64 { return max(1, int64(b.memory.Cell)) }

// unit is what the memory counts.
func (b *bench) unit() string {
	if b.cell() == 1 {
		return "B"
	}
	return "cells"
}

// inBytes says what so many cells are, unless bytes are counted anyway.
func (b *bench) inBytes(cells int64) string {
	if b.cell() == 1 {
		return ""
	}
	return " (" + metrics.FormatBytes(cells*b.cell()) + ")"
}

func count(n int64) string { return metrics.FormatCount(n) }

// UsualPorts are the ports of the switch whose files describe an ASIC.
func UsualPorts(name string) (Ports, error) {
	a, err := asicOf(name)
	if err != nil {
		return Ports{}, err
	}
	return a.ports, nil
}
