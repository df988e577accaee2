package collective

import (
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Lanes of NVLS, whose blocks are split by warps (src/device/all_reduce.h, runNvls).
const (
	scattering  = iota // own data into the buffers that the switches read
	gathering          // the result out of the buffer that they write
	reducing           // sums through the switches; between hosts then up the tree
	handingDown        // results through the switches, from the tree
)

// nvlsMost is the largest chunk of NVLS (nvlsChunkSize, NCCL_NVLS_CHUNKSIZE), and that of
// NVLSTree from 4 hosts on.
const (
	nvlsMost     = 128 * units.KiB
	nvlsTreeMost = 64 * units.KiB
)

// nvlsChunk is what a head takes of a channel's part at a time (calcCollChunking in
// src/enqueue.cc): less where that would be few times.
func (s *Spec) nvlsChunk(part units.Bytes) units.Bytes {
	hosts := hostsOf(s.Ranks)
	heads := units.Bytes(len(hosts[0]))
	chunk := nvlsMost
	steps := []struct {
		times units.Bytes
		most  units.Bytes
	}{{64, 64 * units.KiB}, {8, 32 * units.KiB}, {2, 16 * units.KiB}}
	if s.Algorithm == NVLSTree {
		if len(hosts) >= 4 {
			chunk = nvlsTreeMost
		}
		steps = steps[:2]
		steps[0].times, steps[1].times = 4, 1
	}
	for _, c := range steps {
		if part < c.times*heads*chunk && chunk > c.most {
			chunk = c.most
		}
	}
	return chunk
}

// nvls appends AllReduce of the channel's part of the data through the NVSwitches: each GPU
// of a host is the head of a share, whose sum it reads out of all GPUs' buffers and writes
// into all. Over several hosts the sums of heads of a number go up a tree and down again.
func (b *builder) nvls(bytes units.Bytes) {
	hosts := hostsOf(b.Ranks)
	heads := len(hosts[0])
	t := hostTree(len(hosts), b.channel%2)
	b.repeat(bytes, units.Bytes(heads)*b.chunk, func(part units.Bytes) {
		scattered := make([][]workload.Op, len(hosts))
		written := make([][]workload.Op, len(hosts))
		for h, members := range hosts {
			for _, m := range members {
				scattered[h] = append(scattered[h], b.blockCopy(m, scattering, "scatter", b.Costs.Inside, part))
			}
		}
		for head := range heads {
			sums := b.sumsUp(&t, hosts, head, share(part, heads, head), scattered)
			b.resultsDown(&t, hosts, head, share(part, heads, head), sums, written)
		}
		for h, members := range hosts {
			for _, m := range members {
				op := b.blockCopy(m, gathering, "gather", b.Costs.Receive, part)
				for _, w := range written[h] {
					b.awaits(op, w)
				}
			}
		}
	})
}

// switchTree is a tree over hosts.
type switchTree struct {
	parent   []int
	children [][]int
	order    []int // parents before their children
}

func hostTree(hosts, number int) switchTree {
	t := switchTree{parent: doubleTree(hosts, number), children: make([][]int, hosts)}
	for h, p := range t.parent {
		if p == none {
			t.order = append(t.order, h)
		} else {
			t.children[p] = append(t.children[p], h)
		}
	}
	for k := 0; k < len(t.order); k++ {
		t.order = append(t.order, t.children[t.order[k]]...)
	}
	return t
}

// sumsUp appends the sums of a head in all hosts, up to the tree's root, and returns them.
func (b *builder) sumsUp(t *switchTree, hosts [][]int, head int, bytes units.Bytes, scattered [][]workload.Op) []workload.Op {
	sums := make([]workload.Op, len(hosts))
	for k := len(t.order) - 1; k >= 0; k-- {
		h := t.order[k]
		m, up := hosts[h][head], t.parent[h]
		label := b.label("reduce through the switch", b.Costs.Inside)
		if up != none {
			label = b.label("reduce through the switch and send", b.Costs.Outside)
		}
		op := b.through(m, hosts[h], head, reducing, bytes, len(hosts) == 1, label)
		for _, s := range scattered[h] {
			b.awaits(op, s)
		}
		for _, c := range t.children[h] {
			b.takes(op, b.edge(hosts[c][head], m, hosts[c][head]))
		}
		if up != none {
			b.puts(op, b.edge(m, hosts[up][head], m), bytes, false)
		}
		sums[h] = op
	}
	return sums
}

// resultsDown appends the way of a head's result from the tree's root to all hosts, and
// adds what writes it there.
func (b *builder) resultsDown(t *switchTree, hosts [][]int, head int, bytes units.Bytes, sums []workload.Op, written [][]workload.Op) {
	for _, h := range t.order {
		m, up := hosts[h][head], t.parent[h]
		if len(hosts) == 1 { // it is written as it is read
			written[h] = append(written[h], sums[h])
			continue
		}
		op := b.through(m, hosts[h], head, handingDown, bytes, false, b.label("broadcast through the switch", b.Costs.Inside))
		if up != none {
			b.takes(op, b.edge(hosts[up][head], m, hosts[up][head]))
		} else {
			b.awaits(op, sums[h])
		}
		for _, c := range t.children[h] {
			b.puts(op, b.edge(m, hosts[c][head], m), bytes, false)
		}
		written[h] = append(written[h], op)
	}
}

// through appends a head's pass through the switches as one transfer over its links: of n
// heads each has its links carry its own chunk and a share of the others', n+1 half chunks
// for a sum or a broadcast, twice that for both, of which the links reach a part.
func (b *builder) through(m int, members []int, head, kind int, bytes units.Bytes, both bool, label uint16) workload.Op {
	n := len(members)
	halves := float64(n + 1)
	if both {
		halves *= 2
	}
	work := b.fitted().reduceNet
	if both {
		work = b.fitted().reduce
	}
	lane, r := b.lane(m, kind), &b.Ranks[m]
	return b.begin(lane, workload.Local{Host: r.Host, Entry: b.entry, Label: label,
		From: b.Ranks[members[(head+1)%n]].Device, To: r.Device,
		Bytes: units.Bytes(float64(bytes) * halves / 2 / b.nvlsEfficiency()), Work: gigabytes(work).TxTimeLong(bytes)})
}

// nvlsEfficiency is the part of its links' rate that NVLS reaches (nvlsEfficiency in
// src/graph/tuning.cc from 2.28 on).
func (s *Spec) nvlsEfficiency() float64 {
	if s.Speeds.Generation == Blackwell {
		return .74
	}
	return .85
}

// blockCopy appends a copy by a block's warps inside their GPU.
func (b *builder) blockCopy(m, kind int, text string, parts []workload.Part, bytes units.Bytes) workload.Op {
	lane, r := b.lane(m, kind), &b.Ranks[m]
	return b.begin(lane, workload.Local{Host: r.Host, Entry: b.entry, Label: b.label(text, parts), From: r.Device,
		To: r.Device, Bytes: bytes, Work: gigabytes(b.fitted().scatter).TxTimeLong(bytes)})
}
