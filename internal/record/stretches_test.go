package record

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// A time that lasts 3 of every 10 is told within a tenth of any span that is as long as an eighth of
// what went before, though few stretches are written down; a stretch that goes on is told to the
// picosecond, and nothing that follows changes what was told of the past.
func TestStretches(t *testing.T) {
	var log StretchLog
	var told []units.Time
	spans := [][2]units.Time{{5, 125}, {995, 1205}, {9_000, 10_125}, {70_000, 80_000}}
	for i := range units.Time(10_000) {
		log.Add(10*i, 10*i+3)
		if i == 8_100 {
			for _, s := range spans {
				told = append(told, log.Seen.Within(s[0], s[1]))
			}
		}
	}
	if n := len(log.Seen); n > apart*12 {
		t.Errorf("%d stretches written down of 10,000", n)
	}
	for i, s := range spans {
		want := (s[1] - s[0]) * 3 / 10
		if got := log.Seen.Within(s[0], s[1]); got != told[i] || got < want*9/10 || got > want*11/10 {
			t.Errorf("%v: %d, told %d before, want %d", s, got, told[i], want)
		}
	}
	log.Add(100_000, 150_000) // which is not due
	if got := log.Seen.Within(120_000, 130_000); got != 10_000 {
		t.Errorf("of a long one %d, want 10,000", got)
	}
	ends := Stretches{{10, 20, 10}, {100, 1000, 910}}
	for span, want := range map[[2]units.Time]units.Time{{0, 5}: 0, {0, 15}: 5, {12, 50}: 8, {200, 300}: 100, {900, 5000}: 100, {2000, 3000}: 0} {
		if got := ends.Within(span[0], span[1]); got != want {
			t.Errorf("%v: %d, want %d", span, got, want)
		}
	}
}
