package collective

import (
	"cmp"
	"math/bits"

	"github.com/hopscope/hopscope/internal/units"
)

// Lanes of point-to-point operations.
const (
	sending = iota
	receiving
)

// allToAll appends the rounds of a pairwise exchange: in a round each rank sends to
// one peer and receives from another. What starts on the same channel shares its
// thread block: chunks of up to peersPerBlock rounds take turns.
func (b *builder) allToAll() {
	n := len(b.Ranks)
	part := b.Bytes / units.Bytes(n)
	p := b.partners()
	for round := 1; round < n; {
		end := round + 1
		for end < n && p.base(end) == p.base(round) && (end-round) < peersPerBlock {
			end++
		}
		var batch [][2]int
		for ; round < end; round++ {
			for from := range n {
				batch = append(batch, [2]int{from, p.to(from, round)})
			}
		}
		if b.Sizes != nil {
			b.exchangeSizes(batch, p.base(end-1))
			continue
		}
		b.exchange(batch, p.base(end-1), part)
	}
}

// sendRecv appends one round: each rank sends to the next.
func (b *builder) sendRecv() {
	n := len(b.Ranks)
	var batch [][2]int
	for from := range n {
		if from == 0 || !b.OneWay {
			batch = append(batch, [2]int{from, (from + 1) % n})
		}
	}
	b.exchange(batch, 1, b.Bytes)
}

// exchange appends transfers between pairs of ranks, each of the given bytes over as
// many channels as its size is worth, those of a number in the same.
func (b *builder) exchange(pairs [][2]int, base int, bytes units.Bytes) {
	parts := b.peers.parts(bytes)
	for k := range parts {
		b.channel = b.peers.channel(base, k)
		b.used[b.channel] = true
		b.works = 1
		if b.onGPUs() { // each has warps of its own (src/device/sendrecv.h)
			b.works = max(1, len(pairs)/len(b.Ranks))
		}
		b.repeat(share(bytes, parts, k), b.chunk, func(chunk units.Bytes) {
			for i, pair := range pairs {
				b.add(step{lane: b.lane(pair[0], sending+2*b.work(i)), label: "send", bytes: chunk, to: []*edge{b.pair(pair[0], pair[1])}})
			}
			for i, pair := range pairs {
				b.add(step{lane: b.lane(pair[1], receiving+2*b.work(i)), label: "receive", bytes: chunk, from: []*edge{b.pair(pair[0], pair[1])}})
			}
		})
	}
}

// work is the number of a pair's transfer among those that share its block.
func (b *builder) work(pair int) int { return pair / len(b.Ranks) % b.works }

// Constants of NCCL's point-to-point operations (src/init.cc, src/include/device.h
// and src/enqueue.cc of 2.12 to 2.21).
const (
	nvlinkChunk  = 512 * units.KiB // NCCL_P2P_NVL_CHUNKSIZE
	networkChunk = 128 * units.KiB // NCCL_P2P_NET_CHUNKSIZE and NCCL_P2P_PCI_CHUNKSIZE
	// peersPerBlock is how many sends and as many receives a thread block works on at
	// the same time.
	peersPerBlock = 8
	// peerLL is up to how much for each channel LL is taken (NCCL_P2P_LL_THRESHOLD).
	peerLL = 16 * units.KiB
)

// peers says how point-to-point operations share channels.
type peers struct {
	channels int         // in all
	each     int         // to one peer, at most
	ranks    int         // each of which may be a peer
	all      bool        // any transfer takes all
	network  bool        // there are several hosts
	step     units.Bytes // of a connection's buffer, with Simple
	ll       bool        // with LL, whose buffer has steps of llBuffer / steps
	halved   bool        // many ranks halve the most channels of one, too
}

// peers follows NCCL (ncclTopoComputeP2pChannels and ncclTopoGetNchannels in
// src/graph/paths.cc, scheduleP2pTasksToPlan in src/enqueue.cc): as many channels as
// collectives have, but to a peer over the network 2, fewer where there are many
// ranks, over PCIe 2, and over NVLink 2 for each link. The least of these holds for
// all peers. All but channels given are rounded up to powers of two. Channels given for
// SendRecv, whose ranks have one peer, are all for that.
func (s *Spec) peers() peers {
	hosts, n := hostsOf(s.Ranks), len(s.Ranks)
	p := peers{channels: s.channels(Ring), ranks: n, all: s.Channels > 0 && s.Op == SendRecv, network: len(hosts) > 1,
		step: min(cmp.Or(s.Env.PeerChunk, networkChunk), s.Env.buffer()/steps),
		ll:   s.Protocol == LL, halved: s.rules().halvedMost}
	if !p.network && s.Speeds.NVLink {
		p.step = min(nvlinkChunk, s.Env.buffer()/steps)
	}
	p.each = p.channels
	if len(hosts) < n {
		p.each = min(p.each, s.linkChannels())
	}
	if p.network {
		p.each = min(p.each, cmp.Or(s.Env.PerNetPeer, halved(2, n, 4*p.channels)))
	}
	if s.Channels == 0 {
		p.channels = powerUp(min(p.channels, s.rules().maxChannels))
	}
	p.each = min(powerUp(p.each), p.channels)
	return p
}

