package wire

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
)

// tcpCase is a header and its bytes.
type tcpCase struct {
	name  string
	bytes string
	value TCP
}

// tcpCases follow the figures of RFC 9293 3.1 and 3.2, RFC 2018 3 and RFC 7323
// 2.2 and 3.2; the order of options is that of Linux, as in any capture of it.
func tcpCases() []tcpCase {
	return []tcpCase{
		{"plain", "0050 c001 00000001 fffffffe 50 10 ffff 1234 0000",
			TCP{SrcPort: 80, DstPort: 49153, Seq: 1, Ack: 0xfffffffe, Flags: TCPAck, Window: 0xffff, Checksum: 0x1234}},
		{"SYN", "c001 0050 7fffffff 00000000 a0 c2 faf0 0000 0000 020405b4 0402080a 0000000a 00000000 01030307",
			TCP{SrcPort: 49153, DstPort: 80, Seq: 0x7fffffff, Flags: TCPSyn | TCPEce | TCPCwr, Window: 64240,
				Options: TCPOptions{MSS: 1460, SACKPermitted: true, HasTimestamps: true, TSVal: 10, HasWindowScale: true, WindowScale: 7}}},
		{"SYN without timestamps", "c001 0050 00000000 00000000 80 02 faf0 0000 0000 02042300 01010402 0103030e",
			TCP{SrcPort: 49153, DstPort: 80, Flags: TCPSyn, Window: 64240,
				Options: TCPOptions{MSS: 8960, SACKPermitted: true, HasWindowScale: true, WindowScale: 14}}},
		{"timestamps", "0001 0002 00000003 00000004 80 19 0005 0006 0007 0101080a 01020304 05060708",
			TCP{SrcPort: 1, DstPort: 2, Seq: 3, Ack: 4, Flags: TCPAck | TCPPsh | TCPFin, Window: 5, Checksum: 6, Urgent: 7,
				Options: TCPOptions{HasTimestamps: true, TSVal: 0x01020304, TSEcr: 0x05060708}}},
		{"timestamps and three SACK blocks", "0001 0002 00000003 00000004 f0 10 0005 0006 0000 0101080a 00000001 00000002 0101051a" +
			"00000010 00000020 00000030 00000040 fffffff0 00000000",
			TCP{SrcPort: 1, DstPort: 2, Seq: 3, Ack: 4, Flags: TCPAck, Window: 5, Checksum: 6,
				Options: TCPOptions{HasTimestamps: true, TSVal: 1, TSEcr: 2, SACKBlocks: 3, SACK: [4]SACKBlock{{16, 32}, {48, 64}, {0xfffffff0, 0}}}}},
		{"four SACK blocks", "0001 0002 00000003 00000004 e0 10 0005 0006 0000 01010522 00000001 00000002 00000003 00000004 00000005 00000006 00000007 00000008",
			TCP{SrcPort: 1, DstPort: 2, Seq: 3, Ack: 4, Flags: TCPAck, Window: 5, Checksum: 6,
				Options: TCPOptions{SACKBlocks: 4, SACK: [4]SACKBlock{{1, 2}, {3, 4}, {5, 6}, {7, 8}}}}},
	}
}

func TestTCPHeaders(t *testing.T) {
	for _, c := range tcpCases() {
		b := unhex(c.bytes)
		got, rest, err := ParseTCP(append(bytes.Clone(b), 0xaa))
		if err != nil || !reflect.DeepEqual(got, c.value) || !bytes.Equal(rest, []byte{0xaa}) {
			t.Errorf("%s: parsed %+v, left %x, error %v; want %+v", c.name, got, rest, err, c.value)
		}
		if out := c.value.Append(nil); !bytes.Equal(out, b) {
			t.Errorf("%s: appended %x, want %x", c.name, out, b)
		}
		if c.value.Len() != len(b) {
			t.Errorf("%s: Len is %d, want %d", c.name, c.value.Len(), len(b))
		}
		for n := range b {
			_, rest, err := ParseTCP(b[:n])
			var short *TruncatedError
			want := TCPLen
			if n >= TCPLen {
				want = len(b)
			}
			if !errors.As(err, &short) || short.Have != n || short.Want != want || len(rest) != n {
				t.Errorf("%s of %d bytes: %v, %d left", c.name, n, err, len(rest))
			}
		}
	}
}

