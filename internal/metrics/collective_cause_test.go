package metrics_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/run"
)

// TestCollectiveCause: a host that takes data slowly holds a ring up, by the part of its time by
// which it takes longer than on hosts that keep up; without one nothing does.
func TestCollectiveCause(t *testing.T) {
	const text = "noise: off\nstack: rocev2-pfc-only\ntopology: {star: {hosts: 4, link: 100Gbps}}\n%hosts%workload:\n" +
		"  - collective: {name: ring, op: allgather, ranks: hosts, size: 4MB}\n"
	of := func(hosts string) (metrics.HeldUp, bool, metrics.Collective) {
		r, _, err := run.Do(context.Background(), run.Options{Scenario: "ring", Text: []byte(strings.Replace(text, "%hosts%", hosts, 1)), Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		held, ok := metrics.CollectiveCause(lang.English, r, 0)
		return held, ok, metrics.Collectives(r)[0]
	}
	slow, ok, x := of("hosts: {h2: {drain_rate: 20Gbps, rx_buffer: 200KB}}\n")
	if !ok || slow.Cause.Kind != catalog.CauseReceiver || slow.Cause.Place.Node != "h2" {
		t.Errorf("held up by %v at %v, want the receiver h2", slow.Cause.Kind, slow.Cause.Place)
	}
	plain, ok, y := of("")
	if ok {
		t.Errorf("a ring of equal hosts is held up by %v: %s", plain.Cause.Kind, plain.How)
	}
	if excess := 1000 - 1000*int64(y.TimePS)/int64(x.TimePS); slow.Cause.Milli < excess/2 {
		t.Errorf("a share of %d thousandths, where %d of the time are more than without it", slow.Cause.Milli, excess)
	}
}
