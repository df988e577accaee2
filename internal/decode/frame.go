package decode

import (
	"encoding/binary"
	"net/netip"

	"github.com/hopscope/hopscope/internal/pcap"
	"github.com/hopscope/hopscope/wire"
)

// address is that of one end: an IP address, a GID, or a LID.
type address struct {
	bytes [16]byte
	kind  uint8 // 4, 6: of IP; 1: LID in the last two bytes; 2: GID
}

const (
	addressLID = 1
	addressGID = 2
)

// infiniBand reports whether it is an address of an InfiniBand subnet.
func (a address) infiniBand() bool { return a.kind == addressLID || a.kind == addressGID }

// ip is the address as IP addresses are.
func (a address) ip() netip.Addr {
	if a.kind == 4 {
		return netip.AddrFrom4([4]byte(a.bytes[12:]))
	}
	return netip.AddrFrom16(a.bytes)
}

// what is what a frame holds.
type what uint8

// Kinds of frames.
const (
	other what = iota
	rdma
	pause
	segment // of TCP
	fragment
	unreadable // cut before what would tell, or against the rules
	kinds
)

// frame is a captured frame, decoded as far as decode looks at it.
type frame struct {
	kind     what
	src, dst address
	srcPort  uint16 // UDP or TCP
	ecn      uint8  // CE where IP says so, or FECN of InfiniBand
	ttl      uint8
	ipID     uint16
	tagged   bool
	pcp      uint8 // of a tagged frame
	mac      wire.MAC
	depth    uint8 // how many packets it was packed into

	t       wire.Transport // rdma
	payload int            // of rdma and segment, in bytes
	short   bool           // of rdma: headers behind the BTH are not there
	icrc    check
	pfc     wire.PFC
	tcp     wire.TCP
	why     string // unreadable: what of it
}

// tag tells copies of the frame.
func (f *frame) tag() tag { return tag{f.ipID, f.ttl, true} }

// ce is the code point "congestion experienced" (RFC 3168).
const ce = 3

// check is what was found of a CRC.
type check uint8

const (
	unchecked check = iota // cut off
	right
	wrong
)

// read decodes a captured packet.
func (f *frame) read(p *pcap.Packet) {
	*f = frame{}
	b, length := p.Data, p.Length
	switch p.Link {
	case pcap.Ethernet:
		f.ethernet(b, length)
	case pcap.RawIP, pcap.RawIPv4, pcap.RawIPv6:
		f.ip(b, length)
	case pcap.LinuxSLL:
		f.cooked(b, length, 16, 14)
	case pcap.LinuxSLL2:
		f.cooked(b, length, 20, 0)
	case pcap.InfiniBand:
		f.infiniBand(b, length)
	case pcap.ERF:
		f.extensible(b, length)
	}
}

// readable are the link types that read knows.
func readable(l pcap.Link) bool {
	switch l {
	case pcap.Ethernet, pcap.RawIP, pcap.RawIPv4, pcap.RawIPv6, pcap.LinuxSLL, pcap.LinuxSLL2, pcap.InfiniBand, pcap.ERF:
		return true
	}
	return false
}

// Records of Endace's Extensible Record Format: a header of 16 bytes, extensions of 8, then what the type says.
const (
	erfHeader     = 16
	erfExtension  = 8
	erfMore       = 0x80 // of a type: an extension follows
	erfEthernet   = 2    // behind two bytes of padding
	erfInfiniBand = 21
)

func (f *frame) extensible(b []byte, length int) {
	at := erfHeader
	if len(b) < at {
		f.bad("ERF header cut short")
		return
	}
	kind := b[8]
	for more := kind; more&erfMore != 0; at += erfExtension {
		if len(b) < at+erfExtension {
			f.bad("ERF header cut short")
			return
		}
		more = b[at]
	}
	switch kind &^ erfMore {
	case erfInfiniBand:
		f.infiniBand(b[at:], length-at)
	case erfEthernet:
		if at += 2; len(b) >= at {
			f.ethernet(b[at:], length-at)
		}
	}
}

