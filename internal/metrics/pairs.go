package metrics

import (
	"cmp"
	"slices"
	"sort"

	"github.com/hopscope/hopscope/internal/record"
)

// pairs finds queue pairs by host and number. A run may have millions, of which maps by
// name would take more room than the record of them; the list of a host is sorted.
type pairs struct {
	qps   []record.QP
	hosts map[string][]int32 // indices into qps, by number
	roles []role             // of each
}

// role is what a queue pair does, a bit each.
type role uint8

const (
	roleReads  role = 1 << iota // it posted READs
	roleWrites                  // it posted other verbs
	roleServes                  // it answers READs
)

func newPairs(qps []record.QP) *pairs {
	p := &pairs{qps: qps, hosts: map[string][]int32{}, roles: make([]role, len(qps))}
	for from := 0; from < len(qps); {
		host, to := qps[from].Host, from
		for to < len(qps) && qps[to].Host == host {
			to++
		}
		of := slices.Grow(p.hosts[host], to-from)
		for ; from < to; from++ {
			of = append(of, int32(from))
		}
		p.hosts[host] = of
	}
	byNumber := func(i, j int32) int { return cmp.Compare(qps[i].QP, qps[j].QP) }
	for _, of := range p.hosts {
		if !slices.IsSortedFunc(of, byNumber) {
			slices.SortStableFunc(of, byNumber)
		}
	}
	return p
}

// find returns the index of a queue pair in the record, -1 if it has none.
func (p *pairs) find(host string, qp int) int {
	of := p.hosts[host]
	k := sort.Search(len(of), func(k int) bool { return p.qps[of[k]].QP > qp }) - 1
	if k < 0 || p.qps[of[k]].QP != qp {
		return -1
	}
	return int(of[k])
}

// role returns the role of q, which is one of the record's.
func (x *index) role(q *record.QP) role {
	for _, k := range [...]int{x.last, x.last + 1} {
		if k < len(x.r.QPs) && &x.r.QPs[k] == q {
			x.last = k
			return x.pairs.roles[k]
		}
	}
	k := x.pairs.find(q.Host, q.QP)
	if k < 0 {
		return 0
	}
	x.last = k
	return x.pairs.roles[k]
}
