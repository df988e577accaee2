package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/visible"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/spf13/cobra"
)

func newCheck(p Pipeline) *cobra.Command {
	var in input
	c := &cobra.Command{
		Use:   "check SCENARIO|FILE",
		Short: "Read a scenario without running it and say what it amounts to",
		Long: "check reads a scenario as run would. It prints one line that begins with ok and a\n" +
			"line per warning, or a line for each thing that is wrong, with its place and what would\n" +
			"be right; the exit status is then 2.",
		RunE: func(c *cobra.Command, args []string) error {
			opt, err := in.options("check", args)
			if err != nil {
				return err
			}
			v, err := run.Load(opt)
			if err != nil && !in.isForeign() {
				all := scenario.Source{Name: opt.Scenario, Text: opt.Text, Set: opt.Set, Seed: opt.Seed, Known: opt.Known}.Errors()
				for i := 0; i+1 < len(all); i++ {
					say(c.ErrOrStderr(), all[i])
				}
				if len(all) > 0 {
					return all[len(all)-1]
				}
			}
			if err != nil {
				return err
			}
			return failure(printCheck(c.OutOrStdout(), v))
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	in.changes(flags, p)
	in.foreign(flags, p)
	return c
}

// printCheck sums a scenario up.
func printCheck(w io.Writer, v *scenario.Valid) error {
	hosts, bytes := 0, int64(0)
	for i := range v.Graph.Nodes {
		if v.Graph.Nodes[i].Kind == topology.Host {
			hosts++
		}
	}
	for i := range v.Plan.Series {
		bytes += int64(v.Plan.Series[i].Bytes) * int64(v.Plan.Series[i].Count)
	}
	_, err := fmt.Fprintf(w, "ok: %s: %s, %s, %s; %s, %s; %s\n", oneLine(v.Name), many(hosts, "host", "s"),
		many(len(v.Graph.Nodes)-hosts, "switch", "es"), many(len(v.Graph.Links), "link", "s"),
		many(v.Plan.Len(), "message", "s"), metrics.FormatBytes(bytes), many(len(v.Warnings), "warning", "s"))
	for _, j := range v.Plan.Jobs {
		if err == nil {
			_, err = fmt.Fprintln(w, jobLine(v, j))
		}
	}
	for _, text := range v.Warnings {
		if err == nil {
			_, err = fmt.Fprintln(w, "warning: "+oneLine(text))
		}
	}
	return err
}

// jobLine says how much a job has its ranks do.
func jobLine(v *scenario.Valid, j *workload.Job) string {
	operations, calls := 0, 0
	for _, l := range j.List {
		operations += len(j.Lists[l].Ops) * j.Steps
	}
	for _, p := range v.Plan.Programs {
		if p.Entry == j.Entry {
			calls += p.Iterations
		}
	}
	return fmt.Sprintf("job: %s: %s, %s, %s, %s", oneLine(v.Plan.Entries[j.Entry]), many(len(j.Ranks), "rank", "s"),
		many(j.Steps, "step", "s"), many(operations, "operation", "s"), many(calls, "call", "s"))
}

// many counts things in words: "1 host", "1,024 hosts", "no warnings".
func many(n int, what, plural string) string {
	switch n {
	case 0:
		return "no " + what + plural
	case 1:
		return "1 " + what
	}
	return metrics.FormatCount(int64(n)) + " " + what + plural
}

// excerpt shows the line that an error points at with a mark below, or nothing
// when it points at none.
func excerpt(e *scenario.Error) string {
	line, ok := scenario.SourceLine(e)
	if !ok {
		return ""
	}
	const before, width = 60, 100
	from := max(0, e.Col-1-before) // a long line is cut on both sides
	mark := min(max(e.Col-1-from, 0), len(line)-min(from, len(line)))
	shown := strings.ReplaceAll(line[min(from, len(line)):], "\t", " ")
	shown = shown[:min(len(shown), width)]
	number := fmt.Sprintf("%5d | ", e.Line)
	indent := strings.Repeat(" ", visible.Width(visible.Text(shown[:min(mark, len(shown))])))
	return number + visible.Text(shown) + "\n" + strings.Repeat(" ", len(number)-2) + "| " + indent + "^\n"
}
