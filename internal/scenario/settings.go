package scenario

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/units"
)

// maxBuffer is the largest buffer of a switch or NIC. Chips have a few hundred
// megabytes; the fabric counts a group's bytes in 32 bits.
const maxBuffer = units.GiB

// pfcSettings is the `pfc` section of a switch or a NIC.
type pfcSettings struct {
	enabled            uint8 // priorities
	alphaNum, alphaDen int64
	xoff               units.Bytes // static threshold; 0: alpha
	xonOffset          units.Bytes
	reserved           units.Bytes
	headroom           units.Bytes // -1: by rule
	rule               string      // physical or vendor-cell
	cell               units.Bytes
	quanta             int
	refresh            units.Time // -1: half the pause time
	response           units.Time // -1: IEEE table
	obj                object
}

// ecnSettings is the `ecn` section of a switch.
type ecnSettings struct {
	off        bool
	kmin, kmax units.Bytes // for all rates; 0: by rate
	pmax       float64     // -1: by rate
	perRate    []ratedRED
	priorities int // mask; -1: the classes the workload's data uses
	atEnqueue  bool
	obj        object
}

// ratedRED is the marking curve of ports of one rate.
type ratedRED struct {
	rate units.Rate
	red  fabric.RED
	from string // where the numbers come from
}

// switchSettings is the `switch` section, and what `switches` overrides.
type switchSettings struct {
	buffer             units.Bytes // 0: by the fastest port
	latency            units.Time
	cutThrough         bool
	mtu                units.Bytes // largest IP packet of a port
	pfc                pfcSettings
	ecn                ecnSettings
	lossyNum, lossyDen int64
	lossyPool          units.Bytes // 0: 7/12 of the buffer
	dscp               [64]uint8
	trustPCP           bool
	pcp                [8]uint8
	strict             uint8
	weight             [fabric.Classes]uint8
	obj                object
}

func defaultPFC() pfcSettings {
	return pfcSettings{enabled: 1 << dataClass, alphaNum: 1, alphaDen: 8, xonOffset: 2496, reserved: 4096,
		headroom: -1, rule: "physical", cell: 144, quanta: 65535, refresh: -1, response: -1}
}

func defaultSwitch() switchSettings {
	s := switchSettings{latency: 300 * units.Nanosecond, mtu: 9216, pfc: defaultPFC(),
		lossyNum: 1, lossyDen: 2, strict: 1<<6 | 1<<7}
	s.ecn.priorities, s.ecn.pmax = -1, -1
	for d := range s.dscp {
		s.dscp[d] = uint8(d / 8) // the class selector: 26 is priority 3, 48 is 6
	}
	for p := range s.pcp {
		s.pcp[p] = uint8(p) // IEEE 802.1Q: priority and code point are the same number
	}
	return s
}

// readSwitch applies the keys of a switch section to s.
func readSwitch(d *decoder, n *node, path string, s *switchSettings) {
	o := d.object(n, path, "buffer", "latency", "forwarding", "mtu", "pfc", "ecn", "lossy", "trust",
		"dscp_to_priority", "pcp_to_priority", "scheduler")
	if n != nil {
		s.obj = o
	}
	if o.size("buffer", &s.buffer) && (s.buffer == 0 || s.buffer > maxBuffer) {
		o.fail("buffer", "%v is no switch buffer; give at most 1GiB, such as 32MiB", s.buffer)
	}
	if o.time("latency", &s.latency) && s.latency > units.Millisecond {
		o.fail("latency", "%v is no switch pipeline; give at most 1ms", s.latency)
	}
	fwd := "store-and-forward"
	if o.word("forwarding", &fwd, "store-and-forward", "cut-through") {
		s.cutThrough = fwd == "cut-through"
	}
	readPortMTU(o, &s.mtu)
	readPFC(o, &s.pfc, true)
	readECN(o, &s.ecn)
	readLossy(o, s)
	trust := "dscp"
	if o.word("trust", &trust, "dscp", "pcp") {
		s.trustPCP = trust == "pcp"
	}
	readPriorityMap(o, "dscp_to_priority", "DSCP", s.dscp[:])
	readPriorityMap(o, "pcp_to_priority", "PCP", s.pcp[:])
	readScheduler(o, &s.strict, &s.weight)
}

