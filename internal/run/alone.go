package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/build"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/ideal"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// What lies beyond the formula of ideal times is run: so many messages and bytes at most.
const (
	mostAlone      = 64
	mostAloneBytes = 256 * units.MB
)

// ideals knows what messages take alone.
type ideals struct {
	ctx     context.Context
	w       *build.World
	formula *ideal.Formula
	ran     map[likeness]units.Time // looked up, never iterated
	bytes   units.Bytes             // that were run
	hosts   []int                   // by node: the first host whose card and inside are equal
}

// likeness is what messages that take equally long alone have in common.
type likeness struct {
	way                    string
	verb                   workload.Verb
	back, reply            bool
	bytes                  units.Bytes
	from, to               int // as ideals.hosts
	srcDevice, dstDevice   int16
	srcStaged, dstStaged   bool
	service                workload.Service
	profile                int
	class                  uint8
	inline, noDelay, fence bool
	rate                   units.Rate
}

func (r *runner) newIdeals() *ideals {
	if r.opt.alone {
		return nil
	}
	return &ideals{ctx: r.ctx, w: r.World, formula: ideal.New(r.World), ran: map[likeness]units.Time{}}
}

// of is what a message takes alone; 0: that is not known.
func (d *ideals) of(m *workload.Message) units.Time {
	if d == nil {
		return 0
	}
	least, exact := d.formula.Time(m)
	if exact {
		return least
	}
	like, ok := d.likeness(m)
	if !ok {
		return 0
	}
	t, known := d.ran[like]
	if !known && len(d.ran) < mostAlone && d.bytes+m.Bytes <= mostAloneBytes && d.ctx.Err() == nil {
		var lost bool
		if t, lost = alone(d.ctx, d.w.Valid, m); lost { // by its own burst; luck decides when it is over
			t = least
		}
		d.ran[like], d.bytes = t, d.bytes+m.Bytes
	}
	return t
}

func (d *ideals) likeness(m *workload.Message) (likeness, bool) {
	v := d.w.Valid
	c := &v.Plan.Conns[m.Conn]
	way := d.formula.Way(m.Conn)
	if way == "" {
		return likeness{}, false
	}
	if v.Windows != nil {
		way += fmt.Sprint(" window ", v.Windows[m.Conn])
	}
	if d.hosts == nil {
		d.hosts = ideal.Alike(v.NICs)
	}
	return likeness{way, m.Verb, m.Back, m.Reply, m.Bytes, d.hosts[v.Graph.HostOf(c.Src)], d.hosts[v.Graph.HostOf(c.Dst)],
		c.SrcDevice, c.DstDevice, c.SrcStaged, c.DstStaged, c.Service, c.Profile, c.Class, c.Inline, c.NoDelay, c.Fence,
		c.InitialRate}, true
}

// alone runs one message of a scenario by itself, on its way, with its cards and hosts, where nothing
// fails, is lost or varies, the connection is open, memory registered and caches hold what it needs.
// It returns the time to its completion, 0 if it has none, and whether anything was sent again.
func alone(ctx context.Context, v *scenario.Valid, m *workload.Message) (t units.Time, lost bool) {
	one := undisturbed(v)
	plan, number, conns := v.Plan.Alone(m)
	if v.Windows != nil {
		one.Windows = nil
		for _, c := range conns {
			one.Windows = append(one.Windows, v.Windows[c])
		}
	}
	one.Plan = plan
	if plan.Finish(one.Graph) != nil {
		return 0, false
	}
	w, err := build.New(one, build.Options{})
	if err != nil {
		return 0, false
	}
	r := Simulate(ctx, w, Options{Workers: 1, alone: true})
	if number >= len(r.Messages) || r.Messages[number].Status != "success" {
		return 0, false
	}
	for i := range r.QPs {
		lost = lost || r.QPs[i].Retransmitted > 0
	}
	return r.Messages[number].CompletionPS, lost
}

// undisturbed is a scenario in which nothing fails, is lost or varies, memory is registered and caches hold what
// they need.
func undisturbed(v *scenario.Valid) *scenario.Valid {
	one := *v
	one.Noise, one.Handshake, one.Close = scenario.Noise{}, false, false
	one.Stop, one.MeasureFrom, one.MeasureTo = units.Never, units.Never, units.Never
	one.Tables, one.Failures = nil, nil
	g := *v.Graph
	g.Links = slices.Clone(g.Links)
	for i := range g.Links {
		k := &g.Links[i]
		k.Loss, k.BER, k.DropEvery, k.Outages = 0, 0, 0, nil
	}
	one.Graph = &g
	one.NICs = slices.Clone(v.NICs)
	for i := range one.NICs {
		n := &one.NICs[i]
		n.Faults, n.MTTCache, n.QPCCache, n.Host.Connect, n.Host.IdleExit = nil, 0, 0, 0, 0
		n.Host.Moderation = host.Moderation{}
		if n.Host.Register == scenario.RegisterOnce {
			n.Host.Register = scenario.RegisterAhead
		}
	}
	return &one
}
