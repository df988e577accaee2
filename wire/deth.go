package wire

import "encoding/binary"

// DETHLen is the length of a datagram extended transport header in bytes.
const DETHLen = 8

// DETH is the datagram extended transport header (IBTA 9.3), on every packet
// of the unreliable datagram service.
type DETH struct {
	QKey  uint32
	SrcQP uint32 // 24 bits
}

// ParseDETH reads a header and returns the bytes after it. Reserved bits are
// ignored.
func ParseDETH(b []byte) (h DETH, rest []byte, err error) {
	if len(b) < DETHLen {
		return h, b, truncated("DETH", DETHLen, b)
	}
	h.QKey = binary.BigEndian.Uint32(b[0:4])
	h.SrcQP = binary.BigEndian.Uint32(b[4:8]) & 0xffffff
	return h, b[DETHLen:], nil
}

// Append writes the header behind b; SrcQP is cut to 24 bits.
func (h DETH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, h.QKey)
	return binary.BigEndian.AppendUint32(b, h.SrcQP&0xffffff)
}

// Len is DETHLen.
func (h DETH) Len() int { return DETHLen }
