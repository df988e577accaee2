package dma

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
)

// Chain is the way that data take from a memory to a card, from a card to a memory or
// from one memory to another, ready for use. It belongs to the engine that made it
// and is not to be used from several goroutines. A copy of it is another stream over the
// same links: each has its own place in memory to go on from, and its reads come in
// order.
type Chain struct {
	data []hop // the way of the data
	back []hop // the way of requests for them, from the reader to the memory
	tags *tags // of the reader; nil: not bounded
	// order is the hop into the first root complex, where writes to memories become
	// visible in order; -1: none.
	order int
	// access is what the memory takes from a request to the first data.
	access  units.Time
	latency units.Time  // of all links
	reads   bool        // a copy over it is one of reads: its engine is at the end
	mrrs    units.Bytes // of the reader
	turns   *Turns      // of copies over NVLink; nil: it leads over PCIe
	turning bool        // turns of copies over NVLink share a track of it
	memory  int         // number of the memory, for translations
	addr    uint64      // where the next access without an address goes
	ready   units.Time  // when the last read was there
}

// hop is one link of a chain, in one direction, or a memory.
type hop struct {
	// What every transfer needs stands first.
	track   *track
	latency units.Time
	iommu   *iommu // at its end; nil: none
	cost    cost
	piece   units.Bytes // what is passed on as soon as it is there
	kind    server.LinkKind

	pcie   pcie.Link
	tlp    units.Bytes // TLPs are cut to this at most; 0: MPS
	rate   units.Rate
	cached int // permille of the bytes that the last-level cache keeps from a memory
}

// cost is what n bytes cost on a hop, kept because most transfers are alike.
type cost struct {
	op    op
	n     units.Bytes
	bytes units.Bytes // on the link
	work  units.Time
	first units.Time // of the first piece
	end   units.Time // of the last piece
	last  units.Time // of what the last request for reads brings
}

// op is a direction of travel with its TLPs.
type op uint8

const (
	write op = iota + 1
	completion
	request
)

// sized is what n bytes cost; mrrs is the reader's.
func (h *hop) sized(o op, n, mrrs units.Bytes) *cost {
	if h.cost.n != n || h.cost.op != o {
		h.size(o, n, mrrs)
	}
	return &h.cost
}

// size works out what n bytes cost.
func (h *hop) size(o op, n, mrrs units.Bytes) {
	c := &h.cost
	c.op, c.n = o, n
	c.bytes = h.bytes(o, n, mrrs)
	c.work = h.rate.TxTimeLong(c.bytes)
	c.first, c.end, c.last = c.work, c.work, c.work
	switch {
	case o == request:
		c.first = h.rate.TxTimeLong(h.bytes(o, 1, mrrs))
		c.last = c.first
	default:
		if n > h.piece {
			c.first = h.rate.TxTimeLong(h.bytes(o, h.piece, mrrs))
			c.end = h.rate.TxTimeLong(h.bytes(o, n-(n-1)/h.piece*h.piece, mrrs))
		}
		if o == completion && n > mrrs {
			c.last = h.rate.TxTimeLong(h.bytes(o, n-(n-1)/mrrs*mrrs, mrrs))
		}
	}
}

// bytes is what n bytes take of a hop, on PCIe in whole TLPs.
func (h *hop) bytes(o op, n, mrrs units.Bytes) units.Bytes {
	switch {
	case h.kind != server.PCIe && o == request:
		return 0 // requests between sockets have channels of their own
	case h.kind == server.MemoryBus:
		return n - n*units.Bytes(h.cached)/1000
	case h.kind != server.PCIe:
		return n
	case o == request:
		l := h.pcie
		l.MRRS = mrrs
		return l.ReadRequestTLPs(n)
	case h.tlp > 0 && h.tlp < h.pcie.MPS && n > h.tlp:
		cut := n / h.tlp * h.packets(o, h.tlp)
		if rest := n % h.tlp; rest > 0 {
			cut += h.packets(o, rest)
		}
		return cut
	}
	return h.packets(o, n)
}

// packets is what n bytes take of a PCIe link in TLPs of its MPS.
func (h *hop) packets(o op, n units.Bytes) units.Bytes {
	if o == completion {
		return h.pcie.CompletionTLPs(n)
	}
	return h.pcie.WriteTLPs(n)
}

// Chain makes the chain from one device of the tree to another over PCIe. One end is
// a card or a GPU, the other a memory: a GPU or DRAM.
func (e *Engine) Chain(from, to int) (Chain, error) {
	path, err := e.tree.Path(from, to)
	if err != nil {
		return Chain{}, err
	}
	return e.compile(path, from, to), nil
}

