package run_test

import (
	"context"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
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
		n := ledgered(r, catalog.RNR)
		if n < 300 {
			t.Fatalf("%s: %d RNR NAKs", recovery, n)
		}
		f := &r.Messages[1]
		if got := stage(f, catalog.StageRNRWait); got != units.Time(n)*10*units.Microsecond {
			t.Errorf("%s: %d RNR NAKs and a wait of %d ps", recovery, n, got)
		}
		if await := stage(f, catalog.StageAwaitRNR); await%units.Time(n) != 0 || await/units.Time(n) > 3*units.Microsecond {
			t.Errorf("%s: %d RNR NAKs came after %d ps", recovery, n, await)
		}
		used := map[string]bool{}
		for i := range r.QPs {
			used[r.QPs[i].Host] = true
		}
		for _, h := range w.Hosts {
			if h != nil && used[h.Name] && len(h.Rewinds(0)) > 17 {
				t.Errorf("%s: %s keeps %d rewinds", recovery, h.Name, len(h.Rewinds(0)))
			}
		}
	}
}

// ledgered sums the acts of a mechanism.
func ledgered(r *record.Run, m catalog.Mechanism) (n int64) {
	for i := range r.Ledger {
		if r.Ledger[i].Mechanism == m {
			n += r.Ledger[i].Act.Count
		}
	}
	return n
}

// unready has more SENDs than their responder posts receives, with the default RNR NAK
// timer code 12, 640 us, and rnr_retry 7.
const unready = `
name: unready
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, link: 100Gbps}}

workload:
  - flow: {from: h0, to: h2, verb: send, size: 8KB, count: 3, receives: 1}
`

// TestTriesInVain: a requester that gets nothing but RNR NAKs goes on for ever (IBTA:
// RNR retry 7), but the run ends: 10 ms after the 16th in a row, or after the last
// other message ended, wherever the network is cut.
func TestTriesInVain(t *testing.T) {
	for _, c := range []struct{ name, more, why string }{
		{"alone", "", "h2 posts no more receives: message 1 (h0 -> h2; 1 behind it) retried for ever, rnr_retry 7"},
		{"another", "  - flow: {from: h1, to: h3, size: 8KB, start: 30ms}\n", "h2 posts no more receives: message 1 (h0 -> h2; 1 behind it) retried for ever, rnr_retry 7"},
		{"two", "  - flow: {from: h1, to: h2, verb: send, size: 1KB, receives: 0}\n  - flow: {from: h1, to: h3, verb: send, size: 1KB, receives: 0}\n",
			"h2 posts no more receives: message 1 (h0 -> h2; 1 behind it), message 3 (h1 -> h2) retried for ever, rnr_retry 7; h3 posts no more receives: message 4 (h1 -> h3) retried for ever, rnr_retry 7"},
	} {
		for _, recovery := range []string{"go-back-n", "selective-repeat"} {
			v := parse(t, unready+c.more, "nic.recovery="+recovery)
			r := simulate(t, v, 1, 1)
			since, last := units.Time(0), units.Time(0)
			for i := range r.QPs {
				since = max(since, r.QPs[i].RefusedPS)
			}
			for i := range r.Messages {
				if f := &r.Messages[i]; metrics.Completed(f) {
					last = max(last, f.StartPS+f.CompletionPS)
				}
			}
			// 15 waits of 640 us, and up to 16 round trips of less than 10 us.
			if fewest := 15 * 640 * units.Microsecond; since < fewest || since > fewest+160*units.Microsecond {
				t.Errorf("%s, %s: in vain since %d ps", c.name, recovery, since)
			}
			if want := max(since, last) + 10*units.Millisecond; r.Stopped != "stalled" || r.EndPS != want {
				t.Errorf("%s, %s: ended by %s at %d ps, want %d", c.name, recovery, r.Stopped, r.EndPS, want)
			}
			if why := metrics.WhyStalled(lang.English, r); why != c.why {
				t.Errorf("%s, %s: %s", c.name, recovery, why)
			}
			for _, parts := range []int{2, 3} {
				if bad := differ(t, r, simulate(t, v, parts, 2)); bad != "" {
					t.Errorf("%s, %s: %d partitions give another result: %s", c.name, recovery, parts, bad)
				}
			}
		}
	}
}

// TestNotInVain: who may still post a receive, or change what is retried, keeps the run
// going; so does a stop time, and retries that have an end.
func TestNotInVain(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"hosts.h2.repost=50ms", "hosts.h2.poll=1us"}, "quiescence"},
		{[]string{"nic.rnr_retry=6"}, "quiescence"},
		{[]string{"stop=12ms"}, "stop time"},
		{[]string{"workload[0].flow.receives=3"}, "quiescence"},
	} {
		if r := simulate(t, parse(t, unready, c.set...), 1, 1); r.Stopped != c.want {
			t.Errorf("%v: ended by %s at %d ps, want %s", c.set, r.Stopped, r.EndPS, c.want)
		}
	}
}
