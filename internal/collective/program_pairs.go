package collective

import (
	"sort"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// pairRule makes the steps of an exchange between all pairs of ranks, AllToAll. What a lane
// does in a round is the same for all ranks, as peers are so many places on; edges and
// connections are numbered by round, part of the transfer and sender. Lane l of a rank sends
// with l even and receives with l odd.
type pairRule struct {
	*builder
	partners
	pieces  [][]units.Bytes // by part of a transfer, each in a channel of its own
	before  []int32         // by part: how many connections a pair has for those before; and all
	batches []pairBatch
	batchOf []int32      // by round
	items   [][]pairItem // by half a lane
	used    int          // channels
	orders  uint64
	first   int // connections that the plan has
	rate    units.Rate
	port    []int32   // by rank: the number of its network port
	near    []int32   // by rank: who passes on to its port what it sends
	out     [][]int32 // by host: who passes on to each of its ports
	memory  [][]int16 // by rank and number of the receiver in its host: see edge.memory
	labels  pairLabels
}

// pairItem is a step of a lane: a piece of a part of what goes to the peer of a round.
type pairItem struct{ round, part, piece int32 }

// pairBatch is a number of rounds, from the first on, that begin in the same channel.
type pairBatch struct {
	first, size int32
	order       uint64 // of their first step
	conn        int    // their first connection; as that of the next: they stay inside hosts
	works       int    // transfers that share a thread block, in warps of their own
}

// pairLabels are those of what is done; of proxies by rank.
type pairLabels struct {
	send, inside, receive, copy, read, clear, notice uint16
	post, arrive                                     []uint16
}

// pairRule makes the rounds and what lanes do in them.
func (b *builder) pairRule() *pairRule {
	n, bytes := len(b.Ranks), b.Bytes/units.Bytes(len(b.Ranks))
	r := &pairRule{builder: b, partners: b.partners(), rate: b.blockRate(), orders: uint64(n),
		first: len(b.plan.Conns), batchOf: make([]int32, n)}
	parts, most := b.peers.parts(bytes), 0
	conns := int32(0)
	for k := range parts {
		r.pieces = append(r.pieces, b.pieces(share(bytes, parts, k), b.chunk))
		r.before = append(r.before, conns)
		if conns++; len(r.pieces[k])*b.Iterations > b.slots {
			conns++
		}
		most = max(most, len(r.pieces[k]))
	}
	r.before = append(r.before, conns)
	lanes, channels := make(map[[2]int]int), make(map[int]bool)
	conn := 0
	for round := 1; round < n; {
		x := pairBatch{first: int32(round), order: r.orders, conn: conn, works: 1}
		base := r.base(round)
		for ; round < n && r.base(round) == base && int(x.size) < peersPerBlock; round++ {
			r.batchOf[round] = int32(len(r.batches))
			x.size++
		}
		if b.onGPUs() {
			x.works = int(x.size)
		}
		for k := range parts {
			channel := b.peers.channel(base, k)
			channels[channel] = true
			for c := range r.pieces[k] {
				for i := range x.size {
					r.item(lanes, [2]int{channel, int(i) % x.works}, pairItem{x.first + i, int32(k), int32(c)})
				}
			}
		}
		r.orders += uint64(parts*most*2*int(x.size)*n) * ringPlaces
		if b.Ranks[0].Host != b.Ranks[r.to(0, int(x.first))].Host {
			conn += int(x.size) * n * int(conns)
		}
		r.batches = append(r.batches, x)
	}
	r.batches = append(r.batches, pairBatch{first: int32(n), order: r.orders, conn: conn})
	r.used = len(channels)
	r.route()
	r.label(parts)
	return r
}

// item adds a step to the lane of a channel and its warps.
func (r *pairRule) item(lanes map[[2]int]int, key [2]int, i pairItem) {
	l, known := lanes[key]
	if !known {
		l = len(r.items)
		lanes[key] = l
		r.items = append(r.items, nil)
	}
	r.items[l] = append(r.items[l], i)
}

// route finds out through which rank each one's data leave their host, as pair does.
func (r *pairRule) route() {
	r.port, r.near, r.memory = make([]int32, r.n), make([]int32, r.n), make([][]int16, r.n)
	for _, members := range r.hosts {
		var out []int32
		heads := r.heads(members)
		for _, h := range heads {
			out = append(out, int32(h))
		}
		r.out = append(r.out, out)
		for _, m := range members {
			r.near[m] = int32(m)
			for k, h := range heads {
				if r.Ranks[h].Endpoint == r.Ranks[m].Endpoint {
					r.port[m] = int32(k)
					if r.Ranks[m].Far && !r.Ranks[h].Far {
						r.near[m] = int32(h)
					}
				}
			}
			memory := make([]int16, len(members))
			for k, to := range members {
				if memory[k] = workload.NoDevice; r.Between != nil && to != m {
					memory[k] = r.Between(&r.Ranks[m], &r.Ranks[to])
				}
			}
			r.memory[m] = memory
		}
	}
}

// via is the rank by whose port data from one rank to another leave the host.
func (r *pairRule) via(from, to int) int {
	if out := r.out[r.of[from].host]; r.Ranks[from].Host != r.Ranks[to].Host {
		if head := int(out[int(r.port[to])%len(out)]); r.Ranks[head].Endpoint != r.Ranks[from].Endpoint {
			return head
		}
		return int(r.near[from])
	}
	return from
}

// label makes the labels. What a proxy waits for its turn depends on the connections by which it
// receives: of each part one from the ranks of all other hosts.
func (r *pairRule) label(parts int) {
	t := &turns{builder: r.builder, conns: make(map[*Rank]int), labels: make(map[turnKind]uint16)}
	for m := range r.Ranks {
		t.conns[&r.Ranks[m]] = (r.n - r.local) * parts
	}
	one := func(text string, parts []workload.Part) uint16 {
		if len(parts) == 0 {
			return workload.NoLabel
		}
		return r.builder.label(text, parts)
	}
	turned := func(m int, text string, parts []workload.Part, receives bool) uint16 {
		if r.GPU == nil {
			return one(text, parts)
		}
		return t.label(&r.Ranks[m], text, parts, receives)
	}
	l := &r.labels
	l.send, l.inside = r.builder.label("send", r.Costs.Outside), r.builder.label("send inside", r.Costs.Inside)
	l.receive, l.copy = r.builder.label("receive", r.Costs.Receive), r.builder.label("copy", nil)
	l.read, l.clear = r.builder.label("read from the host's memory", nil), one("proxy clears a slot", r.Costs.Clear)
	l.notice = one("GPU notices", r.Costs.Arrive)
	for m := range r.Ranks {
		l.post = append(l.post, turned(m, "proxy posts", r.Costs.Post, false))
		if len(r.Costs.Arrive) > 0 && r.Protocol == Simple {
			l.arrive = append(l.arrive, turned(m, "proxy tells the GPU", r.Costs.Arrive, true))
		} else {
			l.arrive = append(l.arrive, l.notice)
		}
	}
}

// from is the rank that another one receives from in a round.
func (r *pairRule) from(to, round int) int {
	at := r.of[to]
	host := (at.host - round/r.local%len(r.hosts) + len(r.hosts)) % len(r.hosts)
	return r.hosts[host][(at.local-round%r.local+r.local)%r.local]
}

// edge is the number of that on which a rank sends a part in a round.
func (r *pairRule) edge(round, part int32, from int) int32 {
	return ((round-1)*int32(len(r.pieces))+part)*int32(r.n) + int32(from)
}

// of the number of an edge: its round, part and sender.
func (r *pairRule) parse(edge int32) (round, part int32, from int) {
	n, parts := int32(r.n), int32(len(r.pieces))
	return edge/n/parts + 1, edge / n % parts, int(edge % n)
}

// Steps implements workload.ProgramRule.
func (r *pairRule) Steps(lane int32) int { return len(r.items[int(lane)%(2*len(r.items))/2]) }

// Step implements workload.ProgramRule.
func (r *pairRule) Step(lane int32, k int, s *workload.ProgramStep) {
	rank, l := int(lane)/(2*len(r.items)), int(lane)%(2*len(r.items))
	i := r.items[l/2][k]
	bytes := r.pieces[i.part][i.piece]
	device := r.Ranks[rank].Device
	s.Takes, s.Puts, s.After = s.Takes[:0], s.Puts[:0], s.After[:0]
	s.From, s.To, s.Bytes, s.Folded = device, device, bytes, false
	if l%2 == 1 {
		from := r.from(rank, int(i.round))
		s.Takes, s.Label, s.Order = append(s.Takes, r.edge(i.round, i.part, from)), r.labels.receive, r.order(i, from,
			receiving)
	} else {
		e := r.edge(i.round, i.part, rank)
		to := r.to(rank, int(i.round))
		s.Puts, s.Label, s.Order = append(s.Puts, e), r.labels.send, r.order(i, rank, sending)
		if r.Ranks[to].Host == r.Ranks[rank].Host {
			s.Label = r.labels.inside
		}
		if next := r.next(rank, to); next != workload.NoDevice {
			s.To, s.Bytes, s.Folded = next, r.onWire(bytes), true
		}
	}
	s.Work = 0
	if device != workload.NoDevice {
		s.Work = r.blockWork(r.rate, bytes) * units.Time(r.batches[r.batchOf[i.round]].works)
		if r.Protocol == Simple && l%2 == 0 && bytes > 0 {
			s.Work += r.fitted().peerChunk * units.Time(bytes) / units.Time(r.chunk)
		}
	}
}

// next is the device to which a step moves what it sends, NoDevice: it leaves it where it is.
func (r *pairRule) next(from, to int) int16 {
	if r.Ranks[from].Host == r.Ranks[to].Host {
		if m := r.memory[from][r.of[to].local]; m != workload.NoDevice {
			return m
		}
		return r.Ranks[to].Device
	}
	if via := r.via(from, to); via != from {
		return r.Ranks[via].Device
	}
	return workload.NoDevice
}

// order is the place of the step with which a rank sends, or its peer receives: all of a batch
// send a piece, and then all receive it.
func (r *pairRule) order(i pairItem, from, kind int) uint64 {
	x := &r.batches[r.batchOf[i.round]]
	most := len(r.pieces[0])
	all := uint64(x.size) * uint64(r.n)
	turn, at := (int(i.part)*most+int(i.piece))*2+kind, int(i.round-x.first)*r.n+from
	return x.order + (uint64(turn)*all+uint64(at))*ringPlaces
}

// Unit implements workload.ProgramRule.
func (r *pairRule) Unit(edge int32, k int) (order uint64, put int, wire units.Bytes) {
	round, part, from := r.parse(edge)
	return r.order(pairItem{round, part, int32(k)}, from, sending), 0, r.onWire(r.pieces[part][k])
}

// Edge implements workload.ProgramPairs.
func (r *pairRule) Edge(edge int32, e *workload.ProgramEdge) {
	round, part, from := r.parse(edge)
	to := r.to(from, int(round))
	via := r.via(from, to)
	*e = workload.ProgramEdge{From: int32(from), To: int32(to), Local: r.Ranks[from].Host == r.Ranks[to].Host,
		Conn: noConn, Back: noConn, Next: r.next(from, to),
		Memory: workload.NoDevice, Copy: workload.NoLabel, Read: workload.NoLabel, Post: workload.NoLabel,
		Arrive: workload.NoLabel, Clear: workload.NoLabel,
		Units: len(r.pieces[part]), Most: r.onWire(r.pieces[part][0])}
	if e.Next != workload.NoDevice {
		e.Copy = r.labels.copy
	}
	if e.Local {
		if e.Memory = r.memory[from][r.of[to].local]; e.Memory != workload.NoDevice {
			e.Read = r.labels.read
		}
		return
	}
	x := &r.batches[r.batchOf[round]]
	e.Post, e.Arrive, e.Clear = r.labels.post[via], r.labels.arrive[to], r.labels.clear
	e.Conn = int32(x.conn + int(x.size)*r.n*int(r.before[part]) + int(round-x.first)*r.n + from)
	if r.before[part+1]-r.before[part] > 1 {
		e.Back = e.Conn + x.size*int32(r.n)
	}
}

// Carrier implements workload.ProgramPairs.
func (r *pairRule) Carrier(conn int32) (edge int32, news bool, from, to int32) {
	b := sort.Search(len(r.batches)-1, func(k int) bool { return r.batches[k+1].conn > int(conn) })
	x := &r.batches[b]
	all := int(x.size) * r.n
	rest := int(conn) - x.conn
	part := sort.Search(len(r.pieces)-1, func(k int) bool { return int(r.before[k+1])*all > rest })
	rest -= int(r.before[part]) * all
	news = rest >= all
	rest %= all
	round, sender := int(x.first)+rest/r.n, rest%r.n
	receiver := r.to(sender, round)
	edge, from, to = r.edge(int32(round), int32(part), sender), int32(r.via(sender, receiver)), int32(receiver)
	if news {
		from, to = to, from
	}
	return edge, news, from, to
}

// Conn implements workload.ProgramPairs.
func (r *pairRule) Conn(from, to int32, news bool) workload.Conn {
	var plan workload.Plan
	if news {
		return plan.Conns[r.connectSlotsIn(&plan, &r.Ranks[from], &r.Ranks[to])]
	}
	return plan.Conns[r.connectIn(&plan, &r.Ranks[from], &r.Ranks[to])]
}

// Port implements workload.ProgramPairs.
func (r *pairRule) Port(conn int32) uint16 {
	if r.opt.SrcPort != 0 {
		return r.opt.SrcPort
	}
	return workload.SourcePort(r.first + int(conn))
}
