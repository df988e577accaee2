package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/rdma"
	"github.com/hopscope/hopscope/internal/units"
)

// Classes and code points of RoCEv2 as NICs ship them: data in priority 3 with
// DSCP 26 (AF31), CNPs in priority 6 with DSCP 48 (models 1.3: cnp_dscp 48,
// cnp_802p_prio 6).
const (
	dataClass = 3
	cnpClass  = 6
	cnpDSCP   = 48
)

// sameAsData marks a class or DSCP that follows the packet being answered.
const sameAsData = 255

// nicSettings is the `nic` section, and what `hosts` overrides.
type nicSettings struct {
	ackEvery         int
	ackClass         int // -1: the data's
	ackDSCP          int // -1: follows ackClass
	cnpClass         int
	cnpDSCP          int // -1: follows cnpClass
	rxBuffer         units.Bytes
	rxXOFF           units.Bytes // 0: rxBuffer less headroom
	rxXON            units.Bytes // -1: half of XOFF
	drain            units.Rate
	faults           []card.Fault
	keepsUp          bool       // drain_rate: none
	coalesce         string     // receiver or sender; empty: as the DCQCN preset has it
	cnpInterval      units.Time // negative: as DCQCN or the card has it
	pfc              pfcSettings
	timeout          int // exponent; -1: the recovery's
	retry            int
	rnrRetry         int
	minRNR           int
	recovery         string // empty: the stack's
	bitmap           int    // packets; 0: the default, or more for a larger window
	outOfOrder       bool   // packets come in any order
	ordered          bool   // out_of_order: false stands in the scenario
	window           window
	adaptive         rdma.AdaptiveTimeout
	slow             rdma.SlowRestart
	mtu              units.Bytes
	strict           uint8
	weight           [fabric.Classes]uint8
	ttl              int
	maxRd, maxDestRd int         // READs and atomics outstanding
	maxInline        units.Bytes // payload in a work request
	mtt, qpc         int         // entries of the caches; 0: room for all
	miss             units.Time  // of one fetch
	host             hostSettings
	hostOwn          object // what `hosts` has for this host
	server           *serverSettings
	card             card.Spec
	obj              object
}

// window is the limit on bytes in flight: none, bytes, or a multiple of the
// bandwidth-delay product.
type window struct {
	bytes    units.Bytes
	num, den int64 // of the BDP; den 0: not relative
	given    bool
}

// recoveries lists the words of `recovery`. Except for go-back-n they are
// names of transport presets.
func recoveries() []string { return []string{goBackN, "go-back-0", selectiveRepeat, irn} }

const (
	goBackN         = "go-back-n"
	selectiveRepeat = "selective-repeat"
	irn             = "irn"
)

// defaultNIC holds the defaults of models 4.3: timeout 4.096 us * 2^14, 7
// retries, RNR retry 7 (for ever), RNR timer code 12 (640 us), as the RDMA
// performance tests set them.
func defaultNIC(pfc pfcSettings) nicSettings {
	ideal, _ := card.Preset(card.Ideal)
	return nicSettings{card: ideal, ackEvery: 1, ackClass: -1, ackDSCP: -1, cnpClass: cnpClass, cnpDSCP: -1, cnpInterval: -1,
		rxXON: -1, pfc: pfc, timeout: -1, retry: 7, rnrRetry: 7, minRNR: 12,
		mtu: 9216, strict: 1<<6 | 1<<7, ttl: 64, rxBuffer: units.MB, miss: cacheMiss,
		maxRd: rdma.DefaultRdAtomic, maxDestRd: rdma.DefaultRdAtomic, maxInline: defaultInline, host: defaultHost()}
}

// cacheMiss is the median DMA read of 64 B that Neugebauer et al. measured on a
// Xeon E5 (SIGCOMM 2018; models 7.1).
const cacheMiss = 547 * units.Nanosecond

