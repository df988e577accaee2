package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// The key controller: a congestion control of the registry in place of DCQCN. Its keys, their docs,
// the schema and `hopscope show` come from what the algorithm declares.

// controllerKey is the section: the name of an algorithm, or a mapping of it to its values.
func (r *resolver) controllerKey() key {
	var inner []key
	all := r.registry().All()
	for i := range all {
		inner = append(inner, r.algorithmKey(&all[i]))
	}
	k := sectionKey("controller", inner, "Congestion control of RoCEv2 in place of `dcqcn`, by name or as a "+
		"section of one key; "+
		"see [controllers](../models/controllers.md).").otherwise("`dcqcn`").in(&r.controlObj).
		choices().finish(func(o object) {
		if len(o.n.Fields) > 1 {
			r.d.fail(o.n.Fields[1].Pos, "controller: %s and %s are two congestion controls; keep one", o.n.Fields[0].Key,
				o.n.Fields[1].Key)
		}
	})
	k = k.or(dcqcnName, func() {})
	for i := range all {
		k = k.or(all[i].Name, func() { r.v.Control = all[i].NewControl("") })
	}
	return k
}

// dcqcnName is what the key controller calls DCQCN, which has a section of its own.
const dcqcnName = "dcqcn"

// algorithmKey is the section of one algorithm.
func (r *resolver) algorithmKey(a *congestion.Algorithm) key {
	c := a.NewControl("")
	fresh := func() []key { return valueKeys(c) }
	text := a.Text
	if a.Source != "" {
		text += " Source: " + a.Source + "."
	}
	k := sectionKey(a.Name, fresh(), text).
		opening(func(object) { r.v.Control = c }).
		finish(func(o object) {
			if at, err := c.Validate(); err != nil {
				r.d.fail(o.at(at), "controller.%v", err)
			}
		})
	if len(a.Presets) == 0 {
		return k
	}
	var about []string
	for _, p := range a.Presets {
		about = append(about, "`"+p.Name+"` ("+strings.TrimSuffix(p.Text, ".")+")")
	}
	preset := wordKey("preset", &c.Preset, a.PresetNames(), "Where values begin: "+strings.Join(about,
		", ")+".").check(func(object) { c.Begin() })
	k.inner = append([]key{preset}, k.inner...)
	return k.shortFor("preset")
}

// valueKeys are keys for the values that an algorithm declares.
func valueKeys(c *congestion.Control) (keys []key) {
	for _, p := range c.Parameters() {
		keys = append(keys, paramKey(p))
	}
	return keys
}

// registry is the algorithms that the scenario may name.
func (r *resolver) registry() *congestion.Registry {
	if r.controllers == nil {
		r.controllers = r.known.controllers()
	}
	return r.controllers
}

// controllers are the algorithms that x knows; those that are in the way of others, or not in order, are left
// out, as the program was told when it brought them.
func (x Known) controllers() *congestion.Registry {
	all, err := congestion.NewRegistry(x.Controllers...)
	if err != nil {
		all, _ = congestion.NewRegistry()
	}
	return all
}

// readController reads the section, and what it asks of the stack.
func (r *resolver) readController(o object) {
	o.read([]key{r.controllerKey()})
	c := r.v.Control
	if r.d.err != nil || c == nil {
		return
	}
	at, s, needs := o.at("controller"), r.stack(), c.Settings.Needs()
	switch {
	case s.Credits || carriedByTCP(s.Name):
		if !r.compared {
			r.d.fail(at, "controller: %s is for RoCEv2, and the stack is %s; take the stack rocev2, or leave controller out",
				c.Name, s.Name)
		}
		r.v.Control = nil
		return
	case o.has("dcqcn") && o.n.Get("dcqcn").Kind != nullNode && o.text("dcqcn") != "none":
		r.d.fail(at, "controller: %s and dcqcn are two congestion controls; keep one", c.Name)
		return
	case needs.Marks() && !s.ECN:
		r.d.fail(at, "controller: %s needs switches that mark, and the stack %s runs without ECN; take the stack "+
			"rocev2, rocev2-ecn-only or rocev2-lossy", c.Name, s.Name)
		return
	}
	p, err := congestion.Preset(defaultDCQCN)
	if err != nil {
		panic("scenario: BUG: " + err.Error())
	}
	c.Notification = &p
	r.v.Wire.Data += needs.WireBytes()
	r.v.Wire.Ack += needs.WireBytes()
}

// needs is the feedback that the congestion control needs, if it is one of the registry.
func (r *resolver) needs() (n congestion.Needs) {
	if r.v.Control != nil {
		n = r.v.Control.Settings.Needs()
	}
	return n
}

// controlled reports whether rates are controlled, and marked whether packets can be marked for that.
func (r *resolver) controlled() bool { return r.v.DCQCN != nil || r.v.Control != nil }

func (r *resolver) marked() bool {
	return r.v.DCQCN != nil || r.needs().Marks()
}

