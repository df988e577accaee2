package collective

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// net has hosts of equally many ports, endpoints host by host.
type net struct{ hosts, ports int }

func (n net) NumEndpoints() int { return n.hosts * n.ports }
func (n net) HostOf(ep int) int { return ep / n.ports }
func (n net) EndpointName(ep int) string {
	return fmt.Sprintf("h%d:%d", ep/n.ports, ep%n.ports+1)
}

// ranks are all GPUs of a net, each by a port of its own; of one port, the hosts.
func (n net) ranks() (out []Rank) {
	for ep := range n.NumEndpoints() {
		d := workload.NoDevice
		if n.ports > 1 {
			d = int16(ep % n.ports)
		}
		out = append(out, Rank{Endpoint: ep, Host: n.HostOf(ep), Device: d})
	}
	return out
}

// built is the plan of a collective.
func built(t *testing.T, n net, s Spec) *workload.Plan {
	t.Helper()
	p := &workload.Plan{}
	e := p.AddEntry("c")
	s.Ranks = n.ranks()
	s.Speeds = Speeds{Inter: 50, Intra: 370, NVLink: n.ports > 1}
	o := workload.DefaultOptions()
	o.Verb = workload.WriteImm
	if err := Build(p, e, s, o); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(n); err != nil {
		t.Fatalf("%v %v: %v", s.Op, s.Algorithm, err)
	}
	return p
}

// moved is the payload that messages and copies bring from rank to rank: of each
// rank what it sends.
func moved(p *workload.Plan, n net) []units.Bytes {
	out := make([]units.Bytes, n.NumEndpoints())
	for i := range p.Series {
		if m := &p.Series[i]; m.Verb == workload.WriteImm {
			out[p.Conns[m.Conn].Src] += m.Bytes
		}
	}
	for i := range p.Locals {
		if l := &p.Locals[i]; l.From != l.To {
			out[l.Host*n.ports+int(l.From)] += l.Bytes
		}
	}
	return out
}

// reach has a bit per rank and operation: the rank's launch must end before the
// operation starts.
func reach(p *workload.Plan, ranks int) [][]bool {
	n := p.Len() + len(p.Locals)
	out, left := make([][]bool, n), slices.Clone(p.Graph.Need)
	for i := range out {
		out[i] = make([]bool, ranks)
	}
	var todo []int
	first := 0
	for i := range p.Locals {
		if !p.Locals[i].Awaits {
			out[p.Len()+i][first] = true
			first++
			todo = append(todo, p.Len()+i)
		}
	}
	for len(todo) > 0 {
		op := todo[0]
		todo = todo[1:]
		for _, end := range []workload.End{workload.Completed, workload.Received} {
			for _, next := range p.Graph.Released(op, end) {
				for r, on := range out[op] {
					out[next][r] = out[next][r] || on
				}
				if left[next]--; left[next] == 0 {
					todo = append(todo, int(next))
				}
			}
		}
	}
	return out
}

