package subnet

// Managers returns the indices into Endports of the ports that run a subnet
// manager. One serves all switches that links join: the first channel adapter's
// port on them (Manager), else a switch. Planes without a link between switches of
// one and another, and the pieces of an excerpt, have a manager each. Failures do
// not move them.
func (f *Fabric) Managers() []int {
	if f.managers != nil {
		return f.managers
	}
	var out []int
	seen := make([]bool, len(f.Nodes))
	for _, switches := range [2]bool{false, true} {
		for i, e := range f.Endports {
			leaf := f.leafOf(e)
			if leaf < 0 || seen[leaf] || switches != (f.Nodes[e.Node].Kind == Switch) {
				continue
			}
			out = append(out, i)
			for _, n := range f.discover(i) {
				seen[n] = true
			}
		}
	}
	if len(out) == 0 {
		out = append(out, f.Manager())
	}
	return out
}

// reached marks the nodes that directed routes of a manager get to.
func (f *Fabric) reached() []bool {
	reached := make([]bool, len(f.Nodes))
	for _, sm := range f.Managers() {
		for _, n := range f.discover(sm) {
			reached[n] = true
		}
	}
	return reached
}

// anySwitch reports whether a switch is among the marked nodes.
func (f *Fabric) anySwitch(marked []bool) bool {
	for n := range f.Nodes {
		if marked[n] && f.isSwitch(n) {
			return true
		}
	}
	return false
}

// Split is what a subnet manager does not reach any more.
type Split struct {
	Manager  End
	Left     int   // switches that it still reaches
	Switches []int // nodes that it has lost; they keep the tables they have
	Others   []int // adapters and routers that it has lost
}

// Splits lists the managers of f that reach less of now, which is f without some
// links.
func (f *Fabric) Splits(now *Fabric) []Split {
	var out []Split
	for _, sm := range f.Managers() {
		s := Split{Manager: f.Endports[sm]}
		left := make([]bool, len(f.Nodes))
		for _, n := range now.discover(sm) {
			left[n] = true
			if f.Nodes[n].Kind == Switch {
				s.Left++
			}
		}
		for _, n := range f.discover(sm) {
			switch {
			case left[n]:
			case f.Nodes[n].Kind == Switch:
				s.Switches = append(s.Switches, n)
			default:
				s.Others = append(s.Others, n)
			}
		}
		if len(s.Switches)+len(s.Others) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// within returns dead with the links added that no manager reaches: what they
// route is the rest.
func (f *Fabric) within(dead, reached []bool) []bool {
	out := make([]bool, len(dead))
	for i, l := range f.Links {
		out[i] = dead[i] || !reached[l.A.Node] && !reached[l.B.Node]
	}
	return out
}

// keep takes the tables and ranks of switches that are not reached over from old:
// nobody writes those.
func (t *Tables) keep(old *Tables, reached []bool) {
	for n := range t.LFT {
		if reached[n] {
			continue
		}
		t.LFT[n] = old.LFT[n]
		if n < len(t.Rank) && n < len(old.Rank) {
			t.Rank[n] = old.Rank[n]
		}
	}
}

// notices reports whether a manager learns that a link failed: from a switch at its
// end, or because the link is its own. f is what is left after the failure.
func (f *Fabric) notices(link int) bool {
	reached := f.reached()
	return reached[f.Links[link].A.Node] || reached[f.Links[link].B.Node]
}

// Reroutes reports whether the sweep brings new tables on account of a link: a
// switch at one of its ends is still reached.
func (s *Sweep) Reroutes(link int) bool {
	f := s.Tables.Fabric
	reached := f.reached()
	for _, e := range [2]End{f.Links[link].A, f.Links[link].B} {
		if reached[e.Node] && f.Nodes[e.Node].Kind == Switch {
			return true
		}
	}
	return false
}

// Finds reports whether the sweep finds a link dead: no manager learns of what
// fails out of its reach.
func (s *Sweep) Finds(link int) bool { return s.Dead[link] && s.Tables.Fabric.notices(link) }
