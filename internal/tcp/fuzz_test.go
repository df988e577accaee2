package tcp

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// fuzzBytes is the longest program of FuzzReceive, 20 steps. Go's fuzzer shortens what it finds by
// trying to leave out every range of its bytes: their square, so a program is short and runs often.
const fuzzBytes = 20 * 9

// FuzzReceive does what the bytes say to an endpoint in any state, again and again:
// segments of any kind near to what it expects, calls of the application, timers. It must
// neither panic nor lose its books, and what it sends must be a segment.
func FuzzReceive(f *testing.F) {
	f.Add(uint8(Established), uint8(0), []byte{0, 0, 16, 1, 0, 0, 0, 100, 2, 3, 4, 5})
	f.Add(uint8(SynSent), uint8(0), []byte{0, 0, 18, 0, 0, 0, 0, 0, 0})
	f.Add(uint8(FinWait1), uint8(0), []byte{0, 0, 17, 0, 0, 0, 0, 0, 5, 0, 0, 16, 9, 9, 9, 9, 9, 9})
	// writes, ACKs with SACK blocks, timers, data ahead
	long := []byte{0, 40, 9, 0, 0, 0, 0, 0, 1, 6, 16, 0, 0, 11, 1, 250, 7, 1, 4, 0, 0, 0, 0, 0, 0, 0, 2, 7, 16, 3, 9, 0, 9, 99, 1, 3}
	f.Add(uint8(Established), uint8(30), long)
	f.Add(uint8(CloseWait), uint8(30), long)
	f.Fuzz(func(t *testing.T, state, again uint8, program []byte) {
		program = program[:min(len(program), fuzzBytes)/9*9]
		program = bytes.Repeat(program, 1+int(again%32))
		l := inState(t, State(state%uint8(numStates)))
		c := &l.c[0]
		for len(program) >= 9 {
			step := program[:9]
			program = program[9:]
			l.now += units.Time(step[8]) * 10 * units.Millisecond
			fuzzStep(l, step)
			var p packet.Packet
			for range 1000 {
				r, _ := c.Poll(l.now, &p)
				if r != Sent {
					break
				}
				if p.Kind != packet.Segment || p.Frame < wire.MinFrameLen || p.Payload > 65535 || HeaderLen(&p) < 20 || HeaderLen(&p) > 60 {
					t.Fatalf("segment %+v", p)
				}
			}
			checkBooks(t, c)
			if c.una > c.nxt && c.state.synchronised() || c.read > c.rcvNxt {
				t.Fatalf("una %d nxt %d read %d rcvNxt %d", c.una, c.nxt, c.read, c.rcvNxt)
			}
		}
	})
}

// fuzzStep is one event: b[0] says which.
func fuzzStep(l *loop, b []byte) {
	c := &l.c[0]
	small := func(at int) uint32 { return uint32(int32(int16(binary.BigEndian.Uint16(b[at:])))) }
	switch b[0] % 12 {
	case 0:
		c.Write(l.now, int64(small(1)&0x7fff))
	case 1:
		c.Read(l.now, int64(small(1)&0x7fff))
	case 2:
		c.Close()
	case 3:
		if b[1] < 8 {
			c.Abort()
		}
	case 4, 5:
		if d := c.Deadline(); d != units.Never {
			l.now = max(l.now, d)
			c.Expire(l.now)
		}
	default:
		h := wire.TCP{Flags: b[1], Seq: uint32(c.rcvNxt) + small(2), Ack: uint32(c.una) + small(4), Window: uint16(b[6]) << 8}
		h.Options.HasTimestamps = b[7]&1 != 0
		h.Options.TSVal, h.Options.TSEcr = c.tsNow(l.now)-uint32(b[7]>>4), c.tsNow(l.now)-uint32(b[6]>>4)
		var side packet.Side
		if b[7]&2 != 0 {
			h.Options.SACKBlocks = 1 + b[7]>>2&3
			for i := range h.Options.SACKBlocks {
				left := uint32(c.una) + small(2+int(i))
				h.Options.SACK[i] = wire.SACKBlock{Left: left, Right: left + uint32(b[4+i])*20}
			}
		}
		var p packet.Packet
		SetHeader(&p, &side, &h, int(b[5])*16)
		p.ECN = b[0] >> 6
		c.Receive(l.now, &p, &side, iss[0])
	}
}
