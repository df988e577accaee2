// Package mmu is the packet memory of a shared-memory switch, in the terms of SAI and SONiC:
// ingress pools from which priority groups draw, egress pools from which queues draw,
// profiles with a reserve and a dynamic or static threshold, headroom of each group or
// shared by all, and independent parts of the memory. A frame is charged twice, to the
// group it came in by and to the queue it waits in, and is refused by whichever has no
// room. The package knows no frame, and of time only what it is told: the fabric asks it, and acts.
//
// Everything inside is counted in cells. A frame takes whole cells; cells of one byte
// count bytes.
package mmu

import (
	"fmt"
	"math"
	"slices"

	"github.com/hopscope/hopscope/internal/units"
)

// Classes is the number of priority groups and of queues of a port.
const Classes = 8

// Threshold limits what one group or queue may use of its pool beyond its reserve.
// The zero value is no limit but the pool's end.
type Threshold struct {
	// Num/Den of what is free of the pool (Choudhury and Hahne 1998): SAI's dynamic_th
	// n stands for 2^n. Den 0: not dynamic. The ratio is at most MaxAlpha.
	Num, Den int64
	Static   units.Bytes // a fixed limit when positive and Den is 0
}

// MaxAlpha is the largest ratio of a dynamic threshold: SONiC's profiles go up to 2^7.
const MaxAlpha = 1 << 14

// Pool is what groups (ingress) or queues (egress) share.
type Pool struct {
	Name   string
	Shared units.Bytes // what all may use beyond their reserves, over all parts
	// Headroom is a headroom pool that groups share, over all parts: a group takes at
	// most its own headroom from it, and at most what is left. 0: every group has its
	// headroom to itself. Of an egress pool it is what lossless frames may use beyond Shared.
	Headroom units.Bytes
}

// GroupProfile is what one ingress port and priority may use.
type GroupProfile struct {
	Pool     int
	Lossless bool        // beyond the threshold a frame goes to the headroom, and XOFF is due
	Reserved units.Bytes // guaranteed before the pool is used (SONiC: the profile's size)
	Headroom units.Bytes // room for what arrives after XOFF (SONiC: the profile's xoff)
	Limit    Threshold
	// XON is due when the headroom is empty and the group uses no more than XON, its
	// reserve included, or at least XONOffset less than its threshold (SAI's
	// xon_offset_th); XONOffset negative: XON alone counts. It is always due to a group
	// that is within its reserve.
	XON, XONOffset units.Bytes
	// Eager: XOFF is due as soon as nothing of the pool is left, also to a group within
	// its reserve (ns-3's rule; switches let it have the reserve).
	Eager bool
}

// QueueProfile is what one egress port and priority may use.
type QueueProfile struct {
	Pool     int
	Reserved units.Bytes
	Limit    Threshold
}

// Params describes the memory of one switch.
type Params struct {
	Cell  units.Bytes // of a cell; 1: bytes are counted
	Parts int         // independent parts, of equal size; ports are spread over them in equal runs
	Size  units.Bytes // of all parts; never is more held
	// Pools, and the profiles of groups and queues by port and priority.
	Ingress, Egress []Pool
	Groups          [][Classes]GroupProfile
	Queues          [][Classes]QueueProfile
}

// Equal reports whether two switches have the same memory.
func (p *Params) Equal(q *Params) bool {
	return p.Cell == q.Cell && p.Parts == q.Parts && p.Size == q.Size &&
		slices.Equal(p.Ingress, q.Ingress) && slices.Equal(p.Egress, q.Egress) &&
		slices.Equal(p.Groups, q.Groups) && slices.Equal(p.Queues, q.Queues)
}

// Verdict is what the memory says to a frame.
type Verdict uint8

