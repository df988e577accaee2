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

// readVerb reads what the messages are and the service that carries them.
func (r *resolver) readVerb(o object, opt *workload.Options) {
	verb, service := workload.VerbNames()[opt.Verb], serviceNames()[opt.Service]
	o.word("verb", &verb, workload.VerbNames()...)
	o.word("service", &service, serviceNames()...)
	for i, name := range workload.VerbNames() {
		if name == verb {
			opt.Verb = workload.Verb(i)
		}
	}
	for i, name := range serviceNames() {
		if name == service {
			opt.Service = workload.Service(i)
		}
	}
	if !opt.Service.Allows(opt.Verb) {
		o.fail("service", "%s carries no %s, only %s; use service: rc", opt.Service, opt.Verb, suggestList(allowedVerbs(opt.Service)))
	}
	o.boolean("fence", &opt.Fence)
	if opt.Fence && opt.Service != workload.RC {
		o.fail("fence", "waits for READs and atomics, which %s has none of; use service: rc", opt.Service)
	}
	o.boolean("inline", &opt.Inline)
	if opt.Inline && (opt.Verb == workload.Read || opt.Verb.Atomic()) {
		o.fail("inline", "a %s carries no payload to put into the work request; use write or send", opt.Verb)
	}
}

// checkInline refuses payload that does not fit the sender's work requests.
func (r *resolver) checkInline() {
	if r.d.err != nil {
		return
	}
	for i := range r.v.Plan.Messages {
		m := &r.v.Plan.Messages[i]
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
	if w := r.workload; w != nil && entry < len(w.items) {
		return w.items[entry].pos
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

// readRights reads what the responder's access flags allow.
func readRights(o object, opt *workload.Options) {
	names := []string{"write", "read", "atomic"}
	o.note("remote_access", wordsOf("all", "none", "write", "read", "atomic"))
	o.note("remote_access", listOf(wordsOf(names...)))
	v := o.n.get("remote_access")
	if v == nil || o.d.err != nil || v.kind == scalarNode && v.text == "all" {
		return
	}
	opt.Denied = workload.RemoteWrite | workload.RemoteRead | workload.RemoteAtomic
	if v.kind == scalarNode && v.text == "none" {
		return
	}
	for _, item := range o.list("remote_access") {
		known := false
		for i, name := range names {
			if item.kind == scalarNode && item.text == name {
				opt.Denied &^= 1 << i
				known = true
			}
		}
		if !known {
			o.d.fail(item.pos, "%s: %q is no right; give all, none, or a list of write, read and atomic", o.join("remote_access"), item.text)
			return
		}
	}
}

// readReceives reads the receives of each queue pair.
func readReceives(o object, opt *workload.Options) {
	o.note("receives", wordsOf("none", "unlimited"))
	if text, ok := o.scalar("receives"); ok && text == "none" {
		opt.Receives = 0
	} else if !ok || text != "unlimited" {
		o.integer("receives", &opt.Receives, 0, maxReceives)
	}
	if o.size("receive_size", &opt.ReceiveSize) && opt.ReceiveSize == 0 {
		o.fail("receive_size", "0 has room for nothing; give the bytes of a receive buffer such as 64KB")
	}
}

// maxReceives bounds a receive queue, each entry of which ends in a completion.
// ConnectX adapters hold 32,768 (max_qp_wr).
const maxReceives = 1 << 20

// readSharedReceives reads the receives of the queue that the responders of an
// entry share on each host; 0: each has its own.
func (r *resolver) readSharedReceives(o object, opt *workload.Options) int {
	n := 0
	if o.integer("srq", &n, 1, maxReceives) && o.has("receives") {
		o.fail("srq", "is the receives that all responders share, and receives those of each; keep one")
	}
	if !opt.Verb.TakesReceive() {
		return 0
	}
	return n
}

// readPlacement reads the responder's memory region and where in it messages
// lie.
func (r *resolver) readPlacement(o object, opt *workload.Options) {
	if o.size("region", &opt.Region) && (opt.Region < 1 || opt.Region > workload.MaxRegion) {
		o.fail("region", "%v is no memory region; give 1B to %v", opt.Region, workload.MaxRegion)
	}
	if opt.Verb.Atomic() && opt.Region > 0 && opt.Region < workload.AtomicSize {
		o.fail("region", "%v does not hold the 8 bytes that a %s works on; give 8B or more", opt.Region, opt.Verb)
	}
	p := &opt.Place
	o.note("offset", wordsOf("random", "sequential"))
	o.note("offset", quantityFor(&p.Offset))
	switch text, ok := o.scalar("offset"); {
	case !ok:
	case text == "random":
		p.Order = workload.Random
	case text == "sequential":
		p.Order = workload.Sequential
	case read(o, "offset", &p.Offset, units.ParseBytes) && p.Offset > workload.MaxOffset:
		o.fail("offset", "%v is farther than %v, the longest region", p.Offset, workload.MaxOffset)
	}
	if p.Order != workload.Fixed && !o.has("region") && o.d.err == nil {
		o.fail("offset", "%s places messages in a region and none is given; give region as well, such as region: 64MB", [...]string{"", "sequential", "random"}[p.Order])
	}
}

// readSize reads the bytes of a message. An atomic has no choice, and a
// datagram is one packet (IBTA 9.8.4).
func (r *resolver) readSize(o object, opt *workload.Options, size *units.Bytes) {
	if opt.Verb.Atomic() {
		if o.has("size") {
			o.fail("size", "a %s works on 8 bytes, always (IBTA); leave size out", opt.Verb)
		}
		if opt.Split {
			o.fail("split", "a %s cannot be divided; leave split out", opt.Verb)
		}
		*size = workload.AtomicSize
	} else {
		if r.d.err == nil && !o.has("size") {
			r.d.fail(o.n.pos, "%s has no size; give the bytes of a message such as size: 64MB", o.path)
		}
		if o.size("size", size) && *size > workload.MaxBytes && opt.Service != workload.UD {
			o.fail("size", "%v is longer than any message; give 0B to %v (2^31 bytes, IBTA), and count for more", *size, units.Bytes(workload.MaxBytes))
		}
	}
	switch {
	case r.d.err != nil || o.describing():
	case opt.Service == workload.UD && *size > r.mtu:
		o.fail("size", "%v does not fit a datagram, which is one packet of at most %s B (mtu); send less, or use service: rc", *size, strconv.FormatInt(int64(r.mtu), 10))
	case opt.Place.Order != workload.Fixed && *size > opt.Region:
		o.fail("size", "%v does not fit the region of %v; give a larger region", *size, opt.Region)
	}
}
