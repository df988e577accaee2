package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/compare"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// Gains are what changes of a scenario came to.
type Gains struct {
	Version  int        `json:"version"`
	Scenario string     `json:"scenario"`
	Subject  string     `json:"subject"`         // whose time it is
	Said     string     `json:"said,omitempty"`  // what a report of the scenario says of the subject; "": nothing
	TookPS   units.Time `json:"took_ps"`         // as the scenario is; Never, in JSON -1: it did not complete
	Extra    string     `json:"extra,omitempty"` // beside the time
	Rows     []Gain     `json:"changes"`         // the largest first
	Verdict  string     `json:"verdict"`
	Runs     int        `json:"runs"` // that were made
	Left     int        `json:"left"` // that were not
	// Completions are the completion times of all messages as the scenario is, sorted, of many
	// every so many.
	Completions []units.Time `json:"completions_ps,omitempty"`
	// Compared is the scenario as it is beside the best changes, for a page.
	Compared *compare.Comparison `json:"compared,omitempty"`
}

// Gain is what one set of changes came to.
type Gain struct {
	Text        string       `json:"change"`  // what is changed
	TookPS      units.Time   `json:"took_ps"` // Never, in JSON -1: it did not complete
	Extra       string       `json:"extra,omitempty"`
	Share       float64      `json:"gain"`           // of the time that is saved; less than 0: it takes longer
	Note        string       `json:"note,omitempty"` // why the row says less than it seems
	Named       bool         `json:"named"`          // it removes what the sentence names
	Completions []units.Time `json:"completions_ps,omitempty"`
}

// JSON encodes the gains, indented, with a newline at the end.
func (s *Gains) JSON() ([]byte, error) {
	out := *s
	out.Version, out.Rows = pageVersion, slices.Clone(s.Rows)
	never := func(t *units.Time) {
		if *t == units.Never {
			*t = -1
		}
	}
	never(&out.TookPS)
	for i := range out.Rows {
		never(&out.Rows[i].TookPS)
	}
	return indented(&out)
}

// Opening says whose time it is, and what a report says of it.
func (s *Gains) Opening() []string {
	out := []string{s.Subject + ": " + took(s.TookPS, s.Extra)}
	if s.Said != "" {
		out = append(out, s.Said)
	}
	return out
}

// GainText is what a change gains.
func (s *Gains) GainText(row int) string { return gainText(s, &s.Rows[row]) }

// Text writes the gains for reading. Width 0 means 100 columns.
func (s *Gains) Text(w io.Writer, opt TextOptions) error {
	t := blank(opt)
	t.prose(s.Subject+": "+took(s.TookPS, s.Extra), t.paint.bold)
	if s.Said != "" {
		t.prose(s.Said, plain)
	}
	t.section()
	tab := &table{columns: []column{{title: "change", wrap: true}, {title: "completion", right: true}, {title: ""},
		{title: "gain", right: true}, {title: ""}}}
	for i := range s.Rows {
		r := &s.Rows[i]
		var notes []string
		if r.Note != "" {
			notes = append(notes, r.Note)
		}
		if r.Named {
			notes = append(notes, "what the report names")
		}
		tab.add(r.Text, took(r.TookPS, ""), r.Extra, gainText(s, r), strings.Join(notes, "; "))
	}
	t.table(tab)
	t.section()
	t.prose(s.Verdict, plain)
	if s.Left > 0 {
		t.prose(fmt.Sprintf("%d runs; %d more were not made.", s.Runs, s.Left), t.paint.dim)
	}
	return t.end(w)
}

// took is a time, or that there is none.
func took(t units.Time, extra string) string {
	text := "-"
	if t != units.Never {
		text = metrics.FormatTimeDigits(t, 4)
	} else if extra == "" {
		return text
	}
	if extra != "" {
		text += ", " + extra
	}
	return text
}

// gainText is a gain in percent, or what takes more than twice as long as a multiple.
func gainText(s *Gains, r *Gain) string {
	switch {
	case r.TookPS == units.Never:
		return "-"
	case s.TookPS == units.Never:
		return "ends"
	}
	if r.Share < -1 {
		return fmt.Sprintf("%.3g times as long", 1-r.Share)
	}
	return fmt.Sprintf("%.1f %%", 100*r.Share)
}
