package dma

import (
	"testing"

	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
)

// staged is a pair of ends on servers of their own, with a network that takes a time
// and has a rate between them, and acknowledges at once.
type staged struct {
	out   *StageOut
	in    *StageIn
	read  *Chain
	write *Chain
	a, b  *Engine
	delay units.Time
	rate  units.Rate
	mtu   units.Bytes
}

func newStaged(t *testing.T, tree *server.Tree) *staged {
	a, b := New(tree), New(tree)
	gpu := tree.GPUs()[0]
	net, _ := tree.NetFor(gpu, len(tree.Nets))
	nic := tree.Nets[net].Card
	dram := tree.DRAMOf(nic)
	return &staged{out: a.StageOut(chain(t, a, gpu, dram), gpu), in: b.StageIn(chain(t, b, dram, gpu), gpu),
		read: chain(t, a, dram, nic), write: chain(t, b, nic, dram), a: a, b: b,
		delay: 1500 * ns, rate: 200 * units.Gbps, mtu: 4096}
}

// send sends a message and returns when it is known to be in the far GPU.
func (s *staged) send(t *testing.T, n units.Bytes) units.Time {
	s.out.Post(0, n)
	now, known := units.Time(0), units.Time(0)
	for sent := int64(0); sent < int64(n); {
		part := min(int64(s.mtu), int64(n)-sent)
		at := s.out.Ready(now, sent+part)
		if at == units.Never {
			t.Fatalf("no buffer for %d of %d bytes", sent, n)
		}
		now = max(now, at)
		there := s.a.Read(now, s.read, units.Bytes(part))
		sent += part
		now += s.rate.TxTimeLong(units.Bytes(part))
		_, placed := s.b.Write(max(now, there)+s.delay, s.write, units.Bytes(part))
		known = s.in.Land(placed+s.b.tree.Costs.Poll, units.Bytes(part), sent == int64(n))
		s.out.Release(now, sent)
	}
	return known
}

func a100(t *testing.T) *server.Tree {
	t.Helper()
	tree, err := server.Preset("dgx-a100")
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// F26, second half: a small staged message takes the direct one's time and two copies:
// some 17 to 19 us where GPUDirect takes 2 to 3 us (MVAPICH2-GDR's published pair; models.md
// 7.2). A copy is launch, bytes and wait; halving one of them takes that off twice.
func TestStagedSmallMessage(t *testing.T) {
	tree := a100(t)
	total := newStaged(t, tree).send(t, 8)
	net := func() units.Time {
		s := newStaged(t, tree)
		_, placed := s.b.Write(s.a.Read(0, s.read, 8)+s.delay, s.write, 8)
		return placed
	}()
	t.Logf("8 B staged %v, of which the network with both cards %v", total, net)
	if total < 15*units.Microsecond || total > 20*units.Microsecond {
		t.Errorf("8 B staged take %v; published are 15 to 20 us", total)
	}
	launch, sync := tree.Costs.CopyLaunch, tree.Costs.CopySync
	tree.Costs.CopyLaunch /= 2
	if got := newStaged(t, tree).send(t, 8); got != total-launch {
		t.Errorf("with launches of half the time %v, was %v", got, total)
	}
	tree.Costs.CopyLaunch, tree.Costs.CopySync = launch, sync/2
	if got := newStaged(t, tree).send(t, 8); got != total-sync {
		t.Errorf("with waits of half the time %v, was %v", got, total)
	}
}

// Large messages are a pipeline: the slowest of copy out, network and copy in sets the
// rate, and the others add one chunk each.
func TestStagedPipeline(t *testing.T) {
	tree := a100(t)
	const size = 64 * units.MiB
	full := float64(newStaged(t, tree).send(t, size))
	s := newStaged(t, tree)
	chunk := tree.Costs.StageChunk
	copied, into := float64(s.a.Copy(0, &s.out.chain, chunk)), float64(s.b.Copy(0, &s.in.chain, chunk))
	wire := float64(s.rate.TxTimeLong(chunk))
	slowest := max(copied, into, wire)
	chunks := float64(size / chunk)
	c := &tree.Costs
	want := slowest*(chunks-1) + copied + wire + into + float64(2*(c.CopyLaunch+c.CopySync)+s.delay)
	t.Logf("64 MiB staged in %.1f us, %.1f Gb/s; a chunk out %.1f, wire %.1f, in %.1f us", full/1e6, float64(size)*8000/full, copied/1e6, wire/1e6, into/1e6)
	within(t, "pipeline", full, want, 10)
}

// With buffers that are never released the stream stops when they are full, and goes
// on with the first that is.
func TestStagedBuffers(t *testing.T) {
	tree := a100(t)
	s := newStaged(t, tree).out
	chunk := int64(tree.Costs.StageChunk)
	places := int64(tree.Costs.Bounce) / chunk
	s.Post(0, units.Bytes(chunk)*100)
	for i := int64(1); i <= places; i++ {
		if s.Ready(0, i*chunk) == units.Never {
			t.Fatalf("no buffer for chunk %d of %d", i, places)
		}
	}
	if at := s.Ready(0, (places+1)*chunk); at != units.Never {
		t.Errorf("chunk %d ready at %v without a buffer", places+1, at)
	}
	s.Release(units.Millisecond, chunk-1)
	if at := s.Ready(units.Millisecond, (places+1)*chunk); at != units.Never {
		t.Errorf("a buffer in use was taken at %v", at)
	}
	s.Release(2*units.Millisecond, chunk)
	at := s.Ready(2*units.Millisecond, (places+1)*chunk)
	if at <= 2*units.Millisecond || at > 2100*units.Microsecond {
		t.Errorf("chunk %d ready at %v, its buffer was free at 2 ms", places+1, at)
	}
}

// Two connections of one GPU share its copy engine: together they get what one gets.
func TestStagedEngineShared(t *testing.T) {
	tree := a100(t)
	e := New(tree)
	gpu := tree.GPUs()[0]
	dram := tree.DRAMOf(gpu)
	c := chain(t, e, gpu, dram)
	x, y := e.StageOut(c, gpu), e.StageOut(c, gpu)
	chunk := tree.Costs.StageChunk
	x.Post(0, chunk)
	y.Post(0, chunk)
	first, second := x.Ready(0, int64(chunk)), y.Ready(0, int64(chunk))
	alone := New(tree)
	one := alone.Copy(0, chain(t, alone, gpu, dram), chunk)
	within(t, "second copy", float64(second-first), float64(one), 30)
}

// A copy engine is busy for as long as its copies take the link, without launches and
// waits, where nothing else is on the way.
func TestCopyEngineUse(t *testing.T) {
	tree := a100(t)
	s := newStaged(t, tree)
	chunk := tree.Costs.StageChunk
	const copies = 4
	s.out.Post(0, copies*chunk)
	now := units.Time(0)
	for i := int64(1); i <= copies; i++ {
		now = max(now, s.out.Ready(now, i*int64(chunk)))
		s.in.Land(now, chunk, i == copies)
	}
	gpu := tree.GPUs()[0]
	dram := tree.DRAMOf(gpu)
	for _, x := range []struct {
		e        *Engine
		in       bool
		from, to int
	}{{s.a, false, gpu, dram}, {s.b, true, dram, gpu}} {
		alone := New(tree)
		c := chain(t, alone, x.from, x.to)
		want := CopyUse{GPU: gpu, In: x.in, Copied: copies * chunk, Copies: copies, Busy: copies * (alone.Copy(0, c, chunk) - c.latency)}
		if all := x.e.Copies(); len(all) != 1 || all[0] != want {
			t.Errorf("%+v, want %+v", all, want)
		}
	}
}
