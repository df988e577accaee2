package scenario

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
)

// memoryMaker turns the memory section of a switch, or the short form, into its memory.
type memoryMaker struct {
	r    *resolver
	n    int // the switch
	s    *switchSettings
	m    *memorySettings
	size units.Bytes
	out  *mmu.Params
	// The pools of the settings by their number among ingress or egress pools, and what
	// groups or queues take of them beside what they share.
	number             []int
	reserved, headroom []units.Bytes
	in, to             [][mmu.Classes]*profileSettings // whose groups and queues have
}

// memoryOf returns the memory of switch n; nil after an error.
func (r *resolver) memoryOf(n int) *mmu.Params {
	s := &r.switches[n]
	k := memoryMaker{r: r, n: n, s: s, m: &s.memory, size: s.memory.size,
		out: &mmu.Params{Cell: s.memory.cell, Parts: s.memory.parts}}
	if k.size == 0 {
		k.size = r.bufferOf(n)
	}
	k.out.Size = k.size
	pools := len(k.m.pools)
	k.number, k.reserved, k.headroom = make([]int, pools), make([]units.Bytes, pools), make([]units.Bytes, pools)
	ports := len(r.v.Graph.Nodes[n].Ports)
	k.out.Groups, k.out.Queues = make([][mmu.Classes]mmu.GroupProfile, ports), make([][mmu.Classes]mmu.QueueProfile, ports)
	k.in, k.to = make([][mmu.Classes]*profileSettings, ports), make([][mmu.Classes]*profileSettings, ports)
	k.numberPools()
	k.checkPorts(k.m.groups)
	k.checkPorts(k.m.queues)
	for port := range ports {
		for c := range mmu.Classes {
			k.group(port, c)
			k.queue(port, c)
			if r.d.err != nil {
				return nil
			}
		}
	}
	k.checkUnused()
	k.checkIdlePools()
	k.sizePools()
	if r.d.err == nil {
		k.check()
	}
	if r.d.err == nil {
		k.notes()
	}
	return k.out
}

// numberPools numbers ingress and egress pools apart.
func (k *memoryMaker) numberPools() {
	in, out := 0, 0
	for i := range k.m.pools {
		if k.m.pools[i].egress {
			k.number[i] = out
			out++
		} else {
			k.number[i] = in
			in++
		}
	}
	k.out.Ingress, k.out.Egress = make([]mmu.Pool, in), make([]mmu.Pool, out)
}

// checkPorts refuses ports that no switch has: what is said of all switches may name ports that
// some lack.
func (k *memoryMaker) checkPorts(list []assignment) {
	most := 0
	for n := range k.r.v.Graph.Nodes {
		if node := &k.r.v.Graph.Nodes[n]; node.Kind == topology.Switch {
			most = max(most, len(node.Ports))
		}
	}
	for i := range list {
		for _, port := range list[i].ports {
			if port >= most {
				list[i].at.fail("ports", "no switch has a port %d; the largest has %d", port+1, most)
			}
		}
	}
}

// checkUnused looks at profiles that the scenario gives and no group or queue takes: their
// pool is looked at all the same, and that they do nothing is said.
func (k *memoryMaker) checkUnused() {
	for i := range k.m.profiles {
		p := &k.m.profiles[i]
		if p.at.n == nil || k.taken(p) {
			continue
		}
		if !slices.Contains(k.m.poolNames(), p.pool) {
			k.r.d.fail(k.at(p, "pool"), "%s draws on %q, which is no pool; %s", k.path(p), p.pool, tree.Suggest(p.pool, k.m.poolNames()))
			return
		}
		k.r.warn(fmt.Sprint("profile", p.name), "%s has no effect: no priority group or queue of %s takes it; name it under groups or queues", k.path(p), k.name())
	}
}

// checkIdlePools warns of pools that the scenario gives and on which nothing draws.
func (k *memoryMaker) checkIdlePools() {
	for i := range k.m.pools {
		p := &k.m.pools[i]
		if p.at.n != nil && !slices.ContainsFunc(k.m.profiles, func(f profileSettings) bool { return f.pool == p.name }) {
			k.r.warn(fmt.Sprint("pool", p.name), "switch.memory.pools.%s: no profile draws on it, so that what it has of %s "+
				"is never used; name it as the pool of one", p.name, k.name())
		}
	}
}

