package metrics

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/wire"
)

// Verbs as record.Message names them.
const (
	verbWrite    = "WRITE"
	verbWriteImm = "WRITE_IMM"
	verbSendImm  = "SEND_IMM"
	verbSendInv  = "SEND_INV"
	verbRead     = "READ"
	verbCAS      = "CMP_SWAP"
	verbAdd      = "FETCH_ADD"
)

// Reads reports whether a message's data goes from Dst to Src, as those of an
// RDMA READ do.
func Reads(f *record.Message) bool { return f.Verb == verbRead }

// atomic reports whether f is an atomic.
func atomic(f *record.Message) bool { return f.Verb == verbCAS || f.Verb == verbAdd }

// DataEnds are the endpoints that a message's data goes from and to.
func DataEnds(f *record.Message) (from, to string) {
	if Reads(f) {
		return f.Dst, f.Src
	}
	return f.Src, f.Dst
}

// Arrow names a message by its requester and responder, with an arrow the way
// its data goes: "h0 -> h4", for a READ "h4 <- h0".
func Arrow(f *record.Message) string {
	if Reads(f) {
		return f.Src + " <- " + f.Dst
	}
	return f.Src + " -> " + f.Dst
}

// headers is what the extended headers between BTH and payload take in the
// packets that carry a message's data: in the first, the last and an only one,
// and in every one beside that (IBTA 9.2).
type headers struct{ first, last, only, every int64 }

// fpduMore is what a segment of iWARP with a tagged FPDU has beyond a frame of RoCEv2: that FPDU's own, and the header
// of TCP with time stamps in place of UDP, BTH and ICRC.
const fpduMore = wire.MPALengthLen + wire.DDPTaggedLen + wire.MPACRCLen + 32 -
	(wire.UDPLen + wire.BTHLen + wire.ICRCLen)

func (x *index) headersOf(f *record.Message) (h headers) {
	if x.r.RETH == 0 && f.Verb == verbWrite {
		return h // the frames of a simulator that has none
	}
	if f.Is(catalog.Verbs | catalog.Segments) {
		return headers{every: fpduMore}
	}
	if f.Is(catalog.Datagrams) {
		h.every = wire.DETHLen
	}
	switch f.Verb {
	case verbWrite:
		h.first = int64(x.r.RETH)
	case verbWriteImm:
		h.first, h.last = int64(x.r.RETH), wire.ImmDtLen
	case verbSendImm:
		h.last = wire.ImmDtLen
	case verbSendInv:
		h.last = wire.IETHLen
	case verbRead: // an only response has one AETH
		return headers{first: wire.AETHLen, last: wire.AETHLen, only: wire.AETHLen}
	case verbCAS, verbAdd: // the operands stand in a header, not in a payload
		h.first = wire.AtomicETHLen - f.Bytes
	}
	h.only = h.first + h.last
	return h
}
