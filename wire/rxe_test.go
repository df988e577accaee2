package wire

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"
)

// negative are the captures with ICRCs that are wrong on purpose. The peer's
// packets are, and the kernel does not answer them: in one the ICRC itself is
// wrong, in the other DF and IP ID were not those that it was computed over.
var negative = map[string]bool{"go_badcrc.pcap": true, "go_iddont.pcap": true}

// rxeCaptures is how many captures of traffic with the Linux driver rdma_rxe
// there are.
const rxeCaptures = 33

// captures returns the capture files, or skips the test without the data set.
func captures(t *testing.T) []string {
	t.Helper()
	root := os.Getenv("HOPSCOPE_DATA")
	if root == "" {
		t.Skip("HOPSCOPE_DATA is not set")
	}
	files, err := filepath.Glob(filepath.Join(root, "rxe", "*.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != rxeCaptures {
		t.Errorf("%d captures, want %d", len(files), rxeCaptures)
	}
	return files
}

// eachCaptured calls do for every frame of a capture.
func eachCaptured(t *testing.T, name string, do func(n int, frame []byte)) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := pcapgo.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		b, info, err := r.ReadPacketData()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if info.CaptureLength != info.Length {
			t.Fatalf("packet %d was captured in part", n)
		}
		do(n, b)
	}
}

// Every frame to UDP port 4791 of every capture decodes to its last byte and
// its ICRC is right; in the negative captures all are wrong.
func TestRxeCaptures(t *testing.T) {
	for _, name := range captures(t) {
		base := filepath.Base(name)
		t.Run(base, func(t *testing.T) {
			good, bad := 0, 0
			eachCaptured(t, name, func(n int, b []byte) {
				f, err := DecodeFrame(b)
				if err != nil {
					t.Errorf("packet %d: %v", n, err)
					return
				}
				if toRoCEv2(b) != (f.Kind == FrameRoCEv2) {
					t.Errorf("packet %d: kind %d", n, f.Kind)
				}
				if f.Kind != FrameRoCEv2 {
					return
				}
				if err := f.CheckICRC(); err != nil {
					bad++
					if !negative[base] {
						t.Errorf("packet %d: %v", n, err)
					}
					return
				}
				good++
				checkCaptured(t, n, b, f)
			})
			if wrong := negative[base]; wrong && (bad == 0 || good > 0) || !wrong && good == 0 {
				t.Errorf("%d packets with a right ICRC, %d with a wrong one", good, bad)
			}
		})
	}
}

// toRoCEv2 finds UDP port 4791 by fixed offsets: the captures have neither tags
// nor options nor extension headers.
func toRoCEv2(b []byte) bool {
	switch {
	case len(b) >= 42 && bytes.Equal(b[12:15], []byte{8, 0, 0x45}):
		return b[23] == 17 && bytes.Equal(b[36:38], []byte{0x12, 0xb7})
	case len(b) >= 62 && bytes.Equal(b[12:14], []byte{0x86, 0xdd}):
		return b[20] == 17 && bytes.Equal(b[56:58], []byte{0x12, 0xb7})
	}
	return false
}

// checkCaptured makes the frame again from what was decoded: byte for byte, but
// for reserved bits, which the driver leaves at 0. Checksums must be right.
func checkCaptured(t *testing.T, n int, b []byte, f Frame) {
	t.Helper()
	again, err := f.Append(nil)
	if err != nil {
		t.Errorf("packet %d: %v", n, err)
		return
	}
	if whole := b[:len(b)-len(f.Trailer)]; !bytes.Equal(again, whole) {
		t.Errorf("packet %d came back as\n%x, want\n%x", n, again, whole)
	}
	if len(again) != f.Len() {
		t.Errorf("packet %d: Len %d, want %d", n, f.Len(), len(again))
	}
	if f.IPVersion == 4 && f.UDP.Checksum != 0 {
		checkUDP(t, n, f, b[EthernetLen+IPv4Len:len(b)-len(f.Trailer)])
	}
}

