package wire

import "encoding/binary"

// AtomicETHLen is the length of an atomic extended transport header in bytes.
const AtomicETHLen = 28

// AtomicETH is the atomic extended transport header (IBTA 9.3), on CmpSwap
// and FetchAdd requests.
type AtomicETH struct {
	VA      uint64 // virtual address at the responder, a multiple of 8
	RKey    uint32
	SwapAdd uint64 // CmpSwap: value to store; FetchAdd: value to add
	Compare uint64 // CmpSwap: value to compare with
}

// ParseAtomicETH reads a header and returns the bytes after it.
func ParseAtomicETH(b []byte) (h AtomicETH, rest []byte, err error) {
	if len(b) < AtomicETHLen {
		return h, b, truncated("AtomicETH", AtomicETHLen, b)
	}
	h.VA = binary.BigEndian.Uint64(b[0:8])
	h.RKey = binary.BigEndian.Uint32(b[8:12])
	h.SwapAdd = binary.BigEndian.Uint64(b[12:20])
	h.Compare = binary.BigEndian.Uint64(b[20:28])
	return h, b[AtomicETHLen:], nil
}

// Append writes the header behind b.
func (h AtomicETH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.VA)
	b = binary.BigEndian.AppendUint32(b, h.RKey)
	b = binary.BigEndian.AppendUint64(b, h.SwapAdd)
	return binary.BigEndian.AppendUint64(b, h.Compare)
}

// Len is AtomicETHLen.
func (h AtomicETH) Len() int { return AtomicETHLen }
