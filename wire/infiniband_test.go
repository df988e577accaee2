package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"testing"
)

func samplePacket(op Opcode, payload int, lnh uint8) InfiniBandPacket {
	p := InfiniBandPacket{Transport: transport(op, payload), LRH: LRH{VL: 3, SL: 5, LNH: lnh, DLID: 17, SLID: 0xbfff}}
	if lnh == LNHGlobal {
		p.GRH = GRH{TClass: 0x6a, FlowLabel: 0xabcde, HopLmt: 3, SGID: [16]byte{0xfe, 0x80, 15: 1}, DGID: [16]byte{0xfe, 0x80, 15: 2}}
	}
	return p
}

func eachPacket(t *testing.T, do func(t *testing.T, p InfiniBandPacket)) {
	for i := range 256 {
		op := Opcode(i)
		if !op.Known() || op == CNPOpcode { // CNPs are RoCEv2's
			continue
		}
		for payload := range 6 {
			if !op.HasPayload() && payload > 0 {
				continue
			}
			for _, lnh := range []uint8{LNHLocal, LNHGlobal} {
				t.Run(fmt.Sprintf("%v/%d/%d", op, payload, lnh), func(t *testing.T) { do(t, samplePacket(op, payload, lnh)) })
			}
		}
	}
}

func TestInfiniBandPackets(t *testing.T) {
	eachPacket(t, func(t *testing.T, want InfiniBandPacket) {
		b, err := want.Append([]byte{0xcc})
		if err != nil {
			t.Fatal(err)
		}
		b = b[1:]
		if len(b) != want.Len() {
			t.Errorf("%d bytes, Len says %d", len(b), want.Len())
		}
		got, err := DecodeInfiniBand(b)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.CheckCRCs(); err != nil {
			t.Error(err)
		}
		n := len(b)
		want.LRH.PktLen = uint16((n - 2) / 4)
		want.VCRC = crc16Bits(b[:n-2])
		want.ICRC = binary.LittleEndian.Uint32(b[n-6:])
		if want.LRH.LNH == LNHGlobal {
			want.GRH.PayLen, want.GRH.NxtHdr = uint16(n-2-8-40), 0x1b
		}
		got.packet = nil
		if len(got.Payload) == 0 {
			got.Payload, want.Payload = nil, nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("decoded\n%+v, want\n%+v", got, want)
		}
	})
}

func TestInfiniBandTruncated(t *testing.T) {
	eachPacket(t, func(t *testing.T, p InfiniBandPacket) {
		b, err := p.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range b {
			_, err := DecodeInfiniBand(b[:n])
			var short *TruncatedError
			if !errors.As(err, &short) {
				t.Errorf("%d of %d bytes: error %v, want a TruncatedError", n, len(b), err)
			}
		}
	})
}

func TestInfiniBandErrors(t *testing.T) {
	p := samplePacket(RCSendOnly, 8, LNHGlobal)
	b, _ := p.Append(nil) // 8 + 40 + 12 + 8 + 4 + 2 bytes
	for _, c := range []struct {
		name   string
		offset int
		bytes  string
		want   string
	}{
		{"LVer", 0, "31", "LRH: LVer is 1, want 0"},
		{"LNH", 1, "50", "LRH: LNH is 0, want 2 (local) or 3 (global)"},
		{"LNH", 1, "51", "LRH: LNH is 1, want 2 (local) or 3 (global)"},
		{"PktLen", 4, "0011", "LRH: PktLen is 17, want 18 for a packet of 74 bytes"},
		{"PktLen", 4, "0000", "LRH: PktLen is 0, want 18 for a packet of 74 bytes"},
		{"PktLen", 4, "0013", "InfiniBand packet: 74 bytes, want at least 78"},
		{"IPVer", 8, "4", ""},
		{"NxtHdr", 14, "11", "GRH: NxtHdr is 17, want 27"},
		{"PayLen", 12, "001a", "GRH: PayLen is 26, want 24, as the LRH says"},
		{"opcode", 48, "ff", "BTH: opcode is 255, want one of RC, UC, UD or 129 (CNP)"},
	} {
		if c.want == "" {
			c.bytes, c.want = "46", "GRH: IPVer is 4, want 6"
		}
		x := bytes.Clone(b)
		copy(x[c.offset:], unhex(c.bytes))
		if _, err := DecodeInfiniBand(x); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
	for _, i := range []int{2 /* DLID: VCRC only */, 60 /* payload: both */, len(b) - 1 /* VCRC itself */} {
		x := bytes.Clone(b)
		x[i] ^= 1
		got, err := DecodeInfiniBand(x)
		if err != nil {
			t.Fatal(err)
		}
		if got.CheckCRCs() == nil {
			t.Errorf("byte %d changed and no CRC noticed", i)
		}
	}
	var none InfiniBandPacket
	if none.CheckCRCs() == nil {
		t.Error("a packet that was not decoded has CRCs")
	}
}

func TestInfiniBandAppendErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*InfiniBandPacket)
		want string
	}{
		{"LNH", func(p *InfiniBandPacket) { p.LRH.LNH = LNHRaw }, "LRH: LNH is 0, want 2 (local) or 3 (global)"},
		{"opcode", func(p *InfiniBandPacket) { p.BTH.Opcode = 0x15 }, "BTH: opcode is 21, want one of RC, UC, UD or 129 (CNP)"},
		{"length", func(p *InfiniBandPacket) { p.Payload = make([]byte, 8165) }, "InfiniBand packet: length is 8192, want 8188 or less before the VCRC"},
	} {
		p := samplePacket(RCSendOnly, 8, LNHLocal)
		c.edit(&p)
		if b, err := p.Append([]byte{1}); err == nil || err.Error() != c.want || len(b) != 1 {
			t.Errorf("%s: %d bytes, error %v, want %s", c.name, len(b), err, c.want)
		}
	}
}

func FuzzDecodeInfiniBand(f *testing.F) {
	for _, op := range []Opcode{RCSendOnlyImm, RCAtomicAck, UDSendOnly} {
		for _, lnh := range []uint8{LNHLocal, LNHGlobal} {
			p := samplePacket(op, 5, lnh)
			b, err := p.Append(nil)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := DecodeInfiniBand(data)
		if err != nil {
			return
		}
		_ = first.CheckCRCs()
		b, err := first.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		second, err := DecodeInfiniBand(b)
		if err != nil {
			t.Fatal(err)
		}
		if err := second.CheckCRCs(); err != nil {
			t.Error(err)
		}
		first.ICRC, first.VCRC, first.packet, second.packet = second.ICRC, second.VCRC, nil, nil
		if !reflect.DeepEqual(first, second) {
			t.Errorf("decoded\n%+v, then\n%+v", first, second)
		}
	})
}

func TestInfiniBandDoesNotAllocate(t *testing.T) {
	p := samplePacket(RCWriteOnly, 1024, LNHGlobal)
	b, _ := p.Append(nil)
	room := make([]byte, 0, 2048)
	if n := testing.AllocsPerRun(100, func() { DecodeInfiniBand(b) }); n != 0 {
		t.Errorf("DecodeInfiniBand: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { p.Append(room) }); n != 0 {
		t.Errorf("Append: %v allocations", n)
	}
}

func BenchmarkDecodeInfiniBand(b *testing.B) {
	p := samplePacket(RCWriteOnly, 1024, LNHLocal)
	data, _ := p.Append(nil)
	b.ReportAllocs()
	for b.Loop() {
		DecodeInfiniBand(data)
	}
}
