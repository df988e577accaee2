package cli

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
)

// colourFlag is the value of --color.
type colourFlag string

const (
	colourAuto   colourFlag = "auto"
	colourAlways colourFlag = "always"
	colourNever  colourFlag = "never"
)

// String, Set and Type make it a pflag.Value.
func (f *colourFlag) String() string { return string(*f) }
func (f *colourFlag) Type() string   { return "when" }
func (f *colourFlag) Set(s string) error {
	if !slices.Contains([]colourFlag{colourAuto, colourAlways, colourNever}, colourFlag(s)) {
		return fmt.Errorf("give %s, %s or %s", colourAuto, colourAlways, colourNever)
	}
	*f = colourFlag(s)
	return nil
}

// coloured reports whether the text of c is to have colour: as --color says, else on a
// terminal that has it unless NO_COLOR is set (https://no-color.org).
func coloured(c *cobra.Command, onTerminal bool) bool {
	when := colourAuto
	if f := c.Flag("color"); f != nil {
		when = colourFlag(f.Value.String())
	}
	switch when {
	case colourAlways:
		return true
	case colourNever:
		return false
	}
	return onTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
