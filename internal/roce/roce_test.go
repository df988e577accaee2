package roce

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/wire"
)

// random fills a packet and its side record with all that opcode op has room
// for, and nothing else.
func random(r *rand.Rand, op wire.Opcode, tagged bool) (p packet.Packet, s packet.Side) {
	u32, u64 := r.Uint32, r.Uint64
	p = packet.Packet{Kind: kind(op), Opcode: uint8(op), DestQP: u32() & 0xffffff, PSN: u32() & 0xffffff,
		DSCP: uint8(r.IntN(64)), ECN: uint8(r.IntN(4)), TTL: uint8(u32()), Flags: uint8(r.IntN(2)) * packet.AckReq}
	if tagged {
		p.Flags |= packet.FlagsOfPCP(uint8(r.IntN(8)))
	}
	ext := op.Ext()
	if ext&(wire.ExtRETH|wire.ExtAtomicETH) != 0 {
		p.VA, p.RKey = u64(), u32()
	}
	if ext&wire.ExtRETH != 0 {
		p.DMALen = u32()
	}
	if ext&wire.ExtAETH != 0 {
		p.AETH = u32()
	}
	if ext&wire.ExtDETH != 0 {
		s.QKey, s.SrcQP = u32(), u32()&0xffffff
	}
	if ext&wire.ExtAtomicETH != 0 {
		s.Swap, s.Compare = u64(), u64()
	}
	if ext&wire.ExtAtomicAckETH != 0 {
		s.Orig = u64()
	}
	if ext&(wire.ExtImmDt|wire.ExtIETH) != 0 {
		s.Imm = u32()
	}
	if n := r.IntN(200); op.HasPayload() && n > 0 {
		s.Data = make([]byte, n)
		for i := range s.Data {
			s.Data[i] = byte(u32())
		}
		p.Payload = uint32(n)
	}
	return p, s
}

// Every packet of every opcode comes back from its bytes as it was, over IPv4
// and IPv6, with and without tag, with a right ICRC, and as long as it says.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var w Writer
	opcodes := 0
	for n := range 256 {
		op := wire.Opcode(n)
		if !op.Known() || op == wire.IBCNPOpcode {
			continue
		}
		opcodes++
		for i := range 40 {
			template := wire.Frame{IPVersion: uint8(4 + i&1*2), Tagged: i&2 != 0}
			p, s := random(r, op, template.Tagged)
			p.Frame = frameLen(t, &w, template, &p, &s)
			f := template
			if err := w.Fill(&f, &p, &s); err != nil {
				t.Fatalf("%v: %v", op, err)
			}
			b, err := f.Append(nil)
			if err != nil {
				t.Fatalf("%v: %v", op, err)
			}
			back, err := wire.DecodeFrame(b)
			if err != nil {
				t.Fatalf("%v: %v", op, err)
			}
			if err := back.CheckICRC(); err != nil {
				t.Errorf("%v: %v", op, err)
			}
			var q packet.Packet
			var side packet.Side
			has, err := Read(&back, &q, &side)
			if err != nil {
				t.Fatalf("%v: %v", op, err)
			}
			if q != p || !reflect.DeepEqual(side, s) {
				t.Errorf("%v came back as\n%+v %+v, want\n%+v %+v", op, q, side, p, s)
			}
			if want := !reflect.DeepEqual(s, packet.Side{}); has != want {
				t.Errorf("%v: side record %t, want %t", op, has, want)
			}
		}
	}
	if opcodes != 23+12+2+1+2 {
		t.Errorf("%d opcodes, want those of RC, UC, UD, CNP and probes", opcodes)
	}
}

// frameLen is the length of the packet's bytes on Ethernet, by writing them.
func frameLen(t *testing.T, w *Writer, f wire.Frame, p *packet.Packet, s *packet.Side) uint32 {
	t.Helper()
	if err := w.Fill(&f, p, s); err != nil {
		t.Fatal(err)
	}
	b, err := f.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(max(64, len(b)+4))
}

