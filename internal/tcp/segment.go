package tcp

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/wire"
)

// A TCP segment travels in a packet.Packet of kind Segment:
//
//	Opcode   control bits of the header
//	PSN      sequence number
//	AETH     acknowledgement number
//	DMALen   bits 0-15 window as on the wire, 16-23 header length in bytes,
//	         24 timestamps, 25 SACK permitted, 26 window scale, 27-30 its shift
//	VA       TSval in the upper, TSecr in the lower half
//	DestQP   bits 0-15 MSS option (0: none), 16-31 segment size of a super-segment
//	Payload  bytes of data
//
// RKey is free for the number of a side record, which holds the SACK blocks.

// Control bits of a segment.
const (
	FIN = wire.TCPFin
	SYN = wire.TCPSyn
	RST = wire.TCPRst
	PSH = wire.TCPPsh
	ACK = wire.TCPAck
	ECE = wire.TCPEce
	CWR = wire.TCPCwr
)

const (
	segLenShift   = 16
	segTimestamps = 1 << 24
	segSACKOK     = 1 << 25
	segScale      = 1 << 26
	segScaleShift = 27
)

// frameLen is the frame bytes around a TCP header and its data: Ethernet header,
// IPv4 header, FCS.
const frameLen = wire.EthernetLen + wire.IPv4Len + wire.FCSLen

// Header returns the TCP header that p stands for, ports and checksum apart; side
// is its side record, nil without SACK blocks.
func Header(p *packet.Packet, side *packet.Side) wire.TCP {
	h := wire.TCP{Seq: p.PSN, Ack: p.AETH, Flags: p.Opcode, Window: uint16(p.DMALen)}
	o := &h.Options
	o.MSS = uint16(p.DestQP)
	o.HasTimestamps, o.SACKPermitted = p.DMALen&segTimestamps != 0, p.DMALen&segSACKOK != 0
	if o.HasTimestamps {
		o.TSVal, o.TSEcr = uint32(p.VA>>32), uint32(p.VA)
	}
	if o.HasWindowScale = p.DMALen&segScale != 0; o.HasWindowScale {
		o.WindowScale = uint8(p.DMALen>>segScaleShift) & 15
	}
	if side != nil {
		o.SACKBlocks = side.SACKs
		for i, b := range side.SACK[:side.SACKs] {
			o.SACK[i] = wire.SACKBlock{Left: b.Left, Right: b.Right}
		}
	}
	return h
}

// SetHeader makes p, and side where there are SACK blocks, stand for h with
// payload bytes of data. Kind, Frame and the fields of the header are set.
func SetHeader(p *packet.Packet, side *packet.Side, h *wire.TCP, payload int) {
	o := &h.Options
	p.Kind, p.Opcode, p.PSN, p.AETH = packet.Segment, h.Flags, h.Seq, h.Ack
	p.Payload = uint32(payload)
	p.DestQP = uint32(o.MSS)
	p.DMALen = uint32(h.Window) | uint32(h.Len())<<segLenShift
	p.VA = 0
	if o.HasTimestamps {
		p.DMALen |= segTimestamps
		p.VA = uint64(o.TSVal)<<32 | uint64(o.TSEcr)
	}
	if o.SACKPermitted {
		p.DMALen |= segSACKOK
	}
	if o.HasWindowScale {
		p.DMALen |= segScale | uint32(min(o.WindowScale, 15))<<segScaleShift
	}
	if o.SACKBlocks > 0 {
		side.SACKs = o.SACKBlocks
		for i, b := range o.SACK[:o.SACKBlocks] {
			side.SACK[i] = packet.SACKBlock{Left: b.Left, Right: b.Right}
		}
	}
	setFrame(p, 0)
}

// HeaderLen is the length of p's TCP header with options, in bytes.
func HeaderLen(p *packet.Packet) int { return int(p.DMALen>>segLenShift) & 0xff }

// SegmentSize is the payload of each segment but the last that a super-segment is
// cut into; 0 when p is a segment as it is.
func SegmentSize(p *packet.Packet) int { return int(p.DestQP >> 16) }

// setFrame sets the length of the frame. Super-segments have one as if they were
// frames; what goes on the wire is what they are cut into. more is what their headers have beyond
// frameLen: a tag, and what IPv6 takes more.
func setFrame(p *packet.Packet, more int) {
	p.Frame = uint32(max(frameLen+more+HeaderLen(p)+int(p.Payload), wire.MinFrameLen))
}

// Segments is how many segments on the wire p is.
func Segments(p *packet.Packet) int {
	if size := SegmentSize(p); size > 0 {
		return (int(p.Payload) + size - 1) / size
	}
	return 1
}

// CutPayload is the payload of segment i that Cut makes of p.
func CutPayload(p *packet.Packet, i int) uint32 {
	size := SegmentSize(p)
	if size == 0 {
		return p.Payload
	}
	return uint32(min(size, int(p.Payload)-i*size))
}

// Cut makes out segment i, from 0, of those that the super-segment p is cut into
// (TSO, GSO): a header as p's, CWR on the first only, PSH and FIN on the last
// only. Of what p was not made for, it is p itself.
func Cut(p *packet.Packet, i int, out *packet.Packet) {
	*out = *p
	size := SegmentSize(p)
	if size == 0 {
		return
	}
	n := Segments(p)
	out.PSN += uint32(i * size)
	out.Payload = CutPayload(p, i)
	out.DestQP &= 0xffff
	if i > 0 {
		out.Opcode &^= CWR
	}
	if i < n-1 {
		out.Opcode &^= PSH | FIN
	}
	setFrame(out, int(p.Frame)-HeaderLen(p)-int(p.Payload)-frameLen)
}
