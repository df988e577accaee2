package wire

import "testing"

// Rates of four lanes as models.md 6.5 lists them. FDR is 54.54 Gb/s: 14.0625 *
// 4 * 64/66.
func TestLinkSpeeds(t *testing.T) {
	for name, want := range map[string]int64{
		"SDR": 8e9, "DDR": 16e9, "QDR": 32e9, "FDR10": 40e9, "FDR": 54_545_454_545,
		"EDR": 100e9, "HDR": 200e9, "NDR": 400e9, "XDR": 800e9,
		"2xHDR": 100e9, "2x NDR": 200e9, "1xSDR": 2e9, "12xQDR": 96e9, "4x edr": 100e9, "8xNDR": 800e9, "2xXDR": 400e9,
	} {
		if got, _, ok := ParseLinkSpeed(name); !ok || got != want {
			t.Errorf("%s: %d, %v, want %d", name, got, ok, want)
		}
	}
	for _, bad := range []string{"", "NDRX", "3xNDR", "x", "4x", "400G", "xNDR", "400Gbps"} {
		if got, _, ok := ParseLinkSpeed(bad); ok {
			t.Errorf("%q is %d", bad, got)
		}
	}
}

// The signalling rates are those of the Linux kernel (ib_rate_to_mbps).
func TestSignalling(t *testing.T) {
	lanes := map[string]int64{"FDR": 14_062, "HDR": 53_125}
	four := map[string]int64{"FDR": 56_250, "EDR": 103_125, "NDR": 425_000, "XDR": 850_000}
	for _, s := range LinkSpeeds() {
		if want, ok := lanes[s.Name]; ok && s.LaneBps/1_000_000 != want {
			t.Errorf("%s: a lane signals %d Mb/s, want %d", s.Name, s.LaneBps/1_000_000, want)
		}
		if want, ok := four[s.Name]; ok && 4*s.LaneBps/1_000_000 != want {
			t.Errorf("%s: four lanes signal %d Mb/s, want %d", s.Name, 4*s.LaneBps/1_000_000, want)
		}
	}
}

// A flow-control packet is 6 bytes: op 4 bits, FCTBS 12, VL 4, FCCL 12, CRC 16
// (models.md 6.1).
func TestFlowControl(t *testing.T) {
	f := FlowControl{Op: FlowControlInit, FCTBS: 0xabc, VL: 7, FCCL: 0x123}
	b := f.Append([]byte{9})[1:]
	if want := []byte{0x1a, 0xbc, 0x71, 0x23}; len(b) != FlowControlLen || string(b[:4]) != string(want) {
		t.Fatalf("% x, want % x and a CRC", b, want)
	}
	got, rest, err := ParseFlowControl(append(b, 1, 2))
	if err != nil || len(rest) != 2 {
		t.Fatalf("%v, %d bytes left", err, len(rest))
	}
	if f.CRC = VCRC(b[:4]); got != f {
		t.Errorf("%+v, want %+v", got, f)
	}
	if _, _, err := ParseFlowControl(b[:5]); err == nil {
		t.Error("a packet of 5 bytes was read")
	}
	wide := FlowControl{Op: 0x10, FCTBS: 0xffff, VL: 0xff, FCCL: 0xffff}.Append(nil)
	if got, _, _ := ParseFlowControl(wide); got.Op != 0 || got.FCTBS != 0xfff || got.VL != 15 || got.FCCL != 0xfff {
		t.Errorf("wide values: %+v", got)
	}
}
