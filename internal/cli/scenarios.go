package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newScenarios(p Pipeline) *cobra.Command {
	return &cobra.Command{
		Use:   "scenarios",
		Short: "List the shipped scenarios",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list := p.List()
			width := 0
			for _, s := range list {
				width = max(width, len(s.Name))
			}
			for _, s := range list {
				if _, err := fmt.Fprintf(c.OutOrStdout(), "%-*s  %s\n", width, s.Name, oneLine(s.Description)); err != nil {
					return failure(err)
				}
			}
			return nil
		},
	}
}
