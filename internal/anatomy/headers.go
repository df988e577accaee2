package anatomy

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/hopscope/hopscope/wire"
)

// ethernet takes a frame from its destination address to its FCS.
func (w *walker) ethernet() {
	end := len(w.b) - wire.FCSLen
	w.header("Ethernet", "IEEE 802.3")
	w.mac("destination address")
	w.mac("source address")
	kind := uint16(w.bits("type", 16, etherType))
	if kind == wire.TypeVLAN {
		w.header("802.1Q tag", "IEEE 802.1Q 9.6")
		w.bits("priority code point", 3, nil)
		w.bits("drop eligible", 1, yes)
		w.bits("VLAN identifier", 12, named(map[uint64]string{0: "a priority alone"}))
		kind = uint16(w.bits("type", 16, etherType))
	}
	switch kind {
	case wire.TypeMACControl:
		w.pfc()
	case wire.TypeIPv4:
		w.ipv4()
	case wire.TypeIPv6:
		w.ipv6()
	case typeRoCEv1:
		w.grh()
		w.transport()
	}
	w.header("end of the frame", "IEEE 802.3")
	if n := end - w.at/8; n > 0 {
		w.bytes("padding", n, "up to the shortest frame of 64 bytes")
	}
	w.bits("FCS", 32, func(uint64) string { return "CRC-32 of all before it, made anew at every hop" })
}

// typeRoCEv1 is the EtherType of RoCE version 1 (IBTA annex A16).
const typeRoCEv1 = 0x8915

func etherType(v uint64) string {
	return map[uint16]string{wire.TypeIPv4: "IPv4", wire.TypeIPv6: "IPv6", wire.TypeVLAN: "802.1Q tag",
		wire.TypeMACControl: "MAC control", typeRoCEv1: "RoCE version 1"}[uint16(v)]
}

func (w *walker) mac(name string) {
	m := wire.MAC(w.rest()[:6])
	text := m.String()
	if m == wire.MACControlDst() {
		text = "of MAC control, which no bridge forwards"
	}
	w.bytes(name, 6, text)
}

func (w *walker) pfc() {
	w.header("priority flow control", "IEEE 802.1Qbb, IEEE 802.3 annex 31D")
	w.bits("opcode", 16, likeHex("priority flow control"))
	w.reserved(8)
	enable := w.bits("enabled priorities", 8, func(v uint64) string { return fmt.Sprintf("%08b, priority 7 first", v) })
	for i := range 8 {
		w.bits(fmt.Sprintf("time of priority %d", i), 16, func(v uint64) string {
			switch {
			case enable>>i&1 == 0:
				return "does not count"
			case v == 0:
				return "go on"
			}
			return fmt.Sprintf("pause for %d times 512 bit times", v)
		})
	}
}

func (w *walker) dscp() {
	w.bits("DSCP", 6, nil)
	w.bits("ECN", 2, named(map[uint64]string{0: "not capable", 1: "ECT(1)", 2: "ECT(0): a switch may mark it",
		3: "congestion experienced"}))
}

func (w *walker) ipv4() {
	w.header("IPv4", "RFC 791")
	w.bits("version", 4, nil)
	w.bits("header length", 4, func(v uint64) string { return fmt.Sprintf("%d B", 4*v) })
	w.dscp()
	w.bits("total length", 16, unit("B"))
	w.bits("identification", 16, hex)
	w.reserved(1)
	w.bits("do not fragment", 1, yes)
	w.bits("more fragments", 1, yes)
	w.bits("fragment offset", 13, nil)
	w.bits("time to live", 8, unit("routers"))
	next := w.bits("protocol", 8, protocol)
	w.bits("header checksum", 16, hex)
	w.address("source address", 4)
	w.address("destination address", 4)
	w.above(next)
}

func (w *walker) ipv6() {
	w.header("IPv6", "RFC 8200")
	w.bits("version", 4, nil)
	w.dscp()
	w.bits("flow label", 20, hex)
	w.bits("payload length", 16, unit("B"))
	next := w.bits("next header", 8, protocol)
	w.bits("hop limit", 8, unit("routers"))
	w.address("source address", 16)
	w.address("destination address", 16)
	w.above(next)
}

func protocol(v uint64) string {
	return named(map[uint64]string{wire.ProtocolUDP: "UDP", wire.ProtocolTCP: "TCP", uint64(wire.NextHeaderBTH): "BTH"})(v)
}

func (w *walker) address(name string, n int) {
	a, _ := netip.AddrFromSlice(w.rest()[:n])
	w.bytes(name, n, a.String())
}