// taken reports whether a group or queue of the switch has profile p.
func (k *memoryMaker) taken(p *profileSettings) bool {
	for port := range k.in {
		if slices.Contains(k.in[port][:], p) || slices.Contains(k.to[port][:], p) {
			return true
		}
	}
	return false
}

// lossless reports whether class c is lossless.
func (k *memoryMaker) lossless(c int) bool { return k.s.pfc.enabled>>c&1 == 1 }

// profileOf finds the profile of a port's group or queue, and the number of its pool in the
// settings.
func (k *memoryMaker) profileOf(list []assignment, port, c int, egress bool, lossy, lossless string) (p *profileSettings, pool int) {
	name, d := lossy, k.r.d
	if k.lossless(c) {
		name = lossless
	}
	name, from := assigned(list, port, c, name)
	if p = k.m.profile(name); p == nil {
		d.fail(from.at.at("profile"), "%s: there is no profile %q; %s", from.at.path, name, tree.Suggest(name, k.m.profileNames()))
		return nil, 0
	}
	for i := range k.m.pools {
		if k.m.pools[i].name != p.pool {
			continue
		}
		if k.m.pools[i].egress != egress {
			d.fail(k.at(p, "pool"), "%s draws on the pool %s, whose type is %s; %s", k.path(p), p.pool,
				map[bool]string{true: "egress", false: "ingress"}[k.m.pools[i].egress],
				map[bool]string{true: "queues need a pool of type egress", false: "priority groups need a pool of type ingress"}[egress])
			return nil, 0
		}
		return p, i
	}
	d.fail(k.at(p, "pool"), "%s draws on %q, which is no pool; %s", k.path(p), p.pool, tree.Suggest(p.pool, k.m.poolNames()))
	return nil, 0
}

func (k *memoryMaker) name() string { return k.r.v.Graph.Nodes[k.n].Name }

// at is where a key of a profile stands, or the nearest thing to it.
func (k *memoryMaker) at(p *profileSettings, key string) pos {
	switch {
	case p.at.n != nil:
		return p.at.at(key)
	case k.m.obj.n != nil:
		return k.m.obj.at("profiles")
	}
	return k.r.topologyAt
}

func (k *memoryMaker) path(p *profileSettings) string { return "switch.memory.profiles." + p.name }

// group fills the profile of the priority group of class c at a port.
func (k *memoryMaker) group(port, c int) {
	p, pool := k.profileOf(k.m.groups, port, c, false, lossyGroup, losslessGroup)
	if p == nil {
		return
	}
	k.in[port][c] = p
	margins := cableRow{reserved: p.reserved, headroom: p.headroom, xon: p.xon, xonOffset: p.xonOffset}
	cable := k.r.cableAt(k.n, port)
	if row, longest := p.rowFor(cable.rate, cable.length); row != nil {
		margins = *row
		if longest && k.lossless(c) && (row.headroom != p.headroom || row.headroom < 0) {
			k.r.warn("row"+p.name, "%s port %d: a cable of %v is longer than any row of %s for %v; the row of %v is taken", k.name(), port+1, cable.length, p.name, cable.rate, row.length)
		}
	} else if len(p.rows) > 0 && k.lossless(c) && p.headroom < 0 {
		k.r.warn(fmt.Sprint("no row", p.name, cable.rate), "%s port %d: %s has no row by_cable for %v; "+
			"its headroom follows switch.pfc.headroom_rule", k.name(), port+1, p.name, cable.rate)
	}
	g := mmu.GroupProfile{Pool: k.number[pool], Lossless: k.lossless(c), Reserved: max(0, margins.reserved), XON: max(0, margins.xon), XONOffset: margins.xonOffset}
	pfc := &k.s.pfc
	switch {
	case p.limited:
		g.Limit = mmu.Threshold{Num: p.num, Den: p.den, Static: p.static}
	case p.short && p.name == losslessGroup && pfc.xoff > 0:
		g.Limit.Static = pfc.xoff
	case p.short && p.name == losslessGroup:
		g.Limit = mmu.Threshold{Num: pfc.alphaNum, Den: pfc.alphaDen}
	case !p.short && !k.m.pools[pool].static:
		g.Limit = mmu.Threshold{Num: 1, Den: 1}
	}
	if g.Lossless {
		k.lossMargins(&g, p, &margins, port)
	}
	if shared := k.m.pools[pool].xoff; shared > 0 && g.Headroom > shared {
		k.r.d.fail(k.at(p, "headroom"), "%s: headroom %v of a group at %s port %d is more than the %v that all share (xoff of %s); give a larger xoff, or less headroom",
			k.path(p), g.Headroom, k.name(), port+1, shared, p.pool)
	} else if shared == 0 {
		k.headroom[pool] += g.Headroom
	}
	k.cell(p, g.Reserved)
	k.reserved[pool] += g.Reserved
	k.out.Groups[port][c] = g
}