// Every rank ends only after data of every rank that it needs, and sends what the
// algorithm's closed form says.
func TestAlgorithms(t *testing.T) {
	const size = 24 * units.MiB
	for _, c := range []struct {
		spec  Spec
		n     net
		sends float64 // of the size, by a rank, all having the same; 0: they differ
		total float64 // of the size, by all
		all   bool    // every rank depends on all
	}{
		{Spec{Op: AllReduce, Algorithm: Ring}, net{8, 1}, 2 * 7. / 8, 2 * 7, true},
		{Spec{Op: AllReduce, Algorithm: Ring, Channels: 3, Protocol: LL}, net{6, 1}, 2 * 2 * 5. / 6, 2 * 2 * 5, true},
		{Spec{Op: AllReduce, Algorithm: Ring, Protocol: LL128}, net{3, 1}, 0, 2 * 2 * 128. / 120, true},
		{Spec{Op: ReduceScatter, Algorithm: Ring}, net{8, 1}, 7. / 8, 7, true},
		{Spec{Op: AllGather, Algorithm: Ring, Channels: 2}, net{8, 1}, 7. / 8, 7, true},
		{Spec{Op: Broadcast, Algorithm: Ring, Root: 3}, net{5, 1}, 0, 4, false},
		{Spec{Op: AllReduce, Algorithm: Tree, Channels: 2}, net{7, 1}, 0, 2 * 6, true},
		{Spec{Op: AllReduce, Algorithm: Tree, Channels: 2}, net{16, 1}, 0, 2 * 15, true},
		{Spec{Op: AllReduce, Algorithm: Tree, Channels: 4}, net{3, 4}, 0, 2 * 11, true},
		// The last GPU of a host hands its data to the one at the network port.
		{Spec{Op: AllReduce, Algorithm: Ring, Channels: 4}, net{3, 4}, 0, 2 * 11 * 15. / 12, true},
		{Spec{Op: AllReduce, Algorithm: Ring, Channels: 8}, net{4, 4}, 2 * 15. / 16, 2 * 15, true},
		{Spec{Op: AllReduce, Algorithm: Ring, Channels: 4}, net{1, 4}, 2 * 3. / 4, 2 * 3, true},
		{Spec{Op: AllToAll, Channels: 2}, net{6, 1}, 5. / 6, 5, true},
		// A third of what goes to the other host leaves by one's own port; the rest passes
		// to the GPU at the right one first.
		{Spec{Op: AllToAll, Channels: 3}, net{2, 3}, 0, 5 + 6*2./6, true},
		{Spec{Op: SendRecv}, net{6, 1}, 1, 6, false},
	} {
		c.spec.Bytes, c.spec.Iterations = size, 2
		if c.spec.Protocol == AutoProtocol {
			c.spec.Protocol = Simple
		}
		p := built(t, c.n, c.spec)
		name := fmt.Sprintf("%v %v over %v", c.spec.Op, c.spec.Algorithm, c.n)
		sum := units.Bytes(0)
		for rank, b := range moved(p, c.n) {
			if want := 2 * c.sends * float64(size); c.sends > 0 && math.Abs(float64(b)-want) > want*1e-6 { // parts are whole elements
				t.Errorf("%s: rank %d sends %d bytes, want %.0f", name, rank, b, want)
			}
			sum += b
		}
		if want := 2 * c.total * float64(size); math.Abs(float64(sum)-want) > want*1e-4 {
			t.Errorf("%s: %d bytes move, want %.0f", name, sum, want)
		}
		info := p.Collectives[0]
		seen := reach(p, len(c.spec.Ranks)+c.n.NumEndpoints())
		for k, last := range info.Last {
			heard := make([][]bool, c.n.NumEndpoints()) // by rank: of whom
			for _, op := range last {
				l := &p.Locals[^op]
				rank := l.Host
				if c.n.ports > 1 {
					rank = l.Host*c.n.ports + int(l.From)
				}
				if heard[rank] == nil {
					heard[rank] = make([]bool, c.n.NumEndpoints())
				}
				for r := range heard[rank] {
					heard[rank][r] = heard[rank][r] || seen[p.Len()+int(^op)][r]
				}
			}
			for rank, from := range heard {
				if c.all && (from == nil || slices.Contains(from, false)) {
					t.Errorf("%s: iteration %d: rank %d ends without having heard of all", name, k, rank)
				}
			}
		}
	}
}

// No connection has more messages in flight than NCCL's slots: unit k starts after
// the receiver has taken unit k-slots.
func TestSlots(t *testing.T) {
	p := built(t, net{4, 1}, Spec{Op: AllReduce, Algorithm: Ring, Protocol: Simple, Bytes: 256 * units.MiB})
	// 64 MiB per chunk position in chunks of 2 MiB and slices of 1 MiB: 32 rounds of 6
	// steps with two messages, of which all but the first four wait for a slot.
	data, news := make([]int, len(p.Conns)), make([]int, len(p.Conns))
	for i := range p.Series {
		if m := &p.Series[i]; m.Verb == workload.WriteImm {
			data[m.Conn]++
		} else {
			news[m.Conn]++
		}
	}
	for c := range p.Conns {
		if d, s := data[c], news[c]; (d != 32*6*2 || s != 0) && (d != 0 || s != 32*6*2-4) {
			t.Errorf("connection %d has %d messages and %d of free slots, want 384 or 380", c, d, s)
		}
	}
}

