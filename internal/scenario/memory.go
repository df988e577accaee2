package scenario

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// The names that pools and profiles have in SONiC's files. A group or queue that nothing else
// is said of takes the profile of its kind.
const (
	losslessPool       = "ingress_lossless_pool"
	egressLosslessPool = "egress_lossless_pool"
	egressLossyPool    = "egress_lossy_pool"

	losslessGroup = "pg_lossless_profile"
	lossyGroup    = "ingress_lossy_profile"
	losslessQueue = "egress_lossless_profile"
	lossyQueue    = "egress_lossy_profile"
)

// notGiven marks a size that is worked out.
const notGiven units.Bytes = -1

// memorySettings is the `memory` section of a switch: pools, profiles and who takes them.
type memorySettings struct {
	preset         string
	size           units.Bytes // 0: the buffer
	cell           units.Bytes
	parts          int
	pools          []poolSettings
	profiles       []profileSettings
	groups, queues []assignment
	obj            object
}

// poolSettings is one pool.
type poolSettings struct {
	name           string
	egress, static bool
	size           units.Bytes // notGiven: what is left of the memory
	xoff           units.Bytes // headroom that all groups share; 0: each has its own
	within         bool        // size includes xoff
	reserved       units.Bytes // of size, for each port; notGiven: as the profiles say
	at             object
}

// profileSettings is what a group or queue may use. Of a short form's profile, what is not
// given follows from the switch's other keys.
type profileSettings struct {
	name, pool         string
	reserved, headroom units.Bytes // notGiven: by rule
	xon, xonOffset     units.Bytes // notGiven: none
	num, den           int64       // den 0: no dynamic threshold
	static             units.Bytes // 0: no fixed threshold
	limited            bool        // a threshold is given
	short              bool
	rows               []cableRow
	at                 object
}

// cableRow is what a profile says of ports of one rate and cables up to a length.
type cableRow struct {
	rate                               units.Rate
	length                             units.Length
	reserved, headroom, xon, xonOffset units.Bytes
	at                                 object
}

// assignment gives a profile to groups or queues.
type assignment struct {
	ports      []int // local numbers; nil: all
	priorities uint8
	profile    string
	at         object
}

// shortForm is the memory that the keys switch.buffer, pfc and lossy describe: one pool on
// which lossless and lossy groups draw, headroom of each group its own, and egress queues of
// lossy classes with a dynamic threshold.
func shortForm() memorySettings {
	none := func(name, pool string) profileSettings {
		return profileSettings{name: name, pool: pool, reserved: notGiven, headroom: notGiven, xon: notGiven, xonOffset: notGiven, short: true}
	}
	return memorySettings{cell: 1, parts: 1,
		pools: []poolSettings{
			{name: losslessPool, size: notGiven},
			{name: egressLosslessPool, egress: true, static: true, size: notGiven},
			{name: egressLossyPool, egress: true, size: notGiven},
		},
		profiles: []profileSettings{none(losslessGroup, losslessPool), none(lossyGroup, losslessPool),
			none(losslessQueue, egressLosslessPool), none(lossyQueue, egressLossyPool)},
	}
}

// pool returns the pool of a name; nil: there is none.
func (m *memorySettings) pool(name string) *poolSettings {
	for i := range m.pools {
		if m.pools[i].name == name {
			return &m.pools[i]
		}
	}
	return nil
}

// profile returns the profile of a name; nil: there is none.
func (m *memorySettings) profile(name string) *profileSettings {
	for i := range m.profiles {
		if m.profiles[i].name == name {
			return &m.profiles[i]
		}
	}
	return nil
}

func (m *memorySettings) poolNames() (names []string) {
	for i := range m.pools {
		names = append(names, m.pools[i].name)
	}
	return names
}

func (m *memorySettings) profileNames() (names []string) {
	for i := range m.profiles {
		names = append(names, m.profiles[i].name)
	}
	return names
}

// own makes a copy that may be changed: switches share what the section for all of them says.
func (m *memorySettings) own() {
	m.pools, m.profiles = slices.Clone(m.pools), slices.Clone(m.profiles)
	m.groups, m.queues = slices.Clone(m.groups), slices.Clone(m.queues)
}

