package rdma

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// guard lies between the messages' buffers; no byte of it may change.
const guard = 64

// buffers is memory with bytes, a buffer per message with guards around it.
type buffers struct {
	data []byte
	at   []int // of each buffer
}

func newBuffers(sizes []int, fill func(b []byte)) *buffers {
	b := &buffers{}
	for _, n := range sizes {
		b.data = append(b.data, bytes.Repeat([]byte{0xee}, guard)...)
		b.at = append(b.at, len(b.data))
		b.data = append(b.data, make([]byte, n)...)
		fill(b.data[len(b.data)-n:])
	}
	b.data = append(b.data, bytes.Repeat([]byte{0xee}, guard)...)
	return b
}

func (b *buffers) memory() *Memory {
	return memoryOf(Region{Base: base, Length: uint64(len(b.data)), Access: RemoteAll, Data: b.data})
}

func (b *buffers) va(i int) uint64 { return base + uint64(b.at[i]) }

// check compares buffer i with what it is to hold, and the guard before it.
func (b *buffers) check(i int, want []byte) error {
	if got := b.data[b.at[i] : b.at[i]+len(want)]; !bytes.Equal(got, want) {
		k := 0
		for got[k] == want[k] {
			k++
		}
		return fmt.Errorf("buffer %d of %d bytes differs from byte %d on", i, len(want), k)
	}
	for _, at := range []int{b.at[i] - guard, b.at[i] + len(want)} {
		if !bytes.Equal(b.data[at:at+guard], bytes.Repeat([]byte{0xee}, guard)) {
			return fmt.Errorf("bytes beside buffer %d were written", i)
		}
	}
	return nil
}

// recoveries are the ways to recover from loss, with short timers and packets.
func recoveries(t *testing.T) map[string]Config {
	out := map[string]Config{}
	for _, name := range []string{"nic", "go-back-0", "selective-repeat", "irn"} {
		cfg := mustPreset(t, name)
		cfg.MTU, cfg.RetryCount, cfg.NAKConsumesRetry = 256, 7, false
		cfg.Timeout = TimeoutCode(4) // 65.5 us
		if cfg.TimeoutLow > 0 {
			cfg.TimeoutLow = 20 * us
		}
		out[name] = cfg
	}
	return out
}

// TestPayloadArrives: the bytes of WRITEs and SENDs under loss, duplication and reordering
// arrive where they belong and nowhere else, whatever the recovery.
func TestPayloadArrives(t *testing.T) {
	for name, cfg := range recoveries(t) {
		for seed := range uint64(20) {
			cfg.AckEvery = 1 + int(seed%5)
			r := rand.New(rand.NewPCG(seed, 7))
			var sizes []int
			for range 60 {
				sizes = append(sizes, r.IntN(3000))
			}
			random := func(b []byte) {
				for i := range b {
					b[i] = byte(r.Uint32())
				}
			}
			src, dst := newBuffers(sizes, random), newBuffers(sizes, random)
			var sent []byte // by SEND
			for i, n := range sizes {
				if i%3 == 0 {
					sent = append(sent, src.data[src.at[i]:src.at[i]+n]...)
				}
			}
			inbox := newBuffers([]int{len(sent)}, func([]byte) {})
			a, b := attrs(), attrs()
			a.Memory, b.Memory = src.memory(), dst.memory()
			b.Inbox = &Inbox{VA: inbox.va(0), LKey: rkey + 256}
			if err := b.Memory.RegisterAs(rkey+256, Region{Base: base, Length: uint64(len(inbox.data)), Access: LocalWrite, Data: inbox.data}); err != nil {
				t.Fatal(err)
			}
			a.SQPSN, b.RQPSN = psnMask-100, psnMask-100
			l := newLoop(t, cfg, a, b)
			l.fate = func(int, *packet.Packet) fate {
				f := fate{lose: r.IntN(50) == 0, twice: r.IntN(30) == 0}
				if name != "go-back-0" && r.IntN(30) == 0 {
					f.late = units.Time(r.IntN(3000)) * units.Nanosecond
				}
				return f
			}
			for i, n := range sizes {
				verb := Write
				if i%3 == 0 {
					verb = Send
				}
				l.post(0, WorkRequest{ID: uint32(i), Verb: verb, Bytes: units.Bytes(n), VA: dst.va(i), LVA: src.va(i), LKey: rkey})
			}
			l.run(10 * units.Second)
			if got := len(l.cq[0].Entries); got != len(sizes) || l.qp[0].State() != RTS {
				t.Fatalf("%s, seed %d: %d completions, %s", name, seed, got, l.qp[0].State())
			}
			if c := l.qp[0].Counters(); c.Retransmitted == 0 {
				t.Errorf("%s, seed %d: nothing was lost", name, seed)
			}
			if err := inbox.check(0, sent); err != nil || b.Inbox.Placed != uint64(len(sent)) {
				t.Fatalf("%s, seed %d: %d of %d bytes of SENDs: %v", name, seed, b.Inbox.Placed, len(sent), err)
			}
			for i, n := range sizes {
				if i%3 == 0 {
					continue
				}
				if err := dst.check(i, src.data[src.at[i]:src.at[i]+n]); err != nil {
					t.Fatalf("%s, seed %d: %v", name, seed, err)
				}
			}
		}
	}
}

// TestRefusedMovesNothing: a request that is refused writes no byte (models.md 9,
// case 5).
func TestRefusedMovesNothing(t *testing.T) {
	for name, cfg := range recoveries(t) {
		for _, c := range []struct {
			name string
			set  func(a *Attrs, w *WorkRequest)
		}{
			{"wrong key", func(_ *Attrs, w *WorkRequest) { w.RKey = rkey + 1 }},
			{"one byte too long", func(_ *Attrs, w *WorkRequest) { w.Bytes++ }},
			{"queue pair without the right", func(a *Attrs, _ *WorkRequest) { a.Access = RemoteRead }},
			{"region without the right", func(a *Attrs, _ *WorkRequest) { a.Memory.regions[rkey>>keyBits].Access = RemoteRead }},
			{"region invalidated", func(a *Attrs, _ *WorkRequest) { a.Memory.regions[rkey>>keyBits].state = regionInvalid }},
			{"another domain", func(a *Attrs, _ *WorkRequest) { a.PD = 3 }},
		} {
			src := newBuffers([]int{9001}, func(b []byte) { copy(b, bytes.Repeat([]byte{1}, len(b))) })
			dst := newBuffers([]int{9000}, func([]byte) {})
			a, b := attrs(), attrs()
			a.Memory, b.Memory = src.memory(), dst.memory()
			w := WorkRequest{Verb: Write, Bytes: 9000, VA: base + uint64(len(dst.data)) - 9000, LVA: src.va(0), LKey: rkey}
			before := bytes.Clone(dst.data)
			c.set(&b, &w)
			l := newLoop(t, cfg, a, b)
			l.post(0, w)
			l.run(units.Second)
			if s := l.statuses(0); len(s) != 1 || s[0] == Success {
				t.Errorf("%s, %s: statuses %v", name, c.name, s)
			}
			if !bytes.Equal(before, dst.data) {
				t.Errorf("%s, %s: memory was written", name, c.name)
			}
		}
	}
}
