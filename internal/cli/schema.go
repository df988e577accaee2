package cli

import (
	"github.com/spf13/cobra"
)

func newSchema(p Pipeline) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of scenario files, for editors that complete and check them",
		Example: "  hopscope schema > hopscope.schema.json\n" +
			"  # first line of a scenario, for the YAML language server:\n" +
			"  # yaml-language-server: $schema=hopscope.schema.json",
		Args: noArgument,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := c.OutOrStdout().Write(p.Known.Schema())
			return failure(err)
		},
	}
}