// above takes what IP carries.
func (w *walker) above(protocol uint64) {
	if protocol == wire.ProtocolTCP {
		w.tcp()
		return
	}
	w.header("UDP", "RFC 768, IBTA annex A17")
	w.bits("source port", 16, said("of the connection, by which routers spread flows"))
	w.bits("destination port", 16, said("RoCEv2"))
	w.bits("length", 16, unit("B"))
	w.bits("checksum", 16, named(map[uint64]string{0: "none; the ICRC protects it"}))
	w.transport()
}

func (w *walker) lrh() {
	w.header("LRH", "IBTA 7.7")
	w.bits("virtual lane", 4, nil)
	w.bits("link version", 4, nil)
	w.bits("service level", 4, nil)
	w.reserved(2)
	next := w.bits("link next header", 2,
		named(map[uint64]string{uint64(wire.LNHLocal): "BTH", uint64(wire.LNHGlobal): "GRH"}))
	w.bits("destination LID", 16, nil)
	w.reserved(5)
	w.bits("packet length", 11, func(v uint64) string { return fmt.Sprintf("%d words of 4 B, without the VCRC", v) })
	w.bits("source LID", 16, nil)
	if next == uint64(wire.LNHGlobal) {
		w.grh()
	}
}

func (w *walker) grh() {
	w.header("GRH", "IBTA 8.3")
	w.bits("IP version", 4, nil)
	w.bits("traffic class", 8, nil)
	w.bits("flow label", 20, hex)
	w.bits("payload length", 16, unit("B"))
	w.bits("next header", 8, protocol)
	w.bits("hop limit", 8, unit("routers"))
	w.address("source GID", 16)
	w.address("destination GID", 16)
}

// infiniband takes a packet from its LRH to its VCRC.
func (w *walker) infiniband() {
	w.lrh()
	w.transport()
	w.header("VCRC", "IBTA 7.8.2")
	w.bits("variant CRC", 16, func(uint64) string { return "CRC-16 of all before it, made anew at every hop" })
}

func (w *walker) flowControl() {
	w.header("flow-control packet", "IBTA 7.9.4")
	w.bits("operation", 4, named(map[uint64]string{0: "normal"}))
	w.bits("FCTBS", 12, unit("blocks of 64 B sent so far, modulo 4096"))
	w.bits("virtual lane", 4, nil)
	w.bits("FCCL", 12, unit("blocks up to which the peer may send"))
	w.bits("LPCRC", 16, func(uint64) string { return "CRC-16 of all before it" })
}

// transport takes BTH, extended headers, payload, padding and ICRC.
func (w *walker) transport() {
	op, pad := w.bth()
	w.extended(op.Ext())
	n := len(w.rest()) - wire.ICRCLen - w.behind()
	if n > 0 {
		w.header("payload", "")
		if n > pad {
			w.bytes("data", n-pad, fmt.Sprintf("%d B", n-pad))
		}
		if pad > 0 {
			w.bytes("padding", pad, "up to a multiple of 4 B")
		}
	}
	w.header("ICRC", "IBTA 7.8.1, annex A17")
	w.bits("invariant CRC", 32, func(uint64) string {
		return "CRC-32 of what no router changes, least significant byte first"
	})
}

// behind is how much of a packet is behind the ICRC: padding and FCS, or the VCRC.
func (w *walker) behind() int {
	at := 0
	for i := range w.headers {
		switch h := &w.headers[i]; h.Name {
		case "LRH":
			return wire.VCRCLen
		case "IPv4":
			return len(w.b) - at - int(binary.BigEndian.Uint16(w.b[at+2:]))
		case "IPv6", "GRH":
			return len(w.b) - at - wire.IPv6Len - int(binary.BigEndian.Uint16(w.b[at+4:]))
		default:
			at += h.Bytes
		}
	}
	return 0
}

func (w *walker) bth() (op wire.Opcode, pad int) {
	w.header("BTH", "IBTA 9.2")
	op = wire.Opcode(w.bits("opcode", 8, func(v uint64) string { return fmt.Sprintf("0x%02x: %v", v, wire.Opcode(v)) }))
	w.bits("solicited event", 1, yes)
	w.bits("migration state", 1, named(map[uint64]string{0: "rearm or armed", 1: "migrated"}))
	pad = int(w.bits("pad count", 2, unit("B")))
	w.bits("transport version", 4, nil)
	w.bits("partition key", 16, hex)
	w.bits("FECN", 1, yes)
	w.bits("BECN", 1, yes)
	w.reserved(6)
	w.bits("destination queue pair", 24, hex)
	w.bits("acknowledge request", 1, yes)
	w.reserved(7)
	w.bits("packet sequence number", 24, nil)
	return op, pad
}

