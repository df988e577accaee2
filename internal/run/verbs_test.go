package run_test

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// Mistakes that a program can make end as the InfiniBand specification says: the
// responder's NAK (IBTA 9.7.4.1, 9.7.5.2.8; models.md 4.4: an unaligned atomic
// and a right that the queue pair lacks 0x61, a key or bounds 0x62) and the
// completion status that the requester makes of it.
func TestMistakesOfVerbs(t *testing.T) {
	for _, c := range []struct{ options, status string }{
		{"verb: cas", "success"},
		{"verb: cas, offset: 8B", "success"},
		{"verb: cas, offset: 4B", "REM_INV_REQ_ERR"},
		{"verb: fetch-add, offset: 1B", "REM_INV_REQ_ERR"},
		{"verb: fetch-add, region: 16B, offset: 8B", "success"},
		{"verb: fetch-add, region: 16B, offset: 16B", "REM_ACCESS_ERR"},
		{"verb: cas, remote_access: [write, read]", "REM_INV_REQ_ERR"},
		{"verb: cas, rkey: wrong", "REM_ACCESS_ERR"},
		{"verb: read, size: 64KB", "success"},
		{"verb: read, size: 64KB, region: 64KB", "success"},
		{"verb: read, size: 64KB, region: 64KB, offset: 1B", "REM_ACCESS_ERR"},
		{"verb: read, size: 64KB, rkey: wrong", "REM_ACCESS_ERR"},
		{"verb: read, size: 64KB, remote_access: [write, atomic]", "REM_INV_REQ_ERR"},
		{"verb: read, size: 64KB, remote_access: read", "success"},
		{"verb: write, size: 64KB, region: 65KB, offset: 2KB", "REM_ACCESS_ERR"},
		{"verb: write, size: 64KB, remote_access: none", "REM_INV_REQ_ERR"},
		{"verb: write-imm, size: 64KB, remote_access: [read]", "REM_INV_REQ_ERR"},
		{"verb: write-imm, size: 64KB, receives: 1", "success"},
		{"verb: write-imm, size: 64KB, receives: none", "RNR_RETRY_EXC_ERR"},
		{"verb: send, size: 64KB, receives: none", "RNR_RETRY_EXC_ERR"},
		{"verb: send-imm, size: 64KB, receives: 1", "success"},
		{"verb: send, size: 64KB, receives: 1, receive_size: 64KB", "success"},
		{"verb: send, size: 64KB, receives: 1, receive_size: 63KB", "REM_INV_REQ_ERR"}, // IBTA 9.9.3, class C
		{"verb: write-imm, size: 64KB, receives: 1, receive_size: 1B", "success"},      // its data go elsewhere
		{"verb: send, size: 64KB, srq: 1", "success"},
		{"verb: send, size: 64KB, srq: 1, count: 2", "success"}, // the first; see TestSharedReceives
		{"verb: send-inv, size: 64KB, receives: 1", "success"},
		{"verb: send-inv, size: 64KB, receives: none", "RNR_RETRY_EXC_ERR"},
		{"verb: send, size: 64KB, rkey: wrong, remote_access: none", "success"}, // it names no memory
	} {
		v := parse(t, `
name: mistakes
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
nic: {rnr_retry: 1, min_rnr_timer: 1}
workload:
  - flow: {from: h0, to: h1, `+c.options+`}
`)
		r := simulate(t, v, 1, 1)
		f := &r.Messages[0]
		if f.Status != c.status {
			t.Errorf("%s: %s, want %s", c.options, f.Status, c.status)
		}
		if f.Status == "success" || strings.HasPrefix(f.Status, "RNR") {
			continue
		}
		for _, q := range r.QPs { // either side of the connection is in error
			if q.State != "ERR" {
				t.Errorf("%s: %s qp %d is in %s after %s", c.options, q.Host, q.QP, q.State, f.Status)
			}
		}
	}
}

