package server

import (
	"math/bits"

	"github.com/hopscope/hopscope/internal/pcie"
	"github.com/hopscope/hopscope/internal/units"
)

// Flow is what a way allows in one direction, from its parts alone.
type Flow struct {
	Rate    units.Rate // payload in steady state, nothing else on the way
	Limit   int        // index of the link that limits it; -1: tags or credits do
	Latency units.Time // of a transfer of 64 B at zero load
}

// Prediction is what the way between a memory and a card allows.
type Prediction struct {
	Path  []Hop // from the memory to the card
	Read  Flow  // the card reads from the memory: what it sends
	Write Flow  // the card writes to the memory: what it receives
	// Duplex is the rate of each direction when both are in use.
	Duplex units.Rate
	// DuplexLimit is the index of the link that limits it; -1: what limits one direction.
	DuplexLimit int
}

// small is the transfer that latencies are given for: a cache line.
const small = 64 * units.Byte

// sample is the transfer that rates are computed with: a whole number of every MPS and
// MRRS.
const sample = units.MiB

// Predict returns what the way between a memory (a GPU or DRAM) and a card allows.
func (t *Tree) Predict(memory, nic int) (Prediction, error) {
	path, err := t.Path(memory, nic)
	if err != nil {
		return Prediction{}, err
	}
	p := Prediction{Path: path, Read: Flow{Latency: t.readLatency(path, small)}, Write: Flow{Latency: t.writeLatency(path, small)}}
	use := make([]occupied, len(t.Links))
	t.occupy(use, path, true)
	p.Read.Rate, p.Read.Limit = t.slowest(use)
	if tags := t.byTags(path); tags < p.Read.Rate {
		p.Read.Rate, p.Read.Limit = tags, -1
	}
	alone := make([]occupied, len(t.Links))
	t.occupy(alone, path, false)
	p.Write.Rate, p.Write.Limit = t.slowest(alone)
	if credits := t.byCredits(path); credits < p.Write.Rate {
		p.Write.Rate, p.Write.Limit = credits, -1
	}
	t.occupy(use, path, false)
	p.Duplex, p.DuplexLimit = t.slowest(use)
	if one := min(p.Read.Rate, p.Write.Rate); one < p.Duplex {
		p.Duplex, p.DuplexLimit = one, -1
	}
	return p, nil
}

// byTags returns the rate of reads that the card's tags allow: that many requests of
// MRRS in the time of one (models.md 7.1: tags * MRRS / latency).
func (t *Tree) byTags(path []Hop) units.Rate {
	for _, h := range path {
		if l := &t.Links[h.Link]; l.Kind == PCIe {
			return perTime(units.Bytes(t.Costs.ReadTags)*l.PCIe.MRRS, t.readLatency(path, l.PCIe.MRRS))
		}
	}
	return 1<<63 - 1
}

// byCredits returns the rate of posted writes that the credits of the receivers on the
// way allow: what each takes in, in the time from a TLP's first bit on the link before it
// to its leaving, at a root complex with memory to its being there.
func (t *Tree) byCredits(path []Hop) units.Rate {
	longest := units.Time(0)
	for i, h := range path {
		l := &t.Links[h.Link]
		if l.Kind != PCIe {
			continue
		}
		link := t.PCIeAt(path, i, false)
		held := l.Latency + link.Raw().TxTime(link.WriteBytes(link.MPS))
		if i > 0 && t.Links[path[i-1].Link].Kind == MemoryBus {
			held += t.Links[path[i-1].Link].Latency
		}
		longest = max(longest, held)
	}
	if longest == 0 {
		return 1<<63 - 1
	}
	return perTime(t.Costs.PostedCredits, longest)
}

// perTime returns the rate of n bytes per d.
func perTime(n units.Bytes, d units.Time) units.Rate {
	hi, lo := bits.Mul64(uint64(n), 8e12)
	if hi >= uint64(d) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(d))
	return units.Rate(q)
}

// occupied is how long the sample keeps a link busy, by direction: to A, to B.
type occupied [2]units.Time

func side(forward bool) int {
	if forward {
		return 1
	}
	return 0
}

