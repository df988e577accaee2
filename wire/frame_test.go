package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// allOpcodes lists the opcodes that the standard gives to RC, UC and UD, the CNP and
// our probes, with the bytes of their extended headers (IBTA 9.2.1, 9.3).
func allOpcodes() map[Opcode]int {
	m := map[Opcode]int{UDSendOnly: 8, UDSendOnlyImm: 12, CNPOpcode: 16, IBCNPOpcode: 0, ProbeOpcode: 16, ProbeAnswerOpcode: 16,
		RCReadRequest: 16, RCReadRespFirst: 4, RCReadRespMiddle: 0, RCReadRespLast: 4, RCReadRespOnly: 4,
		RCAcknowledge: 4, RCAtomicAck: 12, RCCmpSwap: 28, RCFetchAdd: 28, RCSendLastInv: 4, RCSendOnlyInv: 4}
	for op, n := range map[Opcode]int{0: 0, 1: 0, 2: 0, 3: 4, 4: 0, 5: 4, 6: 16, 7: 0, 8: 0, 9: 4, 10: 16, 11: 20} {
		m[op], m[0x20|op] = n, n // RC and UC
	}
	return m
}

func TestOpcodes(t *testing.T) {
	want := allOpcodes()
	for i := range 256 {
		op := Opcode(i)
		n, known := want[op]
		if op.Known() != known {
			t.Errorf("0x%02x known: %v", i, op.Known())
		}
		if known && op.HeaderLen() != 12+n {
			t.Errorf("%v: headers of %d bytes, want %d", op, op.HeaderLen(), 12+n)
		}
		if known == strings.HasPrefix(op.String(), "opcode") {
			t.Errorf("0x%02x is called %q", i, op)
		}
		// Those without payload: READ request, acknowledgements, atomics, CNP, probes.
		if none := i >= 0x11 && i <= 0x14 || i == 0x0c || i == 0x80 || i == 0x81 || i>>1 == 0x60; known && op.HasPayload() == none {
			t.Errorf("%v has payload: %v", op, op.HasPayload())
		}
	}
}

// transport fills every header that an opcode has with values of its own.
func transport(op Opcode, payload int) Transport {
	p := Transport{BTH: BTH{Opcode: op, SE: true, PKey: DefaultPKey, DestQP: 0x123456, AckReq: true, PSN: 0xfffffe}}
	e := op.Ext()
	if e&ExtDETH != 0 {
		p.DETH = DETH{QKey: 0x11111111, SrcQP: 0x1b}
	}
	if e&ExtRETH != 0 {
		p.RETH = RETH{VA: 1 << 60, RKey: 7, DMALen: 9000}
	}
	if e&ExtAtomicETH != 0 {
		p.AtomicETH = AtomicETH{VA: 8, RKey: 9, SwapAdd: 10, Compare: 11}
	}
	if e&ExtAETH != 0 {
		p.AETH = AETH{Syndrome: SyndromeRNR | 12, MSN: 3}
	}
	if e&ExtAtomicAckETH != 0 {
		p.AtomicAckETH = AtomicAckETH{Original: 1 << 63}
	}
	if e&ExtImmDt != 0 {
		p.ImmDt = ImmDt{Data: 0xdeadbeef}
	}
	if e&ExtIETH != 0 {
		p.IETH = IETH{RKey: 0x1a2b}
	}
	if op.HasPayload() {
		p.Payload = bytes.Repeat([]byte{0xa5}, payload)
		p.BTH.PadCnt = uint8(-payload & 3)
	}
	return p
}

// sampleFrame is a frame with everything that Append does not compute.
func sampleFrame(op Opcode, payload int, version uint8, tagged bool) Frame {
	f := Frame{Kind: FrameRoCEv2, IPVersion: version, Tagged: tagged, Transport: transport(op, payload)}
	f.Ethernet = EthernetHeader{Dst: MAC{2, 0, 0, 0, 0, 1}, Src: MAC{2, 0, 0, 0, 0, 2}}
	if tagged {
		f.VLAN = VLAN{PCP: 3, VID: 100}
	}
	if version == 4 {
		f.IPv4 = IPv4{DSCP: 26, ECN: 2, ID: 77, DF: true, TTL: 64, Src: [4]byte{10, 77, 0, 12}, Dst: [4]byte{10, 77, 0, 11}}
	} else {
		f.IPv6 = IPv6{DSCP: 26, ECN: 3, FlowLabel: 0xabcde, HopLimit: 64, Src: [16]byte{0xfe, 0x80, 15: 1}, Dst: [16]byte{0xfe, 0x80, 15: 2}}
	}
	f.UDP = UDP{SrcPort: 0xc123}
	return f
}

