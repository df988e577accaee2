package report

import (
	"fmt"
	"io"
	"strings"
)

// Diagnosis is what a log of nccl-tests comes to beside a scenario.
type Diagnosis struct {
	Version int             `json:"version"`
	Subject string          `json:"subject"` // the log, and what it is of
	Notes   []string        `json:"notes"`   // what to know of the log
	Rows    []Suspect       `json:"suspects"`
	Sizes   []DiagnosedSize `json:"sizes"`
	Best    string          `json:"best"` // name of the fault whose curve Sizes have beside the healthy one's
	Verdict string          `json:"verdict"`
	Checks  []string        `json:"checks"`  // what to look at on the machine, in order
	Untried []string        `json:"untried"` // faults that change nothing here, or that the scenario cannot have
	Left    []string        `json:"left"`    // faults that were not run: the budget was used up, or the user stopped
}

// JSON encodes the diagnosis, indented, with a newline at the end.
func (d *Diagnosis) JSON() ([]byte, error) {
	out := *d
	out.Version = pageVersion
	return indented(&out)
}

// Suspect is a fault, or the healthy machine.
type Suspect struct {
	Name     string  `json:"name"`
	Misfit   float64 `json:"misfit"`   // for each size; about 1 where it is true
	Evidence float64 `json:"evidence"` // twice the logarithm of the odds against the healthy machine
	Healthy  bool    `json:"healthy"`
}

// DiagnosedSize is a size of the log with its times in us.
type DiagnosedSize struct {
	Bytes     int64   `json:"bytes"`
	US        float64 `json:"us"`
	Good      float64 `json:"good_us,omitempty"` // of the good nodes; 0: there is no such log
	HealthyUS float64 `json:"healthy_us"`
	SuspectUS float64 `json:"suspect_us"`
}

// Text writes the diagnosis for reading. Width 0 means 100 columns.
func (d *Diagnosis) Text(w io.Writer, opt TextOptions) error {
	t := blank(opt)
	t.prose(d.Subject, t.paint.bold)
	for _, n := range d.Notes {
		t.prose(n, t.paint.warn)
	}
	t.section()
	t.table(d.suspects())
	t.section()
	t.table(d.sizes())
	t.section()
	t.prose(d.Verdict, t.paint.bold)
	for i, c := range d.Checks {
		for _, l := range hang(fmt.Sprintf("%2d. %s", i+1, c), t.width, 4) {
			t.line(l)
		}
	}
	if len(d.Left) > 0 {
		t.prose("Not run, so that any of them may fit better: "+strings.Join(d.Left, "; ")+".", t.paint.warn)
	}
	if len(d.Untried) > 0 {
		t.prose("Nothing to see here, or not in such a scenario: "+strings.Join(d.Untried, "; ")+".", t.paint.dim)
	}
	return t.end(w)
}

// suspects is the table of faults.
func (d *Diagnosis) suspects() *table {
	t := &table{columns: []column{{title: "suspect", wrap: true}, {title: "misfit per size", right: true},
		{title: "evidence", right: true}}}
	for _, r := range d.Rows {
		evidence := "-"
		if !r.Healthy {
			evidence = fmt.Sprintf("%+.1f", r.Evidence)
		}
		t.add(r.Name, fmt.Sprintf("%.2f", r.Misfit), evidence)
	}
	return t
}

// sizes is the table of the log's sizes.
func (d *Diagnosis) sizes() *table {
	t := &table{columns: []column{{title: "size B", right: true}, {title: "log us", right: true},
		{title: "good us", right: true, drop: 1}, {title: "healthy us", right: true},
		{title: "ratio", right: true}, {title: "suspect us", right: true}, {title: "ratio", right: true}}}
	for _, s := range d.Sizes {
		good := ""
		if s.Good > 0 {
			good = fmt.Sprintf("%.1f", s.Good)
		}
		t.add(integer(s.Bytes), fmt.Sprintf("%.1f", s.US), good, fmt.Sprintf("%.1f", s.HealthyUS), fmt.Sprintf("%.2f",
			s.US/s.HealthyUS),
			fmt.Sprintf("%.1f", s.SuspectUS), fmt.Sprintf("%.2f", s.US/s.SuspectUS))
	}
	return t
}