// checkUDP accepts the checksum, and what stands in its place in frames taken
// before the device that computes it: the sum of the pseudo-header alone.
func checkUDP(t *testing.T, n int, f Frame, datagram []byte) {
	t.Helper()
	whole := UDPChecksumIPv4(f.IPv4.Src, f.IPv4.Dst, datagram)
	pseudo := append(append(bytes.Clone(f.IPv4.Src[:]), f.IPv4.Dst[:]...), 0, ProtocolUDP, datagram[4], datagram[5])
	if partial := ^InternetChecksum(pseudo); f.UDP.Checksum != whole && f.UDP.Checksum != partial {
		t.Errorf("packet %d: UDP checksum is 0x%04x, want 0x%04x, or 0x%04x before offload", n, f.UDP.Checksum, whole, partial)
	}
}

// Every prefix of captured frames, up to the end of the packet, is an error.
func TestRxePrefixes(t *testing.T) {
	for _, name := range captures(t) {
		if base := filepath.Base(name); !strings.HasPrefix(base, "v_") || base == "v_longwrite.pcap" {
			continue
		}
		eachCaptured(t, name, func(n int, b []byte) {
			f, err := DecodeFrame(b)
			if err != nil || f.Kind != FrameRoCEv2 {
				return
			}
			for i := range len(b) - len(f.Trailer) {
				if _, err := DecodeFrame(b[:i]); err == nil {
					t.Errorf("%s packet %d: no error of %d bytes", filepath.Base(name), n, i)
				}
			}
		})
	}
}

// What the captures are known to hold: opcodes in order, and fields of some.
func TestRxeContents(t *testing.T) {
	captures(t)
	root := filepath.Join(os.Getenv("HOPSCOPE_DATA"), "rxe")
	count := func(name string) map[Opcode]int {
		m := map[Opcode]int{}
		eachCaptured(t, filepath.Join(root, name), func(_ int, b []byte) {
			if f, err := DecodeFrame(b); err == nil && f.Kind == FrameRoCEv2 {
				m[f.BTH.Opcode]++
			}
		})
		return m
	}
	for name, ops := range map[string][]Opcode{
		"atomic_cas.pcap":  {RCCmpSwap, RCAtomicAck},
		"atomic_fadd.pcap": {RCFetchAdd, RCAtomicAck},
		"read_3000.pcap":   {RCReadRequest, RCReadRespFirst, RCReadRespMiddle, RCReadRespLast},
		"uc_pingpong.pcap": {UCSendFirst, UCSendMiddle, UCSendLast},
		"ud_pingpong.pcap": {UDSendOnly},
		"v_inv.pcap":       {RCSendOnlyInv, RCWriteOnly, RCAcknowledge},
	} {
		have := count(name)
		for _, op := range ops {
			if have[op] == 0 {
				t.Errorf("%s: no %v in %v", name, op, have)
			}
		}
	}
	for name, syndrome := range map[string]uint8{
		"v_badrkey.pcap": SyndromeRemoteAccess, "v_oob.pcap": SyndromeRemoteAccess, "v_noaccess.pcap": SyndromeInvalidRequest,
		"v_toolong.pcap": SyndromeRemoteOperational, "v_rnr.pcap": SyndromeRNR | 12, "fault_psn_seq_nak.pcap": SyndromePSNSequence,
	} {
		found := false
		eachCaptured(t, filepath.Join(root, name), func(_ int, b []byte) {
			f, err := DecodeFrame(b)
			found = found || err == nil && f.BTH.Opcode == RCAcknowledge && f.AETH.Syndrome == syndrome
		})
		if !found {
			t.Errorf("%s: no acknowledgement with syndrome 0x%02x", name, syndrome)
		}
	}
	eachCaptured(t, filepath.Join(root, "ud_pingpong.pcap"), func(n int, b []byte) {
		if f, err := DecodeFrame(b); err != nil || f.DETH.QKey != 0x11111111 {
			t.Errorf("UD packet %d: Q_Key 0x%x, %v, want 0x11111111", n, f.DETH.QKey, err)
		}
	})
}
