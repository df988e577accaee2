package run

import (
	"github.com/hopscope/hopscope/internal/workload"
)

// callers says of each connection whether it carries calls.
func callers(p *workload.Plan) []bool {
	carries := make([]bool, len(p.Conns))
	for i := range p.Series {
		m := &p.Series[i]
		carries[m.Conn] = carries[m.Conn] || m.Call > 0
	}
	return carries
}

// abandoned counts the messages that failed TCP connections still had, and the replies
// to those of them that were requests: nobody waits for them any more.
func (r *runner) abandoned() (n int) {
	for node, h := range r.Hosts {
		if h == nil {
			continue
		}
		for _, q := range h.Failures() {
			s := h.StreamOf(q)
			peer, at := r.Responders[s.Conn].Node, r.Responders[s.Conn].QP
			if peer == node && at == q {
				peer, at = r.Valid.Graph.HostOf(r.Valid.Plan.Conns[s.Conn].Src), r.Responders[s.Conn].Requester
			}
			far := r.Hosts[peer].StreamOf(at)
			lost := s.Posted - far.Reads - far.Copying
			n += lost
			if r.calls[s.Conn] && q == r.Responders[s.Conn].Requester && node == r.Valid.Graph.HostOf(r.Valid.Plan.Conns[s.Conn].Src) {
				n += lost
			}
		}
	}
	return n
}
