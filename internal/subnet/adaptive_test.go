package subnet

import "testing"

// Among all shortest paths of a ring of n > 3 switches, those of two hops close the
// loop in both directions, a knot each; a ring of three has only paths of one.
func TestShortestPathLoops(t *testing.T) {
	for n := 3; n <= 9; n++ {
		l := ring(t, n, 1).ShortestPathLoops()
		want := 2
		if n == 3 {
			want = 0
		}
		if l.Knots != want || l.Channels != 2*n {
			t.Errorf("ring of %d: %d knots and %d channels, want %d and %d", n, l.Knots, l.Channels, want, 2*n)
		}
		for k := range l.Knots {
			if l.Sizes[k] != n || len(l.Cycles[k]) != n {
				t.Errorf("ring of %d: a knot of %d channels with a cycle of %d", n, l.Sizes[k], len(l.Cycles[k]))
			}
		}
	}
	for _, tiers := range []int{2, 3} {
		if l := fatTreeOf(t, 8, tiers, 0).ShortestPathLoops(); l.Knots != 0 || l.Dependencies == 0 {
			t.Errorf("fat-tree of %d tiers: %d knots in %d dependencies", tiers, l.Knots, l.Dependencies)
		}
	}
}

// On random networks the dependencies are those found by walking every path.
func TestShortestPathsWalked(t *testing.T) {
	loops := 0
	for seed := range uint64(60) {
		f := irregular(t, seed)
		tables := routed(t, f, Options{Engine: "minhop"})
		h, seen := newHops(f), map[[2]End]bool{}
		var walk func(n int, from *End)
		walk = func(n int, from *End) {
			for p := range f.Nodes[n].Ports {
				if !h.leads(n, p) {
					continue
				}
				c := End{n, p}
				if from != nil {
					seen[[2]End{*from, c}] = true
				}
				walk(f.Nodes[n].Ports[p].Peer, &c)
			}
		}
		for _, home := range tables.leaves {
			h.towards(home)
			for _, leaf := range tables.leaves {
				walk(leaf, nil)
			}
		}
		l := f.ShortestPathLoops()
		if l.Dependencies != len(seen) || l.Dependencies < tables.CreditLoops(0).Dependencies {
			t.Errorf("seed %d: %d dependencies, %d on a walk, %d of minhop", seed, l.Dependencies, len(seen), tables.CreditLoops(0).Dependencies)
		}
		loops += l.Knots
	}
	if loops == 0 {
		t.Error("no network has a loop, so the test shows little")
	}
}