// maxCache bounds the entries of a cache.
const maxCache = 1 << 22

// nicKeys are the keys of a nic section.
func (r *resolver) nicKeys(s *nicSettings) []key {
	keys := joinKeys([]key{cardPresetKey(s)}, r.cardKeys(s), r.answerKeys(s), r.receiveBufferKeys(s), []key{
		r.faultsKey(s),
		sectionKey("pfc", r.pfcKeys(&s.pfc, false), "Priority flow control of the card's ports; `none` switches it off.").otherwise("as `switch.pfc`").
			or("none", func() { s.pfc.enabled = 0 }).in(&s.pfc.obj).unless(r.noEthernet),
	}, r.recoveryKeys(s), []key{
		textKey("window", "size, multiple such as `1 bdp`, `none`", numberOrText(), s.window.read,
			"Bytes in flight per connection: `none` bounds them not; a BDP is the idle round trip times the lowest rate of the path.").
			otherwise("`none`; `irn`: `1 bdp`").check(func(object) { s.window.given = true }),
		adaptiveTimeoutKey(&s.adaptive).unless(func() string { return notAdaptive(s) }),
		slowRestartKey(&s.slow),
		portMTUKey(&s.mtu).unless(r.noEthernet),
		schedulerKey(&s.strict, &s.weight).unless(r.noEthernet),
		numberKey("ttl", &s.ttl, 1, 255, "TTL of data packets."),
		cacheKey("mtt_cache", &s.mtt, "Entries of the card's cache of page translations (of `host.page_size`)."),
		cacheKey("qpc_cache", &s.qpc, "Entries of the card's cache of queue pair contexts."),
		costKey("cache_miss", &s.miss, "Time of a fetch from host memory, for which the receiving pipeline, or a queue pair about to send, waits: "+
			"the median DMA read of 64 B on a Xeon E5 (Neugebauer et al., SIGCOMM 2018).").
			nonzero("is no fetch over PCIe; give a time such as 547ns, or leave the caches out").
			unless(func() string { return when(!s.cached(), "nothing is ever missed; give mtt_cache or qpc_cache as well") }),
		outstandingKey("max_rd_atomic", &s.maxRd, "READs and atomics that a requester has outstanding, as far as the responder has room. 16 is what ConnectX adapters report."),
		outstandingKey("max_dest_rd_atomic", &s.maxDestRd, "READs and atomics that a responder has room for."),
		sizeKey("max_inline", &s.maxInline, "Largest payload of an `inline` message, up to 4 KiB; the default is what RDMA performance tests ask for.").
			within(0, int64(maxInline), fmt.Sprintf("is more than any card takes; give at most %v", units.Bytes(maxInline))),
	})
	for _, name := range []string{"nak_delay", "nak_reaction_delay", "nak_cnp", "ack_every", "timeout", "retry", "rnr_retry",
		"min_rnr_timer", "recovery", "bitmap", "out_of_order", "window", "adaptive_timeout", "slow_restart", "max_rd_atomic",
		"max_dest_rd_atomic"} {
		k := find(keys, name)
		k.idle = append([]func() string{r.noRDMA}, k.idle...)
		if !strings.HasSuffix(name, "rd_atomic") {
			k.idle = append([]func() string{r.repairedByTCP}, k.idle...)
		}
	}
	for _, name := range []string{"mtt_cache", "qpc_cache"} {
		k := find(keys, name)
		k.idle = append(k.idle, r.uncached)
	}
	return keys
}

