package metrics

import (
	"fmt"
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

// busyCore is the share from which on a core counts as what a connection is bound
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

// core is the bill of one core.
func (x *index) core(host string, core int, does string) CoreBill {
	b := CoreBill{Host: host, Core: core, Does: does}
	for i := range x.r.Processors {
		p := &x.r.Processors[i]
		for k := range p.ByCore {
			if p.Host == host && p.ByCore[k].Core == core {
				b.add(p.ByCore[k].Times)
				b.Busy = busyOf(&p.ByCore[k]) / x.span
			}
		}
	}
	for k := range b.Causes {
		b.Causes[k].Share = float64(b.Causes[k].CorePS) / float64(max(b.CorePS, 1))
	}
	return b
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

// sayFullCores tells of the cores at both ends of a connection that are full, those of
// the end that sends first; "" if none is.
func (x *index) sayFullCores(q *record.QP) string {
	if !q.Is(catalog.Streams) {
		return ""
	}
	said, known := x.full[q]
	if !known {
		said = x.findFullCores(q)
		x.full[q] = said
	}
	if said != "" {
		x.tells |= tellsCores
	}
	return said
}

func (x *index) findFullCores(q *record.QP) string {
	all := x.fullCores(q)
	if p, ok := x.peer(q); ok {
		all = append(all, x.fullCores(&x.r.QPs[p])...)
	}
	return strings.Join(all, "; ")
}

// fullCores tells of the full cores at one end of a connection, a phrase each.
func (x *index) fullCores(q *record.QP) (all []string) {
	for _, b := range x.coresOf(q) {
		if b.Busy >= busyCore {
			all = append(all, fmt.Sprintf("core %d of %s, with the %s of that end, was busy for %.0f %% of the time to the last completion",
				b.Core, b.Host, b.Does, 100*b.Busy))
		}
	}
	if len(all) > 0 {
		x.tells |= tellsCores
	}
	return all
}

// tells is what an explanation tells of beside its cause.
type tells uint8

const (
	tellsDrops tells = 1 << iota // which port dropped, or link failed
	tellsCores                   // which cores were full
)
