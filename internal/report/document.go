// Package report writes a run for people and programs: text for a terminal,
// JSON, CSV, and the run directory from which a report can be made again. It
// reads records and summaries and nothing else.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Version is the version of the JSON document. It changes when a field changes
// its meaning or goes; new fields do not change it.
const Version = 1

// Document is the JSON form of a run: the records, the answers and the
// summary. It depends on the scenario alone; neither wall time nor the number
// of workers appears in it.
type Document struct {
	Version int     `json:"version"`
	Answers Answers `json:"answers"`
	// Summary condenses flows and ports.
	Summary *metrics.Summary `json:"summary"`
	// Mechanisms says of each mechanism how often it acted, or how near it came
	// and what held it back.
	Mechanisms []metrics.State `json:"mechanisms"`
	record.Run
	Flows []Flow `json:"flows"` // in place of Run.Flows
}

// Answers has the six questions as named fields.
type Answers struct {
	Detected  metrics.Answer `json:"detected"`
	FedBack   metrics.Answer `json:"fed_back"`
	Slowed    metrics.Answer `json:"slowed"`
	Held      metrics.Answer `json:"held"`
	Recovered metrics.Answer `json:"recovered"`
	Rerouted  metrics.Answer `json:"rerouted"`
}

// Flow is one message with the figures derived from it.
type Flow struct {
	record.Flow
	GoodputBps units.Rate `json:"goodput_bps"` // 0 unless it completed with success
	// Ceiling is the best that path and queue pair allow, and what explains the
	// rest.
	Ceiling *metrics.Ceiling `json:"ceiling,omitempty"`
}

// NewDocument arranges r and its summary for JSON.
func NewDocument(r *record.Run) *Document {
	s := metrics.Summarise(r)
	d := &Document{Version: Version, Summary: s, Mechanisms: metrics.Mechanisms(r, metrics.TopActors), Run: *r}
	ceilings := metrics.Ceilings(r)
	d.Run.Flows = nil
	d.Flows = make([]Flow, len(r.Flows))
	for i := range r.Flows {
		d.Flows[i] = Flow{Flow: r.Flows[i], GoodputBps: metrics.Goodput(&r.Flows[i]), Ceiling: ceilings[i]}
	}
	for i := range s.Answers {
		*d.Answers.field(s.Answers[i].Question) = s.Answers[i]
	}
	d.noNulls()
	return d
}

// noNulls makes lists without elements [] rather than null.
func (d *Document) noNulls() {
	d.Notes = append([]record.Note{}, d.Notes...)
	d.Warnings = append([]string{}, d.Warnings...)
	d.QPs = append([]record.QP{}, d.QPs...)
	d.Ports = append([]record.Port{}, d.Ports...)
	d.Ledger = append([]record.Entry{}, d.Ledger...)
}

func (a *Answers) field(q record.Question) *metrics.Answer {
	switch q {
	case record.Detected:
		return &a.Detected
	case record.FedBack:
		return &a.FedBack
	case record.Slowed:
		return &a.Slowed
	case record.Held:
		return &a.Held
	case record.Recovered:
		return &a.Recovered
	default:
		return &a.Rerouted
	}
}

// JSON encodes r as a Document, indented, with a newline at the end. The same
// run gives the same bytes.
func JSON(r *record.Run) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(NewDocument(r)); err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	return b.Bytes(), nil
}

// ParseJSON reads a Document back into the records it was made from.
func ParseJSON(data []byte) (*record.Run, error) {
	var d Document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("not a hopscope result: %w", err)
	}
	if d.Version != Version {
		return nil, fmt.Errorf("result of version %d; this program reads version %d", d.Version, Version)
	}
	r := d.Run
	r.Flows = make([]record.Flow, len(d.Flows))
	for i := range d.Flows {
		r.Flows[i] = d.Flows[i].Flow
	}
	return &r, nil
}
