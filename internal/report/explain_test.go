package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

const ns = units.Nanosecond

// lossy is a message whose last packet was lost 15 times, on a path of three
// long-named hops.
func lossy() *record.Run {
	r := incast()
	f := &r.Messages[0]
	account := record.Account{{Stage: catalog.StageEarlierWork, Time: 7 * ns}}
	for range 15 {
		account = append(account, record.StageTime{Stage: catalog.StageRate, Time: 800_000 * ns}, record.StageTime{Stage: catalog.StageSending, Where: record.PortAt("h0", 1).Ptr(), Time: 100_000 * ns},
			record.StageTime{Stage: catalog.StageLoss, Time: 5_000 * ns})
	}
	for k, p := range []record.Place{record.PortAt("h0", 1), record.PortAt("pod0-leaf1", 17), record.PortAt("core-switch-12", 3)} {
		account = append(account, record.StageTime{Stage: catalog.StageQueue, Where: p.Ptr(), Time: units.Time(k) * 100_000 * ns}, record.StageTime{Stage: catalog.StageSerialisation, Where: p.Ptr(), Time: 83 * ns},
			record.StageTime{Stage: catalog.StagePropagation, Where: record.CableAt(p.String(), "the next").Ptr(), Time: 25 * ns}, record.StageTime{Stage: catalog.StageLatency, Where: record.HostAt("pod0").Ptr(), Time: 300 * ns})
	}
	account = append(account, record.StageTime{Stage: catalog.StageCoalesce, Where: record.HostAt("h4").Ptr(), Time: 11 * ns}, record.StageTime{Stage: catalog.StageQueue.On(catalog.LegAck), Where: record.PortAt("h4", 1).Ptr(), Time: 13 * ns},
		record.StageTime{Stage: catalog.StagePropagation.On(catalog.LegAck), Where: record.CableAt("h4", "sw").Ptr(), Time: 25 * ns})
	account = slices.DeleteFunc(account, func(s record.StageTime) bool { return s.Time == 0 })
	f.Account, f.CompletionPS = record.Known(account...), account.Total()
	l := &r.QPs[0].Limits
	l.LineBps, l.MTUBytes, l.CC, l.Class = 400*units.Gbps, 4096, true, 3
	for _, p := range []record.PortID{{Node: "h0", Port: 1}, {Node: "pod0-leaf1", Port: 17}, {Node: "core-switch-12", Port: 3}} {
		l.Path = append(l.Path, &record.PathHop{Port: p, Peer: p, RateBps: 400 * units.Gbps})
	}
	r.FrameHeader, r.RETH, r.WireOverhead, r.MinFrame = 62, 16, 20, 64
	return r
}

func explained(t *testing.T, r *record.Run, which string, opt TextOptions) string {
	t.Helper()
	var err error
	if opt.Explain, err = Select(r, which); err != nil {
		t.Fatal(err)
	}
	return details(t, r, opt)
}

