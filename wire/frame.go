package wire

import (
	"encoding/binary"
	"fmt"
)

// FrameKind says what DecodeFrame found in an Ethernet frame.
type FrameKind uint8

// Kinds of frame.
const (
	FrameOther  FrameKind = iota // anything else: ARP, TCP, fragments, IP options, other UDP ports
	FrameRoCEv2                  // IP, UDP to port 4791, BTH
	FramePFC                     // priority flow control
)

// Frame is an Ethernet frame, decoded. Slices are parts of the decoded bytes.
type Frame struct {
	Kind      FrameKind
	Tagged    bool  // VLAN counts
	IPVersion uint8 // 4: IPv4 counts; 6: IPv6 does; 0: no IP header was read
	Ethernet  EthernetHeader
	VLAN      VLAN
	IPv4      IPv4
	IPv6      IPv6
	UDP       UDP    // FrameRoCEv2 only
	Transport        // FrameRoCEv2 only
	PFC       PFC    // FramePFC only
	Trailer   []byte // what follows the packet: Ethernet padding and, if captured, the FCS

	packet []byte // FrameRoCEv2: from IP header to ICRC
}

// DecodeFrame reads an Ethernet frame from its destination address on, with or
// without padding and FCS. What is no RoCEv2 packet and no PFC frame is
// FrameOther and no error. A RoCEv2 packet is an error if it is cut short, if
// its lengths contradict each other, or if its opcode is unknown. CRCs and
// checksums are not verified: see CheckICRC. After an error the frame holds
// what was read until then.
func DecodeFrame(b []byte) (f Frame, err error) {
	err = f.decode(b)
	return f, err
}

func (f *Frame) decode(b []byte) (err error) {
	if f.Ethernet, b, err = ParseEthernet(b); err != nil {
		return err
	}
	etherType := f.Ethernet.Type
	if etherType == TypeVLAN {
		if f.VLAN, b, err = ParseVLAN(b); err != nil {
			return err
		}
		f.Tagged, etherType = true, f.VLAN.Type
	}
	switch etherType {
	case TypeMACControl:
		return f.decodeControl(b)
	case TypeIPv4:
		return f.decodeIPv4(b)
	case TypeIPv6:
		return f.decodeIPv6(b)
	}
	return nil
}

func (f *Frame) decodeControl(b []byte) (err error) {
	if len(b) < 2 {
		return truncated("MAC control", 2, b)
	}
	if binary.BigEndian.Uint16(b) != PFCOpcode {
		return nil
	}
	if f.PFC, f.Trailer, err = ParsePFC(b); err == nil {
		f.Kind = FramePFC
	}
	return err
}

func (f *Frame) decodeIPv4(b []byte) error {
	if len(b) > 0 && b[0]>>4 == 4 && b[0]&0xf > 5 {
		return nil // options
	}
	h, rest, err := ParseIPv4(b)
	if err != nil {
		return err
	}
	f.IPVersion, f.IPv4 = 4, h
	if h.Protocol != ProtocolUDP || h.MF || h.FragOffset != 0 {
		return nil
	}
	n := int(h.TotalLen)
	if n < IPv4Len {
		return badValue("IPv4", "total length", n, "20 or more")
	}
	if len(b) < n {
		return truncated("IPv4 packet", n, b)
	}
	return f.decodeUDP(b, rest[:n-IPv4Len])
}

func (f *Frame) decodeIPv6(b []byte) error {
	h, rest, err := ParseIPv6(b)
	if err != nil {
		return err
	}
	f.IPVersion, f.IPv6 = 6, h
	if h.NextHeader != ProtocolUDP {
		return nil
	}
	n := int(h.PayloadLen)
	if len(rest) < n {
		return truncated("IPv6 payload", n, rest)
	}
	return f.decodeUDP(b, rest[:n])
}

