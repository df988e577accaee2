package page_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/page"
	"github.com/hopscope/hopscope/internal/page/audit"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/sweep"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/vary"
)

// sweptTable is a sweep with made-up results.
func sweptTable(t *testing.T, s sweep.Setup, axes ...string) *sweep.Table {
	t.Helper()
	for _, arg := range axes {
		a, err := vary.Parse(arg)
		if err != nil {
			t.Fatal(err)
		}
		s.Axes = append(s.Axes, a)
	}
	s.Scenario = "a <b> & c"
	p, err := sweep.New(s)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]*sweep.Row, p.Runs())
	for i := range rows {
		point, _ := p.RunAt(i)
		x := float64(1 + (i*7919)%1000)
		rows[i] = &sweep.Row{ID: fmt.Sprint(i), Status: "done", Stack: "rocev2", Fingerprint: fmt.Sprint(i), Figures: map[string]float64{
			"completion_p99_ps": 1e9*x + 7, "goodput_bps": 1e9 * x, "peak_queue_bytes": 1e3 * x, "slowdown_p99": x / 7, "dropped": x}}
		for k := range 5 {
			rows[i].CompletionPS = append(rows[i].CompletionPS, units.Time(1e9*x)+units.Time(k)*1e8)
		}
		if point == 1 {
			rows[i] = &sweep.Row{ID: fmt.Sprint(i), Status: "invalid", Error: "kmin is <above> kmax"}
		}
	}
	return sweep.NewTable(p, rows)
}

// Every figure of a page of a sweep is what its place in the JSON holds, and each kind of sweep has its drawings.
func TestSweep(t *testing.T) {
	six := []uint64{1, 2, 3, 4, 5, 6}
	for want, table := range map[string]*sweep.Table{
		"over-size over-share map-0-0 map-1-0 map-2-0 completions": sweptTable(t, sweep.Setup{Seeds: six}, "size=10KB..1MB log 5", "share=0.1..0.3 step 0.1"),
		"over-size completions":                                          sweptTable(t, sweep.Setup{Seeds: six[:2]}, "size=10KB,20KB,30KB"),
		"over-size over-delay completions":                               sweptTable(t, sweep.Setup{Seeds: six[:1], Samples: 20}, "size=10KB..1MB log", "delay=1us..5us"),
		"points-0 points-1 points-2 completions":                         sweptTable(t, sweep.Setup{Seeds: six, Stacks: []string{"x", "y", "z"}}),
		"map-0-0 map-1-0 map-2-0 points-0 points-1 points-2 completions": sweptTable(t, sweep.Setup{Seeds: six}, "control=a,b,c", "routing=d,e"),
	} {
		drawn := page.SweepDrawn(table, nil)
		if len(drawn) > 8 || len(drawn) == 0 {
			t.Errorf("%s: %d points are drawn", want, len(drawn))
		}
		p := page.Sweep(table, nil, drawn, page.Meta{Program: "test"})
		var names []string
		for _, d := range p.Drawings {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("it draws %s, want %s", got, want)
		}
		var html bytes.Buffer
		if err := p.Write(&html); err != nil {
			t.Fatal(err)
		}
		data, err := report.NewSweepDocument(table, "test", drawn).JSON()
		if err != nil {
			t.Fatal(err)
		}
		doc, err := audit.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		compareAll(t, want, html.String(), doc, 10)
		if strings.Contains(html.String(), "<b> & c") || strings.Contains(html.String(), "<above>") {
			t.Errorf("%s: a name is taken for HTML", want)
		}
	}
}
