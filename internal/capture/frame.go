package capture

import (
	"encoding/binary"
	"fmt"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/iwarp"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/roce"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// framer makes the bytes of frames.
type framer struct {
	v     *scenario.Valid
	roce  roce.Writer
	frame wire.Frame
	ib    wire.InfiniBandPacket
	fpdu  []byte
	side  packet.Side // with fpdu
}

// append writes the first most bytes of a frame behind b, and returns the length of the whole, without
// preamble and FCS.
func (m *framer) append(b []byte, most int, t Tap, f *fabric.Tapped) (out []byte, length int, err error) {
	pk, side := &f.Packet, (*packet.Side)(nil)
	if f.HasSide {
		side = &f.Side.Side
	}
	profile := m.v.WireAt(t.Node, t.Local)
	start := len(b)
	src, dst := m.ends(t)
	switch {
	case pk.Kind == packet.Pause:
		b = roce.Pause(pk).AppendFrame(b, src)
		length = len(b) - start
	case profile.Block > 0:
		return m.extensible(b, most, f.At, profile, pk, side)
	case pk.Kind == packet.Segment, pk.Kind == packet.Framed:
		if pk.Kind == packet.Framed {
			side = m.framed(side)
		}
		w := wayOf(m.v, pk)
		b = tcp.AppendFrame(b, &tcp.Endpoints{SrcMAC: src, DstMAC: dst, Src: IPv4(w.src), Dst: IPv4(w.dst),
			Src6: IPv6(w.src), Dst6: IPv6(w.dst), SrcPort: w.srcPort, DstPort: w.dstPort,
			Tagged: profile.Tagged, IPv6: profile.IPv6}, pk, side)
		length = len(b) - start
	default:
		if err := m.fill(src, dst, profile, pk, side); err != nil {
			return b, 0, err
		}
		if b, err = m.frame.AppendHead(b, most); err != nil {
			return b, 0, err
		}
		length = m.frame.Len()
	}
	// Padding, and what congestion controls have frames carry beyond their headers.
	length = max(length, int(pk.Frame)-wire.FCSLen)
	b = b[:start+min(len(b)-start, most)]
	return append(b, make([]byte, max(0, min(most, length)-(len(b)-start)))...), length, nil
}

// ends are the addresses of the link's ports, of the one that sends first.
func (m *framer) ends(t Tap) (src, dst wire.MAC) {
	peer := m.v.Graph.Nodes[t.Node].Ports[t.Local]
	here, there := mac(t.Node, t.Local), mac(peer.Peer, peer.PeerPort)
	if t.Out {
		return here, there
	}
	return there, here
}

// framed is the side record of a segment of iWARP with its payload: an FPDU whose payload nobody looks at has zeros
// there.
func (m *framer) framed(side *packet.Side) *packet.Side {
	if side == nil || side.Data != nil || side.ULPDU == 0 {
		return side
	}
	m.fpdu = iwarp.AppendFPDU(m.fpdu[:0], side)
	m.side = *side
	m.side.Data = m.fpdu
	return &m.side
}

// fill makes m.frame that of a RoCE packet.
func (m *framer) fill(src, dst wire.MAC, profile *wire.Profile, pk *packet.Packet, side *packet.Side) error {
	w, f := wayOf(m.v, pk), &m.frame
	*f = wire.Frame{IPVersion: 4, Tagged: profile.Tagged, Ethernet: wire.EthernetHeader{Src: src, Dst: dst},
		UDP: wire.UDP{SrcPort: w.srcPort}}
	if profile.IPv6 {
		f.IPVersion = 6
	}
	f.IPv4.Src, f.IPv4.Dst, f.IPv4.DF = IPv4(w.src), IPv4(w.dst), true
	f.IPv6.Src, f.IPv6.Dst = IPv6(w.src), IPv6(w.dst)
	f.BTH.PKey = wire.DefaultPKey
	p, s := numbered(pk, side)
	if err := m.roce.Fill(f, &p, s); err != nil {
		return fmt.Errorf("a frame has no form on the wire: %w", err)
	}
	return nil
}

// numbered is a packet with the numbers that queue pairs have on the wire. A packet whose headers need a
// side record and that has none, as nobody looks at them, has zeros there.
func numbered(pk *packet.Packet, side *packet.Side) (packet.Packet, *packet.Side) {
	p, s := *pk, new(packet.Side)
	p.DestQP = queuePair(pk.DestQP)
	if side != nil {
		*s = *side
	}
	s.SrcQP = queuePair(s.SrcQP)
	return p, s
}

// The header of an ERF record (Endace's Extensible Record Format, as libwiretap reads it). Wireshark reads
// InfiniBand in such records, which ibdump writes, and does not know LINKTYPE_INFINIBAND. It takes
// flow-control packets in them for packets with an LRH.
const (
	erfLen        = 16
	erfInfiniBand = 21 // the record's type
	erfFlags      = 4  // records of varying length
)

// extensible writes an InfiniBand packet in an ERF record. most is without the record's header, the length
// with it.
func (m *framer) extensible(b []byte, most int, at units.Time, profile *wire.Profile, pk *packet.Packet,
	side *packet.Side) (out []byte, length int, err error) {
	start := len(b)
	b = append(b, make([]byte, erfLen)...)
	if b, length, err = m.infiniband(b, most, profile, pk, side); err != nil {
		return b, 0, err
	}
	erfHeader(b[start:], at, length)
	return b, length + erfLen, nil
}

// erfHeader fills in the header of a record of which length bytes were on the wire.
func erfHeader(record []byte, at units.Time, length int) {
	ns := uint64(stamp(at).UnixNano())
	binary.LittleEndian.PutUint64(record, ns/1e9<<32|(ns%1e9<<32)/1e9)
	record[8], record[9] = erfInfiniBand, erfFlags
	binary.BigEndian.PutUint16(record[10:], uint16(len(record)))
	binary.BigEndian.PutUint16(record[14:], uint16(length))
}

func (m *framer) infiniband(b []byte, most int, profile *wire.Profile, pk *packet.Packet,
	side *packet.Side) ([]byte, int, error) {
	w, f := wayOf(m.v, pk), &m.ib
	*f = wire.InfiniBandPacket{LRH: wire.LRH{LNH: wire.LNHLocal, SLID: lid(w.src), DLID: lid(w.dst)}}
	if profile.Name == wire.InfiniBandGRH.Name {
		f.LRH.LNH, f.GRH.SGID, f.GRH.DGID = wire.LNHGlobal, gid(w.src), gid(w.dst)
	}
	f.BTH.PKey = wire.DefaultPKey
	p, s := numbered(pk, side)
	if err := m.roce.FillInfiniBand(f, &p, s); err != nil {
		return b, 0, fmt.Errorf("a packet has no form on the wire: %w", err)
	}
	b, err := f.AppendHead(b, most)
	return b, f.Len(), err
}
