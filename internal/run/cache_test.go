package run_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// misses sums what h1's card had to fetch.
func misses(r *record.Run) (contexts, translations int64, stalled units.Time) {
	for i := range r.QPs {
		if r.QPs[i].Host == "h1" {
			contexts += r.QPs[i].ContextMisses
			translations += r.QPs[i].TranslationMisses
		}
	}
	for i := range r.Ports {
		if r.Ports[i].Node == "h1" {
			stalled = max(stalled, r.Ports[i].Limits.StalledPS)
		}
	}
	return contexts, translations, stalled
}

// 2K translations of 4 KB pages reach 8 MB (Guo et al., SIGCOMM 2016, 5.4).
// Within that only first touches miss; of random pages of a region of W, 1 - 8
// MiB / W do. With pages of 2 MB, as there, the same region misses no more.
func TestTranslationCache(t *testing.T) {
	const n = 20000
	for _, c := range []struct {
		region, page string
		pages        float64 // of the region
		distinct     bool    // every page is missed once and no more
	}{
		{"4MiB", "4KB", 1024, true},
		{"8MiB", "4KB", 2048, true},
		{"16MiB", "4KB", 4096, false},
		{"32MiB", "4KB", 8192, false},
		{"32MiB", "2MB", 16, true},
	} {
		v := parse(t, fmt.Sprintf(`
name: mtt
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
hosts: {h1: {mtt_cache: 2048, page_size: %s}}
workload:
  - flow: {from: h0, to: h1, size: 4KiB, count: %d, region: %s, offset: random}
`, c.page, n, c.region))
		r := simulate(t, v, 1, 1)
		_, got, stalled := misses(r)
		want, tolerance := c.pages, 0.0
		if !c.distinct {
			// The first n draws from P pages: while the cache fills, a draw is new
			// with the chance that it is; then misses have probability 1 - C/P.
			p := c.pages
			fill := math.Log(1-2048/p) / math.Log(1-1/p) // draws until 2048 differ, on average
			miss := 1 - 2048/p
			want, tolerance = 2048+(n-fill)*miss, 4*math.Sqrt(n*miss*(1-miss))
		}
		if math.Abs(float64(got)-want) > tolerance {
			t.Errorf("region %s, pages of %s: %d misses, want %.0f +- %.0f", c.region, c.page, got, want, tolerance)
		}
		if stalled != units.Time(got)*547*units.Nanosecond {
			t.Errorf("region %s: the pipeline stalled for %d ps, want %d misses of 547 ns", c.region, stalled, got)
		}
	}
}

// With more queue pairs in turn than contexts, each frame misses; with as many,
// only the first of each does. The queue pair that is posted first sends two
// frames before the others come: its second hits, and as it is through a round
// early, so do the last frames of the others if they are 8.
func TestContextCache(t *testing.T) {
	for _, c := range []struct{ qps, misses int64 }{{8, 8}, {9, 9*50 - 1 - 8}, {10, 10*50 - 1}, {20, 20*50 - 1}} {
		v := parse(t, fmt.Sprintf(`
name: qpc
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
stack: rocev2-pfc-only
hosts: {h1: {qpc_cache: 8}}
workload:
  - flow: {from: h0, to: h1, size: 200KiB, qps: %d}
`, c.qps))
		r := simulate(t, v, 1, 1)
		if bad := differ(t, r, simulate(t, v, 2, 2)); bad != "" {
			t.Errorf("partitions matter: %s", bad)
		}
		if got, _, _ := misses(r); got != c.misses {
			t.Errorf("%d queue pairs: %d contexts missed, want %d", c.qps, got, c.misses)
		}
	}
}

