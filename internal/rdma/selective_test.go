package rdma

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// TestResentIsLost: when every packet is acknowledged and the network keeps its
// order and loses data only, exactly what was lost is sent again, once per loss,
// whatever the pattern.
func TestResentIsLost(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		cfg := mustPreset(t, []string{"selective-repeat", "irn"}[seed%2])
		cfg.MTU, cfg.AckEvery, cfg.Bitmap = 1024, 1, []int{512, 20, 3}[seed%3]
		cfg.Timeout, cfg.TimeoutLow = TimeoutCode(8), 0
		odds := 3 + rng.IntN(60)
		lost := int64(0)
		l := newLoop(t, cfg, attrs(), attrs())
		l.fate = func(_ int, p *packet.Packet) fate {
			lose := p.Kind == packet.Data && rng.IntN(odds) == 0
			if lose {
				lost++
			}
			return fate{lose: lose}
		}
		for i := range uint32(20) {
			l.post(0, WorkRequest{ID: i, Verb: Verb(i % 2), Bytes: units.Bytes(rng.Int64N(40_000))})
		}
		l.run(units.Second)
		c := l.qp[0].Counters()
		if len(l.cq[0].Entries) != 20 || c.Retransmitted != lost {
			t.Errorf("seed %d: %d completions, %d packets lost and %d sent again", seed, len(l.cq[0].Entries), lost, c.Retransmitted)
		}
	}
}

// TestGapsPack: what fits in the word of a selective NAK comes back as it was.
func TestGapsPack(t *testing.T) {
	for _, g := range []gaps{
		{latest: 1, n: 1, r: [nakRanges]span{{0, 1}}},
		{latest: MaxBitmap - 1, n: 4, r: [nakRanges]span{{0, 63}, {63 + 511, 63}, {700, 1}, {701, 63}}},
		{latest: 12, n: 3, r: [nakRanges]span{{0, 2}, {3, 1}, {11, 1}}},
	} {
		if got := unpack(g.pack()); got != g {
			t.Errorf("%+v came back as %+v", g, got)
		}
	}
	if g := unpack(0); g.n != 0 {
		t.Errorf("nothing is %+v", g)
	}
}

// TestGapsListed: the ranges of random bitmaps, across words, the bitmap's end
// and the PSN wrap, against counting packet by packet.
func TestGapsListed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		size := []int{64, 100, 512}[rng.IntN(3)]
		epsn := uint32(rng.IntN(1 << 24))
		if rng.IntN(4) == 0 {
			epsn = psnMask - 20
		}
		rx := newReorder(size)
		limit := uint32(1 + rng.IntN(size-1))
		rx.end = (epsn + limit + 1) & psnMask
		here := make([]bool, limit+1)
		dense := 1 + rng.IntN(60)
		for k := uint32(1); k <= limit; k++ {
			if k == limit || rng.IntN(dense) != 0 {
				rx.put(&packet.Packet{PSN: (epsn + k) & psnMask})
				here[k] = true
			}
		}
		var want []uint32 // missing, as far as four ranges of 63 go
		ranges, length := 0, 0
		for k := uint32(0); k <= limit; k++ {
			switch {
			case here[k]:
				length = 0
				continue
			case length == 0 || length == 63:
				ranges, length = ranges+1, 0
			}
			if ranges > nakRanges {
				break
			}
			length++
			want = append(want, k)
		}
		g := rx.gaps(epsn, limit)
		var got []uint32
		for _, r := range unpack(g.pack()).r {
			for k := range r.n {
				got = append(got, r.from+k)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("bitmap of %d, PSN %d, %v: listed %v, want %v", size, epsn, here, got, want)
		}
	}
}

// exchange is a requester and a responder whose packets go by hand, so that a
// transcript says what each does.
type exchange struct {
	t       *testing.T
	l       *loop
	answers []packet.Packet
}

// do carries out one line of a transcript and returns what came of it:
//
//	post N [send|wrong-key]  post a message of N bytes
//	send [lose PSN...]       send all that may be sent; ! marks the lost, r what was sent before
//	answer [lose N...]       hand the answers to the requester, without the N-th
//	timeout                  run the requester's timers when they are due
//	receive 1                post a receive at the responder
func (x *exchange) do(line string) string {
	f := strings.Fields(line)
	q := &x.l.qp[0]
	switch f[0] {
	case "post":
		r := WorkRequest{ID: uint32(q.tail)}
		fmt.Sscan(f[1], &r.Bytes)
		if f[len(f)-1] == "send" {
			r.Verb = Send
		}
		if f[len(f)-1] == "wrong-key" {
			r.RKey = rkey + 1
		}
		x.l.post(0, r)
	case "send":
		return x.send(f[1:])
	case "answer":
		return x.answer(f[1:])
	case "timeout":
		x.l.now = q.Deadline()
		at := x.l.now
		q.Expire(x.l.now)
		return fmt.Sprintf("at %d us", int64(at/us))
	case "receive":
		x.l.qp[1].PostReceive(1)
	}
	return ""
}

