package anatomy

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/wire"
)

// Options say what a sample packet is like.
type Options struct {
	Payload int  // bytes, where the operation carries any; 0 to MaxPayload
	IPv6    bool // over IPv6, where there is IP
	VLAN    bool // with an 802.1Q tag, on Ethernet
	GRH     bool // with a GRH, on InfiniBand
	Markers bool // with MPA's markers, of iWARP
}

// MaxPayload bounds Options.Payload: the largest path MTU.
const MaxPayload = 4096

// Stacks are those that have samples.
func Stacks() []string { return []string{"rocev2", "rocev1", "infiniband", "tcp", "iwarp"} }

// operation is a kind of packet.
type operation struct {
	name     string
	op       wire.Opcode
	syndrome uint8
	answer   bool // from the responder to the requester
}

// verbs are the packets of RDMA.
func verbs() []operation {
	return []operation{
		{name: "send", op: wire.RCSendOnly},
		{name: "send-first", op: wire.RCSendFirst},
		{name: "send-middle", op: wire.RCSendMiddle},
		{name: "send-last", op: wire.RCSendLast},
		{name: "send-imm", op: wire.RCSendOnlyImm},
		{name: "send-inv", op: wire.RCSendOnlyInv},
		{name: "write", op: wire.RCWriteOnly},
		{name: "write-first", op: wire.RCWriteFirst},
		{name: "write-middle", op: wire.RCWriteMiddle},
		{name: "write-last", op: wire.RCWriteLast},
		{name: "write-imm", op: wire.RCWriteOnlyImm},
		{name: "read", op: wire.RCReadRequest},
		{name: "read-response", op: wire.RCReadRespOnly, syndrome: wire.SyndromeNoLimit, answer: true},
		{name: "read-response-first", op: wire.RCReadRespFirst, syndrome: wire.SyndromeNoLimit, answer: true},
		{name: "read-response-middle", op: wire.RCReadRespMiddle, answer: true},
		{name: "read-response-last", op: wire.RCReadRespLast, syndrome: wire.SyndromeNoLimit, answer: true},
		{name: "cas", op: wire.RCCmpSwap}, {name: "fetch-add", op: wire.RCFetchAdd},
		{name: "atomic-ack", op: wire.RCAtomicAck, syndrome: wire.SyndromeNoLimit, answer: true},
		{name: "ack", op: wire.RCAcknowledge, syndrome: wire.SyndromeNoLimit, answer: true},
		{name: "nak", op: wire.RCAcknowledge, syndrome: wire.SyndromePSNSequence, answer: true},
		{name: "nak-invalid", op: wire.RCAcknowledge, syndrome: wire.SyndromeInvalidRequest, answer: true},
		{name: "nak-access", op: wire.RCAcknowledge, syndrome: wire.SyndromeRemoteAccess, answer: true},
		{name: "nak-operational", op: wire.RCAcknowledge, syndrome: wire.SyndromeRemoteOperational, answer: true},
		{name: "rnr", op: wire.RCAcknowledge, syndrome: wire.SyndromeRNR | 12, answer: true},
		{name: "uc-send", op: wire.UCSendOnly}, {name: "uc-write", op: wire.UCWriteOnly},
		{name: "uc-write-imm", op: wire.UCWriteOnlyImm},
		{name: "ud-send", op: wire.UDSendOnly}, {name: "ud-send-imm", op: wire.UDSendOnlyImm},
	}
}

// segments are the packets of TCP.
func segments() []string { return []string{"syn", "syn-ack", "data", "ack", "sack", "fin"} }

// Operations are the packets that a stack has samples of.
func Operations(stack string) (names []string) {
	switch stack {
	case "tcp":
		return append(segments(), "pfc")
	case "iwarp":
		for _, m := range streamed() {
			names = append(names, m.name)
		}
		return names
	}
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	switch stack {
	case "rocev2":
		return append(names, "cnp", "pfc")
	case "infiniband":
		return append(names, "cnp", "flow-control")
	}
	return append(names, "pfc")
}