// A frame is admitted or refused for one of these reasons.
const (
	Admitted    Verdict = iota
	HeadroomEnd         // a lossless group has no headroom left, of its own or of the shared pool
	IngressEnd          // a lossy group is at its threshold, or its pool at its end
	EgressEnd           // the queue is at its threshold
	PoolEnd             // the queue is below its threshold, if it has one, and its pool at its end
)

// limit is a Threshold in cells.
type limit struct {
	alpha int32 // of what is free, in 1/65536; 0: the limit is fixed
	fixed int32 // MaxInt32: none
}

// of returns the limit while free cells of the pool are free.
func (l limit) of(free int32) int32 {
	if l.alpha == 0 {
		return l.fixed
	}
	return int32(min(int64(free)*int64(l.alpha)>>16, math.MaxInt32))
}

// pool is one part of a Pool, in cells.
type pool struct {
	size, used             int32
	headroom, headroomUsed int32 // headroom 0: every group has its own
}

func (p *pool) free() int32 { return p.size - p.used }

// account is what a group or a queue uses of its reserve and its pool, in cells.
type account struct {
	used, reserved int32
	limit          limit
	pool           *pool // nil: nothing binds, and nothing is counted
}

// above returns how much of the pool is used.
func (a *account) above() int32 { return max(0, a.used-a.reserved) }

// beyond returns how many of n further cells go beyond the reserve.
func (a *account) beyond(n int32) int32 {
	if a.used >= a.reserved {
		return n
	}
	return max(0, a.used+n-a.reserved)
}

// take charges n cells.
func (a *account) take(n int32) {
	a.pool.used += a.beyond(n)
	a.used += n
}

// give returns n cells, the pool's first.
func (a *account) give(n int32) {
	a.pool.used -= a.shared(n)
	a.used -= n
}

// shared returns how many of n cells that are given back are the pool's.
func (a *account) shared(n int32) int32 {
	if a.used-n >= a.reserved {
		return n
	}
	return a.above()
}

// Group is the use of an ingress port and priority, in cells: what every frame needs, in one
// cache line.
type Group struct {
	account
	quiet      int64 // see settle
	part       *part
	peak       int32
	headroom   int32
	firstQueue int32 // of the queues of its priority in the part that it fills
	rest       int32 // index into Memory.rests
	xoff       bool
	lossless   bool
	eager      bool
	queuesBind bool // some of those queues have a pool that can refuse a frame
	_          [4]byte
}

// rest is what else belongs to a group.
type rest struct {
	approach
	empty        int64 // the bound of settle for no room
	headroomSize int32
	peakHeadroom int32
	xon          int32
	xonOffset    int32 // negative: none
}

// Queue is the use of an egress port and priority in one part, in cells.
type Queue struct {
	account
	approach
}

// approach is how near a use has come to a threshold, in cells.
type approach struct {
	room   int32 // the least so far up to the threshold, beyond the reserve
	use    int32
	margin int64 // the least of the threshold less the use that has been noted
	at     units.Time
}

// unnoted is an approach before the first use.
func unnoted() approach { return approach{room: math.MaxInt32, margin: math.MaxInt64} }

// Memory is the packet memory of a switch in operation.
type Memory struct {
	cell    uint32
	ports   int
	groups  []Group // by priority, then port
	rests   []rest  // likewise
	queues  []Queue // by part, then priority, then port
	parts   []part
	ingress []pool // by pool, then part
	egress  []pool
}

// part is one of the independent parts of a memory, in cells.
type part struct{ size, held int32 }

