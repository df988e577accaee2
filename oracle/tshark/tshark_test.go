// Package tshark has Wireshark's dissector read what hopscope writes.
package tshark

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// capture is a connection whose segments are written to a pcap file with
// nanoseconds, and what they are by our own account.
type capture struct {
	c      [2]tcp.Conn
	now    units.Time
	file   []byte
	want   []string
	lose   func(n int) bool
	mark   func(n int) bool
	data   int
	again  int // retransmissions
	flight []arrival
}

type arrival struct {
	to   int
	p    packet.Packet
	side *packet.Side
}

// step is a fifth of a round trip of 10 ms: what was sent before arrives.
const step = 2 * units.Millisecond

func (x *capture) run(until func() bool) bool {
	for range 100000 {
		if until() {
			return true
		}
		x.now += step
		arrivals := x.flight
		x.flight = nil
		for i := range arrivals {
			a := &arrivals[i]
			x.c[a.to].Receive(x.now, &a.p, a.side, 77)
			x.poll(a.to)
		}
		for i := range x.c {
			if x.c[i].Deadline() <= x.now {
				x.c[i].Expire(x.now)
			}
			x.poll(i)
		}
	}
	return false
}

func (x *capture) poll(i int) {
	for {
		var p packet.Packet
		if r, _ := x.c[i].Poll(x.now, &p); r != tcp.Sent {
			return
		}
		side := x.c[i].PolledSide()
		for k := range tcp.Segments(&p) {
			var one packet.Packet
			tcp.Cut(&p, k, &one)
			var own *packet.Side
			if side != nil {
				s := *side
				s.Data = slices.Clone(tcp.CutData(&p, side.Data, k))
				own = &s
			}
			x.send(i, &one, own)
		}
	}
}

func (x *capture) send(i int, p *packet.Packet, side *packet.Side) {
	e := tcp.Endpoints{SrcMAC: wire.MAC{2, 0, 0, 0, 0, byte(i)}, DstMAC: wire.MAC{2, 0, 0, 0, 0, byte(1 - i)},
		Src: [4]byte{10, 0, 0, byte(1 + i)}, Dst: [4]byte{10, 0, 0, byte(2 - i)}, SrcPort: 40000, DstPort: 5201}
	if i == 1 {
		e.SrcPort, e.DstPort = e.DstPort, e.SrcPort
	}
	if p.Flags&packet.Retrans != 0 {
		x.again++
	}
	lost := false
	if i == 0 && p.Payload > 0 {
		x.data++
		lost = x.lose(x.data)
		if x.mark(x.data) && p.ECN != packet.NotECT {
			p.ECN = packet.CE
		}
	}
	frame := tcp.AppendFrame(nil, &e, p, side)
	ns := uint64(x.now / units.Nanosecond)
	x.file = binary.LittleEndian.AppendUint32(x.file, uint32(ns/1e9))
	x.file = binary.LittleEndian.AppendUint32(x.file, uint32(ns%1e9))
	x.file = binary.LittleEndian.AppendUint32(x.file, uint32(len(frame)))
	x.file = binary.LittleEndian.AppendUint32(x.file, uint32(len(frame)))
	x.file = append(x.file, frame...)
	x.want = append(x.want, line(p, side))
	if !lost {
		x.flight = append(x.flight, arrival{1 - i, *p, side})
	}
}

// fields are what tshark prints of each segment; line says the same of ours.
var fields = []string{"tcp.seq_raw", "tcp.ack_raw", "tcp.flags", "tcp.window_size_value", "tcp.len", "tcp.hdr_len", "ip.dsfield.ecn",
	"tcp.options.mss_val", "tcp.options.wscale.shift", "tcp.options.sack_perm", "tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr",
	"tcp.options.sack_le", "tcp.options.sack_re", "tcp.checksum.status", "ip.checksum.status", "_ws.malformed"}

