// Package simai reads the workload files of SimAI, which aicb writes: rows of computations and collectives of one
// rank of the first stage. It makes a job of them in which micro-batches go through a pipeline, which SimAI
// itself adds by a closed form.
package simai

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
)

// File is a workload file.
type File struct {
	Micro             bool // the rows are collectives to be measured one after the other
	TP, EP, PP, GA    int  // GA: micro-batches of a step
	GPUs              int  // 0: not said
	Boundary          units.Bytes
	Notes             []string
	step, block, tail []row // once in a step before, of a micro-batch, once after
	blocks            int
	raised            int
}

// row is a row: three passes of a computation and a collective.
type row struct {
	name string
	pass [3]pass // forward, gradients of inputs, gradients of weights
	pos  tree.Pos
}

type pass struct {
	time  units.Time
	kind  string
	bytes units.Bytes
}

// Passes of a row.
const (
	forward = iota
	input
	weight
)

// leastForward is what SimAI raises smaller sizes of forward collectives to (Workload.cc).
const leastForward = 4096

// Read reads a file.
func Read(name string, data []byte) (*File, *tree.Error) {
	f := &File{TP: 1, EP: 1, PP: 1, GA: 1}
	lines := bytes.Split(data, []byte("\n"))
	if bad := f.header(name, string(lines[0])); bad != nil {
		return nil, bad
	}
	at := tree.Pos{File: name, Line: 2, Col: 1}
	if len(lines) < 2 {
		return nil, at.Errorf("the file ends where the number of rows should stand")
	}
	count, err := strconv.Atoi(strings.TrimSpace(string(lines[1])))
	if err != nil || count < 1 || count > 1<<20 {
		return nil, at.Errorf("%q is not the number of rows, from 1 to %d", strings.TrimSpace(string(lines[1])), 1<<20)
	}
	var rows []row
	for i, line := range lines[2:] {
		words := tree.Words(name, i+3, string(line), 14)
		if len(words) == 0 {
			continue
		}
		r, bad := f.row(words)
		if bad != nil {
			return nil, bad
		}
		rows = append(rows, r)
	}
	switch {
	case len(rows) < count:
		return nil, at.Errorf("line 2 announces %d rows, and the file has %d; it is cut short, or the number is wrong",
			count, len(rows))
	case len(rows) > count:
		f.note("the file has %d rows and line 2 announces %d: the others are left out, as SimAI does", len(rows), count)
		rows = rows[:count]
	}
	if bad := f.cut(rows); bad != nil {
		return nil, bad
	}
	return f, nil
}

func (f *File) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// policies that SimAI knows and that mean what aicb writes, or tests of collectives.
func policies() []string {
	return []string{"HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER", "MICRO"}
}

// header reads the first line: a policy, then keys with values in any order.
func (f *File) header(name, line string) *tree.Error {
	words := tree.Words(name, 1, line, 4096)
	if len(words) == 0 {
		return tree.Pos{
			File: name,
			Line: 1,
			Col:  1,
		}.Errorf("the first line is empty; it names the policy, such as %s", policies()[0])
	}
	f.Micro = words[0].Text == "MICRO"
	if p := words[0]; p.Text != policies()[0] && p.Text != policies()[1] && !f.Micro {
		return p.Pos.Errorf("policy %q is none that is read: %s", p.Text, strings.Join(policies(), ", "))
	}
	for i := 1; i < len(words); i++ {
		key := strings.TrimSuffix(words[i].Text, ":")
		value := func() (v float64, bad *tree.Error) {
			if i++; i >= len(words) {
				return 0, words[i-1].Pos.Errorf("%s has no value", key)
			}
			return words[i].Decimal(key, 1e15)
		}
		v, bad := value()
		if bad != nil {
			return bad
		}
		set := func(dst *int) {
			if *dst = int(v); v != float64(*dst) || *dst < 1 || *dst > 1<<20 {
				bad = words[i].Pos.Errorf("%s %s is not a whole number from 1 to %d", key, words[i].Text, 1<<20)
			}
		}
		switch key {
		case "model_parallel_NPU_group":
			set(&f.TP)
		case "ep":
			set(&f.EP)
		case "pp":
			set(&f.PP)
		case "ga":
			set(&f.GA)
		case "all_gpus":
			set(&f.GPUs)
		case "pp_comm":
			f.Boundary = units.Bytes(v)
		case "vpp":
			f.note("vpp %d is left out: aicb writes the layers of a stage there, and SimAI takes them for chunks", int(v))
		case "checkpoints", "checkpoint_initiates":
			if v > 0 {
				f.note("%s is left out: recomputation is not read", key)
				i += int(v)
			}
		default:
			return words[i-1].Pos.Errorf("unknown key %q in the first line", key)
		}
		if bad != nil {
			return bad
		}
	}
	if f.GPUs > 0 && f.GPUs%(f.TP*f.PP) != 0 {
		return words[0].Pos.Errorf("tensor parallelism of %d and %d stages do not divide the %d GPUs", f.TP, f.PP, f.GPUs)
	}
	if f.PP > 1 && f.Boundary == 0 {
		f.note("pp is %d and pp_comm is not given: stages pass on messages of 4 bytes", f.PP)
	}
	return nil
}

