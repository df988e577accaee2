package metrics

import "github.com/hopscope/hopscope/internal/record"

// paths lists requesters (indices into QPs) by the ports of their paths.
type paths struct {
	out, in byPort // that they leave by, and arrive at
}

// byPort lists queue pairs by port, in order. They are counted before they are listed, as
// there may be millions.
type byPort struct {
	count map[record.PortID]int
	list  map[record.PortID][]int32
}

func (b *byPort) add(port record.PortID, qp int) {
	of := b.list[port]
	if of == nil {
		of = make([]int32, 0, b.count[port])
	}
	b.list[port] = append(of, int32(qp))
}

func newPaths(qps []record.QP) *paths {
	p := &paths{out: byPort{map[record.PortID]int{}, map[record.PortID][]int32{}}, in: byPort{map[record.PortID]int{}, map[record.PortID][]int32{}}}
	for i := range qps {
		l := &qps[i].Limits
		for _, h := range l.Path {
			p.out.count[h.Port]++
			p.in.count[h.Peer]++
		}
	}
	for i := range qps {
		for _, h := range qps[i].Limits.Path {
			p.out.add(h.Port, i)
			p.in.add(h.Peer, i)
		}
	}
	return p
}

// along returns the paths, which are looked up when someone asks first.
func (x *index) along() *paths {
	if x.paths == nil {
		x.paths = newPaths(x.r.QPs)
	}
	return x.paths
}

// out lists the requesters that leave by a port, in those that arrive at it.
func (x *index) out(port record.PortID) []int32 { return x.along().out.list[port] }
func (x *index) in(port record.PortID) []int32  { return x.along().in.list[port] }

// class keeps those of the queue pairs whose data is of class c.
func (x *index) class(qps []int32, c int) (of []int32) {
	for _, i := range qps {
		if x.r.QPs[i].Limits.Class == c {
			of = append(of, i)
		}
	}
	return of
}
