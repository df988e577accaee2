package packet

import (
	"testing"
	"unsafe"
)

func TestPacketIsOneCacheLine(t *testing.T) {
	if n := unsafe.Sizeof(Packet{}); n != 64 {
		t.Fatalf("Packet is %d bytes, want 64", n)
	}
}