// bad notes that the frame cannot be read.
func (f *frame) bad(why string) { f.kind, f.why = unreadable, why }

// cooked reads a packet behind Linux's pseudo-header of so many bytes, in which the protocol stands.
func (f *frame) cooked(b []byte, length, header, protocol int) {
	if len(b) < header {
		f.bad("cut before the network header")
		return
	}
	f.network(binary.BigEndian.Uint16(b[protocol:]), b[header:], length-header)
}

// typeServiceVLAN is the EtherType of an outer tag (IEEE 802.1ad), typeRoCEv1 that of RoCE of
// version 1 (IBTA annex A16).
const (
	typeServiceVLAN = 0x88a8
	typeRoCEv1      = 0x8915
)

func (f *frame) ethernet(b []byte, length int) {
	h, rest, err := wire.ParseEthernet(b)
	if err != nil {
		f.bad("cut within the Ethernet header")
		return
	}
	f.mac = h.Src
	length -= wire.EthernetLen
	etherType := h.Type
	for etherType == wire.TypeVLAN || etherType == typeServiceVLAN {
		tag, behind, err := wire.ParseVLAN(rest)
		if err != nil {
			f.bad("cut within a VLAN tag")
			return
		}
		f.tagged, f.pcp = true, tag.PCP
		etherType, rest, length = tag.Type, behind, length-wire.VLANLen
	}
	f.network(etherType, rest, length)
}

func (f *frame) network(etherType uint16, b []byte, length int) {
	switch etherType {
	case wire.TypeIPv4, wire.TypeIPv6:
		f.ip(b, length)
	case typeRoCEv1:
		f.roceV1(b, length)
	case wire.TypeMACControl:
		if len(b) < 2 || binary.BigEndian.Uint16(b) != wire.PFCOpcode {
			return
		}
		pfc, _, err := wire.ParsePFC(b)
		if err != nil {
			f.bad("PFC frame cut short")
			return
		}
		f.kind, f.pfc = pause, pfc
	}
}

// roceV1 reads a GRH and what is behind it. Its ICRC is not checked.
func (f *frame) roceV1(b []byte, length int) {
	h, rest, err := wire.ParseGRH(b)
	if err != nil || h.NxtHdr != wire.NextHeaderBTH || int(h.PayLen)+wire.GRHLen > length {
		f.bad("GRH of RoCE version 1 that is cut short or contradicts itself")
		return
	}
	f.src, f.dst = address{kind: 6, bytes: h.SGID}, address{kind: 6, bytes: h.DGID}
	f.ttl = h.HopLmt
	f.transport(rest[:min(len(rest), int(h.PayLen))], int(h.PayLen))
}

// maxDepth bounds packets within packets.
const maxDepth = 3

// Types of what GRE carries (RFC 2784): a frame as it is or behind the header of a mirror's session.
const (
	greTransparent = 0x6558
	greERSPAN      = 0x88be // type I without a sequence number, type II with one
	greERSPAN3     = 0x22eb
	protocolGRE    = 47
	portVXLAN      = 4789 // RFC 7348
	vxlanLen       = 8
)

// gre reads the frame that a mirror packed into GRE (RFC 2784, 2890).
func (f *frame) gre(b []byte, length int) {
	if len(b) < 4 || f.depth == maxDepth {
		return
	}
	flags, kind, at := b[0], binary.BigEndian.Uint16(b[2:]), 4
	for _, option := range []uint8{0x80, 0x20, 0x10} { // checksum, key, sequence number
		if flags&option != 0 {
			at += 4
		}
	}
	switch {
	case kind == greERSPAN && flags&0x10 != 0:
		at += 8
	case kind == greERSPAN3:
		at += 12
		if len(b) >= at && b[at-1]&1 != 0 { // a subheader for the platform
			at += 8
		}
	case kind != greERSPAN && kind != greTransparent:
		return
	}
	f.inner(b, length, at)
}

