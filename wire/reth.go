package wire

import "encoding/binary"

// RETHLen is the length of an RDMA extended transport header in bytes.
const RETHLen = 16

// RETH is the RDMA extended transport header (IBTA 9.3), on the first or only
// packet of an RDMA WRITE and on an RDMA READ request.
type RETH struct {
	VA     uint64 // virtual address at the responder
	RKey   uint32
	DMALen uint32 // bytes of the whole message, 0 to 2^31
}

// ParseRETH reads a header and returns the bytes after it.
func ParseRETH(b []byte) (h RETH, rest []byte, err error) {
	if len(b) < RETHLen {
		return h, b, truncated("RETH", RETHLen, b)
	}
	h.VA = binary.BigEndian.Uint64(b[0:8])
	h.RKey = binary.BigEndian.Uint32(b[8:12])
	h.DMALen = binary.BigEndian.Uint32(b[12:16])
	return h, b[RETHLen:], nil
}

// Append writes the header behind b.
func (h RETH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.VA)
	b = binary.BigEndian.AppendUint32(b, h.RKey)
	return binary.BigEndian.AppendUint32(b, h.DMALen)
}

// Len is RETHLen.
func (h RETH) Len() int { return RETHLen }
