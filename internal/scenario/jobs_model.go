package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/chakra"
	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/job"
	"github.com/hopscope/hopscope/internal/simai"
	"github.com/hopscope/hopscope/internal/training"
	"github.com/hopscope/hopscope/internal/units"
)

// modelSettings is the section of a job that describes a training step.
type modelSettings struct {
	training.Step
	gpu         string
	efficiency  float64
	attention   float64
	sequenceOff bool
	noOverlap   bool
	tied        bool
}

func newModel() *modelSettings {
	return &modelSettings{Step: training.Step{TP: 1, CP: 1, PP: 1, EP: 1, Chunks: 1, MicroBatch: 1, GradientBytes: 4}}
}

// modelKeys are the keys of a description of a step.
func modelKeys(m *modelSettings) []key { return joinKeys(shapeKeys(m), layoutKeys(m), computeKeys(m)) }

// shapeKeys are the shape of the model.
func shapeKeys(m *modelSettings) []key {
	const most = 1 << 24
	size := func(name string, dst *int, text string) key { return numberKey(name, dst, 1, most, text) }
	return []key{
		size("layers", &m.Layers, "Layers of the transformer.").need("give their number"),
		size("hidden", &m.Hidden, "Width of an activation.").need("give the width of an activation"),
		size("heads", &m.Heads, "Heads of attention.").need("give their number"),
		size("kv_heads", &m.KVHeads, "Heads of keys and values (grouped-query attention).").otherwise("as `heads`"),
		size("ffn", &m.FFN, "Width of the feed-forward part, of one expert.").otherwise("4 times `hidden`"),
		flagKey("gated", &m.Gated, "The feed-forward part has three matrices (SwiGLU), not two."),
		size("sequence", &m.Sequence, "Tokens of a sequence.").need("give its tokens"),
		size("vocabulary", &m.Vocabulary, "Tokens of the vocabulary.").need("give its size"),
		size("experts", &m.Experts, "Experts of each layer (MoE).").otherwise("none"),
		size("top_k", &m.TopK, "Experts that a token goes to.").otherwise("none"),
	}
}

// layoutKeys say how a step is spread over ranks.
func layoutKeys(m *modelSettings) []key {
	const most = 1 << 24
	size := func(name string, dst *int, text string) key { return numberKey(name, dst, 1, most, text) }
	return []key{
		numberKey("tp", &m.TP, 1, 1024, "Ranks of tensor parallelism, next to each other."),
		numberKey("pp", &m.PP, 1, 1024, "Stages of the pipeline."),
		numberKey("cp", &m.CP, 1, 1024, "Ranks over which sequences are divided (context parallelism)."),
		numberKey("ep", &m.EP, 1, 1024, "Ranks over which experts are divided, a part of the data-parallel ones."),
		numberKey("chunks", &m.Chunks, 1, 1024, "Chunks of a stage, in the interleaved schedule; 1: 1F1B."),
		size("micro_batch", &m.MicroBatch, "Sequences of a micro-batch."),
		size("batch", &m.Batch, "Sequences of a step, of all ranks.").need("give the sequences of a step"),
		eitherKey("sequence_parallel", &m.sequenceOff, "on", "off",
			"Norms work on a part of the sequence at each rank of tp, with AllGather and ReduceScatter in place of "+
				"AllReduce."),
		countedKey("recompute", &m.Recompute, training.Recomputes(),
			"Activations that are computed again backward: of attention's core (`selective`) or all (`full`)."),
		countedKey("precision", &m.Precision, training.Precisions(), "In which matrices are multiplied."),
		numberKey("zero", &m.Zero, 0, 3,
			"Stage of ZeRO: 0: gradients are added up everywhere; 1, 2: a rank has a part of the optimizer's state; 3: of "+
				"the parameters too (FSDP)."),
		numberKey("gradient_bytes", &m.GradientBytes, 2, 4, "Bytes of a gradient on the wire."),
		eitherKey("overlap", &m.noOverlap, "on", "off",
			"Gradients are reduced in buckets while the last micro-batch goes backward, or after it."),
		eitherKey("attention", &m.Unfused, "fused", "unfused",
			"Whether scores stay in the GPU, as with FlashAttention, or go through memory."),
		flagKey("tied", &m.tied, "The first and the last stage share the embedding, whose gradients they add up."),
	}
}

