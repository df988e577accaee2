package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/page"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func newReport() *cobra.Command {
	var verbose bool
	var d details
	var pics pictures
	var countersDir, perfettoFile string
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Print the report of a run directory that run --out wrote",
		Long: "The same bytes as run printed, if it is given the same of the flags below: a run directory keeps\n" +
			"the run, not how it was looked at.",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("report needs one run directory, not %d", len(args))
			}
			if err := d.check(); err != nil {
				return err
			}
			if err := pics.check(); err != nil {
				return err
			}
			if err := checkDir("--counters", countersDir); err != nil {
				return err
			}
			if err := checkBinary("--perfetto", perfettoFile); err != nil {
				return err
			}
			meter := newMeter(c.ErrOrStderr(), false)
			r, meta, err := report.Load(args[0], report.Reading{Workers: runtime.GOMAXPROCS(0), Progress: meter.read})
			meter.clear()
			if err != nil {
				return err
			}
			if pics.wanted() {
				made := page.Run(r, page.Meta{Program: "hopscope " + version(), Scenario: meta.Source})
				if err := pics.write(c, made); err != nil {
					return failure(err)
				}
			}
			if countersDir != "" {
				if err := writeCounters(countersDir, r); err != nil {
					return failure(err)
				}
			}
			if perfettoFile != "" {
				if err := writePerfetto(c, perfettoFile, r, false); err != nil {
					return failure(err)
				}
			}
			if pics.html == "-" {
				return nil
			}
			return d.print(c, r, verbose, false)
		},
	}
	c.Flags().SortFlags = false
	d.flags(c.Flags())
	pics.flags(c.Flags(), "the run")
	c.Flags().StringVar(&countersDir, "counters", "", countersText)
	c.Flags().StringVar(&perfettoFile, "perfetto", "", perfettoText)
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "print every message, port and parameter with its source")
	return c
}

// maxWidth is the widest text that still reads well.
const maxWidth = 120

// textOptions are the width and colour that standard output asks for: as wide as the
// terminal.
func textOptions(c *cobra.Command) (opt report.TextOptions) {
	out := c.OutOrStdout()
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		opt.Width = min(w, maxWidth) // a terminal knows better
	}
	fd, ok := terminal(out)
	opt.Colour = coloured(c, ok)
	if ok {
		opt.Unicode = utf8Locale()
		if w, _, err := term.GetSize(fd); err == nil && w > 0 {
			opt.Width = min(w, maxWidth)
		}
	}
	return opt
}

// utf8Locale reports whether the locale's character encoding is UTF-8: the first of
// these variables that is set decides (POSIX, base definitions 8.2).
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(os.Getenv(name)); v != "" {
			return strings.HasSuffix(v, "utf-8") || strings.HasSuffix(v, "utf8")
		}
	}
	return false
}

// terminal returns the file descriptor of w when it is a terminal.
func terminal(w io.Writer) (fd int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	return int(f.Fd()), true
}
