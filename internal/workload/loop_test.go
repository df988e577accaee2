package workload

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// Of a closed loop the first messages are posted at once and each other one waits for the completion of
// the one that many before it, or for what the application thinks then.
func TestLoop(t *testing.T) {
	for _, think := range []units.Time{0, units.Microsecond} {
		p := &Plan{}
		o := DefaultOptions()
		o.Count, o.Depth, o.Think, o.HostOf = 5, 2, think, func(ep int) int { return ep }
		if err := p.Flow(p.AddEntry("loop"), 0, 1, 100, o); err != nil {
			t.Fatal(err)
		}
		if err := p.Finish(fakeNet{3, 1}); err != nil {
			t.Fatal(err)
		}
		waiting, thoughts := 0, len(p.Locals)
		for _, m := range p.All() {
			if m.Waits() {
				waiting++
			}
		}
		if want := map[units.Time]int{0: 0, units.Microsecond: 3}[think]; waiting != 3 || thoughts != want {
			t.Errorf("think %v: %d of 5 messages wait, %d thoughts; want 3 and %d", think, waiting, thoughts, want)
		}
	}
}
