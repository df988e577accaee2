package scenario

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// use says which entries of the workload take an option that patterns take.
type use uint8

const (
	perFlow       use = 1 << iota // items of flows
	ofCalls                       // rpc
	ofCollectives                 // collective
)

// also lets others than patterns take an option.
func (k key) also(uses use) key { k.uses |= uses; return k }

// usedBy picks the options that others take.
func usedBy(keys []key, u use) (out []key) {
	for _, k := range keys {
		if k.uses&u != 0 {
			out = append(out, k)
		}
	}
	return out
}

// entryOptions is what an entry of the workload says beside its ends.
type entryOptions struct {
	workload.Options
	class, dscp int
	size        units.Bytes // unsized: not given
	srq         int         // receives that responders share; 0: each has its own
	enabled     bool        // else its connections are made and send nothing
}

// newOptions is what holds without options.
func (r *resolver) newOptions() *entryOptions {
	e := &entryOptions{Options: workload.DefaultOptions(), size: unsized, enabled: true}
	if r.stack().Credits {
		e.Class, e.DSCP = 0, 0 // service level 0
	}
	e.class, e.dscp = int(e.Class), int(e.DSCP)
	return e
}

// countKey is a key for a number of messages. It takes more than a plan has room for,
// so that those can be refused with the memory that they would need.
func countKey(name string, dst *int, text string) key {
	k, most := numberKey(name, dst, 1, workload.MaxCount, text), numberKey(name, dst, 1, workload.MaxMessages, text)
	k.values, k.forms = most.values, most.forms
	return k
}

// optionKeys are the keys that patterns take.
func (r *resolver) optionKeys(e *entryOptions) []key {
	return grouped("options", joinKeys([]key{
		lineKey("name", new(string), "Name of the entry in reports.").otherwise("the pattern").also(ofCalls | ofCollectives),
		flagKey("enabled", &e.enabled, "`false`: nothing is sent. The connections are made, so that those of other entries keep their numbers, source ports and hashes, and random draws stay the same.").
			also(perFlow | ofCalls | ofCollectives),
		sizeKey("size", &e.size, "Bytes of a message, up to 2^31 (IBTA); an atomic has none, it works on 8 bytes.").also(perFlow),
		textKey("stack", quoted(StackNames()), wordsOf(StackNames()...), func(object, string) {}, // see readEntryStack
			"`tcp` or `dctcp` beside an RDMA stack: on Ethernet connections in a class of their own, 0 unless "+
				"given, see [tcp](#tcp); beside `infiniband` on a network of their own, "+
				"[which no switch joins to the subnet](../models/infiniband.md#ethernet-beside-it).").
			otherwise("the scenario's").also(ofCalls | ofCollectives),
		timeKey("start", &e.Start, "When the first message is posted.").otherwise("0").also(perFlow | ofCalls | ofCollectives),
		countKey("count", &e.Count, "Messages per queue pair.").also(ofCalls),
		timeKey("every", &e.Every, "Time from post to post.").otherwise("0").also(ofCalls),
		numberKey("depth", &e.Depth, 1, workload.MaxMessages, "A closed loop: so many messages of a queue pair are underway "+
			"at most, and the next is posted when one is complete.").otherwise("all that are due").check(func(o object) {
			for _, key := range []string{"every", "trigger", "after"} {
				if o.has(key) {
					o.fail("depth", "posts a message when one is complete, and %s says when as well; keep one", key)
				}
			}
			if !o.has("count") {
				o.fail("depth", "without count there is only one message; give count as well")
			}
		}),
		timeKey("think", &e.Think, "From the completion of a message to the post of the next, with `depth`.").otherwise("0").
			check(func(o object) {
				if !o.has("depth") {
					o.fail("think", "stands with depth, the messages underway of a closed loop; give it as well")
				}
			}),
		numberKey("qps", &e.QPs, 1, 65536, "Queue pairs per pair of ends.").also(ofCalls),
		flagKey("split", &e.Split, "Each message is divided over the queue pairs."),
		r.classKey(e).also(perFlow | ofCalls | ofCollectives),
		numberKey("dscp", &e.dscp, 0, 63, "DSCP of data. Of `class` and `dscp` one follows from the other: 8 * class + 2, or the switch's map.").also(perFlow | ofCalls | ofCollectives),
		listKey("path", "list of nodes", func(o object, name string) bool {
			e.Path = r.readPath(o)
			return true
		}, "Pinned route, `[h0, leaf1, spine2, leaf3, h9]`, both ways.").otherwise("ECMP").also(perFlow | ofCalls),
		numberKey("src_port", &e.SrcPort, 1, 65535, "UDP source port, which ECMP hashes; counted up over `qps`.").otherwise("by the connection's number").also(perFlow | ofCalls),
		numberKey("dst_port", &e.DstPort, 0, 65535, "UDP destination port, only shown in files for other programs.").otherwise("4791").also(perFlow | ofCalls),
		r.afterKey(e),
		r.triggerKey("trigger", &e.Trigger, "Name of the trigger that starts the message, in place of `start`.").also(perFlow),
		r.triggerKey("send_done", &e.SendDone, "Trigger activated when the message completes at the sender, however it ends.").also(perFlow),
		r.triggerKey("recv_done", &e.RecvDone, "Trigger activated when the receiver has the message's last byte.").also(perFlow),
		r.gpuDirectKey("`off`: data of GPUs go through the host's memory; over TCP they always do.").otherwise("the server's").also(ofCalls | ofCollectives),
	}, r.verbKeys(e)))
}