// answerKeys say how ACKs, NAKs and CNPs are sent.
func (r *resolver) answerKeys(s *nicSettings) []key {
	return joinKeys([]key{
		numberKey("ack_every", &s.ackEvery, 1, 1<<20, "Acknowledge every n packets; the last of a message always."),
		numberKey("ack_class", &s.ackClass, 0, 7, "Priority of ACKs and NAKs; a number also gives them the DSCP 8n, so that switches follow.").
			otherwise("`data`").or("data", func() { s.ackClass = -1 }).unless(r.noEthernet),
		numberKey("ack_dscp", &s.ackDSCP, 0, 63, "DSCP of ACKs, when switches should not follow.").unless(r.noEthernet),
	}, unless([]key{
		numberKey("cnp_class", &s.cnpClass, 0, 7, "Priority of CNPs.").unless(r.noEthernet),
		numberKey("cnp_dscp", &s.cnpDSCP, 0, 63, "DSCP of CNPs.").otherwise("8 * `cnp_class`").unless(r.noEthernet),
		wordKey("cnp_coalesce", &s.coalesce, coalescers(), "Which end keeps CNPs apart: `receiver` (first-generation cards) or `sender` (later ones).").
			otherwise("as the DCQCN preset").unless(r.noEthernet),
		timeKey("cnp_interval", &s.cnpInterval, "Least time between two CNPs that this card sends, or with "+
			"`cnp_coalesce: sender` heeds, over `dcqcn.min_time_between_cnps`. Where a receiver that sends few meets a sender "+
			"that heeds few, CNPs are kept apart twice ([model](../models/dcqcn.md#the-limiter-of-cnps)).").otherwise("as `dcqcn` or the card has it").
			unless(r.noEthernet),
	}, r.noCNP))
}

// coalescers are the ends that can keep CNPs apart.
func coalescers() []string {
	return namesOf([]congestion.Coalesce{congestion.AtReceiver, congestion.AtSender})
}

// recoveryKeys say what happens when packets are lost.
func (r *resolver) recoveryKeys(s *nicSettings) []key {
	notKept := func() string { return r.keepsNothing(s) }
	return []key{
		numberKey("timeout", &s.timeout, 0, 31, "Retransmission timeout 4.096 us * 2^n; 0: none. With `recovery: irn` and none given: 320 us, and 100 us with at most 3 "+
			"packets in flight, which a given one bounds too.").otherwise("14"),
		numberKey("retry", &s.retry, 0, 7, "Retries after a timeout or a NAK."),
		numberKey("rnr_retry", &s.rnrRetry, 0, 7, "Retries after an RNR NAK; 7: without end."),
		numberKey("min_rnr_timer", &s.minRNR, 0, 31, "RNR NAK timer code (12: 640 us)."),
		wordKey("recovery", &s.recovery, recoveries(), "`go-back-n`; `selective-repeat`: what is lost alone again; `irn`: the same by IRN's rules, with `window: 1 bdp` and timeouts "+
			"of 100 and 320 us unless given; `go-back-0`: each loss sends the whole message again, so that a long one may never complete. Both ends of a connection "+
			"must be selective, or neither ([rc](../models/rc.md)).").otherwise("the stack's; `selective-repeat` in place of `go-back-n` where `routing` lets packets " +
			"overtake each other and all cards can"),
		numberKey("bitmap", &s.bitmap, 1, rdma.MaxBitmap, "With selective repeat: packets that the responder keeps ahead of a missing one; a sender has no more outstanding, so that a "+
			"window must fit.").otherwise("512, or more for a larger window, or for two round trips where `routing` lets packets " +
			"overtake each other").unless(notKept),
		flagKey("out_of_order", &s.outOfOrder, "With selective repeat: packets are expected in any order, so that a gap is no loss and brings no NAK; the timer alone tells of "+
			"losses. For a `routing` that lets packets overtake each other.").
			otherwise("`false`; `true` with such a `routing` where neither queues nor links drop").
			check(func(object) { s.ordered = !s.outOfOrder }).unless(func() string {
			if !s.outOfOrder {
				return ""
			}
			return notKept()
		}),
	}
}

// defaultInline is the payload that RDMA performance tests put into WRITE work
// requests (models 4.3), and maxInline more than any card's.
const defaultInline, maxInline = 220 * units.Byte, 4 * units.KiB

