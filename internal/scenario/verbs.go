package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// serviceNames lists the transport services as scenarios write them.
func serviceNames() []string { return []string{"rc", "uc", "ud"} }

// checkInline refuses payload that does not fit the sender's work requests.
func (r *resolver) checkInline() {
	if r.d.err != nil {
		return
	}
	for i := range r.v.Plan.Series {
		m := &r.v.Plan.Series[i]
		c := &r.v.Plan.Conns[m.Conn]
		host := r.v.Graph.HostOf(c.Src)
		if limit := r.nics[host].maxInline; c.Inline && m.Bytes > limit {
			r.d.fail(r.entryPos(c.Entry), "workload[%d]: %v inline is more than the %v that a work request of %s takes; send less, raise max_inline, or leave inline out",
				c.Entry, m.Bytes, limit, r.v.Graph.Nodes[host].Name)
			return
		}
	}
}

// entryPos is the place of a workload entry.
func (r *resolver) entryPos(entry int) pos {
	if w := r.workload; w != nil && entry < len(w.Items) {
		return w.Items[entry].Pos
	}
	return pos{}
}

// allowedVerbs lists the verbs of a service.
func allowedVerbs(s workload.Service) []string {
	var out []string
	for i, name := range workload.VerbNames() {
		if s.Allows(workload.Verb(i)) {
			out = append(out, name)
		}
	}
	return out
}

// verbNotes says of each verb who posts it, what it takes at the other end, and
// the services that carry it.
func verbNotes() (out []record.Note) {
	rights := map[workload.Access]string{workload.RemoteWrite: "REMOTE_WRITE", workload.RemoteRead: "REMOTE_READ", workload.RemoteAtomic: "REMOTE_ATOMIC"}
	for i, name := range workload.VerbNames() {
		v := workload.Verb(i)
		poster := "from"
		if v == workload.Read {
			poster = "to"
		}
		var needs, carried []string
		if v.TakesReceive() {
			needs = append(needs, "a receive")
		}
		if right := rights[v.Right()]; right != "" {
			needs = append(needs, right)
		}
		for k, service := range serviceNames() {
			if workload.Service(k).Allows(v) {
				carried = append(carried, service)
			}
		}
		out = append(out, note("workload.verb "+name, fmt.Sprintf("%s: posted by `%s`; takes %s at its peer; over %s",
			v, poster, strings.Join(needs, " and "), strings.Join(carried, ", ")), "IBTA 9.2.1, 10.7.2, ibv_post_send(3)"))
	}
	return out
}

// rightsKey is what the responder's access flags allow.
func rightsKey(opt *workload.Options) key {
	names := []string{"write", "read", "atomic"}
	const all = workload.RemoteWrite | workload.RemoteRead | workload.RemoteAtomic
	return otherKey("remote_access", "list of `write`, `read`, `atomic`", []jsonSchema{wordsOf(names...), listOf(wordsOf(names...))}, func(o object, name string) bool {
		opt.Denied = all
		for _, item := range o.list(name) {
			at := indexOf(item.Text, names)
			if item.Kind != scalarNode || names[at] != item.Text {
				o.d.fail(item.Pos, "%s: %q is no right; give all, none, or a list of write, read and atomic", o.join(name), item.Text)
				return false
			}
			opt.Denied &^= 1 << at
		}
		return true
	}, "What the responder's access flags allow.").otherwise("`all`").or("all", func() {}).or("none", func() { opt.Denied = all })
}

// maxReceives bounds a receive queue, each entry of which ends in a completion.
// ConnectX adapters hold 32,768 (max_qp_wr).
const maxReceives = 1 << 20

// readSize checks the bytes of a message. An atomic has no choice, and a
// datagram is one packet (IBTA 9.8.4).
func (r *resolver) readSize(o object, e *entryOptions) {
	switch {
	case r.d.err != nil:
		return
	case e.Verb.Atomic():
		if o.has("size") {
			o.fail("size", "a %s works on 8 bytes, always (IBTA); leave size out", e.Verb)
		}
		if e.Split {
			o.fail("split", "a %s cannot be divided; leave split out", e.Verb)
		}
		e.size = workload.AtomicSize
	case !o.has("size"):
		r.d.fail(o.n.Pos, "%s has no size; give the bytes of a message such as size: 64MB", o.path)
	case e.size > workload.MaxBytes && e.Service != workload.UD:
		o.fail("size", "%v is longer than any message; give 0B to %v (2^31 bytes, IBTA), and count for more", e.size, units.Bytes(workload.MaxBytes))
	}
	switch {
	case r.d.err != nil:
	case e.Service == workload.UD && e.size > r.mtu:
		o.fail("size", "%v does not fit a datagram, which is one packet of at most %s B (mtu); send less, or use service: rc", e.size, strconv.FormatInt(int64(r.mtu), 10))
	case e.Place.Order != workload.Fixed && e.size > e.Region:
		o.fail("size", "%v does not fit the region of %v; give a larger region", e.size, e.Region)
	}
}
