package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/importers"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/spf13/pflag"
)

// input is what a command reads: a scenario, or files of other simulators in
// its place.
type input struct {
	files map[string]*string // of other simulators by flag
	set   []string
	known scenario.Known // what scenarios may name beside what the program has
}

// foreign adds the flags that name files of other simulators.
func (in *input) foreign(flags *pflag.FlagSet, p Pipeline) {
	in.known = p.Known
	in.files = map[string]*string{}
	for _, i := range importers.All() {
		for _, f := range i.Flags {
			in.files[f.Name] = flags.String(f.Name, "", f.Text)
		}
	}
}

// given are the files of other simulators that are named, by flag.
func (in *input) given() map[string]string {
	given := map[string]string{}
	for _, i := range importers.All() {
		for _, f := range i.Flags {
			if name := in.files[f.Name]; name != nil && *name != "" {
				given[f.Name] = *name
			}
		}
	}
	return given
}

// changes adds --set.
func (in *input) changes(flags *pflag.FlagSet, p Pipeline) {
	in.known = p.Known
	flags.StringArrayVar(&in.set, "set", nil, "set a scenario value, `key=value`: topology.star.hosts=9; may be repeated")
}

// isForeign reports whether files of another simulator are named.
func (in *input) isForeign() bool { return len(in.given()) > 0 }

// options checks that exactly one thing to read is named.
func (in *input) options(command string, args []string) (run.Options, error) {
	opt := run.Options{Files: in.given(), Set: in.set, Known: in.known}
	if in.isForeign() {
		if err := importers.Check(opt.Files); err != nil {
			return opt, err
		}
	}
	switch {
	case len(args) > 1:
		return opt, fmt.Errorf("%s takes one scenario, not %d (%s)", command, len(args), strings.Join(args, ", "))
	case len(args) == 1 && in.isForeign():
		return opt, fmt.Errorf("give either a scenario (%s) or %s, not both", args[0], importers.Given(opt.Files))
	case len(args) == 0 && !in.isForeign():
		return opt, fmt.Errorf("%s needs a scenario: a file (-: standard input), a name that hopscope scenarios lists, %s", command, importers.Usage())
	case len(args) == 1:
		opt.Scenario = args[0]
	}
	if opt.Scenario == "-" {
		var err error
		if opt.Text, err = readStandard(os.Stdin); err != nil {
			return opt, err
		}
		opt.Scenario = "stdin"
	}
	return opt, checkSet(in.set)
}

// maxScenario bounds a scenario in bytes.
const maxScenario = 16 << 20

// readStandard reads a scenario from standard input.
func readStandard(from io.Reader) ([]byte, error) {
	text, err := files.ReadFrom(from, maxScenario)
	var long *files.TooLongError
	switch {
	case errors.As(err, &long):
		return nil, fmt.Errorf("standard input is longer than %d MiB; no scenario is", maxScenario>>20)
	case err != nil:
		return nil, fmt.Errorf("standard input cannot be read: %w", cause(err))
	case len(text) == 0:
		return nil, errors.New("standard input is empty; it needs to hold a scenario")
	}
	return text, nil
}
