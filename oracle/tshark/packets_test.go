package tshark

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/hopscope/hopscope/internal/anatomy"
	pcap "github.com/hopscope/hopscope/internal/capture"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/wire"
)

// erf is the link type of InfiniBand packets in a capture, and the length of the header before each.
const (
	erf       = layers.LinkType(197)
	erfHeader = 16
)

// headerFields are what tshark prints of each packet; said is the same by our own reading of the bytes.
var headerFields = []string{"_ws.malformed", "frame.time_epoch", "frame.interface_name", "vlan.priority", "ip.src", "ip.dst", "ip.dsfield.dscp",
	"ip.dsfield.ecn", "ip.ttl", "ipv6.src", "ipv6.dst", "ipv6.tclass.dscp", "ipv6.tclass.ecn", "ipv6.hlim", "udp.srcport", "udp.dstport",
	"infiniband.lrh.vl", "infiniband.lrh.sl", "infiniband.lrh.slid", "infiniband.lrh.dlid", "infiniband.lrh.pktlen", "infiniband.grh.sgid",
	"infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.bth.a", "infiniband.bth.padcnt", "infiniband.bth.p_key",
	"infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen", "infiniband.aeth.syndrome", "infiniband.aeth.msn",
	"infiniband.deth.q_key", "infiniband.deth.srcqp", "infiniband.atomiceth.swapdt", "infiniband.atomiceth.cmpdt",
	"infiniband.atomicacketh.origremdt", "infiniband.immdt", "infiniband.ieth", "infiniband.invariant.crc", "infiniband.variant.crc",
	"macc.cbfc.enbv", "macc.cbfc.pause_time.c3"}

// said is what tshark should print of a packet.
func said(t *testing.T, b []byte, ci gopacket.CaptureInfo, in pcapgo.NgInterface) string {
	t.Helper()
	v := map[string]string{"frame.interface_name": in.Name,
		"frame.time_epoch": fmt.Sprintf("%d.%09d", ci.Timestamp.Unix(), ci.Timestamp.Nanosecond())}
	if in.LinkType == erf {
		p, err := wire.DecodeInfiniBand(b[erfHeader:])
		if err != nil {
			t.Fatal(err)
		}
		set(v, "infiniband.lrh.vl", hex(uint64(p.LRH.VL), 2), "infiniband.lrh.sl", p.LRH.SL, "infiniband.lrh.slid", p.LRH.SLID, "infiniband.lrh.dlid", p.LRH.DLID,
			"infiniband.lrh.pktlen", p.LRH.PktLen, "infiniband.variant.crc", hex(uint64(binary.BigEndian.Uint16(b[len(b)-2:])), 4))
		if p.LRH.LNH == wire.LNHGlobal {
			v["infiniband.grh.sgid"] = ipv6(p.GRH.SGID)
		}
		transport(v, &p.Transport)
		return join(v)
	}
	f, err := wire.DecodeFrame(b)
	if err != nil {
		t.Fatal(err)
	}
	if f.Tagged {
		set(v, "vlan.priority", f.VLAN.PCP)
	}
	switch f.IPVersion {
	case 4:
		set(v, "ip.src", ipv4(f.IPv4.Src), "ip.dst", ipv4(f.IPv4.Dst), "ip.dsfield.dscp", f.IPv4.DSCP, "ip.dsfield.ecn", f.IPv4.ECN, "ip.ttl", f.IPv4.TTL)
	case 6:
		set(v, "ipv6.src", ipv6(f.IPv6.Src), "ipv6.dst", ipv6(f.IPv6.Dst), "ipv6.tclass.dscp", f.IPv6.DSCP, "ipv6.tclass.ecn", f.IPv6.ECN,
			"ipv6.hlim", f.IPv6.HopLimit)
	}
	switch f.Kind {
	case wire.FrameRoCEv2:
		set(v, "udp.srcport", f.UDP.SrcPort, "udp.dstport", f.UDP.DstPort)
		transport(v, &f.Transport)
	case wire.FramePFC:
		set(v, "macc.cbfc.enbv", hex(uint64(f.PFC.Enable), 4), "macc.cbfc.pause_time.c3", f.PFC.Time[3])
	}
	return join(v)
}

