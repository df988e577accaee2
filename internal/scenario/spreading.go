package scenario

import "github.com/hopscope/hopscope/internal/fabric"

// spreads reports whether InfiniBand switches choose a port per packet, among all
// on shortest paths, in place of the one that the subnet manager's tables have. What
// such tables promise, and their change after a failure, is not to be had with it.
func (r *resolver) spreads(o object) bool {
	if r.spreading == fabric.ByHash {
		return false
	}
	ib := r.ib.obj
	why := ""
	switch {
	case r.ib.subnet.engine != "minhop":
		why = "infiniband.routing: " + r.ib.subnet.engine
	case r.ib.subnet.sls > 1:
		why = "infiniband.sls"
	case r.anyDown():
		why = "a link that fails (down_at)"
	default:
		return true
	}
	const text = "%s sends each packet along any shortest path, which does not go with %s on InfiniBand: leave one of them out"
	if !r.compared {
		at := o.at("routing")
		if ib.has("routing") && r.ib.subnet.engine != "minhop" {
			at = ib.at("routing")
		}
		r.d.fail(at, "routing: "+text, r.spreading, why)
		return true
	}
	r.warn("spreading", text+"; the tables are used", r.spreading, why)
	r.spreading = fabric.ByHash
	return false
}
