package topology

// Routes holds, for every switch and destination endpoint, the set of egress
// ports on shortest paths (ECMP group). Groups are shared.
type Routes struct {
	// Group[node] is nil for hosts, else one entry per endpoint: offset<<8 | n
	// into Members[node]; n = 0: unreachable.
	Group   [][]uint32
	Members [][]uint16
}

// Lookup returns the candidate local egress ports of switch node for endpoint ep.
func (r *Routes) Lookup(node, ep int) []uint16 {
	g := r.Group[node][ep]
	return r.Members[node][g>>8 : g>>8+g&0xff]
}
