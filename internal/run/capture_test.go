package run_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/hopscope/hopscope/internal/capture"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// captures are small runs of every kind of frame.
var captures = map[string]string{
	"one-sided": `
stack: rocev2-lossy
switch: {buffer: 300KB, ecn: {kmin: 5KB, kmax: 20KB, pmax: 1}}
topology: {star: {hosts: 6, link: {rate: 100Gbps, length: 5m, loss: 0.003}}}
workload:
  - incast: {to: h0, size: 100KB}
  - flow: {from: h0, to: h1, size: 50KB, verb: read}
  - flow: {from: h2, to: h1, verb: cas, count: 5}
  - flow: {from: h2, to: h1, verb: fetch-add, count: 5}
  - flow: {from: h3, to: h1, size: 10001B, verb: send-inv}
  - flow: {from: h3, to: h2, size: 333B, verb: write-imm, count: 3}
  - flow: {from: h3, to: h4, size: 3KB, verb: send-imm, service: ud, count: 3}
  - flow: {from: h4, to: h5, size: 30KB, service: uc}`,
	"pauses": `
stack: rocev2-pfc-only
switch: {buffer: 1MB}
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 3, link: {rate: 100Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 200KB}`,
	"tagged": `
vlan: true
topology: {star: {hosts: 3, link: {rate: 100Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 100KB, class: 5}`,
	"tcp": `
stack: tcp
switch: {buffer: 100KB}
topology: {star: {hosts: 4, link: {rate: 10Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 200KB}`,
	"iwarp": `
stack: iwarp
iwarp: {markers: true}
tcp: {handshake: first-message}
switch: {buffer: 100KB}
topology: {star: {hosts: 4, link: {rate: 10Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 200KB}
  - flow: {from: h1, to: h2, size: 50KB, verb: read}
  - flow: {from: h2, to: h3, size: 10KB, verb: send-inv}`,
	"infiniband": `
stack: infiniband
infiniband: {congestion_control: ofed}
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: {rate: 100Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 200KB}
  - flow: {from: h1, to: h2, size: 5B, verb: send-imm}`,
	"ipv6": `
ip: v6
vlan: true
topology: {star: {hosts: 3, link: {rate: 100Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 100KB, class: 5}
  - flow: {from: h0, to: h1, size: 50KB, verb: read}`,
	"tcp-ipv6": `
stack: tcp
ip: v6
switch: {buffer: 100KB}
topology: {star: {hosts: 4, link: {rate: 10Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 200KB}`,
	"probes": `
controller: rtt-probe
ip: v6
topology: {star: {hosts: 3, link: {rate: 100Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 100KB}`,
	"telemetry": `
controller: hpcc
topology: {star: {hosts: 3, link: {rate: 100Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 100KB}`,
}

// captureOf runs a text with a capture of every port.
func captureOf(t *testing.T, text string, workers, parts int) ([]byte, *record.Run, *scenario.Valid) {
	t.Helper()
	var file bytes.Buffer
	var w *capture.Writer
	opt := run.Options{Scenario: "t.yaml", Text: []byte(text), Workers: workers, Partitions: parts}
	opt.Capture = &run.Capture{Ports: []string{"all"}, Open: func(v *scenario.Valid, taps []capture.Tap) (_ *capture.Writer, err error) {
		limit := capture.LimitOf(v, taps, capture.MaxSnap, 0)
		w, err = capture.New(&file, v, taps, capture.Options{Snap: capture.MaxSnap, Program: "test", Limit: limit})
		return w, err
	}}
	r, v, err := run.Do(context.Background(), opt)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if w.Left > 0 || w.Bytes < int64(file.Len()) || w.Bytes > int64(file.Len())+100*int64(len(w.Taps())) {
		t.Errorf("%d frames left out; %d bytes by the writer's count, %d in the file", w.Left, w.Bytes, file.Len())
	}
	return file.Bytes(), r, v
}