// decodeUDP reads a datagram. ip is the rest of the frame from the IP header
// on, and datagram the part of it that the IP header gives to UDP.
func (f *Frame) decodeUDP(ip, datagram []byte) error {
	h, rest, err := ParseUDP(datagram)
	if err != nil {
		return err
	}
	if h.DstPort != RoCEv2Port {
		return nil
	}
	f.UDP = h
	if int(h.Length) != len(datagram) {
		return badValue("UDP", "length", int(h.Length), fmt.Sprintf("%d, as the IP header says", len(datagram)))
	}
	if err := f.Transport.decode(rest); err != nil {
		return err
	}
	end := f.ipLen() + len(datagram)
	f.packet, f.Trailer = ip[:end:end], ip[end:]
	f.Kind = FrameRoCEv2
	return nil
}

// ipLen is the length of the IP header in bytes.
func (f *Frame) ipLen() int {
	if f.IPVersion == 6 {
		return IPv6Len
	}
	return IPv4Len
}

// Len is the length in bytes of the frame that Append writes.
func (f *Frame) Len() int {
	n := EthernetLen + f.ipLen() + UDPLen + f.Transport.Len()
	if f.Tagged {
		n += VLANLen
	}
	return n
}

// CheckICRC says whether the ICRC of a decoded RoCEv2 frame is right. The bytes
// that were decoded must still be there.
func (f *Frame) CheckICRC() error {
	if f.Kind != FrameRoCEv2 || len(f.packet) < ICRCLen {
		return fmt.Errorf("ICRC: not a decoded RoCEv2 frame")
	}
	want, err := ICRC(f.packet[:len(f.packet)-ICRCLen])
	if err != nil {
		return err
	}
	return compareICRC(f.Transport.ICRC, want)
}

func compareICRC(have, want uint32) error {
	if have != want {
		return fmt.Errorf("ICRC is 0x%08x, want 0x%08x", have, want)
	}
	return nil
}

// Append writes the RoCEv2 packet that f describes behind b: from the Ethernet
// header to the ICRC, without Ethernet padding and FCS. IPVersion (4 or 6) and
// Tagged choose the headers. Types, lengths, IP protocol, IPv4 checksum,
// destination port, pad count and ICRC are computed; the UDP checksum is written
// as it stands, 0 for none, as RoCEv2 allows. On error b comes back as it was.
func (f *Frame) Append(b []byte) ([]byte, error) { return f.AppendHead(b, f.Len()) }

// AppendHead is Append for the first most bytes of the packet alone: what lies behind
// them is neither copied nor checked.
func (f *Frame) AppendHead(b []byte, most int) ([]byte, error) {
	if err := f.Transport.check(); err != nil {
		return b, err
	}
	if f.IPVersion != 4 && f.IPVersion != 6 {
		return b, badValue("frame", "IP version", int(f.IPVersion), "4 or 6")
	}
	datagram := UDPLen + f.Transport.Len()
	if most := 0xffff - IPv4Len; datagram > most {
		return b, badValue("UDP", "length", datagram, fmt.Sprintf("%d or less", most))
	}
	whole := b
	b = f.appendEthernet(b)
	start := len(b)
	b = f.appendIP(b, datagram)
	u := f.UDP
	u.DstPort, u.Length = RoCEv2Port, uint16(datagram)
	b = u.Append(b)
	end := len(whole) + min(most, f.Len())
	b = f.Transport.append(b, end-len(b))
	if most > f.Len()-ICRCLen {
		crc, err := ICRC(b[start:])
		if err != nil {
			return whole, err
		}
		b = binary.LittleEndian.AppendUint32(b, crc)
	}
	return b[:end], nil
}

func (f *Frame) appendEthernet(b []byte) []byte {
	etherType := TypeIPv4
	if f.IPVersion == 6 {
		etherType = TypeIPv6
	}
	h, tag := f.Ethernet, f.VLAN
	h.Type, tag.Type = etherType, etherType
	if !f.Tagged {
		return h.Append(b)
	}
	h.Type = TypeVLAN
	return tag.Append(h.Append(b))
}

func (f *Frame) appendIP(b []byte, datagram int) []byte {
	if f.IPVersion == 6 {
		h := f.IPv6
		h.PayloadLen, h.NextHeader = uint16(datagram), ProtocolUDP
		return h.Append(b)
	}
	h := f.IPv4
	h.TotalLen, h.Protocol = uint16(IPv4Len+datagram), ProtocolUDP
	h.MF, h.FragOffset = false, 0
	h.Checksum = h.HeaderChecksum()
	return h.Append(b)
}
