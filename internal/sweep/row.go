package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/headline"
	"github.com/hopscope/hopscope/internal/units"
)

// Row is what is kept of a run. It depends on the scenario, the seed and the program alone, so that two machines
// write the same bytes.
type Row struct {
	ID          string `json:"id"` // see Plan.ID
	Status      string `json:"status"`
	Stopped     string `json:"stopped,omitempty"`
	Error       string `json:"error,omitempty"`
	Stack       string `json:"stack,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Warnings    int    `json:"warnings,omitempty"` // how many there were
	// Figures are the headline figures by name; what a run has no value of is absent.
	Figures map[string]float64 `json:"figures,omitempty"`
	// Collectives names those of the workload, in the order of their numbers in the names of figures.
	Collectives []string `json:"collectives,omitempty"`
	// Jobs names those of the scenario, likewise.
	Jobs []string `json:"jobs,omitempty"`
	// CompletionPS are completion times, sorted; of many a hundred quantiles from the least to the largest.
	CompletionPS []units.Time `json:"completion_ps,omitempty"`
}

// OK reports whether the run came to its end, so that its figures count.
func (r *Row) OK() bool { return r.Status == "done" }

// Line is the row as a line of a journal.
func (r *Row) Line() ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("row %s: %w", r.ID, err)
	}
	return append(data, '\n'), nil
}

// ReadLines reads the lines of a journal. clean is false if the last line, or any other, is none that Line made:
// the program or the disk failed while it was written.
func ReadLines(data []byte) (rows []Row, clean bool) {
	clean = true
	for len(data) > 0 {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		data = rest
		row, err := readLine(line)
		if err != nil || !whole {
			clean = false
			continue
		}
		rows = append(rows, row)
	}
	return rows, clean
}

func readLine(line []byte) (row Row, err error) {
	if err := json.Unmarshal(line, &row); err != nil {
		return row, err
	}
	if row.ID == "" || row.Status == "" {
		return row, errors.New("no row")
	}
	return row, nil
}

// Same reports whether two rows agree, byte for byte.
func Same(a, b *Row) bool {
	x, err1 := a.Line()
	y, err2 := b.Line()
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// mostQuantiles is how many completion times are kept of a run.
const mostQuantiles = 101

// Quantiles are sorted times, or of more than a row keeps as many, evenly spread by rank.
func Quantiles(sorted []units.Time) []units.Time {
	n := len(sorted)
	if n <= mostQuantiles {
		return sorted
	}
	out := make([]units.Time, mostQuantiles)
	for k := range out {
		out[k] = sorted[k*(n-1)/(mostQuantiles-1)]
	}
	return out
}

// figures lists the figures that any row has, in the order of headline.Figures, then those of collectives and jobs.
func figures(rows []*Row) []headline.Figure {
	has, names, jobs := map[string]bool{}, []string{}, []string{}
	for _, r := range rows {
		if r == nil {
			continue
		}
		for name := range r.Figures {
			has[name] = true
		}
		if len(r.Collectives) > len(names) {
			names = r.Collectives
		}
		if len(r.Jobs) > len(jobs) {
			jobs = r.Jobs
		}
	}
	var out []headline.Figure
	for _, f := range slices.Concat(headline.Figures(), headline.OfCollectives(names), headline.OfJobs(jobs)) {
		if has[f.Name] {
			out = append(out, f)
		}
	}
	return out
}
