package cli

import (
	"errors"
	"fmt"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// details are the parts of a report that are printed only when asked for.
type details struct {
	explain    string
	mechanisms bool
	brief      bool
	changed    func(flag string) bool
}

func (d *details) flags(flags *pflag.FlagSet) {
	d.changed = flags.Changed
	flags.Var(
		&onceFlag{to: &d.explain},
		"explain",
		"print where the time of a message went; `WHAT`: 'h2->h4', its number, slowest, "+
			"a workload's name, a pattern such as 'h*->h4', all; collective: the critical paths of collectives; "+
			"message:, workload: or collective: before a name that is also a word of its own",
	)
	flags.BoolVar(
		&d.mechanisms,
		"mechanisms",
		false,
		"print of every mechanism how often it acted, or how near it came and what held it back",
	)
	flags.BoolVar(&d.brief, "brief", false, "leave out the parameters, which end the report")
}

// onceFlag is a text that may be given once, so that nothing is left out without a word.
type onceFlag struct {
	to    *string
	given bool
}

func (f *onceFlag) String() string {
	if f.to == nil {
		return ""
	}
	return *f.to
}

// onceType is the type of a onceFlag, by which its refusal is worded.
const onceType = "text, once"

// Type is its type.
func (f *onceFlag) Type() string { return onceType }

// Set takes the text, and refuses a second one.
func (f *onceFlag) Set(s string) error {
	if f.given {
		return errors.New("it is given already")
	}
	*f.to, f.given = s, true
	return nil
}

// check refuses before the run what names nothing in any run.
func (d *details) check() error {
	if d.explain == "" && !d.changed("explain") {
		return nil
	}
	if err := report.CheckSelect(d.explain); err != nil {
		return fmt.Errorf("--explain %w", err)
	}
	return nil
}

// checkNames refuses before the run what names nothing in its scenario.
func (d *details) checkNames(v *scenario.Valid) error {
	if d.explain == "" {
		return nil
	}
	if err := namesOf(v).Check(d.explain); err != nil {
		return &status{exitUser, fmt.Errorf("--explain %w", err)}
	}
	return nil
}

// namesOf are what a scenario has that can be explained.
func namesOf(v *scenario.Valid) *report.Names {
	plan := v.Plan
	n := &report.Names{Messages: plan.Len()}
	seen := map[string]bool{}
	for i := range plan.Series {
		if w := plan.EntryName(plan.Series[i].Conn); !seen[w] {
			seen[w] = true
			n.Workloads = append(n.Workloads, w)
		}
	}
	for i := range plan.Collectives {
		n.Collectives = append(n.Collectives, plan.Entries[plan.Collectives[i].Entry])
	}
	n.Pairs = func(yield func(from, to string) bool) {
		for i := range plan.Series {
			m := &plan.Series[i]
			from, to := v.EndNames(&plan.Conns[m.Conn])
			if m.Back != (m.Verb == workload.Read) {
				from, to = to, from
			}
			if !yield(from, to) {
				return
			}
		}
	}
	return n
}

// print writes the report to standard output, or if it is to be quiet only what was asked
// for beside it. What names nothing in the run is an error, and nothing is printed.
func (d *details) print(c *cobra.Command, r *record.Run, verbose, quiet bool) error {
	opt := textOptions(c)
	opt.Verbose, opt.Brief, opt.Mechanisms = verbose, d.brief, d.mechanisms
	if d.explain != "" {
		s, err := report.Select(r, d.explain)
		if err != nil {
			return &status{exitUser, fmt.Errorf("--explain %w", err)}
		}
		opt.Explain = s
	}
	write := report.Text
	if quiet {
		write = report.Details
	}
	if err := write(c.OutOrStdout(), r, opt); err != nil {
		return failure(err)
	}
	return nil
}
