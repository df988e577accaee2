package rdma

import (
	"testing"
	"unsafe"

	"github.com/hopscope/hopscope/internal/congestion"
)

// TestSizes: a run may hold millions of queue pairs, and the packet path touches the
// head of each. 576 is a size that Go's allocator has.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name     string
		got, max uintptr
	}{
		{"DCQCN, hot part", unsafe.Offsetof(congestion.DCQCN{}.Cuts), 96},
		{"QP", unsafe.Sizeof(QP{}), 608},
		{"QP, cold part", unsafe.Sizeof(cold{}), 128},
		{"work request", unsafe.Sizeof(wqe{}), 48},
	} {
		t.Logf("%s: %d bytes", c.name, c.got)
		if c.got > c.max {
			t.Errorf("%s is %d bytes, want at most %d", c.name, c.got, c.max)
		}
	}
}
