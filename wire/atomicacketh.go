package wire

import "encoding/binary"

// AtomicAckETHLen is the length of an atomic ACK extended transport header in
// bytes.
const AtomicAckETHLen = 8

// AtomicAckETH is the atomic ACK extended transport header (IBTA 9.3). It
// follows the AETH of an atomic acknowledgement.
type AtomicAckETH struct {
	Original uint64 // what the memory held before
}

// ParseAtomicAckETH reads a header and returns the bytes after it.
func ParseAtomicAckETH(b []byte) (h AtomicAckETH, rest []byte, err error) {
	if len(b) < AtomicAckETHLen {
		return h, b, truncated("AtomicAckETH", AtomicAckETHLen, b)
	}
	h.Original = binary.BigEndian.Uint64(b)
	return h, b[AtomicAckETHLen:], nil
}

// Append writes the header behind b.
func (h AtomicAckETH) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(b, h.Original)
}

// Len is AtomicAckETHLen.
func (h AtomicAckETH) Len() int { return AtomicAckETHLen }
