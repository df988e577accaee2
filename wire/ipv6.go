package wire

import "encoding/binary"

// IPv6Len is the length of an IPv6 header in bytes.
const IPv6Len = 40

// IPv6 is an IPv6 header (RFC 8200).
type IPv6 struct {
	DSCP       uint8  // 6 bits (RFC 2474)
	ECN        uint8  // 2 bits (RFC 3168)
	FlowLabel  uint32 // 20 bits
	PayloadLen uint16 // bytes after this header
	NextHeader uint8  // ProtocolUDP, or an extension header
	HopLimit   uint8
	Src, Dst   [16]byte
}

// ParseIPv6 reads a header and returns the bytes after it, whatever PayloadLen
// says.
func ParseIPv6(b []byte) (h IPv6, rest []byte, err error) {
	if len(b) < IPv6Len {
		return h, b, truncated("IPv6", IPv6Len, b)
	}
	if b[0]>>4 != 6 {
		return h, b, badValue("IPv6", "version", int(b[0]>>4), "6")
	}
	word := binary.BigEndian.Uint32(b)
	h.DSCP, h.ECN = uint8(word>>22)&0x3f, uint8(word>>20)&3
	h.FlowLabel = word & 0xfffff
	h.PayloadLen = binary.BigEndian.Uint16(b[4:6])
	h.NextHeader, h.HopLimit = b[6], b[7]
	h.Src = [16]byte(b[8:24])
	h.Dst = [16]byte(b[24:40])
	return h, b[IPv6Len:], nil
}

// Append writes the header behind b. Values are cut to their fields' width.
func (h IPv6) Append(b []byte) []byte {
	var a [IPv6Len]byte
	word := 6<<28 | uint32(h.DSCP&0x3f)<<22 | uint32(h.ECN&3)<<20 | h.FlowLabel&0xfffff
	binary.BigEndian.PutUint32(a[0:4], word)
	binary.BigEndian.PutUint16(a[4:6], h.PayloadLen)
	a[6], a[7] = h.NextHeader, h.HopLimit
	copy(a[8:24], h.Src[:])
	copy(a[24:40], h.Dst[:])
	return append(b, a[:]...)
}

// Len is IPv6Len.
func (h IPv6) Len() int { return IPv6Len }