// Chunks of trees by what a channel has, with 8 GPUs on each of 8 hosts, whose depth is
// 7 + 3 (NCCL by 2.19, src/enqueue.cc and src/graph/connect.cc); later ones keep theirs.
func TestTreeChunks(t *testing.T) {
	var ranks []Rank
	for i := range 64 {
		ranks = append(ranks, Rank{Host: i / 8})
	}
	s := Spec{Algorithm: Tree, Protocol: Simple, Ranks: ranks, Version: 219}
	b := builder{Spec: &s, shape: s.shapeOf()}
	for _, c := range []struct{ bytes, chunk units.Bytes }{
		{40960 * units.KiB, 512 * units.KiB}, {40959 * units.KiB, 256 * units.KiB}, {8 * units.MiB, 128 * units.KiB},
		{5120 * units.KiB, 128 * units.KiB}, {5119 * units.KiB, 64 * units.KiB}, {640 * units.KiB, 64 * units.KiB}, {639 * units.KiB, 32 * units.KiB}, {4, 32 * units.KiB},
	} {
		if got := b.treeChunk(c.bytes, b.treeDepth()); got != c.chunk {
			t.Errorf("%v: chunks of %v, want %v", c.bytes, got, c.chunk)
		}
	}
	s.Version = 220
	if got := b.treeChunk(4, b.treeDepth()); got != 512*units.KiB {
		t.Errorf("2.20: chunks of %v, want 512KiB", got)
	}
}

// The tree of 14 nodes and the mirrored and shifted ones are those that NCCL's
// source draws (src/graph/trees.cc).
func TestDoubleTree(t *testing.T) {
	if got, want := doubleTree(14, 0), []int{-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12}; !slices.Equal(got, want) {
		t.Errorf("first tree of 14: %v, want %v", got, want)
	}
	// 12 nodes, mirrored: 11 is the root, 3 below it, 1 and 7 below that, ...
	if got, want := doubleTree(12, 1), []int{1, 3, 1, 11, 5, 7, 5, 3, 9, 7, 9, -1}; !slices.Equal(got, want) {
		t.Errorf("second tree of 12: %v, want %v", got, want)
	}
	for _, n := range []int{2, 3, 8, 13, 64} {
		first, second := doubleTree(n, 0), doubleTree(n, 1)
		inner := func(parent []int) []bool {
			out := make([]bool, n)
			for _, p := range parent {
				if p >= 0 {
					out[p] = true
				}
			}
			return out
		}
		both := 0
		a, b := inner(first), inner(second)
		for k := range n {
			if a[k] && b[k] {
				both++
			}
		}
		if both > 1 { // of an odd number one node may be inner in both
			t.Errorf("%d nodes: %d are inner nodes of both trees", n, both)
		}
	}
}

// NCCL's model of 64 ranks on 8 hosts with NVLink, by 2.22 (models 8.2): ring LL 160 us,
// LL128 287, Simple 606; tree LL 45, Simple 148.
func TestLatencyModel(t *testing.T) {
	s := Spec{Op: AllReduce, Ranks: net{8, 8}.ranks(), Speeds: Speeds{NVLink: true}, Version: 222}
	for _, c := range []struct {
		a    Algorithm
		p    Protocol
		want float64
	}{{Ring, LL, 160}, {Ring, LL128, 287}, {Ring, Simple, 606}, {Tree, LL, 45}, {Tree, Simple, 148}} {
		if got := s.Latency(c.a, c.p); math.Abs(got-c.want) > .6 {
			t.Errorf("%v %v: %.1f us, want %.0f", c.a, c.p, got, c.want)
		}
	}
}

