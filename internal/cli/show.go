package cli

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/spf13/cobra"
)

func newShow() *cobra.Command {
	var json string
	c := &cobra.Command{
		Use:   "show [STACK|PRESET|KEY|SCENARIO]",
		Short: "Print every parameter of a stack, preset or scenario with its source, or what a key of scenarios means; without a name, list stacks and presets",
		Example: "  hopscope show\n" +
			"  hopscope show rocev2\n" +
			"  hopscope show switch.pfc.alpha\n" +
			"  hopscope show incast-4to1\n" +
			"  hopscope show dcqcn.ns3 --json -",
		RunE: func(c *cobra.Command, args []string) error { return runShow(c, args, json) },
	}
	c.Flags().StringVar(&json, "json", "", "write as JSON to `FILE` (-: to standard output, instead of the text)")
	return c
}

func runShow(c *cobra.Command, args []string, json string) error {
	if len(args) > 1 {
		return fmt.Errorf("show takes one stack or preset, not %d; hopscope show lists them", len(args))
	}
	if err := checkJSON(json); err != nil {
		return err
	}
	found := scenario.Sheets()
	if len(args) == 1 {
		var err error
		if found, err = scenario.Show(args[0]); err != nil {
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
