package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// Gains are what changes of a scenario came to.
type Gains struct {
	Subject string     // whose time it is
	Said    string     // what a report of the scenario says of the subject; "": nothing
	TookPS  units.Time // as the scenario is; Never: it did not complete
	Extra   string     // beside the time
	Rows    []Gain     // the largest first
	Verdict string
	Runs    int // that were made
	Left    int // that were not
}

// Gain is what one set of changes came to.
type Gain struct {
	Text   string // what is changed
	TookPS units.Time
	Extra  string
	Share  float64 // of the time that is saved; less than 0: it takes longer
	Note   string  // why the row says less than it seems
	Named  bool    // it removes what the sentence names
}

// Text writes the gains for reading. Width 0 means 100 columns.
func (s *Gains) Text(w io.Writer, opt TextOptions) error {
	if opt.Width == 0 {
		opt.Width = DefaultWidth
	}
	width, p := max(opt.Width, minWidth), paint(opt.Colour)
	var b strings.Builder
	put := func(style func(string) string, lines []string) {
		for _, l := range lines {
			b.WriteString(style(strings.TrimRight(l, " ")) + "\n")
		}
	}
	plain := func(s string) string { return s }
	put(p.bold, hang(s.Subject+": "+took(s.TookPS, s.Extra), width, 2))
	if s.Said != "" {
		put(plain, hang(s.Said, width, 2))
	}
	b.WriteString("\n")
	t := &table{columns: []column{{title: "change", wrap: true}, {title: "completion", right: true}, {title: ""},
		{title: "gain", right: true}, {title: ""}}}
	for i := range s.Rows {
		r := &s.Rows[i]
		note := r.Note
		if r.Named {
			note = strings.TrimPrefix(note+"; what the report names", "; ")
		}
		t.add(r.Text, took(r.TookPS, ""), r.Extra, gainText(s, r), note)
	}
	put(plain, t.lines(width, p))
	b.WriteString("\n")
	put(plain, hang(s.Verdict, width, 0))
	if s.Left > 0 {
		put(p.dim, hang(fmt.Sprintf("%d runs; %d more were not made.", s.Runs, s.Left), width, 0))
	}
	_, err := io.WriteString(w, b.String())
	return err
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
