package report

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// comparisonOf sets hand-made runs side by side; each further seed stretches
// all times and counts of the first.
func comparisonOf(t *testing.T, seeds int) *compare.Comparison {
	t.Helper()
	runs := map[string]func() *record.Run{"rocev2": incast, "rocev2-pfc-only": deadlock, "rocev2-ecn-only": oneFlow, "rocev2-none": errorCompletions}
	c, err := compare.Run(context.Background(), compare.Options{Stacks: []string{"rocev2", "rocev2-pfc-only", "rocev2-ecn-only", "rocev2-none"},
		Seeds: seeds, Workers: 1, Do: func(_ context.Context, j compare.Job) (*record.Run, error) {
			r := runs[j.Stack]()
			r.Scenario, r.Description = "sample", "Runs made by hand, which have nothing in common but that they stand side by side here."
			r.Seed, r.WireOverhead, r.PFCFrame = 1, 20, 64
			if j.Seed != nil {
				r.Seed = *j.Seed
			}
			sendPauses(r)
			stretch(r, int64(r.Seed))
			return r, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sendPauses enters into the ledger the pauses that ports counted.
func sendPauses(r *record.Run) {
	for i := range r.Ports {
		if p := &r.Ports[i]; p.PausesReceived > 0 {
			r.Ledger = append(r.Ledger, record.Entry{Question: catalog.FedBack, Mechanism: catalog.PFCSent, Actor: record.ClassAt(p.Peer.Node, p.Peer.Port, 3, catalog.Ethernet),
				Act: act(p.PausesReceived, 12*units.Microsecond+units.Time(i), 13*units.Microsecond, 0)})
		}
	}
}

func stretch(r *record.Run, by int64) {
	for i := range r.Messages {
		if r.Messages[i].CompletionPS > 0 {
			r.Messages[i].CompletionPS *= units.Time(by)
		}
	}
	for i := range r.Ports {
		r.Ports[i].PeakQueueBytes *= by
		r.Ports[i].HeldPS *= units.Time(by)
		r.Ports[i].Dropped *= by
	}
	for i := range r.Ledger {
		r.Ledger[i].Count *= by
		r.Ledger[i].Sum *= by
	}
	if by > 2 && r.Stopped == "quiescence" {
		r.Stopped = "stop time"
	}
}

func renderCompare(t *testing.T, c *compare.Comparison, opt TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Compare(&b, c, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCompareGolden(t *testing.T) {
	for _, tt := range []struct {
		name         string
		seeds, width int
	}{{"compare-80", 1, 80}, {"compare-100", 1, 100}, {"compare-120", 1, 0}, {"compare-seeds-120", 3, 120}, {"compare-seeds-80", 3, 80}} {
		t.Run(tt.name, func(t *testing.T) {
			got := renderCompare(t, comparisonOf(t, tt.seeds), TextOptions{Width: tt.width})
			path := filepath.Join("testdata", tt.name+".txt")
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("differs from %s:\n%s", path, got)
			}
			for _, line := range strings.Split(got, "\n") {
				if n, most := utf8.RuneCountInString(line), max(tt.width, 80); tt.width > 0 && n > most {
					t.Errorf("%d columns, more than %d: %s", n, most, line)
				}
				if strings.HasSuffix(line, " ") {
					t.Errorf("blanks at the end of %q", line)
				}
			}
		})
	}
}

// withInsides gives columns what only hosts with an inside, and collectives, have.
func withInsides(c *compare.Comparison) {
	ratio := func(x float64) compare.Spread[float64] {
		return compare.Spread[float64]{N: 1, Median: x, Min: x, Max: x}
	}
	s := &c.Stacks[1]
	s.AccountOf = "h0/gpu0 -> h4/gpu0"
	s.Account = []metrics.AccountPart{{Part: catalog.PartCopies, PS: 60 * units.Microsecond}, {Part: catalog.PartWire, PS: 5 * units.Microsecond}}
	s.Figures.Inside = &compare.Inside{Staged: compare.Spread[int64]{N: 1, Median: 8e6, Min: 8e6, Max: 8e6}, PCIeRatio: ratio(8), PCIeBytesRatio: ratio(9.1), DRAMRatio: ratio(4)}
	for _, name := range []string{"ring", "tree"} {
		s.Figures.Collectives = append(s.Figures.Collectives, compare.Collective{Workload: name, BusBW: ratio(42.5),
			TimePS: compare.Spread[units.Time]{N: 1, Median: units.Millisecond, Min: units.Millisecond, Max: units.Millisecond}})
	}
}

// What hosts with an inside, collectives and accounts add to the table: a row where any
// column has something, and "-" for the others; parts in their order and their sum.
func TestCompareInsides(t *testing.T) {
	c := comparisonOf(t, 1)
	before := renderCompare(t, c, TextOptions{})
	withInsides(c)
	text := renderCompare(t, c, TextOptions{})
	for _, row := range []string{
		`staged +- +8\.00 MB +- +-`, `DRAM +- +4\.000x +- +-`, `PCIe +- +8\.000x +- +-`,
		`collective +- +ring 1\.00 ms, tree +- +-\n +1\.00 ms`, `busbw +- +ring 42\.50 GB/s, tree +- +-\n +42\.50 GB/s`,
		`slowest is +- +h0/gpu0 -> h4/gpu0 +- +-\ncopies +- +60\.0 us +- +-\nwire +- +5\.00 us +- +-\nin all +- +65\.0 us +- +-`,
	} {
		if re := regexp.MustCompile("\n" + row + "\n"); !re.MatchString(text) || re.MatchString(before) {
			t.Errorf("%s does not stand once it is there, or before, in\n%s", row, text)
		}
	}
}

// Every number of the table stands in the JSON: the table made from the JSON
// alone is the same.
func TestCompareJSON(t *testing.T) {
	for _, seeds := range []int{1, 2, 3} {
		c := comparisonOf(t, seeds)
		withInsides(c)
		data, err := CompareJSON(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseCompareJSON(data)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, c) {
			t.Errorf("%d seeds: the JSON reads back as another comparison", seeds)
		}
		for _, width := range []int{80, 100, 120} {
			if want, got := renderCompare(t, c, TextOptions{Width: width}), renderCompare(t, again, TextOptions{Width: width}); got != want {
				t.Errorf("%d seeds, %d columns: the table made from JSON differs:\n%s", seeds, width, got)
			}
		}
	}
	for _, bad := range []string{"{", `{"version":99}`} {
		if _, err := ParseCompareJSON([]byte(bad)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", bad, err)
		}
	}
}

// Colour adds sequences and changes nothing else.
func TestCompareColour(t *testing.T) {
	c := comparisonOf(t, 2)
	colour := renderCompare(t, c, TextOptions{Colour: true})
	if !strings.Contains(colour, "\x1b[1m") {
		t.Error("no colour")
	}
	if got := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colour, ""); got != renderCompare(t, c, TextOptions{}) {
		t.Errorf("without its colour the text is another:\n%s", got)
	}
}

// Stacks that do not fit side by side are shared out evenly over blocks.
func TestCompareBlocks(t *testing.T) {
	for _, tt := range []struct {
		stacks, width int
		want          []int
	}{{4, 120, []int{4}}, {4, 100, []int{2, 2}}, {4, 80, []int{2, 2}}, {3, 100, []int{3}}, {5, 120, []int{2, 3}}, {1, 60, []int{1}}, {3, 60, []int{1, 1, 1}}} {
		cmp := &comparison{c: &compare.Comparison{Stacks: make([]compare.Column, tt.stacks)}, width: tt.width}
		var got []int
		for _, b := range cmp.blocks() {
			got = append(got, len(b))
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%d stacks in %d columns: blocks of %v, want %v", tt.stacks, tt.width, got, tt.want)
		}
	}
}

func TestSpreadText(t *testing.T) {
	count := func(n int64) string { return size(n) }
	for _, tt := range []struct {
		in   compare.Spread[int64]
		want string
	}{
		{compare.Spread[int64]{}, "-"},
		{compare.Spread[int64]{N: 1, Median: 5000, Min: 5000, Max: 5000}, "5.00 KB"},
		{compare.Spread[int64]{N: 3, Median: 5000, Min: 4000, Max: 6000}, "5.00 KB (4.00 to 6.00 KB)"},
		{compare.Spread[int64]{N: 3, Median: 5000, Min: 400, Max: 6000}, "5.00 KB (400 B to 6.00 KB)"},
		{compare.Spread[int64]{N: 3, Median: 0, Min: 0, Max: 6000}, "0 (0 to 6.00 KB)"},
	} {
		if got := spreadText(lang.English, tt.in, count); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestSheets(t *testing.T) {
	sheets := []Sheet{{"wire", "ethernet", "frames", []record.Note{{Key: "wire.ack", Value: "66 B", Source: "IBTA"}, {Key: "wire.cnp", Value: "78 B", Source: "IBTA"}}, nil}}
	var text, names bytes.Buffer
	if err := Sheets(&text, sheets, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	want := "ethernet (wire): frames\nParameter  Value  Source\nwire.ack   66 B   IBTA\nwire.cnp   78 B   \"\n"
	if text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
	if err := SheetNames(&names, sheets, TextOptions{}); err != nil || names.String() != "Name      Kind  What it is\nethernet  wire  frames\n" {
		t.Errorf("%v %q", err, names.String())
	}
}