func readPortMTU(o object, mtu *units.Bytes) {
	text, ok := o.scalar("mtu")
	if !ok {
		return
	}
	v, err := strconv.Atoi(strings.TrimSuffix(text, "B"))
	if err != nil || v < 128 || v > 65535 {
		o.fail("mtu", "%q is no port MTU; give the bytes of the largest IP packet, 128 to 65535", text)
		return
	}
	*mtu = units.Bytes(v)
}

// readPFC reads the pfc section; the thresholds exist only in a switch.
func readPFC(parent object, p *pfcSettings, isSwitch bool) {
	keys := []string{"enabled", "quanta", "refresh", "response"}
	if isSwitch {
		keys = append(keys, "alpha", "xoff", "xon_offset", "reserved", "headroom", "headroom_rule", "cell")
	}
	parent.note("pfc", wordsOf("none"))
	if v := parent.n.get("pfc"); v != nil && v.kind == scalarNode && v.text == "none" {
		p.enabled = 0
		return
	}
	o := parent.object("pfc", keys...)
	if parent.has("pfc") {
		p.obj = o
	}
	o.priorities("enabled", &p.enabled)
	o.integer("quanta", &p.quanta, 0, 65535)
	readOr(o, "refresh", "never", 0, &p.refresh, units.ParseTime)
	readOr(o, "response", "ieee", -1, &p.response, units.ParseTime)
	if !isSwitch {
		return
	}
	o.fraction("alpha", &p.alphaNum, &p.alphaDen)
	if o.size("xoff", &p.xoff) && p.xoff == 0 {
		o.fail("xoff", "0 would pause for ever; give the ingress bytes at which XOFF is sent, such as 200KB")
	}
	if o.has("alpha") && o.has("xoff") {
		o.fail("xoff", "alpha and xoff are two ways to say the threshold; keep one")
	}
	o.size("xon_offset", &p.xonOffset)
	o.size("reserved", &p.reserved)
	readOr(o, "headroom", "auto", -1, &p.headroom, units.ParseBytes)
	o.word("headroom_rule", &p.rule, "physical", "vendor-cell")
	if o.size("cell", &p.cell) && (p.cell < 32 || p.cell > 1024) {
		o.fail("cell", "%v is no buffer cell; give 32B to 1024B", p.cell)
	}
}

// readOr reads a value that may also be the given word.
func readOr[T any](o object, key, word string, meaning T, dst *T, parse func(string) (T, error)) bool {
	o.note(key, wordsOf(word))
	o.note(key, quantityFor(dst))
	if text, ok := o.scalar(key); ok && text == word {
		*dst = meaning
		return true
	}
	return read(o, key, dst, parse)
}

func readECN(parent object, e *ecnSettings) {
	parent.note("ecn", wordsOf("none"))
	if v := parent.n.get("ecn"); v != nil && v.kind == scalarNode && v.text == "none" {
		e.off = true
		return
	}
	o := parent.object("ecn", "kmin", "kmax", "pmax", "per_rate", "at", "priorities")
	if parent.has("ecn") {
		e.obj, e.off = o, false
	}
	at := "dequeue"
	if o.word("at", &at, "enqueue", "dequeue") {
		e.atEnqueue = at == "enqueue"
	}
	var mask uint8
	if o.priorities("priorities", &mask) {
		e.priorities = int(mask)
	}
	o.size("kmin", &e.kmin)
	o.size("kmax", &e.kmax)
	o.probability("pmax", &e.pmax)
	for _, k := range []struct {
		key  string
		size units.Bytes
	}{{"kmin", e.kmin}, {"kmax", e.kmax}} {
		if o.d.err == nil && o.has(k.key) && (k.size == 0 || k.size > maxBuffer) {
			o.fail(k.key, "%v is no threshold; give 1B to 1GiB, or ecn: none to mark nothing", k.size)
		}
	}
	if e.kmin > 0 && e.kmax > 0 {
		checkRED(o, fabric.RED{KMin: e.kmin, KMax: e.kmax})
	}
	if v := o.n.get("per_rate"); v != nil {
		readPerRate(o, v, e)
	}
	if o.describing() {
		var row ratedRED
		readRED(o.d.object(nil, o.path+".per_rate.*", "kmin", "kmax", "pmax"), &row.red)
	}
}

// checkRED refuses a curve that falls.
func checkRED(o object, r fabric.RED) {
	if o.d.err == nil && r.KMin > r.KMax {
		o.d.fail(o.keyPos("kmin"), "switch.ecn: kmin %v is above kmax %v; marking starts at kmin and is certain above kmax", r.KMin, r.KMax)
	}
}

