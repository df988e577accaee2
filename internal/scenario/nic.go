package scenario

import (
	"strconv"
	"strings"

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
	coalesce         string // receiver or sender; empty: as the DCQCN preset has it
	pfc              pfcSettings
	timeout          int // exponent; -1: the recovery's
	retry            int
	rnrRetry         int
	minRNR           int
	recovery         string // empty: the stack's
	bitmap           int    // packets; 0: the default, or more for a larger window
	outOfOrder       bool   // packets come in any order
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
func recoveries() []string { return []string{goBackN, "go-back-0", "selective-repeat", irn} }

const (
	goBackN = "go-back-n"
	irn     = "irn"
)

// defaultNIC holds the defaults of models 4.3: timeout 4.096 us * 2^14, 7
// retries, RNR retry 7 (for ever), RNR timer code 12 (640 us), as the RDMA
// performance tests set them.
func defaultNIC(pfc pfcSettings) nicSettings {
	return nicSettings{ackEvery: 1, ackClass: -1, ackDSCP: -1, cnpClass: cnpClass, cnpDSCP: -1, rxXON: -1,
		pfc: pfc, timeout: -1, retry: 7, rnrRetry: 7, minRNR: 12,
		mtu: 9216, strict: 1<<6 | 1<<7, ttl: 64, rxBuffer: units.MB, miss: cacheMiss,
		maxRd: rdma.DefaultRdAtomic, maxDestRd: rdma.DefaultRdAtomic, maxInline: defaultInline, host: defaultHost()}
}

// nicKeys are the keys of a nic section.
func nicKeys() []string {
	return []string{"ack_every", "ack_class", "ack_dscp", "cnp_class", "cnp_dscp", "rx_buffer", "rx_xoff", "rx_xon",
		"drain_rate", "cnp_coalesce", "pfc", "timeout", "retry", "rnr_retry", "min_rnr_timer", "recovery", "bitmap", "out_of_order", "window",
		"adaptive_timeout", "slow_restart",
		"mtu", "scheduler", "ttl", "mtt_cache", "qpc_cache", "cache_miss",
		"max_rd_atomic", "max_dest_rd_atomic", "max_inline"}
}

// cacheMiss is the median DMA read of 64 B that Neugebauer et al. measured on a
// Xeon E5 (SIGCOMM 2018; models 7.1).
const cacheMiss = 547 * units.Nanosecond

// maxCache bounds the entries of a cache.
const maxCache = 1 << 22

// readNIC applies the keys of a nic section, or of one host's, to s.
func readNIC(o object, s *nicSettings) {
	o.integer("ack_every", &s.ackEvery, 1, 1<<20)
	o.note("ack_class", wordsOf("data"))
	if text, ok := o.scalar("ack_class"); ok && text == "data" {
		s.ackClass = -1
	} else {
		o.integer("ack_class", &s.ackClass, 0, 7)
	}
	o.integer("ack_dscp", &s.ackDSCP, 0, 63)
	o.integer("cnp_class", &s.cnpClass, 0, 7)
	o.integer("cnp_dscp", &s.cnpDSCP, 0, 63)
	readReceiveBuffer(o, s)
	o.word("cnp_coalesce", &s.coalesce, "receiver", "sender")
	readPFC(o, &s.pfc, false)
	o.integer("timeout", &s.timeout, 0, 31)
	o.integer("retry", &s.retry, 0, 7)
	o.integer("rnr_retry", &s.rnrRetry, 0, 7)
	o.integer("min_rnr_timer", &s.minRNR, 0, 31)
	o.word("recovery", &s.recovery, recoveries()...)
	o.integer("bitmap", &s.bitmap, 1, rdma.MaxBitmap)
	o.boolean("out_of_order", &s.outOfOrder)
	readWindow(o, &s.window)
	readAdaptiveTimeout(o, &s.adaptive)
	readSlowRestart(o, &s.slow)
	readPortMTU(o, &s.mtu)
	readScheduler(o, &s.strict, &s.weight)
	o.integer("ttl", &s.ttl, 1, 255)
	readOutstanding(o, s)
	readCache(o, "mtt_cache", &s.mtt)
	readCache(o, "qpc_cache", &s.qpc)
	if readCost(o, "cache_miss", &s.miss) && s.miss == 0 {
		o.fail("cache_miss", "0 is no fetch over PCIe; give a time such as 547ns, or leave the caches out")
	}
}

// defaultInline is the payload that RDMA performance tests put into WRITE work
// requests (models 4.3), and maxInline more than any card's.
const defaultInline, maxInline = 220 * units.Byte, 4 * units.KiB

// readOutstanding reads the limits of READs and atomics, 8 bits in IBTA's
// connection messages (12.7.29), of which devices have up to 128, and of inline
// payload.
func readOutstanding(o object, s *nicSettings) {
	for _, k := range []struct {
		key string
		n   *int
	}{{"max_rd_atomic", &s.maxRd}, {"max_dest_rd_atomic", &s.maxDestRd}} {
		if text, ok := o.scalar(k.key); ok && text == "0" {
			o.fail(k.key, "0 would let no READ or atomic through; give 1 to 128, such as 16")
		}
		o.integer(k.key, k.n, 1, 128)
	}
	if o.size("max_inline", &s.maxInline) && s.maxInline > maxInline {
		o.fail("max_inline", "%v is more than any card takes; give at most %v", s.maxInline, units.Bytes(maxInline))
	}
}

// readCache reads the entries of a cache.
func readCache(o object, key string, n *int) {
	o.note(key, wordsOf("unlimited"))
	if text, ok := o.scalar(key); ok && text == "unlimited" {
		*n = 0
		return
	}
	o.integer(key, n, 1, maxCache)
}

// cached reports whether the card can miss something that lies in host memory.
func (s *nicSettings) cached() bool { return s.mtt > 0 || s.qpc > 0 }

// drains reports whether frames wait in the card's receive buffer for the host.
func (s *nicSettings) drains() bool { return s.drain > 0 || s.cached() || s.server.inside() != nil }

func readReceiveBuffer(o object, s *nicSettings) {
	if o.size("rx_buffer", &s.rxBuffer) && (s.rxBuffer == 0 || s.rxBuffer > maxBuffer) {
		o.fail("rx_buffer", "%v is no receive buffer; give at most 1GiB, such as 1MB", s.rxBuffer)
	}
	o.size("rx_xoff", &s.rxXOFF)
	o.size("rx_xon", &s.rxXON)
	if o.rate("drain_rate", &s.drain) && s.drain == 0 {
		o.fail("drain_rate", "0 would never drain; give a rate, or leave the key out for a host that keeps up")
	}
	if o.d.err != nil {
		return
	}
	if s.rxXOFF > s.rxBuffer {
		o.fail("rx_xoff", "%v is above rx_buffer %v; XOFF must leave headroom below the buffer's end", s.rxXOFF, s.rxBuffer)
	}
	if s.rxXOFF > 0 && s.rxXON >= s.rxXOFF {
		o.fail("rx_xon", "%v is not below rx_xoff %v; XON must lie below XOFF", s.rxXON, s.rxXOFF)
	}
}

// readWindow reads none, a size, or "n bdp".
func readWindow(o object, w *window) {
	text, ok := o.scalar("window")
	if !ok {
		return
	}
	defer func() { w.given = true }()
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
	if o.size("window", &w.bytes) && w.bytes == 0 {
		o.fail("window", "0 lets nothing be sent; write none, a size or a multiple such as 1 bdp")
	}
}