// What has no standard form is refused or left out, as Fill says.
func TestFillLimits(t *testing.T) {
	var w Writer
	frame := func() *wire.Frame { return &wire.Frame{IPVersion: 4} }
	for name, p := range map[string]packet.Packet{
		"pause":              {Kind: packet.Pause},
		"unknown opcode":     {Kind: packet.Data, Opcode: 0x15},
		"kind and opcode":    {Kind: packet.Ack, Opcode: uint8(wire.RCSendOnly)},
		"immediate, no side": {Kind: packet.Data, Opcode: uint8(wire.RCSendOnlyImm)},
	} {
		if err := w.Fill(frame(), &p, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	p := packet.Packet{Kind: packet.Data, Opcode: uint8(wire.RCSendOnly), Payload: 3}
	if err := w.Fill(frame(), &p, &packet.Side{Data: []byte{1, 2}}); err == nil {
		t.Error("two bytes of data for a payload of three: no error")
	}
	f := frame()
	if err := w.Fill(f, &p, nil); err != nil || !bytes.Equal(f.Payload, make([]byte, 3)) {
		t.Errorf("without data the payload is %v, %v, want 3 zeros", f.Payload, err)
	}
	// A selective NAK packs its ranges into Payload and DMALen.
	nak := packet.Packet{Kind: packet.Ack, Opcode: uint8(wire.RCAcknowledge), PSN: 7, AETH: 0x60000005, Payload: 0x1234, DMALen: 9}
	f = frame()
	if err := w.Fill(f, &nak, nil); err != nil || len(f.Payload) > 0 || f.AETH != (wire.AETH{Syndrome: 0x60, MSN: 5}) || f.BTH.PSN != 7 {
		t.Errorf("selective NAK: %+v, %v", f.Transport, err)
	}
}

// A stamped packet has the number of its side record in a field that its opcode
// does not use; it must not show.
func TestFillStamped(t *testing.T) {
	var w Writer
	for _, op := range []wire.Opcode{wire.RCWriteOnly, wire.RCReadRespOnly, wire.RCAcknowledge} {
		p := packet.Packet{Kind: kind(op), Opcode: uint8(op), DSCP: 26, AETH: 0x1f000001}
		if p.Kind == packet.Data {
			p.AETH, p.RKey = 0, 0x55
		}
		var plain, stamped wire.Frame
		plain.IPVersion, stamped.IPVersion = 4, 4
		if err := w.Fill(&plain, &p, nil); err != nil {
			t.Fatal(err)
		}
		p.SetStamp(0xdeadbeef)
		if err := w.Fill(&stamped, &p, nil); err != nil {
			t.Fatal(err)
		}
		a, _ := plain.Append(nil)
		b, _ := stamped.Append(nil)
		if !bytes.Equal(a, b) {
			t.Errorf("%v: stamped\n%x, plain\n%x", op, b, a)
		}
	}
}

// Once its buffers have room, filling and appending allocate nothing.
func TestFillAllocates(t *testing.T) {
	var w Writer
	p := packet.Packet{Kind: packet.Data, Opcode: uint8(wire.RCWriteOnly), Payload: 1024}
	f := wire.Frame{IPVersion: 4}
	buf := make([]byte, 0, 2048)
	if n := testing.AllocsPerRun(100, func() {
		if w.Fill(&f, &p, nil) != nil {
			t.Fail()
		}
		buf, _ = f.Append(buf[:0])
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestPause(t *testing.T) {
	for _, payload := range []uint32{0, 0xff, 0x0808, 0x8181, 0x01ff} {
		p := packet.Packet{Kind: packet.Pause, Frame: 64, Payload: payload}
		if payload>>8 != 0 {
			p.DMALen = 65535
		}
		back, rest, err := wire.ParsePFC(Pause(&p).Append(nil))
		if err != nil || len(rest) != 0 {
			t.Fatal(err, rest)
		}
		if q, err := ReadPause(back); err != nil || q != p {
			t.Errorf("0x%04x came back as %+v, %v", payload, q, err)
		}
	}
	if _, err := ReadPause(wire.PFC{Enable: 3, Time: [8]uint16{1, 2}}); err == nil {
		t.Error("two pause times: no error")
	}
}

// Every captured frame comes back from its packet byte for byte.
func TestCaptures(t *testing.T) {
	root := os.Getenv("HOPSCOPE_DATA")
	if root == "" {
		t.Skip("HOPSCOPE_DATA is not set")
	}
	files, err := filepath.Glob(filepath.Join(root, "rxe", "*.pcap"))
	if err != nil || len(files) != 33 {
		t.Fatalf("%d captures, %v; want 33", len(files), err)
	}
	frames := 0
	for _, name := range files {
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
			b, _, err := r.ReadPacketData()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			f, err := wire.DecodeFrame(b)
			if err != nil {
				t.Fatal(err)
			}
			if f.Kind == wire.FrameRoCEv2 && f.CheckICRC() == nil {
				frames++
				again(t, filepath.Base(name), n, b, f)
			}
		}
	}
	if frames < 500 {
		t.Errorf("%d frames, want 500 or more", frames)
	}
}

// again makes frame f from its packet, knowing the addresses only.
func again(t *testing.T, name string, n int, b []byte, f wire.Frame) {
	t.Helper()
	var p packet.Packet
	var s packet.Side
	if _, err := Read(&f, &p, &s); err != nil {
		t.Fatalf("%s packet %d: %v", name, n, err)
	}
	var w Writer
	g := wire.Frame{IPVersion: f.IPVersion, Ethernet: f.Ethernet, IPv4: f.IPv4, IPv6: f.IPv6, UDP: f.UDP}
	g.BTH.PKey = wire.DefaultPKey
	if err := w.Fill(&g, &p, &s); err != nil {
		t.Fatalf("%s packet %d: %v", name, n, err)
	}
	have, err := g.Append(nil)
	if whole := b[:len(b)-len(f.Trailer)]; err != nil || !bytes.Equal(have, whole) {
		t.Errorf("%s packet %d came back as\n%x, %v, want\n%x", name, n, have, err, whole)
	}
}

// What decodes has a packet, and the packet has a frame that decodes to it
// again.
func FuzzRead(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	var w Writer
	for _, op := range []wire.Opcode{wire.RCWriteOnlyImm, wire.RCAtomicAck, wire.UDSendOnlyImm, wire.CNPOpcode} {
		p, s := random(r, op, true)
		frame := wire.Frame{IPVersion: 6, Tagged: true}
		if err := w.Fill(&frame, &p, &s); err != nil {
			f.Fatal(err)
		}
		b, err := frame.Append(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := wire.DecodeFrame(b)
		if err != nil || frame.Kind != wire.FrameRoCEv2 {
			return
		}
		var p, q packet.Packet
		var s, side packet.Side
		if _, err := Read(&frame, &p, &s); err != nil {
			t.Fatal(err)
		}
		var w Writer
		if err := w.Fill(&frame, &p, &s); err != nil {
			t.Fatal(err)
		}
		again, err := frame.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := wire.DecodeFrame(again)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&back, &q, &side); err != nil || p != q || !reflect.DeepEqual(s, side) {
			t.Fatalf("%+v %+v came back as %+v %+v, %v", p, s, q, side, err)
		}
	})
}