func details(t *testing.T, r *record.Run, opt TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Details(&b, r, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func fits(t *testing.T, text string, width int) {
	t.Helper()
	for _, l := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(l) > width {
			t.Errorf("wider than %d: %s", width, l)
		}
	}
}

// However stages are merged, the lines add up to the completion time, and they
// fit the terminal.
func TestWaterfallIsExact(t *testing.T) {
	r := lossy()
	f := &r.Messages[0]
	all := barsOf(lang.English, f.Account.Stages())
	for name, bars := range map[string][]bar{"all": all, "ACK": mergeAck(lang.English, all), "repeated": mergeRepeated(lang.English, mergeAck(lang.English, all)),
		"short": mergeShort(lang.English, mergeRepeated(lang.English, mergeAck(lang.English, all)), f.CompletionPS)} {
		sum := units.Time(0)
		for _, b := range bars {
			sum += b.time
		}
		if sum != f.CompletionPS {
			t.Errorf("%s: %d lines add up to %d ps, not %d", name, len(bars), sum, f.CompletionPS)
		}
	}
	if n := len(mergeShort(lang.English, mergeRepeated(lang.English, mergeAck(lang.English, all)), f.CompletionPS)); n > 12 {
		t.Errorf("%d lines without --verbose", n)
	}
	for _, width := range []int{80, 100, 120} {
		fits(t, explained(t, r, "0", TextOptions{Width: width}), width)
		fits(t, explained(t, r, "0", TextOptions{Width: width, Verbose: true}), width)
	}
	short, long := explained(t, r, "h0->h4", TextOptions{}), explained(t, r, "h0->h4", TextOptions{Verbose: true})
	for _, want := range []string{"ACK's way back", "rate (15 times)", "DCQCN held h0 qp 1 at", "after CNPs from h4", "(h0:1); what is missing: h0 qp 1"} {
		if !strings.Contains(short, want) {
			t.Errorf("%q is missing from\n%s", want, short)
		}
	}
	if strings.Contains(long, "ACK's way back") || !strings.Contains(long, "ACK propagation") || strings.Count(long, " rate\n") != 15 {
		t.Errorf("--verbose merges\n%s", long)
	}
}

// Bars follow one another: each begins in the column where the one before ended.
func TestBarsFollowOneAnother(t *testing.T) {
	bars := []bar{{time: 250}, {time: 500}, {time: 1}, {time: 249}}
	at := units.Time(0)
	var got []string
	for _, b := range bars {
		b.from = at
		at += b.time
		got = append(got, drawBar(b, 1000, 8))
	}
	if want := []string{"##", "  ####", "      |", "      ##"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFind(t *testing.T) {
	r := incast()
	r.Messages = append(r.Messages, r.Messages[1])
	r.Messages[4].CompletionPS += 5
	for _, tt := range []struct {
		which        string
		index, among int
	}{
		{"slowest", 3, 1},
		{"2", 2, 1},
		{"h0->h4", 0, 1},
		{" h1 -> h4 ", 4, 2},
		{"h4 <- h1", 4, 2}, // as reports write READs
		{"h4<-h0", 0, 1},
	} {
		if i, n := Find(r, tt.which); i != tt.index || n != tt.among {
			t.Errorf("%q: %d of %d, want %d of %d", tt.which, i, n, tt.index, tt.among)
		}
	}
}

// Without a success the slowest is what took longest to fail, and without any end
// the first.
func TestSlowestOfFailures(t *testing.T) {
	r := incast()
	for i := range r.Messages {
		r.Messages[i].Status, r.Messages[i].CompletionPS = "RETRY_EXC_ERR", units.Time(100-10*(i-2)*(i-2))
	}
	if i, _ := Find(r, "slowest"); i != 2 {
		t.Errorf("%d; want 2", i)
	}
	for i := range r.Messages {
		r.Messages[i].Status, r.Messages[i].CompletionPS = "open", -1
	}
	if i, _ := Find(r, "slowest"); i != 0 {
		t.Errorf("%d; want 0", i)
	}
}

// What failed comes before what succeeded, however long that took; what was cut short by the end of the run
// does not.
func TestFailedComesFirst(t *testing.T) {
	r := incast()
	r.Messages[0].Status, r.Messages[0].CompletionPS = "RETRY_EXC_ERR", 1
	if i, _ := Find(r, "slowest"); i != 0 {
		t.Errorf("%d; want the failed message 0", i)
	}
	r = incast()
	r.Messages[1].Status, r.Messages[1].CompletionPS, r.Messages[1].OpenPS = "open", -1, 1
	r.Stopped = "stalled"
	if i, _ := Find(r, "slowest"); i != 1 {
		t.Errorf("%d; want the open message 1", i)
	}
	r.Stopped = "stop time"
	if i, _ := Find(r, "slowest"); i != 3 {
		t.Errorf("%d; want 3, the slowest success", i)
	}
}

// Every mechanism has a line, and what is off says why; the table fits.
func TestMechanismTable(t *testing.T) {
	r := lossy()
	for i := range r.Ports {
		p := &r.Ports[i]
		p.Limits = record.PortLimits{KMinBytes: 400_000, KMaxBytes: 1_600_000, PMax: 0.2, HeadroomBytes: 40_000,
			XOFF: &record.Approach{Value: 100_000 + int64(i), Threshold: 1_200_000, At: 5_000_000}}
	}
	for _, width := range []int{80, 100, 120} {
		for _, verbose := range []bool{false, true} {
			got := details(t, r, TextOptions{Width: width, Verbose: verbose, Mechanisms: true})
			fits(t, got, width)
			for _, s := range metrics.Mechanisms(r, 0) {
				if !strings.Contains(got, "\n"+s.Mechanism.String()) {
					t.Errorf("%s has no line", s.Mechanism)
				}
				if s.Armed == 0 && !strings.HasPrefix(s.Why, "off: ") {
					t.Errorf("%s is off without a word: %q", s.Mechanism, s.Why)
				}
			}
		}
	}
}

// The JSON has the mechanisms and, per message, its ceiling; accounts read back
// from it explain the same.
func TestExplainFromSavedRun(t *testing.T) {
	r := lossy()
	d := NewDocument(r)
	if c := metrics.NewExplainer(r, 1).Ceiling(0); len(d.Mechanisms) == 0 || c == nil || len(c.Limits) != 3 {
		t.Fatalf("%d mechanisms, ceiling %+v", len(d.Mechanisms), c)
	}
	data, err := JSON(r)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	a, b := metrics.DominantStage(r, 0), metrics.DominantStage(back, 0)
	if fmt.Sprint(a) != fmt.Sprint(b) || a.Stage != catalog.StageRate {
		t.Errorf("%+v from the run, %+v from its JSON", a, b)
	}
}
