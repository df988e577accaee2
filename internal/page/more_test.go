package page_test

import "testing"

// Figures of what only some runs have: processors, failed links, calls, collectives and servers.
func TestFiguresOfTheRest(t *testing.T) {
	if testing.Short() {
		t.Skip("four runs")
	}
	for _, c := range []struct {
		name string
		set  []string
	}{
		{"link-failure", nil}, {"gpu-incast", nil}, {"mixed-traffic", nil}, {"allreduce-8x8",
			[]string{"workload[0].collective.size=1MiB"}},
	} {
		r := simulate(t, c.name, "", c.set...)
		html, doc := written(t, r)
		compareAll(t, c.name, html, doc, 300)
	}
}
