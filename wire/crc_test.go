package wire

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// lfsr is the shift register of IBTA 7.8 as its figures draw it, a bit at a
// time: preset to ones, the least significant bit of each byte first, the
// result complemented and sent from the highest coefficient on, eight to a byte
// with the first as the least significant bit.
func lfsr(width int, poly uint64, data []byte) []byte {
	top, reg := uint64(1)<<(width-1), uint64(1)<<width-1
	for i := range 8 * len(data) {
		in := data[i/8]>>(i%8)&1 == 1
		out := reg&top != 0
		reg = reg << 1 & (1<<width - 1)
		if in != out {
			reg ^= poly
		}
	}
	sum := make([]byte, width/8)
	for i := range width {
		if reg&(top>>i) == 0 {
			sum[i/8] |= 1 << (i % 8)
		}
	}
	return sum
}

func crc32Bits(data []byte) uint32 { return binary.LittleEndian.Uint32(lfsr(32, 0x04c11db7, data)) }
func crc16Bits(data []byte) uint16 { return binary.LittleEndian.Uint16(lfsr(16, 0x100b, data)) }

// sampleLocal is the sample packet of IBTA 7.8 (table 29) without its CRCs: LRH,
// BTH of an RDMA WRITE Only, RETH, 14 bytes of payload, 2 of padding.
const sampleLocal = "70 12 375c 000e 17d2" + "0a 20 2487 00 87b1b3 00 0dec2a" + "01710a1c015d4002 38f27a05 0000000e" +
	"bb884d85fd5cfba4728bc0690ed4" + "0000"

