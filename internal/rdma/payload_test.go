package rdma

import (
	"bytes"
	"encoding/binary"
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
		b.data = append(b.data, bytes.Repeat([]byte{0xee}, guard+-len(b.data)&7)...)
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

// payloads is two queue pairs, a buffer at either side for each of many messages
// of all verbs, and what the buffers are to hold in the end.
type payloads struct {
	verbs               []Verb
	sizes               []int
	near, far, inbox    *buffers
	wantNear, wantFar   [][]byte
	sent                []byte // by SENDs
	requester, answerer Attrs
	add                 uint64
}

func newPayloads(t *testing.T, r *rand.Rand, verbs []Verb) *payloads {
	x := &payloads{requester: attrs(), answerer: attrs(), add: r.Uint64()}
	for i := range 60 {
		v, n := verbs[i%len(verbs)], r.IntN(3000)
		if v == FetchAdd || v == CompareSwap {
			n = int(AtomicBytes)
		}
		x.verbs, x.sizes = append(x.verbs, v), append(x.sizes, n)
	}
	random := func(b []byte) {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	}
	x.near, x.far = newBuffers(x.sizes, random), newBuffers(x.sizes, random)
	for i, n := range x.sizes {
		near, far := bytes.Clone(x.near.data[x.near.at[i]:][:n]), bytes.Clone(x.far.data[x.far.at[i]:][:n])
		switch x.verbs[i] {
		case Write, WriteImm:
			far = near
		case Read:
			near = far
		case FetchAdd:
			near, far = far, binary.LittleEndian.AppendUint64(nil, binary.LittleEndian.Uint64(far)+x.add)
		case Send, SendImm:
			x.sent = append(x.sent, near...)
		}
		x.wantNear, x.wantFar = append(x.wantNear, near), append(x.wantFar, far)
	}
	x.inbox = newBuffers([]int{len(x.sent)}, func([]byte) {})
	x.requester.Memory, x.answerer.Memory = x.near.memory(), x.far.memory()
	x.requester.SQPSN, x.answerer.RQPSN = psnMask-100, psnMask-100
	x.requester.MaxRdAtomic, x.answerer.MaxDestRdAtomic = 4, 4
	x.answerer.Inbox = &Inbox{VA: x.inbox.va(0), LKey: rkey + 256}
	err := x.answerer.Memory.RegisterAs(rkey+256, Region{Base: base, Length: uint64(len(x.inbox.data)), Access: LocalWrite, Data: x.inbox.data})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// post has side 0 ask for message i.
func (x *payloads) post(l *loop, i int) {
	l.post(0, WorkRequest{ID: uint32(i), Verb: x.verbs[i], Bytes: units.Bytes(x.sizes[i]), VA: x.far.va(i), Swap: x.add, LVA: x.near.va(i), LKey: rkey})
}

func (x *payloads) check() error {
	for i := range x.sizes {
		if err := x.near.check(i, x.wantNear[i]); err != nil {
			return fmt.Errorf("%s, near %w", x.verbs[i], err)
		}
		if err := x.far.check(i, x.wantFar[i]); err != nil {
			return fmt.Errorf("%s, far %w", x.verbs[i], err)
		}
	}
	if err := x.inbox.check(0, x.sent); err != nil || x.answerer.Inbox.Placed != uint64(len(x.sent)) {
		return fmt.Errorf("%d of %d bytes of SENDs: %v", x.answerer.Inbox.Placed, len(x.sent), err)
	}
	return nil
}

// impaired loses, duplicates and reorders packets.
func impaired(r *rand.Rand, reorder bool) func(int, *packet.Packet) fate {
	return func(int, *packet.Packet) fate {
		f := fate{lose: r.IntN(50) == 0, twice: r.IntN(30) == 0}
		if reorder && r.IntN(30) == 0 {
			f.late = units.Time(r.IntN(3000)) * units.Nanosecond
		}
		return f
	}
}

// TestPayloadArrives: under loss, duplication and reordering the bytes of every
// verb arrive where they belong and nowhere else, whatever the recovery.
func TestPayloadArrives(t *testing.T) {
	for name, cfg := range recoveries(t) {
		for seed := range uint64(20) {
			cfg.AckEvery = 1 + int(seed%5)
			r := rand.New(rand.NewPCG(seed, 7))
			x := newPayloads(t, r, []Verb{Write, Send, Read, WriteImm, FetchAdd, SendImm, Read})
			l := newLoop(t, cfg, x.requester, x.answerer)
			l.fate = impaired(r, name != "go-back-0")
			for i := range x.sizes {
				x.post(l, i)
			}
			l.run(10 * units.Second)
			if got := len(l.cq[0].Entries); got != len(x.sizes) || l.qp[0].State() != RTS {
				t.Fatalf("%s, seed %d: %d completions, %s", name, seed, got, l.qp[0].State())
			}
			if c := l.qp[0].Counters(); c.Retransmitted == 0 {
				t.Errorf("%s, seed %d: nothing was lost", name, seed)
			}
			if err := x.check(); err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
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

// TestUnreliablePayload: of a message of an unreliable connection each packet's
// part is what was sent or what was there before; SENDs that are delivered are
// whole.
func TestUnreliablePayload(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 8))
		x := newPayloads(t, r, []Verb{Write, Send, WriteImm, SendImm})
		before := bytes.Clone(x.far.data)
		a, b := newBare(t, UC, x.requester), newBare(t, UC, x.answerer)
		wire := impaired(r, false)
		broken := 0
		for i := range x.sizes {
			err := a.Post(0, WorkRequest{ID: uint32(i), Verb: x.verbs[i], Bytes: units.Bytes(x.sizes[i]), VA: x.far.va(i), RKey: rkey, LVA: x.near.va(i), LKey: rkey})
			if err != nil {
				t.Fatal(err)
			}
		}
		now, p := units.Time(0), packet.Packet{}
		for {
			why, until := a.Poll(now, &p)
			if why != Sent {
				break
			}
			if now = until; !wire(0, &p).lose {
				b.ReceiveWith(now, &p, a.PolledSide(), new(Replies))
			}
		}
		for i, n := range x.sizes {
			if x.verbs[i] == Send || x.verbs[i] == SendImm {
				continue
			}
			for at := 0; at < n; at += 256 {
				from, to := x.far.at[i]+at, x.far.at[i]+min(at+256, n)
				got := x.far.data[from:to]
				if !bytes.Equal(got, x.wantFar[i][at:min(at+256, n)]) {
					if broken++; !bytes.Equal(got, before[from:to]) {
						t.Fatalf("seed %d: message %d holds something else from byte %d on", seed, i, at)
					}
				}
			}
		}
		rest := x.inbox.data[guard:][:b.setup.Attrs.Inbox.Placed]
		for i := range x.sizes {
			if sent := x.near.data[x.near.at[i]:][:x.sizes[i]]; x.verbs[i] == Send || x.verbs[i] == SendImm {
				if bytes.HasPrefix(rest, sent) {
					rest = rest[len(sent):]
				} else {
					broken++
				}
			}
		}
		if len(rest) > 0 || broken == 0 {
			t.Errorf("seed %d: %d bytes of SENDs belong to none; %d parts did not arrive", seed, len(rest), broken)
		}
	}
}
