package wire

import "encoding/binary"

// VLANLen is the length of an IEEE 802.1Q tag in bytes: the part after the
// EtherType 0x8100, and the type of what follows.
const VLANLen = 4

// VLAN is an IEEE 802.1Q tag (802.1Q 9.6).
type VLAN struct {
	PCP  uint8  // priority code point, 0 to 7
	DEI  bool   // drop eligible
	VID  uint16 // VLAN identifier, 12 bits; 0: priority only
	Type uint16 // EtherType of what follows
}

// ParseVLAN reads a tag and returns the bytes after it.
func ParseVLAN(b []byte) (h VLAN, rest []byte, err error) {
	if len(b) < VLANLen {
		return h, b, truncated("VLAN tag", VLANLen, b)
	}
	tci := binary.BigEndian.Uint16(b)
	h.PCP = uint8(tci >> 13)
	h.DEI = tci&0x1000 != 0
	h.VID = tci & 0x0fff
	h.Type = binary.BigEndian.Uint16(b[2:4])
	return h, b[VLANLen:], nil
}

// Append writes the tag behind b. Values are cut to their fields' width.
func (h VLAN) Append(b []byte) []byte {
	b = append(b, h.PCP<<5|bit(h.DEI, 0x10)|uint8(h.VID>>8)&0x0f, uint8(h.VID))
	return binary.BigEndian.AppendUint16(b, h.Type)
}

// Len is VLANLen.
func (h VLAN) Len() int { return VLANLen }