// linkChannels is how many channels the links between GPUs of a server are worth: two
// for each 20 GB/s of NVLink, two over PCIe.
func (s *Spec) linkChannels() int {
	if !s.Speeds.NVLink {
		return 2
	}
	return 2 * max(1, int(s.Speeds.Intra/20))
}

// halved is channels, halved while so many for each of n ranks are more than most.
func halved(channels, n, most int) int {
	for channels > 1 && channels*n > most {
		channels /= 2
	}
	return channels
}

// powerUp is the next power of two from n on.
func powerUp(n int) int { return 1 << bits.Len(uint(n-1)) }

// parts is over how many channels a transfer goes: parts of less than an eighth of a
// step (over the network half a one) are not worth a channel, and of more than 32
// steps (over the network one) are worth more of them (addP2pToPlan).
func (p *peers) parts(bytes units.Bytes) int {
	if p.all {
		return int(max(1, min(units.Bytes(p.channels), bytes/Element)))
	}
	step := p.step
	if p.ll {
		step = llBuffer / steps
	}
	smallest, largest := step/8, 32*step
	if p.network {
		smallest, largest = step/2, step
	}
	least, most := halved(p.each, p.ranks, p.channels), p.each
	if p.halved {
		most = halved(p.each, p.ranks, 4*p.channels)
	}
	n := int(max(1, min(units.Bytes(least), (bytes+smallest-1)/smallest)))
	for bytes > largest*units.Bytes(n) && n <= most/2 {
		n *= 2
	}
	return n
}

// channel is the one of part k of a transfer whose parts begin at channel base: those
// of a power of two are spread by their number's mirrored bits (p2pChannels).
func (p *peers) channel(base, k int) int {
	if width := bits.Len(uint(p.channels - 1)); 1<<width == p.channels {
		k = int(bits.Reverse64(uint64(k)) >> (64 - width))
	}
	return (base + k) % p.channels
}

// chunk is the payload of a step: over the network less of short transfers.
func (p *peers) chunk(bytes units.Bytes) units.Bytes {
	switch {
	case p.network && bytes < p.step:
		return p.step / 4
	case p.network && bytes < 8*p.step:
		return p.step / 2
	}
	return p.step
}

// partners says who sends to whom in which round: to the rank so many places on in
// the host so many on, all of a host in turn, where all hosts have as many ranks
// (NCCL's p2pSchedule), else to the one so many places on.
type partners struct {
	hosts [][]int
	of    []place // by rank
	local int     // ranks of a host; 0: not all have as many
	n     int
}

// place is a rank's host and its number in it.
type place struct{ host, local int }

func (b *builder) partners() partners {
	p := partners{hosts: hostsOf(b.Ranks), n: len(b.Ranks), of: make([]place, len(b.Ranks))}
	p.local = len(p.hosts[0])
	for h, members := range p.hosts {
		if len(members) != len(p.hosts[0]) {
			p.local = 0
		}
		for k, m := range members {
			p.of[m] = place{h, k}
		}
	}
	return p
}

// to is the rank that another one sends to in a round.
func (p *partners) to(from, round int) int {
	if p.local == 0 {
		return (from + round) % p.n
	}
	at := p.of[from]
	return p.hosts[(at.host+round/p.local)%len(p.hosts)][(at.local+round%p.local)%p.local]
}

// base is the channel at which a round begins: in one host each has its own, over
// several those to one host share a thread block (ncclP2pChannelBaseForRound).
func (p *partners) base(round int) int {
	if p.local == 0 || len(p.hosts) == 1 {
		return round
	}
	blocks := (p.local + peersPerBlock - 1) / peersPerBlock
	return round/p.local*blocks + round%p.local/peersPerBlock
}

// pair is the edge between two ranks. It leaves the host by the port of the receiver's
// number, of the GPU that is nearest to it (NCCL's PXN), so that it stays on a rail.
func (b *builder) pair(from, to int) *edge {
	via := from
	if b.Ranks[from].Host != b.Ranks[to].Host {
		out, in := b.heads(b.membersOf(from)), b.heads(b.membersOf(to))
		for _, head := range out { // the nearest of those that share a port hands on what the others send
			if r := &b.Ranks[head]; r.Endpoint == b.Ranks[from].Endpoint && b.Ranks[from].Far && !r.Far {
				via = head
			}
		}
		for k, head := range in {
			if b.Ranks[head].Endpoint == b.Ranks[to].Endpoint && b.Ranks[out[k%len(out)]].Endpoint != b.Ranks[from].Endpoint {
				via = out[k%len(out)]
			}
		}
	}
	return b.edge(from, to, via)
}

// membersOf are the ranks of a rank's host.
func (b *builder) membersOf(rank int) []int {
	if b.members == nil {
		b.members = make(map[int][]int)
		for _, members := range hostsOf(b.Ranks) {
			b.members[b.Ranks[members[0]].Host] = members
		}
	}
	return b.members[b.Ranks[rank].Host]
}
