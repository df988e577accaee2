package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// climb lets dynamic interrupt moderation decide n times on traffic whose rates per
// millisecond depend on the profile, and returns the profiles.
func climb(d *dim, n int, traffic func(profile int) rates) string {
	var s sample
	var out []string
	d.step(&s)
	for range n {
		r := traffic(d.profile)
		took := dimEvents * units.Millisecond / units.Time(r.interrupts)
		s.at += took
		s.interrupts += dimEvents
		s.frames += r.frames * int64(took) / int64(units.Millisecond)
		s.bytes += r.bytes * int64(took) / int64(units.Millisecond)
		if d.step(&s) {
			d.step(&s) // the next measurement begins
		}
		out = append(out, fmt.Sprint(d.profile))
	}
	return strings.Join(out, "")
}

// The rules of Linux's lib/dim by hand: it leaves its first place to shorter times
// (the first rates differ from none), turns when nothing is better by more than
// 10 %, goes on while something is, and parks at an end or at a top.
func TestDynamicModeration(t *testing.T) {
	interrupts := [numProfiles]int64{64, 32, 16, 8, 4}
	for _, c := range []struct {
		name    string
		traffic func(int) rates
		want    string
	}{
		// Equal bytes, ever fewer interrupts: all the way to the longest time, where
		// it parks and stays.
		{"steady load", func(p int) rates { return rates{1e6, 1e3, interrupts[p]} }, "012344444444"},
		// A longer time costs bytes: it turns left again and parks at the left end.
		{"latency bound", func(p int) rates { return rates{1e6 / int64(p+1), 1e3 / int64(p+1), interrupts[p]} }, "000000000000"},
		// The best is in the middle: it passes, turns, and parks there.
		{"a top", func(p int) rates { return rates{[]int64{1e6, 2e6, 3e6, 2e6, 1e6}[p], 1e3, 32} }, "012322222222"},
	} {
		d := dim{profile: 1}
		if got := climb(&d, 12, c.traffic); got != c.want {
			t.Errorf("%s: profiles %s, want %s", c.name, got, c.want)
		}
	}
}