// computeKeys say what computations take.
func computeKeys(m *modelSettings) []key {
	var gpus []string
	for _, g := range training.GPUs() {
		gpus = append(gpus, g.Name)
	}
	return []key{
		wordKey("gpu", &m.gpu, gpus,
			"Peaks, bandwidth and efficiencies of computations.").otherwise("that of the server"),
		realKey(
			"efficiency",
			&m.efficiency,
			"Share of the peak that large matrices reach.",
		).otherwise("the GPU's").
			check(func(o object) {
				if m.efficiency <= 0 || m.efficiency > 1 {
					o.fail("efficiency", "%v is not above 0 and at most 1", m.efficiency)
				}
			}),
		realKey(
			"attention_efficiency",
			&m.attention,
			"Likewise of the core of attention.",
		).otherwise("the GPU's").
			check(func(o object) {
				if m.attention <= 0 || m.attention > 1 {
					o.fail("attention_efficiency", "%v is not above 0 and at most 1", m.attention)
				}
			}),
		timeKey(
			"forward",
			&m.Forward,
			"What a layer takes forward for a micro-batch, in place of what the GPU's peak says.",
		).otherwise("by the roofline").
			check(func(o object) {
				if !o.has("backward") {
					o.fail("forward", "stands with backward; give both")
				}
			}),
		timeKey("backward", &m.Backward, "Likewise backward, without recomputation.").otherwise("by the roofline").
			check(func(o object) {
				if !o.has("forward") {
					o.fail("backward", "stands with forward; give both")
				}
			}),
	}
}

// readModel makes a job of the description of a step.
func (r *resolver) readModel(o object, j *jobEntry, spec *job.Spec) {
	m := newModel()
	keys := modelKeys(m)
	s := o.object("model", keys)
	s.read(keys)
	if r.d.err != nil {
		return
	}
	m.SequenceParallel, m.Overlap, m.TieEmbeddings = !m.sequenceOff && m.TP > 1, !m.noOverlap, m.tied
	m.GPU = r.modelGPU(s, m, j.Ranks)
	if r.d.err != nil {
		return
	}
	one := m.TP * m.CP * m.PP
	if len(j.Ranks)%one != 0 {
		r.d.fail(s.n.Pos, "%s: tp %d, cp %d and pp %d make %d ranks, of which the job's %d are no multiple", s.path, m.TP,
			m.CP, m.PP, one, len(j.Ranks))
		return
	}
	m.DP = len(j.Ranks) / one
	if err := m.Check(); err != nil {
		r.d.fail(s.n.Pos, "%s: %v", s.path, err)
		return
	}
	made := m.Job(spec.Name, spec.Start, spec.Steps)
	spec.Comms, spec.Lists, spec.Of, spec.Peak = made.Comms, made.Lists, made.Of, m.Peak()
	spec.Stages, spec.Micro, spec.Chunks = made.Stages, made.Micro, made.Chunks
	for range spec.Comms {
		j.comms = append(j.comms, commSettings{})
	}
	r.noteModel(s.path, m)
}

// modelGPU is what the computations run on.
func (r *resolver) modelGPU(s object, m *modelSettings, ranks []collective.Rank) (out training.GPU) {
	name := m.gpu
	if name == "" {
		name = r.gpuName(ranks)
	}
	if out = gpuOf(name); out.Name == "" {
		r.d.fail(s.n.Pos,
			"%s has no gpu, and that of the server is none of a100, h100 and b200; give gpu, or ranks that are such GPUs",
			s.path)
	}
	if m.efficiency > 0 {
		out.Gemm = m.efficiency
	}
	if m.attention > 0 {
		out.Attention = m.attention
	}
	return out
}

// gpuName is the model of the ranks' GPUs; "": they are none that is known.
func (r *resolver) gpuName(ranks []collective.Rank) string {
	if t := r.rankServer(ranks); t != nil {
		for _, g := range training.GPUs() {
			if g.Processors == multiprocessors(t.Devices[ranks[0].Device].Chip) {
				return g.Name
			}
		}
	}
	return ""
}

// gpuOf is a GPU by its name; without one, it is none.
func gpuOf(name string) (out training.GPU) {
	for _, g := range training.GPUs() {
		if g.Name == name {
			out = g
		}
	}
	return out
}

// noteModel notes what was assumed.
func (r *resolver) noteModel(path string, m *modelSettings) {
	add := func(key, value, source string) { r.note(path+"."+key, value, source) }
	add("dp", strconv.Itoa(m.DP), "ranks / (tp cp pp)")
	add("micro_batches", strconv.Itoa(m.MicroBatches()), "batch / (dp micro_batch)")
	add("gpu", strings.ToUpper(m.GPU.Name), "NVIDIA's datasheet: peak and bandwidth")
	source := m.GPU.GemmSource
	if m.efficiency > 0 {
		source = fromScenario
	}
	add("efficiency", strconv.FormatFloat(m.GPU.Gemm, 'g', -1, 64), source)
}

// jobFile is what a job says of files.
type jobFile struct {
	groups string
	share  bool
}

// readJobFile makes a job of workload files of another program.
func (r *resolver) readJobFile(o object, j *jobEntry, spec *job.Spec) {
	name, _ := o.scalar("file")
	if r.d.err != nil {
		return
	}
	made := r.readSimAI
	if strings.Contains(name, "%d") || strings.HasSuffix(name, ".et") || strings.HasSuffix(name, ".json") {
		made = r.readChakra
	}
	out := made(o, name, j, spec)
	if out == nil || r.d.err != nil {
		return
	}
	spec.Comms, spec.Lists, spec.Of = out.Comms, out.Lists, out.Of
	spec.Peak = gpuOf(r.gpuName(j.Ranks)).Flops
	spec.Stages, spec.Micro, spec.Chunks = out.Stages, out.Micro, out.Chunks
	j.comms = make([]commSettings, len(spec.Comms))
}

