package rdma

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// anyRecovery is a transport profile that the property test draws.
func anyRecovery(t *testing.T, seed uint64) Config {
	cfg := mustPreset(t, "nic")
	cfg.MTU, cfg.AckEvery, cfg.NAKConsumesRetry = 256, 1+int(seed%5), false
	cfg.Timeout = TimeoutCode(4) // 65.5 us
	switch seed % 4 {
	case 1:
		cfg.Recovery = GoBack0
	case 2:
		cfg.Recovery, cfg.Bitmap = SelectiveRepeat, []int{8, 100, 512}[seed%3]
	case 3:
		cfg.Recovery, cfg.Bitmap = IRN, 128
		cfg.TimeoutLow, cfg.LowInFlight = 20*us, 3
	}
	if seed%3 == 1 {
		cfg.Window, cfg.WindowBytes = WindowBytes, 2000
	}
	return cfg
}

// TestMixedVerbs: all verbs, both ways, with fences, under loss, duplication and
// reordering of everything, whatever the recovery: each completes once and in
// order, every byte arrives once, every atomic is executed once.
func TestMixedVerbs(t *testing.T) {
	for seed := range uint64(240) {
		rng := rand.New(rand.NewPCG(seed, 11))
		a, b := attrs(), attrs()
		word := make([]byte, 64)
		b.Memory = memoryOf(Region{Base: base, Length: 64, Access: RemoteAll, Data: word})
		if err := b.Memory.RegisterAs(rkey+256, Region{Base: base, Length: 1 << 30, Access: RemoteAll}); err != nil {
			t.Fatal(err)
		}
		a.SQPSN, b.RQPSN = psnMask-100, psnMask-100
		a.MaxRdAtomic, b.MaxDestRdAtomic = 1+uint8(seed%5), 1+uint8(seed%5)
		cfg := anyRecovery(t, seed)
		received := new(CompletionQueue)
		l := newLoop(t, cfg, a, b)
		l.qp[1].cold.reception = &reception{cq: received}
		var expected []Completion
		reorder := seed%8 < 4 && cfg.Recovery != GoBack0
		l.fate = func(int, *packet.Packet) fate {
			f := fate{lose: rng.IntN(50) == 0, twice: rng.IntN(30) == 0}
			if reorder && rng.IntN(30) == 0 {
				f.late = units.Time(rng.IntN(3000)) * units.Nanosecond
			}
			return f
		}
		written, read, added := int64(0), int64(0), uint64(0)
		const messages = 80
		for i := range uint32(messages) {
			r := WorkRequest{ID: i, Verb: Verb(rng.IntN(int(numVerbs))), Bytes: units.Bytes(rng.Int64N(3000)), RKey: rkey + 256, Fence: rng.IntN(8) == 0}
			switch r.Verb {
			case CompareSwap, FetchAdd:
				r.Bytes, r.RKey, r.Swap, r.Compare = AtomicBytes, rkey, rng.Uint64N(1000), rng.Uint64()
				if r.Verb == FetchAdd {
					added += r.Swap
				}
			case Read:
				read += int64(r.Bytes)
			default:
				written += int64(r.Bytes)
			}
			switch r.Verb {
			case Send, SendImm, SendInv, WriteImm:
				c := Completion{ID: uint32(len(expected)), Conn: 7, Receive: true, Verb: r.Verb, Bytes: r.Bytes}
				if r.Verb == SendInv {
					r.Imm, _ = b.Memory.Register(Region{Base: base, Length: 1, Invalidatable: true})
				} else if r.Verb != Send {
					r.Imm = rng.Uint32()
				}
				c.Imm = r.Imm
				expected = append(expected, c)
			}
			l.post(0, r)
			if rng.IntN(3) == 0 {
				l.post(1, WorkRequest{ID: i, Verb: Write, Bytes: 1000})
			}
		}
		l.run(10 * units.Second)
		if got := binary.LittleEndian.Uint64(word); got != added {
			t.Errorf("seed %d: %d after the atomics, want %d", seed, got, added)
		}
		if d, r := l.qp[1].Delivered(), l.qp[0].ReadBytes(); d != written || r != read {
			t.Errorf("seed %d: %d of %d written, %d of %d read, states %s, %s", seed, d, written, r, read, l.qp[0].State(), l.qp[1].State())
		}
		if len(l.cq[0].Entries) != messages || l.qp[1].Open() != 0 {
			t.Fatalf("seed %d: %d completions, %d open on the other side", seed, len(l.cq[0].Entries), l.qp[1].Open())
		}
		for i, c := range l.cq[0].Entries {
			if c.ID != uint32(i) || c.Status != Success {
				t.Fatalf("seed %d: completion %d is %+v", seed, i, c)
			}
		}
		for i := range received.Entries {
			received.Entries[i].Time = 0
		}
		if !slices.Equal(received.Entries, expected) {
			t.Errorf("seed %d: received\n%+v, want\n%+v", seed, received.Entries, expected)
		}
		if got := l.qp[1].MSN(); got != messages {
			t.Errorf("seed %d: MSN %d, want %d", seed, got, messages)
		}
	}
}
