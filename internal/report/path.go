package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Path is what lies between two ends, for hopscope path. Times are picoseconds, rates
// bit/s.
type Path struct {
	Version  int       `json:"version"`
	Scenario string    `json:"scenario"`
	From     string    `json:"from"`
	To       string    `json:"to"`
	Bytes    int64     `json:"bytes"`
	Like     string    `json:"like,omitempty"` // the workload entry whose connection it follows
	Ways     []PathWay `json:"ways"`
	// Loaded says that hops hold what the scenario's own workload does to them, and
	// Messages how it fared between the same ends.
	Loaded   bool          `json:"loaded"`
	Stopped  string        `json:"load_stopped,omitempty"` // why the workload's run ended
	Messages *PathMessages `json:"messages,omitempty"`

	runs []*record.Run // by way; nil: there is no such way
}

// PathWay is one way to move the message.
type PathWay struct {
	Name       string         `json:"name"`
	Why        string         `json:"unavailable,omitempty"` // why there is none
	Completion int64          `json:"completion_ps"`         // of the message alone; -1: it did not end
	Entry      int64          `json:"completion_entry_ps,omitempty"`
	Goodput    int64          `json:"goodput_bps"`
	Best       int64          `json:"bottleneck_bps"` // of payload
	At         string         `json:"bottleneck"`
	How        string         `json:"bottleneck_how"`
	Missing    string         `json:"missing,omitempty"` // what keeps the message from the bottleneck's rate
	Crossings  int            `json:"memory_crossings"`  // passages through DRAM at both ends
	Hops       []PathHop      `json:"hops"`
	Account    record.Account `json:"account"`
}

// PathHop is one place that data pass.
type PathHop struct {
	Host    string    `json:"host,omitempty"` // inside whose server
	Name    string    `json:"name"`           // the sending port, or a link inside
	To      string    `json:"to,omitempty"`   // the receiving port
	What    string    `json:"what"`
	Rate    int64     `json:"rate_bps"`               // of the line; inside a server, of payload
	Payload int64     `json:"payload_bps"`            // of this message
	Latency int64     `json:"latency_ps"`             // one way, without serialisation
	Buffer  int64     `json:"buffer_bytes,omitempty"` // at its end; 0: not limited
	Rule    string    `json:"rule,omitempty"`         // when the buffer is full
	Class   int       `json:"class"`                  // priority or VL
	Load    *PathLoad `json:"load,omitempty"`         // by the scenario's own workload; absent: nothing passed
}

// PathLoad is what the workload does to a hop.
type PathLoad struct {
	Utilisation float64 `json:"utilisation"`
	Wait        int64   `json:"mean_wait_ps"` // of a byte (Little's law), inside a server of a transfer
	Peak        int64   `json:"peak_queue_bytes,omitempty"`
	PeakWait    int64   `json:"peak_wait_ps,omitempty"` // inside a server
	Held        int64   `json:"held_ps"`                // paused or without credit, a frame waiting
	Pauses      int64   `json:"pauses"`                 // received
	Dropped     int64   `json:"dropped"`
}

// PathMessages is how the workload's messages between the same ends fared.
type PathMessages struct {
	Completed int   `json:"completed"`
	All       int   `json:"messages"`
	Slowest   int64 `json:"slowest_ps"`
	SameSize  bool  `json:"same_size"` // all have the size that was asked about
}

// NewPath gathers what a path allows and what it is used for.
func NewPath(p *record.Path) *Path {
	out := &Path{Version: Version, Scenario: p.Scenario, From: p.From, To: p.To, Bytes: p.Bytes, Like: p.Like,
		Loaded: p.Loaded != nil}
	for i := range p.Ways {
		w := &p.Ways[i]
		x := PathWay{Name: w.Name, Why: w.Why, Completion: -1, Hops: []PathHop{}}
		if w.Why == "" {
			x.fill(w, p.Bytes)
		}
		out.Ways, out.runs = append(out.Ways, x), append(out.runs, w.Run)
	}
	if p.Loaded != nil {
		out.load(p.Loaded)
	}
	return out
}

// fill takes over a way with its message of n bytes.
func (x *PathWay) fill(w *record.PathWay, n int64) {
	x.Completion, x.Goodput = int64(w.CompletionPS), int64(metrics.RateOf(n, w.CompletionPS))
	var ceiling *metrics.Ceiling
	if w.Run != nil {
		f := &w.Run.Messages[0]
		x.Completion, x.Entry, x.Goodput, x.Account = int64(
			f.CompletionPS,
		), int64(
			f.EntryPS,
		), int64(
			metrics.Goodput(f),
		), f.Account.Stages()
		ceiling = metrics.CeilingOf(w.Run, 0)
	}
	if ceiling != nil {
		x.Best, x.At = int64(ceiling.BestBps), ceiling.At
		if !ceiling.Reached {
			x.Missing = ceiling.How
		}
		for _, l := range ceiling.Limits {
			if l.Name == ceiling.At {
				x.How = l.How
				break
			}
		}
	}
	for i := range w.Hops {
		h := &w.Hops[i]
		y := PathHop{Host: h.Host, Name: h.Name, To: h.To, What: h.What, Rate: int64(h.RateBps), Payload: int64(h.RateBps),
			Latency: int64(h.LatencyPS),
			Buffer:  h.BufferBytes, Rule: h.Rule, Class: h.Class}
		if h.Host == "" && ceiling != nil {
			y.Payload = payloadAt(ceiling, h.Name)
		}
		switch {
		case x.At == "" || y.Payload < x.Best && h.Host != "":
			x.Best, x.At, x.How = y.Payload, y.place(), carriedBy(lang.English, h.What)
		case x.At == "inside "+h.Host && y.Payload*999 <= x.Best*1000: // the hop that the ceiling means, rounded
			x.At = y.place()
		}
		if strings.HasPrefix(h.What, dramBus) {
			x.Crossings++
		}
		x.Hops = append(x.Hops, y)
	}
}

