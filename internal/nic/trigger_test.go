package nic

import "testing"

// The lists of posts that triggers start are used again. (The posts themselves are
// left out here: they need a network.)
func TestTriggeredAllocatesNothing(t *testing.T) {
	h := New(Spec{})
	if made := testing.AllocsPerRun(10, func() {
		h.triggered = append(h.triggered, Post{}, Post{})[:0]
		h.postTriggered(0)
	}); made != 0 {
		t.Errorf("%v allocations for each instant", made)
	}
}