// checkController looks at the network once it is known: base round trips, and the switches that are to
// write telemetry.
func (r *resolver) checkController(o object) {
	c := r.v.Control
	if r.d.err != nil || c == nil {
		return
	}
	needs := c.Settings.Needs()
	r.warnUngoverned()
	if !needs.CNP && slices.ContainsFunc(r.v.Plan.Conns, func(c workload.Conn) bool { return c.Reads }) {
		r.warn("reads", "%s hears nothing of READ responses, which are not acknowledged: they are sent at the line's rate; "+
			"take dcqcn or rtt-probe for READs", c.Title)
	}
	r.v.BaseRTTs = make([]units.Time, len(r.v.Plan.Conns))
	type pair struct{ src, dst int }
	known := map[pair]units.Time{} // looked up, never iterated
	var over overTarget
	for i := range r.v.Plan.Conns {
		e := &r.v.Plan.Conns[i]
		if n := len(e.Path) - 2; needs.INT && n > congestion.MaxINT {
			r.tooManyHops(o, e.Src, e.Dst, n)
			return
		}
		p := pair{e.Src, e.Dst}
		if t, ok := known[p]; ok {
			r.v.BaseRTTs[i] = t
			continue
		}
		rtt, _, err := r.baseRTT(e.Src, e.Dst)
		if err != nil {
			r.d.fail(o.at("controller"), "controller: %v", err)
			return
		}
		rtt += r.delays(e.Src, e.Dst)
		r.v.BaseRTTs[i], known[p] = rtt, rtt
		over.look(r, e.Src, e.Dst)
		if needs.INT {
			r.checkTelemetry(o, e.Src, e.Dst)
		}
	}
	over.warn(r)
}

// checkTelemetry makes sure that the header of telemetry serves a path.
func (r *resolver) checkTelemetry(o object, src, dst int) {
	hops, err := r.v.Routes.Path(r.v.Graph, src, dst)
	if err != nil || r.d.err != nil {
		return
	}
	c, name := r.v.Control, func(n int) string { return r.v.Graph.Nodes[n].Name }
	at := o.at("controller")
	if n := len(hops) - 1; n > congestion.MaxINT {
		r.tooManyHops(o, src, dst, n)
		return
	}
	for i := range r.v.Graph.Nodes {
		if r.v.Graph.Nodes[i].Kind != topology.Switch {
			continue
		}
		if r.switches[i].silent {
			r.d.fail(at, "controller: %s needs telemetry of every switch, and %s writes none (telemetry: off); give it "+
				"telemetry: on, or take another controller", c.Name, name(i))
			return
		}
		for port := range r.v.Graph.Nodes[i].Ports {
			rate := r.v.Graph.LinkAt(i, port).Rate
			if _, ok := congestion.INTRateCode(rate); !ok {
				r.d.fail(at, "controller: %s: the telemetry header has no code for the %v of %s:%d; give links of %s", c.Name,
					rate, name(i), port+1, rateList(congestion.INTRates()))
				return
			}
		}
	}
}

// tooManyHops refuses a path of n switches.
func (r *resolver) tooManyHops(o object, src, dst, n int) {
	name := func(endpoint int) string { return r.v.Graph.Nodes[r.v.Graph.HostOf(endpoint)].Name }
	r.d.fail(o.at("controller"), "controller: %s has room for the telemetry of %d switches in a packet, "+
		"and from %s to %s there are %d; take another controller, or fewer tiers",
		r.v.Control.Name, congestion.MaxINT, name(src), name(dst), n)
}

func rateList(rates []units.Rate) string {
	var words []string
	for _, r := range rates {
		words = append(words, fmt.Sprint(r))
	}
	return strings.Join(words, ", ")
}

// controllerSheets are what `hopscope show` prints of controllers: one per preset.
func controllerSheets(r *congestion.Registry) (out []Sheet) {
	all := r.All()
	for i := range all {
		a := &all[i]
		if len(a.Presets) == 0 {
			out = append(out, Sheet{"controller", a.Name + "-default", a.Text, a.NewControl("").Notes(), nil})
		}
		for _, p := range a.Presets {
			name, text := a.Name+"-"+p.Name, a.Text
			if p.Text != "" {
				text += " " + p.Text
			}
			out = append(out, Sheet{"controller", name, text, a.NewControl(p.Name).Notes(), nil})
		}
	}
	return out
}

// controlTitle is what the congestion control is called.
func (r *resolver) controlTitle() string {
	if r.v.Control != nil {
		return r.v.Control.Title
	}
	return "DCQCN"
}

// controllerNotes lists the values of the congestion control, with those that the scenario gives.
func (r *resolver) controllerNotes() {
	c := r.v.Control
	if c == nil {
		return
	}
	own := object{}
	if r.controlObj.n != nil && r.controlObj.n.Get(c.Name) != nil {
		own = object{n: r.controlObj.n.Get(c.Name)}
	}
	for _, n := range c.Notes() {
		if key := n.Key[strings.LastIndexByte(n.Key, '.')+1:]; own.n != nil && own.n.Kind == mappingNode && own.has(key) {
			n.Source = fromScenario
		}
		r.v.Notes = append(r.v.Notes, n)
	}
	if b := c.Settings.Needs().WireBytes(); b > 0 {
		r.note("controller."+c.Name+".wire", fmt.Sprintf("%d B in each packet and each acknowledgement", b),
			"what it needs to hear")
	}
}