// NCCL takes LL for little and Simple for much data, and rings for the most.
func TestChoice(t *testing.T) {
	for _, c := range []struct {
		bytes units.Bytes
		want  string
	}{{units.KiB, "tree ll"}, {8 * units.GiB, "ring simple"}} {
		s := Spec{Op: AllReduce, Ranks: net{8, 8}.ranks(), Bytes: c.bytes, Speeds: Speeds{Inter: 384, Intra: 370, NVLink: true, Generation: Hopper}, GPU: GPUCosts(GPU{})}
		s.choose()
		if got := s.Algorithm.String() + " " + s.Protocol.String(); got != c.want {
			t.Errorf("%v: %s, want %s", c.bytes, got, c.want)
		}
	}
}

func TestBadCollectives(t *testing.T) {
	eight := net{8, 1}.ranks()
	twice := append(slices.Clone(eight), eight[3])
	for _, c := range []struct {
		s    Spec
		want string
	}{
		{Spec{Ranks: eight[:1], Bytes: 64}, "a collective over 1 rank moves nothing; give at least two ranks"},
		{Spec{Ranks: eight, Bytes: 10}, "size 10B is no whole number of elements of 4B; give 8B"},
		{Spec{Ranks: eight, Bytes: 2}, "size 2B; a collective has from one element of 4B to 1TiB"},
		{Spec{Op: AllGather, Ranks: eight, Bytes: 100}, "size 100B does not divide into the equal parts of 8 ranks; give a multiple of 32B such as 96B"},
		{Spec{Op: Broadcast, Root: 9, Ranks: eight, Bytes: 64}, "root 9; ranks are 0 to 7"},
		{Spec{Op: AllToAll, Algorithm: Tree, Ranks: eight, Bytes: 64}, "alltoall has no algorithm tree; use pairwise"},
		{Spec{Algorithm: NVLS, Ranks: net{2, 8}.ranks(), Bytes: 64}, "nvls sums inside one host, and the ranks have 2; use nvlstree"},
		{Spec{Algorithm: NVLSTree, Ranks: net{1, 8}.ranks(), Bytes: 64}, "nvlstree has trees between hosts, and the ranks have one; use nvls"},
		{Spec{Algorithm: NVLS, Ranks: net{1, 8}.ranks(), Bytes: 64}, "nvls needs three GPUs of a host and more"},
		{Spec{Ranks: twice, Bytes: 64}, "ranks 3 and 8 are the same; each takes part once, and only GPUs of a server may share a host"},
		{Spec{Ranks: eight, Algorithm: Ring, Protocol: Simple, Bytes: 1 << 40, Chunk: 4}, "allreduce of 1TiB over 8 ranks takes about"},
	} {
		p := &workload.Plan{}
		err := Build(p, p.AddEntry("c"), c.s, workload.DefaultOptions())
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		if p.Len()+len(p.Locals) > 0 {
			t.Errorf("%q left operations behind", c.want)
		}
	}
}

// Messages between hosts stay on their rail, from a GPU to the one of the same number
// by the port of that number; and each port has as many rings as the others.
func TestRails(t *testing.T) {
	for _, n := range []net{{4, 8}, {3, 4}} {
		p := built(t, n, Spec{Op: AllReduce, Algorithm: Ring, Protocol: Simple, Channels: n.ports, Bytes: 8 * units.MiB})
		sent := make([]units.Bytes, n.NumEndpoints())
		for i := range p.Series {
			c := &p.Conns[p.Series[i].Conn]
			if c.Src%n.ports != c.Dst%n.ports || !c.Slots && (int(c.SrcDevice) != c.Src%n.ports || int(c.DstDevice) != c.Dst%n.ports) {
				t.Fatalf("%v: a message from %d (GPU %d) to %d (GPU %d)", n, c.Src, c.SrcDevice, c.Dst, c.DstDevice)
			}
			if !c.Slots {
				sent[c.Src] += p.Series[i].Bytes
			}
		}
		for ep, b := range sent {
			if math.Abs(float64(b)-float64(sent[0])) > 1e-4*float64(b) || b == 0 {
				t.Errorf("%v: port %d sends %d bytes, port 0 %d", n, ep, b, sent[0])
			}
		}
	}
}
