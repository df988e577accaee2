package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/names"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// seriesFlags are the flags of hopscope run that sample quantities over time.
type seriesFlags struct {
	series     []string
	every, dir string
	ports, qps []string
	top        int
}

func (f *seriesFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.series, "series", nil, "sample quantities over time, `LIST` of queue, pause, rate, goodput, window; with --series-out")
	flags.StringVar(&f.dir, "series-out", "", "write the samples to `DIR`, as CSV and as Parquet")
	flags.StringVar(&f.every, "every", "1us", "`TIME` between two samples, of --openmetrics as well")
	flags.Var((*nameList)(&f.ports), "series-ports", "ports to sample, `LIST` such as leaf1:3,leaf2 or all (default: those that queue or pause most)")
	flags.Var((*nameList)(&f.qps), "series-qps", "queue pairs that post to sample, `LIST` such as h2:0,h3 or all (default: those slowed most)")
	flags.IntVar(&f.top, "series-top", 16, "the default keeps at most `N` curves of each quantity")
}

// nameList is a flag of names of nodes, ports or queue pairs with commas between them.
type nameList []string

func (l *nameList) Set(text string) error {
	*l = append(*l, names.List(text)...)
	return nil
}
func (l *nameList) String() string { return strings.Join(*l, ",") }
func (l *nameList) Type() string   { return "list" }

// options checks the flags; nil when no series is wanted.
func (f *seriesFlags) options(c *cobra.Command) (*run.SeriesOptions, error) {
	if len(f.series) == 0 {
		for _, name := range []string{"series-out", "every", "series-ports", "series-qps", "series-top"} {
			if c.Flags().Changed(name) && (name != "every" || !c.Flags().Changed("openmetrics")) {
				if name == "every" {
					return nil, errors.New("--every is for series and metrics; say which series with --series, " +
						"such as --series queue,rate, or give --openmetrics")
				}
				return nil, fmt.Errorf("--%s is for series; say which with --series, such as --series queue,rate", name)
			}
		}
		return nil, nil
	}
	if f.dir == "" {
		return nil, errors.New("--series needs --series-out DIR, the directory to write to")
	}
	opt := &run.SeriesOptions{Ports: f.ports, QPs: f.qps, Top: f.top}
	for _, name := range f.series {
		q := record.Quantity(name)
		if !slices.Contains(record.Quantities[:], q) {
			return nil, fmt.Errorf("--series %s: there is no such quantity; %s", name, oneOf(name, quantityNames()))
		}
		if !slices.Contains(opt.Quantities, q) {
			opt.Quantities = append(opt.Quantities, q)
		}
	}
	every, err := interval(f.every)
	if err != nil {
		return nil, err
	}
	opt.Every = every
	if f.top < 1 {
		return nil, fmt.Errorf("--series-top %d: give at least 1", f.top)
	}
	return opt, nil
}

// interval is the time between two samples.
func interval(text string) (units.Time, error) {
	every, err := units.ParseTime(text)
	if err != nil {
		return 0, fmt.Errorf("--every %s: %w", text, err)
	}
	if every < units.Nanosecond {
		return 0, fmt.Errorf("--every %s: give at least 1ns", text)
	}
	return every, nil
}

func quantityNames() (names []string) {
	for _, q := range record.Quantities {
		names = append(names, string(q))
	}
	return names
}