// A sender that reads a new page for each packet waits for its translation and
// then for the packet's own time: 4096 of 547 ns and 334.24 ns (4178 B at 100
// Gb/s; the first with 16 B of RETH more). Pages of 2 MB are 8, and payload in
// the work request needs none.
func TestSenderFetches(t *testing.T) {
	const wait = 547 * units.Nanosecond
	for _, c := range []struct {
		page, flow string
		misses     units.Time // of translations
		packets    units.Time
	}{
		{"4KB", "size: 16MiB", 4096, 4096},
		{"2MB", "size: 16MiB", 8, 4096},
		{"4KB", "size: 100B, inline: true", 0, 1},
	} {
		v := parse(t, `
name: sender
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
stack: rocev2-pfc-only
hosts: {h0: {mtt_cache: 64, page_size: `+c.page+`}}
workload:
  - flow: {from: h0, to: h1, `+c.flow+`}
`)
		r := simulate(t, v, 1, 1)
		if bad := differ(t, r, simulate(t, v, 2, 2)); bad != "" {
			t.Errorf("partitions matter: %s", bad)
		}
		got := units.Time(0)
		for _, s := range r.Messages[0].Account.Stages() {
			if s.Stage == catalog.StageFetch {
				got += s.Time
			}
		}
		if got != c.misses*wait {
			t.Errorf("%s, pages of %s: %d ps of cache misses, want %d of %d", c.flow, c.page, got, c.misses, wait)
		}
		if c.packets == 1 {
			continue
		}
		want := c.misses*wait + c.packets*4178*80 + 16*80
		if took := r.Messages[0].CompletionPS; took < want || took > want+6*units.Microsecond {
			t.Errorf("pages of %s: %d ps, want %d and a round trip", c.page, took, want)
		}
	}
}

// With more queue pairs in turn than contexts a sender waits for one with each
// packet; the account adds up (TestAccountsTile draws caches too).
func TestSenderContexts(t *testing.T) {
	v := parse(t, `
name: contexts
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
stack: rocev2-pfc-only
hosts: {h0: {qpc_cache: 4, cache_miss: 10us}}
workload:
  - flow: {from: h0, to: h1, size: 20KiB, qps: 16}
`)
	r := simulate(t, v, 1, 1)
	for i := range r.Messages {
		f := &r.Messages[i]
		fetch := units.Time(0)
		for _, s := range f.Account.Stages() {
			if s.Stage == catalog.StageFetch {
				fetch += s.Time
			}
		}
		// Five packets, whose context an ACK may have brought back just before.
		if n := fetch / (10 * units.Microsecond); f.CompletionPS < fetch || fetch%(10*units.Microsecond) != 0 || n < 2 || n > 5 {
			t.Errorf("message %d waits %d ps for its context, %d ps in all", i, fetch, f.CompletionPS)
		}
	}
}

// A pipeline that fetches a translation for every frame takes one frame per
// frame's own time and the fetch, and the switch is paused meanwhile; with pages
// of 2 MB nothing is paused. (The paper's remedy; it gives no rates.)
func TestSlowReceiverByTranslations(t *testing.T) {
	text := `
name: slow
topology: {star: {hosts: 2, link: {rate: 40Gbps, delay: 1us}}}
stack: rocev2-pfc-only
hosts: {h1: {mtt_cache: 2048, page_size: PAGE}}
workload:
  - flow: {from: h0, to: h1, size: 16MiB, region: 16MiB}
`
	for _, page := range []string{"4KB", "2MB"} {
		r := simulate(t, parse(t, strings.Replace(text, "PAGE", page, 1)), 1, 1)
		_, got, _ := misses(r)
		xoffs := int64(0)
		for i := range r.Ports {
			if r.Ports[i].Node == "h1" {
				xoffs += r.Ports[i].PausesSent
			}
		}
		if page == "2MB" {
			if got != 8 || xoffs != 0 {
				t.Errorf("2 MB pages: %d misses and %d pauses, want 8 and none", got, xoffs)
			}
			continue
		}
		if got != 4096 || xoffs == 0 {
			t.Errorf("4 KB pages: %d misses and %d pauses, want 4096 and some", got, xoffs)
		}
		// 4096 frames of 4158 B at 40 Gb/s, 831.6 ns, and 547 ns each; the first with
		// 16 B of RETH. Before it the first frame's way, after it the last ACK's.
		want := 4096 * (4158*200 + 547000) * units.Picosecond
		if took := r.Messages[0].CompletionPS; took < want || took > want+10*units.Microsecond {
			t.Errorf("16 MiB take %d ps, want %d and a round trip", took, want)
		}
	}
}

