package nic

import (
	"testing"

	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
)

// TestFetchedIsUsedOnce: a queue pair waits for its context, and whatever came into
// the cache meanwhile it then sends one packet; for the next it looks again. With one
// context for two queue pairs each throws the other's out.
func TestFetchedIsUsedOnce(t *testing.T) {
	const miss = 500 * units.Nanosecond
	h := New(Spec{QPs: []QPSpec{{QPKind: new(QPKind)}, {QPKind: new(QPKind)}}, Cache: CacheSpec{Contexts: 1, PageSize: 4096, Miss: miss}})
	for q := range h.qps {
		h.used(uint32(q)).qp = new(rdma.QP)
		h.qps[q].qp.Connect(&rdma.Setup{Config: &rdma.Config{MTU: 4096}, Line: units.Gbps}, 0)
	}
	for k, x := range []struct {
		qp   uint32
		want units.Time
	}{
		{0, miss}, {1, miss}, // both wait
		{0, 0}, {1, 0}, // both send, though only one context is there
		{0, miss}, {0, 0}, // alone: fetched, used,
		{0, 0}, {0, 0}, // and there from then on
		{1, miss}, {1, 0}, {0, miss},
	} {
		if got := h.fetch(0, x.qp); got != x.want {
			t.Fatalf("look %d, of queue pair %d: it waits for %v, want %v", k, x.qp, got, x.want)
		}
	}
	if a, b := h.qps[0].contextMisses, h.qps[1].contextMisses; a != 3 || b != 2 {
		t.Errorf("%d and %d misses, want 3 and 2", a, b)
	}
}