// verbKeys are the options of queue pairs, which a stream of bytes does not have.
func (r *resolver) verbKeys(e *entryOptions) []key {
	rdma := func(why func() string) func() string {
		return func() string {
			if e.sockets() {
				return ""
			}
			return why()
		}
	}
	noReceive := rdma(func() string {
		return when(!e.Verb.TakesReceive(), fmt.Sprintf("an RDMA %s takes no receive; give verb: send", e.Verb))
	})
	placed := rdma(func() string {
		return when(!e.Verb.TakesRKey() && !r.memoryMatters(),
			"a SEND names no memory of its peer, and nothing here depends on which memory it comes from; give verb: write, mtt_cache, or host.registration")
	})
	p := &e.Place
	return unless([]key{
		countedKey("verb", &e.Verb, workload.VerbNames(), "What messages are; `send-imm` and `write-imm` have immediate data, `send-inv` invalidates, `cas` compares and swaps; see [verbs](#verbs).").also(ofCalls),
		countedKey("service", &e.Service, serviceNames(), "`rc` (reliable connection), `uc` (unreliable connection: `write`, `send` and both with immediate), `ud` (unreliable datagram: "+
			"`send` and `send-imm` of at most one packet).").also(ofCalls),
		eitherKey("rkey", &e.WrongRKey, "right", "wrong", "`wrong`: the responder never issued it.").unless(rdma(func() string {
			return when(!e.Verb.TakesRKey() && e.Verb != workload.SendInv, "a SEND carries no R_Key; give verb: write") // SendInv's IETH names one
		})),
		rightsKey(&e.Options).unless(rdma(func() string {
			return when(!e.Verb.TakesRKey(), "a SEND needs no remote access; give verb: write")
		})),
		numberKey("receives", &e.Receives, 0, maxReceives, "Receives posted at the responder, per queue pair, for what takes one (`send`, `send-imm`, `send-inv`, `write-imm`). With `rnr_retry` 7 a SEND "+
			"without a receive is tried for ever; give `stop` as well.").otherwise("`unlimited`").or("none", func() { e.Receives = 0 }).or("unlimited", func() {}).unless(noReceive),
		numberKey("srq", &e.srq, 1, maxReceives, "In place of `receives`: how many are in the receive queue that all responders of the entry on one host share.").unless(noReceive).
			check(func(o object) {
				if o.has("receives") {
					o.fail("srq", "is the receives that all responders share, and receives those of each; keep one")
				}
			}),
		sizeKey("receive_size", &e.ReceiveSize, "Room of each receive, 40 bytes of it for a GRH with `ud`; a longer SEND is refused (`ud`: dropped).").otherwise("enough").
			nonzero("has room for nothing; give the bytes of a receive buffer such as 64KB").unless(noReceive).unless(rdma(func() string {
			return when(e.Verb == workload.WriteImm, fmt.Sprintf("the data of a %s go to the memory that it names, and no byte to the receive; give verb: send-imm", e.Verb))
		})),
		sizeKey("region", &e.Region, "Length of the responder's memory region.").otherwise("as far as its messages reach").
			within(1, int64(workload.MaxRegion), fmt.Sprintf("is no memory region; give 1B to %v", units.Bytes(workload.MaxRegion))).unless(placed),
		sizeKey("offset", &p.Offset, "Where messages begin in the region: a size, `sequential` (one after the other, over and over) or `random` (drawn by the seed among multiples of the "+
			"message's size); the last two need a `region`.").otherwise("0").or("random", func() { p.Order = workload.Random }).or("sequential", func() { p.Order = workload.Sequential }).
			within(0, int64(workload.MaxOffset), fmt.Sprintf("is farther than %v, the longest region", units.Bytes(workload.MaxOffset))).unless(placed),
		flagKey("fence", &e.Fence, "A message waits until all READs and atomics before it on its queue pair are complete.").unless(rdma(func() string {
			return when(e.Fence && e.Verb != workload.Read && !e.Verb.Atomic(),
				fmt.Sprintf("it waits for READs and atomics of the same queue pair, which has only %ss; give verb: read", e.Verb))
		})),
		flagKey("inline", &e.Inline, "The payload stands in the work request, up to `nic.max_inline`.").also(ofCalls),
		rateKey("initial_rate", &e.InitialRate, "Where congestion control starts.").otherwise("`dcqcn.initial_rate`").also(ofCalls).
			nonzero("would never send; give a rate such as 5Gbps").unless(rdma(func() string { return r.atLineRate(e) })),
	}, func() string {
		return when(e.sockets() && !r.compared, "TCP carries a stream of bytes from `from` to `to`")
	})
}

