// Package collective turns collective operations (AllReduce, AllGather, ...) into
// graphs of messages and local operations, as NCCL's kernels and proxies carry them
// out: thread blocks that take chunks out of receive buffers, reduce them and hand
// them on, each with a few chunks in flight.
package collective

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// Op is a collective operation.
type Op uint8

// Operations.
const (
	AllReduce Op = iota
	ReduceScatter
	AllGather
	Broadcast
	AllToAll
	SendRecv // each rank sends to the next and receives from the one before
)

// Ops lists the operations as scenarios write them, in their order.
func Ops() []string {
	return []string{"allreduce", "reducescatter", "allgather", "broadcast", "alltoall", "sendrecv"}
}

func (o Op) String() string { return Ops()[o] }

// Algorithm says who sends what to whom.
type Algorithm uint8

// Algorithms. AutoAlgorithm takes the one that NCCL's tuning model expects to be
// fastest.
const (
	AutoAlgorithm Algorithm = iota
	Ring                    // NCCL's rings: they pass through each host once, each by a network port of its own
	Tree                    // NCCL's double binary tree over hosts, a chain inside each
	Pairwise                // in round i each rank sends to the one i places on
	SingleRing              // one ring over the ranks in their order, for all channels
	NVLS                    // sums through the NVSwitches of one host
	NVLSTree                // the same, and trees between hosts
	Hierarchical            // what Ring was called
)

// Algorithms lists the algorithms as scenarios write them, in their order.
func Algorithms() []string {
	return []string{"auto", "ring", "tree", "pairwise", "single-ring", "nvls", "nvlstree", "hierarchical"}
}

func (a Algorithm) String() string { return Algorithms()[a] }

// Protocol is how data and the news of it pass from rank to rank.
type Protocol uint8

// Protocols. AutoProtocol takes the one that NCCL's tuning model expects to be
// fastest.
const (
	AutoProtocol Protocol = iota
	Simple                // data, then a flag behind a fence
	LL                    // a 4-byte flag beside every 4 bytes
	LL128                 // 8 bytes of flag in every 128
)

// Protocols lists the protocols as scenarios write them, in their order.
func Protocols() []string { return []string{"auto", "simple", "ll", "ll128"} }

func (p Protocol) String() string { return Protocols()[p] }

// Limits of a collective.
const (
	MaxRanks      = 1 << 14
	MaxChannels   = 64
	MaxIterations = 1 << 16
	MaxSlices     = 4
	// MaxBytes is the largest size of a collective.
	MaxBytes units.Bytes = 1 << 40
	// Element is the size of an element: a float.
	Element units.Bytes = 4
)

// Rank is one member of a collective.
type Rank struct {
	Endpoint int // topology endpoint through which it reaches other hosts
	Host     int // node index
	// Device is the GPU of the host's server that it is; workload.NoDevice: it is
	// the host itself. Staged: what it exchanges with other hosts goes through the
	// host's memory.
	Device int16
	Staged bool
	// Distance is how far the GPU is from the card of its endpoint, the nearer the
	// less; of those that share one the nearest hands on what passes between hosts.
	Distance int
	// Far: the card does not reach the GPU's memory as fast as that of another one, which
	// NVLink joins with it.
	Far bool
}

// Spec is one collective.
type Spec struct {
	Op        Op
	Algorithm Algorithm
	Protocol  Protocol
	Ranks     []Rank
	Bytes     units.Bytes // as nccl-tests counts it: the larger of what a rank sends and has in the end
	// Sizes are, of AllToAll as operations of jobs call it, what each rank sends to each, by sender and receiver; nil:
	// equal parts of Bytes. What a rank has for itself stays where it is.
	Sizes      [][]units.Bytes
	Root       int         // rank of Broadcast's root
	Channels   int         // 0: as many as the rule of its algorithm gives
	Chunk      units.Bytes // of one step; 0: the protocol's
	Slices     int         // messages of a chunk; 0: the protocol's
	Iterations int         // one after the other; at least 1
	Start      units.Time
	Speeds     Speeds
	Costs      Costs
	Version    int // of NCCL: 2.26 is 226; 0: DefaultVersion
	Env        Env
	// GPU are the parts of steps where ranks are GPUs, in place of Costs; nil: they
	// are hosts.
	GPU []Cost
	// Between is the memory of the host through which data pass from one rank to another of
	// the same server; workload.NoDevice: none. nil: none for all.
	Between func(from, to *Rank) int16
	// Inline: the news of a free slot stands in the work request.
	Inline  bool
	Records Records // what is kept of its operations
	// OneWay: of SendRecv over two ranks, only the first one sends.
	OneWay bool
}

// Costs are the parts of a step beside its transfers. Each is a chain of named
// times.
type Costs struct {
	Launch  []workload.Part // before the first step of each rank
	Inside  []workload.Part // a step that sends inside its host
	Outside []workload.Part // a step that sends to another host, or to both
	Receive []workload.Part // a step that only receives
	// Post is from the end of a step to the post of its message, Arrive from the
	// arrival of a message to when the step that takes it may begin, Clear from the end of a
	// step to the post of the news that its slot is free.
	Post, Arrive, Clear []workload.Part
}

