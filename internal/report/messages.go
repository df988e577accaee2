package report

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rows"
	"github.com/hopscope/hopscope/internal/units"
)

// Message is one message with the figures derived from it, as a document has it.
type Message struct {
	record.Message
	GoodputBps units.Rate `json:"goodput_bps"` // 0 unless it completed with success
	// Ceiling is the best that path and queue pair allow, and what explains the
	// rest.
	Ceiling *metrics.Ceiling `json:"ceiling,omitempty"`
	// Met is what its packets met at ports, numbered as in the list of the document's
	// evidence, and Lost what was dropped of its connection in its time.
	Met  []record.Met  `json:"met,omitempty"`
	Lost []record.Lost `json:"lost,omitempty"`
}

// messageTable has a row per message, encoded by as many workers at most. There may be millions, so their fields
// are written
// without reflection; a test compares them with Message's.
func messageTable(r *record.Run, workers int) *rows.Table {
	header := []string{"src", "dst", "qp", "workload", "verb", "service", "bytes", "start_ps", "completion_ps",
		"delivered_ps", "ideal_ps", "goodput_bps", "status", "call", "reply",
		"completion_entry_ps"}
	t := lines(messagesField, header, len(r.Messages), func(i int) []string {
		f := &r.Messages[i]
		return []string{f.Src, f.Dst, integer(f.QP), f.Workload, f.Verb, f.Service.String(), integer(f.Bytes),
			integer(f.StartPS),
			integer(f.CompletionPS), integer(f.DeliveredPS), integer(f.IdealPS), integer(metrics.Goodput(f)), f.Status,
			integer(f.Call), strconv.FormatBool(f.Reply), integer(f.EntryPS)}
	})
	var all *metrics.Explainer
	t.Fields = func() func(*rows.Object, int) {
		if all == nil {
			all = metrics.NewExplainer(r, workers)
		}
		m := &messages{r: r, explain: all.Fork(), evidence: r.Evidence.Fork()}
		return m.fields
	}
	return t
}

// messages writes the fields of messages and keeps what many of them have in common.
type messages struct {
	r       *record.Run
	explain *metrics.Explainer
	stages  []stageText // by the number that explain gives

	evidence *record.Evidence
}

// stageText is a stage as an account has it: all but its time, and all with the time that it
// takes mostly.
type stageText struct {
	open, whole []byte
	usual       units.Time
}

func (m *messages) fields(o *rows.Object, i int) {
	f := &m.r.Messages[i]
	o.String("src", f.Src)
	o.String("dst", f.Dst)
	o.Int("qp", int64(f.QP))
	o.String("workload", f.Workload)
	o.String("verb", f.Verb)
	o.String("service", f.Service.String())
	o.Int("bytes", f.Bytes)
	o.Int("start_ps", int64(f.StartPS))
	o.Int("completion_ps", int64(f.CompletionPS))
	o.String("status", f.Status)
	known(o, "open_ps", int64(f.OpenPS))
	m.account(o, i)
	known(o, "delivered_ps", int64(f.DeliveredPS))
	known(o, "call", int64(f.Call))
	if f.Reply {
		o.Bool("reply", true)
	}
	known(o, "completion_entry_ps", int64(f.EntryPS))
	known(o, "ideal_ps", int64(f.IdealPS))
	o.Int("goodput_bps", int64(metrics.Goodput(f)))
	m.ceiling(o, m.explain.Ceiling(i))
	m.met(o, m.evidence.Met(i))
	if lost := m.evidence.Lost(i); len(lost) > 0 {
		list, _ := json.Marshal(lost) // numbers do not fail
		o.Raw("lost", list)
	}
}

// met writes what packets met.
func (m *messages) met(o *rows.Object, list []record.Met) {
	if len(list) == 0 {
		return
	}
	o.BeginList("met")
	for i := range list {
		x := &list[i]
		o.Begin("")
		o.Int("port", int64(x.Port))
		o.Int("class", int64(x.Class))
		if x.Answer {
			o.Bool("answer", true)
		}
		o.Int("packets", x.Packets)
		known(o, "marks", x.Marks)
		known(o, "wait_ps", int64(x.Wait))
		known(o, "held_ps", int64(x.Held))
		known(o, "ahead_ps", int64(x.Ahead))
		known(o, "served", int64(x.Served))
		known(o, "own_ps", int64(x.Own))
		o.Int("first_ps", int64(x.First))
		o.Int("last_ps", int64(x.Last))
		o.End()
	}
	o.EndList()
}

// known writes a number that is left out when it is 0.
func known(o *rows.Object, key string, v int64) {
	if v != 0 {
		o.Int(key, v)
	}
}

func (m *messages) account(o *rows.Object, i int) {
	if m.r.Messages[i].Account.IsZero() {
		return
	}
	o.BeginList("account")
	m.explain.Stages(i, func(n int, s record.StageTime) {
		for n >= len(m.stages) {
			m.stages = append(m.stages, stageText{})
		}
		t := &m.stages[n]
		if t.open == nil {
			*t = newStageText(&s)
		}
		if s.Time == t.usual {
			o.Again(t.whole)
			return
		}
		o.Again(t.open)
		o.Number(int64(s.Time))
		o.Close()
	})
	o.EndList()
}

// newStageText is a stage's text.
func newStageText(s *record.StageTime) stageText {
	b := strconv.AppendQuote([]byte(`,{"stage":`), s.Stage.String())
	if s.Where != nil {
		name, _ := json.Marshal(s.Where.String()) // a string does not fail
		b = append(append(b, `,"where":`...), name...)
	}
	b = append(b, `,"ps":`...)
	whole := append(strconv.AppendInt(bytes.Clone(b), int64(s.Time), 10), '}')
	return stageText{b, whole, s.Time}
}

func (m *messages) ceiling(o *rows.Object, c *metrics.Ceiling) {
	if c == nil {
		return
	}
	o.Begin("ceiling")
	o.Int("best_bps", int64(c.BestBps))
	o.String("at", c.At)
	o.Int("measured_bps", int64(c.MeasuredBps))
	o.Bool("reached", c.Reached)
	if k := &c.Cause; k.Kind != catalog.NoCause {
		o.Begin("cause")
		o.String("kind", k.Kind.String())
		o.String("place", k.Place)
		o.Int("share_milli", k.Milli)
		o.End()
	}
	if c.How != "" {
		o.String("how", c.How)
	}
	o.End()
}
