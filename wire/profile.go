// Package wire turns the headers of RDMA packets into values and back, and
// knows their sizes and checksums: RoCEv2 over Ethernet (with IPv4 and IPv6),
// InfiniBand's link and network headers, and priority flow control.
//
// Each header has a type with a parser (value, bytes after it, error), Append
// and Len. DecodeFrame and DecodeInfiniBand walk a whole packet. Parsing and
// appending allocate nothing as long as there is no error and the buffer has
// room. Parsers ignore reserved bits, Append writes them as 0.
//
// Sources: InfiniBand architecture specification volume 1 (IBTA) with its annex
// A17 for RoCEv2, IEEE 802.3 and 802.1Q, RFC 768, 791, 1071, 2474, 3168, 8200.
package wire

// Profile gives the sizes of one link technology, so that Ethernet, InfiniBand
// and the frames of the ns-3 simulators are values of one type. All numbers are
// bytes.
type Profile struct {
	Name     string
	Overhead int // added to each frame on the wire but not in buffers: preamble, SFD and inter-packet gap; InfiniBand's delimiters
	Preamble int // the part of Overhead that goes before the frame
	MinFrame int // shorter frames are padded to this
	Control  int // a PFC frame, or a flow-control packet
	Header   int // bytes a cut-through switch must have before it can route
	// Frame bytes around the payload of a data packet: Ethernet, IP, UDP, BTH, ICRC, FCS.
	Data int
	RETH int // added to the first or only packet of an RDMA WRITE
	Pad  int // payloads are padded to a multiple of this (BTH PadCnt); 0: not
	Ack  int // whole ACK or NAK frame
	CNP  int // whole CNP frame
	// Block is the unit of credits, to which each packet's buffer is rounded up;
	// 0 where links have none.
	Block  int
	Tagged bool // frames carry an 802.1Q tag
	IPv6   bool // the IP header is that of IPv6
}

// Ethernet is RoCEv2 over IPv4 without VLAN tag on Ethernet (models.md 4.1,
// 4.5): 14+20+8+12+4+4 = 62 bytes of frame around the payload, 8 bytes of
// preamble and 12 of gap on the wire.
var Ethernet = Profile{Name: "ethernet", Overhead: PreambleLen + GapLen, Preamble: PreambleLen,
	MinFrame: MinFrameLen, Control: PFCFrameLen + FCSLen, Header: 64,
	Data: roceLen, RETH: RETHLen, Pad: 4, Ack: roceLen + AETHLen, CNP: roceLen + cnpReserved}

// roceLen is the length in bytes of a RoCEv2 frame over IPv4 without payload
// and extended headers.
const roceLen = EthernetLen + IPv4Len + UDPLen + BTHLen + ICRCLen + FCSLen

// EthernetVLAN is Ethernet with an 802.1Q tag: four bytes more per frame. MAC
// control frames stay untagged.
var EthernetVLAN = Profile{Name: "ethernet-vlan", Overhead: PreambleLen + GapLen, Preamble: PreambleLen,
	MinFrame: MinFrameLen, Control: PFCFrameLen + FCSLen, Header: 64,
	Data: roceLen + VLANLen, RETH: RETHLen, Pad: 4, Ack: roceLen + VLANLen + AETHLen, CNP: roceLen + VLANLen + cnpReserved,
	Tagged: true}

// EthernetIPv6 and EthernetVLANIPv6 are the same over IPv6: each frame that has an IP header is 20 bytes longer.
var (
	EthernetIPv6     = Ethernet.overIPv6()
	EthernetVLANIPv6 = EthernetVLAN.overIPv6()
)

// IPv6More is what the header of IPv6 is longer than that of IPv4, in bytes.
const IPv6More = IPv6Len - IPv4Len

func (p Profile) overIPv6() Profile {
	p.Name += "-ipv6"
	p.Data, p.Ack, p.CNP, p.IPv6 = p.Data+IPv6More, p.Ack+IPv6More, p.CNP+IPv6More, true
	p.Header += IPv6More // to see as much of the packet as with IPv4
	return p
}

// NS3 is the frame layout of the ns-3 RDMA simulators (peers.md B1 2.2):
// no preamble, gap, FCS or padding.
var NS3 = Profile{Name: "ns3", Overhead: 0, MinFrame: 0, Control: 43, Header: 48,
	Data: 48, RETH: 0, Ack: 60, CNP: 60}

// ibLen is the length in bytes of an InfiniBand packet with a BTH but without
// GRH, payload and extended headers.
const ibLen = LRHLen + BTHLen + ICRCLen + VCRCLen

// CreditBlock is the unit of InfiniBand's credits in bytes (IBTA 7.9.4).
const CreditBlock = 64

// InfiniBand is a packet within a subnet: LRH 8, BTH 12, ICRC 4, VCRC 2. On the
// wire a symbol before and one behind frame it (IBTA volume 2: SDP or SLP, and
// EGP, in the place that Ethernet gives to preamble and gap), so that a packet,
// 2 bytes longer than a multiple of 4, fills the columns of a 4X link. A switch
// routes by the LRH. The same header sizes stand behind 8b/10b and 64b/66b, whose
// own overhead is in the rate: see LinkSpeeds.
var InfiniBand = Profile{Name: "ib", Overhead: 2, Preamble: 1,
	Control: FlowControlLen, Header: LRHLen,
	Data: ibLen, RETH: RETHLen, Pad: 4, Ack: ibLen + AETHLen, CNP: ibLen, Block: CreditBlock}

// InfiniBandGRH is InfiniBand with a GRH in every packet, as between subnets.
var InfiniBandGRH = Profile{Name: "ib-grh", Overhead: 2, Preamble: 1,
	Control: FlowControlLen, Header: LRHLen,
	Data: ibLen + GRHLen, RETH: RETHLen, Pad: 4, Ack: ibLen + GRHLen + AETHLen, CNP: ibLen + GRHLen, Block: CreditBlock}
