package whatif

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Value is a subject's time in an outcome; Never: it has none.
func (l *Lab) Value(s *Subject, o *Outcome) units.Time {
	took, _ := l.value(s, o)
	return took
}

// GainOf is the share of a subject's time that an outcome saves; see Gain.
func (l *Lab) GainOf(s *Subject, o *Outcome) float64 { return gain(l.Value(s, l.base), l.Value(s, o)) }

// AloneWith takes all traffic but that of message i's connection away.
func (l *Lab) AloneWith(i int) Change { return Change{Kind: Alone, Conn: l.keys[i].conn} }

// Named is what takes away the cause that a report names for a subject, and the sentence in
// which it does; none where it names none that can be taken away.
func (l *Lab) Named(s Subject) (changes []Change, said string) {
	for k := range l.Run.Jobs {
		if s.Job == l.Run.Jobs[k].Workload {
			return l.jobNamed(k)
		}
	}
	for k := range l.Run.Collectives {
		if s.Collective == l.Run.Collectives[k].Workload {
			c := l.collectiveClaim(k)
			return c.Changes, c.Text
		}
	}
	claims := l.Claims(s.Message)
	if len(claims) == 0 {
		return nil, ""
	}
	return claims[0].Changes, claims[0].Text
}

// Claims are what the sentences of a report say of message i: the bold one, and what is missing
// to its ceiling.
func (l *Lab) Claims(i int) (out []Claim) {
	d, ceiling := metrics.Explain(l.Run, i)
	if d.TimePS == 0 {
		return nil
	}
	add := func(group, said string, cause *metrics.Cause) {
		c := l.claim(i, cause)
		c.Subject, c.Group, c.Share, c.Text = Subject{Message: i}, group, float64(cause.Milli)/1000, said
		out = append(out, c)
	}
	add("message", d.How, &d.Cause)
	if ceiling != nil && !ceiling.Reached && ceiling.Of.Kind != catalog.NoCause {
		add("missing", ceiling.How, &ceiling.Of)
	}
	return out
}

// claim is what takes a cause of message i's time away.
func (l *Lab) claim(i int, cause *metrics.Cause) Claim {
	c := Claim{Kind: cause.Kind.String(), Changes: l.removals(i, cause), Line: cause.Kind == catalog.CauseLine}
	c.None = !c.Line && len(c.Changes) == 0
	if cause.Then != nil {
		next := l.claim(i, cause.Then)
		c.Next = &next
	}
	return c
}

// removals are the changes of which each takes a cause of message i's time away.
func (l *Lab) removals(i int, cause *metrics.Cause) []Change {
	conn := l.keys[i].conn
	of := func(k Kind) []Change { return []Change{{Kind: k, Conn: conn}} }
	at := func(k Kind) []Change {
		n, ok := l.Valid.Graph.NodeByName(cause.Place.Node)
		if !ok || l.Valid.Graph.Nodes[n].Kind != topology.Host {
			return nil
		}
		return []Change{{Kind: k, Node: n}}
	}
	if wrong := l.setWrong(conn, cause); wrong != nil {
		return wrong
	}
	switch cause.Kind {
	case catalog.CauseReceiver, catalog.CauseCaches:
		return at(Receiver)
	case catalog.CauseFault:
		return at(Fault)
	case catalog.CauseInside:
		return at(PCIe)
	case catalog.CauseCore, catalog.CauseApplication, catalog.CauseSetUp:
		return at(Core)
	case catalog.CauseStaged:
		return []Change{{Kind: GPUDirect}}
	case catalog.CauseMessages:
		return at(Card)
	case catalog.CausePort:
		return l.atPort(conn, &cause.Place)
	case catalog.CauseAck:
		return append(l.atPort(conn, &cause.Place), at(Core)...)
	case catalog.CauseClass:
		return []Change{{Kind: Classes}}
	case catalog.CauseFailure:
		return l.failureOf(&cause.Place)
	case catalog.CauseLoss:
		return []Change{{Kind: Loss}}
	case catalog.CauseWindow, catalog.CauseBitmap:
		return of(Window)
	case catalog.CauseCwnd:
		return of(CongestionWindow)
	case catalog.CausePeerWindow:
		return of(ReceiveWindow)
	case catalog.CauseSendBuffer:
		return of(SendBuffer)
	case catalog.CauseReads:
		return of(ReadDepth)
	case catalog.CauseReceives:
		return of(Receives)
	case catalog.CauseBuffer:
		// The size is that of all input buffers: one of them without end leaves the others.
		return []Change{{Kind: Credits, Node: Everywhere}}
	case catalog.CauseRate:
		return []Change{{Kind: Control}}
	case catalog.CauseOrder:
		return of(Order)
	case catalog.CauseEarlier:
		if k := l.keys[i].nth; k > 0 && !l.ways.bound[conn] {
			return []Change{{Kind: Earlier, Conn: conn, Count: k}}
		}
	case catalog.CauseWorkload:
		for e, name := range l.Valid.Plan.Entries {
			if name == cause.Workload {
				return []Change{{Kind: Entry, Entry: e}}
			}
		}
	}
	return nil
}

// setWrong are the changes that set right what is set wrong at a port.
func (l *Lab) setWrong(conn int, cause *metrics.Cause) []Change {
	switch n, ok := l.Valid.Graph.NodeByName(cause.Place.Node); {
	case cause.Why == catalog.ReasonHeadroom:
		return []Change{{Kind: Headroom}}
	case cause.Why == catalog.ReasonOversize:
		return []Change{{Kind: MTU}}
	case cause.Why == catalog.ReasonMap && ok:
		return []Change{{Kind: Map, Node: n, Conn: conn}}
	}
	return nil
}

// atPort are the changes that take a port away.
func (l *Lab) atPort(conn int, at *record.Place) (out []Change) {
	n, ok := l.Valid.Graph.NodeByName(at.Node)
	port := int(at.Port) - 1
	if !ok || port < 0 || port >= len(l.Valid.Graph.Nodes[n].Ports) {
		return nil
	}
	if l.Valid.Graph.Nodes[n].Kind == topology.Switch {
		out = append(out, Change{Kind: Port, Node: n, Port: port})
	}
	return append(out, Change{Kind: Others, Node: n, Port: port, Conn: conn})
}

// failureOf is the change that takes a link's failure away.
func (l *Lab) failureOf(at *record.Place) []Change {
	g := l.Valid.Graph
	n, ok := g.NodeByName(at.Node)
	port := int(at.Port) - 1
	if !ok || port < 0 || port >= len(g.Nodes[n].Ports) {
		return nil
	}
	return []Change{{Kind: Failure, Link: g.Nodes[n].Ports[port].Link}}
}

// CollectiveClaims are what a report says of the collectives.
func (l *Lab) CollectiveClaims() (out []Claim) {
	for k := range l.Run.Collectives {
		out = append(out, l.collectiveClaim(k))
	}
	return out
}

// collectiveClaim is what a report says of collective k.
func (l *Lab) collectiveClaim(k int) Claim {
	held, ok := metrics.CollectiveCause(lang.English, l.Run, k)
	c := Claim{Kind: catalog.CauseLine.String(), Line: true, Text: held.Sentence(lang.English, ok)}
	if ok {
		c = l.claim(held.Message, &held.Cause)
		c.Share, c.Text = float64(held.Cause.Milli)/1000, held.Sentence(lang.English, ok)
	}
	c.Subject = Subject{Collective: l.Run.Collectives[k].Workload, Message: held.Message}
	c.Group = "collective"
	return c
}
