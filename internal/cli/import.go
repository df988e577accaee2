package cli

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/importers"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/spf13/cobra"
)

func newImport(p Pipeline) *cobra.Command {
	var in input
	var out string
	c := &cobra.Command{
		Use:   "import",
		Short: "Turn files of other simulators into a scenario that runs the same",
		Example: "  hopscope import --ns3 mix/config.txt > scenario.yaml\n" +
			"  hopscope import --topo net.topo --cm load.cm -o scenario.yaml",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 || !in.isForeign() {
				return fmt.Errorf("import needs %s, and nothing else", importers.Usage())
			}
			opt, err := in.options("import", args)
			if err != nil {
				return err
			}
			if err := checkFile("-o", out); err != nil {
				return err
			}
			v, err := run.Load(opt)
			if err != nil {
				return err
			}
			if out == "" || out == "-" {
				_, err := c.OutOrStdout().Write(v.Source)
				return failure(err)
			}
			return failure(files.Put(out, v.Source))
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	in.foreign(flags, p)
	in.changes(flags, p)
	flags.StringVarP(&out, "output", "o", "", "write the scenario to `FILE` (-, and without it: to standard output)")
	return c
}
