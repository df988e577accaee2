package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/page"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// reportFlags are the flags of hopscope report.
type reportFlags struct {
	details
	pictures pictures
	counters string
	perfetto string
	metrics  openMetrics
	verbose  bool
}

func newReport() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Print the report of a run directory that run --out wrote",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("report needs one run directory, not %d", len(args))
			}
			if err := f.checkTargets(); err != nil {
				return err
			}
			meter := newMeter(c.ErrOrStderr(), false)
			r, meta, err := report.Load(args[0], report.Reading{Workers: runtime.GOMAXPROCS(0), Progress: meter.read})
			meter.clear()
			if err != nil {
				return err
			}
			return f.write(c, r, meta)
		},
	}
	c.Flags().SortFlags = false
	f.details.flags(c.Flags())
	f.pictures.flags(c.Flags(), "the run")
	c.Flags().StringVar(&f.counters, "counters", "", countersText)
	c.Flags().StringVar(&f.perfetto, "perfetto", "", perfettoText)
	c.Flags().StringVar(&f.metrics.file, "openmetrics", "", openmetricsText)
	addLang(c.Flags())
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print every message, port and parameter with its source")
	return c
}

// checkTargets refuses what could not be written.
func (f *reportFlags) checkTargets() error {
	single := []output{{"--html", f.pictures.html, nil}, {"--perfetto", f.perfetto, nil},
		{"--openmetrics", f.metrics.file, nil}}
	dirs := []output{{"--svg", f.pictures.svg, []string{"*.svg"}}, {"--counters", f.counters, []string{"*.txt"}}}
	for _, err := range []error{f.details.check(), checkApart(single, dirs...), f.pictures.check(),
		checkDir("--counters", f.counters), checkBinary("--perfetto", f.perfetto),
		checkFile("--openmetrics", f.metrics.file)} {
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes a run to everything that was asked for.
func (f *reportFlags) write(c *cobra.Command, r *record.Run, meta *report.Meta) error {
	if f.pictures.wanted() {
		made := page.Run(r, page.Meta{Program: "hopscope " + version(), Scenario: meta.Source})
		if err := f.pictures.write(c, made); err != nil {
			return failure(err)
		}
	}
	if f.counters != "" {
		if err := writeCounters(f.counters, r); err != nil {
			return failure(err)
		}
	}
	if f.perfetto != "" {
		if err := writePerfetto(c, f.perfetto, r, false); err != nil {
			return failure(err)
		}
	}
	if f.metrics.file != "" {
		f.metrics.begin(units.Microsecond)
		if err := f.metrics.write(c, r, false); err != nil {
			return failure(err)
		}
	}
	if f.pictures.html == "-" || f.metrics.file == "-" {
		return nil
	}
	return f.details.print(c, r, f.verbose, false)
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
	opt.Lang = language(c)
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
