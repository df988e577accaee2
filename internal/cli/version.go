package cli

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgument,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), "hopscope "+version())
			return failure(err)
		},
	}
}

// version is the module's version as the go command recorded it, with the
// commit if it built from a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			v += " " + s.Value[:12]
		}
	}
	return v
}

// identity is the version, and of a program that was built from a tree with changes, or from none, also a hash of
// itself: results of equal identities come from the same code.
func identity() string {
	v := version()
	if !strings.Contains(v, "dirty") && !strings.Contains(v, "devel") {
		return v
	}
	path, err := os.Executable()
	if err != nil {
		return v
	}
	f, err := os.Open(path)
	if err != nil {
		return v
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return v
	}
	return fmt.Sprintf("%s program %x", v, h.Sum(nil)[:6])
}