// lossMargins fills what a lossless group has beside its threshold: of the short form's lossless
// profile by the keys of pfc, by the rule where nothing is given. The short form's lossy profile
// has no headroom, whoever takes it.
func (k *memoryMaker) lossMargins(g *mmu.GroupProfile, p *profileSettings, margins *cableRow, port int) {
	pfc := &k.s.pfc
	given := margins.headroom
	switch {
	case p.short && p.name == lossyGroup:
		given = max(0, given)
	case p.short:
		if margins.reserved < 0 {
			g.Reserved = pfc.reserved
		}
		if margins.xonOffset < 0 && margins.xon < 0 {
			g.XONOffset = pfc.xonOffset
		}
		if given < 0 {
			given = pfc.headroom
		}
	}
	if pfc.rule == spectrumRule && !p.short && margins.reserved <= 0 && margins.xon < 0 {
		c := k.r.cableAt(k.n, port)
		g.XON, g.Reserved = spectrumXON(c), spectrumSize(c)-spectrumHeadroom(c)
	}
	g.Headroom = k.r.headroomAt(k.n, port, given)
}

// queue fills the profile of the queue of class c at a port.
func (k *memoryMaker) queue(port, c int) {
	p, pool := k.profileOf(k.m.queues, port, c, true, lossyQueue, losslessQueue)
	if p == nil {
		return
	}
	k.to[port][c] = p
	q := mmu.QueueProfile{Pool: k.number[pool], Reserved: max(0, p.reserved)}
	switch {
	case p.limited:
		q.Limit = mmu.Threshold{Num: p.num, Den: p.den, Static: p.static}
	case p.short && p.name == lossyQueue:
		q.Limit = mmu.Threshold{Num: k.s.lossyNum, Den: k.s.lossyDen} // 0: unlimited
	case !p.short && !k.m.pools[pool].static:
		q.Limit = mmu.Threshold{Num: 1, Den: 1}
	}
	k.cell(p, q.Reserved)
	k.reserved[pool] += q.Reserved
	k.out.Queues[port][c] = q
}

// cell refuses a reserve in which no cell fits.
func (k *memoryMaker) cell(p *profileSettings, reserved units.Bytes) {
	if reserved > 0 && reserved < k.out.Cell {
		k.r.d.fail(k.at(p, "reserved"), "%s: reserved %v is less than a cell of %v; give whole cells, or 0", k.path(p), reserved, k.out.Cell)
	}
}

// sizePools works out what the groups and queues of every pool share.
func (k *memoryMaker) sizePools() {
	left, open := k.size, 0 // for ingress pools without a size
	for i := range k.m.pools {
		if p := &k.m.pools[i]; !p.egress {
			left -= k.beside(i)
			if p.size < 0 {
				open++
			} else {
				left -= p.size
			}
		}
	}
	for i := range k.m.pools {
		p := &k.m.pools[i]
		shared := p.size
		switch {
		case p.size < 0 && !p.egress && left <= 0:
			k.failLeft(k.size - left)
			return
		case p.size < 0 && !p.egress:
			shared = left/units.Bytes(open) - k.kept(i)
		case p.size < 0 && p.name == egressLossyPool:
			shared = k.lossyPool() - k.kept(i)
		case p.size < 0:
			shared = k.size - k.kept(i)
		case p.size > k.size:
			k.failPool(p, "size", "%v is larger than the memory of %s, %v; give at most that", p.size, k.name(), k.size)
		default:
			shared -= k.within(i)
		}
		if shared <= 0 && p.size < 0 {
			k.failPool(p, "reserved", "nothing is left to share: %v are reserved in all with the %d ports of %s, "+
				"and the pool has %v; reserve less, or give a larger memory", k.kept(i), len(k.out.Groups), k.name(), shared+k.kept(i))
		} else if shared <= 0 {
			k.failPool(p, "size", "%v is no more than its reserves and shared headroom, %v in all with the %d ports of %s; give more, or reserve less", p.size, k.within(i), len(k.out.Groups), k.name())
		}
		pool := mmu.Pool{Name: p.name, Shared: shared, Headroom: p.xoff}
		if p.egress {
			k.out.Egress[k.number[i]] = pool
		} else {
			k.out.Ingress[k.number[i]] = pool
		}
	}
	if left < 0 {
		k.failLeft(k.size - left)
	}
}

