package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// header is what every header type has.
type header interface {
	Append([]byte) []byte
	Len() int
}

// headerCase is one header: its bytes, what they mean, and which bits are not
// reserved.
type headerCase struct {
	name  string
	bytes []byte
	value header
	keep  []byte // mask of the bits that are read and written; nil: all
	parse func([]byte) (header, []byte, error)
	// alloc parses and appends with the static type, as callers do.
	alloc func(b, room []byte) []byte

	benchParse, benchAppend func(*testing.B)
}

func newCase[T header](name, text string, value T, keep string, parse func([]byte) (T, []byte, error)) headerCase {
	c := headerCase{name: name, bytes: unhex(text), value: value}
	if keep != "" {
		c.keep = unhex(keep)
	}
	c.parse = func(b []byte) (header, []byte, error) {
		h, rest, err := parse(b)
		return h, rest, err
	}
	c.alloc = func(b, room []byte) []byte {
		h, _, _ := parse(b)
		return h.Append(room)
	}
	c.benchParse = func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			parse(c.bytes)
		}
	}
	c.benchAppend = func(b *testing.B) {
		room := make([]byte, 0, 64)
		b.ReportAllocs()
		for b.Loop() {
			value.Append(room)
		}
	}
	return c
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// headerCases has a row per header. The bytes follow the figures of the
// standards: IBTA 7.7 (LRH), 8.3 (GRH), 9.2 (BTH), 9.3 (extended headers), annex A17
// (CNP), IEEE 802.3 annex 31D (PFC), RFC 791, 8200, 768. LRH, the first BTH and
// the first RETH are those of the IBTA's sample packet (7.8).
func headerCases() []headerCase {
	gid := [16]byte{0xfe, 0x80, 8: 2, 9: 3, 10: 4, 11: 0xff, 12: 0xfe, 13: 5, 14: 6, 15: 7}
	host := [16]byte{10: 0xff, 11: 0xff, 12: 10, 13: 77, 14: 0, 15: 12}
	return []headerCase{
		newCase("Ethernet", "0180c2000001 020000000007 8808",
			EthernetHeader{Dst: MAC{1, 0x80, 0xc2, 0, 0, 1}, Src: MAC{2, 0, 0, 0, 0, 7}, Type: TypeMACControl}, "", ParseEthernet),
		newCase("VLAN", "7123 0800", VLAN{PCP: 3, DEI: true, VID: 0x123, Type: TypeIPv4}, "", ParseVLAN),
		newCase("VLAN, no DEI", "ef00 86dd", VLAN{PCP: 7, VID: 0xf00, Type: TypeIPv6}, "", ParseVLAN),
		newCase("IPv4", "456a 0434 1234 4000 40 11 b0f0 0a4d000c 0a4d000b",
			IPv4{DSCP: 26, ECN: 2, TotalLen: 0x434, ID: 0x1234, DF: true, TTL: 64, Protocol: ProtocolUDP, Checksum: 0xb0f0,
				Src: [4]byte{10, 77, 0, 12}, Dst: [4]byte{10, 77, 0, 11}},
			"ffffffffffff7fffffffffffffffffffffffffff", ParseIPv4),
		newCase("IPv4 fragment", "4503 0014 0000 3fff 01 06 0000 00000000 ffffffff",
			IPv4{ECN: 3, TotalLen: 20, MF: true, FragOffset: 0x1fff, TTL: 1, Protocol: 6, Dst: [4]byte{255, 255, 255, 255}},
			"ffffffffffff7fffffffffffffffffffffffffff", ParseIPv4),
		newCase("IPv6", "66ab cdef 0434 11 40 fe80000000000000020304fffe050607 00000000000000000000ffff0a4d000c",
			IPv6{DSCP: 0x1a, ECN: 2, FlowLabel: 0xbcdef, PayloadLen: 0x434, NextHeader: 17, HopLimit: 64, Src: gid, Dst: host}, "", ParseIPv6),
		newCase("UDP", "c123 12b7 0420 0000", UDP{SrcPort: 0xc123, DstPort: RoCEv2Port, Length: 0x420}, "", ParseUDP),
		newCase("BTH", "0a 20 2487 00 87b1b3 00 0dec2a",
			BTH{Opcode: RCWriteOnly, PadCnt: 2, PKey: 0x2487, DestQP: 0x87b1b3, PSN: 0x0dec2a},
			"ffffffffc0ffffff80ffffff", ParseBTH),
		newCase("BTH, all flags", "81 fd ffff c0 000001 80 ffffff",
			BTH{Opcode: CNPOpcode, SE: true, MigReq: true, PadCnt: 3, TVer: 13, PKey: 0xffff, FECN: true, BECN: true, DestQP: 1, AckReq: true, PSN: 0xffffff},
			"ffffffffc0ffffff80ffffff", ParseBTH),
		newCase("BTH, BECN and SE", "64 80 ffff 40 ffffff 00 000000",
			BTH{Opcode: UDSendOnly, SE: true, PKey: 0xffff, BECN: true, DestQP: 0xffffff},
			"ffffffffc0ffffff80ffffff", ParseBTH),
		newCase("RETH", "01710a1c015d4002 38f27a05 0000000e", RETH{VA: 0x01710a1c015d4002, RKey: 0x38f27a05, DMALen: 14}, "", ParseRETH),
		newCase("AETH", "1f 00a001", AETH{Syndrome: SyndromeNoLimit, MSN: 0xa001}, "", ParseAETH),
		newCase("AtomicETH", "0102030405060708 090a0b0c 1112131415161718 2122232425262728",
			AtomicETH{VA: 0x0102030405060708, RKey: 0x090a0b0c, SwapAdd: 0x1112131415161718, Compare: 0x2122232425262728}, "", ParseAtomicETH),
		newCase("AtomicAckETH", "8102030405060708", AtomicAckETH{Original: 0x8102030405060708}, "", ParseAtomicAckETH),
		newCase("ImmDt", "deadbeef", ImmDt{Data: 0xdeadbeef}, "", ParseImmDt),
		newCase("IETH", "00001a2b", IETH{RKey: 0x1a2b}, "", ParseIETH),
		newCase("DETH", "11111111 00 00001b", DETH{QKey: 0x11111111, SrcQP: 0x1b}, "ffffffff00ffffff", ParseDETH),
		newCase("CNP", "81 00 ffff 40 000011 00 000000 00000000000000000000000000000000", NewCNP(0x11, DefaultPKey),
			"ffffffffc0ffffff80ffffff00000000000000000000000000000000", ParseCNP),
		newCase("PFC", "0101 0009 ffff 0000 0000 0001 0000 0000 0000 0200",
			PFC{Enable: 0x09, Time: [8]uint16{0: 0xffff, 3: 1, 7: 0x200}}, "ffff00ffffffffffffffffffffffffffffffffff", ParsePFC),
		newCase("LRH", "70 12 375c 000e 17d2", LRH{VL: 7, SL: 1, LNH: LNHLocal, DLID: 0x375c, PktLen: 14, SLID: 0x17d2}, "fff3ffff07ffffff", ParseLRH),
		newCase("LRH, wide", "f9 a3 c001 07ff ffff", LRH{VL: 15, LVer: 9, SL: 10, LNH: LNHGlobal, DLID: 0xc001, PktLen: 0x7ff, SLID: 0xffff}, "fff3ffff07ffffff", ParseLRH),
		newCase("GRH", "6abcdef0 0030 1b 10 fe80000000000000020304fffe050607 00000000000000000000ffff0a4d000c",
			GRH{TClass: 0xab, FlowLabel: 0xcdef0, PayLen: 48, NxtHdr: NextHeaderBTH, HopLmt: 16, SGID: gid, DGID: host}, "", ParseGRH),
	}
}