// eachFrame runs f over every opcode, IP version, tag and padding.
func eachFrame(t *testing.T, do func(t *testing.T, f Frame)) {
	for i := range 256 {
		op := Opcode(i)
		if !op.Known() {
			continue
		}
		for payload := range 6 {
			if !op.HasPayload() && payload > 0 {
				continue
			}
			for _, version := range []uint8{4, 6} {
				for _, tagged := range []bool{false, true} {
					name := fmt.Sprintf("%v/%d/IPv%d/%v", op, payload, version, tagged)
					t.Run(name, func(t *testing.T) { do(t, sampleFrame(op, payload, version, tagged)) })
				}
			}
		}
	}
}

// computed sets the fields that Append computes to what they should be.
func computed(f *Frame, crc uint32) {
	n := UDPLen + f.BTH.Opcode.HeaderLen() + len(f.Payload) + int(f.BTH.PadCnt) + 4
	ip := uint16(0x0800)
	if f.IPVersion == 4 {
		f.IPv4.TotalLen, f.IPv4.Protocol = uint16(20+n), 17
		f.IPv4.Checksum = f.IPv4.HeaderChecksum()
	} else {
		ip = 0x86dd
		f.IPv6.PayloadLen, f.IPv6.NextHeader = uint16(n), 17
	}
	f.Ethernet.Type = ip
	if f.Tagged {
		f.Ethernet.Type, f.VLAN.Type = 0x8100, ip
	}
	f.UDP.DstPort, f.UDP.Length = 4791, uint16(n)
	f.ICRC = crc
}

func TestFrames(t *testing.T) {
	eachFrame(t, func(t *testing.T, f Frame) {
		b, err := f.Append([]byte{0xcc})
		if err != nil {
			t.Fatal(err)
		}
		b = b[1:]
		if len(b) != f.Len() {
			t.Errorf("%d bytes, Len says %d", len(b), f.Len())
		}
		pad := []byte{0xee, 0xee}
		got, err := DecodeFrame(append(bytes.Clone(b), pad...))
		if err != nil {
			t.Fatal(err)
		}
		if err := got.CheckICRC(); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(got.Trailer, pad) {
			t.Errorf("trailer %x, want %x", got.Trailer, pad)
		}
		if got.IPVersion == 4 && InternetChecksum(b[len(b)-int(got.IPv4.TotalLen):][:20]) != 0 {
			t.Error("IPv4 header checksum is wrong")
		}
		want := f
		computed(&want, binary.LittleEndian.Uint32(b[len(b)-4:]))
		got.packet, got.Trailer = nil, nil
		if want.Payload != nil && len(want.Payload) == 0 {
			want.Payload = got.Payload
		}
		if len(got.Payload) == 0 {
			got.Payload, want.Payload = nil, nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("decoded\n%+v, want\n%+v", got, want)
		}
	})
}

// A frame cut anywhere is an error, and one that says so.
func TestFramesTruncated(t *testing.T) {
	eachFrame(t, func(t *testing.T, f Frame) {
		b, err := f.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range b {
			got, err := DecodeFrame(b[:n])
			var short *TruncatedError
			if !errors.As(err, &short) || got.Kind != FrameOther {
				t.Errorf("%d of %d bytes: kind %d, error %v, want a TruncatedError", n, len(b), got.Kind, err)
			}
		}
	})
}

