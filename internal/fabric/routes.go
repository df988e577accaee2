package fabric

// routes is the table of a switch in short. In a tree most destinations go one way, upwards,
// and those that do not are numbered in a row: a table of every destination would hardly ever
// be in a cache.
type routes struct {
	first  uint32   // the destinations from here on have an entry in within
	within []uint16 // index into groups
	groups []uint32 // ECMP groups, as topology.Pack has them; the first is that of all others
}

// to returns the group of a destination.
func (r *routes) to(dst uint32) uint32 {
	k := uint16(0)
	if d := dst - r.first; d < uint32(len(r.within)) {
		k = r.within[d]
	}
	return r.groups[k]
}

// compact makes routes of a table with a group for every destination.
func compact(table []uint32) routes {
	lo, hi, rest := elsewhere(table)
	r := routes{first: uint32(lo), groups: []uint32{rest}, within: make([]uint16, hi-lo)}
	index := map[uint32]uint16{rest: 0} // looked up, never iterated
	before, k := rest, uint16(0)
	for i, g := range table[lo:hi] {
		if g != before {
			var ok bool
			if k, ok = index[g]; !ok {
				k = uint16(len(r.groups))
				index[g] = k
				r.groups = append(r.groups, g)
			}
			before = g
		}
		r.within[i] = k
	}
	return r
}

// elsewhere returns the shortest run of a table that leaves nothing but one group outside.
func elsewhere(table []uint32) (lo, hi int, rest uint32) {
	hi = len(table)
	if hi == 0 {
		return 0, 0, 0
	}
	first, last := table[0], table[hi-1]
	for lo < hi && table[lo] == first {
		lo++
	}
	end := hi
	for end > lo && table[end-1] == last {
		end--
	}
	switch {
	case first == last:
		return lo, end, first
	case lo > hi-end:
		return lo, hi, first
	}
	return 0, end, last
}

// routesOf is compact of a table that switches may share.
func (n *Net) routesOf(table []uint32) routes {
	if len(table) == 0 {
		return compact(table)
	}
	r, ok := n.tables[&table[0]]
	if !ok {
		r = compact(table)
		n.tables[&table[0]] = r
	}
	return r
}