func line(p *packet.Packet, side *packet.Side) string {
	h := tcp.Header(p, side)
	o := &h.Options
	var mss, scale, ok, tsval, tsecr, left, right string
	if o.MSS > 0 {
		mss = fmt.Sprint(o.MSS)
	}
	if o.HasWindowScale {
		scale = fmt.Sprint(o.WindowScale)
	}
	if o.SACKPermitted {
		ok = "0402"
	}
	if o.HasTimestamps {
		tsval, tsecr = fmt.Sprint(o.TSVal), fmt.Sprint(o.TSEcr)
	}
	var lefts, rights []string
	for _, b := range o.SACK[:o.SACKBlocks] {
		lefts, rights = append(lefts, fmt.Sprint(b.Left)), append(rights, fmt.Sprint(b.Right))
	}
	left, right = strings.Join(lefts, ","), strings.Join(rights, ",")
	return strings.Join([]string{fmt.Sprint(h.Seq), fmt.Sprint(h.Ack), fmt.Sprintf("0x%04x", h.Flags), fmt.Sprint(h.Window), fmt.Sprint(p.Payload),
		fmt.Sprint(tcp.HeaderLen(p)), fmt.Sprint(p.ECN), mss, scale, ok, tsval, tsecr, left, right, "1", "1", ""}, "|")
}

// TestTCP: handshake, a transfer with losses and marks, and a close, of every
// preset. tshark finds every header field as we have it, good checksums and nothing
// malformed, and takes as many segments for retransmissions (or, soon after, for out of
// order) as were sent again.
func TestTCP(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is missing")
	}
	for _, name := range tcp.Presets() {
		t.Run(name, func(t *testing.T) {
			x := record(t, name)
			file := filepath.Join(t.TempDir(), "tcp.pcap")
			if err := os.WriteFile(file, x.file, 0o644); err != nil {
				t.Fatal(err)
			}
			compare(t, x, file)
			again := tshark(t, file, "-Y", "tcp.analysis.retransmission || tcp.analysis.out_of_order", "-T", "fields", "-e", "frame.number")
			if n := len(lines(again)); n != x.again || n == 0 {
				t.Errorf("tshark sees %d retransmissions, there were %d", n, x.again)
			}
			t.Logf("%d segments, %d sent again", len(x.want), x.again)
		})
	}
}

func record(t *testing.T, preset string) *capture {
	cfg, err := tcp.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	x := &capture{lose: func(n int) bool { return n == 15 || n == 90 || n == 92 }, mark: func(n int) bool { return n%50 == 49 }}
	x.file = binary.LittleEndian.AppendUint32(x.file, 0xa1b23c4d)
	for _, v := range []uint32{2 | 4<<16, 0, 0, 65535, 1} {
		x.file = binary.LittleEndian.AppendUint32(x.file, v)
	}
	for i := range x.c {
		x.c[i].Init(&cfg, packet.Packet{TTL: 64})
		x.c[i].CarryData()
	}
	x.c[1].Listen()
	x.c[0].Open(0, 4294967000)
	x.poll(0)
	text := make([]byte, 300000)
	for i := range text {
		text[i] = byte(i * 7)
	}
	wrote, room := int64(0), make([]byte, 1<<20)
	done := x.run(func() bool {
		wrote += x.c[0].WriteBytes(x.now, text[wrote:])
		if wrote == int64(len(text)) {
			x.c[0].Close()
		}
		x.c[1].ReadBytes(x.now, room)
		if x.c[1].State() == tcp.CloseWait {
			x.c[1].Close()
		}
		return x.c[1].State() == tcp.Closed
	})
	if !done {
		t.Fatal("the transfer did not end")
	}
	return x
}

func compare(t *testing.T, x *capture, file string) {
	args := []string{"-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-o", "tcp.relative_sequence_numbers:FALSE", "-T", "fields", "-E", "separator=|"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	got := lines(tshark(t, file, args...))
	if len(got) != len(x.want) {
		t.Fatalf("%d segments, want %d", len(got), len(x.want))
	}
	for i := range got {
		if got[i] != x.want[i] {
			t.Errorf("segment %d\n got %s\nwant %s\n    (%s)", i+1, got[i], x.want[i], strings.Join(fields, "|"))
			return
		}
	}
}

func tshark(t *testing.T, file string, args ...string) string {
	cmd := exec.Command("tshark", append([]string{"-n", "-r", file}, args...)...)
	cmd.Stderr = nil
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	return string(out)
}

func lines(s string) []string {
	if s = strings.TrimSuffix(s, "\n"); s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
