package wire

import "encoding/binary"

// UDPLen is the length of a UDP header in bytes.
const UDPLen = 8

// RoCEv2Port is the UDP destination port of RoCEv2 (IANA, IBTA annex A17).
const RoCEv2Port = 4791

// UDP is a UDP header (RFC 768).
type UDP struct {
	SrcPort, DstPort uint16
	Length           uint16 // bytes, header included
	Checksum         uint16 // 0: none
}

// ParseUDP reads a header and returns the bytes after it, whatever Length says.
func ParseUDP(b []byte) (h UDP, rest []byte, err error) {
	if len(b) < UDPLen {
		return h, b, truncated("UDP", UDPLen, b)
	}
	h.SrcPort = binary.BigEndian.Uint16(b[0:2])
	h.DstPort = binary.BigEndian.Uint16(b[2:4])
	h.Length = binary.BigEndian.Uint16(b[4:6])
	h.Checksum = binary.BigEndian.Uint16(b[6:8])
	return h, b[UDPLen:], nil
}

// Append writes the header behind b, Length and Checksum as they are.
func (h UDP) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, h.SrcPort)
	b = binary.BigEndian.AppendUint16(b, h.DstPort)
	b = binary.BigEndian.AppendUint16(b, h.Length)
	return binary.BigEndian.AppendUint16(b, h.Checksum)
}

// Len is UDPLen.
func (h UDP) Len() int { return UDPLen }
