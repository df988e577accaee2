package decode

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/hopscope/hopscope/internal/pcap"
	"github.com/hopscope/hopscope/wire"
)

// tape is a capture in the making.
type tape struct {
	t      testing.TB
	frames []taped
	vlan   bool
	v6     bool
	port   uint16 // UDP source port of what is sent next
	point  int
}

// taped is one frame of it.
type taped struct {
	us    float64 // since the beginning
	point int
	data  []byte
}

// Queue pairs of the two hosts of most tapes: host 1 has 0x11, host 2 0x22.
const (
	qpOf1 = 0x11
	qpOf2 = 0x22
)

// packet is what a test says of a packet; the rest is filled in.
type packet struct {
	op      wire.Opcode
	psn     uint32
	len     int
	syn     uint8
	dma     uint32
	ecn     uint8
	destQP  uint32 // 0: the other host's of the two
	srcQP   uint32
	noAsk   bool
	data    []byte
	badICRC bool
}

// send appends a packet of host 1 or 2 to the other.
func (x *tape) send(us float64, from byte, p packet) {
	x.t.Helper()
	to := 3 - from
	f := wire.Frame{IPVersion: 4, Tagged: x.vlan, VLAN: wire.VLAN{PCP: 3, VID: 7}}
	f.Ethernet.Src, f.Ethernet.Dst = wire.MAC{2, 0, 0, 0, 0, from}, wire.MAC{2, 0, 0, 0, 0, to}
	f.IPv4 = wire.IPv4{TTL: 64, DF: true, ECN: p.ecn, Src: [4]byte{10, 0, 0, from}, Dst: [4]byte{10, 0, 0, to}}
	if x.v6 {
		f.IPVersion = 6
		f.IPv6 = wire.IPv6{HopLimit: 64, ECN: p.ecn, Src: [16]byte{0xfd, 15: from}, Dst: [16]byte{0xfd, 15: to}}
	}
	f.UDP.SrcPort = x.port
	if x.port == 0 {
		f.UDP.SrcPort = 49152
	}
	qp := p.destQP
	if qp == 0 {
		qp = map[byte]uint32{1: qpOf1, 2: qpOf2}[to]
	}
	t := &f.Transport
	t.BTH = wire.BTH{Opcode: p.op, PKey: wire.DefaultPKey, DestQP: qp, PSN: p.psn, AckReq: !p.noAsk, BECN: p.op == wire.CNPOpcode}
	t.AETH = wire.AETH{Syndrome: p.syn}
	t.RETH = wire.RETH{DMALen: p.dma}
	t.DETH = wire.DETH{SrcQP: p.srcQP}
	t.Payload = p.data
	if p.len > 0 {
		t.Payload = make([]byte, p.len)
	}
	b, err := f.Append(nil)
	if err != nil {
		x.t.Fatal(err)
	}
	if p.badICRC {
		b[len(b)-1] ^= 1
	}
	x.add(us, b)
}

// add appends any frame.
func (x *tape) add(us float64, b []byte) {
	for len(b) < wire.MinFrameLen-wire.FCSLen {
		b = append(b, 0)
	}
	x.frames = append(x.frames, taped{us, x.point, b})
}

// ack appends an acknowledgement of host from.
func (x *tape) ack(us float64, from byte, psn uint32, syndrome uint8) {
	x.t.Helper()
	x.send(us, from, packet{op: wire.RCAcknowledge, psn: psn, syn: syndrome, noAsk: true})
}

// pfc appends a pause.
func (x *tape) pfc(us float64, class int, quanta uint16) {
	h := wire.PFC{Enable: 1 << class}
	h.Time[class] = quanta
	x.add(us, h.AppendFrame(nil, wire.MAC{2, 0, 0, 0, 0, 9}))
}

// tcp appends a segment of host from.
func (x *tape) tcp(us float64, from byte, h wire.TCP, n int) {
	to := 3 - from
	h.SrcPort, h.DstPort = uint16(1000+int(from)), uint16(1000+int(to))
	seg := append(h.Append(nil), make([]byte, n)...)
	ip := wire.IPv4{TTL: 64, Protocol: wire.ProtocolTCP, TotalLen: uint16(wire.IPv4Len + len(seg)), Src: [4]byte{10, 0, 0, from},
		Dst: [4]byte{10, 0, 0, to}}
	b := wire.EthernetHeader{Type: wire.TypeIPv4}.Append(nil)
	x.add(us, append(ip.Append(b), seg...))
}

// form is how a tape becomes a file.
type form struct {
	ng, nano, big bool
	snap          int
	link          int
	names         []string // of interfaces, ng only
	dropped       uint64   // at the first, ng only
}

// file is the tape as a file.
func (x *tape) file(f form) []byte {
	x.t.Helper()
	if f.link == 0 {
		f.link = int(pcap.Ethernet)
	}
	if f.ng {
		return x.ng(f)
	}
	var order binary.AppendByteOrder = binary.LittleEndian
	if f.big {
		order = binary.BigEndian
	}
	magic, unit := uint32(0xa1b2c3d4), 1e6
	if f.nano {
		magic, unit = 0xa1b23c4d, 1e9
	}
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	snap := f.snap
	if snap == 0 {
		snap = 1 << 18
	}
	b = order.AppendUint32(b, uint32(snap))
	b = order.AppendUint32(b, uint32(f.link))
	for _, p := range x.frames {
		data := p.data[:min(len(p.data), snap)]
		b = order.AppendUint32(b, 1_700_000_000)
		b = order.AppendUint32(b, uint32(p.us/1e6*unit+0.5))
		b = order.AppendUint32(b, uint32(len(data)))
		b = order.AppendUint32(b, uint32(len(p.data)))
		b = append(b, data...)
	}
	return b
}

func (x *tape) ng(f form) []byte {
	x.t.Helper()
	var b bytes.Buffer
	var w *pcapgo.NgWriter
	if len(f.names) == 0 {
		f.names = []string{"eth0"}
	}
	for k, name := range f.names {
		i := pcapgo.DefaultNgInterface
		i.Name, i.LinkType, i.SnapLength = name, layers.LinkType(f.link), uint32(f.snap)
		var err error
		if k == 0 {
			w, err = pcapgo.NewNgWriterInterface(&b, i, pcapgo.DefaultNgWriterOptions)
		} else {
			_, err = w.AddInterface(i)
		}
		if err != nil {
			x.t.Fatal(err)
		}
	}
	for _, p := range x.frames {
		data := p.data
		if f.snap > 0 {
			data = data[:min(len(data), f.snap)]
		}
		info := gopacket.CaptureInfo{Timestamp: time.Unix(1_700_000_000, int64(p.us*1000+0.5)), CaptureLength: len(data), Length: len(p.data),
			InterfaceIndex: p.point}
		if err := w.WritePacket(info, data); err != nil {
			x.t.Fatal(err)
		}
	}
	if f.dropped > 0 {
		stats := pcapgo.NgInterfaceStatistics{PacketsReceived: pcapgo.NgNoValue64, PacketsDropped: f.dropped}
		if err := w.WriteInterfaceStats(0, stats); err != nil {
			x.t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		x.t.Fatal(err)
	}
	return b.Bytes()
}

// decoded reads a file.
func decoded(t testing.TB, file []byte, opt Options) *Result {
	t.Helper()
	in, err := pcap.Open(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Read(in, opt, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d.Result()
}

// result reads the tape.
func (x *tape) result(f form) *Result { return decoded(x.t, x.file(f), Options{}) }
