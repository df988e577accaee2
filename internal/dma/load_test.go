package dma

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// Loads that wait for others are booked before those are over: what they leave to the
// packets of cards meanwhile is still what maxLoad leaves.
func TestLoadsThatWaitLeaveRoom(t *testing.T) {
	var l loads
	const us = units.Microsecond
	for range 6 {
		l.add(0, 0, 4*us, 10*us)
		if got, most := l.beside(0, us), us*1000/(1000-maxLoad); got < us || got > most {
			t.Fatalf("work of %v takes %v beside loads; want at most %v", us, got, most)
		}
	}
}