// Sample is a packet of an operation of a stack, and its bytes: of a frame without the FCS, of an InfiniBand
// packet all. An error says what is wrong with the options.
func Sample(stack, op string, o Options) (p Packet, frame []byte, err error) {
	switch {
	case !slices.Contains(Operations(stack), op):
		return p, nil, fmt.Errorf("%s has no %s", stack, op)
	case o.IPv6 && (stack == "rocev1" || stack == "infiniband"):
		return p, nil, fmt.Errorf("%s has no IP header", stack)
	case o.VLAN && stack == "infiniband":
		return p, nil, fmt.Errorf("InfiniBand has no VLAN tags")
	case o.VLAN && op == "pfc":
		return p, nil, fmt.Errorf("frames of MAC control carry no tag")
	case o.GRH && (stack != "infiniband" || op == "flow-control"):
		return p, nil, fmt.Errorf("--grh is for packets of InfiniBand with a BTH")
	case o.Markers && stack != "iwarp":
		return p, nil, fmt.Errorf("--markers is for packets of iWARP")
	}
	p = Packet{Stack: stack, Operation: op}
	s := sample{o}
	if frame, p.Name, err = s.build(stack, op); err != nil {
		return p, nil, err
	}
	w := walker{b: frame, streamed: stack == "iwarp", markers: o.Markers}
	switch {
	case op == "flow-control":
		w.flowControl()
	case stack == "infiniband":
		w.infiniband()
	default:
		w.b = append(slices.Clone(frame), make([]byte, max(0, wire.MinFrameLen-wire.FCSLen-len(frame)))...)
		w.b = binary.LittleEndian.AppendUint32(w.b, wire.FCS(w.b))
		w.ethernet()
	}
	p.Headers, p.Data, p.Routing = w.headers, w.b, routing(stack, op, o)
	p.WireBytes, p.Wire = len(w.b)+wire.Ethernet.Overhead, "preamble 8 B and gap 12 B"
	if stack == "infiniband" {
		p.WireBytes, p.Wire = len(w.b)+wire.InfiniBand.Overhead, "a symbol before and one behind"
	}
	return p, frame, nil
}

// routing says what lets a packet cross a router.
func routing(stack, op string, o Options) string {
	ip := "IPv4"
	if o.IPv6 {
		ip = "IPv6"
	}
	switch {
	case op == "pfc":
		return "It crosses no router and no switch: it tells the other end of one link to stop."
	case op == "flow-control":
		return "It crosses no router and no switch: it tells the other end of one link how far it may send."
	case stack == "rocev1":
		return "It crosses no router: behind the Ethernet header there is no IP header, " +
			"and routers do not read a GRH there. RoCE version 1 stays within one Ethernet network."
	case stack == "rocev2":
		return ip + " and UDP let it cross routers: they look at the addresses, take one from the time to live, " +
			"mark it by ECN and spread flows by the UDP source port. The destination port 4791 tells the card that RoCEv2 is inside."
	case stack == "tcp", stack == "iwarp":
		return ip + " lets it cross routers: they look at the addresses, take one from the time to live, " +
			"and spread flows by the ports. Its ECN field is 0, as the stack " + stack + " has ECN off: a switch that is to " +
			"mark it drops it. With ECN on new data have ECT(0) (RFC 3168), with DCTCP all that follows the first SYN."
	case o.GRH:
		return "The GRH lets it cross InfiniBand routers: they look at the GIDs, take one from the hop limit, " +
			"and write an LRH and a VCRC for the next subnet."
	}
	return "It crosses no router: LIDs mean something within their subnet alone, and there is no GRH (--grh adds one)."
}

// sample builds packets.
type sample struct{ Options }

// What stands in samples: two hosts at one switch, as docs/packets.md numbers them.
const (
	sourcePort = 49192
	psn        = 4711
	queue      = 0x000107
	address    = 0x7f3a_1000_0000
	remoteKey  = 0x1234
)

