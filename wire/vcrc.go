package wire

// VCRCLen is the length of a variant CRC in bytes. It is the last field of an
// InfiniBand packet, least significant byte first.
const VCRCLen = 2

// vcrcPoly is the polynomial 0x100b with its bits in the order in which they
// travel: the least significant bit of each byte first (IBTA 7.8.2).
const vcrcPoly = 0xd008

var vcrcTable = makeVCRCTable()

func makeVCRCTable() (t [256]uint16) {
	for i := range t {
		c := uint16(i)
		for range 8 {
			c = c>>1 ^ c&1*vcrcPoly
		}
		t[i] = c
	}
	return t
}

// VCRC is the variant CRC of an InfiniBand packet, given from the first byte
// of its LRH to the last of its ICRC (IBTA 7.8.2): CRC-16 with polynomial
// 0x100b, seed 0xffff, complemented. Every hop computes it anew.
func VCRC(packet []byte) uint16 {
	c := uint16(0xffff)
	for _, b := range packet {
		c = c>>8 ^ vcrcTable[uint8(c)^b]
	}
	return ^c
}