// atLineRate is the reason for a rate to start at where nothing controls rates.
func (r *resolver) atLineRate(e *entryOptions) string {
	const so = ", so flows start at the port's rate"
	switch {
	case e.Service != workload.RC:
		return e.Service.String() + " has no congestion control" + so
	case !r.stack().CC:
		return "the stack " + r.v.Stack + " runs without congestion control" + so
	case !r.controlled():
		return "dcqcn: none leaves no congestion control" + so
	}
	return ""
}

// classKey is the priority of data; on InfiniBand a service level, of which there are more.
func (r *resolver) classKey(e *entryOptions) key {
	most := 7
	if r.stack().Credits {
		most = serviceLevels - 1
	}
	k := numberKey("class", &e.class, 0, most, "Priority of data, 0 to 7. With the stack `infiniband` it is the service level, 0 to 15, 0 unless given.")
	k.values, k.forms = []string{"0 to 15"}, []jsonSchema{wholeNumber(0, serviceLevels-1)}
	return k
}

// settleClass completes class and dscp, of which either follows from the other. Priority p
// has the DSCP of AF p1, 8p+2, so that 3 is 26.
func (r *resolver) settleClass(o object, e *entryOptions) {
	switch {
	case o.has("class") && !o.has("dscp"):
		e.dscp = 8*(e.class&7) + 2
		if e.class == 0 {
			e.dscp = 0
		}
	case o.has("dscp") && !o.has("class"):
		e.class = int(r.baseDSCP[e.dscp])
	}
	e.Class, e.DSCP = uint8(e.class), uint8(e.dscp)
}

// readOptions reads what all patterns share, or calls take of it.
func (r *resolver) readOptions(o object, e *entryOptions, keys []key) {
	r.readEntryStack(o, &e.Options)
	e.class, e.dscp = int(e.Class), int(e.DSCP)
	o.read(keys)
	if r.d.err != nil {
		return
	}
	r.settleClass(o, e)
	r.settleIWARP(o, e)
	e.settleVerb(o)
	checkTrigger(o)
	r.warnIdle(o, keys)
}

// settleVerb checks what the verb and the service allow.
func (e *entryOptions) settleVerb(o object) {
	switch {
	case !e.Service.Allows(e.Verb):
		o.fail("service", "%s carries no %s, only %s; use service: rc", e.Service, e.Verb, suggestList(allowedVerbs(e.Service)))
	case e.Fence && e.Service != workload.RC && e.Service != workload.IWARP:
		o.fail("fence", "waits for READs and atomics, which %s has none of; use service: rc", e.Service)
	case e.Inline && (e.Verb == workload.Read || e.Verb.Atomic()):
		o.fail("inline", "a %s carries no payload to put into the work request; use write or send", e.Verb)
	case e.Verb.Atomic() && e.Region > 0 && e.Region < workload.AtomicSize:
		o.fail("region", "%v does not hold the 8 bytes that a %s works on; give 8B or more", e.Region, e.Verb)
	case e.Place.Order != workload.Fixed && !o.has("region"):
		o.fail("offset", "%s places messages in a region and none is given; give region as well, such as region: 64MB", [...]string{"", "sequential", "random"}[e.Place.Order])
	}
}