func (x *exchange) send(lose []string) string {
	var out []string
	for {
		var p packet.Packet
		reason, at := x.l.qp[0].Poll(x.l.now, &p)
		if reason == RateLimit {
			x.l.now = at
			continue
		}
		if reason != Sent {
			return strings.Join(append(out, "then "+reason.String()), " ")
		}
		name := fmt.Sprint(p.PSN)
		lost := slices.Contains(lose, name)
		if p.Flags&packet.Retrans != 0 {
			name += "r"
		}
		if lost {
			out = append(out, name+"!")
			continue
		}
		out = append(out, name)
		var r Replies
		x.l.qp[1].Receive(x.l.now, &p, &r)
		x.answers = append(x.answers, r.P[:r.N]...)
	}
}

func (x *exchange) answer(lose []string) string {
	var out []string
	for i, p := range x.answers {
		text := ""
		switch s := uint8(p.AETH >> 24); {
		case s == SynACK:
			text = fmt.Sprint("ACK ", p.PSN)
		case s == SynNAKSeq:
			text = fmt.Sprint("NAK ", p.PSN)
			g := unpack(uint64(p.Payload)<<32 | uint64(p.DMALen))
			for _, r := range g.r[:g.n] {
				text += fmt.Sprintf("[%d+%d]", p.PSN+r.from, r.n)
			}
		case s>>5 == SynRNR>>5:
			text = fmt.Sprint("RNR ", p.PSN)
		default:
			text = fmt.Sprintf("NAK %#x %d", s, p.PSN)
		}
		if slices.Contains(lose[min(1, len(lose)):], fmt.Sprint(i)) {
			out = append(out, text+"!")
			continue
		}
		x.l.qp[0].Receive(x.l.now, &p, new(Replies))
		out = append(out, text)
	}
	x.answers = x.answers[:0]
	for _, c := range x.l.cq[0].Entries {
		out = append(out, fmt.Sprintf("done %d %s", c.ID, c.Status))
	}
	x.l.cq[0].Clear()
	return strings.Join(out, ", ")
}

// TestSelectiveTranscripts: each line is done, then compared with what follows
// its arrow. MTU 1024.
func TestSelectiveTranscripts(t *testing.T) {
	for _, c := range selectiveTranscripts() {
		t.Run(c.name, func(t *testing.T) {
			cfg := mustPreset(t, c.preset)
			cfg.MTU = 1024
			if c.set != nil {
				c.set(&cfg)
			}
			b := attrs()
			if strings.Contains(c.text, "receive") {
				b.Receives = 0
			}
			x := &exchange{t: t, l: newLoop(t, cfg, attrs(), b)}
			for _, line := range strings.Split(strings.TrimSpace(c.text), "\n") {
				do, want, _ := strings.Cut(strings.TrimSpace(line), "->")
				if got := x.do(do); got != strings.TrimSpace(want) {
					t.Errorf("%s\n got %s\nwant %s", do, got, strings.TrimSpace(want))
				}
			}
		})
	}
}

type transcript struct {
	name, preset string
	set          func(*Config)
	text         string
}

