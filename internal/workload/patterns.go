package workload

import (
	"fmt"
	"slices"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// Limits of one plan, so that a slip in a count is an error and not an
// exhausted machine.
const (
	MaxConns    = 1 << 22
	MaxMessages = 1 << 24
	// MessageMemory is what a message of one packet takes at the peak of a run: a run of 16
	// million takes 10.3 GB (docs/performance.md). It keeps 400 bytes of them; the
	// collector lets the heap grow beyond what is kept.
	MessageMemory units.Bytes = 640
	// MaxCount is how many messages a pattern can name on each queue pair; so many are
	// refused for their memory.
	MaxCount = 1 << 40
	// MaxBytes is the longest message of a connection, 2^31 bytes (IBTA vol. 1,
	// 9.7.1). The shortest has none: one packet without payload.
	MaxBytes units.Bytes = 1 << 31
	// MaxStart is the latest instant a message may be posted; half the range of
	// units.Time is left for it to complete.
	MaxStart units.Time = units.Never / 2
	// MaxInvalidations bounds SENDs with invalidate: half the 2^24 keys that a
	// host can have.
	MaxInvalidations = 1 << 23
	// MaxOffset is the farthest into its region that a message may begin, and
	// MaxRegion the longest region.
	MaxOffset units.Bytes = 1 << 40
	MaxRegion units.Bytes = 1 << 40
)

// Options is what the patterns have in common. Begin with DefaultOptions: the
// zero value posts no receives.
type Options struct {
	Verb  Verb
	Class uint8 // 0 to 7; on InfiniBand the service level, 0 to 15
	DSCP  uint8 // 0 to 63
	// SrcPort is the UDP source port of the first QP of each pair, counted up for
	// the others; 0: each QP gets its own by its index (see SourcePort).
	SrcPort       uint16
	DstPort       uint16 // see Conn.DstPort
	Path          []int  // from source to destination of the data; see Conn.Path
	Service       Service
	Profile       int // see Conn.Profile
	WrongRKey     bool
	Denied        Access
	Receives      int // see Conn.Receives
	ReceiveSize   units.Bytes
	Region        units.Bytes // see Conn.Region
	Place         Placement
	Fence, Inline bool
	InitialRate   units.Rate
	// QPs is the number of QPs per pair, at least 1 (0 counts as 1). Each sends
	// its own messages of the full size, unless Split divides each message over
	// them.
	QPs   int
	Split bool
	Start units.Time // post of the first message
	Count int        // messages per QP, at least 1 (0 counts as 1)
	Every units.Time // from post to post; 0: all are posted at Start
	// Depth, when positive, is how many of a QP's messages are underway at most: the next is posted
	// Think after one is complete.
	Depth int
	Think units.Time
	// HostOf is the node of an endpoint, whose application thinks; needed with Think.
	HostOf func(ep int) int
	// Trigger starts the messages instead of Start; see Message for all three.
	Trigger, SendDone, RecvDone int
}

// Order is how the messages of a connection follow each other in the region.
type Order uint8

// Orders. A slot is a stretch of the message's size; the region holds them from
// its start.
const (
	Fixed      Order = iota // all messages at Offset
	Sequential              // one slot after the other, over and over
	Random                  // a slot drawn for each message
)

// Placement says where messages lie in the region.
type Placement struct {
	Order  Order
	Offset units.Bytes // Fixed
	Stream *rng.Stream // Random; it needs a Region
}

// DefaultOptions is one WRITE at time zero in priority 3 with DSCP 26, over one
// QP, with receives always posted.
func DefaultOptions() Options {
	return Options{Class: 3, DSCP: 26, Receives: -1, QPs: 1, Count: 1}
}

// SourcePort returns the UDP source port of the k-th connection of a plan:
// 49152 to 65535, the range RoCEv2 requesters use (IBTA annex A17, RFC 6335
// dynamic ports). The low 14 bits of k are permuted, so that any 16384
// connections in a row differ and neighbours share no pattern that a hash could
// fold.
func SourcePort(k int) uint16 {
	const mask = 1<<14 - 1
	x := uint32(k) & mask
	x = x * 0x2c9d & mask // odd factors and xor-shifts are bijections of 14 bits
	x ^= x >> 7
	x = x * 0x1a35 & mask
	x ^= x >> 7
	return uint16(49152 + x)
}

// AddEntry adds a workload entry and returns its index. Every connection
// appended afterwards by a pattern belongs to the entry it is given.
func (p *Plan) AddEntry(name string) int {
	p.Entries = append(p.Entries, name)
	return len(p.Entries) - 1
}

// Flow appends messages of size bytes from one endpoint to another. With READ
// the requester is the destination; with atomics size is AtomicSize.
func (p *Plan) Flow(entry, from, to int, size units.Bytes, o Options) error {
	if err := p.checkRoom(1, o); err != nil {
		return err
	}
	o.QPs, o.Count = max(o.QPs, 1), max(o.Count, 1)
	if err := o.check(); err != nil {
		return err
	}
	if o.Split && size < units.Bytes(o.QPs) {
		return fmt.Errorf("%s cannot be split over %d QPs; use fewer QPs", size, o.QPs)
	}
	if o.Verb == Read {
		from, to, o.Path = to, from, reversed(o.Path)
	}
	for q := range o.QPs {
		conn := p.connect(entry, from, to, q, o)
		bytes := size
		if o.Split {
			bytes = share(size, o.QPs, q)
		}
		s := Series{Message: Message{Conn: conn, Verb: o.Verb, Bytes: bytes, Start: o.Start, Trigger: o.Trigger, SendDone: o.SendDone, RecvDone: o.RecvDone},
			Count: o.Count, Every: o.Every, placed: o.Place.newSlots(o.Count, bytes, o.Region)}
		if o.Place.Order == Fixed {
			s.Offset = o.Place.Offset
		}
		if o.Trigger > 0 {
			s.Start, s.Every = units.Never, 0
		}
		if o.Depth > 0 && o.Depth < o.Count {
			p.loop(entry, from, s, o)
			continue
		}
		p.add(s)
	}
	return nil
}

// loop appends the messages of a series, which an endpoint posts, as a closed loop.
func (p *Plan) loop(entry, poster int, s Series, o Options) {
	underway := make([]Op, 0, s.Count)
	var m Message
	for k := range s.Count {
		s.put(&m, k)
		op := p.AddMessage(m)
		switch {
		case k < o.Depth:
		case o.Think == 0:
			p.After(op, underway[k-o.Depth], Completed)
		default:
			think := p.AddLocal(Local{Host: o.HostOf(poster), Entry: entry, Label: p.AddLabel("think", Part{"think", o.Think}),
				From: NoDevice, To: NoDevice})
			p.After(think, underway[k-o.Depth], Completed)
			p.After(op, think, Completed)
		}
		underway = append(underway, op)
	}
}

// Incast appends a Flow from every endpoint of from to one endpoint.
func (p *Plan) Incast(entry int, from []int, to int, size units.Bytes, o Options) error {
	if len(from) == 0 {
		return fmt.Errorf("incast has no senders; name at least one")
	}
	if err := p.checkRoom(len(from), o); err != nil {
		return err
	}
	for _, src := range from {
		if err := p.Flow(entry, src, to, size, o); err != nil {
			return err
		}
	}
	return nil
}

// AllToAll appends a Flow between every ordered pair of endpoints on different
// hosts. The i-th endpoint sends to i+1, i+2, ... in turn, so that no receiver
// is first on everybody's list.
func (p *Plan) AllToAll(entry int, net Network, endpoints []int, size units.Bytes, o Options) error {
	if err := checkSet("all-to-all", net, endpoints); err != nil {
		return err
	}
	n := len(endpoints)
	if n > MaxConns/n {
		return fmt.Errorf("all-to-all of %d endpoints needs more than %d connections; use fewer endpoints", n, MaxConns)
	}
	if err := p.checkRoom(n*(n-1), o); err != nil {
		return err
	}
	for i, src := range endpoints {
		for step := 1; step < n; step++ {
			dst := endpoints[(i+step)%n]
			if net.HostOf(src) == net.HostOf(dst) {
				continue
			}
			if err := p.Flow(entry, src, dst, size, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// Permutation appends a Flow from every endpoint to another one such that each
// receives from exactly one and none from its own host, drawn at random.
func (p *Plan) Permutation(entry int, net Network, endpoints []int, size units.Bytes, s *rng.Stream, o Options) error {
	if err := checkSet("permutation", net, endpoints); err != nil {
		return err
	}
	if err := p.checkRoom(len(endpoints), o); err != nil {
		return err
	}
	to, err := derange(net, endpoints, s)
	if err != nil {
		return err
	}
	for i, src := range endpoints {
		if err := p.Flow(entry, src, to[i], size, o); err != nil {
			return err
		}
	}
	return nil
}

// derange returns a random permutation of endpoints that sends none to its own
// host. Whole shuffles are drawn until one fits, which is uniform; with many
// ports per host that hardly ever happens, and the conflicts of the last shuffle
// are swapped away instead.
func derange(net Network, endpoints []int, s *rng.Stream) ([]int, error) {
	n := len(endpoints)
	if host, k := crowdedHost(net, endpoints); 2*k > n {
		return nil, fmt.Errorf("permutation: %d of %d endpoints are on the host of %s, so some must send to their own host; take more hosts",
			k, n, net.EndpointName(host))
	}
	to := append([]int(nil), endpoints...)
	clash := func(i, j int) bool { return net.HostOf(endpoints[i]) == net.HostOf(to[j]) }
	const shuffles = 64
	for range shuffles {
		s.Shuffle(n, func(i, j int) { to[i], to[j] = to[j], to[i] })
		conflicts := 0
		for i := range to {
			if clash(i, i) {
				conflicts++
			}
		}
		if conflicts == 0 {
			return to, nil
		}
	}
	for i := range to {
		// A partner exists: of the n-k senders off this host at most k-1 can be
		// sending to it, and k <= n/2.
		for j := s.IntN(n); clash(i, i); j = (j + 1) % n {
			if !clash(i, j) && !clash(j, i) {
				to[i], to[j] = to[j], to[i]
			}
		}
	}
	return to, nil
}

// crowdedHost returns an endpoint of the host with the most endpoints in the
// set, and their number.
func crowdedHost(net Network, endpoints []int) (ep, most int) {
	onHost := make(map[int]int)
	for _, e := range endpoints {
		h := net.HostOf(e)
		onHost[h]++
		if onHost[h] > most {
			ep, most = e, onHost[h]
		}
	}
	return ep, most
}

// connect appends the q-th connection of a pair.
func (p *Plan) connect(entry, from, to, q int, o Options) int {
	k := len(p.Conns)
	port := SourcePort(k)
	if o.SrcPort != 0 {
		port = o.SrcPort + uint16(q)
	}
	p.Conns = append(p.Conns, Conn{Src: from, Dst: to, SrcDevice: NoDevice, DstDevice: NoDevice, SrcPort: port, DstPort: o.DstPort, Class: o.Class, DSCP: o.DSCP,
		Entry: entry, Path: o.Path, Service: o.Service, Profile: o.Profile, Reads: o.Verb == Read, WrongRKey: o.WrongRKey, Denied: o.Denied,
		Receives: o.Receives, ReceiveSize: o.ReceiveSize, Region: o.Region, Fence: o.Fence, Inline: o.Inline,
		InitialRate: o.InitialRate})
	return k
}

// ShareReceives gives the responders of each host that the entry's connections
// have one receive queue of n work requests.
func (p *Plan) ShareReceives(net Network, entry, n int) {
	of := make(map[int]int) // number of a host's queue
	for i := range p.Conns {
		c := &p.Conns[i]
		if c.Entry != entry {
			continue
		}
		host := net.HostOf(c.Dst)
		if of[host] == 0 {
			p.SRQs = append(p.SRQs, SRQ{Host: host, Receives: n})
			of[host] = len(p.SRQs)
		}
		c.SRQ = of[host]
	}
}

// reversed returns a path backwards.
func reversed(path []int) []int {
	back := slices.Clone(path)
	slices.Reverse(back)
	return back
}

// share returns the q-th of n nearly equal parts of size.
func share(size units.Bytes, n, q int) units.Bytes {
	part, rest := size/units.Bytes(n), size%units.Bytes(n)
	if units.Bytes(q) < rest {
		part++
	}
	return part
}
