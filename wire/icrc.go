package wire

import "hash/crc32"

// ICRCLen is the length of an invariant CRC in bytes. It follows payload and
// padding, least significant byte first.
const ICRCLen = 4

// ones stands in for fields that may change on the way.
var ones = [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// icrc is the state of an invariant CRC: CRC-32 as Ethernet computes it.
type icrc uint32

// add counts bytes as they are. A call of crc32 costs more than the few bytes
// between two masked fields.
func (c *icrc) add(b []byte) {
	if len(b) >= 16 {
		*c = icrc(crc32.Update(uint32(*c), crc32.IEEETable, b))
		return
	}
	x, table := ^uint32(*c), crc32.IEEETable
	for _, v := range b {
		x = x>>8 ^ table[uint8(x)^v]
	}
	*c = icrc(^x)
}

// addByte adds one byte that stands in no slice.
func (c *icrc) addByte(v byte) {
	x := ^uint32(*c)
	*c = icrc(^(x>>8 ^ crc32.IEEETable[uint8(x)^v]))
}

// mask counts n bytes as ones, n up to 8.
func (c *icrc) mask(n int) { c.add(ones[:n]) }

// transport adds BTH, extended headers, payload and padding. The byte with
// FECN, BECN and six reserved bits counts as ones.
func (c *icrc) transport(b []byte) {
	c.add(b[0:4])
	c.mask(1)
	c.add(b[5:])
}

// ICRC is the invariant CRC of a RoCEv2 packet, given from the first byte of
// its IPv4 or IPv6 header to the last of its padding (IBTA 7.8.1, annex A17).
// Before the packet, eight bytes of ones stand for the LRH that is not there.
// Ones, too, count type of service, TTL and header checksum of IPv4; traffic
// class, flow label and hop limit of IPv6; the UDP checksum; and the fifth byte
// of the BTH.
func ICRC(packet []byte) (uint32, error) {
	if len(packet) < 1 {
		return 0, truncated("ICRC", IPv4Len+UDPLen+BTHLen, packet)
	}
	header := IPv6Len
	switch packet[0] >> 4 {
	case 4:
		header = int(packet[0]&0xf) * 4
		if header < IPv4Len {
			return 0, badValue("IPv4", "header length", header, "20 to 60")
		}
	case 6:
	default:
		return 0, badValue("ICRC", "IP version", int(packet[0]>>4), "4 or 6")
	}
	if want := header + UDPLen + BTHLen; len(packet) < want {
		return 0, truncated("ICRC", want, packet)
	}
	var c icrc
	c.mask(LRHLen)
	if packet[0]>>4 == 6 {
		c.ipv6(packet[:header])
	} else {
		c.ipv4(packet[:header])
	}
	c.add(packet[header : header+6])
	c.mask(2) // UDP checksum
	c.transport(packet[header+UDPLen:])
	return uint32(c), nil
}

func (c *icrc) ipv4(b []byte) {
	c.add(b[0:1])
	c.mask(1) // type of service
	c.add(b[2:8])
	c.mask(1) // TTL
	c.add(b[9:10])
	c.mask(2) // header checksum
	c.add(b[12:])
}

// ipv6 serves the GRH as well, which is laid out alike.
func (c *icrc) ipv6(b []byte) {
	c.addByte(b[0] | 0x0f) // traffic class, upper half
	c.mask(3)              // traffic class, lower half; flow label
	c.add(b[4:7])
	c.mask(1) // hop limit
	c.add(b[8:])
}

// ICRCInfiniBand is the invariant CRC of an InfiniBand packet, given from the
// first byte of its LRH to the last of its padding (IBTA 7.8.1). Without GRH
// the virtual lane counts as ones; with one, the whole LRH and the GRH's
// traffic class, flow label and hop limit do. So does the fifth byte of the
// BTH.
func ICRCInfiniBand(packet []byte) (uint32, error) {
	h, rest, err := ParseLRH(packet)
	if err != nil {
		return 0, err
	}
	var c icrc
	switch h.LNH {
	case LNHLocal:
		c.addByte(packet[0] | 0xf0) // virtual lane
		c.add(packet[1:LRHLen])
	case LNHGlobal:
		if len(rest) < GRHLen {
			return 0, truncated("GRH", GRHLen, rest)
		}
		c.mask(LRHLen)
		c.ipv6(rest[:GRHLen])
		rest = rest[GRHLen:]
	default:
		return 0, badValue("LRH", "LNH", int(h.LNH), "2 (local) or 3 (global)")
	}
	if len(rest) < BTHLen {
		return 0, truncated("BTH", BTHLen, rest)
	}
	c.transport(rest)
	return uint32(c), nil
}
