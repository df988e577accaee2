package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"testing"
)

// mpaCases follow RFC 5044 7.1 and RFC 6581 9: the key, M C R S and reserved bits, revision, length.
func mpaCases() []struct {
	name, bytes string
	value       MPAFrame
} {
	return []struct {
		name, bytes string
		value       MPAFrame
	}{
		{"request", "4d504120494420526571204672616d65 40 01 0000", MPAFrame{CRC: true, Revision: 1}},
		{"reply with markers", "4d504120494420526570204672616d65 c0 01 0003 010203",
			MPAFrame{Reply: true, Markers: true, CRC: true, Revision: 1, Private: []byte{1, 2, 3}}},
		{"rejecting reply", "4d504120494420526570204672616d65 20 01 0000", MPAFrame{Reply: true, Reject: true, Revision: 1}},
		{"enhanced", "4d504120494420526571204672616d65 50 02 0005 8010 4020 ff",
			MPAFrame{CRC: true, Enhanced: true, Revision: 2, PeerToPeer: true, IRD: 16, ORD: 32, RTRRead: true, Private: []byte{255}}},
	}
}

func TestMPAFrames(t *testing.T) {
	for _, c := range mpaCases() {
		b := unhex(c.bytes)
		got, rest, err := ParseMPA(append(bytes.Clone(b), 0xaa))
		if len(got.Private) == 0 {
			got.Private = nil
		}
		if err != nil || !reflect.DeepEqual(got, c.value) || !bytes.Equal(rest, []byte{0xaa}) {
			t.Errorf("%s: parsed %+v, left %x, %v; want %+v", c.name, got, rest, err, c.value)
		}
		if out := c.value.Append(nil); !bytes.Equal(out, b) || c.value.Len() != len(b) {
			t.Errorf("%s: appended %x of %d B, want %x", c.name, out, c.value.Len(), b)
		}
		for n := range b {
			if _, rest, err := ParseMPA(b[:n]); err == nil || len(rest) != n {
				t.Errorf("%s of %d bytes: %v, %d left", c.name, n, err, len(rest))
			}
		}
	}
	for text, want := range map[string]string{
		"4d504120494420526571204672616d65 40 01 0201": "MPA frame: private data length is 513, want 0 to 512",
		"4d504120494420526571204672616d65 10 02 0000": "MPA frame: private data length is 0, want 4 at least, for IRD and ORD",
		"474554202f20485454502f312e310d0a 0d 0a 0000": `MPA frame: key is 71, want "MPA ID Req Frame" or "MPA ID Rep Frame"`,
	} {
		if _, _, err := ParseMPA(unhex(text)); errText(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// ddpCases follow the figures of RFC 5041 4.2 and 4.3, and RFC 5040 4.3 to 4.4.
func ddpCases() []headerCase {
	const tagged, untagged = "c3cf ffffffff ffffffffffffffff", "c3cf ffffffff ffffffff ffffffff ffffffff"
	return []headerCase{
		newCase("WRITE", "8140 00000a01 0000000000001000", DDP{Tagged: true, STag: 0xa01, TO: 4096}, tagged, ParseDDP),
		newCase("READ response, last", "c142 00000a01 fffffffffffffffc",
			DDP{Tagged: true, Last: true, Opcode: RDMAPReadResponse, STag: 0xa01, TO: 1<<64 - 4}, tagged, ParseDDP),
		newCase("SEND", "4143 00000000 00000000 00000001 00000000", DDP{Last: true, Opcode: RDMAPSend, MSN: 1}, untagged, ParseDDP),
		newCase("SEND with invalidate", "0144 00000b02 00000000 00000007 00001388",
			DDP{Opcode: RDMAPSendInv, STag: 0xb02, MSN: 7, MO: 5000}, untagged, ParseDDP),
		newCase("READ request", "4141 00000000 00000001 00000002 00000000",
			DDP{Last: true, Opcode: RDMAPReadRequest, QN: QNReadRequest, MSN: 2}, untagged, ParseDDP),
		newCase("READ request's payload", "00000101 0000000000002000 00010000 00000202 0000000000003000",
			ReadRequest{SinkSTag: 0x101, SinkTO: 0x2000, Size: 65536, SourceSTag: 0x202, SourceTO: 0x3000}, "", ParseReadRequest),
	}
}

func TestDDPHeaders(t *testing.T) {
	for _, c := range ddpCases() {
		got, rest, err := c.parse(append(bytes.Clone(c.bytes), 0xaa))
		if err != nil || got != c.value || !bytes.Equal(rest, []byte{0xaa}) {
			t.Errorf("%s: parsed %+v, left %x, %v", c.name, got, rest, err)
		}
		if out := c.value.Append(nil); !bytes.Equal(out, c.bytes) || c.value.Len() != len(out) {
			t.Errorf("%s: appended %x, want %x", c.name, out, c.bytes)
		}
		for n := range c.bytes {
			var short *TruncatedError
			if _, _, err := c.parse(c.bytes[:n]); !errors.As(err, &short) {
				t.Errorf("%s of %d bytes: %v", c.name, n, err)
			}
		}
		room := make([]byte, 0, 64)
		if n := testing.AllocsPerRun(100, func() { c.alloc(c.bytes, room) }); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
	for text, want := range map[string]string{
		"8240 00000a01 0000000000001000": "DDP: version is 2, want 1",
		"8100 00000a01 0000000000001000": "RDMAP: version is 0, want 1",
	} {
		if _, _, err := ParseDDP(unhex(text)); errText(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The Terminate messages of RFC 5040 4.8: layer, type, code, M D R bits, what was terminated.
func TestTerminate(t *testing.T) {
	write := DDP{Tagged: true, Last: true, STag: 0xa01, TO: 4096}
	ask := DDP{Last: true, Opcode: RDMAPReadRequest, QN: QNReadRequest, MSN: 2}
	for _, c := range []struct {
		bytes string
		value Terminate
	}{
		{"2002 0000", Terminate{Code: TermCRC}},
		{"1100 c000 0402 c140 00000a01 0000000000001000", Terminate{Code: TermSTag, HasSegment: true, Length: 1026, Segment: write}},
		{"0101 e000 002e 4141 00000000 00000001 00000002 00000000 00000101 0000000000002000 00010000 00000202 0000000000003000",
			Terminate{Code: TermReadBounds, HasSegment: true, Length: 46, Segment: ask, HasRequest: true,
				Request: ReadRequest{SinkSTag: 0x101, SinkTO: 0x2000, Size: 65536, SourceSTag: 0x202, SourceTO: 0x3000}}},
	} {
		b := unhex(c.bytes)
		got, err := ParseTerminate(b)
		if err != nil || got != c.value {
			t.Errorf("%s: parsed %+v, %v", c.bytes, got, err)
		}
		if out := c.value.Append(nil); !bytes.Equal(out, b) || c.value.Len() != len(b) {
			t.Errorf("appended %x, want %x", out, b)
		}
		for n := range b {
			if _, err := ParseTerminate(b[:n]); err == nil {
				t.Errorf("%s: %d bytes are enough", c.bytes, n)
			}
		}
	}
	if got := TermSTag.String() + ", " + TermCode(0xffff).String(); got != "invalid STag, an unknown reason" {
		t.Error(got)
	}
}

// The payload of a WRITE in a full FPDU at the MTUs of Ethernet, and its share of the time on the wire (preamble and
// gap included), with the timestamps of TCP: RFC 5044 4.5, MULPDU = EMSS - (6 + EMSS mod 4), with markers less
// 4*ceil(EMSS/512) too.
func TestMULPDU(t *testing.T) {
	for _, c := range []struct {
		mtu              int
		plain, marked    int    // payload of a WRITE
		goodput, markers string // percent
	}{
		{1500, 1428, 1416, "92.85", "92.07"},
		{4200, 4128, 4092, "97.40", "96.55"},
		{9000, 8928, 8856, "98.78", "97.99"},
	} {
		const timestamps, gap = 12, 20
		emss := c.mtu - IPv4Len - TCPLen - timestamps
		frame := c.mtu + EthernetLen + FCSLen + gap
		for _, m := range []struct {
			markers bool
			payload int
			want    string
		}{{false, c.plain, c.goodput}, {true, c.marked, c.markers}} {
			got := Framing{Markers: m.markers}.MULPDU(emss) - DDPTaggedLen
			if share := percent(got, frame); got != m.payload || share != m.want {
				t.Errorf("MTU %d, markers %v: %d B, %s %%, want %d B, %s %%", c.mtu, m.markers, got, share, m.payload, m.want)
			}
		}
	}
	if n := (Framing{Markers: true}).MULPDU(8); n != 0 {
		t.Errorf("an EMSS of 8 B has a MULPDU of %d B", n)
	}
	// An FPDU with as much fits the segment wherever it begins.
	for emss := 88; emss < 9100; emss += 7 {
		for _, f := range []Framing{{}, {Markers: true}} {
			for at := int64(0); at < MPAMarkerGap; at += 4 {
				if n := f.Len(f.MULPDU(emss), at); n > emss {
					t.Fatalf("EMSS %d, %+v at %d: an FPDU of %d B", emss, f, at, n)
				}
			}
		}
	}
}

// percent is n of whole to two digits, rounded to the nearest.
func percent(n, whole int) string {
	x := (20000*n/whole + 1) / 2
	return string([]byte{'0' + byte(x/1000%10), '0' + byte(x/100%10), '.', '0' + byte(x/10%10), '0' + byte(x%10)})
}

// The CRC is that of RFC 3720 B.4: 32 zeros, 32 ones, 0 to 31, 31 to 0, in the order of transmission.
func TestCRC32c(t *testing.T) {
	up, down := make([]byte, 32), make([]byte, 32)
	for i := range up {
		up[i], down[31-i] = byte(i), byte(i)
	}
	for _, c := range []struct {
		bytes []byte
		want  string
	}{
		{make([]byte, 32), "aa36918a"}, {bytes.Repeat([]byte{255}, 32), "43aba862"}, {up, "4e79dd46"}, {down, "5cdb3f11"},
	} {
		if got := binary.LittleEndian.AppendUint32(nil, crc32c(c.bytes)); !bytes.Equal(got, unhex(c.want)) {
			t.Errorf("%x: %x, want %s", c.bytes[:2], got, c.want)
		}
	}
}

// FPDUs with every length, padding and place of markers come back as they were, and stand where RFC 5044 4.3 wants:
// every 512 bytes from the first one on, each with the distance back to its FPDU's length.
func TestFPDUs(t *testing.T) {
	for _, f := range []Framing{{}, {CRC: true}, {Markers: true}, {Markers: true, CRC: true}} {
		var stream []byte
		var starts []int64
		for n := range 1600 {
			ulpdu := bytes.Repeat([]byte{byte(n)}, n)
			at := int64(len(stream))
			starts = append(starts, at)
			stream = f.Append(stream, at, ulpdu[:n/3], ulpdu[n/3:])
			if got := int64(len(stream)) - at; got != int64(f.Len(n, at)) || got%4 != 0 {
				t.Fatalf("%+v: an FPDU of %d B at %d takes %d B, Len says %d", f, n, at, got, f.Len(n, at))
			}
		}
		for n, at := range starts {
			got, rest, err := f.Parse(stream[at:], nil, at)
			if err != nil || !bytes.Equal(got, bytes.Repeat([]byte{byte(n)}, n)) || len(rest) != len(stream)-int(at)-f.Len(n, at) {
				t.Fatalf("%+v: FPDU %d at %d: %d B, %d left, %v", f, n, at, len(got), len(rest), err)
			}
		}
		if !f.Markers {
			continue
		}
		k := 0
		for at := int64(0); at < int64(len(stream)); at += MPAMarkerGap {
			for k+1 < len(starts) && starts[k+1] <= at {
				k++
			}
			start := starts[k]
			if start%MPAMarkerGap == 0 && start != at {
				start += MPAMarkerLen // the FPDU begins with a marker, and its length follows
			}
			if back := int64(binary.BigEndian.Uint32(stream[at:])); back != at-start {
				t.Fatalf("marker at %d points %d B back, its FPDU's length is at %d", at, back, start)
			}
		}
	}
	// A length of 0 in padding, and the CRC over both: 00 00 00 00.
	if got := (Framing{CRC: true}).Append(nil, 0); !bytes.Equal(got, unhex("00000000 c74b6748")) {
		t.Errorf("the shortest FPDU is %x", got)
	}
}

// Every damage of a byte of an FPDU is noticed with the CRC, and none makes the parser read outside of it.
func TestDamagedFPDUs(t *testing.T) {
	ulpdu := bytes.Repeat([]byte{7}, 1000)
	for _, f := range []Framing{{CRC: true}, {CRC: true, Markers: true}} {
		whole := f.Append(nil, 508, ulpdu)
		for i := range whole {
			b := bytes.Clone(whole)
			b[i] ^= 0x10
			if _, _, err := f.Parse(b, nil, 508); err == nil {
				t.Fatalf("%+v: byte %d was changed, and nobody noticed", f, i)
			}
		}
		for n := range whole {
			var short *TruncatedError
			if _, rest, err := f.Parse(whole[:n], nil, 508); !errors.As(err, &short) || len(rest) != n {
				t.Fatalf("%+v: %d of %d bytes: %v", f, n, len(whole), err)
			}
		}
	}
	f := Framing{Markers: true}
	b := f.Append(nil, 0, ulpdu)
	b[515]++
	var marker *MarkerError
	if _, _, err := f.Parse(b, nil, 0); !errors.As(err, &marker) || marker.Want != 508 {
		t.Errorf("a wrong marker: %v", err)
	}
}

func FuzzMPA(f *testing.F) {
	for _, c := range mpaCases() {
		f.Add(unhex(c.bytes))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, rest, err := ParseMPA(data)
		if err != nil {
			return
		}
		taken := data[:len(data)-len(rest)]
		again, left, err := ParseMPA(m.Append(nil))
		if err != nil || len(left) != 0 || !reflect.DeepEqual(m, again) || m.Len() != len(taken) {
			t.Fatalf("%x: %+v became %+v, %v", data, m, again, err)
		}
	})
}

// What is read of damaged FPDUs and of what they hold comes back the same, or not at all.
func FuzzFPDU(f *testing.F) {
	for _, c := range ddpCases() {
		f.Add(Framing{CRC: true}.Append(nil, 0, c.bytes), uint16(0), false)
		f.Add(Framing{Markers: true}.Append(nil, 500, c.bytes), uint16(500), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint16, marked bool) {
		at &^= 3
		for _, crc := range []bool{false, true} {
			x := Framing{Markers: marked, CRC: crc}
			ulpdu, rest, err := x.Parse(data, nil, int64(at))
			if err != nil {
				continue
			}
			out := x.Append(nil, int64(at), ulpdu)
			back, left, err := x.Parse(out, nil, int64(at))
			if err != nil || len(left) != 0 || !bytes.Equal(back, ulpdu) || len(out) != len(data)-len(rest) {
				t.Fatalf("%x: %x became %x, %v", data, ulpdu, back, err)
			}
			h, payload, err := ParseDDP(ulpdu)
			if err != nil {
				continue
			}
			if again, left, err := ParseDDP(append(h.Append(nil), payload...)); err != nil || again != h || !bytes.Equal(left, payload) {
				t.Fatalf("%x: %+v became %+v, %v", ulpdu, h, again, err)
			}
			if term, err := ParseTerminate(payload); err == nil {
				if again, err := ParseTerminate(term.Append(nil)); err != nil || again.Code != term.Code || again.Segment != term.Segment ||
					again.Request != term.Request {
					t.Fatalf("%x: %+v became %+v, %v", payload, term, again, err)
				}
			}
		}
	})
}
