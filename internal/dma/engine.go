// Package dma moves bytes inside one server: reads and writes of network cards and
// copies of GPUs, over the links of the server's tree and in and out of its memories.
// It is a pure model: time is an argument, and a call answers at once when the bytes
// will be there.
//
// Every direction of a link and every memory carries one transfer at a time, at its
// rate, in the order of the calls. A transfer reserves the links of its way one after
// the other; a link passes on each TLP when it has it whole. So that packets of
// several queue pairs and cards share a link as they do in hardware, a call moves a
// packet or a chunk, not a message.
package dma

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
)

// Engine is the inside of one server at run time. Calls come in the order of time.
type Engine struct {
	tree   *server.Tree
	tracks []track // per link two: against and along its direction; a memory has one
	tags   []*tags // per device; nil: it has no bound
	iommus []*iommu
	// engines are the copy engines of GPUs, one out of and one into each device: when
	// each is free.
	engines []copyEngine
	drams   []int // links to the memories of root complexes
	// now is when the latest call was made; copies may be asked for ahead of it.
	now     units.Time
	turns   []*Turns
	passes  []*pass // of turns, those that differ
	catchUp func()  // see Before
}

// New returns the inside of a server, with nothing on its way. The tree must have
// passed its checks; it is not changed and may be shared.
func New(t *server.Tree) *Engine {
	e := &Engine{tree: t, tracks: make([]track, 2*len(t.Links)),
		tags: make([]*tags, len(t.Devices)), iommus: make([]*iommu, len(t.Devices)),
		engines: make([]copyEngine, 2*len(t.Devices))}
	for i := range t.Links {
		switch t.Links[i].Kind {
		case server.MemoryBus:
			e.drams = append(e.drams, i)
		case server.PCIe:
			if n := t.Costs.PostedCredits; n > 0 {
				e.tracks[2*i].posted, e.tracks[2*i+1].posted = &window{size: n}, &window{size: n}
			}
		}
	}
	for i := range t.Devices {
		switch d := &t.Devices[i]; {
		case d.Kind == server.NIC && t.Costs.ReadTags > 0:
			e.tags[i] = &tags{answered: make([]units.Time, t.Costs.ReadTags)}
		case d.Kind == server.Root && t.IOMMU:
			c := &t.Costs
			e.iommus[i] = newIOMMU(c.IOTLBEntries, c.PageWalkers, c.IOTLBPage, c.IOTLBMiss)
		}
	}
	return e
}

// Tree is the tree that the engine was made of.
func (e *Engine) Tree() *server.Tree { return e.tree }

// track is that of a hop. Both directions of a memory share one.
func (e *Engine) track(p server.Hop) *track {
	k := e.tree.Links[p.Link].Kind
	if p.Forward && k != server.MemoryBus && k != server.HBM {
		return &e.tracks[2*p.Link+1]
	}
	return &e.tracks[2*p.Link]
}

// access is what a memory takes from a request to its first data.
func (e *Engine) access(dev int) units.Time {
	switch e.tree.Devices[dev].Kind {
	case server.GPU:
		return e.tree.Costs.HBMRead
	case server.DRAM:
		return e.tree.Costs.DRAMRead
	}
	return 0
}

// Read is a DMA read of n bytes by the device at the end of the chain. The requests go
// to the memory, as many at a time as the reader has tags; their data come back. It
// returns when the last byte is there, and all that was read before over the chain. Data are read on from where the chain's last
// access ended.
func (e *Engine) Read(now units.Time, c *Chain, n units.Bytes) (ready units.Time) {
	addr := c.addr
	c.addr += uint64(n)
	return e.ReadAt(now, c, addr, n)
}

// ReadAt is Read from an address in the memory, of which only the page matters.
func (e *Engine) ReadAt(now units.Time, c *Chain, addr uint64, n units.Bytes) (ready units.Time) {
	e.now = now
	return e.readFrom(now, c, addr, n)
}

// Fetch rings a doorbell by a store of some bytes, at which the card reads n bytes over
// the chain from its DRAM. It returns when it has them.
func (e *Engine) Fetch(now units.Time, c *Chain, doorbell, n units.Bytes) (ready units.Time) {
	seen := e.Doorbell(now, c, doorbell)
	addr := c.addr
	c.addr += uint64(n)
	return e.readFrom(seen, c, addr, n)
}

// readFrom is a read that begins at a time.
func (e *Engine) readFrom(at units.Time, c *Chain, addr uint64, n units.Bytes) (ready units.Time) {
	ready = max(at, c.ready)
	for n > 0 {
		part := n
		if c.tags != nil {
			part = min(part, c.mrrs*units.Bytes(len(c.tags.answered)))
		}
		ready = max(ready, e.read(at, c, addr, part))
		addr += uint64(part)
		n -= part
	}
	c.ready = ready
	return ready
}

