package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/spf13/pflag"
)

// input is what a command reads: a scenario, or files of other simulators in
// its place.
type input struct {
	ns3, topo, cm string
	set           []string
}

// foreign adds the flags that name files of other simulators.
func (in *input) foreign(flags *pflag.FlagSet) {
	flags.StringVar(&in.ns3, "ns3", "", "an ns-3 RDMA simulator's `CONFIG` instead of a scenario")
	flags.StringVar(&in.topo, "topo", "", "htsim's topology `FILE` instead of a scenario; with --cm")
	flags.StringVar(&in.cm, "cm", "", "htsim's connection matrix `FILE`; with --topo")
}

// changes adds --set.
func (in *input) changes(flags *pflag.FlagSet) {
	flags.StringArrayVar(&in.set, "set", nil, "set a scenario value, `key=value`: topology.star.hosts=9; may be repeated")
}

// isForeign reports whether files of another simulator are named.
func (in *input) isForeign() bool { return in.ns3 != "" || in.topo != "" || in.cm != "" }

// options checks that exactly one thing to read is named.
func (in *input) options(command string, args []string) (run.Options, error) {
	opt := run.Options{NS3: in.ns3, Topo: in.topo, CM: in.cm, Set: in.set}
	switch {
	case in.ns3 != "" && (in.topo != "" || in.cm != ""):
		return opt, errors.New("give --ns3 or --topo and --cm, not both")
	case in.topo != "" && in.cm == "":
		return opt, errors.New("--topo needs --cm FILE, htsim's connection matrix")
	case in.cm != "" && in.topo == "":
		return opt, errors.New("--cm needs --topo FILE, htsim's topology")
	case len(args) > 1:
		return opt, fmt.Errorf("%s takes one scenario, not %d (%s)", command, len(args), strings.Join(args, ", "))
	case len(args) == 1 && in.isForeign():
		return opt, fmt.Errorf("give either a scenario (%s) or %s, not both", args[0], in.given())
	case len(args) == 0 && !in.isForeign():
		return opt, fmt.Errorf("%s needs a scenario: a file (-: standard input), a name that hopscope scenarios lists, --ns3 CONFIG, or --topo FILE --cm FILE", command)
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

// given repeats the flags that name foreign files.
func (in *input) given() string {
	if in.ns3 != "" {
		return "--ns3 " + in.ns3
	}
	return "--topo " + in.topo + " --cm " + in.cm
}
