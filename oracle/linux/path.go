// Package linux compares the TCP endpoint with that of the Linux kernel: one flow
// over the same path, in the kernel between two network namespaces in real time,
// with ours on a virtual clock.
package linux

import (
	"fmt"
	"time"

	"github.com/hopscope/hopscope/internal/rng"
)

// Path is what a flow is given: the same both ways, but that only data is lost.
type Path struct {
	CC    string        // "reno" or "cubic", the names in both
	Mbps  int64         // of IP packets
	RTT   time.Duration // without queueing
	Queue int64         // bytes that wait or are being sent; what finds no room is dropped
	Every int           // every n-th data segment is lost, retransmissions counted; 0: none
	Seed  uint64        // not 0: as many are lost, but at random
	For   time.Duration // from the SYN on
	MTU   int           // 0: 1500
}

func (p *Path) mtu() int {
	if p.MTU == 0 {
		return 1500
	}
	return p.MTU
}

func (p *Path) String() string {
	loss := "0"
	if p.Every > 0 {
		loss = fmt.Sprintf("1/%d", p.Every)
	}
	if p.Seed != 0 {
		loss += " random"
	}
	return fmt.Sprintf("%-5s %3d Mb/s %3d ms loss %s", p.CC, p.Mbps, p.RTT.Milliseconds(), loss)
}

// link is one direction of a path.
type link struct {
	path          *Path
	free          time.Duration // when all that entered has left
	data          int           // data segments that entered
	random        rng.Stream
	lost, dropped int
	sent          int // packets that were carried
}

func newLink(p *Path) *link {
	l := &link{path: p}
	if p.Seed != 0 {
		l.random = rng.New(p.Seed, "loss")
	}
	return l
}

// send puts an IP packet of n bytes on the link and says when it arrives; false:
// it does not.
func (l *link) send(now time.Duration, n int, data bool) (time.Duration, bool) {
	if data && l.loses() {
		l.lost++
		return 0, false
	}
	backlog := max(l.free-now, 0)
	if int64(backlog)*l.path.Mbps/8000+int64(n) > l.path.Queue {
		l.dropped++
		return 0, false
	}
	l.sent++
	l.free = now + backlog + time.Duration(int64(n)*8000/l.path.Mbps)
	return l.free + l.path.RTT/2, true
}

// loses counts a data segment and reports whether it is lost.
func (l *link) loses() bool {
	l.data++
	switch {
	case l.path.Every == 0:
		return false
	case l.path.Seed != 0:
		return l.random.IntN(l.path.Every) == 0
	}
	return l.data%l.path.Every == 0
}

// Result is what a side did.
type Result struct {
	Read    []int64       // bytes the receiver had read at the end of each tenth of the time
	Data    int           // data segments that left the sender
	Lost    int           // of these by the path's rule
	Dropped int           // of these by the full queue
	Again   int64         // sent again
	Acks    int           // segments without data that left the receiver
	Late    time.Duration // by how much the forwarder was, on average; and
	Later   time.Duration // at most
	Notes   string        // the kernel's counters
}

// tenths is how many parts the time has.
const tenths = 10

// goodput is the mean rate of what was read, in Mb/s.
func (r *Result) goodput(p *Path) float64 {
	return float64(r.Read[tenths-1]) * 8 / p.For.Seconds() / 1e6
}
