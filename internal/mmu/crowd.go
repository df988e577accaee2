package mmu

import (
	"math"

	"github.com/hopscope/hopscope/internal/units"
)

// Crowd works out how near groups of a memory come to XOFF where the ports of several equal sets share
// it and only one set runs. At an instant at which one set does something, all do: block by block, and
// within a block first that of image 0. Each finds the pool as the ones before it leave it: what the others
// hold differs by what is done at that instant, and is a multiple of what the set holds that runs before it. So
// what is done at one instant is put aside until it is complete.
type Crowd struct {
	m       *Memory
	images  int32
	pending []crowdStep
	at      units.Time
	key     uint64
	block   int32        // of what is done now
	near    [][]approach // by group and image; nil: nothing came in by it
	most    []int32      // by group: the most room that an image has noted
	crossed bool
}

// crowdStep is a change of what a group holds. admitted: a frame was, which is noted.
type crowdStep struct {
	group    int32
	delta    int32 // of the pool
	use      int32 // of the group, after it
	block    int32
	admitted bool
}

// NewCrowd is for a memory whose ports are one of so many equal sets.
func NewCrowd(m *Memory, images int) *Crowd {
	return &Crowd{m: m, images: int32(images), near: make([][]approach, len(m.groups)), most: make([]int32, len(m.groups))}
}

// Begin says that what comes is of another instant, unless the time and the key are as before: the key
// tells apart what is done at a time by all images before anything else is. Blocks never go back at an instant.
func (c *Crowd) Begin(now units.Time, key uint64, block int) {
	if now != c.at || key != c.key {
		c.Settle()
		c.at, c.key = now, key
	}
	c.block = int32(block)
}

// Pool is how many cells of the pool of a group are used.
func (c *Crowd) Pool(g *Group) int32 { return g.pool.used }

// Admitted notes that a frame was admitted to a group; before is what Pool said before it was.
func (c *Crowd) Admitted(g *Group, before int32) {
	c.pending = append(c.pending, crowdStep{g.rest, g.pool.used - before, g.used, c.block, true})
	if !g.lossless || g.headroom > 0 || g.xoff {
		c.crossed = true
	}
}

// Released notes that a group gave back what a frame took; before is what Pool said before it did.
func (c *Crowd) Released(g *Group, before int32) {
	c.pending = append(c.pending, crowdStep{group: g.rest, delta: g.pool.used - before, block: c.block})
}

// Refuse notes that something happened for which images are not equal.
func (c *Crowd) Refuse() { c.crossed = true }

// Settle works out what is put aside.
func (c *Crowd) Settle() {
	for i := range c.pending {
		if c.pending[i].admitted {
			c.note(i)
		}
	}
	c.pending = c.pending[:0]
}

// note works out what step i leaves of the pool for each image.
func (c *Crowd) note(i int) {
	s := c.pending[i]
	g := &c.m.groups[s.group]
	// What one set held before the instant and adds in blocks before, what it adds in this block, and up to this step.
	held, all, own := g.pool.used, int32(0), int32(0)
	for k := range c.pending {
		x := &c.pending[k]
		if c.m.groups[x.group].pool != g.pool {
			continue
		}
		if x.block >= s.block {
			held -= x.delta
		}
		if x.block == s.block {
			all += x.delta
			if k <= i {
				own += x.delta
			}
		}
	}
	room := func(image int32) int32 {
		free := int64(g.pool.size) - int64(held)*int64(c.images) - int64(all)*int64(image) - int64(own)
		if free < 0 {
			return math.MinInt32
		}
		return g.limit.of(int32(free)) - max(0, s.use-g.reserved)
	}
	least := min(room(0), room(c.images-1))
	if least < g.spare() {
		c.crossed = true
		return
	}
	near := c.near[s.group]
	if near == nil {
		near = make([]approach, c.images)
		for k := range near {
			near[k] = unnoted()
		}
		c.near[s.group], c.most[s.group] = near, math.MaxInt32
	}
	if least >= c.most[s.group] {
		return
	}
	most := int32(math.MinInt32)
	for k := range near {
		near[k].note(c.at, s.use, g.reserved, room(int32(k)))
		most = max(most, near[k].room)
	}
	c.most[s.group] = most
}

// Crossed reports whether an image came to XOFF, or to something else for which images are not equal.
func (c *Crowd) Crossed() bool { return c.crossed }

// NearestXOFF is Memory.NearestXOFF for an image of a group.
func (c *Crowd) NearestXOFF(g *Group, image int) (use, threshold int64, at units.Time, ok bool) {
	if c.near[g.rest] == nil {
		return 0, 0, 0, false
	}
	return c.m.nearest(&c.near[g.rest][image])
}