// Options that lie, and those that are merely unknown.
func TestTCPOptions(t *testing.T) {
	for _, c := range []struct{ options, want string }{
		{"01010100", ""},
		{"00ffffff", ""}, // nothing counts behind the end of the list
		{"fe04abcd", ""}, // unknown: skipped
		{"fe00abcd", "TCP option: length is 0, want 2 or more"},
		{"fe01abcd", "TCP option: length is 1, want 2 or more"},
		{"010101fe", "TCP option: 1 bytes, want at least 2"},
		{"0204 05b4", ""},
		{"0203 0500", "TCP option MSS: length is 3, want 4"},
		{"0206 0501", "TCP option: 4 bytes, want at least 6"},
		{"0302 0000", "TCP option window scale: length is 2, want 3"},
		{"0403 0000", "TCP option SACK permitted: length is 3, want 2"},
		{"0804 0000", "TCP option timestamps: length is 4, want 10"},
		{"0502 0000", "TCP option SACK: length is 2, want 10, 18, 26 or 34"},
		{"0504 0000", "TCP option SACK: length is 4, want 10, 18, 26 or 34"},
	} {
		b := append(unhex("0001 0002 00000003 00000004 60 10 0005 0006 0000"), unhex(c.options)...)
		_, _, err := ParseTCP(b)
		if got := errText(err); got != c.want {
			t.Errorf("%s: error %q, want %q", c.options, got, c.want)
		}
	}
	_, _, err := ParseTCP(unhex("0001 0002 00000003 00000004 40 10 0005 0006 0000"))
	if got := errText(err); got != "TCP: data offset is 16, want 20 to 60" {
		t.Error(got)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Of options that do not fit together, SACK blocks give way.
func TestTCPOptionsFit(t *testing.T) {
	h := TCP{Options: TCPOptions{MSS: 1, HasWindowScale: true, HasTimestamps: true, SACKPermitted: true, SACKBlocks: 4}}
	if h.Len() != 20+20+4+16 || len(h.Append(nil)) != h.Len() {
		t.Errorf("%d bytes, Len says %d", len(h.Append(nil)), h.Len())
	}
	if got, _, err := ParseTCP(h.Append(nil)); err != nil || got.Options.SACKBlocks != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// What was parsed comes back the same when it is written and parsed again.
func FuzzTCP(f *testing.F) {
	for _, c := range tcpCases() {
		f.Add(unhex(c.bytes))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, rest, err := ParseTCP(data)
		if err != nil {
			return
		}
		if n := len(data) - len(rest); n < TCPLen || n > TCPMaxLen || n%4 != 0 {
			t.Fatalf("%d bytes taken", n)
		}
		if h.Options.fitting() < int(h.Options.SACKBlocks) {
			return // options in a closer packing than Append's
		}
		out := h.Append(nil)
		again, rest, err := ParseTCP(out)
		if err != nil || len(rest) != 0 || len(out) != h.Len() || again != h {
			t.Fatalf("%x: %+v became %+v, %v", data, h, again, err)
		}
	})
}

// The segment is the SYN of a connection between 10.0.0.1 and 10.0.0.2, summed
// by hand: pseudo-header 0x0a000001 + 0x0a000002 + 6 + 20.
func TestTCPChecksum(t *testing.T) {
	src, dst := [4]byte{10, 0, 0, 1}, [4]byte{10, 0, 0, 2}
	segment := TCP{SrcPort: 1000, DstPort: 80, Seq: 1, Flags: TCPSyn, Window: 1024}.Append(nil)
	// 0a00+0001+0a00+0002+0006+0014 = 141d; 03e8+0050+0000+0001+0000+0000+5002+0400 = 583b; sum 6c58.
	if got := TCPChecksumIPv4(src, dst, segment); got != ^uint16(0x6c58) {
		t.Errorf("checksum 0x%04x, want 0x%04x", got, ^uint16(0x6c58))
	}
	segment[16], segment[17] = 0x93, 0xa7 // the field itself does not count
	if got := TCPChecksumIPv4(src, dst, segment); got != 0x93a7 {
		t.Errorf("checksum 0x%04x, want 0x93a7", got)
	}
	odd := append(segment, 7)
	if got, want := TCPChecksumIPv6([16]byte{15: 1}, [16]byte{15: 2}, odd), fold(uint64(1+2+6+21+0x583b+0x700)); got != want {
		t.Errorf("checksum 0x%04x, want 0x%04x", got, want)
	}
	if got, want := TCPChecksumIPv4(src, dst, nil), fold(uint64(0x141d-20)); got != want {
		t.Errorf("empty: 0x%04x, want 0x%04x", got, want)
	}
}

func TestTCPDoesNotAllocate(t *testing.T) {
	room := make([]byte, 0, TCPMaxLen)
	for _, c := range tcpCases() {
		b := unhex(c.bytes)
		if n := testing.AllocsPerRun(100, func() {
			h, _, err := ParseTCP(b)
			if err == nil {
				h.Append(room)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}
