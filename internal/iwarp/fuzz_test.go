package iwarp

import (
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Whatever a peer says, by the bytes of its stream in pieces of any length, an end stays whole: it ends the stream or
// waits, and what it then sends makes sense to another.
func FuzzStream(f *testing.F) {
	request := (&wire.MPAFrame{CRC: true, Revision: 2, Enhanced: true, IRD: 4, ORD: 4, PeerToPeer: true, RTRRead: true}).Append(nil)
	rtr := wire.DDP{Last: true, Opcode: wire.RDMAPReadRequest, QN: wire.QNReadRequest, MSN: 1}
	ask := wire.ReadRequest{}
	at := int64(len(request))
	stream := wire.Framing{CRC: true}.Append(request, at, rtr.Append(nil), ask.Append(nil))
	write := wire.DDP{Tagged: true, Last: true, STag: 0x200, TO: bedBase}
	f.Add(wire.Framing{CRC: true}.Append(stream, int64(len(stream)), write.Append(nil), make([]byte, 100)), uint8(90))
	send := wire.DDP{Last: true, Opcode: wire.RDMAPSend, MSN: 1}
	f.Add(wire.Framing{CRC: true}.Append(stream, int64(len(stream)), send.Append(nil), make([]byte, 10)), uint8(7))
	term := wire.DDP{Last: true, Opcode: wire.RDMAPTerminate, QN: wire.QNTerminate, MSN: 1}
	f.Add(wire.Framing{CRC: true}.Append(stream, int64(len(stream)), term.Append(nil), []byte{0x11, 0, 0, 0}), uint8(255))
	f.Add([]byte("GET / HTTP/1.1"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, piece uint8) {
		if piece == 0 || len(data) > 4000 {
			return
		}
		for _, crc := range []bool{true, false} {
			c := mustPreset(t, "offload")
			c.CRC = crc
			x := newBed(t, c, c, free, true)
			q := &x.q[0]
			q.Connect(&x.setup[0], x.owner(0), &Spec{Config: &x.cfg[0], ISS: 1}, 0)
			say := func(flags uint8, seq, ack uint32, b []byte) {
				var p packet.Packet
				h := wire.TCP{Flags: flags, Seq: seq, Ack: ack, Window: 60000, Options: wire.TCPOptions{MSS: 1460 * uint16(flags&tcp.SYN>>1)}}
				tcp.SetHeader(&p, nil, &h, len(b))
				side := &packet.Side{Data: b}
				if b == nil {
					side = nil
				}
				q.Receive(0, &p, side)
				for why, _ := q.Poll(0, &p); why == Sent; why, _ = q.Poll(0, &p) {
				}
			}
			say(tcp.SYN, 99, 0, nil)
			say(tcp.ACK, 100, 2, nil)
			for from := 0; from < len(data); from += int(piece) {
				b := data[from:min(len(data), from+int(piece))]
				say(tcp.ACK, 100+uint32(from), 2, b)
			}
			x.now = units.Second
			q.Expire(x.now)
			if q.State() == Idle || q.State() >= numStates {
				t.Fatal(q.State())
			}
		}
	})
}
