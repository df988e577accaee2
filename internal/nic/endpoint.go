package nic

import (
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// endpoint is what the card asks of the ends of connections of one kind: it gives them frames, asks them for
// frames in their turn, runs their timers, and has them write what they did. All else of the card, its ports,
// classes, turns, buffers and records, knows no kind: a new one implements this, and has a row in each function
// below. q is the slot of an end among those of the host, of this kind.
type endpoint interface {
	// ways adds to the ways of data inside a host with a server those that ends with memory m have of their own.
	ways(p *hostPath, m *MemoryPath, cpu *host.Spec)
	// post hands over a work request that the application has posted.
	post(now units.Time, p Post)
	// callsOn is the core on which an application posts by a call of the kernel, and what call that is, if any. (What
	// goes through an interface by pointer would lie on the heap.)
	callsOn(q uint32) (core int, by kernelCall)
	// deliver takes over a frame that came in at port i and is through the card's pipeline.
	deliver(now units.Time, i int, slot uint32)
	// poll returns the next frame of q, whose turn it is, for port p; 0: it has none now.
	poll(now units.Time, p *port, q uint32) uint32
	// nextFrame is the size of what poll would return first, or a bound of it.
	nextFrame(q uint32) uint32
	// paced ends a wait of q in its port's heap.
	paced(now units.Time, q uint32)
	// expire runs the timers of q that are due.
	expire(now units.Time, q uint32)
	// completes reports whether messages end where they are posted, by a completion; else where they are read.
	completes() bool
	// worked lets q go on, where the host has a server: the card has its next work request.
	worked(now units.Time, q uint32)
	// ran goes on with what a task is for that a core is through with: one of a kind of its own, or frames that a core
	// took from a receive queue.
	ran(now units.Time, t *host.Task)
	// repost posts a receive work request anew.
	repost(q uint32)
	// waiting is the number of receive work requests of q that no message has taken; negative: always enough.
	waiting(q uint32) int64
	// whole counts the messages that have arrived at q whole and in order, of which so many were counted before.
	whole(q uint32, before int) int
	// taken is the payload that q took in order.
	taken(q uint32) int64
	// rate is that of q now and the lowest so far, and window what it may have unacknowledged; 0: no limit.
	rate(now units.Time, q uint32) (rate, least units.Rate)
	window(q uint32) int64
	// held counts the frames that q holds and has not yet taken in.
	held(q uint32) int
	// counted is what q has counted so far. It changes nothing.
	counted(q uint32) record.QP
	// oldest is the first READ, by its number, that q may still answer.
	oldest(q uint32) uint32
	// timeouts are when its retransmission timer expired, of what is carried by TCP.
	timeouts(q uint32) []units.Time
	// record is what q did, up to now.
	record(now units.Time, q uint32) record.QP
	// ledger appends the acts of q; lossy has a bit per connection of which something was dropped.
	ledger(out []record.Entry, q uint32, lossy []uint64) []record.Entry
	// retire gives back what is not needed once the record is made.
	retire(q uint32)
}

// kernelCall is how an application posts through the kernel.
type kernelCall uint8

// Kinds of kernelCall.
const (
	noCall  kernelCall = iota // it posts by itself
	byWrite                   // it writes to a socket, whose account has what that costs
	byVerbs                   // it posts, and polls, verbs that the kernel carries out
)

// Kinds of endpoints.
const (
	verbsEnd    uint8 = iota // a queue pair: RC, UC or UD
	socketsEnd               // a TCP connection
	offloadsEnd              // a queue pair that is carried by TCP, which the card runs
	numEnds
)

// kindOf is the kind of an end.
func kindOf(s *QPSpec) uint8 {
	switch {
	case s.Stream != nil:
		return socketsEnd
	case s.Offload != nil:
		return offloadsEnd
	}
	return verbsEnd
}

// kindTaking is the kind whose ends take frames of a kind.
func kindTaking(k packet.Kind) uint8 {
	switch k {
	case packet.Segment:
		return socketsEnd
	case packet.Framed:
		return offloadsEnd
	}
	return verbsEnd
}

// newEndpoints makes the kinds for a host.
func newEndpoints(h *Host) [numEnds]endpoint {
	return [...]endpoint{verbsEnd: verbs{h}, socketsEnd: sockets{h}, offloadsEnd: offloads{h}}
}

// end is what slot q is an end of.
func (h *Host) end(q uint32) endpoint { return h.kinds[h.qps[q].kind] }
