package report

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/headline"
	"github.com/hopscope/hopscope/internal/sweep"
	"github.com/hopscope/hopscope/internal/units"
)

// SweepVersion is the version of SweepDocument.
const SweepVersion = 1

// SweepJSON is the file of a SweepDocument.
const SweepJSON = "points.json"

// MostPoints is how many points a SweepDocument has at most; the tables have all.
const MostPoints = 5000

// SweepDocument is what came of the points of a sweep, as JSON.
type SweepDocument struct {
	Version  int          `json:"version"`
	Program  string       `json:"program"`
	Scenario string       `json:"scenario"`
	Runs     int          `json:"runs"` // asked for
	Made     int          `json:"made"`
	Failed   int          `json:"failed"` // of those made: they did not come to their end
	Seeds    []uint64     `json:"seeds"`
	Keys     []string     `json:"keys"` // that were varied
	Points   []SweepPoint `json:"points"`
}

// SweepPoint is a combination of values.
type SweepPoint struct {
	Stack   string                 `json:"stack"`
	Values  []string               `json:"values"` // of the keys
	Status  string                 `json:"status"`
	Error   string                 `json:"error,omitempty"`
	Done    int                    `json:"done"` // runs that came to their end
	Figures map[string]SweepSpread `json:"figures"`
	// CompletionPS are completion times of messages of all seeds, sorted, of those points that are drawn.
	CompletionPS []units.Time `json:"completion_ps,omitempty"`
}

// SweepSpread is a figure over the seeds.
type SweepSpread struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	// Low95 and High95 bound the median with a confidence of 95 %; there are six seeds at least.
	Low95  *float64 `json:"low95,omitempty"`
	High95 *float64 `json:"high95,omitempty"`
}

// NewSweepDocument makes the document; drawn are the points whose completion times it has.
func NewSweepDocument(t *sweep.Table, program string, drawn []int) *SweepDocument {
	made, failed := t.Made()
	d := &SweepDocument{Version: SweepVersion, Program: program, Scenario: t.Scenario, Runs: t.Runs(), Made: made,
		Failed: failed, Seeds: t.Seeds, Keys: []string{}}
	for _, a := range t.Axes {
		d.Keys = append(d.Keys, a.Key)
	}
	for i, o := range t.Outcomes() {
		if i == MostPoints {
			break
		}
		p := SweepPoint{Stack: t.StackOf(i), Values: []string{}, Status: o.Status, Error: o.Error, Done: o.Done,
			Figures: map[string]SweepSpread{}}
		for _, v := range o.Values {
			p.Values = append(p.Values, v.Text)
		}
		for k, f := range t.Figures {
			s := o.Spreads[k]
			if s.N == 0 {
				continue
			}
			spread := SweepSpread{N: s.N, Median: s.Median, Min: s.Min, Max: s.Max}
			if s.Sure {
				spread.Low95, spread.High95 = &s.Low, &s.High
			}
			p.Figures[f.Name] = spread
		}
		d.Points = append(d.Points, p)
	}
	for _, i := range drawn {
		d.Points[i].CompletionPS = t.Completions(i)
	}
	return d
}

// JSON encodes the document, indented, with a newline at the end.
func (d *SweepDocument) JSON() ([]byte, error) { return indented(d) }

// SweepPath is the place of a figure of a point in the document.
func SweepPath(point int, f headline.Figure) string {
	return fmt.Sprintf("/points/%d/figures/%s", point, f.Name)
}
