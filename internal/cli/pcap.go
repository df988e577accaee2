package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"github.com/hopscope/hopscope/internal/capture"
	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pcapFlags are the flags of hopscope run that write a capture.
type pcapFlags struct {
	file  string
	ports []string
	snap  int
	max   string
}

func (f *pcapFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "pcap", "", "capture frames to `FILE` as pcapng, for Wireshark "+
		"(-: to standard output, instead of the report)")
	flags.Var((*nameList)(&f.ports), "pcap-ports", "where to capture, `LIST` of ports such as sw:5, nodes "+
		"such as leaf1, hosts or all, each with /in or /out for one direction (default hosts)")
	flags.IntVar(&f.snap, "pcap-snaplen", capture.DefaultSnap, "keep the first `BYTES` of each frame")
	flags.StringVar(&f.max, "pcap-max", "", "end the capture at `SIZE`, such as 2GB "+
		"(default: four times what the workload sends once)")
}

// check refuses flags that make no sense, and returns the size given.
func (f *pcapFlags) check(c *cobra.Command) (most units.Bytes, err error) {
	if f.file == "" {
		for _, name := range []string{"pcap-ports", "pcap-snaplen", "pcap-max"} {
			if c.Flags().Changed(name) {
				return 0, fmt.Errorf("--%s is for captures; say where to write one with --pcap FILE", name)
			}
		}
		return 0, nil
	}
	if f.snap < capture.MinSnap || f.snap > capture.MaxSnap {
		return 0, fmt.Errorf("--pcap-snaplen %d: give a number of bytes from %d to %d",
			f.snap, capture.MinSnap, capture.MaxSnap)
	}
	if f.max != "" {
		if most, err = units.ParseBytes(f.max); err != nil {
			return 0, fmt.Errorf("--pcap-max %s: %w", f.max, err)
		}
		if most < minCapture {
			return 0, fmt.Errorf("--pcap-max %s: give at least %v", f.max, units.Bytes(minCapture))
		}
	}
	return most, nil
}

// minCapture is the least --pcap-max: room for a few interfaces and packets.
const minCapture = 10_000

// captured is a capture of a run.
type captured struct {
	*pcapFlags
	most   units.Bytes
	say    io.Writer // nil: nothing
	file   *files.Stream
	stdout *bufio.Writer
	w      *capture.Writer
}

// begin makes the file, and has opt's run write to it; nil without --pcap. discard must be called.
func (f *pcapFlags) begin(c *cobra.Command, quiet bool, opt *run.Options) (*captured, error) {
	most, err := f.check(c)
	if err != nil || f.file == "" {
		return nil, err
	}
	x := &captured{pcapFlags: f, most: most}
	if !quiet {
		x.say = c.ErrOrStderr()
	}
	if f.file == "-" {
		signal.Ignore(syscall.SIGPIPE)
		x.stdout = bufio.NewWriterSize(c.OutOrStdout(), 1<<16)
	} else if x.file, err = files.Create(f.file); err != nil {
		return nil, failure(err)
	}
	if len(f.ports) == 0 {
		f.ports = []string{"hosts"}
	}
	opt.Capture = &run.Capture{Ports: f.ports, Open: x.open}
	return x, nil
}

// open states how large the capture may become, refuses what would be too large, and writes its head.
func (x *captured) open(v *scenario.Valid, taps []capture.Tap) (*capture.Writer, error) {
	limit := capture.LimitOf(v, taps, x.snap, x.most)
	refuse := func(format string, args ...any) (*capture.Writer, error) {
		return nil, &status{exitUser, fmt.Errorf("--pcap "+x.pcapFlags.file+": "+format, args...)}
	}
	if err := limit.Check(taps); err != nil {
		return refuse("%w", err)
	}
	if x.file != nil {
		if free, ok := files.Free(x.pcapFlags.file); ok && limit.Bytes > free {
			return refuse("may grow to %s, and %s are free there; name fewer ports (--pcap-ports), "+
				"or end it earlier with --pcap-max", metrics.FormatBytes(limit.Bytes), metrics.FormatBytes(free))
		}
	}
	x.note("at most %s, %s", metrics.FormatBytes(limit.Bytes), many(len(taps), "interface", "s"))
	if v.Wire.Name == wire.NS3.Name {
		x.note("frames have the headers of RoCEv2, and are longer than those of the ns-3 simulators that the run counts")
	}
	if v.IWARP != nil && !v.Handshake {
		x.note("streams of iWARP are open before the run, without whose start-up Wireshark takes them for plain TCP; " +
			"tcp: {handshake: first-message} has it in the capture")
	}
	var out io.Writer = x.stdout
	if x.file != nil {
		out = x.file
	}
	w, err := capture.New(out, v, taps, capture.Options{Snap: x.snap, Program: "hopscope " + version(), Limit: limit})
	x.w = w
	return w, err
}

func (x *captured) note(format string, args ...any) {
	if x.say != nil {
		fmt.Fprintf(x.say, "capture in %s: "+format+"\n", append([]any{x.pcapFlags.file}, args...)...)
	}
}

// finish ends the file and says what is in it.
func (x *captured) finish() error {
	if x == nil {
		return nil
	}
	err := x.w.Close()
	switch {
	case err != nil:
	case x.file != nil:
		err = x.file.Commit()
	default:
		err = x.stdout.Flush()
	}
	switch {
	case errors.Is(err, syscall.EPIPE):
		return &status{exitPipe, errors.New("standard output was closed before all of the capture was written")}
	case err != nil && x.file == nil:
		return cannotWrite(err)
	case err != nil:
		return err
	}
	x.note("%s packets, %s", metrics.FormatCount(x.w.Frames), metrics.FormatBytes(x.w.Bytes))
	if x.w.Left > 0 {
		x.note("it was full at %s, and %s packets from then on are not in it; give a larger --pcap-max",
			metrics.FormatTime(x.w.LeftAt), metrics.FormatCount(x.w.Left))
	}
	return nil
}

// discard removes a file that was not finished.
func (x *captured) discard() {
	if x != nil && x.file != nil {
		x.file.Discard()
	}
}