// inner reads a frame within a packet, behind so many bytes.
func (f *frame) inner(b []byte, length, at int) {
	if len(b) < at || f.depth == maxDepth {
		return
	}
	*f = frame{depth: f.depth + 1}
	f.ethernet(b[at:], length-at)
}

func (f *frame) ip(b []byte, length int) {
	if len(b) == 0 {
		f.bad("cut before the IP header")
		return
	}
	switch b[0] >> 4 {
	case 4:
		f.ipv4(b, length)
	case 6:
		f.ipv6(b, length)
	}
}

func (f *frame) ipv4(b []byte, length int) {
	header := int(b[0]&0xf) * 4
	if header < wire.IPv4Len || len(b) < header {
		f.bad("IPv4 header cut short")
		return
	}
	total := int(binary.BigEndian.Uint16(b[2:]))
	f.ecn, f.ttl, f.ipID = b[1]&3, b[8], binary.BigEndian.Uint16(b[4:])
	f.src, f.dst = address{kind: 4}, address{kind: 4}
	copy(f.src.bytes[12:], b[12:16])
	copy(f.dst.bytes[12:], b[16:20])
	if binary.BigEndian.Uint16(b[6:])&0x3fff != 0 { // offset, or more fragments
		f.kind = fragment
		return
	}
	if total == 0 { // the card was to cut it into segments, and would have filled that in
		total = length
	}
	if total < header || total > length {
		f.bad("IPv4 length beyond the frame")
		return
	}
	f.upper(b[9], b[:min(total, len(b))], header, total)
}

// Extension headers of IPv6 (RFC 8200) that may stand before UDP.
const (
	nextHopByHop    = 0
	nextRouting     = 43
	nextFragment    = 44
	nextDestination = 60
)

func (f *frame) ipv6(b []byte, length int) {
	h, _, err := wire.ParseIPv6(b)
	if err != nil {
		f.bad("IPv6 header cut short")
		return
	}
	f.ecn, f.ttl = h.ECN, h.HopLimit
	f.src, f.dst = address{kind: 6, bytes: h.Src}, address{kind: 6, bytes: h.Dst}
	total := wire.IPv6Len + int(h.PayloadLen)
	if h.PayloadLen == 0 {
		total = length
	}
	if total > length {
		f.bad("IPv6 length beyond the frame")
		return
	}
	b = b[:min(total, len(b))]
	next, at := h.NextHeader, wire.IPv6Len
	for next == nextHopByHop || next == nextRouting || next == nextDestination || next == nextFragment {
		if next == nextFragment {
			f.kind = fragment
			return
		}
		if len(b) < at+8 {
			f.bad("IPv6 extension header cut short")
			return
		}
		next, at = b[at], at+8+8*int(b[at+1])
	}
	f.upper(next, b, at, total)
}

// upper reads what an IP packet of total bytes carries behind its headers; b begins with them, and
// is all or less of it.
func (f *frame) upper(protocol uint8, b []byte, header, total int) {
	if header > len(b) || header > total {
		f.bad("cut before the transport header")
		return
	}
	switch protocol {
	case wire.ProtocolUDP:
		f.udp(b, header, total)
	case protocolGRE:
		f.gre(b[header:], total-header)
	case wire.ProtocolTCP:
		h, _, err := wire.ParseTCP(b[header:])
		if err != nil {
			f.bad("TCP header cut short")
			return
		}
		f.kind, f.tcp, f.srcPort = segment, h, h.SrcPort
		f.payload = max(total-header-int(b[header+12]>>4)*4, 0)
	}
}

