// Package wire holds what the standards say about bytes on the wire.
package wire

// Profile gives the sizes of one link technology, so that Ethernet and the
// frames of the ns-3 simulators are values of one type. All numbers are bytes.
type Profile struct {
	Name     string
	Overhead int // added to each frame on the wire but not in buffers: preamble, SFD and inter-packet gap
	Preamble int // the part of Overhead that goes before the frame
	MinFrame int // shorter frames are padded to this
	Control  int // a PFC frame
	Header   int // bytes a cut-through switch must have before it can route
	// Frame bytes around the payload of a data packet: Ethernet, IP, UDP, BTH, ICRC, FCS.
	Data int
	RETH int // added to the first or only packet of an RDMA WRITE
	Pad  int // payloads are padded to a multiple of this (BTH PadCnt); 0: not
	Ack  int // whole ACK or NAK frame
	CNP  int // whole CNP frame
}

// Ethernet is RoCEv2 over IPv4 without VLAN tag on Ethernet (models.md 4.1,
// 4.5): 14+20+8+12+4+4 = 62 bytes of frame around the payload, 8 bytes of
// preamble and 12 of gap on the wire.
var Ethernet = Profile{Name: "ethernet", Overhead: 20, Preamble: 8, MinFrame: 64, Control: 64, Header: 64,
	Data: 62, RETH: 16, Pad: 4, Ack: 66, CNP: 78}

// EthernetVLAN is Ethernet with an 802.1Q tag: four bytes more per frame. MAC
// control frames stay untagged.
var EthernetVLAN = Profile{Name: "ethernet-vlan", Overhead: 20, Preamble: 8, MinFrame: 64, Control: 64, Header: 64,
	Data: 66, RETH: 16, Pad: 4, Ack: 70, CNP: 82}

// NS3 is the frame layout of the ns-3 RDMA simulators (peers.md B1 2.2):
// no preamble, gap, FCS or padding.
var NS3 = Profile{Name: "ns3", Overhead: 0, MinFrame: 0, Control: 43, Header: 48,
	Data: 48, RETH: 0, Ack: 60, CNP: 60}