// SlotMessage is the length of the message by which a receiver says that a slot
// of its buffer is free: an entry of NCCL's FIFO, struct ncclIbSendFifo in
// net_ib.cc, 64 bytes.
const SlotMessage units.Bytes = 64

// check refuses what no collective can be.
func (s *Spec) check() error {
	n := len(s.Ranks)
	switch {
	case n < 2:
		return fmt.Errorf("a collective over %d %s moves nothing; give at least two ranks", n, plural(n, "rank"))
	case n > MaxRanks:
		return fmt.Errorf("%d ranks are more than the %d that a collective can have", n, MaxRanks)
	case s.Bytes < Element || s.Bytes > MaxBytes:
		return fmt.Errorf("size %s; a collective has from one element of %s to %s", s.Bytes, Element, MaxBytes)
	case s.Bytes%Element != 0:
		return fmt.Errorf("size %s is no whole number of elements of %s; give %s", s.Bytes, Element, s.Bytes-s.Bytes%Element)
	case s.divided() && s.Bytes%(Element*units.Bytes(n)) != 0:
		unit := Element * units.Bytes(n)
		return fmt.Errorf("size %s does not divide into the equal parts of %d ranks; give a multiple of %s such as %s", s.Bytes, n, unit, max(s.Bytes/unit, 1)*unit)
	case s.Root < 0 || s.Root >= n:
		return fmt.Errorf("root %d; ranks are 0 to %d", s.Root, n-1)
	}
	return s.checkAlgorithm()
}

// divided reports whether each rank has its own part of the size.
func (s *Spec) divided() bool {
	return s.Op == ReduceScatter || s.Op == AllGather || s.Op == AllToAll && s.Sizes == nil
}

// checkAlgorithm refuses algorithms that an operation does not have.
func (s *Spec) checkAlgorithm() error {
	var right []string
	for _, a := range s.Op.algorithms() {
		if a == s.Algorithm {
			right = nil
			break
		}
		right = append(right, a.String())
	}
	switch {
	case right != nil && s.Algorithm != AutoAlgorithm:
		return fmt.Errorf("%s has no algorithm %s; use %s", s.Op, s.Algorithm, strings.Join(right, ", "))
	case s.Algorithm == NVLS && len(hostsOf(s.Ranks)) > 1:
		return fmt.Errorf("nvls sums inside one host, and the ranks have %d; use nvlstree", len(hostsOf(s.Ranks)))
	case s.Algorithm == NVLSTree && len(hostsOf(s.Ranks)) == 1:
		return fmt.Errorf("nvlstree has trees between hosts, and the ranks have one; use nvls")
	case (s.Algorithm == NVLS || s.Algorithm == NVLSTree) && (s.GPU == nil || s.switched().channels == 0):
		return fmt.Errorf("%s needs three GPUs of a host and more, as many in each, from Hopper on, with NVSwitch; use ring or tree", s.Algorithm)
	case (s.Algorithm == NVLS || s.Algorithm == NVLSTree) && s.Protocol != AutoProtocol && s.Protocol != Simple:
		return fmt.Errorf("%s has protocol simple only", s.Algorithm)
	}
	seen := make(map[[2]int]int, len(s.Ranks))
	for i, r := range s.Ranks {
		key := [2]int{r.Host, int(r.Device)}
		if first, twice := seen[key]; twice {
			return fmt.Errorf("ranks %d and %d are the same; each takes part once, and only GPUs of a server may share a host", first, i)
		}
		seen[key] = i
	}
	return nil
}

// Has reports whether an operation has an algorithm.
func (o Op) Has(a Algorithm) bool { return a == Hierarchical || slices.Contains(o.algorithms(), a) }

// algorithms are those of an operation.
func (o Op) algorithms() []Algorithm {
	switch o {
	case AllReduce:
		return []Algorithm{Ring, Tree, NVLS, NVLSTree, SingleRing}
	case AllToAll, SendRecv:
		return []Algorithm{Pairwise}
	}
	return []Algorithm{Ring, SingleRing}
}

// hostsOf lists the hosts of the ranks in the order in which they come first, each
// with its ranks.
func hostsOf(ranks []Rank) [][]int {
	var hosts [][]int
	of := make(map[int]int)
	for i, r := range ranks {
		k, known := of[r.Host]
		if !known {
			k = len(hosts)
			of[r.Host] = k
			hosts = append(hosts, nil)
		}
		hosts[k] = append(hosts[k], i)
	}
	return hosts
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// Count is the number of elements that nccl-tests prints: of what each rank gives
// to the call.
func (s *Spec) Count() int64 {
	n := int64(s.Bytes / Element)
	if s.divided() {
		n /= int64(len(s.Ranks))
	}
	return n
}
