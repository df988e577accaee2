package wire

import "encoding/binary"

// ImmDtLen is the length of immediate data in bytes.
const ImmDtLen = 4

// ImmDt is the immediate data extended transport header (IBTA 9.3), on the
// last or only packet of a SEND or RDMA WRITE with immediate.
type ImmDt struct {
	Data uint32 // handed to the receiver's completion
}

// ParseImmDt reads a header and returns the bytes after it.
func ParseImmDt(b []byte) (h ImmDt, rest []byte, err error) {
	if len(b) < ImmDtLen {
		return h, b, truncated("ImmDt", ImmDtLen, b)
	}
	h.Data = binary.BigEndian.Uint32(b)
	return h, b[ImmDtLen:], nil
}

// Append writes the header behind b.
func (h ImmDt) Append(b []byte) []byte { return binary.BigEndian.AppendUint32(b, h.Data) }

// Len is ImmDtLen.
func (h ImmDt) Len() int { return ImmDtLen }
