package netstack

import (
	"container/heap"
	"fmt"
	"time"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
)

// iss are our initial sequence numbers.
var iss = [2]uint32{1000, 2000}

// arrival is a segment on its way to endpoint to.
type arrival struct {
	at   time.Duration
	seq  int
	to   int
	p    packet.Packet
	side *packet.Side
}

type arrivals []arrival

func (a arrivals) Len() int { return len(a) }
func (a arrivals) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].seq < a[j].seq
}
func (a arrivals) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *arrivals) Push(x any)   { *a = append(*a, x.(arrival)) }
func (a *arrivals) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// profile is ours with what netstack does: it acknowledges nearly every segment,
// leaves 1420 of an MTU of 1500 bytes to data, has RACK and no proportional rate
// reduction, large buffers, and neither HyStart++ nor segmentation offload.
func profile(c *Case) (tcp.Config, error) {
	cfg, err := tcp.Preset("linux")
	if err != nil {
		return cfg, err
	}
	cfg.MSS, cfg.TSO, cfg.DelayedAck, cfg.PRR, cfg.Nagle = 1432, 0, 0, false, tcp.NagleOff
	cfg.CC.HyStart, cfg.CC.CubicLinux, cfg.CC.FriendlyOne = congestion.HyStartOff, false, false
	cfg.MaxAckDelay, cfg.ProbeSlack = 0, 0
	cfg.Send, cfg.Receive = tcp.Buffer{Initial: 4 << 20, Max: 4 << 20}, tcp.Buffer{Initial: 4 << 20, Max: 4 << 20}
	cfg.CC.Algorithm, err = congestion.WindowAlgorithmNamed(c.CC)
	if err != nil {
		return cfg, err
	}
	return cfg, cfg.Validate()
}

// ours is two of our endpoints and their link.
type ours struct {
	link
	c    [2]tcp.Conn
	now  time.Duration
	wire arrivals
	n    int
}

func ps(d time.Duration) units.Time { return units.Time(d) * units.Nanosecond }

// Ours runs a case with our endpoints.
func Ours(c *Case) (*Result, error) {
	cfg, err := profile(c)
	if err != nil {
		return nil, err
	}
	w := &ours{link: link{c: c}}
	for i := range w.c {
		w.c[i].Init(&cfg, packet.Packet{})
	}
	w.c[1].Listen()
	w.c[0].Open(0, iss[0])
	w.poll()
	var wrote, read int64
	for read < c.Bytes {
		if !w.step() {
			return nil, fmt.Errorf("ours: nothing happens any more after %d of %d bytes", read, c.Bytes)
		}
		wrote += w.c[0].Write(ps(w.now), c.Bytes-wrote)
		read += w.c[1].Read(ps(w.now), c.Bytes)
		w.poll()
	}
	return &Result{Trace: w.trace, Done: w.now}, nil
}

func (w *ours) poll() {
	for i := range w.c {
		for {
			var p packet.Packet
			if r, _ := w.c[i].Poll(ps(w.now), &p); r != tcp.Sent {
				break
			}
			w.transmit(i, &p)
		}
	}
}

func (w *ours) transmit(i int, p *packet.Packet) {
	s := Segment{At: w.now, From: i, Seq: p.PSN - iss[i], Len: int(p.Payload), SYN: p.Opcode&tcp.SYN != 0, FIN: p.Opcode&tcp.FIN != 0}
	if p.Opcode&tcp.ACK != 0 {
		s.Ack = p.AETH - iss[1-i]
	}
	at, ok := w.send(s, 20+tcp.HeaderLen(p)+int(p.Payload))
	if !ok {
		return
	}
	a := arrival{at: at, seq: w.n, to: 1 - i, p: *p}
	if side := w.c[i].PolledSide(); side != nil {
		copied := *side
		a.side = &copied
	}
	w.n++
	heap.Push(&w.wire, a)
}

// step runs the next event.
func (w *ours) step() bool {
	timer := min(w.c[0].Deadline(), w.c[1].Deadline())
	if len(w.wire) > 0 && ps(w.wire[0].at) <= timer {
		a := heap.Pop(&w.wire).(arrival)
		w.now = a.at
		w.c[a.to].Receive(ps(w.now), &a.p, a.side, iss[a.to])
		w.poll()
		return true
	}
	if timer == units.Never {
		return false
	}
	w.now = time.Duration((timer + units.Nanosecond - 1) / units.Nanosecond)
	for i := range w.c {
		if w.c[i].Deadline() <= ps(w.now) {
			w.c[i].Expire(ps(w.now))
		}
	}
	w.poll()
	return true
}
