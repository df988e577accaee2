package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/visible"
)

// Difference is what tells two runs apart, A and B.
type Difference struct {
	Version int     `json:"version"`
	A       DiffRun `json:"a"`
	B       DiffRun `json:"b"`
	// Equal says that nothing differs: parameters, course, figures, answers, sentences.
	Equal bool `json:"equal"`
	// Course says that packets took the same course to the picosecond (equal fingerprints).
	Course     bool           `json:"same_course"`
	Parameters []DiffKey      `json:"parameters"` // that differ: first what the scenarios say, then what follows
	Figures    []DiffFigure   `json:"figures"`    // all that either run has
	Answers    []DiffAnswer   `json:"answers"`    // that differ
	Sentences  []DiffSentence `json:"sentences"`  // that differ
	Notes      []string       `json:"notes"`      // what to bear in mind
}

// DiffRun is one of the runs.
type DiffRun struct {
	Dir         string `json:"directory"`
	Program     string `json:"program"` // version of hopscope that wrote it
	Scenario    string `json:"scenario"`
	Stack       string `json:"stack"`
	Seed        uint64 `json:"seed"`
	Fingerprint string `json:"fingerprint"`
	Stopped     string `json:"stopped"` // why it ended; see record.Run
}

// DiffKey is a parameter that differs; "": one of the runs has none.
type DiffKey struct {
	Key     string `json:"key"`
	A       string `json:"a"`
	B       string `json:"b"`
	Follows bool   `json:"follows"` // it follows from others, or from another version of the program
}

// DiffFigure is a headline figure of both runs.
type DiffFigure struct {
	Name  string   `json:"name"`
	Title string   `json:"title"`
	A     *float64 `json:"a"` // in the unit that its name ends in; null: the run has none
	B     *float64 `json:"b"`
	TextA string   `json:"text_a"`
	TextB string   `json:"text_b"`
	Ratio *float64 `json:"ratio"` // b over a; null: there is none
	// Better is "b" or "a", the run whose value is the better one; "": neither, or it depends.
	Better string `json:"better,omitempty"`
}

// same reports whether the runs agree on it.
func (f *DiffFigure) same() bool {
	return f.A == nil && f.B == nil || f.A != nil && f.B != nil && *f.A == *f.B
}

// DiffAnswer is how both runs answer one of the six questions with one mechanism.
type DiffAnswer struct {
	Question  string   `json:"question"`
	Mechanism string   `json:"mechanism,omitempty"` // "": nobody did in one of the runs, and that is Why
	A         *DiffAct `json:"a"`                   // null: nobody did so
	B         *DiffAct `json:"b"`
	WhyA      string   `json:"why_a,omitempty"` // why nobody did anything under the question
	WhyB      string   `json:"why_b,omitempty"`
}

// DiffAct is who did something first, and how often all did.
type DiffAct struct {
	Who   string     `json:"who"`
	First units.Time `json:"first_ps"` // since the first post
	Count int64      `json:"count"`
	Long  string     `json:"how_long"`
}