// flow is how far a transfer has got: the first piece of it, the first piece of what
// the last request brings, and all of it are at the next link.
type flow struct{ head, last, tail units.Time }

// read reads what the reader has tags for.
func (e *Engine) read(at units.Time, c *Chain, addr uint64, n units.Bytes) units.Time {
	e.before(c)
	f := flow{at, at, at}
	m := 1
	if c.tags != nil {
		m = int((n + c.mrrs - 1) / c.mrrs)
		f.head, f.last = c.tags.take(at, m)
		f.tail = f.last
	}
	e.ask(c, &f, addr, n)
	f.head, f.last, f.tail = f.head+c.access, f.last+c.access, f.last+c.access
	slowest := units.Time(0)
	for i := range c.data {
		h := &c.data[i]
		x := h.sized(completion, n, c.mrrs)
		start, end := h.track.reserve(e.now, f.head, x.work, reading)
		h.track.carried.note(f.head, start, x, n)
		end = max(end, f.last+x.last, f.tail+x.end)
		f.head = start + x.first + h.latency
		f.last = max(f.last, start) + x.first + h.latency
		f.tail = end + h.latency
		slowest = max(slowest, x.last-x.first)
	}
	if c.tags != nil {
		c.tags.answer(m, min(f.head+slowest, f.tail), f.tail)
	}
	return f.tail
}

// ask carries the requests for n bytes to the memory. They do not pass posted writes.
func (e *Engine) ask(c *Chain, f *flow, addr uint64, n units.Bytes) {
	var before *track
	for i := range c.back {
		h := &c.back[i]
		x := h.sized(request, n, c.mrrs)
		at := f.head
		if before != nil {
			at = max(at, before.behind(h.track))
		}
		start, end := h.track.slip(e.now, at, x.work)
		h.track.carried.note(at, start, x, 0)
		f.last = max(f.last+x.last, end) + h.latency
		f.head = start + x.first + h.latency
		if h.iommu != nil {
			first, last := h.iommu.translate(f.head, c.memory, addr, n)
			f.head, f.last = first, max(f.last, last)
		}
		before = h.track
	}
}

// Write is a posted write of n bytes by the device at the start of the chain. It is
// accepted when the writer has sent the last byte, which credits of the receivers on
// the way may delay, and done when that is in memory. Data are written on from where
// the chain's last access ended.
func (e *Engine) Write(now units.Time, c *Chain, n units.Bytes) (accepted, done units.Time) {
	addr := c.addr
	c.addr += uint64(n)
	return e.WriteAt(now, c, addr, n)
}

// WriteAt is Write to an address in the memory, of which only the page matters.
func (e *Engine) WriteAt(now units.Time, c *Chain, addr uint64, n units.Bytes) (accepted, done units.Time) {
	e.now, accepted, done = now, now, now
	for n > 0 {
		part := min(n, longestWrite)
		a, d := e.write(now, accepted, c, addr, part)
		accepted, done = max(accepted, a), max(done, d)
		addr += uint64(part)
		n -= part
	}
	return accepted, done
}

// longestWrite is the unit of posted writes: less than any receiver's credits.
const longestWrite = 4 * units.KiB

// write is a write asked for now that may begin at a time.
func (e *Engine) write(now, at units.Time, c *Chain, addr uint64, n units.Bytes) (accepted, done units.Time) {
	e.before(c)
	relaxed := e.tree.Relaxed
	f := flow{at, at, at}
	var before *track
	for i := range c.data {
		h := &c.data[i]
		t := h.track
		x := h.sized(write, n, c.mrrs)
		at := f.head
		if before != nil && !relaxed {
			at = max(at, before.behind(t))
		}
		var room flow
		if t.posted != nil {
			room = t.room(now, h.piece, n)
		}
		start, end := t.turn(e.now, max(at, room.head), x.work)
		t.carried.note(at, start, x, n)
		t.carried.Credits += max(room.head-at, 0)
		end = max(end, f.tail+x.end, room.tail+x.end)
		if before != nil {
			before.leave(t, i-1 == c.order, start, end, n)
		} else {
			accepted = end
		}
		f.head, f.tail = start+x.first+h.latency, end+h.latency
		if h.iommu != nil {
			first, last := h.iommu.translate(f.head, c.memory, addr, n)
			f.tail = max(f.tail+first-f.head, last)
			f.head = first
		}
		before = t
	}
	return accepted, c.place(&f, n, relaxed)
}

// leave notes that a write goes on over another track from the buffer at the end of
// this. Where writes are put in order it stays until it is in memory.
func (t *track) leave(to *track, ordered bool, start, end units.Time, n units.Bytes) {
	t.went(to, end)
	if t.posted != nil && !ordered {
		t.posted.hold(n, start, end)
	}
}