// carriedBy says that a hop inside a host is the bottleneck.
func carriedBy(l lang.Language, what string) string {
	return l.Sprintf("payload that %s carries", what)
}

// words are why the bottleneck of a way is what it is, and what is missing to it, in a language.
func (p *Path) words(l lang.Language, way int) (how, missing string) {
	w := &p.Ways[way]
	how, missing = w.How, w.Missing
	for i := range w.Hops {
		if how == carriedBy(lang.English, w.Hops[i].What) {
			how = carriedBy(l, w.Hops[i].What)
		}
	}
	run := p.runs[way]
	if run == nil {
		return how, missing
	}
	plain, said := metrics.CeilingOf(run, 0), (*metrics.Ceiling)(nil)
	if _, said = metrics.ExplainIn(l, run, 0); said == nil || plain == nil {
		return how, missing
	}
	if missing != "" {
		missing = said.How
	}
	for k := range plain.Limits {
		if plain.Limits[k].How == w.How {
			how = said.Limits[k].How
		}
	}
	return how, missing
}

// dramBus is what the passage through DRAM is called.
const dramBus = "memory bus"

// payloadAt is what a port of the path allows.
func payloadAt(c *metrics.Ceiling, port string) int64 {
	for _, l := range c.Limits {
		if l.Name == port {
			return int64(l.Bps)
		}
	}
	return 0
}

// place names a hop among those of several hosts.
func (h *PathHop) place() string {
	if h.Host != "" {
		return h.Host + " " + h.Name
	}
	return h.Name
}

// load adds what a run of the scenario's own workload does to the hops.
func (p *Path) load(r *record.Run) {
	p.Stopped = r.Stopped
	for i := range p.Ways {
		for k := range p.Ways[i].Hops {
			h := &p.Ways[i].Hops[k]
			if h.Host == "" {
				h.loadPort(r)
			} else {
				h.loadLink(r)
			}
		}
	}
	m := &PathMessages{SameSize: true}
	from, to := nodeOf(p.From), nodeOf(p.To)
	if from == to {
		return
	}
	for i := range r.Messages {
		f := &r.Messages[i]
		src, dst := metrics.DataEnds(f)
		if nodeOf(src) != from || nodeOf(dst) != to {
			continue
		}
		m.All++
		m.SameSize = m.SameSize && f.Bytes == p.Bytes
		if metrics.Completed(f) {
			m.Completed++
			m.Slowest = max(m.Slowest, int64(f.CompletionPS))
		}
	}
	p.Messages = m
}

// nodeOf is the host of an end, whatever follows it.
func nodeOf(end string) string {
	for i := range end {
		if end[i] == ':' || end[i] == '/' {
			return end[:i]
		}
	}
	return end
}

// loadPort takes over what the records say of the port and its class.
func (h *PathHop) loadPort(r *record.Run) {
	for i := range r.Ports {
		x := &r.Ports[i]
		if fmt.Sprintf("%s:%d", x.Node, x.Port) != h.Name || x.Class != h.Class {
			continue
		}
		h.Load = &PathLoad{Utilisation: x.Utilisation, Wait: meanWait(x, r.WireOverhead), Peak: x.PeakQueueBytes,
			Held:   int64(x.HeldPS),
			Pauses: x.PausesReceived, Dropped: x.Dropped}
	}
}

// loadLink takes over what the records say of a link inside a server: transfers wait for
// their turn and for credits.
func (h *PathHop) loadLink(r *record.Run) {
	span := max(r.EndPS-r.FirstPost(), 1)
	for i := range r.Servers {
		if r.Servers[i].Host != h.Host {
			continue
		}
		for k := range r.Servers[i].Links {
			if x := &r.Servers[i].Links[k]; x.Name == h.Name && x.Transfers > 0 {
				h.Load = &PathLoad{Utilisation: float64(x.BusyPS) / float64(span), Wait: int64(x.WaitedPS) / x.Transfers,
					PeakWait: int64(x.PeakPS), Held: int64(x.CreditsPS)}
			}
		}
	}
}

// meanWait is the mean time that a byte waits at a port, by Little's law: the mean queue
// over the rate at which it is served. That rate is the share of the wire in use, less
// what frames take beyond their bytes.
func meanWait(x *record.Port, overhead int) int64 {
	served := x.Utilisation * float64(
		x.RateBps,
	) / 8e12 * float64(
		x.TxBytes,
	) // bytes per picosecond, times bytes on the wire
	if served <= 0 {
		return 0
	}
	return int64(x.MeanQueueBytes * float64(x.TxBytes+x.TxPackets*int64(overhead)) / served)
}

// JSON encodes the path, indented, with a newline at the end.
func (p *Path) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(p)
	return b.Bytes(), err
}

// bandwidth writes a rate, or a dash.
func bandwidth(bps int64) string {
	if bps <= 0 {
		return "-"
	}
	return metrics.FormatRate(units.Rate(bps))
}