func (w *walker) extended(ext wire.Ext) {
	const source = "IBTA 9.3"
	if ext&wire.ExtDETH != 0 {
		w.header("DETH", source)
		w.bits("queue key", 32, hex)
		w.reserved(8)
		w.bits("source queue pair", 24, hex)
	}
	if ext&wire.ExtRETH != 0 {
		w.header("RETH", source)
		w.bits("virtual address", 64, hex)
		w.bits("remote key", 32, hex)
		w.bits("DMA length", 32, unit("B in the whole message"))
	}
	if ext&wire.ExtAtomicETH != 0 {
		w.header("AtomicETH", source)
		w.bits("virtual address", 64, hex)
		w.bits("remote key", 32, hex)
		w.bits("swap or add data", 64, hex)
		w.bits("compare data", 64, hex)
	}
	if ext&wire.ExtAETH != 0 {
		w.header("AETH", source)
		w.bits("syndrome", 8, syndrome)
		w.bits("message sequence number", 24, nil)
	}
	if ext&wire.ExtAtomicAckETH != 0 {
		w.header("AtomicAckETH", source)
		w.bits("original remote data", 64, hex)
	}
	if ext&wire.ExtImmDt != 0 {
		w.header("ImmDt", source)
		w.bits("immediate data", 32, hex)
	}
	if ext&wire.ExtIETH != 0 {
		w.header("IETH", source)
		w.bits("remote key to invalidate", 32, hex)
	}
	if ext&wire.ExtCNP != 0 {
		w.header("CNP", "IBTA annex A17")
		w.bytes("reserved", wire.CNPLen-wire.BTHLen, "")
	}
}

// syndrome is an AETH's (IBTA 9.7.5.2.1).
func syndrome(v uint64) string {
	h := wire.AETH{Syndrome: uint8(v)}
	text := map[uint8]string{
		wire.SyndromePSNSequence:       "NAK: PSN sequence error",
		wire.SyndromeInvalidRequest:    "NAK: invalid request",
		wire.SyndromeRemoteAccess:      "NAK: remote access error",
		wire.SyndromeRemoteOperational: "NAK: remote operational error",
		wire.SyndromeNoLimit:           "ACK without a count of credits",
	}[h.Syndrome]
	switch {
	case text != "":
	case h.IsRNR():
		text = fmt.Sprintf("NAK: receiver not ready, timer code %d", h.Value())
	case h.IsACK():
		text = fmt.Sprintf("ACK, credit code %d", h.Value())
	}
	return fmt.Sprintf("0x%02x: %s", v, text)
}

func (w *walker) tcp() {
	start := w.at / 8
	segment := len(w.rest()) - w.behind()
	w.header("TCP", "RFC 9293")
	w.bits("source port", 16, nil)
	w.bits("destination port", 16, nil)
	w.bits("sequence number", 32, nil)
	w.bits("acknowledgement number", 32, nil)
	length := 4 * int(w.bits("data offset", 4, func(v uint64) string { return fmt.Sprintf("%d B of header", 4*v) }))
	w.reserved(4)
	for _, flag := range [...]string{"CWR", "ECE", "URG", "ACK", "PSH", "RST", "SYN", "FIN"} {
		w.bits(flag, 1, yes)
	}
	w.bits("window", 16, nil)
	w.bits("checksum", 16, hex)
	w.bits("urgent pointer", 16, nil)
	if length > wire.TCPLen {
		w.header("TCP options", "RFC 9293, 2018, 7323")
		for w.at/8 < start+length {
			w.option()
		}
	}
	switch n := segment - length; {
	case n > 0 && w.streamed:
		w.stream(n)
	case n > 0:
		w.header("payload", "")
		w.bytes("data", n, fmt.Sprintf("%d B", n))
	}
}

// option takes one option of a TCP header.
func (w *walker) option() {
	kind := w.rest()[0]
	if kind <= 1 {
		w.bits("kind", 8, named(map[uint64]string{0: "end", 1: "no operation"}))
		return
	}
	n := int(w.rest()[1])
	w.bits("kind", 8, named(map[uint64]string{2: "maximum segment size", 3: "window scale", 4: "SACK permitted",
		5: "SACK", 8: "timestamps"}))
	w.bits("length", 8, unit("B"))
	switch kind {
	case 2:
		w.bits("maximum segment size", 16, unit("B"))
	case 3:
		w.bits("shift count", 8, nil)
	case 5:
		for range (n - 2) / 8 {
			w.bits("left edge", 32, nil)
			w.bits("right edge", 32, nil)
		}
	case 8:
		w.bits("timestamp value", 32, nil)
		w.bits("timestamp echo reply", 32, nil)
	}
}
