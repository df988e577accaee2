package training

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/job"
	"github.com/hopscope/hopscope/internal/units"
)

// Communicators of a step, as far as it has them.
const (
	commTP = iota
	commDP // gradients and parameters: dp and cp together
	commCP
	commEP
	commExperts // gradients of experts
	commEmbeddings
)

// Tags of messages between stages.
const (
	tagActivations = iota
	tagGradients
)

func tagNames() []string { return []string{"activations", "gradients"} }

// Job is the step as a job of so many ranks, repeated so often. Ranks are numbered as Megatron-LM does: tp
// fastest, then cp, dp (of which ep is a part) and pp. The step must have passed Check.
func (s *Step) Job(name string, start units.Time, steps int) *job.Spec {
	n := s.Ranks()
	inner := s.TP * s.CP * s.DP // ranks of a stage
	out := &job.Spec{Name: name, Start: start, Steps: steps, Ranks: n}
	if s.PP > 1 {
		out.Stages, out.Micro, out.Chunks = s.PP, s.MicroBatches(), s.Chunks
	}
	out.Comms = []job.Comm{
		{Name: "tp", Groups: job.Strided(n, s.TP, 1)},
		{Name: "dp", Groups: job.Strided(n, s.CP*s.DP, s.TP)},
		{Name: "cp", Groups: job.Strided(n, s.CP, s.TP)},
		{Name: "ep", Groups: job.Strided(n, s.EP, s.TP)},
		{Name: "experts", Groups: job.Strided(n, s.CP*s.DP/s.EP, s.TP*s.EP)},
		{Name: "embeddings"},
	}
	for r := range inner {
		if s.PP > 1 {
			out.Comms[commEmbeddings].Groups = append(out.Comms[commEmbeddings].Groups,
				[]int32{int32(r), int32(n - inner + r)})
		}
	}
	for stage := range s.PP {
		g := &generator{Step: s, stage: stage, inner: inner, last: -1}
		g.run()
		out.Lists = append(out.Lists, job.List{Ops: g.ops})
	}
	for r := range n {
		out.Of = append(out.Of, int32(r/inner))
	}
	return out
}

// generator makes the list of a stage.
type generator struct {
	*Step
	stage, inner int
	ops          []job.Op
	last         int32 // the last computation; -1: none
	reduced      []int32
	bucket       float64 // parameters whose gradients wait to be reduced
	experts      float64 // and those of experts
}

// none stands for no operation to wait for.
const none = int32(-1)

func (g *generator) add(o job.Op, after ...int32) int32 {
	for _, a := range after {
		if a != none {
			o.After = append(o.After, a)
		}
	}
	g.ops = append(g.ops, o)
	return int32(len(g.ops) - 1)
}

// compute adds a computation behind the last one and what else it waits for.
func (g *generator) compute(label string, t, flops float64, after ...int32) int32 {
	g.last = g.add(job.Op{Kind: job.Compute, Name: label, Label: label, Stream: "compute", Time: seconds(t),
		Flops: flops}, after...)
	return g.last
}

// call adds a collective, of bytes as nccl-tests counts them; none if its groups have one rank or it has no
// bytes.
func (g *generator) call(op collective.Op, on int, bytes float64, after ...int32) int32 {
	sizes := [...]int{commTP: g.TP, commDP: g.CP * g.DP, commCP: g.CP, commEP: g.EP, commExperts: g.CP * g.DP / g.EP,
		commEmbeddings: 2}
	if sizes[on] < 2 || bytes < 1 {
		return none
	}
	return g.add(job.Op{Kind: job.Collective, Stream: commNames()[on], Coll: op, On: on,
		Bytes: max(units.Bytes(bytes), collective.Element)}, after...)
}

func commNames() []string { return []string{"tp", "dp", "cp", "ep", "experts", "embeddings"} }

// activation is what passes between two layers, in bytes at a rank of tp when it is whole.
func (g *generator) activation() float64 { return 2 * g.tokens() * float64(g.Hidden) }

// boundary is what passes between stages.
func (g *generator) boundary() units.Bytes {
	bytes := g.activation()
	if g.SequenceParallel {
		bytes /= float64(g.TP)
	}
	return units.Bytes(bytes)
}