func selectiveTranscripts() []transcript {
	small := func(c *Config) { c.Bitmap = 4 }
	every4 := func(c *Config) { c.AckEvery = 4 }
	return []transcript{
		{"one lost", "selective-repeat", nil, `
			post 5120
			send lose 1 -> 0 1! 2 3 4 then idle
			answer -> ACK 0, NAK 1[1+1], NAK 1[1+1], NAK 1[1+1]
			send -> 1r then idle
			answer -> ACK 4, done 0 success`},
		{"several lost, each sent again once", "selective-repeat", nil, `
			post 10240
			send lose 1 2 5 7 -> 0 1! 2! 3 4 5! 6 7! 8 9 then idle
			answer -> ACK 0, NAK 1[1+2], NAK 1[1+2], NAK 1[1+2][5+1], NAK 1[1+2][5+1][7+1], NAK 1[1+2][5+1][7+1]
			send -> 1r 2r 5r 7r then idle
			answer -> NAK 2[2+1][5+1][7+1], NAK 5[5+1][7+1], NAK 7[7+1], ACK 9, done 0 success`},
		{"a NAK is lost, the next says the same", "selective-repeat", nil, `
			post 4096
			send lose 1 -> 0 1! 2 3 then idle
			answer lose 1 -> ACK 0, NAK 1[1+1]!, NAK 1[1+1]
			send -> 1r then idle
			answer -> ACK 3, done 0 success`},
		{"acknowledged every fourth: a NAK per gap and where asked", "selective-repeat", every4, `
			post 8192
			send lose 1 4 -> 0 1! 2 3 4! 5 6 7 then idle
			answer -> NAK 1[1+1], NAK 1[1+1], NAK 1[1+1][4+1], NAK 1[1+1][4+1]
			send -> 1r 4r then idle
			answer -> NAK 4[4+1], ACK 7, done 0 success`},
		{"lost again: a newer packet tells", "selective-repeat", nil, `
			post 3072
			send lose 1 -> 0 1! 2 then idle
			answer -> ACK 0, NAK 1[1+1]
			send lose 1 -> 1r! then idle
			post 2048
			send -> 3 4 then idle
			answer -> NAK 1[1+1], NAK 1[1+1]
			send -> 1r then idle
			answer -> ACK 4, done 0 success, done 1 success`},
		{"lost again: another sent again later tells", "selective-repeat", nil, `
			post 5120
			send lose 1 3 -> 0 1! 2 3! 4 then idle
			answer -> ACK 0, NAK 1[1+1], NAK 1[1+1][3+1]
			send lose 1 -> 1r! 3r then idle
			answer -> NAK 1[1+1]
			send -> 1r then idle
			answer -> ACK 4, done 0 success`},
		{"lost again with IRN: only the timer tells", "irn", nil, `
			post 3072
			send lose 1 -> 0 1! 2 then idle
			answer -> ACK 0, NAK 1[1+1]
			send lose 1 -> 1r! then idle
			post 2048
			send -> 3 4 then idle
			answer -> NAK 1[1+1], NAK 1[1+1]
			send -> then idle
			timeout -> at 320 us
			send -> 1r then idle
			answer -> ACK 4, done 0 success, done 1 success`},
		{"the last two lost: the timer, then an ACK of the first", "selective-repeat", nil, `
			post 4096
			send lose 2 3 -> 0 1 2! 3! then idle
			answer -> ACK 0, ACK 1
			timeout -> at 67109 us
			send -> 2r then idle
			answer -> ACK 2
			send -> 3r then idle
			answer -> ACK 3, done 0 success`},
		{"IRN's short timer with three in flight, the long one with more", "irn", nil, `
			post 3072
			send lose 0 1 2 -> 0! 1! 2! then idle
			timeout -> at 100 us
			send -> 0r then idle
			answer -> ACK 0
			send -> 1r then idle
			answer -> ACK 1
			send -> 2r then idle
			answer -> ACK 2, done 0 success
			post 4096
			send lose 3 4 5 6 -> 3! 4! 5! 6! then idle
			timeout -> at 420 us
			send -> 3r then idle
			answer -> ACK 3`},
		{"a later message arrives first and completes second", "selective-repeat", nil, `
			post 2048
			post 1024
			send lose 1 -> 0 1! 2 then idle
			answer -> ACK 0, NAK 1[1+1]
			send -> 1r then idle
			answer -> ACK 2, done 0 success, done 1 success`},
		{"the bitmap bounds what is outstanding", "selective-repeat", small, `
			post 8192
			send lose 0 -> 0! 1 2 3 then window
			answer -> NAK 0[0+1], NAK 0[0+1], NAK 0[0+1]
			send -> 0r then window
			answer -> ACK 3
			send -> 4 5 6 7 then idle
			answer -> ACK 4, ACK 5, ACK 6, ACK 7, done 0 success`},
		{"a SEND without receive behind a gap", "selective-repeat", nil, `
			post 1024
			post 1024 send
			post 1024 send
			send lose 0 -> 0! 1 2 then idle
			answer -> NAK 0[0+1], NAK 0[0+1]
			send -> 0r then idle
			answer -> RNR 1, done 0 success
			receive 1
			receive 1
			timeout -> at 640 us
			send -> 1r then idle
			answer -> ACK 2, done 1 success, done 2 success`},
		{"a wrong key behind a gap counts when its turn comes", "selective-repeat", nil, `
			post 1024
			post 1024 wrong-key
			post 1024
			send lose 0 -> 0! 1 2 then idle
			answer -> NAK 0[0+1], NAK 0[0+1]
			send -> 0r then idle
			answer -> NAK 0x62 1, done 0 success, done 1 REM_ACCESS_ERR, done 2 WR_FLUSH_ERR`},
	}
}
