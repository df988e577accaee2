package scenario

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// maxBuffer is the largest buffer of a switch or NIC. Chips have a few hundred
// megabytes; the fabric counts a group's bytes in 32 bits.
const maxBuffer = units.GiB

// pfcSettings is the `pfc` section of a switch or a NIC.
type pfcSettings struct {
	enabled            uint8 // priorities
	silent             uint8 // those of them that never send XOFF
	alphaNum, alphaDen int64
	xoff               units.Bytes // static threshold; 0: alpha
	xonOffset          units.Bytes
	reserved           units.Bytes
	headroom           units.Bytes // -1: by rule
	rule               string      // physicalRule or spectrumRule
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
	drops              bool        // what is larger; else the scenario is refused
	silent             bool        // it writes no telemetry
	pfc                pfcSettings
	watchdog           watchdogSettings
	ecmp               ecmpSettings
	programming        units.Time        // of new tables
	outages            []topology.Outage // of all its links: it is down
	outagesAt          pos
	bounce             [8]uint8 // priority by that of frames that go up after they came down, plus 1; 0: the same
	bounceAt           pos
	ecn                ecnSettings
	lossyNum, lossyDen int64
	lossyPool          units.Bytes // 0: 7/12 of the buffer
	lossyObj           object
	memory             memorySettings
	dscp               [64]uint8
	trustPCP           bool
	pcp                [8]uint8
	strict             uint8
	weight             [fabric.Classes]uint8
	obj                object
}

func defaultPFC() pfcSettings {
	return pfcSettings{enabled: 1 << dataClass, alphaNum: 1, alphaDen: 8, xonOffset: 2496, reserved: 4096,
		headroom: -1, rule: physicalRule, cell: 144, quanta: 65535, refresh: -1, response: -1}
}

func defaultSwitch() switchSettings {
	s := switchSettings{latency: 300 * units.Nanosecond, mtu: 9216, pfc: defaultPFC(),
		watchdog: watchdogSettings{action: record.WatchdogDrop},
		lossyNum: 1, lossyDen: 2, strict: 1<<6 | 1<<7, memory: shortForm()}
	s.ecn.priorities, s.ecn.pmax = -1, -1
	for d := range s.dscp {
		s.dscp[d] = uint8(d / 8) // the class selector: 26 is priority 3, 48 is 6
	}
	for p := range s.pcp {
		s.pcp[p] = uint8(p) // IEEE 802.1Q: priority and code point are the same number
	}
	return s
}

