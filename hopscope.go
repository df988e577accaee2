// Package hopscope runs scenarios of RDMA and TCP networks, packet by packet, inside other programs: it loads
// and runs them, gives typed results, shows a run as it goes, and takes in congestion controls and ways to
// balance load that are not its own.
//
//	lib, err := hopscope.New()
//	s, err := lib.Load("incast-4to1", hopscope.Set("topology.star.hosts", "9"))
//	r, err := s.Run(ctx)
//	fmt.Println(r.Messages[0].CompletionPS)
//
// The same scenario with the same seed gives the same results, byte for byte, on any number of workers.
// docs/extending.md walks through everything that can be added.
package hopscope

import (
	"context"
	"fmt"
	"runtime"

	"github.com/hopscope/hopscope/internal/param"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

// Library is what scenarios may name: all that the program has, and what options add. It does not change
// once it is made, and any number of goroutines may use it.
type Library struct{ known scenario.Known }

// Option adds something to a library.
type Option func(*Library) error

// New returns a library. It fails if an option adds what is not in order, or under a name that is taken.
func New(options ...Option) (*Library, error) {
	l := new(Library)
	for _, add := range options {
		if err := param.Caught(func() error { return add(l) }); err != nil {
			return nil, fmt.Errorf("hopscope: %w", err)
		}
	}
	return l, nil
}

// Known is what options have added, for the packages of this module.
func (l *Library) Known() scenario.Known { return l.known }

// Scenarios lists the names of the shipped scenarios.
func (l *Library) Scenarios() (names []string) {
	for _, s := range scenario.List() {
		names = append(names, s.Name)
	}
	return names
}

// Change puts something over what a scenario says.
type Change func(*run.Options)

// Set gives a key a value, as --set does: Set("topology.star.hosts", "9").
func Set(key, value string) Change {
	return func(o *run.Options) { o.Set = append(o.Set, key+"="+value) }
}

// Stack runs the scenario over another stack, such as "infiniband".
func Stack(name string) Change { return func(o *run.Options) { o.Stack = name } }

// Seed is that of all random streams.
func Seed(n uint64) Change { return func(o *run.Options) { o.Seed = &n } }

// Scenario is a scenario that was read and is in order.
type Scenario struct {
	options run.Options
	valid   *scenario.Valid
}

// Load reads a scenario: the name of a shipped one or a file. What is wrong with it is a *ScenarioError.
func (l *Library) Load(nameOrFile string, changes ...Change) (*Scenario, error) {
	return l.load(run.Options{Scenario: nameOrFile}, changes)
}

// Parse reads the text of a scenario; name is what errors call it.
func (l *Library) Parse(name string, text []byte, changes ...Change) (*Scenario, error) {
	if text == nil {
		text = []byte{}
	}
	return l.load(run.Options{Scenario: name, Text: text}, changes)
}

// Import reads files of another program, by the flag that names each on the command line:
// {"ns3": "mix/config.txt"}.
func (l *Library) Import(files map[string]string, changes ...Change) (*Scenario, error) {
	return l.load(run.Options{Files: files}, changes)
}

func (l *Library) load(o run.Options, changes []Change) (*Scenario, error) {
	for _, change := range changes {
		change(&o)
	}
	o.Known = l.known
	v, err := run.Load(o)
	if err != nil {
		return nil, err
	}
	return &Scenario{o, v}, nil
}

// Name is the scenario's.
func (s *Scenario) Name() string { return s.valid.Name }

// Warnings are sentences on what is in order but hardly meant.
func (s *Scenario) Warnings() []string { return s.valid.Warnings }

// Parameters are the presets and derived values that the scenario comes to, each with its source.
func (s *Scenario) Parameters() []Parameter { return s.valid.Notes }

// RunOption says how a scenario is run. None changes what happens in it.
type RunOption func(*run.Options)

// Workers is how many goroutines run it, at least 1; without, as many as there are processors.
func Workers(n int) RunOption { return func(o *run.Options) { o.Workers = n } }

// OnProgress has f called about ten times a second, between two windows of the run.
func OnProgress(f func(Progress)) RunOption { return func(o *run.Options) { o.Progress = f } }

// Run runs the scenario to its end: quiescence, its stop time, or a deadlock. When ctx ends it stops at a
// consistent cut and returns what there is until then. A scenario can be run again, at the same time too.
func (s *Scenario) Run(ctx context.Context, options ...RunOption) (*Result, error) {
	o := s.options
	o.Workers = runtime.GOMAXPROCS(0)
	for _, option := range options {
		option(&o)
	}
	r, _, err := run.Do(ctx, o)
	if err != nil {
		return nil, err
	}
	return newResult(r), nil
}

// ScenarioError is what is wrong with a scenario: File, Line and Column say where, Msg what, and what would
// be right.
type ScenarioError = scenario.Error

// Parameter is a value that a scenario comes to, with its source.
type Parameter = record.Note

// Progress is how far a run has come.
type Progress = run.Progress
