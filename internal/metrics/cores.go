package metrics

import (
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// CoreBill is what one core of a host did in a run.
type CoreBill struct {
	Host   string
	Core   int    // from 0
	Does   string // for the connection that is asked about
	CorePS units.Time
	Busy   float64      // share of the time from the first post to the last completion
	Causes []CauseShare // of both directions, by their share of CorePS, in the order of the record
}

// busyCore is the share of a message's time from which on a core counts as what its connection is bound
// by.
const busyCore = 0.9

// Cores returns the bills of the cores that work for message i, the sender's
// first; none with RDMA, and where the kernel's work takes no time.
func Cores(r *record.Run, i int) (out []CoreBill) {
	x := newIndex(r)
	k, ok := x.sender(&r.Messages[i])
	if !ok {
		return nil
	}
	out = x.coresOf(&r.QPs[k])
	if p, ok := x.peer(&r.QPs[k]); ok {
		out = append(out, x.coresOf(&r.QPs[p])...)
	}
	return out
}

// What a core does for a connection. Softirqs take frames in and make segments.
const (
	doesBoth        = "application and softirqs"
	doesApplication = "application"
	doesSoftirqs    = "softirqs"
)

// coresOf are the cores of one end of a connection.
func (x *index) coresOf(q *record.QP) []CoreBill {
	c := q.Cores()
	if c == nil {
		return nil
	}
	if c.Application == c.Softirq {
		return []CoreBill{x.core(q.Host, c.Application, doesBoth)}
	}
	return []CoreBill{x.core(q.Host, c.Application, doesApplication), x.core(q.Host, c.Softirq, doesSoftirqs)}
}

// hostCore names a core of a host.
type hostCore struct {
	host string
	core int
}

// core is the bill of one core.
func (x *index) core(host string, core int, does string) CoreBill {
	b := CoreBill{Host: host, Core: core, Does: does}
	if c := x.busy[hostCore{host, core}]; c != nil {
		b.add(c.Times)
		b.Busy = busyOf(c) / x.span
	}
	for k := range b.Causes {
		b.Causes[k].Share = float64(b.Causes[k].CorePS) / float64(max(b.CorePS, 1))
	}
	return b
}

// busyFor is the share of the time that is asked about in which a core was busy, polling that finds
// nothing apart.
func (x *index) busyFor(host string, core int) float64 {
	c := x.busy[hostCore{host, core}]
	switch {
	case c == nil:
		return 0
	case x.known.to == 0 || len(c.Seen) == 0:
		return busyOf(c) / x.span
	}
	return float64(c.Seen.Within(x.known.from, x.known.to)) / float64(max(x.known.to-x.known.from, 1))
}

// add books times, those of one cause together.
func (b *CoreBill) add(times []record.CPUTime) {
	for _, t := range times {
		b.CorePS += t.PS
		k := 0
		for k < len(b.Causes) && b.Causes[k].Cause != t.Cause {
			k++
		}
		if k == len(b.Causes) {
			b.Causes = append(b.Causes, CauseShare{Cause: t.Cause})
		}
		b.Causes[k].CorePS += t.PS
	}
}

// sayFullCores tells of the cores at both ends of a connection that were full in a message's time, those of
// the end that sends first; "" if none was.
func (x *index) sayFullCores(f *record.Message, q *record.QP) string {
	if !q.Is(catalog.Streams) {
		return ""
	}
	defer x.restore(x.known.from, x.known.to)
	x.during(f)
	all := x.fullCores(q, nearlyAll)
	if p, ok := x.peer(q); ok {
		all = append(all, x.fullCores(&x.r.QPs[p], nearlyAll)...)
	}
	return strings.Join(all, "; ")
}

// fullCores tells of the cores at one end of a connection that were busy for a share of the time that is
// asked about at least, a phrase each.
func (x *index) fullCores(q *record.QP, least float64) (all []string) {
	c := q.Cores()
	if c == nil {
		return nil
	}
	tell := func(core int, does string) {
		if busy := x.busyFor(q.Host, core); busy >= least {
			all = append(all, x.l.Sprintf("%s, with the %s of that end, was busy for %.0f %% of its time",
				coreName(x.l, q.Host, core), x.l.Of(does), 100*busy))
			x.tells |= tellsCores
		}
	}
	if c.Application == c.Softirq {
		tell(c.Application, doesBoth)
		return all
	}
	tell(c.Application, doesApplication)
	tell(c.Softirq, doesSoftirqs)
	return all
}

// tells is what an explanation tells of beside its cause.
type tells uint8

const (
	tellsDrops tells = 1 << iota // which port dropped, or link failed
	tellsCores                   // which cores were full
	tellsPlace                   // where it was, and no more
)