// switchKeys are the keys of a switch section.
func (r *resolver) switchKeys(s *switchSettings) []key {
	return []key{
		sizeKey("buffer", &s.buffer, "Packet memory, up to 1 GiB.").otherwise("16 MiB per 50 Gb/s of the fastest port").
			within(1, int64(maxBuffer), "is no switch buffer; give at most 1GiB, such as 32MiB").unless(r.noEthernet).
			unless(func() string { return when(s.memory.size > 0, "switch.memory gives the size") }),
		sectionKey("memory", r.memoryKeys(s), "Packet memory as deployed: pools, profiles and who takes them, in the words of SAI and SONiC ([model](../models/ethernet.md#packet-memory)). "+
			"`buffer`, `pfc` and `lossy` are a short form of it, and the name of a preset is one of the section.").shortFor("preset").in(&s.memory.obj).opening(func(object) { s.memory.own() }).unless(r.noEthernet),
		timeKey("latency", &s.latency, "Pipeline, after the last bit (cut-through: the header) and before admission.").
			otherwise("300ns; `infiniband`: by the fastest port").within(0, int64(units.Millisecond), "is no switch pipeline; give at most 1ms"),
		eitherKey("forwarding", &s.cutThrough, "store-and-forward", "cut-through", "Whether a switch sends a frame on when it has all of it, or its header.").
			otherwise("`store-and-forward`; `infiniband`: `cut-through`"),
		portMTUKey(&s.mtu).unless(r.noEthernet),
		eitherKey("oversize", &s.drops, "refuse", "drop", "Of packets larger than `mtu`: the scenario is refused, or the switch drops them "+
			"as one whose MTU was forgotten does.").unless(r.noEthernet),
		eitherKey("telemetry", &s.silent, "on", "off", "Whether the switch writes telemetry (INT) into packets that ask for it.").
			unless(func() string {
				return when(!r.compared && !r.needs().INT, "no congestion control asks for telemetry; give controller: hpcc")
			}),
		sectionKey("pfc", r.shortKeys(r.pfcKeys(&s.pfc, true), s), "Priority flow control; `none` switches it off.").
			or("none", func() { s.pfc.enabled = 0 }).in(&s.pfc.obj).unless(r.noEthernet),
		r.watchdogKey(s),
		sectionKey("ecn", r.ecnKeys(&s.ecn), "Marks of congestion; `none` switches them off.").
			or("none", func() { s.ecn.off = true }).in(&s.ecn.obj).opening(func(object) { s.ecn.off = false }).
			finish(s.ecn.check).unless(r.noEthernet),
		sectionKey("lossy", lossyKeys(s), "What priorities without PFC may use; `unlimited`: no threshold but the memory's end.").
			or("unlimited", func() { s.lossyDen = 0 }).in(&s.lossyObj).
			unless(r.noEthernet).unless(func() string { return r.memorySays(s) }),
		eitherKey("trust", &s.trustPCP, "dscp", "pcp", "What gives a frame its priority: its DSCP, or the PCP of its VLAN tag, which needs `vlan: true`.").
			unless(r.noEthernet),
		priorityMapKey("dscp_to_priority", "DSCP", s.dscp[:], "Priorities by DSCP where they differ from the default, such as `{46: 5}`.").
			otherwise("DSCP / 8").unless(r.noEthernet),
		priorityMapKey("pcp_to_priority", "PCP", s.pcp[:], "Priorities by PCP where they differ from the default, such as `{4: 3}`.").
			otherwise("the same number").unless(r.noEthernet).unless(func() string { return r.trustsDSCP(s) }),
		schedulerKey(&s.strict, &s.weight).unless(r.noEthernet),
		r.ecmpKey(s),
		timeKey("programming", &s.programming,
			"How long it takes to write new tables after a link failed or came back, once it knows how.").otherwise("0").
			within(0, int64(10*units.Second), "is no time to write tables; give at most 10s").unless(r.noEthernet).
			unless(func() string { return when(!r.compared && !r.anyDown(), "no link has a down_at") }),
		r.bounceKey(s),
		listedKey("down", func() []key { return switchOutageKeys(new(topology.Outage)) }, func(o object, name string) bool {
			return r.readSwitchOutages(s, o, name)
		}, "When it is down, as when it dies or reboots, such as `[{at: 1ms, until: 60ms}]`: all of its links fail then, and what it holds is lost."),
	}
}

// readSwitch applies the keys of a switch section to s.
func (r *resolver) readSwitch(n *node, path string, s *switchSettings) {
	keys := r.switchKeys(s)
	o := r.d.object(n, path, keys)
	if n != nil {
		s.obj = o
	}
	o.read(keys)
}

// portMTUKey is the largest IP packet of a port.
func portMTUKey(mtu *units.Bytes) key {
	return byteCountKey("mtu", mtu, "128 to 65535", "Largest IP packet of a port, in bytes.", func(v int) bool { return v >= 128 && v <= 65535 },
		"is no port MTU; give the bytes of the largest IP packet, 128 to 65535")
}

// byteCountKey is a number of bytes, with or without B.
func byteCountKey(name string, dst *units.Bytes, values, text string, fits func(v int) bool, wrong string) key {
	k := textKey(name, values, numberOrText(), func(o object, text string) {
		v, err := strconv.Atoi(strings.TrimSuffix(text, "B"))
		if err != nil || !fits(v) {
			o.fail(name, "%q %s", text, wrong)
			return
		}
		*dst = units.Bytes(v)
	}, text)
	k.now = func() string { return strconv.FormatInt(int64(*dst), 10) }
	return k
}

