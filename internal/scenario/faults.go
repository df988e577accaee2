package scenario

import (
	"cmp"
	"math"
	"slices"

	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// maxFaults bounds the faults of one card.
const maxFaults = 1000

// faultsKey is what goes wrong with a card for a while.
func (r *resolver) faultsKey(s *nicSettings) key {
	keys := func() []key { return faultKeys(new(card.Fault), new(units.Time)) }
	return listedKey("faults", keys, func(o object, name string) bool {
		return r.readFaults(s, o, name)
	}, "What goes wrong with the card for a while, each a section of its own, such as `[{hang: {from: 1ms, until: 51ms}}]`.")
}

// faultKeys are the keys of an item: one of the kinds of fault.
func faultKeys(f *card.Fault, lapse *units.Time) []key {
	section := func(kind record.FaultKind, text string, more ...key) key {
		return sectionKey(string(kind), append([]key{
			timeKey("from", &f.From, "When it begins.").otherwise("0s"),
			timeKey("until", &f.To, "When it is over.").otherwise("never").or("never", func() { f.To = units.Never }).
				check(func(o object) {
					if f.To <= f.From {
						o.fail("until", "%v is not after from, %v; give a later time", f.To, f.From)
					}
				}),
		}, more...), text).opening(func(object) { f.Kind = kind })
	}
	return []key{
		section(record.FaultHang, "The card takes nothing out of its receive buffer and sends nothing; "+
			"the buffer fills, and then its port pauses the switch."),
		section(record.FaultPauses, "The card pauses its switch in all lossless priorities, whatever its receive buffer holds: "+
			"a pause storm.", timeKey("lapse", lapse, "How far apart on average the pauses let go for 1 ms, at random, as of a "+
			"generator in software that is late for a refresh now and then.").otherwise("never").
			within(int64(2*units.Millisecond), int64(60*units.Second), "is no time between lapses; give 2ms to 60s").
			check(func(o object) {
				if f.To == units.Never {
					o.fail("lapse", "goes on for ever, so that the run would; say until when the card pauses")
				}
			})),
		section(record.FaultSlow, "The host takes data at `rate` at most.", rateKey("rate", &f.Rate, "What it takes.").
			need("say what the host takes such as rate: 1Gbps").nonzero("takes nothing; that is hang")),
	}
}

// readFaults reads the items of faults.
func (r *resolver) readFaults(s *nicSettings, o object, name string) bool {
	s.faults = nil
	for i, item := range o.list(name) {
		f, lapse := card.Fault{To: units.Never}, units.Time(0)
		keys := faultKeys(&f, &lapse)
		in := r.d.object(item, indexed(o.join(name), i), keys)
		if r.d.err == nil {
			if n := len(in.n.Fields); n != 1 {
				r.d.fail(item.Pos, "%s gives %d kinds of fault; give one of hang, pauses, slow", in.path, n)
			}
		}
		in.read(keys)
		if r.d.err != nil {
			return false
		}
		for _, g := range s.faults {
			if g.From < f.To && f.From < g.To && (g.Kind == record.FaultPauses) == (f.Kind == record.FaultPauses) {
				r.d.fail(item.Pos, "%s overlaps another fault of the card that begins at %v; let one end before the other begins",
					in.path, g.From)
				return false
			}
		}
		f.Lapses = r.drawLapses(in, &f, lapse)
		s.faults = append(s.faults, f)
	}
	if len(s.faults) > maxFaults {
		o.fail(name, "lists %d faults of one card; %d at most are simulated", len(s.faults), maxFaults)
	}
	slices.SortStableFunc(s.faults, func(a, b card.Fault) int { return cmp.Compare(a.From, b.From) })
	return r.d.err == nil
}

// mostLapses bounds the lapses of a fault.
const mostLapses = 1_000_000

// drawLapses draws when pauses lapse: at random, so that it is the same at any time how long it takes to
// the next one (a Poisson process), by a stream of the section's own.
func (r *resolver) drawLapses(o object, f *card.Fault, mean units.Time) (all []units.Time) {
	if mean == 0 || r.d.err != nil {
		return nil
	}
	rnd := rng.New(r.v.Seed, "lapse/"+o.path)
	for at := f.From; ; at += units.Millisecond {
		at += units.Time(-math.Log(1-rnd.Float64()) * float64(mean))
		if at >= f.To {
			return all
		}
		if all = append(all, at); len(all) > mostLapses {
			o.fail("pauses", "lapses more than %d times; give an earlier end, or lapses further apart", mostLapses)
			return nil
		}
	}
}

// checkFaults refuses what a host cannot do wrong, and warns of what will not be seen.
func (r *resolver) checkFaults(n int) {
	s, node := &r.nics[n], &r.v.Graph.Nodes[n]
	for _, f := range s.faults {
		switch {
		case f.Kind == record.FaultSlow && s.server.inside() != nil:
			r.d.fail(s.obj.at("faults"), "faults: %s has a server, whose PCIe links drain the receive buffer; "+
				"give slow on a host without, or hang", node.Name)
		case f.Kind == record.FaultPauses && (s.pfc.enabled == 0 || r.stack().Credits):
			r.warn("fault without PFC", "%s: the fault pauses has no effect: no priority of its port has PFC", node.Name)
		case f.Kind == record.FaultSlow:
			r.warnQuickFault(n, f.Rate)
		}
		if r.v.Stop != units.Never && f.From >= r.v.Stop {
			r.warn("fault after stop", "%s: the fault %s from %v is never seen: the run stops at %v",
				node.Name, f.Kind, f.From, r.v.Stop)
		}
	}
}

// warnQuickFault tells of a card that is slow for a while and yet takes all that comes to it.
func (r *resolver) warnQuickFault(n int, rate units.Rate) {
	s, node := &r.nics[n], &r.v.Graph.Nodes[n]
	if s.drain > 0 && rate >= s.drain {
		r.warn("quick fault", "%s: the fault slow at %v has no effect: drain_rate lets it take no more than %v", node.Name,
			rate, s.drain)
		return
	}
	fastest := units.Rate(0)
	for port := range node.Ports {
		fastest = max(fastest, r.v.Graph.LinkAt(n, port).Rate)
	}
	if rate >= fastest {
		r.warn("quick fault", "%s: the fault slow at %v has no effect: its link brings no more than %v", node.Name, rate,
			fastest)
	}
}
