package scenario

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// maxOutages bounds how often one link fails: each outage brings tables of its own.
const maxOutages = 1000

// outageReader reads when a link is down: once, or a list, or again and again.
type outageReader struct {
	r        *resolver
	spec     *topology.LinkSpec
	down, up units.Time
	list     []topology.Outage
	flap     flapping
	never    bool // the link does not fail
}

// neverFails is the word for a link that does not fail.
const neverFails = "never"

// flapping is a link that fails again and again.
type flapping struct {
	from, every, down units.Time
	times             int
	random            bool // every and down are averages
	silent            bool
}

// keys are the keys of outages.
func (x *outageReader) keys() []key {
	f := &x.flap
	return []key{
		timeKey("down_at", &x.down, "Time at which the link fails, both ways; `failover` says when switches know. `never`: it does not fail, whatever stands for all links or in an item before.").
			nonzero("would be a link that never was; leave the link out, or give a later time").
			or(neverFails, func() { x.never, x.spec.Outages = true, nil }).check(func(o object) { x.gather(o, "up_at", "down", "flap") }),
		timeKey("up_at", &x.up, "Time at which it works again; not on InfiniBand, where a failed link stays down.").check(func(o object) {
			if !o.has("down_at") || x.up <= x.down {
				o.fail("up_at", "%v is not after the link's failure; give down_at beside it, and a later time", x.up)
			}
			x.gather(o, "down", "flap")
		}),
		listedKey("down", func() []key { return outageKeys(new(topology.Outage)) }, x.readList,
			"Outages of the link, one after the other, such as `[{at: 1ms, until: 2ms}, {at: 5ms}]`, beside that of `down_at`.").
			check(func(o object) { x.gather(o, "flap") }),
		sectionKey("flap", []key{
			timeKey("from", &f.from, "When it fails first.").need("say when the link fails first such as from: 1ms").nonzero("would be a link that never was; give a later time"),
			timeKey("every", &f.every, "From one failure to the next.").need("say how long it is from one failure to the next such as every: 5ms"),
			timeKey("down_for", &f.down, "How long each lasts.").need("say how long each failure lasts such as down_for: 1ms").
				nonzero("is no failure; give a time such as 1ms").check(func(o object) {
				if f.down >= f.every {
					o.fail("down_for", "%v is not shorter than every, %v: the link would not work again before it fails again; give less", f.down, f.every)
				}
			}),
			numberKey("times", &f.times, 1, maxOutages, "How many times it fails.").need("say how many times the link fails such as times: 10"),
			flagKey("random", &f.random, "`true`: each time up and down is drawn, by the scenario's seed, evenly between 0 and twice what `every` and `down_for` make on average."),
			silentKey(&f.silent),
		}, "A link that fails again and again.").check(func(o object) { x.gather(o) }),
	}
}

// outageKeys are the keys of an item of down.
func outageKeys(out *topology.Outage) []key {
	return []key{
		timeKey("at", &out.Down, "When the link fails.").need("say when the link fails such as at: 1ms").
			nonzero("would be a link that never was; give a later time"),
		timeKey("until", &out.Up, "When it works again.").otherwise("never").check(func(o object) {
			if out.Up <= out.Down {
				o.fail("until", "%v is not after at, %v; give a later time", out.Up, out.Down)
			}
		}),
		silentKey(&out.Silent),
		lineKey("lost_from", &out.Sender, "Of the link's two nodes the one whose frames are lost; the other way works.").otherwise("both"),
	}
}

// silentKey is of a link that loses everything while both ends take it for one that works.
func silentKey(silent *bool) key {
	return flagKey("silent", silent, "`true`: nobody notices, so that nothing is rerouted: a black hole.")
}

// readList reads the items of down.
func (x *outageReader) readList(o object, name string) bool {
	x.list = nil
	for i, item := range o.list(name) {
		out := topology.Outage{Up: units.Never}
		keys := outageKeys(&out)
		x.r.d.object(item, indexed(o.join(name), i), keys).read(keys)
		if x.r.d.err != nil {
			return false
		}
		x.r.noteDownAt(out.Down, item.Pos)
		x.list = append(x.list, out)
	}
	if len(x.list) > maxOutages {
		o.fail(name, "lists %d outages of one link; %d at most are simulated", len(x.list), maxOutages)
	}
	return x.r.d.err == nil
}

// gather puts the outages of a link together once the last of its keys was read;
// later are the keys behind the one just read.
func (x *outageReader) gather(o object, later ...string) {
	if x.r.d.err != nil || slices.ContainsFunc(later, o.has) {
		return
	}
	if x.never {
		o.fail("down_at", "never says that the link does not fail, and other keys here say when it fails; keep one")
		return
	}
	var all []topology.Outage
	if o.has("down_at") {
		out := topology.Outage{Down: x.down, Up: units.Never}
		if o.has("up_at") {
			out.Up = x.up
		}
		x.r.noteDownAt(x.down, o.at("down_at"))
		all = append(all, out)
	}
	if o.has("down") {
		all = append(all, x.list...)
	}
	if f := &x.flap; o.has("flap") && f.random {
		all = append(all, x.draw(o)...)
	} else if o.has("flap") {
		for k := range f.times {
			at := f.from + units.Time(k)*f.every
			if k > 0 && at/units.Time(k) < f.every || at < 0 {
				o.fail("flap", "the last of %d failures would come later than any time that is simulated; give fewer, or a shorter every", f.times)
				return
			}
			x.r.noteDownAt(at, o.at("flap"))
			all = append(all, topology.Outage{Down: at, Up: at + f.down, Silent: f.silent})
		}
	}
	last := "down_at"
	for _, name := range []string{"down", "flap"} {
		if o.has(name) {
			last = name
		}
	}
	x.spec.Outages = x.r.inOrder(o.at(last), o.path, all)
}

