package cli

import (
	"fmt"
	"io"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/openmetrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/timeline"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/spf13/cobra"
)

// Outputs of a run over its time, for programs that show such.

const perfettoText = "write the run moment by moment to `FILE`, a trace for ui.perfetto.dev"

// checkBinary refuses a file of a format that is no text and cannot be written there.
func checkBinary(flag, path string) error {
	if path == "-" {
		return fmt.Errorf("%s -: is no text for standard output; name a file", flag)
	}
	return checkFile(flag, path)
}

// writePerfetto writes the timeline of a run, and says what it leaves out.
func writePerfetto(c *cobra.Command, file string, r *record.Run, quiet bool) error {
	var left []string
	err := files.Write(file, func(w io.Writer) (err error) {
		left, err = timeline.Write(w, r)
		return err
	})
	if err != nil {
		return err
	}
	sayLeftOut(c, "--perfetto", left, quiet)
	return nil
}

const openmetricsText = "write counters over time, sampled --every TIME, to `FILE` as OpenMetrics under the names of " +
	"node_exporter and of SONiC's exporters (-: to standard output, instead of the report)"

// openMetrics is the output of counters over time.
type openMetrics struct {
	file     string
	every    units.Time
	recorder *openmetrics.Recorder
}

// options are the snapshots that it needs; nil when it is not wanted.
func (o *openMetrics) options(every string) (*run.SnapshotOptions, error) {
	if o.file == "" {
		return nil, nil
	}
	apart, err := interval(every)
	if err != nil {
		return nil, err
	}
	o.begin(apart)
	return &run.SnapshotOptions{Every: o.every, Take: o.recorder.Take}, nil
}

// begin makes it ready for a run that is sampled so often.
func (o *openMetrics) begin(every units.Time) {
	o.every, o.recorder = every, openmetrics.NewRecorder(every)
}

// write writes the counters of a run, and says what is left out.
func (o *openMetrics) write(c *cobra.Command, r *record.Run, quiet bool) error {
	o.recorder.Finish(r)
	if err := putTo(c, o.file, o.recorder.Write); err != nil {
		return err
	}
	sayLeftOut(c, "--openmetrics", o.recorder.LeftOut(o.every), quiet)
	return nil
}

// mostLeftOut is how many things that were left out are said.
const mostLeftOut = 3

// sayLeftOut says what an output leaves out.
func sayLeftOut(c *cobra.Command, flag string, left []string, quiet bool) {
	if quiet {
		return
	}
	for i, what := range left {
		if i == mostLeftOut && len(left) > mostLeftOut+1 {
			more := many(len(left)-mostLeftOut, "such part", "s")
			fmt.Fprintf(c.ErrOrStderr(), "hopscope: %s leaves out %s more\n", flag, more)
			return
		}
		fmt.Fprintf(c.ErrOrStderr(), "hopscope: %s leaves out %s\n", flag, what)
	}
}
