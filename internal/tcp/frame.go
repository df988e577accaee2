package tcp

import (
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/wire"
)

// Endpoints is what a frame has beyond a packet: the addresses of one direction
// of a connection.
type Endpoints struct {
	SrcMAC, DstMAC   wire.MAC
	Src, Dst         [4]byte // IPv4
	SrcPort, DstPort uint16
	ID               uint16 // IPv4 identification
	Tagged           bool   // with an 802.1Q tag, whose priority is the packet's PCP
}

// AppendFrame writes the Ethernet frame that the segment p stands for behind b,
// without padding and FCS; super-segments must be cut before. side is p's side
// record, nil without one; data that it does not carry is zeros.
func AppendFrame(b []byte, e *Endpoints, p *packet.Packet, side *packet.Side) []byte {
	h := Header(p, side)
	h.SrcPort, h.DstPort = e.SrcPort, e.DstPort
	etherType := wire.TypeIPv4
	eth := wire.EthernetHeader{Dst: e.DstMAC, Src: e.SrcMAC, Type: etherType}
	if e.Tagged {
		eth.Type = wire.TypeVLAN
	}
	b = eth.Append(b)
	if e.Tagged {
		b = wire.VLAN{PCP: p.PCP(), Type: etherType}.Append(b)
	}
	ip := wire.IPv4{DSCP: p.DSCP &^ packet.Stamped, ECN: p.ECN, TotalLen: uint16(wire.IPv4Len + h.Len() + int(p.Payload)), ID: e.ID, DF: true,
		TTL: p.TTL, Protocol: wire.ProtocolTCP, Src: e.Src, Dst: e.Dst}
	ip.Checksum = ip.HeaderChecksum()
	b = ip.Append(b)
	start := len(b)
	b = h.Append(b)
	if side != nil && side.Data != nil {
		b = append(b, side.Data...)
	} else {
		b = append(b, make([]byte, p.Payload)...)
	}
	sum := wire.TCPChecksumIPv4(e.Src, e.Dst, b[start:])
	b[start+16], b[start+17] = byte(sum>>8), byte(sum)
	return b
}
