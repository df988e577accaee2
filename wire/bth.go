package wire

import "encoding/binary"

// BTHLen is the length of a base transport header in bytes.
const BTHLen = 12

// DefaultPKey is the default partition key with full membership (IBTA 10.9).
const DefaultPKey = 0xffff

// BTH is the base transport header (IBTA 9.2).
type BTH struct {
	Opcode Opcode
	SE     bool  // solicited event
	MigReq bool  // migration state
	PadCnt uint8 // bytes that pad the payload to a multiple of 4, 0 to 3
	TVer   uint8 // transport version, 4 bits; 0
	PKey   uint16
	FECN   bool   // forward explicit congestion notification
	BECN   bool   // backward explicit congestion notification
	DestQP uint32 // 24 bits
	AckReq bool
	PSN    uint32 // packet sequence number, 24 bits
}

// ParseBTH reads a header and returns the bytes after it. Reserved bits are
// ignored.
func ParseBTH(b []byte) (h BTH, rest []byte, err error) {
	if len(b) < BTHLen {
		return h, b, truncated("BTH", BTHLen, b)
	}
	h.parse((*[BTHLen]byte)(b))
	return h, b[BTHLen:], nil
}

func (h *BTH) parse(b *[BTHLen]byte) {
	h.Opcode = Opcode(b[0])
	h.SE, h.MigReq = b[1]&0x80 != 0, b[1]&0x40 != 0
	h.PadCnt, h.TVer = b[1]>>4&3, b[1]&0xf
	h.PKey = binary.BigEndian.Uint16(b[2:4])
	h.FECN, h.BECN = b[4]&0x80 != 0, b[4]&0x40 != 0
	h.DestQP = binary.BigEndian.Uint32(b[4:8]) & 0xffffff
	h.AckReq = b[8]&0x80 != 0
	h.PSN = binary.BigEndian.Uint32(b[8:12]) & 0xffffff
}

// Append writes the header behind b. Values are cut to their fields' width;
// reserved bits are 0.
func (h BTH) Append(b []byte) []byte {
	var a [BTHLen]byte
	a[0] = uint8(h.Opcode)
	a[1] = bit(h.SE, 0x80) | bit(h.MigReq, 0x40) | h.PadCnt&3<<4 | h.TVer&0xf
	binary.BigEndian.PutUint16(a[2:4], h.PKey)
	binary.BigEndian.PutUint32(a[4:8], h.DestQP&0xffffff|uint32(bit(h.FECN, 0x80)|bit(h.BECN, 0x40))<<24)
	binary.BigEndian.PutUint32(a[8:12], h.PSN&0xffffff|uint32(bit(h.AckReq, 0x80))<<24)
	return append(b, a[:]...)
}

// Len is BTHLen.
func (h BTH) Len() int { return BTHLen }
