package cli

import (
	"errors"
	"fmt"

	"github.com/hopscope/hopscope/internal/report"
	"github.com/spf13/cobra"
)

func newShow(p Pipeline) *cobra.Command {
	var json string
	var in input
	c := &cobra.Command{
		Use:   "show [STACK|PRESET|KEY|SCENARIO]",
		Short: "Print every parameter of a stack, preset or scenario with its source, or what a key of scenarios means; without a name, list stacks and presets",
		Example: "  hopscope show\n" +
			"  hopscope show rocev2\n" +
			"  hopscope show switch.pfc.alpha\n" +
			"  hopscope show incast-4to1\n" +
			"  hopscope show incast-4to1 --set topology.star.hosts=17 --set switch.memory=spectrum4\n" +
			"  hopscope show dcqcn.ns3 --json -",
		RunE: func(c *cobra.Command, args []string) error { return runShow(c, args, in, json) },
	}
	in.changes(c.Flags(), p)
	addLang(c.Flags())
	c.Flags().StringVar(&json, "json", "", "write as JSON to `FILE` (-: to standard output, instead of the text)")
	return c
}

func runShow(c *cobra.Command, args []string, in input, json string) error {
	set := in.set
	if len(args) > 1 {
		return fmt.Errorf("show takes one stack or preset, not %d; hopscope show lists them", len(args))
	}
	if err := errors.Join(checkJSON(json), checkSet(set)); err != nil {
		return err
	}
	if len(set) > 0 && len(args) == 0 {
		return errors.New("--set changes a scenario, and none is named: hopscope show SCENARIO --set key=value")
	}
	found := in.known.Sheets()
	if len(args) == 1 {
		var err error
		if found, err = in.known.Show(args[0], set); err != nil {
			return err
		}
	}
	sheets := make([]report.Sheet, len(found))
	for i, s := range found {
		sheets[i] = report.Sheet(s)
	}
	if json != "" {
		data, err := report.SheetsJSON(sheets)
		if err == nil {
			err = putJSON(c, json, data)
		}
		if err != nil || json == "-" {
			return failure(err)
		}
	}
	if len(args) == 0 {
		return failure(report.SheetNames(c.OutOrStdout(), sheets, textOptions(c)))
	}
	return failure(report.Sheets(c.OutOrStdout(), sheets, textOptions(c)))
}
