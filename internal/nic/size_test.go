package nic

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
)

// TestMemoryOfQueuePairs: of n queue pairs of a host each takes at most 1 KB, its
// description included, before it is used, and 3 KB with eight messages queued.
func TestMemoryOfQueuePairs(t *testing.T) {
	const n, queued = 20000, 8
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	kind := &QPKind{Setup: rdma.Setup{Config: &rdma.Config{MTU: 4096}, Line: 100 * units.Gbps, Attrs: rdma.Attrs{Receives: -1}}}
	before := heap()
	specs := make([]QPSpec, n)
	for i := range specs {
		specs[i] = QPSpec{QPKind: kind, PeerHost: "h1", PeerQP: uint32(i)}
	}
	h := New(Spec{QPs: specs, Ports: make([]fabric.PortParams, 1)})
	h.accounts, h.messages = make([]Noted, queued), make([]Message, queued)
	idle := heap()
	for q := range uint32(n) {
		s := h.qp(0, q)
		for id := range uint32(queued) {
			h.posted(0, s, id, rdma.Write)
			if err := s.qp.Post(0, rdma.WorkRequest{ID: id, Bytes: 4096}); err != nil {
				t.Fatal(err)
			}
		}
	}
	busy := heap()
	t.Logf("%d B before use, %d B with %d messages queued; slot %d B, description %d B, life %d B", (idle-before)/n, (busy-before)/n, queued,
		unsafe.Sizeof(qpSlot{}), unsafe.Sizeof(QPSpec{}), unsafe.Sizeof(life{}))
	if idle-before > 1024*n || busy-before > 3072*n {
		t.Errorf("%d B before use, want at most 1024; %d B with messages queued, want at most 3072", (idle-before)/n, (busy-before)/n)
	}
	runtime.KeepAlive(h)
}
