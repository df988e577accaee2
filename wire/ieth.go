package wire

import "encoding/binary"

// IETHLen is the length of an invalidate extended transport header in bytes.
const IETHLen = 4

// IETH is the invalidate extended transport header (IBTA 9.3), on the last or
// only packet of a SEND with invalidate.
type IETH struct {
	RKey uint32 // to be invalidated at the responder
}

// ParseIETH reads a header and returns the bytes after it.
func ParseIETH(b []byte) (h IETH, rest []byte, err error) {
	if len(b) < IETHLen {
		return h, b, truncated("IETH", IETHLen, b)
	}
	h.RKey = binary.BigEndian.Uint32(b)
	return h, b[IETHLen:], nil
}

// Append writes the header behind b.
func (h IETH) Append(b []byte) []byte { return binary.BigEndian.AppendUint32(b, h.RKey) }

// Len is IETHLen.
func (h IETH) Len() int { return IETHLen }
