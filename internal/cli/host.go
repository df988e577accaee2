package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/spf13/cobra"
)

// hostFlags are the flags of hopscope host.
type hostFlags struct {
	json    string
	acs     bool
	matrix  bool
	verbose bool
}

func newHost() *cobra.Command {
	var f hostFlags
	c := &cobra.Command{
		Use:   "host FILE|PRESET",
		Short: "Draw the inside of a server and predict what its paths allow",
		Long: "host reads a server's topology as NCCL or RCCL writes it (NCCL_TOPO_DUMP_FILE),\n" +
			"output of nvidia-smi topo -m, or a preset (" + strings.Join(server.Presets(), ", ") + ").\n" +
			"It prints the tree, the class of every GPU with every network card, which card\n" +
			"each GPU should use, and rate and latency of GPUDirect with what sets them.",
		Example: "  hopscope host dgx-h100\n" +
			"  hopscope host topo.xml --acs\n" +
			"  nvidia-smi topo -m | hopscope host -",
		RunE: f.run,
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.acs, "acs", false, "let ACS redirect what devices send each other to the root complex")
	flags.BoolVar(&f.matrix, "matrix", false, "print the matrix of classes as nvidia-smi topo -m does instead")
	flags.StringVar(&f.json, "json", "", "write as JSON to `FILE` (-: to standard output, instead of the text)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print every way, hop by hop, and every parameter with its source")
	return c
}

func (f *hostFlags) run(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("host takes one file or preset, not %d; the presets are %s", len(args), strings.Join(server.Presets(), ", "))
	}
	if err := checkJSON(f.json); err != nil {
		return err
	}
	if f.matrix && f.json == "-" {
		return errors.New("--matrix and --json - both write to standard output; give --json a file, or leave out --matrix")
	}
	tree, err := readServer(args[0])
	if err != nil {
		return err
	}
	tree.ACS = tree.ACS || f.acs
	h := report.NewHost(tree.Name, tree)
	if f.json != "" {
		data, err := h.JSON()
		if err == nil {
			err = putJSON(c, f.json, data)
		}
		if err != nil || f.json == "-" {
			return failure(err)
		}
	}
	if f.matrix {
		var b strings.Builder
		tree.Matrix().Write(&b)
		_, err := io.WriteString(c.OutOrStdout(), b.String())
		return failure(err)
	}
	opt := textOptions(c)
	opt.Verbose = f.verbose
	return failure(h.Text(c.OutOrStdout(), opt))
}

// maxServer bounds a file that describes a server, in bytes.
const maxServer = 16 << 20

// readServer reads a server from a preset, a file, or standard input.
func readServer(name string) (*server.Tree, error) {
	if slices.Contains(server.Presets(), name) {
		return server.Preset(name)
	}
	var text []byte
	var err error
	if name == "-" {
		name = "stdin"
		text, err = files.ReadFrom(os.Stdin, maxServer)
	} else {
		text, err = files.Read(name, maxServer)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is neither a preset nor a file that can be read (%w); %s", name, cause(err), oneOf(name, server.Presets()))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; name a server's topology", name, cause(err))
	}
	tree, err := server.Read(name, text)
	if err != nil {
		other := foreign.Instead(text, "a server's topology", foreign.NCCLTopology, foreign.NVIDIAMatrix)
		if other != "" {
			return nil, &scenario.Error{File: name, Msg: other}
		}
	}
	var at *server.Error
	if errors.As(err, &at) {
		return nil, &scenario.Error{File: name, Line: at.Line, Col: at.Col, Msg: at.Msg}
	}
	return tree, err
}

// cause is what the system says is wrong, without the name of the file.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
