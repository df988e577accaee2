package tshark

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/anatomy"
	pcap "github.com/hopscope/hopscope/internal/capture"
)

// fpdu is what tshark says of the FPDUs in a frame, and of what is wrong with it.
var fpdu = []string{"_ws.malformed", "iwarp_mpa.bad_length", "iwarp_mpa.ulpdulength", "iwarp_ddp.stag", "iwarp_ddp.tagged_offset",
	"iwarp_ddp.qn", "iwarp_ddp.msn", "iwarp_rdma.opcode", "iwarp_rdma.inval_stag", "iwarp_rdma.rdmardsz", "iwarp_rdma.term_layer",
	"iwarp_rdma.term_errcode_rdma", "iwarp_rdma.term_errcode_ddp_tagged", "iwarp_rdma.term_errcode_llp", "iwarp_mpa.marker_fpduptr"}

// TestIWARPSamples: behind MPA's start-up tshark reads every packet of iWARP, with markers and without, over IPv4 and
// IPv6, and finds every field as it was written, and every CRC good.
func TestIWARPSamples(t *testing.T) {
	need(t)
	const payload = 603 // a WRITE has 2 + 14 + 603 + 1 + 4 bytes and, from byte 0 of its stream on, two markers
	want := map[string]string{
		"send":           "||621|||0|1|0x03||||||",
		"send-inv":       "||621|||0|1|0x04|4660|||||",
		"write":          "||617|0x00001234|0x00007f3a10000000|||0x00||||||",
		"write-first":    "||617|0x00001234|0x00007f3a10000000|||0x00||||||",
		"read":           "||46|||1|1|0x01||603||||",
		"read-response":  "||617|0x00005678|0x00007f3a10000000|||0x02||||||",
		"terminate":      "||38|||2|1|0x07|||0x01||0x00|",
		"terminate-read": "||70|||2|1|0x07|||0x00|0x01||",
		"terminate-crc":  "||22|||2|1|0x07|||0x02|||0x02",
	}
	for _, o := range []anatomy.Options{{Payload: payload}, {Payload: payload, IPv6: true, Markers: true}} {
		for op, fields := range want {
			_, frame, err := anatomy.Sample("iwarp", op, o)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := pcap.Write(&out, "test", "sample", false, append(anatomy.Before("iwarp", op, o), frame)...); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), op+".pcapng")
			if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			pointers := ""
			if o.Markers {
				if pointers = "0"; strings.HasPrefix(fields, "||6") {
					pointers = "0,508"
				}
			}
			if got := frames(t, file); len(got) != 3 || got[2] != fields+"|"+pointers {
				t.Errorf("%s %+v:\n got %q\nwant %q", op, o, got, fields+"|"+pointers)
			}
			if good := strings.Count(tshark(t, file, "-V"), "(Good CRC32)"); good != 1 {
				t.Errorf("%s %+v: %d good CRCs", op, o, good)
			}
		}
	}
}

// frames are what tshark says of each frame of a capture.
func frames(t *testing.T, file string) []string {
	t.Helper()
	args := []string{"-T", "fields", "-E", "separator=|"}
	for _, f := range fpdu {
		args = append(args, "-e", f)
	}
	return lines(tshark(t, file, args...))
}

// TestIWARPRuns: of captures of runs, with markers and without, with zeros for payload and with payload, over IPv4 and
// IPv6, tshark finds as many FPDUs of each operation as the run sent, and every CRC good.
func TestIWARPRuns(t *testing.T) {
	need(t)
	for i := range 4 {
		text := fmt.Sprintf(`
stack: iwarp
ip: %s
carry_data: %v
iwarp: {markers: %v}
tcp: {handshake: first-message, mtu: 4200}
topology: {star: {hosts: 3, link: {rate: 10Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 100KB}
  - flow: {from: h1, to: h2, size: 50KB, verb: read}
  - flow: {from: h2, to: h1, size: 10KB, verb: send-inv}`, []string{"v4", "v6"}[i&1], i&1 != 0, i&2 != 0)
		name, file := fmt.Sprintf("run %d", i), captureRun(t, text, "sw/in")
		got := map[string]int{}
		for _, frame := range frames(t, file) {
			f := strings.Split(frame, "|")
			if f[0] != "" || f[1] != "" {
				t.Errorf("%s: malformed: %s", name, frame)
			}
			if f[7] != "" {
				got[f[7]]++
			}
		}
		// A WRITE's FPDU holds 4128 B of payload, with markers 4092; SENDs have 4 B less. An empty READ, which is
		// answered, begins each of the four streams. At the switch each frame comes in once.
		want := map[string]int{"0x00": 2 * 25, "0x01": 4 + 1, "0x02": 4 + 13, "0x04": 3}
		for op, n := range want {
			if got[op] != n {
				t.Errorf("%s: %d FPDUs of %s, want %d", name, got[op], op, n)
			}
		}
		const whole = 2*25 + 5 + 17 + 3
		if text := tshark(t, file, "-V"); strings.Count(text, "(Good CRC32)") != whole || strings.Contains(text, "Bad CRC") {
			t.Errorf("%s: %d good CRCs, want %d", name, strings.Count(text, "(Good CRC32)"), whole)
		}
		t.Logf("%s: %d FPDUs", name, whole)
	}
}