// draw draws the outages of a link that flaps at random: times up and down evenly between 0 and
// twice the average, a microsecond at least, by a stream of the section's own.
func (x *outageReader) draw(o object) (all []topology.Outage) {
	f := &x.flap
	rnd := rng.New(x.r.v.Seed, "flap/"+o.path)
	length := func(mean units.Time) units.Time {
		d, _ := bits.Mul64(rnd.Uint64(), 2*uint64(mean))
		return max(units.Microsecond, units.Time(d))
	}
	at := f.from
	for range f.times {
		up := at + length(f.down)
		x.r.noteDownAt(at, o.at("flap"))
		all = append(all, topology.Outage{Down: at, Up: up, Silent: f.silent})
		if at = up + length(f.every-f.down); at < 0 {
			o.fail("flap", "the last of %d failures would come later than any time that is simulated; give fewer, or a shorter every", f.times)
			return nil
		}
	}
	return all
}

// inOrder sorts outages, which must lie apart.
func (r *resolver) inOrder(at pos, path string, all []topology.Outage) []topology.Outage {
	slices.SortStableFunc(all, func(a, b topology.Outage) int { return cmp.Compare(a.Down, b.Down) })
	if err := topology.CheckOutages(all); err != nil {
		r.d.fail(at, "%s: %v", path, err)
	}
	return all
}

// addOutages adds outages to those that a link has. One that begins when the link is
// down for good by another item has no effect.
func (r *resolver) addOutages(l object, k *topology.Link, more []topology.Outage) {
	if len(more) == 0 {
		return
	}
	more = slices.Clone(more)
	for i := range more {
		o, a, b := &more[i], &r.v.Graph.Nodes[k.A], &r.v.Graph.Nodes[k.B]
		switch {
		case o.Sender == "":
		case a.Is(o.Sender):
			o.Sender = a.Name
		case b.Is(o.Sender):
			o.Sender = b.Name
		default:
			r.d.fail(r.downAt[o.Down], "%s: lost_from %q is neither of the link's nodes; give %s or %s", l.path, o.Sender,
				a.Name, b.Name)
			return
		}
	}
	all := append(slices.Clone(k.Outages), more...)
	if len(all) > maxOutages {
		r.d.fail(l.n.Pos, "%s: the link fails %d times; %d at most are simulated", l.path, len(all), maxOutages)
		return
	}
	slices.SortStableFunc(all, func(a, b topology.Outage) int { return cmp.Compare(a.Down, b.Down) })
	if last := slices.IndexFunc(all, func(o topology.Outage) bool { return o.Up == units.Never }); last >= 0 && last+1 < len(all) {
		r.warn("down for good", "%s: the link fails at %v and does not work again; that it fails at %v has no effect: say when it works again", l.path, all[last].Down, all[last+1].Down)
		all = all[:last+1]
	}
	k.Outages = r.inOrder(r.downAt[more[0].Down], l.path, all)
}

// switchOutageKeys are the keys of an item of a switch's down.
func switchOutageKeys(out *topology.Outage) []key {
	keys := outageKeys(out)
	return slices.DeleteFunc(keys, func(k key) bool { return k.name == "lost_from" })
}

// readSwitchOutages reads when a switch is down.
func (r *resolver) readSwitchOutages(s *switchSettings, o object, name string) bool {
	s.outages, s.outagesAt = nil, o.at(name)
	for i, item := range o.list(name) {
		out := topology.Outage{Up: units.Never}
		keys := switchOutageKeys(&out)
		r.d.object(item, indexed(o.join(name), i), keys).read(keys)
		if r.d.err != nil {
			return false
		}
		r.noteDownAt(out.Down, item.Pos)
		s.outages = append(s.outages, out)
	}
	s.outages = r.inOrder(s.outagesAt, o.join(name), s.outages)
	return r.d.err == nil
}

// switchesDown has the links of switches that are down fail.
func (r *resolver) switchesDown() {
	g := r.v.Graph
	for n := range r.switches {
		s := &r.switches[n]
		if g.Nodes[n].Kind != topology.Switch || len(s.outages) == 0 || r.d.err != nil {
			continue
		}
		for port := range g.Nodes[n].Ports {
			k := g.LinkAt(n, port)
			down := slices.Clone(s.outages)
			for i := range down {
				down[i].Switch = g.Nodes[n].Name
			}
			k.Outages = joinOutages(k.Outages, down)
			if len(k.Outages) > maxOutages {
				r.d.fail(s.outagesAt, "%s: a link of the switch fails %d times; %d at most are simulated", g.Nodes[n].Name, len(k.Outages), maxOutages)
				return
			}
		}
	}
}

// joinOutages lists the times in which a link or one of its ends is down.
func joinOutages(a, b []topology.Outage) (out []topology.Outage) {
	all := append(slices.Clone(a), b...)
	slices.SortStableFunc(all, func(a, b topology.Outage) int { return cmp.Compare(a.Down, b.Down) })
	for _, o := range all {
		if last := len(out) - 1; last >= 0 && o.Down <= out[last].Up {
			was := &out[last]
			was.Up, was.Silent = max(was.Up, o.Up), was.Silent && o.Silent
			if was.Sender != o.Sender {
				was.Sender = ""
			}
			was.Switch = cmp.Or(was.Switch, o.Switch)
			continue
		}
		out = append(out, o)
	}
	return out
}
