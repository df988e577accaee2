package wire

import "encoding/binary"

// onesSum adds the 16-bit words of b to a sum; an odd last byte counts as the
// upper half of a word (RFC 1071). A sum of up to 2^32 bytes cannot overflow.
func onesSum(sum uint64, b []byte) uint64 {
	for len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

// fold adds the carries of a sum and complements it (RFC 1071).
func fold(sum uint64) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// InternetChecksum is the checksum of RFC 1071. Over a header that carries its
// checksum it is 0 if the header is intact.
func InternetChecksum(b []byte) uint16 { return fold(onesSum(0, b)) }

// udpChecksum sums the pseudo-header (RFC 768, RFC 8200 8.1), of which both
// versions have the same parts, and the datagram, whose checksum field counts
// as 0. The result 0 is sent as 0xffff, because 0 says that there is none.
func udpChecksum(src, dst, datagram []byte) uint16 {
	sum := onesSum(0, src)
	sum = onesSum(sum, dst)
	sum += ProtocolUDP + uint64(len(datagram))
	if len(datagram) >= UDPLen {
		sum = onesSum(sum, datagram[:6])
		sum = onesSum(sum, datagram[UDPLen:])
	} else {
		sum = onesSum(sum, datagram)
	}
	if c := fold(sum); c != 0 {
		return c
	}
	return 0xffff
}

// UDPChecksumIPv4 is the checksum of a UDP datagram (header and data) between
// two IPv4 addresses. The checksum field of the datagram is not looked at.
func UDPChecksumIPv4(src, dst [4]byte, datagram []byte) uint16 {
	return udpChecksum(src[:], dst[:], datagram)
}

// UDPChecksumIPv6 is the same between two IPv6 addresses.
func UDPChecksumIPv6(src, dst [16]byte, datagram []byte) uint16 {
	return udpChecksum(src[:], dst[:], datagram)
}