// What a port sends while a queue pair fetches is no part of what that one waits
// for afterwards: an ACK goes out during the fetch, and at its end another queue
// pair's packet is on the wire.
func TestWaitAfterFetch(t *testing.T) {
	r := simulate(t, parse(t, `
name: after
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
stack: rocev2-pfc-only
nic: {max_inline: 1KB}
hosts: {h0: {mtt_cache: 8, page_size: 4KB, cache_miss: 10us}}
workload:
  - flow: {from: h0, to: h1, size: 4KiB, region: 1MB, offset: 1KB}
  - flow: {from: h1, to: h0, size: 100B}
  - flow: {from: h0, to: h1, size: 1000B, inline: true, start: 19990ns}
`), 1, 1)
	stages := map[catalog.Stage]units.Time{}
	for _, s := range r.Messages[0].Account.Stages() {
		stages[s.Stage] += s.Time
	}
	other := 1098*80 - 10*units.Nanosecond // 1,000 B of payload and RETH, headers, preamble and gap
	if got := stages[catalog.StageFetch]; got != 20*units.Microsecond {
		t.Errorf("%d ps of cache misses, want 20 us, for two pages", got)
	}
	if stages[catalog.StageControl] != 0 || stages[catalog.StageOther] != other {
		t.Errorf("after the fetch %d ps behind control frames and %d behind other traffic, want 0 and %d",
			stages[catalog.StageControl], stages[catalog.StageOther], other)
	}
}

// A READ's payload is translated where it comes from and where it goes: the first
// of two READs of 1 MiB misses each of 256 pages of 4 KiB once at either end, the
// second as many again with room for 8, and none with room for all.
func TestReadTranslations(t *testing.T) {
	for _, c := range []struct{ room, misses int64 }{{8, 512}, {256, 256}} {
		for _, recovery := range []string{"go-back-n", "selective-repeat"} {
			r := simulate(t, parse(t, fmt.Sprintf(`
name: reads
topology: {star: {hosts: 2, link: {rate: 100Gbps, delay: 1us}}}
nic: {mtt_cache: %d, recovery: %s}
workload:
  - flow: {from: h0, to: h1, verb: read, size: 1MiB, count: 2}
`, c.room, recovery)), 1, 1)
			for i := range r.QPs {
				if q := &r.QPs[i]; q.TranslationMisses != c.misses {
					t.Errorf("room for %d, %s: %d misses at %s, want %d", c.room, recovery, q.TranslationMisses, q.Host, c.misses)
				}
			}
			// Each of the responder's fetches holds one response back.
			if took := r.Messages[1].CompletionPS; took < units.Time(c.misses)*547*units.Nanosecond {
				t.Errorf("room for %d, %s: %v", c.room, recovery, took)
			}
		}
	}
}

// Where misses of the receiver's card cost more than its data, they are named, not
// the rate at which the host takes data.
func TestMissesAreNamed(t *testing.T) {
	for _, set := range []struct {
		key, want, not string
	}{
		{"nic.mtt_cache=1", "NIC caches of h1", "drained at"},
		{"hosts.h1.drain_rate=1Gbps", "receive buffer of h1", "caches"},
	} {
		r := simulate(t, parse(t, `
name: named
topology: {star: {hosts: 2, link: 100Gbps}}
workload:
  - flow: {from: h0, to: h1, size: 100B, count: 4, inline: true, region: 64MB, offset: random}
`, set.key), 1, 1)
		d := metrics.DominantStage(r, 3)
		if d.Where != set.want || strings.Contains(d.How, set.not) {
			t.Errorf("%s: %s: %s", set.key, d.Where, d.How)
		}
	}
}