// A changed payload, header or ICRC shows.
func TestCheckICRC(t *testing.T) {
	f := sampleFrame(RCSendOnly, 5, 4, false)
	b, _ := f.Append(nil)
	for _, i := range []int{18 /* ID */, 42 /* opcode */, 55 /* payload */, 61 /* padding */, 62 /* ICRC */} {
		c := bytes.Clone(b)
		c[i] ^= 1
		got, err := DecodeFrame(c)
		if err != nil {
			t.Fatalf("byte %d: %v", i, err)
		}
		if err := got.CheckICRC(); err == nil || !strings.HasPrefix(err.Error(), "ICRC is 0x") {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	var none Frame
	if err := none.CheckICRC(); err == nil {
		t.Error("a frame that was not decoded has an ICRC")
	}
}

func TestFrameErrors(t *testing.T) {
	f := sampleFrame(RCSendOnly, 8, 4, false)
	v4, _ := f.Append(nil)
	f.IPVersion = 6
	v6, _ := f.Append(nil)
	ack := sampleFrame(RCAcknowledge, 0, 4, false)
	ackBytes, _ := ack.Append(nil)
	odd := append(bytes.Clone(v4), 0) // one byte more, with lengths that agree
	odd[17]++
	odd[39]++
	for _, c := range []struct {
		name   string
		base   []byte
		offset int
		bytes  string
		want   string
	}{
		{"IP version", v4, 14, "65", "IPv4: version is 6, want 4"},
		{"total length", v4, 16, "0013", "IPv4: total length is 19, want 20 or more"},
		{"total length", v4, 16, "00ff", "IPv4 packet: 52 bytes, want at least 255"},
		{"total length", v4, 16, "0033", "UDP: length is 32, want 31, as the IP header says"},
		{"UDP length", v4, 38, "0019", "UDP: length is 25, want 32, as the IP header says"},
		{"IPv6 version", v6, 14, "45", "IPv6: version is 4, want 6"},
		{"payload length", v6, 18, "0100", "IPv6 payload: 32 bytes, want at least 256"},
		{"payload length", v6, 18, "001c", "UDP: length is 32, want 28, as the IP header says"},
		{"opcode", v4, 42, "15", "BTH: opcode is 21, want one of RC, UC, UD or 129 (CNP)"},
		{"TVer", v4, 43, "01", "BTH: TVer is 1, want 0"},
		{"too short for the headers", v4, 42, "13", "AtomicETH: 12 bytes, want at least 28"},
		{"payload on an ACK", v4, 42, "11", "RC Acknowledge: payload length is 4, want 0"},
		{"padding on an ACK", ackBytes, 43, "10", "RC Acknowledge, padding and ICRC: 4 bytes, want at least 5"},
		{"length", odd, 14, "45", "RC SEND Only: length is 25, want a multiple of 4"},
	} {
		b := bytes.Clone(c.base)
		copy(b[c.offset:], unhex(c.bytes))
		got, err := DecodeFrame(b)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
		if got.Kind != FrameOther {
			t.Errorf("%s: kind %d in spite of the error", c.name, got.Kind)
		}
	}
}

// What is no RoCEv2 is no error.
func TestOtherFrames(t *testing.T) {
	f := sampleFrame(RCSendOnly, 8, 4, false)
	v4, _ := f.Append(nil)
	f.IPVersion = 6
	v6, _ := f.Append(nil)
	for _, c := range []struct {
		name   string
		base   []byte
		offset int
		bytes  string
	}{
		{"ARP", v4, 12, "0806"},
		{"802.3x pause", v4, 12, "88080001"},
		{"TCP", v4, 23, "06"},
		{"more fragments", v4, 20, "20"},
		{"a later fragment", v4, 21, "01"},
		{"options", v4, 14, "46"},
		{"other port", v4, 36, "12b8"},
		{"IPv6 extension header", v6, 20, "00"},
		{"other port over IPv6", v6, 56, "0035"},
	} {
		b := bytes.Clone(c.base)
		copy(b[c.offset:], unhex(c.bytes))
		if got, err := DecodeFrame(b); err != nil || got.Kind != FrameOther {
			t.Errorf("%s: kind %d, %v, want another kind and no error", c.name, got.Kind, err)
		}
	}
}

func TestPFCFrame(t *testing.T) {
	p := PFC{Enable: 8, Time: [8]uint16{3: 0xffff}}
	b := p.AppendFrame(nil, MAC{2, 0, 0, 0, 0, 9})
	want := unhex("0180c2000001 020000000009 8808 0101 0008 0000 0000 0000 ffff 0000 0000 0000 0000" + strings.Repeat("00", 26))
	if !bytes.Equal(b, want) {
		t.Errorf("frame %x, want %x", b, want)
	}
	f, err := DecodeFrame(b)
	if err != nil || f.Kind != FramePFC || f.PFC != p || len(f.Trailer) != 26 {
		t.Errorf("decoded %+v, %v", f, err)
	}
	for n := range EthernetLen + PFCLen {
		if _, err := DecodeFrame(b[:n]); err == nil {
			t.Errorf("no error of %d bytes", n)
		}
	}
}

func TestFrameAppendErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*Frame)
		want string
	}{
		{"opcode", func(f *Frame) { f.BTH.Opcode = 0xff }, "BTH: opcode is 255, want one of RC, UC, UD or 129 (CNP)"},
		{"version", func(f *Frame) { f.IPVersion = 0 }, "frame: IP version is 0, want 4 or 6"},
		{"payload", func(f *Frame) { f.BTH.Opcode = RCAcknowledge }, "RC Acknowledge: payload length is 8, want 0"},
		{"length", func(f *Frame) { f.Payload = make([]byte, 70000) }, "UDP: length is 70024, want 65515 or less"},
	} {
		f := sampleFrame(RCSendOnly, 8, 4, false)
		c.edit(&f)
		b, err := f.Append([]byte{1, 2})
		if err == nil || err.Error() != c.want || !bytes.Equal(b, []byte{1, 2}) {
			t.Errorf("%s: %x, error %v, want %s", c.name, b, err, c.want)
		}
	}
	// The longest that fits does.
	f := sampleFrame(RCSendOnly, 65515-UDPLen-BTHLen-ICRCLen-3, 4, false)
	b, err := f.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeFrame(b); err != nil || got.CheckICRC() != nil {
		t.Errorf("the longest packet: %v, %v", err, got.CheckICRC())
	}
}

