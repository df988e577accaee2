package scenario

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// rpcKeys are the keys of remote procedure calls.
func rpcKeys() []string {
	return []string{"between", "request", "reply", "think", "nodelay", "name", "size", "verb", "service", "start", "count", "every", "class", "dscp", "stack",
		"qps", "inline", "initial_rate", "gpudirect", "path", "src_port", "dst_port"}
}

// readCalls reads an entry of remote procedure calls between two hosts.
func (r *resolver) readCalls(o object) {
	entry := r.addEntry("rpc", o)
	opt := r.readOptions("rpc", o)
	r.asStream(o, &opt)
	client, server := r.readBetween(o)
	c := workload.RPC{NoDelay: true}
	r.readMessageSizes(o, &c)
	o.time("think", &c.Think)
	if o.boolean("nodelay", &c.NoDelay) && opt.Profile == 0 && !r.compared {
		r.ignored(o, "nodelay", "queue pairs have no Nagle's rule")
	}
	r.readCallCount(o, &opt)
	if opt.Verb == workload.Read || opt.Verb.Atomic() {
		o.fail("verb", "a %s brings the other side nothing that it could answer; use send, send-imm, send-inv, write or write-imm", opt.Verb)
	}
	if opt.Service != workload.RC && opt.Service != workload.TCP {
		o.fail("service", "%s may lose a message, and then a call never ends; use service: rc", opt.Service)
	}
	first, way := len(r.v.Plan.Conns), r.readGPUDirect(o)
	if r.d.err != nil || o.describing() {
		return
	}
	if err := r.v.Plan.RPC(entry, placed{r}, client, server, c, opt); err != nil {
		r.d.fail(o.n.pos, "%s: %v", o.path, err)
	}
	r.settlePlaces(first, way)
	r.warnGPUDirect(o, first)
}

// readBetween reads the client and the server.
func (r *resolver) readBetween(o object) (client, server int) {
	o.need("between")
	o.note("between", listOf(anyScalar()))
	if o.describing() || r.d.err != nil {
		return 0, 0
	}
	if !o.has("between") {
		r.d.fail(o.n.pos, "%s has no between; name the client and the server such as between: [h0, h4]", o.path)
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
		r.d.fail(items[1].pos, "%s: client and server are the same host, %s; give two", o.join("between"), r.v.Graph.Nodes[host].Name)
	}
	return client, server
}

// readMessageSizes reads how long requests and replies are.
func (r *resolver) readMessageSizes(o object, c *workload.RPC) {
	var both units.Bytes
	if o.size("size", &both) {
		c.Request, c.Reply = both, both
	}
	o.size("request", &c.Request)
	o.size("reply", &c.Reply)
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
		case r.d.err != nil || o.describing():
		case !o.has(key):
			r.d.fail(o.n.pos, "%s has no %s; give the bytes of both messages such as size: 2KB, or request and reply apart", o.path, m.key)
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
	if r.d.err != nil || o.describing() {
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
