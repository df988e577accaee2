package nic_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// hosts of two, three and four on one switch, and two servers with eight GPUs.
const (
	star   = "name: card\nnoise: off\ntopology: {star: {hosts: %d, link: 100Gbps%s}}\n"
	server = "name: card\nnoise: off\nserver: dgx-h100\ntopology: {rail: {servers: 2, rails: 8, link: 400Gbps}}\n"
)

// What a card does with each kind of endpoint, memory behind it, and trouble: all messages end as they
// should, what was sent is what arrived, and nothing is left in the card.
func TestCards(t *testing.T) {
	t.Parallel()
	two, four := fmt.Sprintf(star, 2, ""), fmt.Sprintf(star, 4, "")
	lossy := fmt.Sprintf(star, 2, ", length: 5m, drop_every: 50")
	verbs := `workload:
  - flow: {from: h0, to: h1, size: 200KB, verb: write}
  - flow: {from: h0, to: h1, size: 200KB, verb: send, count: 3}
  - flow: {from: h0, to: h1, size: 200KB, verb: read, count: 3}
  - flow: {from: h0, to: h1, verb: fetch-add, count: 5}
  - flow: {from: h1, to: h0, size: 20B, verb: write, count: 5, inline: true}
`
	for name, text := range map[string]string{
		"verbs":            two + verbs,
		"infiniband":       two + "stack: infiniband\n" + verbs,
		"go-back-n":        lossy + "stack: rocev2-none\nnic: {timeout: 8}\n" + verbs,
		"selective repeat": lossy + "stack: rocev2-lossy\nnic: {timeout: 8}\n" + verbs,
		"irn":              lossy + "stack: rocev2-irn\nnic: {timeout: 8}\n" + verbs,
		"datagrams":        two + "workload:\n  - flow: {from: h0, to: h1, size: 4KB, service: ud, verb: send, count: 5}\n  - flow: {from: h0, to: h1, size: 40KB, service: uc, count: 5}\n",
		"no receives":      two + "workload:\n  - flow: {from: h0, to: h1, size: 4KB, verb: send, count: 4, receives: 2}\nnic: {rnr_retry: 2}\n",
		"wrong key":        two + "workload:\n  - flow: {from: h0, to: h1, size: 4KB, verb: read, rkey: wrong}\n",
		"incast":           four + "workload:\n  - incast: {to: h3, size: 400KB}\n",
		"drained":          four + "nic: {drain_rate: 50Gbps}\nworkload:\n  - incast: {to: h3, size: 400KB}\n",
		"caches":           two + "nic: {drain_rate: 90Gbps, mtt_cache: 4, qpc_cache: 2}\nworkload:\n  - flow: {from: h0, to: h1, size: 64KB, count: 4, region: 1MB, offset: random}\n",
		"faults":           four + "hosts: {h3: {faults: [{hang: {from: 10us, until: 30us}}, {slow: {from: 40us, until: 50us, rate: 20Gbps}}]}, h2: {faults: [{pauses: {from: 5us, until: 40us}}]}}\nworkload:\n  - incast: {to: h3, size: 400KB}\n",
		"card":             two + "nic: {preset: connectx-6}\n" + verbs,
		"calls":            two + "workload:\n  - rpc: {between: [h0, h1], size: 2KB, every: 5us, count: 5}\n",
		"tcp":              lossy + "stack: tcp\nhost: {preset: free}\nworkload:\n  - flow: {from: h0, to: h1, size: 400KB, count: 3}\n",
		"kernel":           four + "stack: dctcp\nworkload:\n  - incast: {to: h3, size: 400KB}\n  - rpc: {between: [h0, h1], size: 2KB, every: 50us, count: 3}\n",
		"triggers":         two + "triggers: {done: {kind: oneshot}}\nworkload:\n  - flow: {from: h0, to: h1, size: 8KB, recv_done: done}\n  - flow: {from: h1, to: h0, size: 8KB, trigger: done}\n",
		"gpudirect":        server + "workload:\n  - flow: {from: h0/gpu0, to: h1/gpu0, size: 1MB}\n  - flow: {from: h0/gpu1, to: h1/gpu1, size: 300KB, verb: read}\n  - flow: {from: h0/gpu2, to: h1/gpu2, verb: fetch-add, count: 2}\n",
		"staged":           server + "gpudirect: off\nworkload:\n  - flow: {from: h0/gpu0, to: h1/gpu0, size: 1MB}\n",
		"tcp in a server":  server + "stack: tcp\nworkload:\n  - flow: {from: h0/gpu0, to: h1/gpu0, size: 400KB}\n",
		"listed":           server + "workload:\n  - collective: {op: allreduce, size: 64KiB, records: messages}\n",
		"sums":             server + "workload:\n  - collective: {op: allreduce, size: 64KiB, records: sums}\n  - collective: {op: alltoall, size: 64KiB, records: sums}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := scenario.Parse("card.yaml", []byte(text), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			w, err := build.New(v, build.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r := run.Simulate(context.Background(), w, run.Options{Workers: 1})
			check(t, name, w, r)
		})
	}
}

// check holds a run against what the card must have done.
func check(t *testing.T, name string, w *build.World, r *record.Run) {
	t.Helper()
	want := map[string]string{"wrong key": "REM_ACCESS_ERR", "no receives": "RNR_RETRY_EXC_ERR"}[name]
	failed := 0
	for i := range r.Messages {
		switch m := &r.Messages[i]; {
		case m.Status == "success":
		case want != "" && (strings.Contains(m.Status, want) || strings.Contains(m.Status, "WR_FLUSH_ERR")):
			failed++
		default:
			t.Errorf("%s to %s: %s", m.Src, m.Dst, m.Status)
		}
	}
	if (failed > 0) != (want != "") || r.OpenMessages > 0 || r.Stopped != "quiescence" {
		t.Errorf("%d failed, %d open, ended by %s", failed, r.OpenMessages, r.Stopped)
	}
	for n, h := range w.Hosts {
		if h != nil && h.Held() > 0 {
			t.Errorf("%d frames are left in the card of node %d", h.Held(), n)
		}
	}
	var reader record.Reader
	for i := range r.Messages { // the stages of each add up to its time
		m, sum := &r.Messages[i], units.Time(0)
		for _, s := range reader.Append(nil, m.Account) {
			sum += s.Time
		}
		if m.Status == "success" && sum != m.CompletionPS {
			t.Errorf("%s to %s: %d ps of %d have a stage", m.Src, m.Dst, sum, m.CompletionPS)
		}
	}
}