// Any bytes: no panic; what decodes is appended again to something that decodes
// to the same, with a right ICRC.
func FuzzDecodeFrame(f *testing.F) {
	for _, op := range []Opcode{RCSendOnlyImm, RCWriteOnlyImm, RCAtomicAck, RCCmpSwap, RCSendOnlyInv, UDSendOnly, CNPOpcode} {
		for _, version := range []uint8{4, 6} {
			s := sampleFrame(op, 5, version, op == UDSendOnly)
			b, err := s.Append(nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Add(PFC{Enable: 255}.AppendFrame(nil, MAC{}))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := DecodeFrame(data)
		if err != nil || first.Kind != FrameRoCEv2 {
			return
		}
		_ = first.CheckICRC()
		b, err := first.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		second, err := DecodeFrame(b)
		if err != nil {
			t.Fatal(err)
		}
		if err := second.CheckICRC(); err != nil {
			t.Error(err)
		}
		first.ICRC, first.IPv4.Checksum = second.ICRC, second.IPv4.Checksum
		first.packet, first.Trailer, second.packet, second.Trailer = nil, nil, nil, nil
		if !reflect.DeepEqual(first, second) {
			t.Errorf("decoded\n%+v, then\n%+v", first, second)
		}
	})
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	f := sampleFrame(RCWriteOnly, 1024, 4, true)
	b, _ := f.Append(nil)
	room := make([]byte, 0, 2048)
	for name, do := range map[string]func(){
		"DecodeFrame":  func() { DecodeFrame(b) },
		"Frame.Append": func() { f.Append(room) },
		"CheckICRC": func() {
			g, _ := DecodeFrame(b)
			g.CheckICRC()
		},
	} {
		if n := testing.AllocsPerRun(100, do); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkDecodeFrame(b *testing.B) {
	f := sampleFrame(RCWriteOnly, 1024, 4, false)
	data, _ := f.Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		DecodeFrame(data)
	}
}

// The head of a packet is what Append writes up to there, whatever its length.
func TestAppendHead(t *testing.T) {
	payload := make([]byte, 45)
	for i := range payload {
		payload[i] = byte(i + 1)
	}
	for _, op := range []Opcode{RCWriteOnlyImm, RCAcknowledge, CNPOpcode, UDSendOnly} {
		transport := Transport{BTH: BTH{Opcode: op, PKey: DefaultPKey, DestQP: 7, PSN: 9}}
		if op.HasPayload() {
			transport.Payload = payload
		}
		f := Frame{Tagged: true, IPVersion: 6, Transport: transport}
		p := InfiniBandPacket{LRH: LRH{LNH: LNHGlobal}, Transport: transport}
		for name, head := range map[string]func(b []byte, most int) ([]byte, error){"Ethernet": f.AppendHead, "InfiniBand": p.AppendHead} {
			whole, err := head(nil, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for most := range len(whole) + 3 {
				got, err := head([]byte("before"), most)
				if want := append([]byte("before"), whole[:min(most, len(whole))]...); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s, %v, the first %d bytes: %x, %v, want %x", name, op, most, got, err, want)
				}
			}
		}
	}
}
