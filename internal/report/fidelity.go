package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/cases"
	"github.com/hopscope/hopscope/internal/metrics"
)

// FidelityCase writes one case: a table of its figures, and below it where the
// expectations come from. A case that was left out as a whole writes nothing.
// Width 0 means 120 columns.
func FidelityCase(w io.Writer, c *cases.CaseResult, opt TextOptions) error {
	if len(c.Figures) == 0 {
		return nil
	}
	t := wideText(opt)
	t.prose(c.Name+": "+c.Title, t.paint.bold)
	sources := sourcesOf(c.Figures)
	tab := &table{columns: []column{{title: ""}, {title: "Figure", wrap: true}, {title: "Expected", right: true},
		{title: "Tolerance"}, {title: "Measured", right: true}}}
	if len(sources) > 1 {
		tab.columns = append(tab.columns, column{title: "Source", right: true})
	}
	for _, f := range c.Figures {
		cells := []string{verdict(f.OK), f.Name, f.Expected, f.Tolerance, f.Measured}
		if len(sources) > 1 {
			cells = append(cells, fmt.Sprintf("[%d]", 1+slices.Index(sources, f.Source)))
		}
		tab.add(cells...)
		if f.Why != "" {
			tab.addNote("because: "+f.Why, "")
		}
	}
	for _, line := range tab.lines(t.width, t.paint) {
		if strings.HasPrefix(line, verdict(false)) {
			line = t.paint.fail(line)
		}
		t.line(line)
	}
	for i, s := range sources {
		label := "source: "
		if len(sources) > 1 {
			label = fmt.Sprintf("[%d] ", i+1)
		}
		t.prose(label+s, t.paint.dim)
	}
	t.line("")
	return t.end(w)
}

// wideText is an empty text, 120 columns wide unless opt says otherwise.
func wideText(opt TextOptions) *text {
	if opt.Width == 0 {
		opt.Width = compareWidth
	}
	return blank(opt)
}

// verdict is the first column.
func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "MISS"
}

// sourcesOf lists the sources in the order in which they first appear.
func sourcesOf(figures []cases.Figure) (out []string) {
	for _, f := range figures {
		if !slices.Contains(out, f.Source) {
			out = append(out, f.Source)
		}
	}
	return out
}

// FidelityEnd writes what missed, what was left out and the count.
func FidelityEnd(w io.Writer, r *cases.Result, opt TextOptions) error {
	t := wideText(opt)
	cases := 0
	for i := range r.Cases {
		if len(r.Cases[i].Figures) > 0 {
			cases++
		}
		for _, f := range r.Cases[i].Figures {
			if !f.OK {
				t.prose("missed: "+f.String(), t.paint.fail)
			}
		}
	}
	reasons, names := leftOut(r)
	for i, reason := range reasons {
		t.prose("left out, "+reason+": "+strings.Join(names[i], "; "), t.paint.warn)
	}
	figures, missed := r.Counts()
	t.prose(fmt.Sprintf("%s figures of %s cases, %s missed", metrics.FormatCount(int64(figures)),
		metrics.FormatCount(int64(cases)),
		metrics.FormatCount(int64(missed))), t.paint.bold)
	return t.end(w)
}

// leftOut groups what was not run by its reason.
func leftOut(r *cases.Result) (reasons []string, names [][]string) {
	for i := range r.Cases {
		c := &r.Cases[i]
		for _, l := range c.LeftOut {
			name := c.Name
			if l.Part != "" {
				name += " " + l.Part
			}
			k := slices.Index(reasons, l.Reason)
			if k < 0 {
				k = len(reasons)
				reasons, names = append(reasons, l.Reason), append(names, nil)
			}
			names[k] = append(names[k], name)
		}
	}
	return reasons, names
}

// FidelityList writes the cases without running them.
func FidelityList(w io.Writer, infos []cases.Info, opt TextOptions) error {
	t := wideText(opt)
	tab := &table{columns: []column{{title: "Case"}, {title: "Long"}, {title: "Data"}, {title: "What it is"}}}
	yes := func(v bool) string {
		if v {
			return "yes"
		}
		return ""
	}
	for _, i := range infos {
		tab.addNote(i.Title, i.Name, yes(i.Long), yes(i.Data))
	}
	t.table(tab)
	return t.end(w)
}

// FidelityJSON encodes r, indented, with a newline at the end. The text holds no
// number that is not in it.
func FidelityJSON(r *cases.Result) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(r)
	return b.Bytes(), err
}
