// Package metrics turns what a run wrote down into answers: who detected
// congestion, fed it back, slowed, held, recovered and rerouted; how the flows
// fared; and which ports were congested. It reads records and nothing else, so
// a summary can be made again from a saved run.
package metrics

import (
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Summary is everything a report says about a run, beyond the records
// themselves.
type Summary struct {
	Answers  []Answer `json:"-"` // in the order of Questions
	Messages Messages `json:"messages"`
	Entries  []Entry  `json:"workloads"` // in the order the flows first name them
	// Slowdowns are those of all messages by size, the smallest first.
	Slowdowns []Slowdown `json:"slowdowns,omitempty"`
	Calls     []Calls    `json:"rpcs,omitempty"` // of the entries that have remote procedure calls, in the same order
	Fairness  []Fairness `json:"fairness"`
	Work      []Work     `json:"work"`          // of applications, per workload entry in the same order
	CPU       []HostCPU  `json:"cpu,omitempty"` // of hosts whose cores did anything that costs time
	Totals    Totals     `json:"totals"`
	// Verdict is what dominates the run; nil: nothing does.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Waits are what messages waited for that nothing else shows, where it was more than a tenth of their time.
	Waits []Wait `json:"waits,omitempty"`
	// Pauses are the trees in which pauses, or waits for credits, spread.
	Pauses []PauseTree `json:"pause_trees,omitempty"`
	// Control are sentences on what the settings of congestion control meant; see Control.
	Control []string `json:"congestion_control,omitempty"`
	// Collectives are in the order of record.Run.Collectives.
	Collectives []Collective `json:"collectives,omitempty"`
	// Jobs are in the order of record.Run.Jobs.
	Jobs []JobFigures `json:"jobs,omitempty"`
	// Ports lists indices into record.Run.Ports, the most congested first.
	Ports []int `json:"-"`
	// Worst lists indices into record.Run.Messages, the slowest completed message
	// first; at most WorstMessages.
	Worst []int `json:"-"`
}

// WorstMessages is how many of the slowest messages a summary names.
const WorstMessages = 5

// Totals are sums over all ports and queue pairs.
type Totals struct {
	TxPackets     int64      `json:"tx_packets"`      // frames started, counted at every port that sent them
	TxBytes       int64      `json:"tx_bytes"`        // their frame bytes
	Delivered     int64      `json:"delivered_bytes"` // payload accepted in order by responders
	Marked        int64      `json:"marked"`
	PausesSent    int64      `json:"pauses_sent"`
	RefreshesSent int64      `json:"refreshes_sent"`
	ResumesSent   int64      `json:"resumes_sent"`
	HeldPS        units.Time `json:"held_ps"`   // sum over ports: paused with a frame waiting
	PausedPS      units.Time `json:"paused_ps"` // sum over ports: all paused time
	Dropped       int64      `json:"dropped"`
	DroppedBytes  int64      `json:"dropped_bytes"`
	CNPsSent      int64      `json:"cnps_sent"`
	CNPsReceived  int64      `json:"cnps_received"`
	RateCuts      int64      `json:"rate_cuts"`
	NAKsSent      int64      `json:"naks_sent"`
	Timeouts      int64      `json:"timeouts"`
	Retransmitted int64      `json:"retransmitted_packets"`
	ResentBytes   int64      `json:"retransmitted_bytes"` // their payload
	// HostWireBytes is what NICs put on the wire: frames of every kind with
	// preamble and gap.
	HostWireBytes int64 `json:"host_wire_bytes"`
}

// Summarise answers the six questions about r and condenses its flows and
// ports. It does not change r.
func Summarise(r *record.Run) *Summary { return SummariseIn(lang.English, r) }

// SummariseIn is Summarise with the sentences in a language.
func SummariseIn(l lang.Language, r *record.Run) *Summary {
	x := newIndexIn(l, r)
	s := &Summary{Totals: totals(r), Ports: congestedFirst(r.Ports)}
	s.Answers = x.answers(s.Totals)
	s.Messages = messages(r.Messages)
	s.Entries = entries(r.Messages)
	s.Slowdowns = Slowdowns(r.Messages)
	s.Calls = calls(r)
	s.Fairness = fairness(x)
	s.Work = work(x)
	s.CPU = hostCPU(r)
	s.Worst = worst(r.Messages)
	s.Control = control(l, r)
	s.Collectives, s.Jobs = Collectives(r), Jobs(r)
	s.Pauses = x.pauseTrees()
	j := x.judge()
	s.Verdict = x.verdict(j, s.Pauses)
	slowest := -1
	if len(s.Worst) > 0 {
		slowest = s.Worst[0]
	}
	s.Waits = x.waits(j, s.Verdict, slowest)
	return s
}

func totals(r *record.Run) Totals {
	var t Totals
	for i := range r.Ports {
		p := &r.Ports[i]
		t.TxPackets += p.TxPackets
		t.TxBytes += p.TxBytes
		t.Marked += p.Marked
		t.PausesSent += p.PausesSent
		t.RefreshesSent += p.RefreshesSent
		t.ResumesSent += p.ResumesSent
		t.HeldPS += p.HeldPS
		t.PausedPS += p.PausedPS
		t.Dropped += p.Dropped
		t.DroppedBytes += p.DroppedBytes
	}
	for i := range r.QPs {
		q := &r.QPs[i]
		t.Delivered += q.DeliveredBytes
		t.CNPsSent += q.CNPsSent
		t.CNPsReceived += q.CNPsReceived
		t.RateCuts += q.RateCuts
		t.NAKsSent += q.NAKsSent
		t.Timeouts += q.Timeouts
		t.Retransmitted += q.Retransmitted
		t.ResentBytes += q.RetransmittedBytes
	}
	t.HostWireBytes = hostWireBytes(r)
	return t
}

// hostWireBytes adds up what the ports of hosts sent; a host is a node with
// queue pairs.
func hostWireBytes(r *record.Run) (sum int64) {
	host := map[string]bool{}
	for i := range r.QPs {
		host[r.QPs[i].Host] = true
	}
	for i := range r.Ports {
		p := &r.Ports[i]
		if !host[p.Node] {
			continue
		}
		pfc := p.PausesSent + p.RefreshesSent + p.ResumesSent
		sum += p.TxBytes + pfc*int64(r.PFCFrame) + (p.TxPackets+pfc)*int64(r.WireOverhead)
	}
	return sum
}
