package rdma

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// step is one frame of an exchange of our own making: from side 0 or 1, to a
// queue pair of which only the number matters.
type step struct {
	from int
	wire.Transport
}

// Short forms of steps. Each side has its own PSNs, so that mixing them up shows.

func asked(from int, op wire.Opcode, psn uint32, ackReq bool, n int) step {
	s := step{from: from}
	s.BTH = wire.BTH{Opcode: op, PSN: psn, AckReq: ackReq}
	s.Payload = make([]byte, n)
	for i := range s.Payload {
		s.Payload[i] = byte(psn + uint32(i))
	}
	return s
}

func withRETH(s step, va uint64, key, length uint32) step {
	s.RETH = wire.RETH{VA: va, RKey: key, DMALen: length}
	return s
}

func answered(from int, psn uint32, syndrome uint8, msn uint32) step {
	s := step{from: from}
	s.BTH = wire.BTH{Opcode: wire.RCAcknowledge, PSN: psn}
	s.AETH = wire.AETH{Syndrome: syndrome, MSN: msn}
	return s
}

func response(op wire.Opcode, psn, msn uint32, n int) step {
	s := asked(1, op, psn, false, n)
	if op.Ext()&wire.ExtAETH != 0 {
		s.AETH = wire.AETH{Syndrome: wire.SyndromeNoLimit, MSN: msn}
	}
	return s
}

func atomicOf(s step, va, swapAdd, compare uint64) step {
	s.AtomicETH = wire.AtomicETH{VA: va, RKey: 0x100, SwapAdd: swapAdd, Compare: compare}
	return s
}

func found(s step, value uint64) step {
	s.AtomicAckETH.Original = value
	return s
}

func with(s step, word uint32) step {
	s.ImmDt.Data, s.IETH.RKey = word, word
	return s
}

func datagram(s step, from, qkey uint32) step {
	s.DETH = wire.DETH{SrcQP: from, QKey: qkey}
	return s
}

