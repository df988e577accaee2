package fidelity

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// latency is a figure that perftest printed.
type latency struct {
	file   string
	bytes  int
	inline bool
	us     float64
	other  []string // than in the file: old, new, old, new, ..
	of     string
	source string
}

// cards, case F31: latencies that perftest printed, by generation of card. None of the
// constants behind them is a whole latency: doorbell, reads over PCIe, wire and switches have
// sources of their own, and what they leave of the published figures is the cards' pipelines.
// The thesis had no part in that.
func (c *checker) cards() {
	const (
		azure  = "ib_send_lat, ConnectX-6 HDR, Azure HB120rs_v3, through the cloud's switches, of which three are assumed"
		thesis = "ib_send_lat, D. Potter, master's thesis, table of MTUs: neither card nor rate are named, the slope is that of 100 Gb/s; not used for any constant"
		rocm   = "ib_send_lat, ConnectX-5 EDR, linux-rdma/perftest pull 98"
	)
	edr := []string{"rate: HDR", "rate: EDR", "connectx-6", "connectx-5"}
	seven := []string{"connectx-6", "connectx-7", "verb: send", "verb: write", "link: HDR", "link: NDR"}
	for _, l := range append([]latency{
		{"f31-direct", 2, true, 1.00, nil, "ConnectX-6, SEND", "a log of ib_send_lat between two mlx5 cards, MTU 4096"},
		{"f31-direct", 2, true, 1.47, seven, "ConnectX-7, WRITE", "ib_write_lat between two DGX Spark"},
		{"f31-cloud", 2, true, 2.68, append(seven, "workload:", "server: dgx-b200\nworkload:"), "ConnectX-7 in two HGX B200, WRITE", "ib_write_lat, public report of a cluster test, 2026-05-18; its switches, of which three are assumed"},
		{"f31-switch", 32, false, 2.0, nil, "ConnectX-5 through one switch, READ", "eRPC, NSDI 2019"},
		{"f31-direct", 32, true, 0.83, edr, "ConnectX-5, SEND", thesis},
		{"f31-direct", 1024, false, 1.60, edr, "ConnectX-5, SEND", thesis},
		{"f31-direct", 4096, false, 2.27, edr, "ConnectX-5, SEND", thesis},
		{"f31-direct", 32768, false, 4.58, edr, "ConnectX-5, SEND", thesis},
		{"f31-gpu", 8, false, 1.72, nil, "ConnectX-5, SEND from GPU to GPU", rocm},
		{"f31-gpu", 4096, false, 2.66, nil, "ConnectX-5, SEND from GPU to GPU", rocm},
		{"f31-gpu", 65536, false, 8.86, nil, "ConnectX-5, SEND from GPU to GPU", rocm},
	}, azureLatencies(azure)...) {
		name := fmt.Sprintf("%s, %d B, us", l.of, l.bytes)
		if l.inline {
			name = fmt.Sprintf("%s, %d B inline, us", l.of, l.bytes)
		}
		c.near(name, l.us, c.latency(&l), 0.15, l.source)
	}
}

// azureLatencies are those of ../shared/data/perftest's kind: of one pair of hosts by size.
func azureLatencies(source string) (all []latency) {
	for _, x := range []struct {
		bytes int
		us    float64
	}{{2, 1.60}, {8, 1.58}, {64, 1.65}, {128, 1.68}, {256, 2.12}, {512, 2.15}, {1024, 2.21}, {2048, 2.34}, {4096, 2.85}, {8192, 3.19}} {
		all = append(all, latency{"f31-cloud", x.bytes, x.bytes <= 220, x.us, nil, "ConnectX-6 through three switches, SEND", source})
	}
	return all
}

// latency is what perftest would print, in us: of a READ until its completion has been polled,
// else until the peer sees what came, as one that polls does after costs.poll.
func (c *checker) latency(l *latency) float64 {
	text, err := files.ReadFile("cases/" + l.file + ".yaml")
	c.must(err)
	changed := strings.NewReplacer(l.other...).Replace(string(text))
	size := fmt.Sprintf("size: %dB", l.bytes)
	if l.inline {
		size += ", inline: true"
	}
	changed = regexp.MustCompile(`size: \d+B`).ReplaceAllString(changed, size)
	f := &c.do(run.Options{Scenario: l.file + ".yaml", Text: []byte(changed)}).Messages[0]
	if f.Verb == "READ" {
		return float64(f.EntryPS) / 1e6
	}
	const poll = 50 * units.Nanosecond
	return float64(f.CompletionPS+poll) / 1e6
}