// Through returns the chain with the last-level cache before its DRAM, which only so
// many permille of the bytes get to: those that a read does not find in the cache, or
// that are evicted after a write. It is another stream over the same links.
func (e *Engine) Through(c *Chain, permille int) Chain {
	out := *c
	out.data = append([]hop(nil), c.data...)
	for i := range out.data {
		if h := &out.data[i]; h.kind == server.MemoryBus {
			h.cached, h.cost = 1000-permille, cost{}
		}
	}
	if len(c.back) > 0 {
		gain := e.tree.Costs.DRAMRead - e.tree.Costs.LLCRead
		out.access -= gain * units.Time(1000-permille) / 1000
	}
	return out
}

// NVChain makes the chain from one GPU to another over NVLink.
func (e *Engine) NVChain(from, to int) (Chain, error) {
	path, ok := e.tree.NVPath(from, to)
	if !ok {
		return Chain{}, fmt.Errorf("no NVLink joins %s and %s", e.tree.Devices[from].Name, e.tree.Devices[to].Name)
	}
	c := e.compile(path, from, to)
	c.turns = e.turnsOver(&c)
	return c, nil
}

// compile makes a chain of a path.
func (e *Engine) compile(path []server.Hop, from, to int) Chain {
	c := Chain{order: -1, memory: from, access: e.access(from), tags: e.tags[to]}
	if e.memory(to) {
		c.memory = to
	}
	piece, peer := e.piece(path), e.peerTLP(path, from, to)
	above := false // the way has passed a root complex
	for i, p := range path {
		h := e.hop(p, piece)
		into := e.tree.Devices[e.tree.End(p)].Kind == server.Root
		if above {
			h.tlp = peer
		}
		if into && h.kind == server.PCIe && !above {
			h.iommu = e.iommus[e.tree.End(p)]
			if e.tree.Devices[to].Kind == server.DRAM {
				c.order = i
			}
		}
		above = above || into
		c.turning = c.turning || h.kind == server.HBM || h.kind == server.NVLink
		c.data = append(c.data, h)
		c.latency += h.latency
	}
	c.reads = e.tree.Devices[from].Kind == server.DRAM && e.tree.Devices[to].Kind == server.GPU
	if e.memory(from) {
		c.back, c.mrrs = e.requests(path, piece)
		c.access += c.data[0].latency // the request passes the memory's bus too
	}
	return c
}

// requests is the way of a path's requests for reads, back from its end, and the
// largest that the reader makes.
func (e *Engine) requests(path []server.Hop, piece units.Bytes) (back []hop, mrrs units.Bytes) {
	mrrs = pcie.DefaultMRRS
	for i := len(path) - 1; i >= 0; i-- {
		p := server.Hop{Link: path[i].Link, Forward: !path[i].Forward}
		h := e.hop(p, piece)
		switch {
		case h.kind == server.MemoryBus || h.kind == server.HBM:
			continue // its time is the access
		case h.kind != server.PCIe:
		case len(back) == 0:
			mrrs = h.pcie.MRRS
			fallthrough
		default:
			h.iommu = e.iommus[e.tree.End(p)]
		}
		back = append(back, h)
	}
	return back, mrrs
}

// hop makes one hop of a chain.
func (e *Engine) hop(p server.Hop, piece units.Bytes) hop {
	l := &e.tree.Links[p.Link]
	h := hop{track: e.track(p), latency: l.Latency, kind: l.Kind, pcie: l.PCIe, piece: piece, rate: l.Rate}
	if l.Kind == server.PCIe {
		h.rate = l.PCIe.TLPRate()
	}
	return h
}

// piece is what a device on a path passes on as soon as it has it: one TLP.
func (e *Engine) piece(path []server.Hop) units.Bytes {
	piece := pcie.DefaultMPS
	for _, p := range path {
		if l := &e.tree.Links[p.Link]; l.Kind == server.PCIe {
			piece = min(piece, l.PCIe.MPS)
		}
	}
	return piece
}

// peerTLP is to what a root complex on the way between two endpoints cuts writes.
func (e *Engine) peerTLP(path []server.Hop, from, to int) units.Bytes {
	if e.tree.Devices[from].Kind == server.DRAM || e.tree.Devices[to].Kind == server.DRAM {
		return 0
	}
	for _, p := range path {
		if d := &e.tree.Devices[e.tree.End(p)]; d.Kind == server.Root && d.PeerTLP > 0 {
			return d.PeerTLP
		}
	}
	return 0
}

// memory reports whether a device is one that data can lie in.
func (e *Engine) memory(dev int) bool {
	k := e.tree.Devices[dev].Kind
	return k == server.GPU || k == server.DRAM
}
