package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// insides says what inside hosts bounded the run: a receiver that did not take what came
// as fast as it came, or a hop that was busier than any port of the network.
func (t *story) insides() string {
	if len(t.r.Servers) == 0 {
		return ""
	}
	const shown = 2 // receivers that are named
	var out, said []string
	for _, p := range metrics.SlowReceivers(t.r) {
		in := p.Limits.Inside
		if !slices.Contains(said, p.Node) { // it has a port per class
			if said = append(said, p.Node); len(said) > shown {
				continue
			}
			out = append(out, t.l.Sprintf("receiver host %s took no more than %s (%s)", p.Node,
				metrics.FormatRate(in.Bps)+metrics.InsideBut(t.l, in), in))
		}
	}
	switch more := len(said) - shown; {
	case more == 1:
		out = append(out, t.l.Of("one more receiver host"))
	case more > 1:
		out = append(out, t.l.Sprintf("%d more receiver hosts", more))
	}
	if busy := t.busiest(said); busy != "" {
		out = append(out, busy)
	}
	return listed(t.l, out)
}

// hop is something inside a host that carries one thing at a time.
type hop struct {
	host, name string
	busy       units.Time
}

// busiest says what inside hosts, other than those named already, was busy for nearly
// all of the run and for longer than any port of the network. Of several hosts it names
// the busiest hop, and how busy that of the others was at least.
func (t *story) busiest(said []string) string {
	span := max(t.r.EndPS-t.base, 1)
	least := max(units.Time(busyShare*float64(span)), t.longestPort(span))
	var found []hop
	for i := range t.r.Servers {
		s := &t.r.Servers[i]
		if most := busiestOf(s); most.busy >= least && !slices.Contains(said, s.Host) {
			found = append(found, most)
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.SortStableFunc(found, func(a, b hop) int { return cmp.Compare(b.busy, a.busy) })
	percent := func(h hop) int64 { return min(100*int64(h.busy)/int64(span), 100) }
	text := t.l.Sprintf("%s of %s was busy for %d %% of the time", found[0].name, found[0].host, percent(found[0]))
	switch last := found[len(found)-1]; len(found) {
	case 1:
	case 2:
		text += t.l.Sprintf(" and %s of %s for %d %%", last.name, last.host, percent(last))
	default:
		text += t.l.Sprintf(", hops of %d other hosts for at least %d %%", len(found)-1, percent(last))
	}
	return text + t.l.Of(", no port of the network for as long")
}

// busiestOf is the hop of a server that was busy for longest.
func busiestOf(s *record.Server) (most hop) {
	most.host = s.Host
	for k := range s.Links {
		if l := &s.Links[k]; l.BusyPS > most.busy {
			most.name, most.busy = hopName(l), l.BusyPS
		}
	}
	for k := range s.Copies {
		if c := &s.Copies[k]; c.BusyPS > most.busy {
			most.name, most.busy = "the "+c.Name(), c.BusyPS
		}
	}
	return most
}

// hopName says which hop a link or memory is, and of what kind.
func hopName(l *record.ServerLink) string {
	name := "link " + l.Name
	if strings.HasPrefix(l.Name, record.MemoryOf) {
		name = l.Name
	}
	return fmt.Sprintf("%s (%s)", name, l.Kind)
}

// longestPort is the time for which the wire of the busiest port was in use.
func (t *story) longestPort(span units.Time) units.Time {
	most, sum := 0.0, 0.0
	for i := range t.r.Ports {
		p := &t.r.Ports[i]
		if i == 0 || p.Node != t.r.Ports[i-1].Node || p.Port != t.r.Ports[i-1].Port {
			sum = 0
		}
		sum += p.Utilisation // classes of a port follow each other
		most = max(most, sum)
	}
	return units.Time(most * float64(span))
}