// outstandingKey is a limit of READs and atomics, 8 bits in IBTA's connection messages
// (12.7.29), of which devices have up to 128.
func outstandingKey(name string, n *int, text string) key {
	k := numberKey(name, n, 1, 128, text)
	parse := k.parse
	k.parse = func(o object, name string) bool {
		if text, ok := o.scalar(name); ok && text == "0" {
			o.fail(name, "0 would let no READ or atomic through; give 1 to 128, such as 16")
		}
		return parse(o, name)
	}
	return k
}

// cacheKey is the number of entries of a cache.
func cacheKey(name string, n *int, text string) key {
	return numberKey(name, n, 1, maxCache, text).otherwise("`unlimited`").or("unlimited", func() { *n = 0 })
}

// cached reports whether the card can miss something that lies in host memory.
func (s *nicSettings) cached() bool { return s.mtt > 0 || s.qpc > 0 }

// drains reports whether frames wait in the card's receive buffer for the host.
func (s *nicSettings) drains() bool {
	return s.drain > 0 || s.cached() || s.server.inside() != nil || len(s.faults) > 0
}

// receiveBufferKeys say where frames wait for the host.
func (r *resolver) receiveBufferKeys(s *nicSettings) []key {
	undrained, off := func() string { return r.undrained(s) }, func() string { return r.dropsWhenFull(s) }
	return []key{
		sizeKey("rx_buffer", &s.rxBuffer, "Receive buffer, with `drain_rate`.").
			within(1, int64(maxBuffer), "is no receive buffer; give at most 1GiB, such as 1MB").unless(r.noEthernet).unless(undrained),
		sizeKey("rx_xoff", &s.rxXOFF, "Where the NIC pauses the switch.").otherwise("the buffer less headroom").
			unless(r.noEthernet).unless(undrained).unless(off),
		sizeKey("rx_xon", &s.rxXON, "Where it lets the switch go on.").otherwise("half of XOFF").unless(r.noEthernet).unless(undrained).unless(off),
		rateKey("drain_rate", &s.drain, "Rate at which the host empties the receive buffer; without it the host keeps up. `none`: it keeps up in any case, also where `preset` brings a PCIe link along.").
			or("none", func() { s.drain, s.keepsUp = 0, true }).check(func(object) { s.keepsUp = false }).
			nonzero("would never drain; give a rate, or leave the key out for a host that keeps up"),
	}
}

// checkReceiveBuffer compares its sizes.
func (s *nicSettings) checkReceiveBuffer(o object) {
	switch {
	case o.d.err != nil:
	case s.rxXOFF > s.rxBuffer:
		o.fail("rx_xoff", "%v is above rx_buffer %v; XOFF must leave headroom below the buffer's end", s.rxXOFF, s.rxBuffer)
	case s.rxXOFF > 0 && s.rxXON >= s.rxXOFF:
		o.fail("rx_xon", "%v is not below rx_xoff %v; XON must lie below XOFF", s.rxXON, s.rxXOFF)
	}
}

// read reads none, a size, or "n bdp".
func (w *window) read(o object, text string) {
	if text == "none" {
		*w = window{}
		return
	}
	if times, isBDP := strings.CutSuffix(strings.ToLower(text), "bdp"); isBDP {
		num, den, ok := parseFraction(strings.TrimSpace(times))
		if !ok {
			o.fail("window", "%q is not a multiple of the BDP; write 1 bdp, 1.5 bdp", text)
		}
		*w = window{num: num, den: den}
		return
	}
	*w = window{}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		o.fail("window", "%q has no unit; write none, a size such as 64KB, or a multiple such as 1 bdp", text)
		return
	}
	if read(o, "window", &w.bytes, units.ParseBytes) && w.bytes == 0 {
		o.fail("window", "0 lets nothing be sent; write none, a size or a multiple such as 1 bdp")
	}
}