// memoryKeys are the keys of the memory section.
func (r *resolver) memoryKeys(s *switchSettings) []key {
	m := &s.memory
	return []key{
		wordKey("preset", &m.preset, MemoryPresets(), "Memory, pools and profiles of a switch as SONiC ships it; `hopscope show` lists them. Keys beside it change single values.").
			check(func(o object) { s.takeMemory(m.preset) }),
		sizeKey("size", &m.size, "All of the packet memory; never is more held.").otherwise("`switch.buffer`").within(1, int64(maxBuffer), "is no packet memory; give at most 1GiB, such as 32MiB"),
		sizeKey("cell", &m.cell, "What the memory is given out in: a frame takes whole cells. 1B counts bytes.").within(1, 4096, "is no cell; give 1B to 4096B, such as 208B (Tomahawk) or 192B (Spectrum-4)"),
		numberKey("parts", &m.parts, 1, 8, "Independent parts of equal size: pools are divided by them, ports spread over them in equal runs, and a frame waits in the part of the port that it came in by."),
		namedKey("pools", func() []key { return poolKeys(new(poolSettings)) }, m.readPools, "Pools by name. Without a preset there are `"+losslessPool+"`, `"+egressLosslessPool+"` and `"+egressLossyPool+
			"`; what is given changes them or adds to them."),
		namedKey("profiles", func() []key { return profileKeys(new(profileSettings)) }, m.readProfiles, "Profiles by name. Lossless groups take `"+losslessGroup+"`, lossy ones `"+lossyGroup+
			"`, lossless queues `"+losslessQueue+"` and lossy ones `"+lossyQueue+"`, unless `groups` and `queues` say otherwise."),
		listedKey("groups", func() []key { return assignmentKeys(new(assignment), nil) }, func(o object, name string) bool { return m.readAssignments(o, name, &m.groups) },
			"Which profiles ingress ports and priorities take; what stands later holds."),
		listedKey("queues", func() []key { return assignmentKeys(new(assignment), nil) }, func(o object, name string) bool { return m.readAssignments(o, name, &m.queues) },
			"The same for egress ports and priorities."),
	}
}

// poolKeys are the keys of a pool.
func poolKeys(p *poolSettings) []key {
	return []key{
		eitherKey("type", &p.egress, "ingress", "egress", "Whether groups draw on it or queues."),
		eitherKey("mode", &p.static, "dynamic", "static", "What profiles without a threshold have: `dynamic_th` 0, or no limit but the pool's end."),
		sizeKey("size", &p.size, "What its groups or queues use together.").otherwise("what reserves and headroom leave of the memory").
			within(1, int64(maxBuffer), "is no pool; give at most the memory"),
		sizeKey("xoff", &p.xoff, "Headroom that all groups of the pool share (a shared headroom pool); 0: each group has "+
			"its own. Of an egress pool: what only lossless frames may use.").
			within(0, int64(maxBuffer), "is no headroom; give at most the memory"),
		flagKey("xoff_within", &p.within, "Whether `size` includes `xoff`, as SAI says and Tomahawk 5 does; beside it on Tomahawk, Tomahawk 2 and Trident 3."),
		sizeKey("reserved", &p.reserved, "What of `size` is kept for reserves, for each port of the switch; `profiles`: what the profiles of its groups or queues reserve.").
			otherwise("0: reserves lie beside the pool").or("profiles", func() { p.reserved = notGiven }),
	}
}