// lossyPool is what lossy queues share where the memory section does not say.
func (k *memoryMaker) lossyPool() units.Bytes {
	switch {
	case k.s.lossyDen == 0: // unlimited: up to the memory
		return k.size
	case k.s.lossyPool > k.size:
		k.r.d.fail(k.s.lossyObj.at("pool"), "switch.lossy.pool: %v is larger than the memory of %s, %v; give at most that",
			k.s.lossyPool, k.name(), k.size)
		return k.size
	case k.s.lossyPool > 0:
		return k.s.lossyPool
	}
	return k.size / 12 * 7
}

// beside is what lies beside an ingress pool: headroom and reserves that its size leaves out.
func (k *memoryMaker) beside(i int) units.Bytes {
	p := &k.m.pools[i]
	out := k.headroom[i]
	if p.reserved == 0 {
		out += k.reserved[i]
	}
	if p.size < 0 || !p.within {
		out += p.xoff
	}
	return out
}

// within is what a pool's size includes beyond what is shared.
func (k *memoryMaker) within(i int) units.Bytes {
	if p := &k.m.pools[i]; p.within {
		return p.xoff + k.kept(i)
	}
	return k.kept(i)
}

// kept is what a pool keeps for reserves.
func (k *memoryMaker) kept(i int) units.Bytes {
	if p := &k.m.pools[i]; p.reserved >= 0 {
		return p.reserved * units.Bytes(len(k.out.Groups))
	}
	return k.reserved[i]
}

// failPool points at a pool's key.
func (k *memoryMaker) failPool(p *poolSettings, key, format string, args ...any) {
	at := k.m.obj.at("pools")
	if p.at.n != nil {
		at = p.at.at(key)
	}
	k.r.d.fail(at, "switch.memory.pools."+p.name+"."+key+": "+format, args...)
}

// failLeft says that ingress pools, reserves and headrooms need more than there is.
func (k *memoryMaker) failLeft(need units.Bytes) {
	r, s, name := k.r, k.s, k.name()
	switch {
	case k.m.obj.n != nil:
		at := k.m.obj.at("size")
		if !k.m.obj.has("size") {
			at = k.m.obj.at("pools")
		}
		r.d.fail(at, "the ingress pools of %s with the reserves and headrooms beside them come to %v for its %d ports, and the memory has %v; give smaller pools, less headroom, or a larger switch.memory.size",
			name, need, len(k.out.Groups), k.size)
	case s.buffer == 0:
		r.d.fail(r.topologyAt, "the default buffer of %s, %v, is smaller than the reserves and headrooms of its %d ports, %v in all; give switch.buffer more than that, shorter cables, or fewer lossless priorities",
			name, k.size, len(k.out.Groups), need)
	default:
		r.d.fail(s.obj.at("buffer"), "switch.buffer %v of %s is smaller than its reserves and headrooms, %v in all; give more than that, shorter cables, or fewer lossless priorities",
			k.size, name, need)
	}
}

// highest is the most that a threshold lets one group or queue use of an empty pool of S bytes,
// its reserve included: alpha*S/(1+alpha) beyond it (models 2.6).
func highest(reserved units.Bytes, t mmu.Threshold, shared units.Bytes) units.Bytes {
	switch {
	case t.Den > 0:
		return reserved + scaleRatio(shared, t.Num, t.Num+t.Den)
	case t.Static > 0:
		return reserved + min(t.Static, shared)
	}
	return reserved + shared
}