func transport(v map[string]string, t *wire.Transport) {
	set(v, "infiniband.bth.opcode", uint8(t.BTH.Opcode), "infiniband.bth.destqp", hex(uint64(t.BTH.DestQP), 6), "infiniband.bth.psn", t.BTH.PSN,
		"infiniband.bth.padcnt", t.BTH.PadCnt, "infiniband.bth.p_key", t.BTH.PKey, "infiniband.bth.a", bit(t.BTH.AckReq),
		"infiniband.invariant.crc", hex(uint64(swap(t.ICRC)), 8))
	if op := t.BTH.Opcode; op == wire.CNPOpcode || op == wire.IBCNPOpcode { // which tshark 4.0 has no name for: it stops at the BTH
		delete(v, "infiniband.invariant.crc")
		delete(v, "infiniband.variant.crc")
	}
	ext := t.BTH.Opcode.Ext()
	if ext&wire.ExtRETH != 0 {
		set(v, "infiniband.reth.va", hex(t.RETH.VA, 16), "infiniband.reth.r_key", hex(uint64(t.RETH.RKey), 8), "infiniband.reth.dmalen", t.RETH.DMALen)
	}
	if ext&wire.ExtAETH != 0 {
		set(v, "infiniband.aeth.syndrome", t.AETH.Syndrome, "infiniband.aeth.msn", t.AETH.MSN)
	}
	if ext&wire.ExtDETH != 0 {
		set(v, "infiniband.deth.q_key", hex(uint64(t.DETH.QKey), 16), "infiniband.deth.srcqp", hex(uint64(t.DETH.SrcQP), 8))
	}
	if ext&wire.ExtAtomicETH != 0 {
		set(v, "infiniband.reth.va", hex(t.AtomicETH.VA, 16), "infiniband.reth.r_key", hex(uint64(t.AtomicETH.RKey), 8),
			"infiniband.atomiceth.swapdt", t.AtomicETH.SwapAdd, "infiniband.atomiceth.cmpdt", t.AtomicETH.Compare)
	}
	if ext&wire.ExtAtomicAckETH != 0 {
		set(v, "infiniband.atomicacketh.origremdt", t.AtomicAckETH.Original)
	}
	if ext&wire.ExtImmDt != 0 {
		set(v, "infiniband.immdt", fmt.Sprintf("%08x", t.ImmDt.Data))
	}
	if ext&wire.ExtIETH != 0 {
		set(v, "infiniband.ieth", fmt.Sprintf("%08x", t.IETH.RKey))
	}
}

// set adds pairs of a field and its value.
func set(v map[string]string, pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		v[pairs[i].(string)] = fmt.Sprint(pairs[i+1])
	}
}

func hex(v uint64, digits int) string { return fmt.Sprintf("0x%0*x", digits, v) }
func swap(v uint32) uint32            { return v<<24 | v>>24 | v<<8&0xff0000 | v>>8&0xff00 }
func ipv4(a [4]byte) string           { return fmt.Sprintf("%d.%d.%d.%d", a[0], a[1], a[2], a[3]) }
func ipv6(a [16]byte) string          { return fmt.Sprintf("%x::%x", binary.BigEndian.Uint16(a[:]), a[15]) }
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func join(v map[string]string) string {
	var out []string
	for _, f := range headerFields {
		out = append(out, v[f])
	}
	return strings.Join(out, "|")
}

