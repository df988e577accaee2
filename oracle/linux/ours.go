package linux

import (
	"container/heap"
	"fmt"
	"math/bits"
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

// receiveShare is how much of a receive buffer is payload, in 256ths: since Linux 6.5
// a full segment's payload over the memory that it takes (tcp_measure_rcv_mss), rounded
// down: a power of two for packet and shared info (tun's sk_buff has them in one), and
// 256 bytes. That is 1448 of 2304 bytes, or 8948 of 16640.
func receiveShare(mtu int) int64 {
	const header, info, sk = 52, 320 + 64, 256
	size := 1 << bits.Len(uint(mtu+info-1))
	return int64((mtu - header) * 256 / (size + sk))
}

// Profile is preset linux with the path's congestion control, for a kernel of 250
// ticks per second (TCP_TIMEOUT_MIN is two), and with the receive buffer of tun
// devices.
func Profile(p *Path) (tcp.Config, error) {
	cfg, err := tcp.Preset("linux")
	if err != nil {
		return cfg, err
	}
	cfg.MSS = p.mtu() - 40
	cfg.ProbeSlack = 8 * units.Millisecond
	cfg.Receive.Max = 6291456 * receiveShare(p.mtu()) / 256 // tcp_rmem
	cfg.CC.Algorithm, err = congestion.WindowAlgorithmNamed(p.CC)
	if err != nil {
		return cfg, err
	}
	return cfg, cfg.Validate()
}

// ours is two of our endpoints and their path.
type ours struct {
	l    [2]*link
	c    [2]tcp.Conn
	now  time.Duration
	wire arrivals
	n    int
}

func ps(d time.Duration) units.Time { return units.Time(d) * units.Nanosecond }

// Ours runs a path with our endpoints: the application at 0 writes what the socket
// takes, that at 1 reads what there is.
func Ours(p *Path, cfg *tcp.Config) (*Result, error) {
	w := &ours{l: [2]*link{newLink(p), newLink(p)}}
	for i := range w.c {
		w.c[i].Init(cfg, packet.Packet{})
	}
	w.c[1].Listen()
	w.c[0].Open(0, iss[0])
	w.poll()
	r := &Result{Read: make([]int64, tenths)}
	var read int64
	for {
		next, err := w.next()
		if err != nil {
			return nil, fmt.Errorf("%v after %d bytes", err, read)
		}
		for i := min(int(w.now*tenths/p.For), tenths-1); i < tenths && next > p.For*time.Duration(i+1)/tenths; i++ {
			r.Read[i] = read
		}
		if next > p.For {
			break
		}
		w.step(next)
		w.c[0].Write(ps(w.now), 1<<20)
		read += w.c[1].Read(ps(w.now), 1<<30)
		w.poll()
	}
	r.Data, r.Lost, r.Dropped = w.l[0].data, w.l[0].lost, w.l[0].dropped
	r.Acks = w.l[1].sent
	r.Again = w.c[0].Counters().Retransmitted
	return r, nil
}

// poll puts on the links what both ends have to send.
func (w *ours) poll() {
	for i := range w.c {
		for {
			var p packet.Packet
			if r, _ := w.c[i].Poll(ps(w.now), &p); r != tcp.Sent {
				break
			}
			for k := range tcp.Segments(&p) {
				var one packet.Packet
				tcp.Cut(&p, k, &one)
				w.transmit(i, &one)
			}
		}
	}
}

func (w *ours) transmit(i int, p *packet.Packet) {
	at, ok := w.l[i].send(w.now, 20+tcp.HeaderLen(p)+int(p.Payload), p.Payload > 0)
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

// timer is when an endpoint's next timer expires, rounded up to a nanosecond.
func (w *ours) timer() time.Duration {
	at := min(w.c[0].Deadline(), w.c[1].Deadline())
	return time.Duration(at/units.Nanosecond) + 1
}

// next is when something happens.
func (w *ours) next() (time.Duration, error) {
	at := w.timer()
	if len(w.wire) > 0 {
		at = min(at, w.wire[0].at)
	}
	if at > time.Duration(units.Never/units.Nanosecond) {
		return 0, fmt.Errorf("ours: nothing happens any more")
	}
	return max(at, w.now), nil
}

// step runs the event at that time.
func (w *ours) step(at time.Duration) {
	w.now = at
	if len(w.wire) > 0 && w.wire[0].at == at {
		a := heap.Pop(&w.wire).(arrival)
		w.c[a.to].Receive(ps(at), &a.p, a.side, iss[a.to])
		return
	}
	for i := range w.c {
		if w.c[i].Deadline() <= ps(at) {
			w.c[i].Expire(ps(at))
		}
	}
}
