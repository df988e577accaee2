package wire

import "encoding/binary"

// IPv4Len is the length of an IPv4 header without options, in bytes.
const IPv4Len = 20

// ProtocolUDP is the IP protocol number of UDP.
const ProtocolUDP = 17

// IPv4 is an IPv4 header (RFC 791) without options.
type IPv4 struct {
	DSCP       uint8  // differentiated services code point, 6 bits (RFC 2474)
	ECN        uint8  // 2 bits (RFC 3168): 0 not capable, 1 and 2 capable, 3 congestion experienced
	TotalLen   uint16 // bytes, header included
	ID         uint16
	DF, MF     bool   // do not fragment, more fragments
	FragOffset uint16 // 13 bits, in units of 8 bytes
	TTL        uint8
	Protocol   uint8
	Checksum   uint16 // HeaderChecksum, if intact
	Src, Dst   [4]byte
}

// ParseIPv4 reads a header and returns the bytes after it, whatever TotalLen
// says. A header with options is an error. The checksum is not verified.
func ParseIPv4(b []byte) (h IPv4, rest []byte, err error) {
	if len(b) < IPv4Len {
		return h, b, truncated("IPv4", IPv4Len, b)
	}
	if b[0] != 0x45 {
		return h, b, badIPv4(b[0])
	}
	h.DSCP, h.ECN = b[1]>>2, b[1]&3
	h.TotalLen = binary.BigEndian.Uint16(b[2:4])
	h.ID = binary.BigEndian.Uint16(b[4:6])
	frag := binary.BigEndian.Uint16(b[6:8])
	h.DF, h.MF, h.FragOffset = frag&0x4000 != 0, frag&0x2000 != 0, frag&0x1fff
	h.TTL, h.Protocol = b[8], b[9]
	h.Checksum = binary.BigEndian.Uint16(b[10:12])
	h.Src = [4]byte(b[12:16])
	h.Dst = [4]byte(b[16:20])
	return h, b[IPv4Len:], nil
}

func badIPv4(first uint8) error {
	if first>>4 != 4 {
		return badValue("IPv4", "version", int(first>>4), "4")
	}
	return badValue("IPv4", "header length", int(first&0xf)*4, "20 (options are not supported)")
}

// Append writes the header behind b. Values are cut to their fields' width;
// TotalLen and Checksum are written as they are.
func (h IPv4) Append(b []byte) []byte {
	var a [IPv4Len]byte
	a[0], a[1] = 0x45, h.DSCP<<2|h.ECN&3
	binary.BigEndian.PutUint16(a[2:4], h.TotalLen)
	binary.BigEndian.PutUint16(a[4:6], h.ID)
	binary.BigEndian.PutUint16(a[6:8], h.FragOffset&0x1fff)
	a[6] |= bit(h.DF, 0x40) | bit(h.MF, 0x20)
	a[8], a[9] = h.TTL, h.Protocol
	binary.BigEndian.PutUint16(a[10:12], h.Checksum)
	copy(a[12:16], h.Src[:])
	copy(a[16:20], h.Dst[:])
	return append(b, a[:]...)
}

// Len is IPv4Len.
func (h IPv4) Len() int { return IPv4Len }

// HeaderChecksum is what belongs in Checksum, given the other fields.
func (h IPv4) HeaderChecksum() uint16 {
	h.Checksum = 0
	var room [IPv4Len]byte
	return InternetChecksum(h.Append(room[:0]))
}
