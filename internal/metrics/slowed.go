package metrics

import (
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
)

// What is inside hosts slows them though nothing in the network tells them to: links between memories
// and cards, and cores. They are named where they were busy.

const (
	busyLink  = 0.5 // of the time to the last completion that a link inside a host is busy that is named
	nearlyAll = 0.8 // likewise of a core
)

// slowedInside says what inside hosts slowed what they send, and which cores were nearly all the time
// busy, a sentence each, in order of hosts.
func (x *index) slowedInside() (out []string) {
	for i := range x.r.Servers {
		s := &x.r.Servers[i]
		var named []string
		for _, m := range x.trafficOf().inside[s.Host].side(false) {
			q := &x.r.QPs[m.qp]
			l := x.ofItsTime(m.limit)
			shared := x.sharedCard(q.Limits.Path[0].Port, q)
			if slices.Contains(named, l.Link) || l.Bps >= q.Limits.LineBps && shared == "" || !x.linkBusy(s, l.Link) {
				continue
			}
			named = append(named, l.Link)
			out = append(out, x.l.Sprintf("sender host %s: %s, gives %s%s%s; its network link takes up to %s", s.Host, l,
				FormatRate(l.Bps), InsideBut(x.l, l), shared, FormatRate(q.Limits.LineBps)))
		}
	}
	x.eachBusyCore(func(host string, b *CoreBill) {
		out = append(out, x.l.Sprintf("%s was busy for %.0f %% of the time to the last completion, %.0f %% of that with %s",
			coreName(x.l, host, b.Core), 100*b.Busy, 100*b.Causes[0].Share, b.Causes[0].Cause))
	})
	return out
}

func coreName(l lang.Language, host string, core int) string {
	return l.Sprintf("core %d of %s", core, host)
}

// linkBusy reports whether a link inside a host, one way, was busy.
func (x *index) linkBusy(s *record.Server, name string) bool {
	return slices.ContainsFunc(s.Links, func(l record.ServerLink) bool {
		return l.Name == name && float64(l.BusyPS) >= busyLink*x.span
	})
}

// kernels are the cores that work for connections of TCP. Those that post and poll for RDMA are busy
// whatever comes.
func (x *index) kernels() map[hostCore]bool {
	if x.kernel != nil {
		return x.kernel
	}
	x.kernel = map[hostCore]bool{}
	for i := range x.r.QPs {
		q := &x.r.QPs[i]
		if c := q.Cores(); c != nil && q.Is(catalog.Streams) {
			x.kernel[hostCore{q.Host, c.Application}], x.kernel[hostCore{q.Host, c.Softirq}] = true, true
		}
	}
	return x.kernel
}

// eachBusyCore goes through the cores of kernels that were nearly all the time busy, with what they did,
// the longest first.
func (x *index) eachBusyCore(yield func(host string, b *CoreBill)) {
	for i := range x.r.Processors {
		p := &x.r.Processors[i]
		for k := range p.ByCore {
			c := &p.ByCore[k]
			if float64(c.InTimePS) < nearlyAll*x.span || !x.kernels()[hostCore{p.Host, c.Core}] {
				continue
			}
			b := x.core(p.Host, c.Core, "")
			slices.SortStableFunc(b.Causes, func(a, b CauseShare) int { return int(min(max(b.CorePS-a.CorePS, -1), 1)) })
			yield(p.Host, &b)
		}
	}
}

// busyCoreVerdict is the verdict where nothing else dominates and a core has hardly any time left: what
// it works for cannot go much faster. nil: there is none.
func (x *index) busyCoreVerdict(of int) (v *Verdict) {
	most := 0.0
	x.eachBusyCore(func(host string, b *CoreBill) {
		if b.Busy <= most {
			return
		}
		most = b.Busy
		v = &Verdict{Kind: catalog.VerdictCore, Cause: coresAt(host), Of: of}
		v.Text = x.l.Sprintf("%s was busy for %.0f %% of the time, %.0f %% of that with %s: what it works for gains no "+
			"more than "+
			"%.0f %% unless that costs less or is shared with another core",
			coreName(x.l, host, b.Core), 100*b.Busy, 100*b.Causes[0].Share, b.Causes[0].Cause, 100*(1-b.Busy))
	})
	return v
}

// worksAt says what of a host's cores messages waited for: one that was busy, or the work of all of them
// and the interrupts that they wait for.
func (x *index) worksAt(host string) string {
	said := x.l.Of("the cores of ") + host + x.l.Of(" and the interrupts that they wait for")
	x.eachBusyCore(func(at string, b *CoreBill) {
		if at == host {
			said = x.l.Sprintf("%s was busy for %.0f %% of the time", coreName(x.l, host, b.Core), 100*b.Busy)
		}
	})
	return said
}

// limitAt is the limit inside a host that a cause names; nil: it names none.
func (x *index) limitAt(c *Cause) *record.InsideLimit {
	if c.Place.Kind == catalog.AtReceiveBuffer {
		if d := x.drain(c.Place.Node); d != nil {
			return d.Inside
		}
		return nil
	}
	at := x.trafficOf().inside[c.Place.Node]
	for _, write := range [...]bool{false, true} {
		for _, m := range at.side(write) {
			for _, l := range [...]*record.InsideLimit{m.limit, m.limit.Duplex} {
				if l != nil && l.Why == c.Why && record.InsideAt(l.Host, l.String()) == c.Place {
					return l
				}
			}
		}
	}
	return nil
}

// insideHosts puts into words what a reason makes slow at several places, for the verdict.
func insideHosts(l lang.Language, why catalog.Reason, places []record.Place) string {
	var hosts []string
	for i := range places {
		if h := places[i].Node; !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	slices.Sort(hosts)
	at := l.Of("inside ") + listNames(l, hosts, listedNobody)
	switch why {
	case catalog.ReasonACS:
		return at + l.Of(" ACS sends what devices exchange up to the root complex and down again")
	case catalog.ReasonSockets:
		return at + l.Of(" data cross from socket to socket between memory and card (NUMA)")
	}
	return at + l.Of(" cards are in slow slots")
}

// listNames lists the first of some names, and how many more there are.
func listNames(l lang.Language, names []string, most int) string {
	out := ""
	for i, n := range names {
		switch {
		case i == most:
			return l.Sprintf("%s and %d more", out, len(names)-most)
		case i > 0 && i == len(names)-1:
			out += l.Of(" and ")
		case i > 0:
			out += ", "
		}
		out += n
	}
	return out
}