// run makes the whole list.
func (g *generator) run() {
	turns := schedule(g.PP, g.stage, g.MicroBatches(), g.Chunks)
	for _, t := range turns {
		before := g.last
		if t.backward {
			in := g.receive(tagGradients, g.follows(t.chunk), before)
			g.send(tagGradients, g.precedes(t.chunk), g.backward(t, in))
			continue
		}
		in := g.receive(tagActivations, g.precedes(t.chunk), before)
		g.send(tagActivations, g.follows(t.chunk), g.forward(t, in))
	}
	g.finish()
}

// precedes is the stage before a chunk, so many after this one; 0: it is the first of all.
func (g *generator) precedes(chunk int) int {
	switch {
	case g.PP == 1, g.stage == 0 && chunk == 0:
		return 0
	case g.stage == 0:
		return g.PP - 1
	}
	return -1
}

// follows is the stage after a chunk, so many after this one; 0: it is the last of all.
func (g *generator) follows(chunk int) int {
	switch {
	case g.PP == 1, g.stage == g.PP-1 && chunk == g.Chunks-1:
		return 0
	case g.stage == g.PP-1:
		return 1 - g.PP
	}
	return 1
}

// receive posts a receive once the turn before is over. The interleaved schedule posts it ahead, as
// Megatron-LM overlaps messages there.
func (g *generator) receive(tag, stages int, before int32) int32 {
	if stages == 0 {
		return none
	}
	if g.Chunks > 1 {
		before = none
	}
	return g.add(job.Op{Kind: job.Recv, Stream: "receive " + tagNames()[tag], Peer: stages * g.inner, Relative: true,
		Tag: tag, Bytes: g.boundary()}, before)
}

func (g *generator) send(tag, stages int, after int32) {
	if stages != 0 {
		g.add(job.Op{Kind: job.Send, Stream: "send " + tagNames()[tag], Peer: stages * g.inner, Relative: true, Tag: tag,
			Bytes: g.boundary()}, after)
	}
}

// layers of a chunk.
func (g *generator) layers() int { return g.Layers / (g.PP * g.Chunks) }

// first and final say whether a chunk has the embedding, or the head.
func (g *generator) first(chunk int) bool { return g.stage == 0 && chunk == 0 }
func (g *generator) final(chunk int) bool { return g.stage == g.PP-1 && chunk == g.Chunks-1 }

// halves are the two parts of a layer: given times are divided as the roofline would.
func (g *generator) halves() (attention, feed part) {
	attention, feed = g.attention(), g.feed()
	if g.Forward > 0 {
		given := float64(g.Forward) / float64(units.Second) / (attention.forward + feed.forward)
		back := float64(g.Backward) / float64(units.Second) /
			(attention.input + attention.weight + feed.input + feed.weight)
		scale := func(p part) part {
			f := p.scaled(given)
			b := p.scaled(back)
			f.input, f.weight = b.input, b.weight
			return f
		}
		attention, feed = scale(attention), scale(feed)
	}
	return attention, feed
}

// whole reports whether a pass through a chunk is one computation, as nothing comes in between.
func (g *generator) whole() bool { return g.TP == 1 && g.CP == 1 && g.EP == 1 && g.Zero < 3 }

// forward goes through a chunk, and returns what its output waits for.
func (g *generator) forward(t slot, in int32) int32 {
	attention, feed := g.halves()
	if g.whole() {
		n := float64(g.layers())
		time, flops := n*(attention.forward+feed.forward), n*(attention.flops+feed.flops)
		if g.final(t.chunk) {
			h := g.head()
			time, flops = time+h.forward, flops+h.flops
		}
		return g.compute("forward", time, flops, in)
	}
	for range g.layers() {
		in = g.layerForward(in, true)
	}
	if g.final(t.chunk) {
		h := g.head()
		in = g.compute("forward", h.forward, h.flops, in)
	}
	return in
}