// profileKeys are the keys of a profile.
func profileKeys(p *profileSettings) []key {
	limit := func(o object) {
		var given []string
		for _, name := range []string{"alpha", "dynamic_th", "static_th"} {
			if o.has(name) {
				given = append(given, name)
			}
		}
		if last := len(given) - 1; last > 0 {
			o.fail(given[last], "%s say one threshold in different ways; keep one", strings.Join(given, " and "))
		}
		p.limited = true
	}
	exponent := noExponent
	return append(marginKeys(&p.reserved, &p.headroom, &p.xon, &p.xonOffset), []key{
		lineKey("pool", &p.pool, "The pool that it draws on.").otherwise("none: it must be given, but for profiles that are there already"),
		numberKey("dynamic_th", &exponent, -10, 10, "Threshold beyond the reserve: 2 to the power of this, times what is free of the pool (SAI).").otherwise("by the pool's `mode`").
			check(func(o object) { p.num, p.den, p.static = 1<<max(exponent, 0), 1<<max(-exponent, 0), 0; limit(o) }),
		ratioKey("alpha", &p.num, &p.den, "The same as a ratio, such as 1/8.").otherwise("by the pool's `mode`").check(func(o object) { p.static = 0; limit(o) }),
		sizeKey("static_th", &p.static, "A fixed threshold; 0: none but the pool's end.").otherwise("by the pool's `mode`").check(func(o object) { p.num, p.den = 0, 0; limit(o) }),
		listedKey("by_cable", func() []key { return cableKeys(new(cableRow)) }, p.readRows, "Rows by rate and length of cable, as SONiC's pg_profile_lookup.ini has them: a port takes the row of its rate with the least length not below its own. Sizes given without rows, beside a preset that has some, hold for all cables."),
	}...)
}

// noExponent stands for no dynamic_th.
const noExponent = 1 << 20

// marginKeys are what profiles and their rows say alike.
func marginKeys(reserved, headroom, xon, xonOffset *units.Bytes) []key {
	return []key{
		sizeKey("reserved", reserved, "Guaranteed, before the pool is used (SONiC's `size`, less `xoff` where that includes it).").otherwise("0"),
		sizeKey("headroom", headroom, "What may arrive after XOFF (SONiC's `xoff`); `auto`: by `switch.pfc.headroom_rule`.").otherwise("`auto`").or("auto", func() { *headroom = notGiven }),
		sizeKey("xon", xon, "XON when the group uses no more than this, its reserve included.").otherwise("within its reserve"),
		sizeKey("xon_offset", xonOffset, "XON also when use is this far below the threshold.").otherwise("none"),
	}
}

// cableKeys are the keys of a row by cable.
func cableKeys(row *cableRow) []key {
	return append([]key{
		rateKey("rate", &row.rate, "Of the port.").need("give the rate of the ports, such as rate: 100Gbps"),
		lengthKey("length", &row.length, "The longest cable that it is for.").need("give the longest cable, such as length: 300m"),
	}, marginKeys(&row.reserved, &row.headroom, &row.xon, &row.xonOffset)...)
}

// assignmentKeys are the keys of an entry of groups or queues.
func assignmentKeys(a *assignment, ports func(o object, name string) bool) []key {
	if ports == nil {
		ports = readLater
	}
	return []key{
		otherKey("ports", "list of port numbers", []jsonSchema{listOf(wholeNumber(1, 65535)), wholeNumber(1, 65535)}, ports, "Ports by number, from 1.").otherwise("all"),
		prioritiesKey("priorities", &a.priorities, "Priorities 0 to 7.").otherwise("all"),
		lineKey("profile", &a.profile, "The profile's name.").need("name a profile"),
	}
}

// sections calls read with each section under a name, in order.
func sections(o object, name string, keys func(name string) []key, read func(name string, at pos, inner object)) bool {
	v := o.n.Get(name)
	if v.Kind != mappingNode {
		o.fail(name, "is %s; it maps names to settings", v.Kind)
		return false
	}
	for _, f := range v.Fields {
		table := keys(f.Key)
		inner := o.d.object(f.Value, o.join(name)+"."+f.Key, table)
		inner.read(table)
		if o.d.err != nil {
			return false
		}
		read(f.Key, f.Pos, inner)
	}
	return true
}

func (m *memorySettings) readPools(o object, name string) bool {
	return sections(o, name, func(name string) []key {
		if m.pool(name) == nil {
			m.pools = append(m.pools, poolSettings{name: name, size: notGiven})
		}
		return poolKeys(m.pool(name))
	}, func(name string, _ pos, inner object) { m.pool(name).at = inner })
}

func (m *memorySettings) readProfiles(o object, name string) bool {
	return sections(o, name, func(name string) []key {
		if m.profile(name) == nil {
			m.profiles = append(m.profiles, profileSettings{name: name, headroom: notGiven, xon: notGiven, xonOffset: notGiven})
		}
		return profileKeys(m.profile(name))
	}, func(name string, at pos, inner object) {
		p := m.profile(name)
		p.fillRows(inner)
		if p.at = inner; p.pool == "" {
			o.d.fail(at, "%s has no pool; name one of its pools, such as pool: %s", inner.path, losslessPool)
		}
	})
}

