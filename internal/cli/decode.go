package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hopscope/hopscope/internal/decode"
	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/pcap"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/spf13/cobra"
)

// decodeFlags are the flags of hopscope decode.
type decodeFlags struct {
	rate, json     string
	verbose, quiet bool
}

func newDecode() *cobra.Command {
	var f decodeFlags
	c := &cobra.Command{
		Use:   "decode FILE",
		Short: "Say what a capture of RDMA or TCP traffic shows, in the words of a run's report",
		Long: "decode reads a capture (pcap, pcapng, either packed with gzip; -: standard input) and\n" +
			"answers the six questions as far as packets do: retransmissions and what they follow,\n" +
			"NAKs, RNR NAKs, CNPs, marks, pauses, reordering, message times and goodput of every\n" +
			"queue pair. What a capture cannot show it says.",
		Example: "  hopscope decode roce.pcap\n" +
			"  hopscope decode both-ends.pcapng.gz --json capture.json\n" +
			"  tcpdump -i eth0 -w - 'udp port 4791' | hopscope decode -",
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.rate, "rate", "", "`RATE` of the captured links, such as 400Gbps, which tells when pauses ran out")
	flags.StringVar(&f.json, "json", "", "write as JSON to `FILE` (-: to standard output, instead of the text)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "list every queue pair, message and connection")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return c
}

func (f *decodeFlags) run(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("decode takes one capture, not %d, such as: hopscope decode roce.pcap", len(args))
	}
	if err := checkJSON(f.json); err != nil {
		return err
	}
	if sameFile(f.json, args[0]) {
		return fmt.Errorf("--json %s: would replace the capture; name another file", f.json)
	}
	var opt decode.Options
	if f.rate != "" {
		r, err := units.ParseRate(f.rate)
		if err != nil || r <= 0 {
			return fmt.Errorf("--rate %s: give a rate above 0, such as 400Gbps", f.rate)
		}
		opt.Rate = r
	}
	r, err := f.read(c, args[0], opt)
	if err != nil {
		return err
	}
	d := report.NewDecoded(args[0], r)
	if f.json != "" {
		if err := putTo(c, f.json, d.WriteJSON); err != nil || f.json == "-" {
			return failure(err)
		}
	}
	text := textOptions(c)
	text.Verbose = f.verbose
	return failure(d.Text(c.OutOrStdout(), text))
}

// captureHead is how much is looked at of a file that is no capture, to say what it is.
const captureHead = 64 << 10

// read reads the capture.
func (f *decodeFlags) read(c *cobra.Command, name string, opt decode.Options) (*decode.Result, error) {
	from := os.Stdin
	if name != "-" {
		var err error
		if from, err = os.Open(name); err != nil {
			return nil, fmt.Errorf("%s: cannot be read: %w; name a capture", name, files.Reason(err))
		}
		defer from.Close()
	}
	buffered := bufio.NewReaderSize(from, captureHead)
	head, err := buffered.Peek(captureHead)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: cannot be read: %w; name a capture", name, files.Reason(err))
	}
	in, err := pcap.Open(buffered)
	if other := foreign.Instead(head, "a capture (pcap, pcapng)", foreign.Capture, foreign.Compressed,
		foreign.Binary); err != nil && other != "" {
		return nil, fmt.Errorf("%s: %s", name, other)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	meter := newMeter(c.ErrOrStderr(), f.quiet)
	d, err := decode.Read(in, opt, meter.packets)
	meter.clear()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, files.Reason(err))
	}
	if d.Nothing() != "" {
		return nil, fmt.Errorf("%s: %s", name, d.Nothing())
	}
	return d.Result(), nil
}

// packets shows how far a capture is read.
func (m *meter) packets(n int64) {
	m.draw(func(time.Duration) string { return metrics.FormatCount(n) + " packets read" })
}