// layerForward is one layer; counted: its operations are the model's, not done again.
func (g *generator) layerForward(in int32, counted bool) int32 {
	attention, feed := g.halves()
	if g.Zero == 3 {
		in = g.later(in, g.gathered())
	}
	label := "forward"
	flops := func(p part) float64 { return p.flops }
	if !counted {
		label, flops = "recomputation", func(part) float64 { return 0 }
	}
	in = g.gatherKV(g.enter(in))
	at := g.compute(label, attention.forward, flops(attention), in)
	in = g.leave(at)
	in = g.dispatch(g.enter(in))
	at = g.compute(label, feed.forward, flops(feed), in)
	return g.leave(g.combine(at))
}

// later is what comes after both.
func (g *generator) later(a, b int32) int32 {
	switch {
	case a == none:
		return b
	case b == none:
		return a
	}
	return g.add(job.Op{Kind: job.Mark, Stream: fmt.Sprint("mark ", len(g.ops))}, a, b)
}

// enter gathers a part's input over tp where sequences are divided.
func (g *generator) enter(in int32) int32 {
	if !g.SequenceParallel || g.TP == 1 {
		return in
	}
	return g.call(collective.AllGather, commTP, g.activation(), g.behind(in))
}

// leave adds up a part's output over tp.
func (g *generator) leave(at int32) int32 {
	op := collective.AllReduce
	if g.SequenceParallel {
		op = collective.ReduceScatter
	}
	if out := g.call(op, commTP, g.activation(), at); out != none {
		return out
	}
	return at
}

// behind is an operation, or where there is none the last computation.
func (g *generator) behind(in int32) int32 {
	if in == none {
		return g.last
	}
	return in
}

// gatherKV gathers keys and values over cp.
func (g *generator) gatherKV(in int32) int32 {
	bytes := 2 * 2 * float64(g.MicroBatch*g.Sequence) * float64(g.kv()) / float64(g.TP)
	if out := g.call(collective.AllGather, commCP, bytes, g.behind(in)); out != none {
		return out
	}
	return in
}

// routed is what goes to experts of all ranks of ep, at one of them.
func (g *generator) routed() float64 {
	if g.Experts == 0 {
		return 0
	}
	bytes := g.activation() * float64(g.TopK)
	if g.SequenceParallel {
		bytes /= float64(g.TP)
	}
	return bytes
}

// dispatch sends tokens to their experts, and combine brings them back.
func (g *generator) dispatch(in int32) int32 {
	if out := g.call(collective.AllToAll, commEP, g.routed(), g.behind(in)); out != none {
		return out
	}
	return in
}

func (g *generator) combine(at int32) int32 {
	if out := g.call(collective.AllToAll, commEP, g.routed(), at); out != none {
		return out
	}
	return at
}

// backward goes through a chunk the other way, has gradients reduced when the last micro-batch does, and
// returns what its output waits for.
func (g *generator) backward(t slot, in int32) int32 {
	lastMicro := t.micro == g.MicroBatches()-1
	attention, feed := g.halves()
	if g.whole() && !lastMicro {
		n := float64(g.layers())
		time, flops := n*(attention.input+attention.weight+feed.input+feed.weight), 2*n*(attention.flops+feed.flops)
		if g.final(t.chunk) {
			h := g.head()
			time, flops = time+h.input+h.weight, flops+2*h.flops
		}
		return g.compute("backward", time+n*g.again(attention, feed), flops, in)
	}
	if g.final(t.chunk) {
		h := g.head()
		in = g.compute("backward", h.input+h.weight, 2*h.flops, in)
	}
	for l := g.layers() - 1; l >= 0; l-- {
		in = g.layerBackward(in)
		if lastMicro || g.Zero == 3 {
			g.ready(l == 0 && g.first(t.chunk), lastMicro && l == 0 && t.chunk == 0)
		}
	}
	return in
}

// again is what recomputation takes of a layer where no collective comes in between.
func (g *generator) again(attention, feed part) float64 {
	switch g.Recompute {
	case Selective:
		return attention.core
	case FullRecompute:
		return attention.forward + feed.forward
	}
	return 0
}