func (s sample) macs(answer bool) (src, dst wire.MAC) {
	src, dst = wire.MAC{2, 0, 0, 0, 0, 1}, wire.MAC{2, 0, 0, 2, 0, 1}
	if answer {
		src, dst = wire.MAC{2, 0, 0, 1, 0, 1}, wire.MAC{2, 0, 0, 2, 0, 2}
	}
	return src, dst
}

// ends are last bytes of addresses.
func ends(answer bool) (src, dst byte) {
	if answer {
		return 2, 1
	}
	return 1, 2
}

func (s sample) build(stack, op string) (b []byte, name string, err error) {
	switch op {
	case "pfc":
		src, _ := s.macs(false)
		pause := wire.PFC{Enable: 1 << 3}
		pause.Time[3] = 0xffff
		return pause.AppendFrame(nil, src), "priority flow control", nil
	case "flow-control":
		return wire.FlowControl{FCTBS: 100, VL: 0, FCCL: 2148}.Append(nil), "flow-control packet", nil
	}
	switch stack {
	case "tcp":
		return s.tcp(op), "TCP " + op, nil
	case "iwarp":
		m := messageNamed(op)
		return s.iwarp(&m), m.title, nil
	}
	x := operation{name: "cnp", op: wire.CNPOpcode, answer: true}
	if stack == "infiniband" {
		x.op = wire.IBCNPOpcode
	}
	for _, v := range verbs() {
		if v.name == op {
			x = v
		}
	}
	t := s.transport(x)
	from, to := ends(x.answer)
	if stack == "rocev2" {
		b, err = s.roce(t, x.answer, from, to)
		return b, x.op.String(), err
	}
	p := wire.InfiniBandPacket{LRH: wire.LRH{LNH: wire.LNHLocal, SLID: uint16(from), DLID: uint16(to)}, Transport: t}
	if s.GRH || stack == "rocev1" {
		p.LRH.LNH, p.GRH = wire.LNHGlobal, wire.GRH{HopLmt: 64, SGID: gid(from), DGID: gid(to)}
	}
	if b, err = p.Append(nil); err != nil || stack == "infiniband" {
		return b, x.op.String(), err
	}
	// The ICRC of RoCE version 1 takes ones in place of an LRH, as that of InfiniBand does where there is a GRH.
	src, dst := s.macs(x.answer)
	frame := s.link(nil, src, dst, typeRoCEv1)
	return append(frame, b[wire.LRHLen:len(b)-wire.VCRCLen]...), x.op.String(), nil
}

func gid(n byte) [16]byte { return [16]byte{0: 0xfe, 1: 0x80, 15: n} }

// link writes an Ethernet header, and the tag.
func (s sample) link(b []byte, src, dst wire.MAC, kind uint16) []byte {
	if !s.VLAN {
		return wire.EthernetHeader{Dst: dst, Src: src, Type: kind}.Append(b)
	}
	b = wire.EthernetHeader{Dst: dst, Src: src, Type: wire.TypeVLAN}.Append(b)
	return wire.VLAN{PCP: 3, Type: kind}.Append(b)
}

