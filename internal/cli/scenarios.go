package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/spf13/cobra"
)

func newScenarios(p Pipeline) *cobra.Command {
	var symptom string
	c := &cobra.Command{
		Use:   "scenarios",
		Short: "List the shipped scenarios",
		Args:  noArgument,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("symptom") {
				return findSymptom(c, p, symptom)
			}
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
	c.Flags().StringVar(&symptom, "symptom", "",
		`list what may look like "WORDS" on your machines, such as "low busbw", with the reason in each scenario`)
	complete(c, "symptom", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return matching(typed, scenario.Symptoms(p.List())), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

// findSymptom prints the scenarios that show what the words say.
func findSymptom(c *cobra.Command, p Pipeline, words string) error {
	list := p.List()
	found := scenario.FindSymptom(list, words)
	if len(found) == 0 {
		near := scenario.NearSymptoms(list, words)
		if len(near) == 0 {
			return fmt.Errorf("no scenario shows the symptom %q, or one like it; hopscope scenarios lists them all", words)
		}
		return fmt.Errorf("no scenario shows the symptom %q; the nearest known: %s", words, strings.Join(near, ", "))
	}
	rows := make([][3]string, len(found))
	for i, f := range found {
		rows[i] = [3]string{f.Scenario, f.Name, f.Reason}
	}
	return failure(report.Symptoms(c.OutOrStdout(), rows, textOptions(c)))
}
