package metrics

import (
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Call is one remote procedure call: a request and the reply to it.
type Call struct {
	Workload       string
	Request, Reply int        // indices into record.Run.Messages
	StartPS        units.Time // post of the request
	// RequestPS is until the server had received the request, ThinkPS from then to
	// the post of the reply, ReplyPS from there until the client had received that;
	// LatencyPS is all three. Each is -1 while it is not over, or for ever.
	RequestPS, ThinkPS, ReplyPS, LatencyPS units.Time
}

// Calls condenses the remote procedure calls of one workload entry.
type Calls struct {
	Workload  string `json:"workload"`
	Calls     int    `json:"calls"`
	Completed int    `json:"completed"` // the client has the reply
	// LatencyPS is, of the completed ones, from the post of the request until the
	// client had received all of the reply.
	LatencyPS Quantiles `json:"latency_ps"`
}

// CallsOf pairs the requests and replies of a run, in the order of the requests.
func CallsOf(r *record.Run) []Call {
	reply := map[int]int{}
	for i := range r.Messages {
		if f := &r.Messages[i]; f.Reply {
			reply[f.Call] = i
		}
	}
	var out []Call
	for i := range r.Messages {
		f := &r.Messages[i]
		if f.Call == 0 || f.Reply {
			continue
		}
		if k, there := reply[f.Call]; there {
			out = append(out, newCall(r, i, k))
		}
	}
	return out
}

func newCall(r *record.Run, request, reply int) Call {
	q, p := &r.Messages[request], &r.Messages[reply]
	c := Call{Workload: q.Workload, Request: request, Reply: reply, StartPS: q.StartPS, RequestPS: q.DeliveredPS, ThinkPS: -1, ReplyPS: -1, LatencyPS: -1}
	if received := q.StartPS + q.DeliveredPS; c.RequestPS >= 0 && p.StartPS >= received && (p.StartPS < r.EndPS || p.DeliveredPS >= 0) {
		c.ThinkPS, c.ReplyPS = p.StartPS-received, p.DeliveredPS
	}
	if c.ReplyPS >= 0 {
		c.LatencyPS = c.RequestPS + c.ThinkPS + c.ReplyPS
	}
	return c
}

// CallLatency is the latency of all completed calls of a run, in ps.
func CallLatency(r *record.Run) Quantiles {
	var latency []int64
	for _, c := range CallsOf(r) {
		if c.LatencyPS >= 0 {
			latency = append(latency, int64(c.LatencyPS))
		}
	}
	return quantiles(latency, false)
}

// calls condenses the calls of each workload entry that has any, in the order in
// which the flows first name them.
func calls(r *record.Run) []Calls {
	var out []Calls
	var latency [][]int64
	at := map[string]int{}
	for _, c := range CallsOf(r) {
		k, known := at[c.Workload]
		if !known {
			k = len(out)
			at[c.Workload] = k
			out, latency = append(out, Calls{Workload: c.Workload}), append(latency, nil)
		}
		out[k].Calls++
		if c.LatencyPS >= 0 {
			out[k].Completed++
			latency[k] = append(latency[k], int64(c.LatencyPS))
		}
	}
	for k := range out {
		out[k].LatencyPS = quantiles(latency[k], false)
	}
	return out
}
