package metrics

import (
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Work is what the messages of one workload entry gave the applications to do on
// either side: a verb that leaves the responders' at 0 needs no remote processor.
type Work struct {
	Workload string `json:"workload"`
	Verbs    string `json:"verbs"` // joined by commas, in the order in which they first come
	// Requesters post work requests and poll their completions; Responders poll
	// completions of receives and post receives in place of those that were taken.
	Requesters Side `json:"requesters"`
	Responders Side `json:"responders"`
}

// Side is one side's share.
type Side struct {
	Hosts []string   `json:"hosts"` // in the order of the record
	Posts int64      `json:"posts"`
	Polls int64      `json:"polls"`
	CPUPS units.Time `json:"cpu_ps"` // what that takes; 0 where no cost is stated
}

// work adds up the queue pairs of each workload entry.
func work(x *index) []Work {
	r := x.r
	out := []Work{}
	for _, m := range groupBy(r.Messages, func(f *record.Message) string { return f.Workload }) {
		if r.Messages[m[0]].Is(catalog.Streams) { // sockets: no work requests, no completions
			continue
		}
		w := Work{Workload: r.Messages[m[0]].Workload, Requesters: Side{Hosts: []string{}}, Responders: Side{Hosts: []string{}}}
		var verbs []string
		for _, i := range m {
			if f := &r.Messages[i]; !slices.Contains(verbs, f.Verb) {
				verbs = append(verbs, f.Verb)
			}
		}
		w.Verbs = strings.Join(verbs, ", ")
		out = append(out, w)
	}
	at := map[string]int{}
	for i := range out {
		at[out[i].Workload] = i
	}
	type side struct {
		entry     int
		responder bool
		host      string
	}
	listed := map[side]bool{}
	for i := range r.QPs {
		q := &r.QPs[i]
		k, known := at[q.Workload]
		if !known {
			continue
		}
		s, posts, polls := &out[k].Requesters, q.Posts, q.Polls
		responds := x.responder(q)
		if responds {
			s, posts, polls = &out[k].Responders, q.Reposts, q.Receives
		}
		if at := (side{k, responds, q.Host}); !listed[at] {
			listed[at] = true
			s.Hosts = append(s.Hosts, q.Host)
		}
		s.Posts += posts
		s.Polls += polls
		s.CPUPS += q.CPUPS
	}
	return out
}