// readSimAI reads a workload file of SimAI.
func (r *resolver) readSimAI(o object, name string, j *jobEntry, spec *job.Spec) *job.Spec {
	data, err := r.d.readFile(name)
	if err != nil {
		o.fail("file", "%v", err)
		return nil
	}
	f, bad := simai.Read(name, data)
	if bad != nil {
		if other := foreign.Instead(data, "a workload of SimAI", foreign.SimAIWorkload); other != "" {
			o.fail("file", "%s %s", name, other)
			return nil
		}
		r.d.keep(bad)
		return nil
	}
	made, err := f.Job(spec.Name, spec.Start, spec.Steps, len(j.Ranks))
	if err != nil {
		o.fail("file", "%v", err)
		return nil
	}
	for _, text := range f.Notes {
		r.v.Warnings = append(r.v.Warnings, o.join("file")+": "+text)
	}
	var sums []string
	for _, s := range f.Collectives() {
		sums = append(sums, fmt.Sprintf("%d %s of %s", s.Count, s.What, s.Bytes))
	}
	r.note(o.join("file"), strings.Join(sums, "; "),
		"what a rank of the first stage carries out in a step; sizes are "+"whole tensors")
	return made
}

// readChakra reads execution traces, a file for each rank.
func (r *resolver) readChakra(o object, name string, j *jobEntry, spec *job.Spec) *job.Spec {
	opt := chakra.Options{Name: spec.Name, Start: spec.Start, Steps: spec.Steps, Share: j.files.share}
	g := gpuOf(r.gpuName(j.Ranks))
	opt.Flops, opt.HBM = g.Flops*g.Gemm, g.HBM*g.MemoryShare
	if j.files.groups != "" {
		var err error
		if opt.Groups, err = r.d.readFile(j.files.groups); err != nil {
			o.fail("communicators_file", "%v", err)
			return nil
		}
	}
	traces := r.readTraces(o, name, len(j.Ranks))
	if r.d.err != nil {
		return nil
	}
	made, notes, err := chakra.Job(traces, opt)
	if err != nil {
		o.fail("file", "%v", err)
		return nil
	}
	for _, text := range notes {
		r.v.Warnings = append(r.v.Warnings, o.join("file")+": "+text)
	}
	rule := "sizes are whole tensors (sizes: whole)"
	if opt.Share {
		rule = "of allgather a size is what each rank has (sizes: share)"
	}
	r.note(o.join("file"), strings.Join(sumsOf(made), "; "), rule)
	return made
}

// readTraces reads the trace of each rank.
func (r *resolver) readTraces(o object, name string, ranks int) []*chakra.Trace {
	several := strings.Contains(name, "%d")
	if ranks > 1 && !several {
		o.fail("file", "%s is the trace of one rank, and the job has %d; put %%d in place of the rank's number", name,
			ranks)
		return nil
	}
	path := func(rank int) string { return strings.Replace(name, "%d", strconv.Itoa(rank), 1) }
	traces := make([]*chakra.Trace, ranks)
	for rank := range traces {
		data, err := r.d.readFile(path(rank))
		if err == nil {
			traces[rank], err = chakra.Read(data)
		}
		if err != nil {
			o.fail("file", "%s, of rank %d: %v", path(rank), rank, importer.Cause(err))
			return nil
		}
	}
	if several {
		if _, err := r.d.readFile(path(ranks)); err == nil {
			o.fail("file", "there is %s as well: the job has %d ranks, and the traces are of more", path(ranks), ranks)
		}
	}
	return traces
}

// mostSums bounds how many kinds of calls a note tells of.
const mostSums = 40

// sumsOf adds up the collectives and messages of a job by communicator, for all ranks.
func sumsOf(s *job.Spec) (out []string) {
	index := map[string]int{} // looked up, never iterated
	var names []string
	var counts []int
	var bytes []units.Bytes
	for _, l := range s.Of {
		for k := range s.Lists[l].Ops {
			o := &s.Lists[l].Ops[k]
			name := "send"
			switch o.Kind {
			case job.Collective:
				name = o.Coll.String() + " on " + s.Comms[o.On].Name
			case job.Send:
			default:
				continue
			}
			n, known := index[name]
			if !known {
				n = len(names)
				index[name], names, counts, bytes = n, append(names, name), append(counts, 0), append(bytes, 0)
			}
			counts[n]++
			bytes[n] += o.Bytes
		}
	}
	for n, name := range names {
		if n == mostSums {
			return append(out, fmt.Sprintf("and %d more", len(names)-mostSums))
		}
		out = append(out, fmt.Sprintf("%d %s, %s", counts[n], name, bytes[n]))
	}
	return out
}
