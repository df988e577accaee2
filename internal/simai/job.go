package simai

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/job"
	"github.com/hopscope/hopscope/internal/training"
	"github.com/hopscope/hopscope/internal/units"
)

// Communicators of a file.
const (
	commTP = iota
	commDP
	commEP
	commExperts
)

// Job makes a job of so many ranks: ranks of tp are next to each other, then come those of dp and then stages. All
// stages have the rows of the first one, without its embedding.
func (f *File) Job(name string, start units.Time, steps, ranks int) (*job.Spec, error) {
	switch {
	case f.GPUs > 0 && f.GPUs != ranks:
		return nil, fmt.Errorf("the file is for %d GPUs (all_gpus), and the job has %d ranks", f.GPUs, ranks)
	case ranks%(f.TP*f.PP) != 0:
		return nil, fmt.Errorf("tensor parallelism of %d and %d stages do not divide the %d ranks", f.TP, f.PP, ranks)
	case ranks/(f.TP*f.PP)%f.EP != 0:
		return nil, fmt.Errorf("ep %d does not divide the %d ranks of dp, of which it is a part", f.EP, ranks/(f.TP*f.PP))
	}
	dp := ranks / (f.TP * f.PP)
	out := &job.Spec{Name: name, Start: start, Steps: steps, Ranks: ranks, Comms: []job.Comm{
		{Name: "tp", Groups: job.Strided(ranks, f.TP, 1)},
		{Name: "dp", Groups: job.Strided(ranks, dp, f.TP)},
		{Name: "ep", Groups: job.Strided(ranks, f.EP, f.TP)},
		{Name: "experts", Groups: job.Strided(ranks, dp/f.EP, f.TP*f.EP)},
	}}
	for stage := range f.PP {
		m := maker{File: f, stage: stage, inner: f.TP * dp, last: none,
			sizes: [...]int{commTP: f.TP, commDP: dp, commEP: f.EP, commExperts: dp / f.EP}}
		if err := m.run(); err != nil {
			return nil, err
		}
		out.Lists = append(out.Lists, job.List{Ops: m.ops})
	}
	for r := range ranks {
		out.Of = append(out.Of, int32(r/(f.TP*dp)))
	}
	return out, nil
}

// none stands for no operation.
const none = int32(-1)

// maker makes the list of a stage.
type maker struct {
	*File
	stage, inner int
	sizes        [4]int
	ops          []job.Op
	last         int32 // the operation that the next one of the rank waits for
	silent       int   // collectives that no group carries out
}

func (m *maker) add(o job.Op, after ...int32) int32 {
	for _, a := range after {
		if a != none {
			o.After = append(o.After, a)
		}
	}
	m.ops = append(m.ops, o)
	return int32(len(m.ops) - 1)
}

// run makes the list: micro-batches by 1F1B, then what comes once in a step, backwards as SimAI goes through it.
func (m *maker) run() error {
	if m.blocks == 1 && len(m.step) == 0 {
		return m.plain()
	}
	block := m.block
	if m.stage > 0 {
		block = block[1:]
	}
	for _, t := range training.OneFOneB(m.PP, m.stage, m.blocks) {
		if t.Backward {
			m.message(job.Recv, m.stage < m.PP-1, 1)
			for i := len(block) - 1; i >= 0; i-- {
				if err := m.backward(&block[i]); err != nil {
					return err
				}
			}
			m.message(job.Send, m.stage > 0, -1)
			continue
		}
		m.message(job.Recv, m.stage > 0, -1)
		for i := range block {
			if err := m.pass(&block[i], forward); err != nil {
				return err
			}
		}
		if m.stage == m.PP-1 && t.Micro == m.blocks-1 {
			if err := m.rows(m.tail, "cross_entropy", forward); err != nil {
				return err
			}
		}
		m.message(job.Send, m.stage < m.PP-1, 1)
	}
	for i := len(m.step) - 1; i >= 0; i-- {
		if err := m.backward(&m.step[i]); err != nil {
			return err
		}
	}
	return m.rows(m.tail, "optimizer", forward)
}

// plain goes through all rows forward, and then backward.
func (m *maker) plain() error {
	for i := range m.block {
		if err := m.pass(&m.block[i], forward); err != nil {
			return err
		}
	}
	for i := len(m.block) - 1; i >= 0; i-- {
		if err := m.backward(&m.block[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *maker) rows(rows []row, name string, p int) error {
	for i := range rows {
		if strings.HasPrefix(rows[i].name, name) {
			if err := m.pass(&rows[i], p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *maker) backward(r *row) error {
	if err := m.pass(r, input); err != nil {
		return err
	}
	return m.pass(r, weight)
}

// pass is a computation, and the collective behind it, which holds up the rank until it is over: the file has no
// other order.
func (m *maker) pass(r *row, p int) error {
	x := &r.pass[p]
	if x.time > units.Nanosecond { // 1 stands for a time that is not known
		label := [...]string{"forward", "backward", "backward"}[p]
		if strings.HasPrefix(r.name, "grad_param_compute") || strings.HasPrefix(r.name, "optimizer") {
			label = "optimizer"
		}
		m.last = m.add(job.Op{Kind: job.Compute, Name: r.name, Label: label, Stream: "compute", Time: x.time}, m.last)
	}
	if x.kind == "NONE" || x.bytes == 0 {
		return nil
	}
	op, group, _ := opOf(x.kind)
	on := commTP
	switch {
	case group == "_EP":
		on = commEP
	case group == "_DP_EP":
		on = commExperts
	case p == weight:
		on = commDP
	}
	if m.sizes[on] < 2 {
		m.silent++
		return nil
	}
	m.last = m.add(job.Op{Kind: job.Collective, Name: r.name, Stream: "collectives", Coll: op, On: on,
		Bytes: max(x.bytes, 4)}, m.last)
	return nil
}

// message is one to a neighbouring stage, or from it. A send holds up nothing.
func (m *maker) message(kind job.Kind, is bool, stages int) {
	if !is {
		return
	}
	tag := 0 // activations; gradients go the other way
	if (kind == job.Recv) == (stages > 0) {
		tag = 1
	}
	at := m.add(job.Op{Kind: kind, Stream: fmt.Sprint(kind, " ", tag), Peer: stages * m.inner, Relative: true,
		Tag: tag, Bytes: max(m.Boundary, 4)}, m.last)
	if kind == job.Recv {
		m.last = at
	}
}
