package scenario

import "github.com/hopscope/hopscope/internal/topology"

// warnOff looks for settings of what is switched off: marking and PFC by the
// stack or by none, notifications where there is no congestion control. A
// comparison runs one scenario over stacks of which some use a setting and some
// do not, so it is not warned.
func (r *resolver) warnOff() {
	if r.compared {
		return
	}
	if r.stack().Credits {
		r.warnOffEthernet()
		return
	}
	drained := false
	for n := range r.v.Graph.Nodes {
		drained = drained || r.v.Graph.Nodes[n].Kind == topology.Host && r.nics[n].drains()
	}
	for n := range r.v.Graph.Nodes {
		if r.v.Graph.Nodes[n].Kind == topology.Switch {
			s := &r.switches[n]
			r.warnOffECN(&s.ecn)
			r.warnOffPFC(&s.pfc)
			continue
		}
		s := &r.nics[n]
		r.warnIgnoredHost(n)
		r.warnOffPFC(&s.pfc)
		if s.drains() || drained && s.obj.path == "nic" {
			r.warnOffReceive(s)
		}
		r.warnOffCNP(s)
	}
}

// warnOffEthernet looks for settings of what InfiniBand does not have.
func (r *resolver) warnOffEthernet() {
	if n := r.header.n.get("dcqcn"); n == nil || n.text != "none" {
		r.ignored(r.header, "dcqcn", "InfiniBand has congestion control of its own: see infiniband.congestion_control")
	}
	for n := range r.v.Graph.Nodes {
		o, keys := r.nics[n].obj, []string{"ack_class", "ack_dscp", "cnp_class", "cnp_dscp", "cnp_coalesce", "rx_buffer", "rx_xoff", "rx_xon",
			"pfc", "scheduler", "mtu"}
		if r.v.Graph.Nodes[n].Kind == topology.Switch {
			o, keys = r.switches[n].obj, []string{"buffer", "mtu", "pfc", "ecn", "lossy", "trust", "dscp_to_priority", "pcp_to_priority", "scheduler"}
		}
		if o.n == nil {
			continue
		}
		for _, key := range keys {
			r.ignored(o, key, "InfiniBand has input buffers, VL arbitration and a map of service levels: see the section infiniband")
		}
	}
}

func (r *resolver) warnOffECN(e *ecnSettings) {
	if r.stack().ECN || e.obj.n == nil {
		return
	}
	for _, key := range []string{"kmin", "kmax", "pmax", "per_rate", "at", "priorities"} {
		r.ignored(e.obj, key, "the stack %s marks nothing", r.v.Stack)
	}
}

func (r *resolver) warnOffPFC(p *pfcSettings) {
	if p.enabled != 0 || p.obj.n == nil {
		return
	}
	why := "pfc is off"
	if !r.stack().PFC {
		why = "the stack " + r.v.Stack + " runs without PFC"
		r.ignored(p.obj, "enabled", "%s", why)
	}
	for _, key := range []string{"quanta", "refresh", "response", "alpha", "xoff", "xon_offset", "reserved", "headroom", "headroom_rule", "cell"} {
		r.ignored(p.obj, key, "%s", why)
	}
}

// warnOffReceive looks at the thresholds of a receive buffer that sends no XOFF.
func (r *resolver) warnOffReceive(s *nicSettings) {
	if s.pfc.enabled != 0 || s.obj.n == nil {
		return
	}
	for _, key := range []string{"rx_xoff", "rx_xon"} {
		r.ignored(s.obj, key, "without PFC a full receive buffer drops")
	}
}

func (r *resolver) warnOffCNP(s *nicSettings) {
	if r.v.DCQCN != nil || s.obj.n == nil {
		return
	}
	for _, key := range []string{"cnp_class", "cnp_dscp", "cnp_coalesce"} {
		r.ignored(s.obj, key, "without congestion control no CNP is sent")
	}
}