// pfcKeys are the keys of a pfc section; the thresholds exist only in a switch.
func (r *resolver) pfcKeys(p *pfcSettings, isSwitch bool) []key {
	keys := []key{
		prioritiesKey("silent", &p.silent, "Lossless priorities that obey pauses and never send one: they keep thresholds and headroom, and lose frames when memory ends. To see what pauses cost."),
		numberKey("quanta", &p.quanta, 0, 65535, "Pause time sent, in 512 bit times; 0: no timer, paused until XON. Below about twice a full frame's time "+
			"a refresh comes too late and headroom does not hold; the run warns."),
		timeKey("refresh", &p.refresh, "A pause that is still needed is sent again after this.").otherwise("half the pause time").or("never", func() { p.refresh = 0 }),
		timeKey("response", &p.response, "Time from the end of a PFC frame until it is obeyed; `ieee`: IEEE 802.3 31B.3.7 by rate.").
			otherwise("`ieee`").or("ieee", func() { p.response = -1 }),
	}
	if isSwitch {
		keys = append([]key{
			ratioKey("alpha", &p.alphaNum, &p.alphaDen, "XOFF when a priority group's shared use reaches alpha times the free shared pool.").
				check(func(object) { p.xoff = 0 }),
			sizeKey("xoff", &p.xoff, "A fixed threshold in place of `alpha`.").
				nonzero("would pause for ever; give the ingress bytes at which XOFF is sent, such as 200KB").
				check(func(o object) {
					if o.has("alpha") {
						o.fail("xoff", "alpha and xoff are two ways to say the threshold; keep one")
					}
				}),
			sizeKey("xon_offset", &p.xonOffset, "XON when use is this far below XOFF, or zero."),
			sizeKey("reserved", &p.reserved, "Memory per ingress port and lossless priority, before the shared pool."),
			sizeKey("headroom", &p.headroom, "What may arrive after XOFF, per ingress port and lossless priority; `auto`: by `headroom_rule`.").
				otherwise("`auto`").or("auto", func() { p.headroom = -1 }),
			wordKey("headroom_rule", &p.rule, []string{physicalRule, spectrumRule}, "How headroom `auto` is computed: what can physically arrive, or as SONiC does for Spectrum switches, by `switch.mtu` and `mtu`."),
			sizeKey("cell", &p.cell, "Memory cell of Spectrum's rule: 96B Spectrum-1, 144B -2 and -3, 192B -4 and -5, 256B -6.").
				within(32, 1024, "is no buffer cell; give 32B to 1024B").
				unless(func() string {
					return when(p.rule != spectrumRule, "only headroom_rule: spectrum counts these; switch.memory.cell is the memory's")
				}),
		}, keys...)
	}
	keys = unless(keys, func() string { return r.pfcOff(p) })
	return append([]key{prioritiesKey("enabled", &p.enabled, "Lossless priorities.").unless(r.noPFC)}, keys...)
}

// ecnKeys are the keys of an ecn section.
func (r *resolver) ecnKeys(e *ecnSettings) []key {
	const bound = "is no threshold; give 1B to 1GiB, or ecn: none to mark nothing"
	return unless([]key{
		sizeKey("kmin", &e.kmin, "Queue up to which nothing is marked, on the instantaneous egress queue.").otherwise("by link rate").within(1, int64(maxBuffer), bound),
		sizeKey("kmax", &e.kmax, "Queue above which everything is marked.").otherwise("by link rate").within(1, int64(maxBuffer), bound),
		probabilityKey("pmax", &e.pmax, "Probability of a mark at `kmax`, from 0 at `kmin`.").otherwise("by link rate"),
		namedKey("per_rate", func() []key { return redKeys(new(ratedRED)) }, e.readPerRate, "Curves for ports of a rate, such as `{100Gbps: {kmin: 400KB, kmax: 1600KB, pmax: 0.2}}`."),
		eitherKey("at", &e.atEnqueue, "dequeue", "enqueue", "Where packets are marked."),
		otherKey("priorities", "list of 0 to 7, `none`", prioritiesKey("", nil, "").forms, func(o object, name string) bool {
			var mask uint8
			ok := o.priorities(name, &mask)
			if ok {
				e.priorities = int(mask)
			}
			return ok
		}, "Priorities whose packets are marked, and those that are not ECN-capable dropped as often.").otherwise("those of the workload's ECN-capable data"),
	}, func() string { return r.marksNothing(e) })
}

// check refuses a curve that falls.
func (e *ecnSettings) check(o object) {
	if e.kmin > 0 && e.kmax > 0 {
		checkRED(o, fabric.RED{KMin: e.kmin, KMax: e.kmax})
	}
}

// checkRED refuses a curve that falls.
func checkRED(o object, r fabric.RED) {
	if o.d.err == nil && r.KMin > r.KMax {
		o.d.fail(o.at("kmin"), "switch.ecn: kmin %v is above kmax %v; marking starts at kmin and is certain above kmax", r.KMin, r.KMax)
	}
}

