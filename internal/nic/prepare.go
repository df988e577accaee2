package nic

import (
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
)

// Preparation is what an application does before it can post: connect a queue
// pair on its first use, and register the memory of a message. The costs differ
// from host to host and are 0 unless stated.
type Preparation struct {
	Connect units.Time // set-up of a connection, RC or UC
	// Each registration takes Base, and PerPage for each page that it pins. A
	// message's pages are registered for it alone, or with Once the whole region
	// of its queue pair before the first. No registration with both 0.
	Base, PerPage units.Time
	PageSize      units.Bytes // a power of two
	Once          bool
}

// Prepared is what connecting the queue pair and registering its memory took before
// message id was posted.
func (h *Host) Prepared(id uint32) (connect, register units.Time) {
	t := h.prepared[id]
	return t[0], t[1]
}

// prepare returns what connecting and registering take before p can be posted.
// A payload that stands in the work request needs no registered memory.
func (h *Host) prepare(p *Post) (connect, register units.Time) {
	if p.QP&programQPs != 0 { // made when it is posted to, as nothing is to be prepared
		return 0, 0
	}
	s, c := &h.qps[p.QP], &h.preparation
	if !s.connected && h.specs[p.QP].Service != rdma.UD { // datagrams need no connection
		s.connected = true
		connect = c.Connect
	}
	if c.Base == 0 && c.PerPage == 0 || p.WR.Inline {
		return connect, 0
	}
	from, bytes := p.WR.VA, p.WR.Bytes
	if c.Once {
		if s.registered {
			return connect, 0
		}
		s.registered = true
		from, bytes = 0, h.specs[p.QP].Region
	}
	return connect, c.Base + units.Time(pages(from, bytes, c.PageSize))*c.PerPage
}

// pages is how many pages the bytes from an address on touch.
func pages(from uint64, bytes, size units.Bytes) int64 {
	if bytes == 0 {
		return 0
	}
	first, last := from/uint64(size), (from+uint64(bytes)-1)/uint64(size)
	return int64(last - first + 1)
}
