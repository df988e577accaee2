package wire

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Bytes of an Ethernet frame (IEEE 802.3 clause 3).
const (
	EthernetLen = 14 // destination, source, type
	FCSLen      = 4  // frame check sequence, after the payload
	PreambleLen = 8  // preamble and start frame delimiter
	GapLen      = 12 // inter-packet gap
	MinFrameLen = 64 // shortest frame, FCS included
)

// EtherTypes (IEEE 802 registration).
const (
	TypeIPv4       uint16 = 0x0800
	TypeVLAN       uint16 = 0x8100 // IEEE 802.1Q customer tag
	TypeIPv6       uint16 = 0x86dd
	TypeMACControl uint16 = 0x8808
)

// MAC is an Ethernet address, first byte on the wire first.
type MAC [6]byte

// String prints colon-separated hexadecimal.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// EthernetHeader is the header of an Ethernet frame.
type EthernetHeader struct {
	Dst, Src MAC
	Type     uint16 // EtherType
}

// ParseEthernet reads a header and returns the bytes after it.
func ParseEthernet(b []byte) (h EthernetHeader, rest []byte, err error) {
	if len(b) < EthernetLen {
		return h, b, truncated("Ethernet", EthernetLen, b)
	}
	h.Dst = MAC(b[0:6])
	h.Src = MAC(b[6:12])
	h.Type = binary.BigEndian.Uint16(b[12:14])
	return h, b[EthernetLen:], nil
}

// Append writes the header behind b.
func (h EthernetHeader) Append(b []byte) []byte {
	var a [EthernetLen]byte
	copy(a[0:6], h.Dst[:])
	copy(a[6:12], h.Src[:])
	binary.BigEndian.PutUint16(a[12:14], h.Type)
	return append(b, a[:]...)
}

// Len is EthernetLen.
func (h EthernetHeader) Len() int { return EthernetLen }

// FCS is the frame check sequence of a frame from destination address to the
// end of its payload (IEEE 802.3 3.2.9). It follows the payload, least
// significant byte first.
func FCS(frame []byte) uint32 { return crc32.ChecksumIEEE(frame) }