// New returns an empty memory. Sizes are rounded down to whole cells of every part,
// reserves up. It fails where a part has more cells than 2^31-1 or a pool's end lies
// beyond the memory.
func New(p *Params) (*Memory, error) {
	parts := max(1, p.Parts)
	cell := max(1, p.Cell)
	perPart := func(b units.Bytes) int64 { return int64(b) / int64(cell) / int64(parts) }
	if n := perPart(p.Size); n > math.MaxInt32 {
		return nil, fmt.Errorf("a memory of %v has more than 2^31-1 cells of %v", p.Size, cell)
	}
	m := &Memory{cell: uint32(cell), ports: len(p.Groups), parts: make([]part, parts)}
	size := int32(perPart(p.Size))
	for i := range m.parts {
		m.parts[i].size = size
	}
	pools := func(of []Pool) (out []pool) {
		for _, s := range of {
			for range parts {
				out = append(out, pool{size: int32(min(perPart(s.Shared), int64(size))), headroom: int32(min(perPart(s.Headroom), int64(size)))})
			}
		}
		return out
	}
	m.ingress, m.egress = pools(p.Ingress), pools(p.Egress)
	m.groups, m.rests = make([]Group, Classes*m.ports), make([]rest, Classes*m.ports)
	m.queues = make([]Queue, parts*Classes*m.ports)
	binding := m.bindingPools(p, parts)
	for c := range Classes {
		for i := range m.ports {
			part := i * parts / m.ports
			m.initGroup(c*m.ports+i, &p.Groups[i][c], c, part)
			for part := range parts {
				q := &p.Queues[i][c]
				k := &m.queues[(part*Classes+c)*m.ports+i]
				k.limit, k.approach = m.limit(q.Limit), unnoted()
				if binding[q.Pool] {
					k.reserved, k.pool = m.up(q.Reserved), &m.egress[q.Pool*parts+part]
				}
			}
		}
	}
	m.bindQueues()
	return m, nil
}

// bindQueues tells every group whether some of the queues that it fills can refuse a frame.
func (m *Memory) bindQueues() {
	for i := range m.groups {
		g := &m.groups[i]
		for k := range m.ports {
			g.queuesBind = g.queuesBind || m.Queue(g, k).pool != nil
		}
	}
}

// bindingPools tells of every egress pool whether it can refuse a frame that the memory has
// room for: it is smaller than the memory, or one of its queues has a limit.
func (m *Memory) bindingPools(p *Params, parts int) []bool {
	binding := make([]bool, len(p.Egress))
	for i := range binding {
		binding[i] = m.egress[i*parts].size < m.parts[0].size
	}
	for i := range p.Queues {
		for c := range p.Queues[i] {
			if q := &p.Queues[i][c]; q.Limit != (Threshold{}) {
				binding[q.Pool] = true
			}
		}
	}
	return binding
}

// initGroup sets up the i-th group, of priority c in one part.
func (m *Memory) initGroup(i int, s *GroupProfile, c, part int) {
	m.rests[i] = rest{approach: unnoted(), headroomSize: m.down(s.Headroom), xon: m.down(s.XON), xonOffset: m.up(s.XONOffset)}
	if s.XONOffset < 0 {
		m.rests[i].xonOffset = -1
	}
	m.groups[i] = Group{
		account:    account{reserved: m.up(s.Reserved), limit: m.limit(s.Limit), pool: &m.ingress[s.Pool*len(m.parts)+part]},
		firstQueue: int32((part*Classes + c) * m.ports), part: &m.parts[part], rest: int32(i), lossless: s.Lossless, eager: s.Eager,
	}
	m.rests[i].empty = m.groups[i].empty()
	m.settle(&m.groups[i])
}

// up returns the cells that b bytes take, down those that b bytes fill.
func (m *Memory) up(b units.Bytes) int32 {
	return int32(min((int64(b)+int64(m.cell)-1)/int64(m.cell), math.MaxInt32))
}
func (m *Memory) down(b units.Bytes) int32 { return int32(min(int64(b)/int64(m.cell), math.MaxInt32)) }

// limit returns a threshold in cells.
func (m *Memory) limit(t Threshold) limit {
	switch {
	case t.Den > 0:
		return limit{alpha: int32(max(1, min(t.Num<<16/t.Den, MaxAlpha<<16-1)))}
	case t.Static > 0:
		return limit{fixed: m.down(t.Static)}
	}
	return limit{fixed: math.MaxInt32}
}
