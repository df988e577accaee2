package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func newScenarios(p Pipeline) *cobra.Command {
	return &cobra.Command{
		Use:   "scenarios",
		Short: "List the shipped scenarios",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var rows [][2]string
			for _, s := range p.List() {
				rows = append(rows, [2]string{s.Name, oneLine(s.Description)})
			}
			width := textOptions(c).Width
			if width == 0 {
				width = maxWidth
			}
			var b strings.Builder
			twoColumns(&b, rows, 0, width)
			_, err := io.WriteString(c.OutOrStdout(), b.String())
			return failure(err)
		},
	}
}
