// Package mmu is the packet memory of a shared-memory switch, in the terms of SAI and SONiC:
// ingress pools from which priority groups draw, egress pools from which queues draw,
// profiles with a reserve and a dynamic or static threshold, headroom of each group or
// shared by all, and independent parts of the memory. A frame is charged twice, to the
// group it came in by and to the queue it waits in, and is refused by whichever has no
// room. The package knows no time and no frame: the fabric asks it, and acts.
//
// Everything inside is counted in cells. A frame takes whole cells; cells of one byte
// count bytes.
package mmu

import (
	"fmt"
	"math"

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
	// headroom to itself.
	Headroom units.Bytes
}

// Group is the profile of one ingress port and priority.
type Group struct {
	Pool     int
	Lossless bool        // beyond the threshold a frame goes to the headroom, and XOFF is due
	Reserved units.Bytes // guaranteed before the pool is used (SONiC: the profile's size)
	Headroom units.Bytes // room for what arrives after XOFF (SONiC: the profile's xoff)
	Limit    Threshold
	// XON is due when the headroom is empty and the group uses no more than XON of the
	// pool, or at least XONOffset less than its threshold.
	XON, XONOffset units.Bytes
}

// Queue is the profile of one egress port and priority.
type Queue struct {
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
	Groups          [][Classes]Group
	Queues          [][Classes]Queue
}

// Verdict is what the memory says to a frame.
type Verdict uint8

// A frame is admitted or refused for one of these reasons.
const (
	Admitted    Verdict = iota
	HeadroomEnd         // a lossless group has no headroom left, of its own or of the shared pool
	IngressEnd          // a lossy group is at its threshold, or its pool at its end
	EgressEnd           // the queue is at its threshold, or its pool at its end
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
	size, used, peak                     int32
	headroom, headroomUsed, headroomPeak int32 // headroom 0: every group has its own
}

func (p *pool) free() int32 { return p.size - p.used }

// group is the use of a priority group, in cells.
type group struct {
	used, headroom         int32 // in reserve and pool; in headroom
	reserved, headroomSize int32
	limit                  limit
	xon, xonOffset         int32
	pool, part             int32
	peak, peakHeadroom     int32
	lossless, xoff         bool
}

// above returns how much of the pool the group uses.
func (g *group) above() int32 { return max(0, g.used-g.reserved) }

// queue is the use of an egress queue in one part, in cells.
type queue struct {
	used, reserved int32
	limit          limit
	pool           int32
}

func (q *queue) above() int32 { return max(0, q.used-q.reserved) }

// Memory is the packet memory of a switch in operation.
type Memory struct {
	cell    uint32
	ports   int
	groups  []group // by priority, then port
	queues  []queue // by part, then priority, then port
	ingress []pool  // by pool, then part
	egress  []pool
	held    []int32 // by part
	size    int32   // of a part
}

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
	m := &Memory{cell: uint32(cell), ports: len(p.Groups), size: int32(perPart(p.Size)), held: make([]int32, parts)}
	pools := func(of []Pool) (out []pool) {
		for _, s := range of {
			for range parts {
				out = append(out, pool{size: int32(min(perPart(s.Shared), int64(m.size))), headroom: int32(min(perPart(s.Headroom), int64(m.size)))})
			}
		}
		return out
	}
	m.ingress, m.egress = pools(p.Ingress), pools(p.Egress)
	up := func(b units.Bytes) int32 { return int32(min((int64(b)+int64(cell)-1)/int64(cell), math.MaxInt32)) }
	down := func(b units.Bytes) int32 { return int32(min(int64(b)/int64(cell), math.MaxInt32)) }
	threshold := func(t Threshold) limit {
		switch {
		case t.Den > 0:
			return limit{alpha: int32(max(1, min(t.Num<<16/t.Den, MaxAlpha<<16-1)))}
		case t.Static > 0:
			return limit{fixed: down(t.Static)}
		}
		return limit{fixed: math.MaxInt32}
	}
	m.groups = make([]group, Classes*m.ports)
	m.queues = make([]queue, parts*Classes*m.ports)
	for c := range Classes {
		for i := range m.ports {
			s := &p.Groups[i][c]
			part := i * parts / m.ports
			m.groups[c*m.ports+i] = group{
				reserved: up(s.Reserved), headroomSize: down(s.Headroom), limit: threshold(s.Limit),
				xon: down(s.XON), xonOffset: up(s.XONOffset),
				pool: int32(s.Pool*parts + part), part: int32(part), lossless: s.Lossless,
			}
			for part := range parts {
				q := &p.Queues[i][c]
				m.queues[(part*Classes+c)*m.ports+i] = queue{reserved: up(q.Reserved), limit: threshold(q.Limit), pool: int32(q.Pool*parts + part)}
			}
		}
	}
	return m, nil
}
