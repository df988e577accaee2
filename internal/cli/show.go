package cli

import (
	"github.com/spf13/cobra"
)

func newShow() *cobra.Command {
	return &cobra.Command{Use: "show", Hidden: true}
}
