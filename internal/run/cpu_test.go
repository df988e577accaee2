package run_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// The application is one thread: of n messages that fall due at once the k-th is
// posted after k posts, and completions that come meanwhile wait for it.
func TestHostCPU(t *testing.T) {
	const post, poll = 300 * units.Nanosecond, 200 * units.Nanosecond
	v := parse(t, `
name: cpu
topology: {star: {hosts: 3, link: {rate: 100Gbps, delay: 1us}}}
triggers: {next: {kind: oneshot}}
workload:
  - incast: {from: [h0], to: h1, size: 1KB, qps: 4, count: 4}
  - flow: {from: h1, to: h2, size: 1KB, send_done: next}
  - flow: {from: h1, to: h0, size: 1KB, trigger: next}
`)
	free := simulate(t, v, 1, 1)
	for i := range v.NICs {
		v.NICs[i].Host.Post, v.NICs[i].Host.Poll = post, poll
	}
	r := simulate(t, v, 1, 1)
	if bad := differ(t, r, simulate(t, v, 2, 2)); bad != "" {
		t.Errorf("partitions matter: %s", bad)
	}
	waited := func(f *record.Message) (d units.Time) {
		for _, s := range f.Account.Stages() {
			if s.Stage == catalog.StageCPU {
				d += s.Time
				if s.Place().String() != record.NodeOf(f.Src) {
					t.Errorf("%s waits for the CPU of %s", f.Src, s.Place().String())
				}
			}
		}
		return d
	}
	n := units.Time(0)
	for i := range r.Messages {
		f := &r.Messages[i]
		want := post // of h1, which has nothing else to do
		if f.Src == "h0" {
			n++
			want = n * post
		}
		if got := waited(f); got != want {
			t.Errorf("message %d of %s waits %d ps for the CPU, want %d", i, f.Src, got, want)
		}
		if waited(&free.Messages[i]) != 0 {
			t.Errorf("message %d waits for a CPU that takes no time", i)
		}
	}
	if n < 4 {
		t.Fatalf("%d messages of h0", n)
	}
	// What a completion starts, starts when it has been polled.
	first, second := &r.Messages[len(r.Messages)-2], &r.Messages[len(r.Messages)-1]
	if got, want := second.StartPS, first.StartPS+first.CompletionPS+poll; got != want {
		t.Errorf("the triggered message is due at %d ps, want %d", got, want)
	}
	for i := range r.QPs {
		q := &r.QPs[i]
		if q.Posts != q.Polls || q.CPUPS != units.Time(q.Posts)*(post+poll) {
			t.Errorf("%s qp %d: %d posts, %d polls, %d ps", q.Host, q.QP, q.Posts, q.Polls, q.CPUPS)
		}
	}
}

// SENDs, and WRITEs with immediate data, need the responder's application: with
// one receive posted and a time of repost to post the next, messages are taken that
// far apart at least, and at most an RNR timer and its round trip further. WRITE,
// READ and atomics run as if the application did nothing.
func TestBusyReceiver(t *testing.T) {
	const repost, timer, messages = 100 * units.Microsecond, 10 * units.Microsecond, 8
	for _, c := range []struct {
		verb   string
		remote bool
	}{{"write", false}, {"read", false}, {"cas", false}, {"send", true}, {"write-imm", true}, {"send-imm", true}, {"send-inv", true}} {
		t.Run(c.verb, func(t *testing.T) {
			size, receives := "size: 4KB, ", ""
			if c.verb == "cas" {
				size = ""
			}
			if c.remote {
				receives = ", receives: 1"
			}
			text := fmt.Sprintf(`
name: busy
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
nic: {min_rnr_timer: 1, max_rd_atomic: 16}
workload:
  - flow: {from: h0, to: h1, %scount: %d, verb: %s%s}
`, size, messages, c.verb, receives)
			v := parse(t, text)
			for i := range v.NICs {
				v.NICs[i].Host.Repost, v.NICs[i].Host.Reposts = repost, true
			}
			r := simulate(t, v, 1, 1)
			if bad := differ(t, r, simulate(t, v, 2, 2)); bad != "" {
				t.Errorf("partitions matter: %s", bad)
			}
			took := r.Messages[messages-1].StartPS + r.Messages[messages-1].CompletionPS
			var remote record.QP
			for _, q := range r.QPs {
				if q.Posts == 0 {
					remote = q
				}
			}
			if !c.remote {
				free := parse(t, text)
				if plain := simulate(t, free, 1, 1); plain.Fingerprint != r.Fingerprint {
					t.Error("the application slows a verb that does not need it")
				}
				if remote.Receives+remote.Reposts != 0 || remote.CPUPS != 0 {
					t.Errorf("the responder's application polled %d and posted %d", remote.Receives, remote.Reposts)
				}
				return
			}
			if remote.Receives != messages || remote.Reposts != messages || remote.CPUPS != messages*repost {
				t.Errorf("the responder's application polled %d, posted %d, in %d ps", remote.Receives, remote.Reposts, remote.CPUPS)
			}
			least := (messages - 1) * repost
			if most := least + (messages-1)*(timer+5*units.Microsecond) + 6*units.Microsecond; took < least || took > most {
				t.Errorf("%d messages take %d ps, want %d to %d", messages, took, least, most)
			}
			for i := range r.Messages[1:] {
				rnr := false
				for _, s := range r.Messages[i+1].Account.Stages() {
					rnr = rnr || s.Stage == catalog.StageRNRWait
				}
				if !rnr {
					t.Errorf("message %d did not wait for a receive", i+1)
				}
			}
		})
	}
}
