package weak

import "testing"

var _ = never

func Test(t *testing.T) {
	var c counter
	c.add(2)
	if c.n != 2 || clamp(5, 1, 3) != 3 || clamp(0, 1, 3) != 1 || !larger(2, 1) || larger(1, 2) || next(1) != 2 ||
		!both(true, true) || both(false, true) || share(5, 2) != 3 {
		t.Error("wrong")
	}
}