func TestHeaders(t *testing.T) {
	for _, c := range headerCases() {
		t.Run(c.name, func(t *testing.T) {
			after := []byte{0xaa, 0xbb}
			got, rest, err := c.parse(append(bytes.Clone(c.bytes), after...))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.value) {
				t.Errorf("parsed %+v, want %+v", got, c.value)
			}
			if !bytes.Equal(rest, after) {
				t.Errorf("left %x, want %x", rest, after)
			}
			before := []byte{0xcc}
			if out, want := c.value.Append(bytes.Clone(before)), append(before, c.bytes...); !bytes.Equal(out, want) {
				t.Errorf("appended %x, want %x", out, want)
			}
			if n := c.value.Len(); n != len(c.bytes) {
				t.Errorf("Len is %d, want %d", n, len(c.bytes))
			}
		})
	}
}

// Every prefix of a header is too short, and the error says by how much.
func TestHeadersTruncated(t *testing.T) {
	for _, c := range headerCases() {
		for n := range c.bytes {
			_, rest, err := c.parse(c.bytes[:n])
			var short *TruncatedError
			if !errors.As(err, &short) {
				t.Errorf("%s: error of %d bytes is %v, want a TruncatedError", c.name, n, err)
				continue
			}
			if short.Have != n || short.Want != len(c.bytes) {
				t.Errorf("%s of %d bytes: %v", c.name, n, err)
			}
			if len(rest) != n {
				t.Errorf("%s of %d bytes: %d left, want all", c.name, n, len(rest))
			}
		}
	}
}

// What is parsed is appended again bit by bit, reserved bits as zeros.
func roundTrip(t *testing.T, c headerCase, data []byte) {
	h, rest, err := c.parse(data)
	if err != nil {
		return
	}
	want := bytes.Clone(data[:len(data)-len(rest)])
	for i, m := range c.keep {
		want[i] &= m
	}
	if got := h.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("%s: %x came back as %x, want %x", c.name, data, got, want)
	}
}

// Each bit of each header alone, and all but it.
func TestHeaderBits(t *testing.T) {
	for _, c := range headerCases() {
		for i := range 8 * len(c.bytes) {
			b := bytes.Clone(c.bytes)
			b[i/8] ^= 0x80 >> (i % 8)
			roundTrip(t, c, b)
			zero := make([]byte, len(b))
			copy(zero, c.bytes[:2]) // versions and opcodes stand there
			zero[i/8] ^= 0x80 >> (i % 8)
			roundTrip(t, c, zero)
		}
	}
}

