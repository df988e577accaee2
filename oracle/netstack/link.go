// Package netstack compares the TCP endpoint with that of gVisor's netstack: the
// same transfer over the same link, on a virtual clock.
package netstack

import "time"

// Case is one transfer over one path.
type Case struct {
	Name   string
	CC     string        // "reno" or "cubic", the names in both
	Delay  time.Duration // each way
	Mbps   float64
	Bytes  int64        // sent from 0 to 1
	Drop   map[int]bool // which data segments from 0 to 1 are lost, from 1, retransmissions counted
	Ignore bool         // only looked at
}

// Segment is one segment as it entered the link. Sequence numbers count from the
// initial ones.
type Segment struct {
	At       time.Duration
	From     int
	Seq, Ack uint32
	Len      int
	SYN, FIN bool
	Lost     bool
}

// Result is what a side did.
type Result struct {
	Trace []Segment
	Done  time.Duration // when the last byte was read, from the SYN
}

// link is a rate with an endless queue and a delay, for each direction.
type link struct {
	c     *Case
	free  [2]time.Duration
	data  int
	trace []Segment
}

// send puts a segment of an IP packet of n bytes on the link at s.At and says when
// it arrives; false: it is lost.
func (l *link) send(s Segment, n int) (time.Duration, bool) {
	if s.From == 0 && s.Len > 0 {
		l.data++
		s.Lost = l.c.Drop[l.data]
	}
	l.trace = append(l.trace, s)
	if s.Lost {
		return 0, false
	}
	l.free[s.From] = max(l.free[s.From], s.At) + time.Duration(float64(n*8)/l.c.Mbps*1e3)
	return l.free[s.From] + l.c.Delay, true
}

// rounds is how many data segments left in each of the first n round trips since
// the first one.
func (r *Result) rounds(rtt time.Duration, n int) []int {
	counts := make([]int, n)
	first := time.Duration(-1)
	for _, s := range r.Trace {
		if s.From != 0 || s.Len == 0 {
			continue
		}
		if first < 0 {
			first = s.At
		}
		if k := int((s.At - first) / rtt); k < n {
			counts[k]++
		}
	}
	return counts
}

// repairs lists, for every lost segment, how long after it the same data left
// again; and how many segments left again in all.
func (r *Result) repairs() (after []time.Duration, again int) {
	seen := map[uint32]bool{}
	for i, s := range r.Trace {
		if s.From != 0 || s.Len == 0 {
			continue
		}
		if seen[s.Seq] {
			again++
		}
		seen[s.Seq] = true
		if !s.Lost {
			continue
		}
		for _, t := range r.Trace[i+1:] {
			if t.From == 0 && t.Len > 0 && t.Seq <= s.Seq && s.Seq < t.Seq+uint32(t.Len) {
				after = append(after, t.At-s.At)
				break
			}
		}
	}
	return after, again
}
