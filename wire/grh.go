package wire

import "encoding/binary"

// GRHLen is the length of a global route header in bytes.
const GRHLen = 40

// NextHeaderBTH is the next header code of an IBA transport header (IBTA 8.3).
const NextHeaderBTH = 0x1b

// GRH is the global route header (IBTA 8.3), laid out as an IPv6 header.
type GRH struct {
	TClass    uint8  // traffic class
	FlowLabel uint32 // 20 bits
	PayLen    uint16 // bytes after the GRH up to the last of the ICRC
	NxtHdr    uint8  // NextHeaderBTH
	HopLmt    uint8
	SGID      [16]byte
	DGID      [16]byte
}

// ParseGRH reads a header and returns the bytes after it, whatever PayLen says.
func ParseGRH(b []byte) (h GRH, rest []byte, err error) {
	if len(b) < GRHLen {
		return h, b, truncated("GRH", GRHLen, b)
	}
	if b[0]>>4 != 6 {
		return h, b, badValue("GRH", "IPVer", int(b[0]>>4), "6")
	}
	word := binary.BigEndian.Uint32(b)
	h.TClass, h.FlowLabel = uint8(word>>20), word&0xfffff
	h.PayLen = binary.BigEndian.Uint16(b[4:6])
	h.NxtHdr, h.HopLmt = b[6], b[7]
	h.SGID = [16]byte(b[8:24])
	h.DGID = [16]byte(b[24:40])
	return h, b[GRHLen:], nil
}

// Append writes the header behind b; FlowLabel is cut to 20 bits.
func (h GRH) Append(b []byte) []byte {
	var a [GRHLen]byte
	binary.BigEndian.PutUint32(a[0:4], 6<<28|uint32(h.TClass)<<20|h.FlowLabel&0xfffff)
	binary.BigEndian.PutUint16(a[4:6], h.PayLen)
	a[6], a[7] = h.NxtHdr, h.HopLmt
	copy(a[8:24], h.SGID[:])
	copy(a[24:40], h.DGID[:])
	return append(b, a[:]...)
}

// Len is GRHLen.
func (h GRH) Len() int { return GRHLen }