func readPerRate(o object, v *node, e *ecnSettings) {
	if v.kind != mappingNode {
		o.fail("per_rate", "is %s; it maps link rates to curves, such as {100Gbps: {kmin: 400KB, kmax: 1600KB, pmax: 0.2}}", v.kind)
		return
	}
	for _, f := range v.fields {
		rate, err := units.ParseRate(f.key)
		if err != nil {
			o.d.fail(f.pos, "%s.per_rate: %v", o.path, err)
			return
		}
		inner := o.d.object(f.value, o.path+".per_rate."+f.key, "kmin", "kmax", "pmax")
		if o.d.err == nil && (!inner.has("kmin") || !inner.has("kmax")) {
			o.d.fail(f.pos, "%s: kmin and kmax are needed", inner.path)
		}
		row := ratedRED{rate, fabric.RED{PMax: 1}, fromScenario}
		readRED(inner, &row.red)
		e.perRate = append([]ratedRED{row}, e.perRate...)
	}
}

// readRED reads the curve of one rate.
func readRED(o object, red *fabric.RED) {
	o.size("kmin", &red.KMin)
	o.size("kmax", &red.KMax)
	o.probability("pmax", &red.PMax)
	if o.d.err == nil && (red.KMax == 0 || red.KMax > maxBuffer) {
		o.fail("kmax", "%v is no threshold; give 1B to 1GiB, or ecn: none to mark nothing", red.KMax)
	}
	checkRED(o, *red)
}

func readLossy(parent object, s *switchSettings) {
	parent.note("lossy", wordsOf("unlimited"))
	if v := parent.n.get("lossy"); v != nil && v.kind == scalarNode && v.text == "unlimited" {
		s.lossyDen = 0
		return
	}
	o := parent.object("lossy", "alpha", "pool")
	o.fraction("alpha", &s.lossyNum, &s.lossyDen)
	if o.size("pool", &s.lossyPool) && (s.lossyPool == 0 || s.lossyPool > maxBuffer) {
		o.fail("pool", "%v is no pool of lossy packets; give 1B to 1GiB", s.lossyPool)
	}
}

// readPriorityMap reads which priority a switch gives each code point of one
// kind.
func readPriorityMap(o object, key, kind string, prio []uint8) {
	o.note(key, mapOf(wholeNumber(0, 7)))
	v := o.n.get(key)
	if v == nil || o.d.err != nil {
		return
	}
	if v.kind != mappingNode {
		o.fail(key, "is %s; it maps %ss to priorities, such as {%d: 3}", v.kind, kind, min(26, len(prio)-2))
		return
	}
	for _, f := range v.fields {
		d, err := strconv.ParseUint(f.key, 10, 8)
		if err != nil || d >= uint64(len(prio)) {
			o.d.fail(f.pos, "%s: %q is not a %s from 0 to %d", o.join(key), f.key, kind, len(prio)-1)
			return
		}
		p, err := strconv.ParseUint(f.value.text, 10, 8)
		if f.value.kind != scalarNode || err != nil || p > 7 {
			o.d.fail(f.value.pos, "%s: %q is not a priority from 0 to 7", o.join(key), f.value.text)
			return
		}
		prio[d] = uint8(p)
	}
}

func readScheduler(parent object, strict *uint8, weight *[fabric.Classes]uint8) {
	o := parent.object("scheduler", "strict", "weights")
	o.priorities("strict", strict)
	o.note("weights", mapOf(wholeNumber(1, 255)))
	v := o.n.get("weights")
	if v == nil || o.d.err != nil {
		return
	}
	if v.kind != mappingNode {
		o.fail("weights", "is %s; it maps priorities to weights, such as {0: 1, 3: 3}", v.kind)
		return
	}
	for _, f := range v.fields {
		p, err := strconv.ParseUint(f.key, 10, 8)
		if err != nil || p > 7 {
			o.d.fail(f.pos, "%s: %q is not a priority from 0 to 7", o.join("weights"), f.key)
			return
		}
		w, err := strconv.ParseUint(f.value.text, 10, 8)
		if f.value.kind != scalarNode || err != nil || w == 0 {
			o.d.fail(f.value.pos, "%s: %q is not a weight from 1 to 255", o.join("weights"), f.value.text)
			return
		}
		weight[p] = uint8(w)
	}
}
