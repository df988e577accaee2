package wire

import "encoding/binary"

// FlowControlLen is the length of a flow-control packet in bytes, CRC included.
const FlowControlLen = 6

// Operations of a flow-control packet (IBTA 7.9.4).
const (
	FlowControlNormal uint8 = 0
	FlowControlInit   uint8 = 1 // while the link comes up
)

// FlowControl is InfiniBand's flow-control packet (IBTA 7.9.4): what the sender
// of one virtual lane has sent, and how far its peer may send, in blocks of
// CreditBlock bytes modulo 4096.
type FlowControl struct {
	Op    uint8  // FlowControlNormal or FlowControlInit
	FCTBS uint16 // total blocks sent, 12 bits
	VL    uint8  // 4 bits
	FCCL  uint16 // credit limit: blocks received, and room for more; 12 bits
	CRC   uint16 // LPCRC as received; Append computes it
}

// ParseFlowControl reads a packet and returns the bytes after it. The CRC is not
// verified.
func ParseFlowControl(b []byte) (f FlowControl, rest []byte, err error) {
	if len(b) < FlowControlLen {
		return f, b, truncated("flow-control packet", FlowControlLen, b)
	}
	hi, lo := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	f.Op, f.FCTBS = uint8(hi>>12), hi&0xfff
	f.VL, f.FCCL = uint8(lo>>12), lo&0xfff
	f.CRC = binary.LittleEndian.Uint16(b[4:])
	return f, b[FlowControlLen:], nil
}

// Append writes the packet behind b. Values are cut to their fields' width. The
// link packet CRC has the VCRC's polynomial (IBTA 7.8.3).
func (f FlowControl) Append(b []byte) []byte {
	start := len(b)
	b = binary.BigEndian.AppendUint16(b, uint16(f.Op)<<12|f.FCTBS&0xfff)
	b = binary.BigEndian.AppendUint16(b, uint16(f.VL)<<12|f.FCCL&0xfff)
	return binary.LittleEndian.AppendUint16(b, VCRC(b[start:]))
}

// Len is FlowControlLen.
func (f FlowControl) Len() int { return FlowControlLen }
