package wire

import "encoding/binary"

// LRHLen is the length of a local route header in bytes.
const LRHLen = 8

// What follows a local route header (IBTA 7.7).
const (
	LNHRaw    uint8 = 0 // raw packet, no IBA transport
	LNHIPv6   uint8 = 1 // raw packet with an IPv6 header
	LNHLocal  uint8 = 2 // BTH
	LNHGlobal uint8 = 3 // GRH
)

// LRH is the local route header of an InfiniBand packet (IBTA 7.7).
type LRH struct {
	VL     uint8  // virtual lane, 4 bits
	LVer   uint8  // link version, 4 bits; 0
	SL     uint8  // service level, 4 bits
	LNH    uint8  // link next header, 2 bits
	DLID   uint16 // destination local identifier
	PktLen uint16 // words of 4 bytes from the first byte of the LRH to the last before the VCRC, 11 bits
	SLID   uint16 // source local identifier
}

// ParseLRH reads a header and returns the bytes after it, whatever PktLen says.
// Reserved bits are ignored.
func ParseLRH(b []byte) (h LRH, rest []byte, err error) {
	if len(b) < LRHLen {
		return h, b, truncated("LRH", LRHLen, b)
	}
	h.VL, h.LVer = b[0]>>4, b[0]&0xf
	h.SL, h.LNH = b[1]>>4, b[1]&3
	h.DLID = binary.BigEndian.Uint16(b[2:4])
	h.PktLen = binary.BigEndian.Uint16(b[4:6]) & 0x7ff
	h.SLID = binary.BigEndian.Uint16(b[6:8])
	return h, b[LRHLen:], nil
}

// Append writes the header behind b. Values are cut to their fields' width;
// reserved bits are 0.
func (h LRH) Append(b []byte) []byte {
	var a [LRHLen]byte
	a[0], a[1] = h.VL<<4|h.LVer&0xf, h.SL<<4|h.LNH&3
	binary.BigEndian.PutUint16(a[2:4], h.DLID)
	binary.BigEndian.PutUint16(a[4:6], h.PktLen&0x7ff)
	binary.BigEndian.PutUint16(a[6:8], h.SLID)
	return append(b, a[:]...)
}

// Len is LRHLen.
func (h LRH) Len() int { return LRHLen }