// A shared receive queue of n receives takes n messages, whichever queue pairs
// they come by, and as many as there are if the application posts them anew;
// each host has its own.
func TestSharedReceives(t *testing.T) {
	for _, c := range []struct {
		options, host string
		done          int
	}{
		{"srq: 5", "", 2 * 5},
		{"srq: 12", "", 2 * 12},
		{"receives: 2", "", 8 * 2},
		{"srq: 1", "host: {repost: 1us}", 2 * 12},
	} {
		v := parse(t, `
name: srq
topology: {star: {hosts: 6, link: {rate: 100Gbps, delay: 1us}}}
nic: {rnr_retry: 6, min_rnr_timer: 1}
`+c.host+`
workload:
  - flows: {verb: send, count: 3, size: 64KB, `+c.options+`, list: [
      {from: h0, to: h4}, {from: h1, to: h4}, {from: h2, to: h4}, {from: h3, to: h4},
      {from: h0, to: h5}, {from: h1, to: h5}, {from: h2, to: h5}, {from: h3, to: h5}]}
`)
		r := simulate(t, v, 1, 1)
		if bad := differ(t, r, simulate(t, v, 2, 2)); bad != "" {
			t.Errorf("%s %s: partitions matter: %s", c.options, c.host, bad)
		}
		done := 0
		for i := range r.Messages {
			if r.Messages[i].Status == "success" {
				done++
			}
		}
		if done != c.done {
			t.Errorf("%s %s: %d messages arrive, want %d", c.options, c.host, done, c.done)
		}
	}
}

// The receiver of a READ posts it; that of a WRITE has nothing to do.
func TestWhoPosts(t *testing.T) {
	for _, c := range []struct{ verb, poster string }{{"write", "h0"}, {"send", "h0"}, {"read", "h1"}} {
		v := parse(t, `
name: who
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
workload:
  - incast: {from: [h0], to: h1, size: 1MB, count: 3, verb: `+c.verb+`}
`)
		r := simulate(t, v, 1, 1)
		for _, q := range r.QPs {
			want := int64(0)
			if q.Host == c.poster {
				want = 3
			}
			if q.Posts != want || q.Polls != want {
				t.Errorf("%s: %s has %d posts and %d polls, want %d", c.verb, q.Host, q.Posts, q.Polls, want)
			}
		}
		for _, p := range r.Ports {
			if p.Node != "h0" && p.Node != "h1" || p.Class != 3 {
				continue
			}
			if sent := p.TxBytes; (sent > 3e6) != (p.Node == "h0") {
				t.Errorf("%s: %s sends %d B; the data go from h0 to h1", c.verb, p.Node, sent)
			}
		}
	}
}

// A SEND with invalidate whose R_Key its responder cannot take back is responder
// class J (IBTA 9.9.3; docs/models/rc.md): the message is acknowledged, its receive
// fails and the responder is in error, so that nobody answers the next one.
func TestWrongKeyToInvalidate(t *testing.T) {
	for _, key := range []string{"right", "wrong"} {
		v := parse(t, `
name: invalidate
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
nic: {retry: 1, timeout: 1}
carry_data: true
workload:
  - flow: {from: h0, to: h1, verb: send-inv, size: 64KB, count: 3, every: 100us, rkey: `+key+`}
`)
		if len(v.Warnings) > 0 {
			t.Errorf("%s: %q", key, v.Warnings)
		}
		r := simulate(t, v, 1, 1)
		want, polled, state := []string{"success", "success", "success"}, int64(3), "RTS"
		if key == "wrong" {
			want, polled, state = []string{"success", "RETRY_EXC_ERR", "WR_FLUSH_ERR"}, 0, "ERR"
		}
		for i := range r.Messages {
			if got := r.Messages[i].Status; got != want[i] {
				t.Errorf("%s: message %d ends in %s, want %s", key, i, got, want[i])
			}
		}
		for i := range r.QPs {
			if q := &r.QPs[i]; q.Host == "h1" && (q.State != state || q.Receives != polled) {
				t.Errorf("%s: the responder is in %s with %d receives, want %s with %d", key, q.State, q.Receives, state, polled)
			}
		}
		if r.Data.Differ != 0 {
			t.Errorf("%s: %+v", key, r.Data)
		}
	}
}