// items calls read with each section of a list, in order.
func items(o object, name string, read func(item *node, path string)) bool {
	v := o.n.Get(name)
	if v.Kind != sequenceNode {
		o.fail(name, "is %s; it is a list of sections", v.Kind)
		return false
	}
	for i, item := range v.Items {
		if read(item, indexed(o.join(name), i)); o.d.err != nil {
			return false
		}
	}
	return true
}

// fillRows has what a section says hold for all cables: rows that it does not give itself, as
// those of a preset, would have the last word otherwise.
func (p *profileSettings) fillRows(o object) {
	if o.has("by_cable") {
		return
	}
	p.rows = slices.Clone(p.rows) // other switches may have them too
	for i := range p.rows {
		row := &p.rows[i]
		for _, m := range []struct {
			key      string
			to, from *units.Bytes
		}{{"reserved", &row.reserved, &p.reserved}, {"headroom", &row.headroom, &p.headroom},
			{"xon", &row.xon, &p.xon}, {"xon_offset", &row.xonOffset, &p.xonOffset}} {
			if o.has(m.key) {
				*m.to = *m.from
			}
		}
	}
}

func (p *profileSettings) readRows(o object, name string) bool {
	p.rows = nil
	return items(o, name, func(item *node, path string) {
		row := cableRow{reserved: p.reserved, headroom: p.headroom, xon: p.xon, xonOffset: p.xonOffset}
		keys := cableKeys(&row)
		row.at = o.d.object(item, path, keys)
		row.at.read(keys)
		p.rows = append(p.rows, row)
	})
}

func (m *memorySettings) readAssignments(o object, name string, to *[]assignment) bool {
	return items(o, name, func(item *node, path string) {
		a := assignment{priorities: 255}
		keys := assignmentKeys(&a, func(o object, name string) bool {
			for _, p := range o.list(name) {
				n, err := strconv.ParseUint(p.Text, 10, 16)
				if p.Kind != scalarNode || err != nil || n == 0 {
					o.d.fail(p.Pos, "%s: %q is not the number of a port, from 1", o.join(name), p.Text)
					return false
				}
				a.ports = append(a.ports, int(n)-1)
			}
			return true
		})
		a.at = o.d.object(item, path, keys)
		a.at.read(keys)
		*to = append(*to, a)
	})
}

// assigned returns the profile that a list gives to a port and priority, or else one.
func assigned(list []assignment, port, class int, otherwise string) (string, *assignment) {
	for i := len(list) - 1; i >= 0; i-- {
		a := &list[i]
		if a.priorities>>class&1 == 1 && (a.ports == nil || slices.Contains(a.ports, port)) {
			return a.profile, a
		}
	}
	return otherwise, nil
}

// rowFor returns the row of a port's rate with the least length not below its cable's; nil:
// there is none of the rate. longest says that the cable is longer than any row's.
func (p *profileSettings) rowFor(rate units.Rate, length units.Length) (row *cableRow, longest bool) {
	var last *cableRow
	for i := range p.rows {
		c := &p.rows[i]
		if c.rate != rate {
			continue
		}
		if c.length >= length && (row == nil || c.length < row.length) {
			row = c
		}
		if last == nil || c.length > last.length {
			last = c
		}
	}
	if row == nil {
		return last, last != nil
	}
	return row, false
}

// memorySays is the reason for short forms that the memory section replaces.
func (r *resolver) memorySays(s *switchSettings) string {
	return when(s.memory.preset != "", "switch.memory.preset gives the pools and profiles; change them there")
}

// shortKeys says of the keys of pfc that are a short form why they have no effect.
func (r *resolver) shortKeys(keys []key, s *switchSettings) []key {
	for _, name := range []string{"alpha", "xoff", "xon_offset", "reserved", "headroom"} {
		if k := find(keys, name); k != nil {
			*k = k.unless(func() string { return r.memorySays(s) })
		}
	}
	return keys
}