// check refuses thresholds that cannot work, and warns of those under which nothing passes.
func (k *memoryMaker) check() {
	frames, holds := k.r.framesByClass(), k.losslessHolds()
	for port := range k.out.Groups {
		for c := range mmu.Classes {
			g, q := &k.out.Groups[port][c], &k.out.Queues[port][c]
			in, out := k.in[port][c], k.to[port][c]
			from, to := &k.out.Ingress[g.Pool], &k.out.Egress[q.Pool]
			k.static(in, g.Limit.Static, from)
			k.static(out, q.Limit.Static, to)
			if g.Lossless {
				k.thresholds(in, port, c, g, from.Shared/units.Bytes(k.out.Parts))
			}
			if k.r.d.err != nil {
				return
			}
			k.narrow(port, c, g, q, frames[c])
			if g.Lossless {
				k.losslessDrops(port, c, q, frames[c], holds[c])
			}
		}
	}
	for i := range k.out.Ingress {
		k.sharedHeadroom(i, frames)
	}
}

// sharedHeadroom warns of a headroom pool that holds, in one part of the memory, less than may
// arrive at its ports when all of them have stopped their peers: of each priority that carries
// data the headroom, or less where the cable needs less.
func (k *memoryMaker) sharedHeadroom(number int, frames [mmu.Classes]units.Bytes) {
	pool := &k.out.Ingress[number]
	if pool.Headroom == 0 {
		return
	}
	ports, has := len(k.out.Groups), pool.Headroom/units.Bytes(k.out.Parts)
	for part := range k.out.Parts {
		need, held, of := units.Bytes(0), 0, 0
		for port := range ports {
			own := units.Bytes(0)
			for c := range mmu.Classes {
				g := &k.out.Groups[port][c]
				if port*k.out.Parts/ports == part && g.Lossless && g.Pool == number && frames[c] > 0 {
					own += min(g.Headroom, physicalHeadroom(k.r.cableAt(k.n, port)))
				}
			}
			if own == 0 {
				continue
			}
			of++
			if need += own; need <= has {
				held++
			}
		}
		if need > has {
			where := map[bool]string{true: "", false: " in each part of the memory"}[k.out.Parts == 1]
			k.r.warn(fmt.Sprint("shared headroom", number, has, of), "%s: the shared headroom of %v%s (xoff of %s) holds the "+
				"headroom of %d of %d ports, which need %v; frames may be dropped when more are paused at once; give a larger xoff",
				k.name(), has, where, pool.Name, held, of, need)
		}
	}
}

// static refuses a fixed threshold that is never reached.
func (k *memoryMaker) static(p *profileSettings, limit units.Bytes, pool *mmu.Pool) {
	whole := k.m.pool(pool.Name).size
	if whole < 0 {
		whole = pool.Shared
	}
	if limit <= whole {
		return
	}
	if p.short && !p.limited {
		k.r.d.fail(k.s.pfc.obj.at("xoff"), "xoff %v of %s is above the shared pool of %v; XOFF would never be reached", limit, k.name(), whole)
		return
	}
	k.r.d.fail(k.at(p, "static_th"), "%s: static_th %v is above its pool %s of %v and would never be reached; give less, or 0 for no threshold", k.path(p), limit, pool.Name, whole)
}

// thresholds compares XON, XOFF and the marks of a lossless group.
func (k *memoryMaker) thresholds(p *profileSettings, port, c int, g *mmu.GroupProfile, shared units.Bytes) {
	xoff := highest(0, g.Limit, shared)
	switch {
	case g.XON > 0 && g.XON >= g.Reserved+xoff:
		k.r.d.fail(k.at(p, "xon"), "%s: xon %v is not below XOFF, at most %v at %s port %d; give less", k.path(p), g.XON, g.Reserved+xoff, k.name(), port+1)
	case g.XONOffset >= xoff && p.short && k.s.pfc.obj.n != nil && !p.at.has("xon_offset"):
		k.r.d.fail(k.s.pfc.obj.at("xon_offset"), "xon_offset %v of %s is not below XOFF %v; XON = XOFF - xon_offset must stay above 0", g.XONOffset, k.name(), xoff)
	case g.XONOffset >= xoff && p.at.has("xon_offset"):
		k.r.d.fail(k.at(p, "xon_offset"), "%s: xon_offset %v is not below XOFF %v; XON = XOFF - xon_offset must stay above 0", k.path(p), g.XONOffset, xoff)
	}
	if !k.r.marking() {
		return
	}
	if red := k.r.marks(k.s, k.r.v.Graph.LinkAt(k.n, port).Rate)[c]; red.KMax > 0 && red.KMin > xoff {
		k.r.warn(fmt.Sprint("ecn", red.KMin, xoff), "%s port %d: ECN starts at %v, above XOFF at %v: with one sender PFC acts before any mark", k.name(), port+1, red.KMin, xoff)
	}
}