// row reads a row of eleven or twelve words: of the update time nothing is made.
func (f *File) row(words []tree.Word) (r row, bad *tree.Error) {
	if len(words) < 11 || len(words) > 13 {
		return r,
			words[0].Pos.Errorf("%d words where a row has 12: name, dependency, three times a time, a collective and its "+
				"size, update time",
				len(words))
	}
	r.name, r.pos = words[0].Text, words[0].Pos
	for p := range r.pass {
		t, kind, size := words[2+3*p], words[3+3*p], words[4+3*p]
		ns, bad := t.Decimal("time", 1e15)
		if bad != nil {
			return r, bad
		}
		bytes, bad := size.Decimal("size", float64(collective.MaxBytes))
		if bad != nil {
			return r, bad
		}
		x := &r.pass[p]
		*x = pass{time: units.Time(ns) * units.Nanosecond, kind: kind.Text, bytes: units.Bytes(bytes)}
		if _, _, known := opOf(x.kind); !known && x.kind != "NONE" {
			return r,
				kind.Pos.Errorf("collective %q is not known; use NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or "+
					"BROADCAST, "+
					"of TP and DP, or with _EP or _DP_EP", x.kind)
		}
		if p == forward && x.kind != "NONE" && x.bytes > 0 && x.bytes < leastForward {
			x.bytes = leastForward
			f.raised++
		}
		// DeepSpeed's ZeRO 3 files have sizes that are no bytes: less than a share of 1e-4 of what the same row reduces.
		if w := r.pass[weight]; p == weight && strings.HasPrefix(r.pass[input].kind, "ALLGATHER") &&
			strings.HasPrefix(w.kind, "REDUCESCATTER") &&
			r.pass[input].bytes > 0 &&
			r.pass[input].bytes < w.bytes/1000 {
			return r,
				words[7].Pos.Errorf("ALLGATHER of %d beside REDUCESCATTER of %d: parameters that are gathered are as many as "+
					"their "+
					"gradients; the unit of these sizes is not known", r.pass[input].bytes, w.bytes)
		}
	}
	return r, nil
}

// opOf is the collective of a word, and what follows its name: "", "_EP" or "_DP_EP".
func opOf(kind string) (op collective.Op, group string, known bool) {
	for _, op := range []collective.Op{collective.AllReduce, collective.AllGather, collective.ReduceScatter,
		collective.AllToAll, collective.Broadcast} {
		word := strings.ToUpper(op.String())
		if rest, is := strings.CutPrefix(kind, word); is && (rest == "" || rest == "_EP" || rest == "_DP_EP") {
			return op, rest, true
		}
	}
	return 0, "", false
}

// cut finds the rows of a micro-batch: each begins with an embedding_layer. What stands before comes once in a
// step, as do cross_entropy and optimizer at the end.
func (f *File) cut(rows []row) *tree.Error {
	if f.raised > 0 {
		f.note("%d forward sizes below %d bytes are raised to it, as SimAI does", f.raised, leastForward)
	}
	var starts []int
	for i := range rows {
		if rows[i].name == "embedding_layer" {
			starts = append(starts, i)
		}
	}
	end := len(rows)
	for end > 0 && (strings.HasPrefix(rows[end-1].name, "cross_entropy") || strings.HasPrefix(rows[end-1].name,
		"optimizer")) {
		end--
	}
	f.tail = rows[end:]
	if f.Micro || len(starts) == 0 || len(starts) != f.GA || (end-starts[0])%len(starts) != 0 {
		f.block, f.blocks, f.tail = rows, 1, nil
		if !f.Micro && f.PP > 1 {
			return rows[0].pos.Errorf("the rows are not ga %d times those of a micro-batch, each from an embedding_layer "+
				"on, which a pipeline needs",
				f.GA)
		}
		return nil
	}
	n := (end - starts[0]) / len(starts)
	for k, at := range starts {
		if at != starts[0]+k*n {
			return rows[at].pos.Errorf("micro-batch %d begins here, and they are of %d rows each", k, n)
		}
	}
	f.step, f.block, f.blocks = rows[:starts[0]], rows[starts[0]:starts[0]+n], len(starts)
	return nil
}

// Collectives sums up by pass and kind how many collectives a rank carries out in a step, and their bytes.
func (f *File) Collectives() (out []Sum) {
	index := map[string]int{}
	add := func(rows []row, times int) {
		for _, r := range rows {
			for p, x := range r.pass {
				if x.kind == "NONE" || x.bytes == 0 {
					continue
				}
				key := [...]string{"forward", "input gradients", "weight gradients"}[p] + " " + x.kind
				n, known := index[key]
				if !known {
					n = len(out)
					index[key], out = n, append(out, Sum{What: key})
				}
				out[n].Count += times
				out[n].Bytes += units.Bytes(times) * x.bytes
			}
		}
	}
	add(f.step, 1)
	add(f.block, f.blocks)
	add(f.tail, 1)
	return out
}

// Sum is about collectives of one pass and kind.
type Sum struct {
	What  string
	Count int
	Bytes units.Bytes
}