// DiffSentence is a sentence that differs; "": one of the runs does not say it.
type DiffSentence struct {
	About string `json:"about"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// JSON encodes the difference, indented, with a newline at the end.
func (d *Difference) JSON() ([]byte, error) {
	out := *d
	out.Version = pageVersion
	return indented(&out)
}

// Text writes the difference for reading. Width 0 means 100 columns.
func (d *Difference) Text(w io.Writer, opt TextOptions) error {
	t := blank(opt)
	for _, r := range []struct {
		letter string
		*DiffRun
	}{{"A", &d.A}, {"B", &d.B}} {
		t.prose(
			fmt.Sprintf("%s  %s: %s, %s, seed %d, ended by %s, fingerprint %s", r.letter, r.Dir, r.Scenario, r.Stack, r.Seed,
				r.Stopped, r.Fingerprint),
			t.paint.bold,
		)
	}
	for _, n := range d.Notes {
		t.prose("note: "+n, t.paint.warn)
	}
	t.section()
	switch {
	case d.Equal:
		t.prose("The runs are equal: no parameter, figure, answer or sentence differs.", plain)
		return t.end(w)
	case d.Course:
		t.prose("Packets took the same course in both runs, to the picosecond.", plain)
	}
	d.keys(t)
	d.figures(t)
	d.answers(t)
	d.sentences(t)
	return t.end(w)
}

func (d *Difference) keys(t *text) {
	if len(d.Parameters) == 0 {
		t.prose("No parameter differs.", plain)
		return
	}
	tab := &table{columns: []column{{title: "Parameter"}, {title: "A"}, {title: "B"}, {title: ""}}}
	alone := map[string]map[string]int{"A": {}, "B": {}} // what follows in one run only, by section
	var sections, long []string
	for i := range d.Parameters {
		p := &d.Parameters[i]
		switch {
		case p.Follows && (p.A == "" || p.B == ""):
			section, _, _ := strings.Cut(p.Key, ".")
			side := "A"
			if p.A == "" {
				side = "B"
			}
			if alone[side][section]++; !slices.Contains(sections, section) {
				sections = append(sections, section)
			}
		case visible.Width(p.Key+p.A+p.B) > t.width-15: // would not fit side by side
			long = append(long, p.Key+": A "+dashed(p.A)+"; B "+dashed(p.B))
		case p.Follows:
			tab.add(p.Key, dashed(p.A), dashed(p.B), "follows")
		default:
			tab.add(p.Key, dashed(p.A), dashed(p.B), "")
		}
	}
	if len(tab.rows) > 0 {
		t.table(tab)
	}
	for _, l := range long {
		t.prose(l, plain)
	}
	for _, side := range []string{"A", "B"} {
		var parts []string
		for _, section := range sections {
			if n := alone[side][section]; n > 0 {
				parts = append(parts, fmt.Sprintf("%s (%d)", section, n))
			}
		}
		if len(parts) > 0 {
			t.prose(fmt.Sprintf("Parameters of %s alone, which follow: %s; --json lists them", side,
				strings.Join(parts, ", ")), plain)
		}
	}
}

func dashed(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (d *Difference) figures(t *text) {
	t.section()
	tab := &table{
		columns: []column{
			{title: "Figure"},
			{title: "A", right: true},
			{title: "B", right: true},
			{title: "B/A", right: true},
			{title: ""},
		},
	}
	same := []string{}
	for i := range d.Figures {
		f := &d.Figures[i]
		if f.same() {
			same = append(same, f.Title)
			continue
		}
		ratio, better := "-", ""
		if f.Ratio != nil {
			ratio = fmt.Sprintf("%.3fx", *f.Ratio)
		}
		if f.Better != "" && ratio != "1.000x" {
			better = strings.ToUpper(f.Better) + " better"
		}
		tab.add(f.Title, dashed(f.TextA), dashed(f.TextB), ratio, better)
	}
	if len(tab.rows) > 0 {
		t.table(tab)
	}
	if len(same) > 0 {
		t.prose("The same in both: "+strings.Join(same, ", "), plain)
	}
}

func (d *Difference) answers(t *text) {
	t.section()
	if len(d.Answers) == 0 {
		t.prose("All six questions have the same answers.", plain)
		return
	}
	tab := &table{
		columns: []column{{title: "Question"}, {title: "By"}, {title: ""}, {title: "Who first"}, {title: "When", right: true},
			{title: "How often", right: true}, {title: "How long", drop: 1}},
	}
	last := ""
	for i := range d.Answers {
		a := &d.Answers[i]
		question, by := a.Question, a.Mechanism
		if question == last {
			question = ""
		}
		last = a.Question
		for _, side := range []struct {
			letter, why string
			*DiffAct
		}{{"A", a.WhyA, a.A}, {"B", a.WhyB, a.B}} {
			switch {
			case side.DiffAct != nil:
				tab.add(
					question,
					by,
					side.letter,
					side.Who,
					metrics.FormatTime(side.First),
					metrics.FormatCount(side.Count),
					side.Long,
				)
			case side.why != "":
				tab.addNote("nobody: "+side.why, question, by, side.letter)
			default:
				tab.addNote("nobody did so", question, by, side.letter)
			}
			question, by = "", ""
		}
	}
	t.table(tab)
}

func (d *Difference) sentences(t *text) {
	if len(d.Sentences) == 0 {
		return
	}
	t.section()
	for i := range d.Sentences {
		s := &d.Sentences[i]
		t.prose(s.About, t.paint.bold)
		t.prose("A  "+dashed(s.A), plain)
		t.prose("B  "+dashed(s.B), plain)
	}
}
