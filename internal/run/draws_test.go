package run_test

import (
	"os"
	"testing"
)

// longer is how many times as many cases make long draws.
const longer = 20

// draws is how many random scenarios a property draws: a short form, that of
// every change, or, with HOPSCOPE_LONG=1 (make long), many times as many. The
// first are the same in all three. The race detector, with which a test takes ten
// times as long, gets a quarter of the short form.
func draws(short, usual uint64) uint64 {
	switch {
	case raced:
		return short / 4
	case testing.Short():
		return short
	case os.Getenv("HOPSCOPE_LONG") != "":
		return longer * usual
	}
	return usual
}