// made turns steps into an exchange, by way of the bytes.
func made(steps []step) (x exchange, err error) {
	for i, s := range steps {
		f := wire.Frame{IPVersion: 4, Transport: s.Transport}
		f.Ethernet.Src[5], f.Ethernet.Dst[5] = byte(s.from+1), byte(2-s.from)
		f.IPv4 = wire.IPv4{DF: true, TTL: 64, Src: [4]byte{10, 0, 0, byte(s.from + 1)}, Dst: [4]byte{10, 0, 0, byte(2 - s.from)}}
		f.UDP.SrcPort = 49152
		f.BTH.PKey, f.BTH.DestQP = wire.DefaultPKey, uint32(0x12-s.from)
		b, err := f.Append(nil)
		if err != nil {
			return nil, err
		}
		if err := x.add(i+1, units.Time(i)*units.Millisecond, b); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// madeExchange is an exchange and what it does not tell.
type madeExchange struct {
	name  string
	steps []step
	parts sides
}

// madeExchanges follow the rules of models.md 4.3 and 4.4, written by hand: a
// peer run stands behind those of TestReplayCaptures.
func madeExchanges() []madeExchange {
	const ack, last = wire.SyndromeNoLimit, 0xffffff
	return []madeExchange{
		{name: "SENDs both ways over the end of the PSNs", steps: []step{
			asked(0, wire.RCSendFirst, last, false, 1024), asked(0, wire.RCSendMiddle, 0, false, 1024), asked(0, wire.RCSendLast, 1, true, 3),
			answered(1, 1, ack, 1),
			asked(1, wire.RCSendOnly, 0x500, true, 0), asked(0, wire.RCSendOnly, 2, true, 1024),
			answered(0, 0x500, ack, 1), answered(1, 2, ack, 2),
		}},
		{name: "WRITEs, one acknowledgement for two", steps: []step{
			withRETH(asked(0, wire.RCWriteFirst, 7, false, 1024), 0x1000, 0x100, 1500), asked(0, wire.RCWriteLast, 8, true, 476),
			withRETH(asked(0, wire.RCWriteOnly, 9, true, 5), 0x1800, 0x100, 5),
			answered(1, 8, ack, 1), answered(1, 9, ack, 2),
			withRETH(asked(0, wire.RCWriteOnly, 10, true, 0), 0, 0, 0), answered(1, 10, ack, 3),
		}},
		{name: "immediate data, READs and atomics", steps: []step{
			with(asked(0, wire.RCSendOnlyImm, 70, true, 32), 0x11223344), answered(1, 70, ack, 1),
			asked(0, wire.RCSendFirst, 71, false, 1024), with(asked(0, wire.RCSendLastImm, 72, true, 476), 0x55667788), answered(1, 72, ack, 2),
			with(withRETH(asked(0, wire.RCWriteOnlyImm, 73, true, 61), 0x1000, 0x100, 61), 0x99aabbcc), answered(1, 73, ack, 3),
			withRETH(asked(0, wire.RCReadRequest, 74, true, 0), 0x1400, 0x100, 2500),
			withRETH(asked(0, wire.RCReadRequest, 77, true, 0), 0, 0, 0),
			response(wire.RCReadRespFirst, 74, 4, 1024), response(wire.RCReadRespMiddle, 75, 0, 1024), response(wire.RCReadRespLast, 76, 4, 452),
			response(wire.RCReadRespOnly, 77, 5, 0),
			atomicOf(asked(0, wire.RCFetchAdd, 78, true, 0), 0x1100, 5, 0), found(response(wire.RCAtomicAck, 78, 6, 0), 7),
			atomicOf(asked(0, wire.RCCmpSwap, 79, true, 0), 0x1108, 9, 8), found(response(wire.RCAtomicAck, 79, 7, 0), 8),
		}},
		{name: "UC", steps: []step{
			asked(0, wire.UCSendFirst, 90, false, 1024), with(asked(0, wire.UCSendLastImm, 91, false, 2), 3),
			withRETH(asked(0, wire.UCWriteFirst, 92, false, 1024), 0x1000, 0x100, 2049), asked(0, wire.UCWriteMiddle, 93, false, 1024),
			asked(0, wire.UCWriteLast, 94, false, 1),
			asked(1, wire.UCSendOnly, 0x77, false, 0), with(withRETH(asked(1, wire.UCWriteOnlyImm, 0x78, false, 5), 0x1000, 0x100, 5), 6),
		}},
		{name: "UD", steps: []step{
			datagram(asked(0, wire.UDSendOnly, last, false, 1024), 0x11, 0x12), datagram(asked(1, wire.UDSendOnly, 0x5, false, 0), 0x12, 0x12),
			datagram(with(asked(0, wire.UDSendOnlyImm, 0, false, 3), 0xfeed), 0x11, 0x12),
		}},
		{name: "an atomic that is not aligned", steps: []step{
			atomicOf(asked(0, wire.RCFetchAdd, 80, true, 0), 0x1104, 5, 0), answered(1, 80, wire.SyndromeInvalidRequest, 0),
		}, parts: sides{{status: RemInvReq}}},
		{name: "a gap", steps: []step{
			asked(0, wire.RCSendFirst, 20, false, 1024), asked(0, wire.RCSendLast, 22, true, 9),
			answered(1, 21, wire.SyndromePSNSequence, 0),
			asked(0, wire.RCSendMiddle, 21, false, 1024), asked(0, wire.RCSendLast, 22, true, 9), answered(1, 22, ack, 1),
		}, parts: sides{{lossy: lossy(requester), except: map[role]exceptions{requester: {lost: frames(2, 2, "lost")}}}, {lossy: lossy(responder)}}},
		{name: "a lost acknowledgement", steps: []step{
			asked(0, wire.RCSendOnly, 30, true, 64), asked(0, wire.RCSendOnly, 30, true, 64), answered(1, 30, ack, 1),
			asked(0, wire.RCSendOnly, 31, true, 64), answered(1, 31, ack, 2),
		}, parts: sides{{}, {except: map[role]exceptions{responder: {dropped: frames(1, 1, "its answer was lost")}}}}},
		{name: "a late acknowledgement", steps: []step{
			asked(0, wire.RCSendOnly, 35, true, 64), asked(0, wire.RCSendOnly, 35, true, 64), answered(1, 35, ack, 1), answered(1, 35, ack, 1),
			asked(0, wire.RCSendOnly, 36, true, 64), answered(1, 36, ack, 2),
		}},
		{name: "RNR", steps: []step{
			asked(0, wire.RCSendOnly, 40, true, 64), answered(1, 40, wire.SyndromeRNR|12, 0),
			asked(0, wire.RCSendOnly, 40, true, 64), answered(1, 40, wire.SyndromeRNR|12, 0),
		}, parts: sides{{status: RNRRetryExc, rnrRetry: 1}, {counted: true}}},
		{name: "no right", steps: []step{
			asked(0, wire.RCSendOnly, 50, true, 64), answered(1, 50, ack, 1),
			withRETH(asked(0, wire.RCWriteOnly, 51, true, 64), 0x1000, 0x100, 64), answered(1, 51, wire.SyndromeInvalidRequest, 1),
		}, parts: sides{{status: RemInvReq}, {noWrite: true}}},
		{name: "beyond the region", steps: []step{
			withRETH(asked(0, wire.RCWriteOnly, 60, true, 64), 0x1000, 0x100, 64), answered(1, 60, wire.SyndromeRemoteAccess, 0),
		}, parts: sides{{status: RemAccess}, {memory: opened{0x100, Region{Base: 0x1000, Length: 63}}}}},
	}
}

func TestReplayMade(t *testing.T) {
	for _, m := range madeExchanges() {
		x, err := made(m.steps)
		if err != nil {
			t.Fatal(m.name, err)
		}
		for side := range 2 {
			for _, role := range []role{responder, requester} {
				if x.has(side, role) {
					t.Run(fmt.Sprintf("%s/side %d as %v", m.name, side, role), func(t *testing.T) {
						replayOne(t, x, side, 1024, role, m.parts[side])
					})
				}
			}
		}
	}
}

// A replay notices every change of a frame that ours should send: one in each
// field, one at a time.
func TestReplayNotices(t *testing.T) {
	changes := map[string]func(s *step){
		"PSN":    func(s *step) { s.BTH.PSN ^= 1 << 20 },
		"AckReq": func(s *step) { s.BTH.AckReq = !s.BTH.AckReq },
		"opcode": func(s *step) {
			s.BTH.Opcode = map[wire.Opcode]wire.Opcode{wire.RCSendOnly: wire.RCSendLast, wire.RCAcknowledge: wire.RCAtomicAck}[s.BTH.Opcode]
		},
		"syndrome": func(s *step) { s.AETH.Syndrome ^= 0x20 },
		"MSN":      func(s *step) { s.AETH.MSN++ },
	}
	m := madeExchanges()[0]
	for name, change := range changes {
		for i, role := range map[int]role{5: requester, 7: responder} { // SEND Only of side 0, ACK of side 1
			if (name == "syndrome" || name == "MSN") && role == requester {
				continue // not in a request
			}
			steps := append([]step(nil), m.steps...)
			change(&steps[i])
			x, err := made(steps)
			if err != nil {
				t.Fatal(err)
			}
			if _, diffs := x.replay(steps[i].from, 1024, "nic", role, part{}); len(diffs) == 0 {
				t.Errorf("%s of frame %d changed and nobody noticed", name, i+1)
			}
		}
	}
}
