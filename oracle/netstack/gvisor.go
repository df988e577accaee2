package netstack

import (
	"bytes"
	"container/heap"
	"fmt"
	"io"
	"math/rand"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// clock is netstack's clock: events in order of time, then of when they were set,
// run on the caller's goroutine.
type clock struct {
	now    time.Duration
	n      uint64
	events events
}

type event struct {
	at    time.Duration
	n     uint64
	run   func()
	index int // -1: not waiting
}

type events []*event

func (h events) Len() int { return len(h) }
func (h events) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].n < h[j].n
}
func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i]; h[i].index, h[j].index = i, j }
func (h *events) Push(x any) {
	e := x.(*event)
	e.index = len(*h)
	*h = append(*h, e)
}
func (h *events) Pop() any {
	e := (*h)[len(*h)-1]
	e.index = -1
	*h = (*h)[:len(*h)-1]
	return e
}

// Now implements tcpip.Clock.
func (c *clock) Now() time.Time { return time.Unix(0, 0).Add(c.now) }

// NowMonotonic implements tcpip.Clock.
func (c *clock) NowMonotonic() tcpip.MonotonicTime { return tcpip.MonotonicTime{}.Add(c.now) }

// AfterFunc implements tcpip.Clock.
func (c *clock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	t := &timer{c: c, run: f}
	t.e = c.after(d, f)
	return t
}

func (c *clock) after(d time.Duration, f func()) *event {
	c.n++
	e := &event{at: c.now + d, n: c.n, run: f}
	heap.Push(&c.events, e)
	return e
}

type timer struct {
	c   *clock
	run func()
	e   *event
}

// Stop implements tcpip.Timer.
func (t *timer) Stop() bool {
	if t.e.index < 0 {
		return false
	}
	heap.Remove(&t.c.events, t.e.index)
	return true
}

// Reset implements tcpip.Timer.
func (t *timer) Reset(d time.Duration) { t.Stop(); t.e = t.c.after(d, t.run) }

// random is a stack's source of randomness.
type random struct{ r *rand.Rand }

func (s random) Read(p []byte) (int, error) { return s.r.Read(p) }

type node struct {
	s    *stack.Stack
	ep   *channel.Endpoint
	addr tcpip.Address
	iss  uint32
}

func newNode(k *clock, last byte, cc string) (*node, error) {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
		Clock:              k,
		RandSource:         rand.NewSource(int64(last)),
		SecureRNG:          random{rand.New(rand.NewSource(100 + int64(last)))},
	})
	ep := channel.New(4096, 1500, "")
	if err := s.CreateNIC(1, ep); err != nil {
		return nil, fmt.Errorf("netstack: %v", err)
	}
	algorithm := tcpip.CongestionControlOption(cc)
	if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, &algorithm); err != nil {
		return nil, fmt.Errorf("netstack: congestion control %s: %v", cc, err)
	}
	addr := tcpip.AddrFrom4([4]byte{10, 0, 0, last})
	if err := s.AddProtocolAddress(1, tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: addr.WithPrefix()}, stack.AddressProperties{}); err != nil {
		return nil, fmt.Errorf("netstack: %v", err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})
	return &node{s: s, ep: ep, addr: addr}, nil
}

// gvisor is two stacks and their link.
type gvisor struct {
	link
	k *clock
	n [2]*node
}

// settle lets both stacks' goroutines finish what they have (Pause waits for them)
// and puts what they send on the link.
func (w *gvisor) settle() {
	for moved := true; moved; {
		for _, n := range w.n {
			n.s.Pause()
			n.s.Resume()
		}
		moved = w.pump(0)
		moved = w.pump(1) || moved
	}
}

func (w *gvisor) pump(from int) (moved bool) {
	for {
		p := w.n[from].ep.Read()
		if p == nil {
			return moved
		}
		moved = true
		v := p.ToView()
		b := bytes.Clone(v.AsSlice())
		v.Release()
		p.DecRef()
		ip := header.IPv4(b)
		th := header.TCP(ip.Payload())
		s := Segment{At: w.k.now, From: from, Len: int(ip.PayloadLength()) - int(th.DataOffset()),
			SYN: th.Flags().Contains(header.TCPFlagSyn), FIN: th.Flags().Contains(header.TCPFlagFin)}
		if s.SYN {
			w.n[from].iss = th.SequenceNumber()
		}
		s.Seq = th.SequenceNumber() - w.n[from].iss
		if th.Flags().Contains(header.TCPFlagAck) {
			s.Ack = th.AckNumber() - w.n[1-from].iss
		}
		if at, ok := w.send(s, len(b)); ok {
			w.k.after(at-w.k.now, func() {
				pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(b)})
				w.n[1-from].ep.InjectInbound(ipv4.ProtocolNumber, pkt)
				pkt.DecRef()
			})
		}
	}
}

func (w *gvisor) step() bool {
	if len(w.k.events) == 0 {
		return false
	}
	e := heap.Pop(&w.k.events).(*event)
	w.k.now = e.at
	e.run()
	w.settle()
	return true
}

// GVisor runs a case with netstack.
func GVisor(c *Case) (*Result, error) {
	w := &gvisor{link: link{c: c}, k: &clock{}}
	for i := range w.n {
		n, err := newNode(w.k, byte(i+1), c.CC)
		if err != nil {
			return nil, err
		}
		defer n.s.Destroy()
		w.n[i] = n
	}
	listener, client, err := w.sockets()
	if err != nil {
		return nil, err
	}
	var server tcpip.Endpoint
	var wrote, read int64
	chunk := make([]byte, 64<<10)
	for read < c.Bytes {
		if !w.step() || w.k.now > time.Hour {
			return nil, fmt.Errorf("netstack: nothing happens any more after %d of %d bytes", read, c.Bytes)
		}
		if server == nil {
			if n, _, err := listener.Accept(nil); err == nil {
				server = n
			}
		}
		wrote += w.write(client, chunk, c.Bytes-wrote)
		if server != nil {
			read += w.read(server)
		}
	}
	return &Result{Trace: w.trace, Done: w.k.now}, nil
}

func (w *gvisor) sockets() (listener, client tcpip.Endpoint, failed error) {
	var lq, cq waiter.Queue
	listener, err := w.n[1].s.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &lq)
	if err == nil {
		err = listener.Bind(tcpip.FullAddress{Port: 80})
	}
	if err == nil {
		err = listener.Listen(10)
	}
	if err == nil {
		client, err = w.n[0].s.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &cq)
	}
	if err == nil {
		err = client.Connect(tcpip.FullAddress{Addr: w.n[1].addr, Port: 80})
		if _, started := err.(*tcpip.ErrConnectStarted); started {
			err = nil
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("netstack: %v", err)
	}
	w.settle()
	return listener, client, nil
}

// write writes what the send buffer takes, up to n bytes.
func (w *gvisor) write(ep tcpip.Endpoint, chunk []byte, n int64) (wrote int64) {
	for wrote < n {
		k, err := ep.Write(bytes.NewReader(chunk[:min(int64(len(chunk)), n-wrote)]), tcpip.WriteOptions{})
		if k == 0 || err != nil {
			break
		}
		wrote += k
		w.settle()
	}
	return wrote
}

// read reads all there is.
func (w *gvisor) read(ep tcpip.Endpoint) (n int64) {
	for {
		r, err := ep.Read(io.Discard, tcpip.ReadOptions{})
		if err != nil {
			return n
		}
		n += int64(r.Count)
		w.settle()
	}
}