// place ends a write whose last byte has come to its memory. Writes to memories that
// came over the same link into a root complex become visible in order.
func (c *Chain) place(f *flow, n units.Bytes, relaxed bool) (done units.Time) {
	last := c.data[len(c.data)-1].track
	done = f.tail
	if c.order >= 0 {
		last = c.data[c.order].track
		if !relaxed {
			done = max(done, last.placed)
			last.placed = done
		}
	}
	if last.posted != nil {
		last.posted.hold(n, min(f.head, done), done)
	}
	return done
}

// Copy moves n bytes, a chunk of a larger transfer, by a copy engine of the GPU at one
// end of the chain or over NVLink. Over PCIe it takes turns with what the cards move
// meanwhile, and may be asked for ahead of the time at which it begins. It returns when
// the last byte is there.
func (e *Engine) Copy(now units.Time, c *Chain, n units.Bytes) (done units.Time) {
	if n <= 0 {
		return now
	}
	e.before(c)
	nvlink := c.turns != nil
	if nvlink {
		e.now = now
	}
	o, f := write, flow{now, now, now}
	if c.reads {
		o = completion
		e.ask(c, &f, c.addr, min(n, c.mrrs))
		f.head += c.access
		f.tail = f.head
	}
	c.addr += uint64(n)
	span := units.Time(0)
	for i := 0; i < len(c.data) && !nvlink; i++ {
		span = max(span, c.data[i].sized(o, n, c.mrrs).work)
	}
	for i := range c.data {
		h := &c.data[i]
		x := h.sized(o, n, c.mrrs)
		var start, end units.Time
		if nvlink {
			start, end = h.track.reserve(e.now, f.head, x.work, turning)
		} else {
			start, end = h.track.bulk(e.now, f.head, x.work, span)
		}
		h.track.carried.note(f.head, start, x, n)
		f.head, f.tail = start+x.first+h.latency, max(end, f.tail+x.end)+h.latency
	}
	return f.tail
}

// Doorbell is a write of n bytes by a core to the card at the end of a chain that
// starts at the card's DRAM: it leaves the core and passes the links from the root
// complex on. It returns when the card has seen it.
func (e *Engine) Doorbell(now units.Time, c *Chain, n units.Bytes) (seen units.Time) {
	e.now = now
	f := flow{head: now + e.tree.Costs.Doorbell}
	for i := range c.data {
		h := &c.data[i]
		if h.kind == server.MemoryBus {
			continue
		}
		x := h.sized(write, n, c.mrrs)
		start, _ := h.track.reserve(e.now, f.head, x.work, asking)
		h.track.carried.note(f.head, start, x, n)
		f.head = start + x.work + h.latency
	}
	return f.head
}

// Sockets is how many root complexes with a memory the server has: the sockets, or NUMA
// nodes, of its host.
func (e *Engine) Sockets() int { return len(e.drams) }

// Socket is the number of the socket that a device hangs off, from 0; -1 if it has none.
func (e *Engine) Socket(dev int) int {
	dram := e.tree.DRAMOf(dev)
	for i, l := range e.drams {
		if e.tree.Links[l].B == dram {
			return i
		}
	}
	return -1
}

// Move passes n bytes of a core's copy, which takes the core a time, through the memory
// of a socket, beside the cards' transfers, and returns when they are through. It
// implements host.Memory.
func (e *Engine) Move(now units.Time, socket int, n units.Bytes, over units.Time) units.Time {
	link := e.drams[socket]
	t := &e.tracks[2*link]
	work := e.tree.Links[link].Rate.TxTimeLong(n)
	start, end := t.bulk(now, now, work, max(work, over))
	t.carried.note(now, start, &cost{bytes: n, work: work}, n)
	return end
}

// LinkUse is what went over one direction of a link of the tree, or through a memory
// in both.
type LinkUse struct {
	Link    int  // index into the tree's links
	Forward bool // from A to B
	Memory  bool // both directions
	Name    string
	Carried
}

// Links lists what every link has carried so far, by index, against its direction
// before along it.
func (e *Engine) Links() []LinkUse {
	e.count()
	var out []LinkUse
	for i := range e.tree.Links {
		l := &e.tree.Links[i]
		memory := l.Kind == server.MemoryBus || l.Kind == server.HBM
		a, b := e.tree.Devices[l.A].Name, e.tree.Devices[l.B].Name
		if memory {
			out = append(out, LinkUse{Link: i, Memory: true, Name: fmt.Sprintf("memory of %s", b), Carried: e.tracks[2*i].carried})
			continue
		}
		out = append(out, LinkUse{Link: i, Name: b + " to " + a, Carried: e.tracks[2*i].carried},
			LinkUse{Link: i, Forward: true, Name: a + " to " + b, Carried: e.tracks[2*i+1].carried})
	}
	return out
}
