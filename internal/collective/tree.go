package collective

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// none stands for no parent.
const none = -1

// binaryTree returns the parents of n nodes in NCCL's binary tree, which alternates
// leaves and inner nodes; the root is 0 (src/graph/trees.cc). A node's lowest bit
// that is set gives its level.
func binaryTree(n int) []int {
	parent := make([]int, n)
	parent[0] = none
	for k := 1; k < n; k++ {
		bit := k & -k
		parent[k] = k&^bit | bit<<1
		if parent[k] >= n {
			parent[k] = k &^ bit
		}
	}
	return parent
}

// doubleTree is tree number t, 0 or 1, of NCCL's double binary tree: the second is
// the mirror of the first, or, of an odd number, the first shifted by one, so that
// inner nodes of one are leaves of the other.
func doubleTree(n, t int) []int {
	first := binaryTree(n)
	if t == 0 {
		return first
	}
	rename := func(k int) int { return n - 1 - k }
	if n%2 == 1 {
		rename = func(k int) int { return (k + 1) % n }
	}
	out := make([]int, n)
	for k, p := range first {
		out[rename(k)] = none
		if p != none {
			out[rename(k)] = rename(p)
		}
	}
	return out
}

// family is the tree of the channel at hand over ranks.
type family struct {
	parent   []int
	children [][]int
	order    []int // each rank before its children
}

// family makes one of the two binary trees over hosts, with a chain inside each host
// from the GPU of the channel's network port on. The channels that have a network
// port each have the first tree, those that come to the same ports again the second,
// so that a port which is busy in one is not in the other.
func (b *builder) family() family {
	hosts := hostsOf(b.Ranks)
	f := family{parent: make([]int, len(b.Ranks)), children: make([][]int, len(b.Ranks))}
	heads := make([][]int, len(hosts))
	for h, members := range hosts {
		heads[h] = b.heads(members)
	}
	head := func(h int) int { return heads[h][b.channel%len(heads[h])] }
	up := doubleTree(len(hosts), b.channel/len(heads[0])%2)
	for h, members := range hosts {
		before := none
		for _, rank := range passing(members, head(h), head(h)) {
			switch {
			case before != none:
				f.parent[rank] = before
			case up[h] == none:
				f.parent[rank] = none
				f.order = []int{rank}
			default:
				f.parent[rank] = head(up[h])
			}
			before = rank
		}
	}
	for rank, p := range f.parent {
		if p != none {
			f.children[p] = append(f.children[p], rank)
		}
	}
	for k := 0; k < len(f.order); k++ {
		f.order = append(f.order, f.children[f.order[k]]...)
	}
	return f
}

// treeDepth is NCCL's estimate of a tree's steps from a leaf to the root
// (src/graph/connect.cc).
func (b *builder) treeDepth() int {
	hosts := len(hostsOf(b.Ranks))
	return len(b.Ranks)/hosts - 1 + bits.Len(uint(hosts)) - 1
}

// tree appends AllReduce of the channel's part of the data: chunks are reduced up
// to the root and handed down from there, by two halves of each thread block.
func (b *builder) tree(bytes units.Bytes) {
	f := b.family()
	chunk := b.treeChunk(bytes, b.treeDepth())
	b.repeat(bytes, chunk, func(part units.Bytes) {
		top := b.reduceUp(&f, part)
		b.handDown(&f, part, top)
	})
}

// treeChunk shrinks chunks of LL128, and with Simple by 2.18, until they fill the tree, the
// less the smaller they are (calcCollChunking in src/enqueue.cc).
func (b *builder) treeChunk(bytes units.Bytes, depth int) units.Bytes {
	chunk := b.chunk
	switch {
	case b.Chunk > 0 || b.Protocol == LL || b.Protocol == Simple && !b.rules().halvedByDepth:
		return chunk
	case b.Protocol == LL128:
		hosts := len(hostsOf(b.Ranks))
		each := float64(len(b.Ranks)) / float64(hosts)
		steps := 1 + float64(log2(hosts)) + 0.1*each
		for float64(bytes/chunk) < steps*64/each && chunk > 128*units.KiB {
			chunk /= 2
		}
		for float64(bytes/chunk) < steps*16/each && chunk > 32*units.KiB {
			chunk /= 2
		}
		return chunk
	}
	for _, fill := range []struct {
		times int
		least units.Bytes
	}{{8, 128 * units.KiB}, {4, 64 * units.KiB}, {1, 32 * units.KiB}} {
		for bytes < chunk*units.Bytes(depth*fill.times) && chunk > fill.least {
			chunk /= 2
		}
	}
	return chunk
}

// Lanes of a tree.
const (
	upward = iota
	downward
)

// reduceUp appends the way of a chunk up and returns the root's step.
func (b *builder) reduceUp(f *family, bytes units.Bytes) (top workload.Op) {
	for k := len(f.order) - 1; k >= 0; k-- {
		rank := f.order[k]
		st := step{lane: b.lane(rank, upward), label: "reduce and send", bytes: bytes}
		for _, c := range f.children[rank] {
			st.from = append(st.from, b.edge(c, rank, c))
		}
		switch {
		case f.parent[rank] == none:
			st.label = "reduce at the root"
		case len(st.from) == 0:
			st.label = "send"
		}
		if p := f.parent[rank]; p != none {
			st.to = []*edge{b.edge(rank, p, rank)}
		}
		top = b.add(st)
	}
	return top
}

// handDown appends the way of a chunk down from the root's step.
func (b *builder) handDown(f *family, bytes units.Bytes, top workload.Op) {
	for _, rank := range f.order {
		st := step{lane: b.lane(rank, downward), label: "copy and send", bytes: bytes}
		if p := f.parent[rank]; p != none {
			st.from = []*edge{b.edge(p, rank, p)}
		} else {
			st.after = &top
		}
		for _, c := range f.children[rank] {
			st.to = append(st.to, b.edge(rank, c, rank))
		}
		if len(st.to) == 0 {
			st.label = "receive"
		}
		b.add(st)
	}
}
