package wire

import "encoding/binary"

// Bytes of priority flow control (IEEE 802.1Qbb, IEEE 802.3 annex 31D).
const (
	PFCLen      = 20                   // after the Ethernet header: opcode, class-enable vector, eight times
	PFCFrameLen = MinFrameLen - FCSLen // the whole frame, padding included, without FCS
)

// MACControlDst is the group address of MAC control frames, which no bridge
// forwards (IEEE 802.3 annex 31B).
func MACControlDst() MAC { return MAC{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01} }

// PFCOpcode is the MAC control opcode of priority flow control.
const PFCOpcode uint16 = 0x0101

// PFC holds the parameters of a priority flow control frame.
type PFC struct {
	Enable uint8     // bit i: Time[i] counts; else priority i goes on as it is
	Time   [8]uint16 // pause in quanta of 512 bit times; 0: go on
}

// ParsePFC reads what follows the Ethernet header of a frame of type
// TypeMACControl and returns the bytes after it: the padding.
func ParsePFC(b []byte) (h PFC, rest []byte, err error) {
	if len(b) < PFCLen {
		return h, b, truncated("PFC", PFCLen, b)
	}
	if op := binary.BigEndian.Uint16(b); op != PFCOpcode {
		return h, b, badValue("PFC", "opcode", int(op), "257")
	}
	h.Enable = b[3] // the upper half of the vector is reserved
	for i := range h.Time {
		h.Time[i] = binary.BigEndian.Uint16(b[4+2*i : 6+2*i])
	}
	return h, b[PFCLen:], nil
}

// Append writes opcode and parameters behind b, without padding.
func (h PFC) Append(b []byte) []byte {
	var a [PFCLen]byte
	binary.BigEndian.PutUint16(a[0:2], PFCOpcode)
	a[3] = h.Enable
	for i, t := range h.Time {
		binary.BigEndian.PutUint16(a[4+2*i:6+2*i], t)
	}
	return append(b, a[:]...)
}

// Len is PFCLen.
func (h PFC) Len() int { return PFCLen }

// AppendFrame writes the whole frame without FCS behind b: PFCFrameLen bytes.
func (h PFC) AppendFrame(b []byte, src MAC) []byte {
	b = EthernetHeader{Dst: MACControlDst(), Src: src, Type: TypeMACControl}.Append(b)
	b = h.Append(b)
	return append(b, make([]byte, PFCFrameLen-EthernetLen-PFCLen)...)
}
