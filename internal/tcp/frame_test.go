package tcp

import (
	"bytes"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Every segment of a connection with losses becomes a frame of the length that the
// packet says, whose headers and checksums are right and say the same.
func TestFrames(t *testing.T) {
	for _, tag := range []bool{false, true} {
		cfg := mustPreset(t, "linux")
		cfg.Tag, cfg.ECN = tag, ECNClassic
		l := newLoop(t, cfg)
		l.c[0].CarryData()
		l.c[1].CarryData()
		e := Endpoints{SrcMAC: wire.MAC{2, 1}, DstMAC: wire.MAC{2, 2}, Src: [4]byte{10, 0, 0, 1}, Dst: [4]byte{10, 0, 0, 2}, SrcPort: 40000, DstPort: 80, Tagged: tag}
		n, sacks := 0, 0
		l.wire = func(p *packet.Packet, side *packet.Side) {
			n++
			b := AppendFrame(nil, &e, p, side)
			if want := max(len(b)+wire.FCSLen, wire.MinFrameLen); int(p.Frame) != want {
				t.Fatalf("frame of %d bytes, the packet says %d", want, p.Frame)
			}
			h, data := parseFrame(t, b, tag)
			want := Header(p, side)
			want.SrcPort, want.DstPort, want.Checksum = e.SrcPort, e.DstPort, h.Checksum
			if h != want || uint32(len(data)) != p.Payload || len(data) > 0 && !bytes.Equal(data, side.Data) {
				t.Fatalf("header %+v, want %+v; %d bytes", h, want, len(data))
			}
			sacks += int(h.Options.SACKBlocks)
		}
		l.touch = func(i int, p *packet.Packet) (int, units.Time) {
			if n%30 == 29 {
				return 0, 0
			}
			return 1, 0
		}
		l.connect()
		l.c[0].WriteBytes(l.now, bytes.Repeat([]byte("hopscope "), 5000))
		l.poll()
		l.run(l.now + 20*units.Second)
		if sacks == 0 || l.c[1].Readable() != 45000 {
			t.Errorf("%d SACK blocks, %d bytes arrived", sacks, l.c[1].Readable())
		}
	}
}

// parseFrame walks a frame and checks its checksums.
func parseFrame(t *testing.T, b []byte, tag bool) (wire.TCP, []byte) {
	eth, b, err := wire.ParseEthernet(b)
	if err != nil {
		t.Fatal(err)
	}
	etherType := eth.Type
	if tag {
		var v wire.VLAN
		if v, b, err = wire.ParseVLAN(b); err != nil || eth.Type != wire.TypeVLAN {
			t.Fatal(eth, err)
		}
		etherType = v.Type
	}
	ip, rest, err := wire.ParseIPv4(b)
	if err != nil || etherType != wire.TypeIPv4 || wire.InternetChecksum(b[:wire.IPv4Len]) != 0 || int(ip.TotalLen) != len(b) || ip.Protocol != wire.ProtocolTCP {
		t.Fatalf("IPv4 header %+v of %d bytes, %v", ip, len(b), err)
	}
	h, data, err := wire.ParseTCP(rest)
	if err != nil || h.Checksum != wire.TCPChecksumIPv4(ip.Src, ip.Dst, rest) {
		t.Fatalf("TCP header %+v, %v", h, err)
	}
	return h, data
}
