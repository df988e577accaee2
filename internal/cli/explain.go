package cli

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// details are the parts of a report that are printed only when asked for.
type details struct {
	explain    string
	mechanisms bool
	changed    func(flag string) bool
}

func (d *details) flags(flags *pflag.FlagSet) {
	d.changed = flags.Changed
	flags.StringVar(&d.explain, "explain", "", "print where the time of a message went; `MESSAGE`: 'h2->h4', its number, or slowest; collective: the critical paths of collectives")
	flags.BoolVar(&d.mechanisms, "mechanisms", false, "print of every mechanism how often it acted, or how near it came and what held it back")
}

// check refuses before the run what names no message in any run.
func (d *details) check() error {
	if d.explain == "" && !d.changed("explain") {
		return nil
	}
	if err := report.CheckFlow(d.explain); err != nil {
		return fmt.Errorf("--explain %w", err)
	}
	return nil
}

// print writes what was asked for to standard output.
func (d *details) print(c *cobra.Command, r *record.Run, verbose bool) error {
	opt := textOptions(c)
	opt.Verbose = verbose
	if d.mechanisms {
		if err := report.Mechanisms(c.OutOrStdout(), r, opt); err != nil {
			return failure(err)
		}
	}
	if d.explain == "" {
		return nil
	}
	if _, _, err := report.Find(r, d.explain); err != nil {
		return &status{exitUser, fmt.Errorf("--explain %w", err)}
	}
	return failure(report.Explain(c.OutOrStdout(), r, d.explain, opt))
}