// readPerRate reads the curves by rate.
func (e *ecnSettings) readPerRate(o object, name string) bool {
	v := o.n.Get(name)
	if v.Kind != mappingNode {
		o.fail(name, "is %s; it maps link rates to curves, such as {100Gbps: {kmin: 400KB, kmax: 1600KB, pmax: 0.2}}", v.Kind)
		return false
	}
	for _, f := range v.Fields {
		rate, err := units.ParseRate(f.Key)
		if err != nil {
			o.d.fail(f.Pos, "%s: %v", o.join(name), err)
			return false
		}
		row := ratedRED{rate, fabric.RED{PMax: 1}, fromScenario}
		keys := redKeys(&row)
		inner := o.d.object(f.Value, o.join(name)+"."+f.Key, keys)
		if o.d.err == nil && (!inner.has("kmin") || !inner.has("kmax")) {
			o.d.fail(f.Pos, "%s: kmin and kmax are needed", inner.path)
		}
		inner.read(keys)
		checkRED(inner, row.red)
		e.perRate = append([]ratedRED{row}, e.perRate...)
	}
	return true
}

// redKeys are the keys of the curve of one rate.
func redKeys(row *ratedRED) []key {
	return []key{
		sizeKey("kmin", &row.red.KMin, "As `switch.ecn.kmin`, which must be given."),
		sizeKey("kmax", &row.red.KMax, "As `switch.ecn.kmax`, which must be given.").
			within(1, int64(maxBuffer), "is no threshold; give 1B to 1GiB, or ecn: none to mark nothing"),
		probabilityKey("pmax", &row.red.PMax, "As `switch.ecn.pmax`.").otherwise("1"),
	}
}

// lossyKeys are the keys of the lossy section.
func lossyKeys(s *switchSettings) []key {
	return []key{
		ratioKey("alpha", &s.lossyNum, &s.lossyDen, "A queue of a priority without PFC may use alpha times what is free of the pool."),
		sizeKey("pool", &s.lossyPool, "What lossy packets may use together.").otherwise("7/12 of the buffer").
			within(1, int64(maxBuffer), "is no pool of lossy packets; give 1B to 1GiB"),
	}
}

// priorityMapKey says which priority a switch gives each code point of one kind.
func priorityMapKey(name, kind string, prio []uint8, text string) key {
	return otherKey(name, "mapping to 0 to 7", []jsonSchema{mapOf(wholeNumber(0, 7))}, func(o object, name string) bool {
		v := o.n.Get(name)
		if v.Kind != mappingNode {
			o.fail(name, "is %s; it maps %ss to priorities, such as {%d: 3}", v.Kind, kind, min(26, len(prio)-2))
			return false
		}
		for _, f := range v.Fields {
			d, err := strconv.ParseUint(f.Key, 10, 8)
			if err != nil || d >= uint64(len(prio)) {
				o.d.fail(f.Pos, "%s: %q is not a %s from 0 to %d", o.join(name), f.Key, kind, len(prio)-1)
				return false
			}
			p, err := strconv.ParseUint(f.Value.Text, 10, 8)
			if f.Value.Kind != scalarNode || err != nil || p > 7 {
				o.d.fail(f.Value.Pos, "%s: %q is not a priority from 0 to 7", o.join(name), f.Value.Text)
				return false
			}
			prio[d] = uint8(p)
		}
		return true
	}, text)
}

// schedulerKey says how a port shares its link.
func schedulerKey(strict *uint8, weight *[fabric.Classes]uint8) key {
	weights := otherKey("weights", "mapping to 1 to 255", []jsonSchema{mapOf(wholeNumber(1, 255))}, func(o object, name string) bool {
		v := o.n.Get(name)
		if v.Kind != mappingNode {
			o.fail(name, "is %s; it maps priorities to weights, such as {0: 1, 3: 3}", v.Kind)
			return false
		}
		for _, f := range v.Fields {
			p, err := strconv.ParseUint(f.Key, 10, 8)
			if err != nil || p > 7 {
				o.d.fail(f.Pos, "%s: %q is not a priority from 0 to 7", o.join(name), f.Key)
				return false
			}
			w, err := strconv.ParseUint(f.Value.Text, 10, 8)
			if f.Value.Kind != scalarNode || err != nil || w == 0 {
				o.d.fail(f.Value.Pos, "%s: %q is not a weight from 1 to 255", o.join(name), f.Value.Text)
				return false
			}
			weight[p] = uint8(w)
		}
		return true
	}, "Weights of the others, which share by DWRR, in packets of full size, such as `{3: 3, 0: 1}`.").otherwise("1 each")
	return sectionKey("scheduler", []key{
		prioritiesKey("strict", strict, "Priorities that are served first, the highest first."),
		weights,
	}, "How the priorities share a port.")
}
