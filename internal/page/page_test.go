package page_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/page"
	"github.com/hopscope/hopscope/internal/page/audit"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// simulate runs a scenario with the samples of a page.
func simulate(t *testing.T, name, text string, set ...string) *record.Run {
	t.Helper()
	opt := run.Options{Scenario: name, Workers: 1, Timeline: true, Set: set}
	if text != "" {
		opt.Text = []byte(text)
	}
	r, _, err := run.Do(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// written is the page of a run and its JSON.
func written(t *testing.T, r *record.Run) (html string, doc *audit.Document) {
	t.Helper()
	data, err := report.JSON(r)
	if err != nil {
		t.Fatal(err)
	}
	if doc, err = audit.Parse(data); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := page.Run(r, page.Meta{Program: "hopscope test", Scenario: []byte("name: x\n")}).Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String(), doc
}

// Every figure of a page is what its place in the JSON holds.
func TestFiguresAreThoseOfJSON(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   []string
		least int // elements
	}{
		{"incast-4to1", []string{"workload[0].incast.size=2MB"}, 300},
		{"victim-flow", []string{"workload[0].flows.size=500KB"}, 600},
		{"lossy-incast", []string{"workload[0].incast.size=200KB"}, 400},
	} {
		r := simulate(t, c.name, "", c.set...)
		html, doc := written(t, r)
		compareAll(t, c.name, html, doc, c.least)
	}
}

// smallJob is a step of two stages.
const smallJob = `name: two stages
topology: {rail: {servers: 2, rails: 8, link: 200Gbps}}
server: dgx-a100
jobs:
  - name: step
    steps: 2
    ranks: [h0/gpu0, h0/gpu1, h1/gpu0, h1/gpu1]
    model: {layers: 4, hidden: 256, heads: 4, sequence: 256, vocabulary: 512, tp: 2, pp: 2, batch: 4}
`

// Figures of a training step too, and its lanes and bars are drawn.
func TestFiguresOfSteps(t *testing.T) {
	html, doc := written(t, simulate(t, "steps.yaml", smallJob))
	compareAll(t, "steps", html, doc, 300)
	for _, want := range []string{"figure lanes-0", "figure ranks-0", "rank 2, h1 gpu0", "receive activations", "bubble: ranks have nothing",
		"figure job-critical-0"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// compareAll compares the figures of a page with their places, at least so many.
func compareAll(t *testing.T, name, html string, doc *audit.Document, least int) {
	t.Helper()
	list := audit.Elements(html)
	if len(list) < least {
		t.Errorf("%s: the page has %d figures, want at least %d", name, len(list), least)
	}
	for i, s := range audit.Check(doc, list) {
		if i == 20 {
			break
		}
		t.Errorf("%s: %s", name, s)
	}
}

// Names from files are text on a page, whatever they hold.
func TestNamesAreEscaped(t *testing.T) {
	r := simulate(t, "incast-4to1", "", "workload[0].incast.size=100KB")
	evil := "<svg onload=alert(1)>\"'=1+1\n\x1b[31m鱼"
	r.Scenario, r.Description = evil, evil
	rename := func(s string) string { return strings.Replace(s, "h0", evil, 1) }
	for i := range r.Messages {
		m := &r.Messages[i]
		m.Src, m.Workload = rename(m.Src), evil
	}
	for i := range r.Network.Nodes {
		r.Network.Nodes[i].Name = rename(r.Network.Nodes[i].Name)
	}
	for i := range r.Network.Links {
		l := &r.Network.Links[i]
		l.A.Node, l.B.Node = rename(l.A.Node), rename(l.B.Node)
	}
	for i := range r.Ports {
		p := &r.Ports[i]
		p.Node, p.Peer.Node = rename(p.Node), rename(p.Peer.Node)
	}
	for i := range r.QPs {
		q := &r.QPs[i]
		q.Host, q.Workload, q.Peer.Node = rename(q.Host), evil, rename(q.Peer.Node)
	}
	for i := range r.Timeline.Curves {
		c := &r.Timeline.Curves[i]
		c.Node, c.Peer, c.Workload = rename(c.Node), rename(c.Peer), evil
	}
	for i := range r.Notes {
		r.Notes[i].Value = evil
	}
	html, _ := written(t, r)
	if strings.Contains(html, "<svg onload") || strings.Contains(html, "\x1b") {
		t.Error("a name acts as markup")
	}
	if !strings.Contains(html, "&lt;svg onload=alert(1)&gt;") || !strings.Contains(html, "鱼") {
		t.Error("a name is missing")
	}
}

// The same of a comparison.
func TestFiguresOfComparison(t *testing.T) {
	c, err := compare.Run(context.Background(), compare.Options{Stacks: []string{"rocev2", "tcp"}, Seeds: 2, Workers: 1,
		Do: func(ctx context.Context, j compare.Job) (*record.Run, error) {
			r, _, err := run.Do(ctx, run.Options{Scenario: "incast-4to1", Stack: j.Stack, Stacks: j.Stacks, Seed: j.Seed,
				Workers:  1,
				Timeline: true, Set: []string{"workload[0].incast.size=1MB"}})
			return r, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	c.View = "the same wire"
	data, err := report.CompareJSON(c)
	if err != nil {
		t.Fatal(err)
	}
	check(t, page.Comparison(c, page.Meta{}), data, 110)
}

// check compares the figures of a page with a JSON document.
func check(t *testing.T, p *page.Page, data []byte, least int) {
	t.Helper()
	doc, err := audit.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	compareAll(t, p.Title, b.String(), doc, least)
}

// The same of what changes of a scenario come to, and of a diagnosis; their pages have a figure for
// everything that their text has.
func TestFiguresOfInquiries(t *testing.T) {
	g := &report.Gains{Scenario: "s", Subject: "h0 -> h1", Said: "it was held", TookPS: 3_814_000_000, Verdict: "so <b>it</b> is", Runs: 3, Left: 2,
		Completions: []units.Time{1_000_000, 3_814_000_000}, Rows: []report.Gain{
			{Text: "faster", TookPS: 1_025_000_000, Share: 0.731, Named: true, Completions: []units.Time{900_000, 1_025_000_000}},
			{Text: "slower", TookPS: 20_025_000_000, Share: -4.25, Note: "drops 5"},
			{Text: "never", TookPS: units.Never, Note: "ends by deadlock"}}}
	data, err := g.JSON()
	if err != nil {
		t.Fatal(err)
	}
	check(t, page.Gains(g, page.Meta{}), data, 20)
	d := &report.Diagnosis{Subject: "a.log", Notes: []string{"cut"}, Best: "ACS on", Verdict: "Found: ACS on.", Checks: []string{"lspci"}, Untried: []string{"x"},
		Rows:  []report.Suspect{{Name: "none", Misfit: 4.25, Healthy: true}, {Name: "ACS on", Misfit: 1.02, Evidence: 31.37}},
		Sizes: []report.DiagnosedSize{{Bytes: 1024, US: 30.27, HealthyUS: 20, SuspectUS: 30}, {Bytes: 65536, US: 61, Good: 40, HealthyUS: 40.5, SuspectUS: 60}}}
	if data, err = d.JSON(); err != nil {
		t.Fatal(err)
	}
	check(t, page.Diagnosis(d, page.Meta{}), data, 20)
}