// narrow warns of thresholds below one frame of what is sent through the port.
func (k *memoryMaker) narrow(port, c int, g *mmu.GroupProfile, q *mmu.QueueProfile, frame units.Bytes) {
	if frame == 0 {
		return
	}
	cells := (frame + k.out.Cell - 1) / k.out.Cell * k.out.Cell
	parts := units.Bytes(k.out.Parts)
	// A frame is held against the threshold before it is counted.
	first := func(reserved units.Bytes, t mmu.Threshold, shared units.Bytes) units.Bytes {
		if t.Den > 0 {
			return reserved + min(shared, scaleRatio(shared, t.Num, t.Den))
		}
		return highest(reserved, t, shared)
	}
	in, out := first(g.Reserved, g.Limit, k.out.Ingress[g.Pool].Shared/parts), first(q.Reserved, q.Limit, k.out.Egress[q.Pool].Shared/parts)
	switch {
	case out < cells:
		k.r.warn(fmt.Sprint("narrow queue", c), "%s port %d class %d: a queue may hold %v, less than one frame of %v: frames of that size are all dropped", k.name(), port+1, c, out, frame)
	case in >= cells:
	case g.Lossless:
		k.r.warn(fmt.Sprint("narrow group", c), "%s port %d class %d: XOFF at %v is below one frame of %v: each such frame takes headroom and pauses", k.name(), port+1, c, in, frame)
	default:
		k.r.warn(fmt.Sprint("narrow group", c), "%s port %d class %d: a priority group may hold %v, less than one frame of %v: frames of that size are all dropped", k.name(), port+1, c, in, frame)
	}
}

// losslessHolds is the most that the lossless groups of a class hold in one part of the memory
// when all ports but one have stopped their peers: thresholds, reserves and headrooms.
func (k *memoryMaker) losslessHolds() (holds [mmu.Classes]units.Bytes) {
	parts, others := units.Bytes(k.out.Parts), units.Bytes(len(k.out.Groups)-1)
	for c := range holds {
		for port := range k.out.Groups {
			g := &k.out.Groups[port][c]
			pool := &k.out.Ingress[g.Pool]
			limit, headroom := g.Limit, others*g.Headroom
			limit.Num *= int64(others)
			limit.Static *= others
			if pool.Headroom > 0 {
				headroom = min(headroom, pool.Headroom/parts)
			}
			holds[c] = max(holds[c], min(k.out.Size/parts, highest(others*g.Reserved, limit, pool.Shared/parts)+headroom))
		}
	}
	return holds
}

// losslessDrops warns of a queue that refuses lossless frames for which the groups that they
// come in by have room: their peers are not stopped before.
func (k *memoryMaker) losslessDrops(port, c int, q *mmu.QueueProfile, frame, holds units.Bytes) {
	pool := &k.out.Egress[q.Pool]
	all := pool.Shared
	if q.Limit.Den == 0 {
		all += pool.Headroom
	}
	may := highest(q.Reserved, q.Limit, all/units.Bytes(k.out.Parts))
	if frame > 0 && frame <= may && may < holds { // below a frame see narrow
		k.r.warn(fmt.Sprint("lossless queue", c), "%s port %d class %d: a queue may hold %v, and the lossless groups "+
			"of the %d other ports up to %v until their peers have stopped: the queue drops lossless frames; "+
			"give %s a higher threshold or none, and %s more room",
			k.name(), port+1, c, may, len(k.out.Groups)-1, holds, k.to[port][c].name, pool.Name)
	}
}

