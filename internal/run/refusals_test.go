package run_test

import (
	"context"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// TestManyRefusals: a responder posts its next receive 5 ms late, while each RNR NAK
// asks for 10 us (timer code 1, models.md 4.3). The second message waits out 10 us per
// RNR NAK, and for each of those the same time from its start to the NAK; of the
// hundreds of rewinds a few are kept.
func TestManyRefusals(t *testing.T) {
	const text = `
name: refused
stack: rocev2-pfc-only
topology: {star: {hosts: 2, link: 100Gbps}}
hosts: {h1: {repost: 5ms, poll: 1us}}
nic: {min_rnr_timer: 1}
workload:
  - flow: {from: h0, to: h1, verb: send, size: 4KB, count: 2, receives: 1}
`
	for _, recovery := range []string{"go-back-n", "selective-repeat"} {
		w, err := build.New(parse(t, text, "nic.recovery="+recovery), build.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := run.Simulate(context.Background(), w, run.Options{Workers: 1})
		n := ledgered(r, record.RNR)
		if n < 300 {
			t.Fatalf("%s: %d RNR NAKs", recovery, n)
		}
		f := &r.Flows[1]
		if got := stage(f, record.StageRNRWait); got != units.Time(n)*10*units.Microsecond {
			t.Errorf("%s: %d RNR NAKs and a wait of %d ps", recovery, n, got)
		}
		if await := stage(f, record.StageAwaitRNR); await%units.Time(n) != 0 || await/units.Time(n) > 3*units.Microsecond {
			t.Errorf("%s: %d RNR NAKs came after %d ps", recovery, n, await)
		}
		for _, h := range w.Hosts {
			if h != nil && len(h.QPs(r.EndPS)) > 0 && len(h.Rewinds(0)) > 17 {
				t.Errorf("%s: %s keeps %d rewinds", recovery, h.Name, len(h.Rewinds(0)))
			}
		}
	}
}

// ledgered sums the acts of a mechanism.
func ledgered(r *record.Run, m record.Mechanism) (n int64) {
	for i := range r.Ledger {
		if r.Ledger[i].Mechanism == m {
			n += r.Ledger[i].Act.Count
		}
	}
	return n
}
