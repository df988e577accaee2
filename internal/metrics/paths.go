package metrics

import (
	"slices"
	"sort"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

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

// anyClass stands for all classes of a port.
const anyClass = -1

// busy is when the requesters that leave by a port had something to do: each from its first
// post to its last completion.
type busy struct{ starts, ends []units.Time } // in order of time

// active is how many requesters that leave by a port in a class had something to do in the time
// that is asked about: who began later is not counted.
func (x *index) active(port record.PortID, class int) int {
	key := portClass{port, class}
	b := x.busy[key]
	if b == nil {
		b = &busy{}
		for _, i := range x.out(port) {
			if l := x.spans()[i]; l.to >= l.from && (class == anyClass || x.r.QPs[i].Limits.Class == class) {
				b.starts, b.ends = append(b.starts, l.from), append(b.ends, l.to)
			}
		}
		slices.Sort(b.starts)
		slices.Sort(b.ends)
		if x.busy == nil {
			x.busy = map[portClass]*busy{}
		}
		x.busy[key] = b
	}
	from, to := x.known.from, x.known.to
	if to == 0 {
		to = x.r.EndPS
	}
	begun := sort.Search(len(b.starts), func(k int) bool { return b.starts[k] >= to })
	ended := sort.Search(len(b.ends), func(k int) bool { return b.ends[k] > from })
	return max(begun-ended, 0)
}

// lifetime is from the first post of a queue pair's messages to the last completion.
type lifetime struct{ from, to units.Time }

// spans are the lifetimes of all queue pairs, those that post and those that answer; of one without messages it ends
// before it begins.
func (x *index) spans() []lifetime {
	if x.lives == nil {
		x.lives = make([]lifetime, len(x.r.QPs))
		for i := range x.lives {
			x.lives[i] = lifetime{units.Never, -1}
		}
		for i := range x.r.Messages {
			f := &x.r.Messages[i]
			end := x.r.EndPS
			if f.CompletionPS >= 0 {
				end = f.StartPS + f.CompletionPS
			}
			for _, of := range [...]func(*record.Message) (int, bool){x.requester, x.sender} {
				if k, ok := of(f); ok {
					x.lives[k].from, x.lives[k].to = min(x.lives[k].from, f.StartPS), max(x.lives[k].to, end)
				}
			}
		}
	}
	return x.lives
}

// class keeps those of the queue pairs whose data is of class c.
func (x *index) class(qps []int32, c int) (of []int32) {
	for _, i := range qps {
		if x.r.QPs[i].Limits.Class == c {
			of = append(of, i)
		}
	}
	return of
}
