package hopscope

import (
	"io"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
)

// Units of all results.
type (
	// Time is simulated time, in picoseconds.
	Time = units.Time
	// Rate is in bit/s.
	Rate = units.Rate
	// Bytes counts bytes.
	Bytes = units.Bytes
)

// Never is the time of what does not happen.
const Never = units.Never

// Times and rates to write others with: 5 * hopscope.Microsecond.
const (
	Nanosecond  = units.Nanosecond
	Microsecond = units.Microsecond
	Millisecond = units.Millisecond
	Second      = units.Second

	Mbps = units.Mbps
	Gbps = units.Gbps
)

// Result is what happened in a run: its record, row by row, and what follows from that.
type Result struct {
	*Record
	// Summary has totals, the verdict, and the six answers: who detected congestion, fed it back, slowed
	// down, held others, recovered and rerouted, each with who was first.
	Summary *Summary
}

func newResult(r *record.Run) *Result { return &Result{r, metrics.Summarise(r)} }

// Rows of a result.
type (
	// Record is everything that a run wrote down.
	Record = record.Run
	// Message is one message, or remote procedure call's half, with its account: where its time went.
	Message = record.Message
	// Port is one class of one port.
	Port = record.Port
	// QueuePair is one end of a connection, TCP's too.
	QueuePair = record.QP
	// Act is who did what how often: an entry of the ledger.
	Act = record.Entry
	// Collective is an operation among GPUs.
	Collective = record.Collective
	// Summary is what follows from a record.
	Summary = metrics.Summary
	// Answer is that to one of the six questions.
	Answer = metrics.Answer
	// Verdict is what dominates a run.
	Verdict = metrics.Verdict
	// Question is one of the six.
	Question = catalog.Question
	// Mechanism is how something came about, such as ECN marks.
	Mechanism = catalog.Mechanism
)

// The six questions.
const (
	Detected  = catalog.Detected
	FedBack   = catalog.FedBack
	Slowed    = catalog.Slowed
	Held      = catalog.Held
	Recovered = catalog.Recovered
	Rerouted  = catalog.Rerouted
)

// Answer is the answer to a question.
func (r *Result) Answer(q Question) *Answer {
	for i := range r.Summary.Answers {
		if a := &r.Summary.Answers[i]; a.Question == q {
			return a
		}
	}
	return nil
}

// WriteText writes the report as hopscope run prints it.
func (r *Result) WriteText(w io.Writer) error { return report.Text(w, r.Record, report.TextOptions{}) }

// WriteJSON writes the result as hopscope run --json does.
func (r *Result) WriteJSON(w io.Writer) error { return report.WriteJSON(w, r.Record, 1) }
