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
	IPv6             bool   // over IPv6 and between these addresses
	Src6, Dst6       [16]byte
}

// AppendFrame writes the Ethernet frame that the segment p stands for behind b,
// without padding and FCS; super-segments must be cut before. side is p's side
// record, nil without one; data that it does not carry is zeros.
func AppendFrame(b []byte, e *Endpoints, p *packet.Packet, side *packet.Side) []byte {
	h := Header(p, side)
	h.SrcPort, h.DstPort = e.SrcPort, e.DstPort
	etherType := wire.TypeIPv4
	if e.IPv6 {
		etherType = wire.TypeIPv6
	}
	eth := wire.EthernetHeader{Dst: e.DstMAC, Src: e.SrcMAC, Type: etherType}
	if e.Tagged {
		eth.Type = wire.TypeVLAN
	}
	b = eth.Append(b)
	if e.Tagged {
		b = wire.VLAN{PCP: p.PCP(), Type: etherType}.Append(b)
	}
	b = e.appendIP(b, p, h.Len()+int(p.Payload))
	start := len(b)
	b = h.Append(b)
	if side != nil && side.Data != nil {
		b = append(b, side.Data...)
	} else {
		b = append(b, make([]byte, p.Payload)...)
	}
	sum := wire.TCPChecksumIPv4(e.Src, e.Dst, b[start:])
	if e.IPv6 {
		sum = wire.TCPChecksumIPv6(e.Src6, e.Dst6, b[start:])
	}
	b[start+16], b[start+17] = byte(sum>>8), byte(sum)
	return b
}

// appendIP writes the IP header of a segment of n bytes.
func (e *Endpoints) appendIP(b []byte, p *packet.Packet, n int) []byte {
	dscp := p.DSCP &^ packet.Stamped
	if e.IPv6 {
		return wire.IPv6{DSCP: dscp, ECN: p.ECN, PayloadLen: uint16(n), NextHeader: wire.ProtocolTCP, HopLimit: p.TTL,
			Src: e.Src6, Dst: e.Dst6}.Append(b)
	}
	ip := wire.IPv4{DSCP: dscp, ECN: p.ECN, TotalLen: uint16(wire.IPv4Len + n), ID: e.ID, DF: true,
		TTL: p.TTL, Protocol: wire.ProtocolTCP, Src: e.Src, Dst: e.Dst}
	ip.Checksum = ip.HeaderChecksum()
	return ip.Append(b)
}
