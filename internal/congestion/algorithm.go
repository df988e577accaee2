package congestion

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Algorithm is a row of the registry: everything that is said of a congestion control. Scenario
// key, JSON Schema, docs page, `hopscope show` and checks of values come from it.
type Algorithm struct {
	// Name is what scenarios call it: small letters, digits and hyphens.
	Name string
	// Title is what reports call it, and Text one sentence on what it does.
	Title, Text string
	// Source is where it is published.
	Source string
	// Presets are the names of sets of values, the default first; none: there is one set.
	Presets []ValueSet
	// New returns settings with the values of a preset; "" is the default one.
	New func(preset string) Settings

	foreign bool // it is not of this package
}

// ValueSet is a named set of values.
type ValueSet struct {
	Name, Text string
	Source     string // of its values
}

// Settings are an algorithm's values in one scenario. The queue pairs that run it share them; they
// do not change once the first has started.
type Settings interface {
	// Parameters lists the values, in the order of docs. A Source that is empty is the preset's.
	Parameters() []param.Param
	// Check says what is wrong with values together that are right each on its own: the key
	// to blame, and a sentence that ends with what would be right. "": nothing is wrong.
	Check() (key, message string)
	// Needs is the feedback that these settings need.
	Needs() Needs
	// Start returns a controller for a queue pair. The link is valid during the call.
	Start(l *Link) RateController
}

// Targeted is what Settings may have besides: round trips that take longer, even without a queue, lower the
// rate again and again.
type Targeted interface {
	// Target is the longest round trip that lowers nothing, over hops switches, and the key that says so.
	Target(hops int) (key string, t units.Time)
}

// Control is an algorithm with its settings, as a scenario has it.
type Control struct {
	Algorithm
	Settings Settings
	// Preset is the name of the preset that the settings began with.
	Preset string
	// Notification is how receivers send CNPs, if Needs asks for them.
	Notification *DCQCNParams
}

// Start returns a controller for a queue pair; one that is not of this package is watched.
func (c *Control) Start(l *Link) RateController {
	if !c.foreign {
		return c.Settings.Start(l)
	}
	g := Guard(nil, l.Line)
	func() {
		defer g.caught()
		g.ctl = c.Settings.Start(l)
	}()
	if g.ctl == nil && g.fault == "" {
		g.fault = "started as nil"
	}
	return g
}

// NewControl returns an algorithm with the values of a preset; "" is the default.
func (a *Algorithm) NewControl(preset string) *Control {
	if preset == "" && len(a.Presets) > 0 {
		preset = a.Presets[0].Name
	}
	return &Control{Algorithm: *a, Settings: a.New(preset), Preset: preset}
}

// Set gives one value, in ps, bit/s, bytes or as a number; of a flag 0 or 1. There must be one of that key.
func (c *Control) Set(key string, value float64) {
	for _, p := range c.Settings.Parameters() {
		if p.Name == key {
			p.Set(value)
			return
		}
	}
	panic("congestion: BUG: " + c.Name + " has no " + key)
}

// Begin gives the settings the values of the preset, in place: pointers to them stay right.
func (c *Control) Begin() {
	from := c.New(c.Preset).Parameters()
	for i, p := range c.Settings.Parameters() {
		v, _ := from[i].Number()
		p.Set(v)
	}
}

// Parameters lists the values with their sources.
func (c *Control) Parameters() []param.Param {
	all := c.Settings.Parameters()
	for i := range all {
		if all[i].Source == "" {
			all[i].Source = c.source()
		}
	}
	return all
}

// PresetNames lists the names of the algorithm's presets.
func (a *Algorithm) PresetNames() (names []string) {
	for i := range a.Presets {
		names = append(names, a.Presets[i].Name)
	}
	return names
}

// Validate reports the first value out of range: its key, and what is wrong.
func (c *Control) Validate() (key string, err error) {
	for _, p := range c.Parameters() {
		if !p.InRange() {
			return p.Name, fmt.Errorf("%s: %s is %s, want %s", c.Name, p.Name, p.String(), p.Range())
		}
	}
	if key, message := c.Settings.Check(); message != "" {
		return key, fmt.Errorf("%s: %s", c.Name, message)
	}
	return "", nil
}

// source is where the values of the preset come from.
func (c *Control) source() string {
	for i := range c.Presets {
		if c.Presets[i].Name == c.Preset && c.Presets[i].Source != "" {
			return c.Presets[i].Source
		}
	}
	return c.Source
}

// Notes lists every value with its source.
func (c *Control) Notes() (notes []record.Note) {
	key := "controller." + c.Name + "."
	if c.Preset != "" {
		notes = append(notes, record.Note{Key: key + "preset", Value: c.Preset, Source: c.source()})
	}
	for _, p := range c.Parameters() {
		value := p.String()
		if v, _ := p.Number(); v == 0 && p.Zero != "" {
			value = "0 (" + p.Zero + ")"
		}
		notes = append(notes, record.Note{Key: key + p.Name, Value: value, Source: p.Source})
	}
	return notes
}

// Registry is the algorithms that a run knows. The zero Registry knows none.
type Registry struct{ rows []Algorithm }

// NewRegistry returns the algorithms of this package and others beside them. It fails on two of one
// name, and on a declaration that lacks something.
func NewRegistry(more ...Algorithm) (*Registry, error) {
	r := &Registry{rows: algorithms()}
	for i := range more {
		a := watched(more[i])
		if !param.ProperName(a.Name) && a.Name != "none" {
			return nil, fmt.Errorf("controller %q: a name has small letters, digits and hyphens, from a letter on, "+
				"such as my-control", a.Name)
		}
		if r.Find(a.Name) != nil || a.Name == "dcqcn" || a.Name == "none" {
			return nil, fmt.Errorf("controller %s: there is one of that name already; give another name", a.Name)
		}
		var wrong error
		if err := param.Caught(func() error { wrong = declared(&a); return nil }); err != nil {
			return nil, err
		}
		if wrong != nil {
			return nil, fmt.Errorf("controller %s: %w", a.Name, wrong)
		}
		r.rows = append(r.rows, a)
	}
	return r, nil
}

// All lists the algorithms, those of this package first.
func (r *Registry) All() []Algorithm { return r.rows }

// Find returns the algorithm of that name; nil: there is none.
func (r *Registry) Find(name string) *Algorithm {
	for i := range r.rows {
		if r.rows[i].Name == name {
			return &r.rows[i]
		}
	}
	return nil
}

// Names lists their names.
func (r *Registry) Names() (names []string) {
	for i := range r.rows {
		names = append(names, r.rows[i].Name)
	}
	return names
}

// algorithms is the registry: a row for each algorithm that stands in a file of its own here.
func algorithms() []Algorithm {
	return []Algorithm{hpcc(), timely(), swift(), dctcpRate(), rttProbe()}
}