// framesByClass is the largest frame that the workload sends in every class; 0: none.
func (r *resolver) framesByClass() (frames [mmu.Classes]units.Bytes) {
	tcp := r.tcp.classes[0] | r.tcp.classes[1] | r.tcp.classes[2]
	for c := range frames {
		switch {
		case r.classes>>c&1 == 0:
		case tcp>>c&1 == 0:
			frames[c] = r.mtu + units.Bytes(r.v.Wire.Data+r.v.Wire.RETH)
		case r.onlyTCP():
			frames[c] = r.tcpFrame()
		default:
			frames[c] = r.maxFrame()
		}
	}
	return frames
}

// fromShortForm is the source of what switch.buffer, pfc and lossy come to.
const fromShortForm = "switch.buffer, pfc and lossy, expanded"

// notes lists the memory as it is then, in the words of its keys.
func (k *memoryMaker) notes() {
	source := fromShortForm
	switch {
	case k.m.preset != "":
		source = "memory preset " + k.m.preset
		k.r.note("switch.memory.preset", k.m.preset, fromScenario)
	case k.m.obj.n != nil:
		source += ", with switch.memory"
	}
	say := func(key, value string) { k.r.note("switch.memory."+key, value, source) }
	say("size", k.size.String())
	say("cell", k.out.Cell.String())
	say("parts", fmt.Sprint(k.out.Parts))
	for _, pools := range [][]mmu.Pool{k.out.Ingress, k.out.Egress} {
		for _, p := range pools {
			value := fmt.Sprintf("%s, %v to share", map[bool]string{true: "egress", false: "ingress"}[k.m.pool(p.Name).egress], p.Shared)
			if p.Headroom > 0 {
				value += fmt.Sprintf(", headroom %v for all", p.Headroom)
			}
			say("pools."+p.Name, value)
		}
	}
	for port := range k.out.Groups {
		rate := k.r.v.Graph.LinkAt(k.n, port).Rate
		for c := range mmu.Classes {
			g, q := k.out.Groups[port][c], k.out.Queues[port][c]
			if in := k.in[port][c]; k.r.fresh(noted{in.name, rate, g, mmu.QueueProfile{}}) {
				say(fmt.Sprintf("profiles.%s (%v)", in.name, rate), groupText(&g, k.out.Ingress))
			}
			if out := k.to[port][c]; k.r.fresh(noted{out.name, rate, mmu.GroupProfile{}, q}) {
				say(fmt.Sprintf("profiles.%s (%v)", out.name, rate), queueText(&q, k.out.Egress))
			}
		}
	}
}

// noted is a profile that the notes may have already: large networks have few.
type noted struct {
	name  string
	rate  units.Rate
	group mmu.GroupProfile
	queue mmu.QueueProfile
}

// fresh reports whether the notes have a profile not yet.
func (r *resolver) fresh(n noted) bool {
	if r.noted[n] {
		return false
	}
	if r.noted == nil {
		r.noted = map[noted]bool{}
	}
	r.noted[n] = true
	return true
}

// groupText says what a group may use.
func groupText(g *mmu.GroupProfile, pools []mmu.Pool) string {
	text := fmt.Sprintf("pool %s, reserved %v, %s", pools[g.Pool].Name, g.Reserved, thresholdText(g.Limit))
	if !g.Lossless {
		return text
	}
	text += fmt.Sprintf(", headroom %v", g.Headroom)
	if g.XON > 0 {
		text += fmt.Sprintf(", xon %v", g.XON)
	}
	if g.XONOffset >= 0 {
		text += fmt.Sprintf(", xon_offset %v", g.XONOffset)
	}
	return text
}

// queueText says what a queue may use.
func queueText(q *mmu.QueueProfile, pools []mmu.Pool) string {
	return fmt.Sprintf("pool %s, reserved %v, %s", pools[q.Pool].Name, q.Reserved, thresholdText(q.Limit))
}

func thresholdText(t mmu.Threshold) string {
	switch {
	case t.Den > 0:
		return fmt.Sprintf("alpha %d/%d", t.Num, t.Den)
	case t.Static > 0:
		return fmt.Sprintf("static_th %v", t.Static)
	}
	return "no threshold"
}
