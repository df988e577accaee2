package report

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hopscope/hopscope/internal/cases"
)

func fidelityResult() *cases.Result {
	return &cases.Result{Version: cases.Version, Cases: []cases.CaseResult{
		{Info: cases.Info{Name: "F1", Title: "goodput of one queue pair by MTU and rate"}, Figures: []cases.Figure{
			{Case: "F1", Name: "goodput over line rate, MTU 4096, 400 Gb/s, 100 messages", Expected: "0.98036", Measured: "0.98029", Tolerance: "±0.1 %", Source: "bytes", OK: true},
			{Case: "F1", Name: "completion min, us", Expected: "18726712", Measured: "18538072 to 18789592", Tolerance: "20 seeds, ±½ width",
				Source: "a reference run with a long name; the range over seeds or ECMP salts, widened by half its width on each side", Why: "the reference rounds"},
		}},
		{Info: cases.Info{Name: "F6"}, LeftOut: []cases.LeftOut{{Part: "100G", Reason: "too long"}, {Part: "400G", Reason: "too long"}}},
		{Info: cases.Info{Name: "ns3/x"}, LeftOut: []cases.LeftOut{{Reason: "no data"}}},
	}}
}

func fidelityWords(t *testing.T, width int) string {
	t.Helper()
	var b strings.Builder
	r := fidelityResult()
	for i := range r.Cases {
		if err := FidelityCase(&b, &r.Cases[i], TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
	}
	if err := FidelityEnd(&b, r, TextOptions{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFidelityFits(t *testing.T) {
	for _, width := range []int{80, 100, 120} {
		text := fidelityWords(t, width)
		for _, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%d columns, not %d: %s", n, width, line)
			}
		}
		for _, want := range []string{"F1: goodput", "ok  ", "MISS", "because: the reference rounds", "[1] bytes", "[2] a reference",
			"missed: F1, completion min", "left out, too long: F6 100G; F6 400G", "left out, no data: ns3/x", "2 figures of 1 cases, 1 missed"} {
			if !strings.Contains(text, want) {
				t.Errorf("width %d: no %q in\n%s", width, want, text)
			}
		}
	}
}

func TestFidelityJSON(t *testing.T) {
	data, err := FidelityJSON(fidelityResult())
	if err != nil {
		t.Fatal(err)
	}
	var back cases.Result
	if err := json.Unmarshal(data, &back); err != nil || back.Cases[0].Figures[1] != fidelityResult().Cases[0].Figures[1] {
		t.Errorf("%v: %+v", err, back)
	}
}