// A message may have no bytes (IBTA 9.7.1): one packet without payload. It takes as
// long as one of 1 B, which is padded to four (IBTA 9.2), less what those take at 80 ps
// each: on two links with RC, on the first with UC and UD, which complete there. A
// SEND's 62 B are 64 at least, so that two bytes remain. Nothing differs.
func TestMessagesWithoutBytes(t *testing.T) {
	t.Parallel()
	const text = `
name: empty
topology: {star: {hosts: 3, link: {rate: 100Gbps, delay: 1us}}}
carry_data: true
workload:
  - flow: {from: h0, to: h1, OPTIONS}
`
	for _, c := range []struct {
		options string
		less    units.Time // than with 1 B
	}{
		{"verb: write", 640}, {"verb: write-imm", 640}, {"verb: send", 320}, {"verb: send-imm", 640},
		{"verb: send-inv", 640}, {"verb: read", 640},
		{"service: uc, verb: write", 320}, {"service: uc, verb: write-imm", 320}, {"service: uc, verb: send", 160},
		{"service: ud, verb: send", 320}, {"service: ud, verb: send-imm", 320},
	} {
		for _, stack := range []string{"rocev2", "rocev2-lossy", "rocev2-irn", "infiniband"} {
			v := parse(t, strings.Replace(text, "OPTIONS", c.options+", size: 0B", 1), "stack="+stack)
			r := simulate(t, v, 1, 1)
			if bad := differ(t, r, simulate(t, v, 2, 2)); bad != "" {
				t.Errorf("%s %s: partitions matter: %s", stack, c.options, bad)
			}
			one := simulate(t, parse(t, strings.Replace(text, "OPTIONS", c.options+", size: 1B", 1), "stack="+stack), 1, 1)
			f, g := &r.Messages[0], &one.Messages[0]
			if f.Status != "success" || metrics.Lost(f) || r.Data.Differ != 0 || r.Stopped != "quiescence" {
				t.Errorf("%s %s: %s, delivered %v, %+v", stack, c.options, f.Status, f.DeliveredPS, r.Data)
			}
			if less := g.CompletionPS - f.CompletionPS; stack != "infiniband" && less != c.less {
				t.Errorf("%s %s: %v less than with 1 B, want %v", stack, c.options, less, c.less)
			}
			if metrics.CeilingOf(r, 0) != nil || metrics.Goodput(f) != 0 {
				t.Errorf("%s %s: a rate of no payload", stack, c.options)
			}
			cached := simulate(t, parse(t, strings.Replace(text, "OPTIONS", c.options+", size: 0B", 1), "stack="+stack, "nic.mtt_cache=8"), 1, 1)
			for i := range cached.QPs {
				if q := &cached.QPs[i]; q.TranslationMisses != 0 {
					t.Errorf("%s %s: %d pages translated for nothing", stack, c.options, q.TranslationMisses)
				}
			}
		}
	}
}

// The end of a message without bytes at its responder starts what waits for it.
func TestTriggerByMessageWithoutBytes(t *testing.T) {
	r := simulate(t, parse(t, `
name: doorbell
topology: {star: {hosts: 3, link: {rate: 100Gbps, delay: 1us}}}
triggers: {rung: {kind: oneshot}}
workload:
  - flow: {from: h0, to: h1, verb: write-imm, size: 0B, start: 5us, recv_done: rung}
  - flow: {from: h1, to: h2, size: 1KB, trigger: rung}
`), 1, 1)
	for i := range r.Messages {
		f := &r.Messages[i]
		if f.Status != "success" || f.Src == "h1" && (f.StartPS < 7*units.Microsecond || f.StartPS > 8*units.Microsecond) {
			t.Errorf("%s: %s, started at %v; the doorbell takes two cables of 1 us", f.Src, f.Status, f.StartPS)
		}
	}
}
