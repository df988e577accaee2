package fabric

import (
	"testing"
	"unsafe"
)

// TestPortIsTwoCacheLines: every frame touches the hot part of a port.
func TestPortIsTwoCacheLines(t *testing.T) {
	if n := unsafe.Sizeof(Port{}); n != 128 {
		t.Errorf("Port is %d bytes, want 128", n)
	}
}