// read compares what tshark says of each packet of a capture with what stands in its bytes.
func read(t *testing.T, file string) (packets int) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := pcapgo.NewNgReader(f, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-T", "fields", "-E", "separator=|", "-E", "occurrence=f"}
	for _, f := range headerFields {
		args = append(args, "-e", f)
	}
	got := lines(tshark(t, file, args...))
	for ; ; packets++ {
		b, ci, err := in.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		i, err := in.Interface(ci.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		if packets >= len(got) {
			t.Fatalf("tshark sees %d packets", len(got))
		}
		if want := said(t, b, ci, i); got[packets] != want {
			x, y := strings.Split(got[packets], "|"), strings.Split(want, "|")
			for k := range min(len(x), len(y)) {
				if x[k] != y[k] {
					t.Errorf("%s, packet %d: %s is %q, want %q", filepath.Base(file), packets+1, headerFields[k], x[k], y[k])
				}
			}
			return packets
		}
	}
	if packets != len(got) {
		t.Errorf("tshark sees %d packets of %d", len(got), packets)
	}
	return packets
}

// TestSamples: tshark reads every packet of every stack, with tags, IPv4 and IPv6, with a GRH and without, finds nothing
// malformed, and finds every field as it was written.
func TestSamples(t *testing.T) {
	need(t)
	total := 0
	for _, stack := range []string{"rocev2", "infiniband", "tcp"} {
		for i := range 8 {
			file := filepath.Join(t.TempDir(), "samples.pcapng")
			if writeSamples(t, file, stack, anatomy.Options{Payload: 13, IPv6: i&1 != 0, VLAN: i&2 != 0, GRH: i&4 != 0}) {
				total += read(t, file)
			}
		}
	}
	if total < 200 {
		t.Errorf("%d packets", total)
	}
	t.Logf("%d packets", total)
}

// writeSamples writes all packets of a stack that options allow; it reports whether there was one.
func writeSamples(t *testing.T, file, stack string, o anatomy.Options) (any bool) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out *pcapgo.NgWriter
	for _, op := range anatomy.Operations(stack) {
		if op == "flow-control" { // which captures leave out
			continue
		}
		_, frame, err := anatomy.Sample(stack, op, o)
		if err != nil {
			continue
		}
		var one bytes.Buffer
		if err := pcap.Write(&one, "test", "sample", stack == "infiniband", frame); err != nil {
			t.Fatal(err)
		}
		in, err := pcapgo.NewNgReader(&one, pcapgo.DefaultNgReaderOptions)
		if err != nil {
			t.Fatal(err)
		}
		b, ci, err := in.ReadPacketData()
		if err != nil {
			t.Fatal(err)
		}
		if out == nil {
			link := layers.LinkTypeEthernet
			if stack == "infiniband" {
				link = erf
			}
			if out, err = pcapgo.NewNgWriterInterface(f, pcapgo.NgInterface{Name: "sample", LinkType: link}, pcapgo.DefaultNgWriterOptions); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.WritePacket(ci, b); err != nil {
			t.Fatal(err)
		}
	}
	if out == nil {
		return false
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	return true
}

// runs are small runs of every kind of frame.
var runs = map[string]string{
	"rocev2": `
stack: rocev2-lossy
switch: {buffer: 300KB, ecn: {kmin: 5KB, kmax: 20KB, pmax: 1}}
topology: {star: {hosts: 6, link: {rate: 100Gbps, length: 5m, loss: 0.003}}}
workload:
  - incast: {to: h0, size: 100KB}
  - flow: {from: h0, to: h1, size: 50KB, verb: read}
  - flow: {from: h2, to: h1, verb: cas, count: 5}
  - flow: {from: h3, to: h1, size: 10001B, verb: send-inv}
  - flow: {from: h3, to: h2, size: 333B, verb: write-imm, count: 3}
  - flow: {from: h3, to: h4, size: 3KB, verb: send-imm, service: ud, count: 3}
  - flow: {from: h4, to: h5, size: 30KB, service: uc}`,
	"pauses": `
stack: rocev2-pfc-only
vlan: true
ip: v6
switch: {buffer: 1MB}
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 3, link: {rate: 100Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 200KB}`,
	"infiniband": `
stack: infiniband
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: {rate: 100Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 200KB}
  - flow: {from: h1, to: h2, size: 5B, verb: send-imm}`,
	"tcp": `
stack: tcp
ip: v6
topology: {star: {hosts: 3, link: {rate: 10Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 100KB}`,
	"data": `
carry_data: true
topology: {star: {hosts: 3, link: {rate: 100Gbps, length: 5m}}}
workload:
  - incast: {to: h0, size: 30001B}`,
}

// TestRuns: the same of captures of runs, whole frames of all ports.
func TestRuns(t *testing.T) {
	need(t)
	for name := range runs {
		t.Run(name, func(t *testing.T) {
			file := captureRun(t, runs[name], "all")
			n := read(t, file)
			if n < 100 {
				t.Errorf("%d packets", n)
			}
			t.Logf("%d packets", n)
		})
	}
}

// captureRun captures frames at ports of a run.
func captureRun(t *testing.T, text string, ports ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.pcapng")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var w *pcap.Writer
	opt := run.Options{Scenario: "t.yaml", Text: []byte("name: t\n" + text + "\n"), Workers: 1}
	opt.Capture = &run.Capture{Ports: ports, Open: func(v *scenario.Valid, taps []pcap.Tap) (_ *pcap.Writer, err error) {
		w, err = pcap.New(f, v, taps, pcap.Options{Snap: pcap.MaxSnap, Program: "test", Limit: pcap.LimitOf(v, taps, pcap.MaxSnap, 0)})
		return w, err
	}}
	if _, _, err := run.Do(context.Background(), opt); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func need(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is missing")
	}
}

// python is a Python that has scapy, "" without one.
func python() string {
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import scapy.contrib.roce").Run() == nil {
			return p
		}
	}
	return ""
}

// icrc has scapy take RoCEv2 packets apart and make each again with an ICRC of its own, and prints how many of how
// many came back as they were. It knows IPv4 alone.
const icrc = `
import sys
from scapy.all import Ether, IP, UDP, RawPcapNgReader, raw
from scapy.contrib.roce import BTH
same = seen = 0
for data, _ in RawPcapNgReader(sys.argv[1]):
    p = Ether(data)
    if BTH not in p or IP not in p:
        continue
    seen += 1
    p[BTH].icrc = None
    if raw(p)[:len(data)] == data:
        same += 1
print(seen, same)
`

// TestICRC: scapy works out the ICRC that stands in every RoCEv2 packet over IPv4, which tshark only shows.
func TestICRC(t *testing.T) {
	with := python()
	if with == "" {
		t.Skip("scapy is missing")
	}
	files := []string{captureRun(t, runs["rocev2"], "all"), captureRun(t, runs["data"], "all")}
	for _, tag := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "samples.pcapng")
		writeSamples(t, file, "rocev2", anatomy.Options{Payload: 13, VLAN: tag})
		files = append(files, file)
	}
	for _, file := range files {
		out, err := exec.Command(with, "-c", icrc, file).Output()
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(string(out))
		if n, _ := strconv.Atoi(words[0]); len(words) != 2 || n < 30 || words[0] != words[1] {
			t.Errorf("%s: of the packets that scapy sees, %s it makes the same again", filepath.Base(file), strings.TrimSpace(string(out)))
		}
		t.Logf("%s: %s packets", filepath.Base(file), words[0])
	}
}