func FuzzHeaders(f *testing.F) {
	cases := headerCases()
	for _, c := range cases {
		f.Add(c.bytes)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, c := range cases {
			roundTrip(t, c, data)
		}
	})
}

// Values wider than their fields do not spill into the neighbours.
func TestAppendCutsToWidth(t *testing.T) {
	all := BTH{PadCnt: 0xff, TVer: 0, DestQP: 0xffffffff, PSN: 0xffffffff}
	for _, c := range []struct {
		name string
		h    header
		want string
	}{
		{"BTH", all, "00 30 0000 00ffffff 00ffffff"},
		{"BTH TVer", BTH{TVer: 0xff}, "00 0f 0000 00000000 00000000"},
		{"AETH", AETH{MSN: 0xffffffff}, "00ffffff"},
		{"DETH", DETH{SrcQP: 0xffffffff}, "00000000 00ffffff"},
		{"VLAN", VLAN{VID: 0xffff}, "0fff0000"},
		{"VLAN PCP", VLAN{PCP: 0xff}, "e0000000"},
		{"LRH", LRH{LVer: 0xff, LNH: 0xff, PktLen: 0xffff}, "0f03 0000 07ff 0000"},
		{"GRH", GRH{FlowLabel: 0xffffffff}, "600fffff 00000000" + strings.Repeat("00", 32)},
		{"IPv6", IPv6{FlowLabel: 0xffffffff}, "600fffff 00000000" + strings.Repeat("00", 32)},
		{"IPv6 DSCP", IPv6{DSCP: 0xff}, "6fc00000 00000000" + strings.Repeat("00", 32)},
		{"IPv6 ECN", IPv6{ECN: 0xff}, "60300000 00000000" + strings.Repeat("00", 32)},
		{"IPv4", IPv4{ECN: 0xff, FragOffset: 0xffff}, "4503 0000 0000 1fff 0000 0000 00000000 00000000"},
	} {
		if got := c.h.Append(nil); !bytes.Equal(got, unhex(c.want)) {
			t.Errorf("%s: %x, want %x", c.name, got, unhex(c.want))
		}
	}
}

func TestHeaderVersions(t *testing.T) {
	for _, c := range []struct{ name, bytes, want string }{
		{"IPv4", "60" + strings.Repeat("00", 39), "IPv4: version is 6, want 4"},
		{"IPv4", "46" + strings.Repeat("00", 39), "IPv4: header length is 24, want 20 (options are not supported)"},
		{"IPv6", "45" + strings.Repeat("00", 39), "IPv6: version is 4, want 6"},
		{"GRH", "50" + strings.Repeat("00", 39), "GRH: IPVer is 5, want 6"},
		{"CNP", "11" + strings.Repeat("00", 39), "CNP: opcode is 17, want 129"},
		{"PFC", "0001" + strings.Repeat("00", 39), "PFC: opcode is 1, want 257"},
		{"BTH", "1100", "BTH: 2 bytes, want at least 12"},
	} {
		for _, h := range headerCases() {
			if h.name != c.name {
				continue
			}
			if _, _, err := h.parse(unhex(c.bytes)); err == nil || err.Error() != c.want {
				t.Errorf("%s: error %v, want %s", c.name, err, c.want)
			}
		}
	}
}

func TestSyndromes(t *testing.T) {
	for _, c := range []struct {
		syndrome      uint8
		ack, rnr, nak bool
		value         uint8
	}{
		{SyndromeACK | 7, true, false, false, 7},
		{SyndromeNoLimit, true, false, false, 31},
		{SyndromeRNR | 12, false, true, false, 12},
		{SyndromePSNSequence, false, false, true, 0},
		{SyndromeInvalidRequest, false, false, true, 1},
		{SyndromeRemoteAccess, false, false, true, 2},
		{SyndromeRemoteOperational, false, false, true, 3},
		{SyndromeInvalidRD, false, false, true, 4},
		{0x40, false, false, false, 0}, // reserved
		{0x80, false, false, false, 0}, // reserved bit
	} {
		h := AETH{Syndrome: c.syndrome}
		if h.IsACK() != c.ack || h.IsRNR() != c.rnr || h.IsNAK() != c.nak || h.Value() != c.value {
			t.Errorf("0x%02x: ACK %v RNR %v NAK %v value %d", c.syndrome, h.IsACK(), h.IsRNR(), h.IsNAK(), h.Value())
		}
	}
}

func TestHeadersDoNotAllocate(t *testing.T) {
	room := make([]byte, 0, 64)
	for _, c := range headerCases() {
		if n := testing.AllocsPerRun(100, func() { c.alloc(c.bytes, room) }); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

// BenchmarkParse and BenchmarkAppend take each header by itself; the bound is
// 20 ns.
func BenchmarkParse(b *testing.B) {
	for _, c := range headerCases() {
		b.Run(c.name, c.benchParse)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, c := range headerCases() {
		b.Run(c.name, c.benchAppend)
	}
}
