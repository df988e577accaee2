package dma

import (
	"testing"
	"unsafe"
)

// What every booking of a track needs fits the first line of a cache, and what counts it the
// second.
func TestTrackIsFourCacheLines(t *testing.T) {
	var x track
	if n := unsafe.Sizeof(x); n != 256 {
		t.Errorf("a track takes %d B, want 256", n)
	}
	if at := unsafe.Offsetof(x.carried); at != 64 {
		t.Errorf("what a track carried stands %d B behind its start, want 64", at)
	}
}
