package scenario

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// calls is an entry of remote procedure calls.
type calls struct {
	entryOptions
	workload.RPC
}

// newCallOptions is what holds without options: calls are SENDs.
func (r *resolver) newCallOptions() *entryOptions {
	e := r.newOptions()
	e.Verb = workload.Send
	return e
}

// callKeys are the keys of remote procedure calls.
func (r *resolver) callKeys(c *calls) []key {
	options := usedBy(r.optionKeys(&c.entryOptions), ofCalls)
	every := find(options, "every")
	every.preset, every.group = "", ""
	every.text = "From the start of a call to that of the next; one call without `every` and `count`, and without `count` as many as begin before `stop`."
	count := find(options, "count")
	count.preset, count.group, count.text = "1", "", "Calls per queue pair."
	verb := find(options, "verb")
	verb.group, verb.text = "", "Of both messages: not what brings the other side nothing that it could answer, `read` and atomics."
	return joinKeys([]key{
		listKey("between", "list of two hosts", readLater, "The client and the server.").need("name the client and the server such as between: [h0, h4]"),
		sizeKey("size", &c.size, "Bytes of both messages, at least 1."),
		sizeKey("request", &c.Request, "Bytes of a request."),
		sizeKey("reply", &c.Reply, "Bytes of a reply."),
		timeKey("think", &c.Think, "From the request's arrival to the post of the reply.").otherwise("0"),
		flagKey("nodelay", &c.NoDelay, "`TCP_NODELAY`, which RPC libraries set; `false` leaves [tcp](#tcp)'s `nagle` on: with it a small request waits until the one before is acknowledged, "+
			"by its reply as a rule.").unless(func() string {
			return when(!c.sockets() && !r.compared, "queue pairs have no Nagle's rule")
		}),
	}, options)
}

// readCalls reads an entry of remote procedure calls between two hosts.
func (r *resolver) readCalls(o object) {
	entry := r.addEntry("rpc", o)
	c := &calls{entryOptions: *r.newCallOptions(), RPC: workload.RPC{NoDelay: true}}
	r.readOptions(o, &c.entryOptions, r.callKeys(c))
	r.asStream(&c.Options)
	client, server := r.readBetween(o)
	r.checkCallSizes(o, c)
	r.readCallCount(o, &c.Options)
	if c.Verb == workload.Read || c.Verb.Atomic() {
		o.fail("verb", "a %s brings the other side nothing that it could answer; use send, send-imm, send-inv, write or write-imm", c.Verb)
	}
	if !c.Service.Reliable() {
		o.fail("service", "%s may lose a message, and then a call never ends; use service: rc", c.Service)
	}
	first, way := len(r.v.Plan.Conns), r.readGPUDirect(o)
	if r.d.err != nil {
		return
	}
	if err := r.v.Plan.RPC(entry, placed{r}, client, server, c.RPC, c.Options); err != nil {
		r.d.fail(o.n.Pos, "%s: %v", o.path, err)
	}
	r.settlePlaces(first, way)
	r.warnGPUDirect(o, first)
}

// readBetween reads the client and the server.
func (r *resolver) readBetween(o object) (client, server int) {
	if r.d.err != nil {
		return 0, 0
	}
	if !o.has("between") {
		r.d.fail(o.n.Pos, "%s has no between; name the client and the server such as between: [h0, h4]", o.path)
		return 0, 0
	}
	items := o.list("between")
	if len(items) != 2 {
		o.fail("between", "names %d hosts; give two, the client and the server, such as [h0, h4]", len(items))
		return 0, 0
	}
	client, server = r.endpoint(o, "between", items[0]), r.endpoint(o, "between", items[1])
	if r.d.err != nil {
		return 0, 0
	}
	if host := (placed{r}).HostOf(client); host == (placed{r}).HostOf(server) {
		r.d.fail(items[1].Pos, "%s: client and server are the same host, %s; give two", o.join("between"), r.v.Graph.Nodes[host].Name)
	}
	return client, server
}

// checkCallSizes completes how long requests and replies are.
func (r *resolver) checkCallSizes(o object, c *calls) {
	if !o.has("request") {
		c.Request = c.size
	}
	if !o.has("reply") {
		c.Reply = c.size
	}
	if o.has("request") && o.has("reply") && o.has("size") {
		o.fail("size", "is of both messages, which have request and reply; leave it out")
	}
	for _, m := range []struct {
		key  string
		size units.Bytes
	}{{"request", c.Request}, {"reply", c.Reply}} {
		key := m.key
		if !o.has(key) {
			key = "size"
		}
		switch {
		case r.d.err != nil:
		case !o.has(key):
			r.d.fail(o.n.Pos, "%s has no %s; give the bytes of both messages such as size: 2KB, or request and reply apart", o.path, m.key)
		case m.size < 1:
			o.fail(key, "a %s of %v asks or tells nothing; give at least 1B", m.key, m.size)
		case m.size > workload.MaxBytes:
			o.fail(key, "%v is longer than any message; give 1B to %v (2^31 bytes, IBTA)", m.size, units.Bytes(workload.MaxBytes))
		}
	}
}

// readCallCount completes how many calls there are and how far apart: without a
// count as many as begin before the run stops.
func (r *resolver) readCallCount(o object, opt *workload.Options) {
	if r.d.err != nil {
		return
	}
	switch stop := r.v.Stop; {
	case o.has("every") && opt.Every == 0:
		o.fail("every", "0 would begin all calls at once; give the time from one to the next such as 50us")
	case opt.Count > 1 && !o.has("every"):
		o.fail("count", "%d calls need to know how far apart they begin; give every as well, such as every: 50us", opt.Count)
	case o.has("count") || !o.has("every"):
	case stop == units.Never:
		o.fail("every", "without count there are calls until the run stops, and no stop is given; give count, or stop")
	case stop <= opt.Start:
		o.fail("start", "%v is not before the run stops, at %v; begin earlier", opt.Start, stop)
	default:
		n := (stop - opt.Start + opt.Every - 1) / opt.Every
		if n > workload.MaxMessages {
			o.fail("every", "%d calls until the run stops are more than %d messages; take a longer time", int64(n), workload.MaxMessages)
			return
		}
		opt.Count = int(n)
	}
}
