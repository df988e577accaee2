package run_test

import (
	"testing"

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
	waited := func(f *record.Flow) (d units.Time) {
		for _, s := range f.Account {
			if s.Name == record.StageCPU {
				d += s.Time
				if s.Where != record.NodeOf(f.Src) {
					t.Errorf("%s waits for the CPU of %s", f.Src, s.Where)
				}
			}
		}
		return d
	}
	n := units.Time(0)
	for i := range r.Flows {
		f := &r.Flows[i]
		want := post // of h1, which has nothing else to do
		if f.Src == "h0" {
			n++
			want = n * post
		}
		if got := waited(f); got != want {
			t.Errorf("message %d of %s waits %d ps for the CPU, want %d", i, f.Src, got, want)
		}
		if waited(&free.Flows[i]) != 0 {
			t.Errorf("message %d waits for a CPU that takes no time", i)
		}
	}
	if n < 4 {
		t.Fatalf("%d messages of h0", n)
	}
	// What a completion starts, starts when it has been polled.
	first, second := &r.Flows[len(r.Flows)-2], &r.Flows[len(r.Flows)-1]
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