func (s sample) data() []byte {
	b := make([]byte, s.Payload)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func (s sample) transport(x operation) wire.Transport {
	t := wire.Transport{BTH: wire.BTH{Opcode: x.op, PKey: wire.DefaultPKey, DestQP: queue, PSN: psn},
		RETH:      wire.RETH{VA: address, RKey: remoteKey, DMALen: uint32(s.Payload)},
		AtomicETH: wire.AtomicETH{VA: address, RKey: remoteKey, SwapAdd: 1, Compare: 0},
		AETH:      wire.AETH{Syndrome: x.syndrome, MSN: 12}, AtomicAckETH: wire.AtomicAckETH{Original: 41},
		DETH: wire.DETH{QKey: 0x11111111, SrcQP: queue + 1}, ImmDt: wire.ImmDt{Data: 42}, IETH: wire.IETH{RKey: remoteKey}}
	switch {
	case x.name == "cnp":
		t.BTH.BECN, t.BTH.PSN = true, 0
	case !x.answer && x.op < 0x20: // of a reliable connection
		t.BTH.AckReq = true
	}
	if x.op.HasPayload() {
		t.Payload = s.data()
	}
	return t
}

func (s sample) roce(t wire.Transport, answer bool, from, to byte) ([]byte, error) {
	f := wire.Frame{IPVersion: 4, Tagged: s.VLAN, VLAN: wire.VLAN{PCP: 3}, Transport: t}
	f.UDP.SrcPort = sourcePort
	f.Ethernet.Src, f.Ethernet.Dst = s.macs(answer)
	dscp, ecn := uint8(26), uint8(2)
	if t.BTH.Opcode == wire.CNPOpcode {
		dscp, ecn = 48, 0
	}
	f.IPv4 = wire.IPv4{DSCP: dscp, ECN: ecn, DF: true, TTL: 64, Src: [4]byte{10, 0, 0, from}, Dst: [4]byte{10, 0, 0, to}}
	f.IPv6 = wire.IPv6{DSCP: dscp, ECN: ecn, HopLimit: 64,
		Src: [16]byte{0: 0xfd, 15: from}, Dst: [16]byte{0: 0xfd, 15: to}}
	if s.IPv6 {
		f.IPVersion = 6
	}
	return f.Append(nil)
}

// tcp is a segment with its options and checksum.
func (s sample) tcp(op string) []byte {
	h := wire.TCP{SrcPort: sourcePort, DstPort: 5201, Seq: 1000, Ack: 2000, Flags: wire.TCPAck, Window: 512,
		Options: wire.TCPOptions{HasTimestamps: true, TSVal: 81, TSEcr: 80}}
	var data []byte
	switch op {
	case "syn", "syn-ack":
		h.Options.MSS, h.Options.SACKPermitted, h.Options.HasWindowScale, h.Options.WindowScale = 1460, true, true, 7
		if s.IPv6 {
			h.Options.MSS -= wire.IPv6More
		}
		h.Window = 65535
		if h.Flags |= wire.TCPSyn; op == "syn" {
			h.Flags, h.Ack, h.Options.TSEcr = wire.TCPSyn, 0, 0
		}
	case "data":
		h.Flags |= wire.TCPPsh
		data = s.data()
	case "sack":
		h.Options.SACKBlocks, h.Options.SACK[0] = 1, wire.SACKBlock{Left: 3448, Right: 4896}
	case "fin":
		h.Flags |= wire.TCPFin
	}
	return s.segment(false, &h, data)
}

// segment is the frame of a TCP segment, of the end that listened if it is an answer.
func (s sample) segment(answer bool, h *wire.TCP, data []byte) []byte {
	n := h.Len() + len(data)
	src, dst := s.macs(answer)
	from, to := ends(answer)
	v4, v6 := [2][4]byte{{10, 0, 0, from}, {10, 0, 0, to}}, [2][16]byte{{0: 0xfd, 15: from}, {0: 0xfd, 15: to}}
	var b []byte
	if s.IPv6 {
		b = s.link(nil, src, dst, wire.TypeIPv6)
		ip := wire.IPv6{PayloadLen: uint16(n), NextHeader: wire.ProtocolTCP, HopLimit: 64, Src: v6[0], Dst: v6[1]}
		b = ip.Append(b)
	} else {
		b = s.link(nil, src, dst, wire.TypeIPv4)
		ip := wire.IPv4{TotalLen: uint16(wire.IPv4Len + n), DF: true, TTL: 64, Protocol: wire.ProtocolTCP,
			Src: v4[0], Dst: v4[1]}
		ip.Checksum = ip.HeaderChecksum()
		b = ip.Append(b)
	}
	start := len(b)
	b = append(h.Append(b), data...)
	sum := wire.TCPChecksumIPv4(v4[0], v4[1], b[start:])
	if s.IPv6 {
		sum = wire.TCPChecksumIPv6(v6[0], v6[1], b[start:])
	}
	binary.BigEndian.PutUint16(b[start+16:], sum)
	return b
}