func (f *frame) udp(b []byte, header, total int) {
	h, rest, err := wire.ParseUDP(b[header:])
	if err != nil {
		f.bad("UDP header cut short")
		return
	}
	if h.DstPort == portVXLAN {
		f.inner(b, total, header+wire.UDPLen+vxlanLen)
		return
	}
	if h.DstPort != wire.RoCEv2Port {
		return
	}
	f.srcPort = h.SrcPort
	length := total - header - wire.UDPLen
	if int(h.Length) != length+wire.UDPLen {
		f.bad("UDP length that is not the IP packet's")
		return
	}
	f.transport(rest, length)
	if f.kind != rdma || len(b) < total || b[0]>>4 == 6 && header != wire.IPv6Len {
		return // cut off, or behind extension headers, of which annex A17 knows nothing
	}
	f.crc(wire.ICRC(b[:total-wire.ICRCLen]))
}

// crc compares the ICRC.
func (f *frame) crc(want uint32, err error) {
	switch {
	case err != nil:
	case want == f.t.ICRC:
		f.icrc = right
	default:
		f.icrc = wrong
	}
}

// transport reads from the BTH to the ICRC, length bytes of which b are there.
func (f *frame) transport(b []byte, length int) {
	payload, err := f.t.DecodeCut(b[:min(len(b), length)], length)
	switch {
	case err == nil:
		f.kind, f.payload = rdma, payload
	case len(b) < wire.BTHLen && length >= wire.BTHLen:
		f.bad("BTH cut by the snap length")
	case len(b) < length && len(b) < f.t.BTH.Opcode.HeaderLen():
		f.headless(length)
	case len(b) >= wire.BTHLen && f.t.BTH.TVer == 0 && !f.t.BTH.Opcode.Known():
		f.bad("opcode that is none of RC, UC, UD and CNP")
	default:
		f.bad("BTH that contradicts itself")
	}
}

// headless takes a packet whose headers behind the BTH are cut by the snap length, unless it says nothing
// without them.
func (f *frame) headless(length int) {
	op := f.t.BTH.Opcode
	payload := length - op.HeaderLen() - int(f.t.BTH.PadCnt) - wire.ICRCLen
	switch role := roleOf(op); {
	case role == answer || role == datagram:
		f.bad("headers behind the BTH cut by the snap length")
	case payload < 0 || payload > 0 && !op.HasPayload():
		f.bad("BTH that contradicts itself")
	default:
		f.kind, f.payload, f.short = rdma, payload, true
	}
}

func (f *frame) infiniBand(b []byte, length int) {
	h, rest, err := wire.ParseLRH(b)
	if err != nil {
		f.bad("LRH cut short")
		return
	}
	f.tagged, f.pcp = true, h.VL
	total := int(h.PktLen) * 4 // without VCRC
	if total > length || total < wire.LRHLen {
		f.bad("LRH length beyond the packet")
		return
	}
	b = b[:min(total, len(b))]
	rest = rest[:min(len(rest), total-wire.LRHLen)]
	f.src, f.dst = lid(h.SLID), lid(h.DLID)
	at := wire.LRHLen
	switch h.LNH {
	case wire.LNHLocal:
	case wire.LNHGlobal:
		g, behind, err := wire.ParseGRH(rest)
		if err != nil {
			f.bad("GRH cut short")
			return
		}
		if g.NxtHdr != wire.NextHeaderBTH {
			return
		}
		f.src, f.dst = address{kind: addressGID, bytes: g.SGID}, address{kind: addressGID, bytes: g.DGID}
		rest, at = behind, at+wire.GRHLen
	default:
		return
	}
	f.transport(rest, total-at)
	if f.kind != rdma {
		return
	}
	if f.t.BTH.FECN {
		f.ecn = ce
	}
	if len(b) == total {
		f.crc(wire.ICRCInfiniBand(b[:total-wire.ICRCLen]))
	}
}

// lid is the address of a LID.
func lid(n uint16) address {
	a := address{kind: addressLID}
	binary.BigEndian.PutUint16(a.bytes[14:], n)
	return a
}