// layerBackward is one layer backward. Gradients of inputs pass on over tp while those of weights are
// computed, as Megatron-LM overlaps them.
func (g *generator) layerBackward(in int32) int32 {
	attention, feed := g.halves()
	if g.Zero == 3 {
		in = g.later(in, g.gathered())
	}
	extra := 0.0
	switch {
	case g.Recompute == FullRecompute && !g.whole():
		in = g.layerForward(in, false)
	case g.Recompute != KeepAll:
		extra = g.again(attention, feed)
	}
	in = g.dispatch(g.enter(in))
	at := g.compute("backward", feed.input+extra, feed.flops, in)
	out := g.leave(g.combine(at))
	g.compute("backward", feed.weight, feed.flops)
	in = g.enter(out)
	at = g.compute("backward", attention.input, attention.flops, in)
	out = g.leave(g.scatterKV(at))
	g.compute("backward", attention.weight, attention.flops)
	return out
}

// scatterKV adds up the gradients of keys and values over cp.
func (g *generator) scatterKV(at int32) int32 {
	bytes := 2 * 2 * float64(g.MicroBatch*g.Sequence) * float64(g.kv()) / float64(g.TP)
	if out := g.call(collective.ReduceScatter, commCP, bytes, at); out != none {
		return out
	}
	return at
}

// gathered gathers the parameters of a layer over dp (ZeRO 3), ahead of it by one layer at most.
func (g *generator) gathered() int32 {
	shared, _ := g.parameters()
	ahead := none
	for k, computations := len(g.ops)-1, 0; k >= 0; k-- {
		if g.ops[k].Kind == job.Compute {
			if computations++; computations == 2 {
				ahead = int32(k)
				break
			}
		}
	}
	return g.call(collective.AllGather, commDP, 2*shared, ahead)
}

// mostBucket is how many parameters a bucket of gradients has at least: Megatron-LM's rule.
func (g *generator) mostBucket() float64 { return max(40e6, 1e6*float64(g.DP*g.CP)) }

// ready adds a layer's gradients to the bucket, which is reduced when it is full, or with end set.
func (g *generator) ready(embedding, end bool) {
	shared, experts := g.parameters()
	g.bucket, g.experts = g.bucket+shared, g.experts+experts
	if embedding {
		g.bucket += g.embedding()
	}
	if g.Zero == 3 || g.Overlap && g.bucket+g.experts >= g.mostBucket() || end {
		g.reduce()
	}
}

// embedding is how many parameters of the embedding, or the head, a rank has.
func (g *generator) embedding() float64 {
	return float64(g.Vocabulary) * float64(g.Hidden) / float64(g.TP)
}

func (g *generator) reduce() {
	op := collective.AllReduce
	if g.Zero > 0 {
		op = collective.ReduceScatter
	}
	for _, x := range []struct {
		on         int
		parameters float64
	}{{commDP, g.bucket}, {commExperts, g.experts}} {
		if at := g.call(op, x.on, float64(g.GradientBytes)*x.parameters, g.last); at != none {
			g.reduced = append(g.reduced, at)
		}
	}
	g.bucket, g.experts = 0, 0
}

// finish ends the step: what is left of gradients is reduced, the optimizer steps, and with ZeRO parameters
// are gathered again.
func (g *generator) finish() {
	if g.stage == g.PP-1 && (g.PP > 1 || !g.TieEmbeddings) {
		g.bucket += g.embedding() // the head's
	}
	if g.bucket+g.experts > 0 {
		g.reduce()
	}
	if g.TieEmbeddings && g.PP > 1 && (g.stage == 0 || g.stage == g.PP-1) {
		if at := g.call(collective.AllReduce, commEmbeddings, float64(g.GradientBytes)*g.embedding(),
			g.reduced...); at != none {
			g.reduced = append(g.reduced, at)
		}
	}
	shared, experts := g.parameters()
	n := float64(g.layers() * g.Chunks)
	shared, experts = n*shared, n*experts
	if g.stage == 0 {
		shared += g.embedding()
	}
	if g.stage == g.PP-1 && (g.PP > 1 || !g.TieEmbeddings) {
		shared += g.embedding()
	}
	at := g.compute("optimizer", g.optimizer(shared, experts), 0, append(g.reduced, g.last)...)
	if g.Zero == 1 || g.Zero == 2 {
		for left := shared; left > 0; left -= 4 * g.mostBucket() {
			g.call(collective.AllGather, commDP, 2*min(left, 4*g.mostBucket()), at)
		}
		g.call(collective.AllGather, commExperts, 2*experts, at)
	}
}