// The ICRC that the specification prints beside its sample packet: 0x9625B75A,
// first byte 0x96. The masked bytes and the value are also quoted in the
// linux-rdma thread "handle ICRC correctly on big endian systems", 29 Jan 2025.
func TestICRCOfTheStandardsSample(t *testing.T) {
	packet := unhex(sampleLocal)
	crc, err := ICRCInfiniBand(packet)
	if err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.AppendUint32(nil, crc); !bytes.Equal(got, unhex("9625b75a")) {
		t.Errorf("ICRC is %x on the wire, want 9625b75a", got)
	}
	whole := append(packet, unhex("9625b75a")...)
	whole = binary.LittleEndian.AppendUint16(whole, crc16Bits(whole))
	p, err := DecodeInfiniBand(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckCRCs(); err != nil {
		t.Error(err)
	}
	if len(p.Payload) != 14 || p.BTH.PadCnt != 2 || p.RETH.DMALen != 14 || p.LRH.PktLen != 14 {
		t.Errorf("decoded %+v", p)
	}
	again, err := p.Append(nil)
	if err != nil || !bytes.Equal(again, whole) {
		t.Errorf("appended %x, %v, want %x", again, err, whole)
	}
}

// maskedPacket is a packet and the bits of it that count as ones in its ICRC,
// from the lists of IBTA 7.8.1 and annex A17.
type maskedPacket struct {
	name   string
	packet []byte
	ones   map[int]byte // offset to bits
	before int          // bytes of ones before the packet
	icrc   func([]byte) (uint32, error)
}

func maskedPackets() []maskedPacket {
	body := unhex("04 00 ffff 00 000011 80 abcdef" + "0102030405060708")
	udp := unhex("c123 12b7 0020 1234")
	v4 := append(unhex("456a 0034 1234 4000 40 11 b0f0 0a4d000c 0a4d000b"), append(udp, body...)...)
	options := append(unhex("466a 0038 1234 4000 40 11 b0f0 0a4d000c 0a4d000b 94040000"), append(udp, body...)...)
	address := unhex("fe80000000000000020304fffe050607 00000000000000000000ffff0a4d000c")
	v6 := append(append(unhex("66abcdef 0020 11 40"), address...), append(udp, body...)...)
	global := append(append(unhex("70 13 375c 0012 17d2"+"6ab12345 0018 1b 40"), address...), body...)
	lrh := map[int]byte{8: 0x0f, 9: 0xff, 10: 0xff, 11: 0xff, 15: 0xff, 52: 0xff}
	for i := range LRHLen {
		lrh[i] = 0xff
	}
	return []maskedPacket{
		{"IPv4", v4, map[int]byte{1: 0xff, 8: 0xff, 10: 0xff, 11: 0xff, 26: 0xff, 27: 0xff, 32: 0xff}, 8, ICRC},
		{"IPv4 with options", options, map[int]byte{1: 0xff, 8: 0xff, 10: 0xff, 11: 0xff, 30: 0xff, 31: 0xff, 36: 0xff}, 8, ICRC},
		{"IPv6", v6, map[int]byte{0: 0x0f, 1: 0xff, 2: 0xff, 3: 0xff, 7: 0xff, 46: 0xff, 47: 0xff, 52: 0xff}, 8, ICRC},
		{"InfiniBand local", unhex(sampleLocal), map[int]byte{0: 0xf0, 12: 0xff}, 0, ICRCInfiniBand},
		{"InfiniBand global", global, lrh, 0, ICRCInfiniBand},
	}
}

func TestICRCMasks(t *testing.T) {
	for _, c := range maskedPackets() {
		t.Run(c.name, func(t *testing.T) {
			masked := bytes.Repeat([]byte{0xff}, c.before)
			for i, b := range c.packet {
				masked = append(masked, b|c.ones[i])
			}
			got, err := c.icrc(c.packet)
			if err != nil {
				t.Fatal(err)
			}
			if want := crc32Bits(masked); got != want {
				t.Errorf("ICRC is 0x%08x, want 0x%08x", got, want)
			}
		})
	}
}

// Masked bits may change on the way, any other changes the ICRC, or makes the
// packet one of another kind.
func TestICRCNoticesEveryOtherBit(t *testing.T) {
	for _, c := range maskedPackets() {
		want, _ := c.icrc(c.packet)
		for i := range 8 * len(c.packet) {
			b := bytes.Clone(c.packet)
			b[i/8] ^= 1 << (i % 8)
			if b[i/8]>>4 != c.packet[i/8]>>4 && i/8 == 0 && c.before > 0 {
				continue // another IP version
			}
			if i/8 == 1 && i%8 < 2 && c.before == 0 {
				continue // another next header
			}
			got, err := c.icrc(b)
			masked := c.ones[i/8]&(1<<(i%8)) != 0
			if masked != (err == nil && got == want) {
				t.Errorf("%s: byte %d bit %d: masked %v, ICRC 0x%08x, was 0x%08x, %v", c.name, i/8, i%8, masked, got, want, err)
			}
		}
	}
}

func TestICRCErrors(t *testing.T) {
	for _, c := range maskedPackets() {
		fixed := len(c.packet) - 8 // without payload
		if c.name == "InfiniBand local" {
			fixed = LRHLen + BTHLen
		}
		for n := range c.packet {
			if _, err := c.icrc(c.packet[:n]); (err != nil) != (n < fixed) {
				t.Errorf("%s, %d bytes: error %v", c.name, n, err)
			}
		}
	}
	long := make([]byte, 100)
	for first, want := range map[byte]string{
		0x54: "ICRC: IP version is 5, want 4 or 6",
		0x44: "IPv4: header length is 16, want 20 to 60",
	} {
		long[0] = first
		if _, err := ICRC(long); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := ICRCInfiniBand(long[2:]); err == nil || err.Error() != "LRH: LNH is 0, want 2 (local) or 3 (global)" {
		t.Errorf("error %v", err)
	}
}

// The table-driven CRC-16 against the register of the standard.
func TestVCRC(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 70 {
		b := make([]byte, n)
		for i := range b {
			b[i] = uint8(random.Uint32())
		}
		if got, want := VCRC(b), crc16Bits(b); got != want {
			t.Errorf("VCRC of %x is 0x%04x, want 0x%04x", b, got, want)
		}
	}
}

// RFC 1071 section 3 adds 00 01 f2 03 f4 f5 f6 f7 to ddf2.
func TestInternetChecksum(t *testing.T) {
	const rfc = "0001f203f4f5f6f7"
	for _, c := range []struct {
		bytes string
		want  uint16
	}{
		{rfc, ^uint16(0xddf2)},
		{"", 0xffff},
		{"ff", 0x00ff},                    // an odd byte is the upper half of a word
		{"ffff", 0},                       // all ones
		{"ffffffff0001", ^uint16(0x0001)}, // the carry comes round
	} {
		if got := InternetChecksum(unhex(c.bytes)); got != c.want {
			t.Errorf("checksum of %s is 0x%04x, want 0x%04x", c.bytes, got, c.want)
		}
	}
}

// A UDP checksum is right if pseudo-header, datagram and checksum add up to
// all ones (RFC 768).
func TestUDPChecksum(t *testing.T) {
	src, dst := [4]byte{10, 77, 0, 12}, [4]byte{10, 77, 0, 11}
	src6, dst6 := [16]byte{0xfe, 0x80, 15: 1}, [16]byte{0xfe, 0x80, 15: 2}
	for _, text := range []string{"c123 12b7 0008 0000", "c123 12b7 0009 0000 ff", "c123 12b7 000c 9999 01020304"} {
		d := unhex(text)
		length := uint8(len(d))
		binary.BigEndian.PutUint16(d[6:], UDPChecksumIPv4(src, dst, d))
		pseudo := append(append(bytes.Clone(src[:]), dst[:]...), 0, 17, 0, length)
		if got := InternetChecksum(append(pseudo, d...)); got != 0 {
			t.Errorf("%s over IPv4: off by 0x%04x", text, got)
		}
		binary.BigEndian.PutUint16(d[6:], UDPChecksumIPv6(src6, dst6, d))
		pseudo = append(append(bytes.Clone(src6[:]), dst6[:]...), 0, 0, 0, length, 0, 0, 0, 17)
		if got := InternetChecksum(append(pseudo, d...)); got != 0 {
			t.Errorf("%s over IPv6: off by 0x%04x", text, got)
		}
	}
	// A sum of zero is sent as all ones: 0 would say that there is no checksum.
	zero := unhex("0000 0000 0008 0000")
	binary.BigEndian.PutUint16(zero, 0xffff-17-8-8)
	if got := UDPChecksumIPv4([4]byte{}, [4]byte{}, zero); got != 0xffff {
		t.Errorf("checksum is 0x%04x, want 0xffff", got)
	}
	UDPChecksumIPv4(src, dst, nil) // too short for a header: no panic
}

func TestCRCsDoNotAllocate(t *testing.T) {
	for _, c := range maskedPackets() {
		if n := testing.AllocsPerRun(100, func() { c.icrc(c.packet) }); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
	h := IPv4{TotalLen: 100, TTL: 64}
	if n := testing.AllocsPerRun(100, func() { h.HeaderChecksum() }); n != 0 {
		t.Errorf("IPv4 checksum: %v allocations", n)
	}
}

func BenchmarkICRC(b *testing.B) {
	for _, payload := range []int{0, 1024, 4096} {
		packet := append(bytes.Clone(maskedPackets()[0].packet), make([]byte, payload)...)
		b.Run(map[int]string{0: "ACK", 1024: "1024", 4096: "4096"}[payload], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ICRC(packet)
			}
		})
	}
}

func BenchmarkVCRC(b *testing.B) {
	packet := make([]byte, 4096)
	for b.Loop() {
		VCRC(packet)
	}
}