// occupy adds what a read or a write of the sample takes on every link. Data of a read
// follow the path and its requests come against it; a write comes against it.
func (t *Tree) occupy(use []occupied, path []Hop, read bool) {
	for i, h := range path {
		l := &t.Links[h.Link]
		if l.Kind != PCIe {
			d := l.Rate.TxTimeLong(sample)
			use[h.Link][side(h.Forward == read)] += d
			if l.Kind == HBM || l.Kind == MemoryBus { // reads and writes share it
				use[h.Link][side(h.Forward != read)] += d
			}
			continue
		}
		link := t.PCIeAt(path, i, read)
		if read {
			use[h.Link][side(h.Forward)] += link.Raw().TxTimeLong(link.CompletionBytes(sample))
			use[h.Link][side(!h.Forward)] += link.Raw().TxTimeLong(link.ReadRequestBytes(sample))
			continue
		}
		use[h.Link][side(!h.Forward)] += link.Raw().TxTimeLong(link.WriteBytes(sample))
	}
}

// slowest returns the rate that the busiest link allows.
func (t *Tree) slowest(use []occupied) (rate units.Rate, link int) {
	longest := units.Time(0)
	link = -1
	for i := range use {
		if d := max(use[i][0], use[i][1]); d > longest {
			longest, link = d, i
		}
	}
	return perTime(sample, longest), link
}

// PCIeAt returns the link of a path's hop as data of a read (along the path) or of a
// write (against it) see it: behind a root complex that cuts traffic between devices,
// their TLPs are smaller.
func (t *Tree) PCIeAt(path []Hop, hop int, read bool) pcie.Link {
	l := t.Links[path[hop].Link].PCIe
	for i, h := range path[:len(path)-1] {
		behind := i < hop == read
		if cut := t.Devices[t.End(h)].PeerTLP; cut > 0 && behind && t.peers(path) {
			l.Cut = cut
		}
	}
	return l
}

// peers reports whether a path joins two devices rather than one and DRAM.
func (t *Tree) peers(path []Hop) bool {
	return t.Links[path[0].Link].Kind != MemoryBus && t.Links[path[len(path)-1].Link].Kind != MemoryBus
}

// readLatency returns the zero-load time of a DMA read of n bytes, at most one
// completion's, from its request's first byte to its data's last at the reader. Data
// follow the path.
func (t *Tree) readLatency(path []Hop, n units.Bytes) units.Time {
	total := t.memoryLatency(path)
	for i := range path {
		total += t.readHop(path, i, n)
	}
	return total
}

// readHop is what one hop adds to readLatency.
func (t *Tree) readHop(path []Hop, i int, n units.Bytes) units.Time {
	l := &t.Links[path[i].Link]
	if l.Kind != PCIe {
		return 2*l.Latency + l.Rate.TxTime(n)
	}
	link := t.PCIeAt(path, i, true)
	return 2*l.Latency + link.Raw().TxTime(link.ReadRequestBytes(n)) + link.Raw().TxTime(link.CompletionBytes(n))
}

// writeLatency returns the zero-load time of a posted write of n bytes, from its first
// byte at the card to its last in the memory at which the path starts.
func (t *Tree) writeLatency(path []Hop, n units.Bytes) units.Time {
	total := units.Time(0)
	for i := range path {
		total += t.writeHop(path, i, n)
	}
	return total
}

// writeHop is what one hop adds to writeLatency.
func (t *Tree) writeHop(path []Hop, i int, n units.Bytes) units.Time {
	l := &t.Links[path[i].Link]
	if l.Kind != PCIe {
		return l.Latency + l.Rate.TxTime(n)
	}
	link := t.PCIeAt(path, i, false)
	return l.Latency + link.Raw().TxTime(link.WriteBytes(n))
}

// Share is what one hop, or the memory, contributes to a prediction.
type Share struct {
	ReadRate, WriteRate units.Rate // of payload on this hop alone; 0: no limit
	Read, Write         units.Time // of the latencies
}

// Shares returns what the memory at the start of a way and each of its hops contribute;
// the times add up to the latencies of Predict.
func (t *Tree) Shares(path []Hop) (memory Share, hops []Share) {
	memory.Read = t.memoryLatency(path)
	for i, h := range path {
		s := Share{Read: t.readHop(path, i, small), Write: t.writeHop(path, i, small)}
		if l := &t.Links[h.Link]; l.Kind == PCIe {
			s.ReadRate, s.WriteRate = t.PCIeAt(path, i, true).ReadRate(), t.PCIeAt(path, i, false).WriteRate()
		} else {
			s.ReadRate, s.WriteRate = l.Rate, l.Rate
		}
		hops = append(hops, s)
	}
	return memory, hops
}

// memoryLatency returns what the memory at the start of a path takes to answer a read.
func (t *Tree) memoryLatency(path []Hop) units.Time {
	switch t.Links[path[0].Link].Kind {
	case HBM:
		return t.Costs.HBMRead
	case MemoryBus:
		return t.Costs.DRAMRead
	}
	return 0
}
