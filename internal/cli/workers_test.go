package cli

import "testing"

// TestIdleProcessors: as many workers as processors that nothing else uses, one at least, and
// all where the system does not say.
func TestIdleProcessors(t *testing.T) {
	stat := []byte("cpu  10 20 30\ncpu0 1 2 3\ncpu1 4 5 6\nintr 7\ncpuidle 8\n")
	if n := countProcessors(stat); n != 2 {
		t.Errorf("%d processors, want 2", n)
	}
	for text, want := range map[string]int{"0.00 0.01 0.05 1/174 28600\n": 1, "11.03 14.43 13.09 7/174 28600\n": 7, "": 0, "0 0 0 0/0 0": 0} {
		if n, ok := running([]byte(text)); ok != (want > 0) || ok && n != want {
			t.Errorf("%q: %d threads (%v), want %d", text, n, ok, want)
		}
	}
	for _, c := range []struct{ most, processors, others, want int }{
		{2, 2, 0, 2}, {2, 2, 1, 1}, {2, 2, 9, 1}, {8, 8, 3, 5}, {2, 64, 30, 2}, {2, 0, 5, 2},
	} {
		if got := idleOf(c.most, c.processors, c.others); got != c.want {
			t.Errorf("%+v: %d workers", c, got)
		}
	}
	if n := defaultWorkers(); n < 1 {
		t.Errorf("%d workers", n)
	}
}
