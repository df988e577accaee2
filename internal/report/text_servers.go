package report

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// listedLinks is how many links inside servers are listed, those that were busiest.
const listedLinks = 8

// insideLink is a link and whose it is.
type insideLink struct {
	host, server string
	*record.ServerLink
}

// insides lists the links of all hosts, each host's copy engines behind its links.
func insides(servers []record.Server) (all []insideLink) {
	for i := range servers {
		s := &servers[i]
		for k := range s.Links {
			all = append(all, insideLink{s.Host, s.Server, &s.Links[k]})
		}
		for k := range s.Copies {
			c := &s.Copies[k]
			all = append(all, insideLink{s.Host, s.Server, &record.ServerLink{Name: c.Name(), Kind: "copies",
				PayloadBytes: c.Bytes, Bytes: c.Bytes, Transfers: c.Copies, BusyPS: c.BusyPS}})
		}
	}
	return all
}

// servers writes what went over links inside hosts.
func (t *text) servers() {
	all := insides(t.r.Servers)
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b insideLink) int {
		return cmp.Or(cmp.Compare(b.BusyPS, a.BusyPS), cmp.Compare(b.WaitedPS, a.WaitedPS))
	})
	rest := 0
	if len(all) > listedLinks && !t.opt.Verbose {
		rest = len(all) - listedLinks
		all = all[:listedLinks]
	}
	span := max(t.r.EndPS-t.r.FirstPost(), 1) // what takes its turn may be booked beyond the last end
	tab := &table{columns: []column{
		{title: "Inside\nhosts"}, {title: "\nLink"}, {title: "\nKind", drop: 2}, {title: "\nPayload",
			right: true}, {title: "\nBusy", right: true},
		{title: "Mean\nwait", right: true, drop: 1}, {title: "Longest\nwait", right: true}, {title: "\nat", right: true,
			drop: 3},
	}}
	for _, l := range all {
		wait, longest, at := "-", "-", "-"
		if l.PeakPS > 0 {
			wait, longest, at = metrics.FormatTime(
				l.WaitedPS/units.Time(l.Transfers),
			), metrics.FormatTime(
				l.PeakPS,
			), metrics.FormatTime(
				l.PeakAtPS,
			)
		}
		tab.add(l.host, l.Name, l.Kind, orDash(l.PayloadBytes), percentOf(float64(min(l.BusyPS, span))/float64(span)), wait,
			longest, at)
	}
	t.section()
	t.table(tab)
	if rest > 0 {
		t.prose(t.l.Sprintf("and %d less busy; --verbose lists them", rest), plain)
	}
	t.iommus()
}

// iommus writes what the IOMMUs of hosts did.
func (t *text) iommus() {
	for i := range t.r.Servers {
		s := &t.r.Servers[i]
		for k := range s.IOMMUs {
			m := &s.IOMMUs[k]
			t.prose(
				t.l.Sprintf(
					"IOMMU of %s in %s: %s of %s pages were not in its IOTLB, a walk of %s each; transfers waited %s in all",
					m.Root,
					s.Host,
					metrics.FormatCount(m.Misses),
					metrics.FormatCount(m.Pages),
					metrics.FormatTime(m.WalkPS),
					metrics.FormatTime(m.WaitedPS),
				),
				plain,
			)
		}
	}
}