// A capture has the frames that ports counted, whole and with right checksums; it is the same, byte for byte, on
// any number of workers and partitions, and the run takes the course that it takes without.
func TestCapture(t *testing.T) {
	t.Parallel()
	for name, text := range captures {
		t.Run(name, func(t *testing.T) {
			text := "name: t\nnoise: off\n" + text + "\n"
			file, r, v := captureOf(t, text, 1, 1)
			plain, _, err := run.Do(context.Background(), run.Options{Scenario: "t.yaml", Text: []byte(text), Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			if bad := differ(t, plain, r); bad != "" {
				t.Errorf("with a capture the run is another: %s", bad)
			}
			for _, parts := range []int{2, 5} {
				if other, _, _ := captureOf(t, text, 3, parts); !bytes.Equal(file, other) {
					t.Errorf("%d partitions give other bytes than one", parts)
				}
			}
			checkCapture(t, file, r, v, name)
		})
	}
}

// checkCapture reads a capture of all ports.
func checkCapture(t *testing.T, file []byte, r *record.Run, v *scenario.Valid, name string) {
	in, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		t.Fatal(err)
	}
	left, bytesOf := map[string]int64{}, map[string]int64{} // frames by interface, and their bytes as ports count them
	seen := map[wire.Opcode]int{}
	var pauses, segments int64
	before := int64(0)
	for {
		b, ci, err := in.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if now := ci.Timestamp.UnixNano(); now < before {
			t.Fatalf("a frame at %d ns stands behind one at %d ns", now, before)
		} else {
			before = now
		}
		if len(b) != ci.Length {
			t.Fatalf("%d of %d bytes, with the largest snap length", len(b), ci.Length)
		}
		i, err := in.Interface(ci.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		if i.LinkType != 197 {
			bytesOf[i.Name] += int64(len(b)) + wire.FCSLen
		} else {
			bytesOf[i.Name] += int64(len(b)) - 16
			p, err := wire.DecodeInfiniBand(b[16:])
			if err == nil {
				err = p.CheckCRCs()
			}
			if err != nil {
				t.Fatal(err)
			}
			seen[p.BTH.Opcode]++
			left[i.Name]++
			continue
		}
		f, err := wire.DecodeFrame(b)
		if err != nil {
			t.Fatal(err)
		}
		switch f.Kind {
		case wire.FrameRoCEv2:
			if err := f.CheckICRC(); err != nil {
				t.Fatal(err)
			}
			told := v.Wire.Data - wire.Ethernet.Data // telemetry
			if f.IPVersion == 6 != v.Wire.IPv6 {
				t.Fatalf("%v: IP version %d", f.BTH.Opcode, f.IPVersion)
			}
			if padding := len(f.Trailer); len(b) > 60 && padding > 0 && (told < 42 || padding > told) || v.Wire.IPv6 && len(b) > 60 && padding > 0 || name == "telemetry" && padding == 0 {
				t.Fatalf("%v: %d bytes behind the packet", f.BTH.Opcode, padding)
			}
			if f.Tagged != (name == "tagged" || name == "ipv6") || f.Tagged && f.VLAN.PCP == 0 {
				t.Fatalf("%v: tagged %v, priority %d", f.BTH.Opcode, f.Tagged, f.VLAN.PCP)
			}
			seen[f.BTH.Opcode]++
			left[i.Name]++
		case wire.FramePFC:
			pauses++
			left[i.Name]++
		default:
			segment, sum := b[wire.EthernetLen:], uint16(0)
			if f.IPVersion == 6 {
				segment = segment[wire.IPv6Len:][:f.IPv6.PayloadLen]
				sum = wire.TCPChecksumIPv6(f.IPv6.Src, f.IPv6.Dst, segment)
			} else {
				segment = segment[:f.IPv4.TotalLen][wire.IPv4Len:]
				sum = wire.TCPChecksumIPv4(f.IPv4.Src, f.IPv4.Dst, segment)
			}
			if h, _, err := wire.ParseTCP(segment); err != nil || sum != h.Checksum {
				t.Fatalf("a segment's checksum is wrong, or %v", err)
			}
			segments++
			left[i.Name]++
		}
	}
	counted, size := map[string]int64{}, map[string]int64{}
	for _, p := range r.Ports {
		name, pfc := p.Node+":"+strconv.Itoa(p.Port)+"/out", p.PausesSent+p.RefreshesSent+p.ResumesSent
		counted[name] += p.TxPackets + pfc
		size[name] += p.TxBytes + pfc*wire.MinFrameLen
	}
	for name, n := range left {
		if strings.HasSuffix(name, "/out") && (n != counted[name] || bytesOf[name] != size[name]) {
			t.Errorf("%s: %d frames of %d bytes in the capture, and the port counted %d of %d", name, n, bytesOf[name], counted[name], size[name])
		}
	}
	t.Logf("%v, %d pauses, %d segments", seen, pauses, segments)
	wanted := map[string][]wire.Opcode{
		"one-sided": {wire.RCWriteFirst, wire.RCWriteMiddle, wire.RCWriteLast, wire.RCReadRequest, wire.RCReadRespFirst, wire.RCCmpSwap, wire.RCFetchAdd,
			wire.RCAtomicAck, wire.RCAcknowledge, wire.RCSendLastInv, wire.RCWriteOnlyImm, wire.UDSendOnlyImm, wire.UCWriteFirst, wire.CNPOpcode},
		"infiniband": {wire.RCWriteFirst, wire.RCSendOnlyImm, wire.RCAcknowledge}, "tagged": {wire.RCWriteFirst},
		"probes": {wire.ProbeOpcode, wire.ProbeAnswerOpcode}, "ipv6": {wire.RCReadRequest, wire.RCAcknowledge},
	}
	for _, op := range wanted[name] {
		if seen[op] == 0 {
			t.Errorf("no %v", op)
		}
	}
	if name == "pauses" && pauses == 0 || strings.HasPrefix(name, "tcp") && segments == 0 {
		t.Errorf("%d pauses, %d segments", pauses, segments)
	}
}

// The first frame that a capture has at a switch's input and at no output is there when the report says that the
// first frame was dropped.
func TestCaptureOfDrops(t *testing.T) {
	t.Parallel()
	file, r, _ := captureOf(t, "name: t\n"+captures["one-sided"]+"\n", 1, 1)
	in, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	type frame struct {
		src, dst [4]byte
		op       wire.Opcode
		qp, psn  uint32
	}
	came, left := map[frame][]int64{}, map[frame][]int64{}
	for {
		b, ci, err := in.ReadPacketData()
		if err != nil {
			break
		}
		i, err := in.Interface(ci.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		f, err := wire.DecodeFrame(b)
		if err != nil {
			t.Fatal(err)
		}
		key, now := frame{f.IPv4.Src, f.IPv4.Dst, f.BTH.Opcode, f.BTH.DestQP, f.BTH.PSN}, ci.Timestamp.UnixNano()
		switch {
		case f.Kind != wire.FrameRoCEv2 || !strings.HasPrefix(i.Name, "sw:"):
		case strings.HasSuffix(i.Name, "/in"):
			came[key] = append(came[key], now)
		default:
			left[key] = append(left[key], now)
		}
	}
	first, dropped := int64(math.MaxInt64), 0
	for key, times := range came {
		for k, at := range times {
			next := int64(math.MaxInt64)
			if k+1 < len(times) {
				next = times[k+1]
			}
			if !slices.ContainsFunc(left[key], func(out int64) bool { return at <= out && out < next }) {
				first, dropped = min(first, at), dropped+1
			}
		}
	}
	want, count := units.Never, int64(0)
	for _, p := range r.Ports {
		for _, d := range p.DropCauses {
			if p.Node == "sw" && !d.Cause.BySender() {
				want, count = min(want, d.First), count+d.Count
			}
		}
	}
	if got := (want + units.Nanosecond/2) / units.Nanosecond; count == 0 || int64(got) != first || int64(dropped) != count {
		t.Errorf("%d dropped, the first at %d ns; the report has %d, the first at %v", dropped, first, count, want)
	}
}
