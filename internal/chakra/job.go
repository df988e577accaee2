package chakra

import (
	"bytes"
	"container/heap"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/job"
	"github.com/hopscope/hopscope/internal/units"
)

// Options say how traces are read.
type Options struct {
	Name   string
	Start  units.Time
	Steps  int
	Groups []byte // communicators by number: {"1": [0, 1]}; nil: none are given
	// Share: sizes of AllGather are what each rank has, as STAGE writes them; else the whole tensor.
	Share bool
	// Flops and HBM, of the GPU a second, turn num_ops and tensor_size into a time where a node has none.
	Flops, HBM float64
}

// Job makes a job of a trace for each rank, and notes what was made of them.
func Job(traces []*Trace, opt Options) (*job.Spec, []string, error) {
	m := maker{Options: opt, Spec: &job.Spec{Name: opt.Name, Start: opt.Start, Steps: opt.Steps, Ranks: len(traces)},
		comms: make(map[string]int)}
	if err := m.groups(); err != nil {
		return nil, nil, err
	}
	for r, t := range traces {
		if err := m.rank(r, t); err != nil {
			return nil, nil, fmt.Errorf("rank %d: %w", r, err)
		}
	}
	if m.dropped > 0 {
		m.notes = append(m.notes, fmt.Sprintf("%d dependencies on nodes that their file does not have are left out",
			m.dropped))
	}
	if m.hosts > 0 {
		m.notes = append(m.notes,
			fmt.Sprintf("%d nodes of type 7 on the host's side count as host work: they launch the kernels", m.hosts))
	}
	return m.Spec, m.notes, nil
}

type maker struct {
	Options
	*job.Spec
	comms          map[string]int // in Spec.Comms, by the communicator's number; looked up, never iterated
	dropped, hosts int
	notes          []string
}

// groups reads the communicators. Where none are given there is one of all ranks.
func (m *maker) groups() error {
	all := make([]int32, m.Ranks)
	for r := range all {
		all[r] = int32(r)
	}
	if m.Groups == nil {
		m.comms[""] = 0
		m.Comms = []job.Comm{{Name: "all", Groups: [][]int32{all}}}
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(m.Groups))
	wrong := func(err error) error {
		return fmt.Errorf(`the communicators are no JSON such as {"1": [0, 1]}: %v`, err)
	}
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return wrong(err)
	}
	for d.More() {
		key, err := d.Token()
		var ranks []int32
		if err == nil {
			err = d.Decode(&ranks)
		}
		if err != nil {
			return wrong(err)
		}
		name := fmt.Sprint(key)
		for _, r := range ranks {
			if r < 0 || int(r) >= m.Ranks {
				return fmt.Errorf("communicator %s has rank %d, and the files are of ranks 0 to %d", name, r, m.Ranks-1)
			}
		}
		if len(ranks) == 0 {
			return fmt.Errorf("communicator %s has no rank", name)
		}
		m.comms[name] = len(m.Comms)
		m.Comms = append(m.Comms, job.Comm{Name: name, Groups: [][]int32{ranks}})
	}
	if _, is := m.comms[""]; !is {
		m.comms[""] = len(m.Comms)
		m.Comms = append(m.Comms, job.Comm{Name: "all", Groups: [][]int32{all}})
	}
	return nil
}

// rank makes the list of a rank.
func (m *maker) rank(rank int, t *Trace) error {
	// Control is what a schedule adds, in synthetic traces, or the tree of calls, in converted ones, where it leads back
	// to what came before. Then data alone count.
	control := true
	order, err := m.order(t, control)
	if err != nil {
		control = false
		m.dropped = 0
		if order, err = m.order(t, control); err != nil {
			return err
		}
		m.notes = append(m.notes,
			fmt.Sprintf("rank %d: control dependencies are the tree of calls, which leads back to what came before; "+
				"those of data alone count", rank))
	}
	place := make(map[uint64]int32, len(order))
	devices := make(map[string]int32) // the last operation of a stream that was traced
	var list job.List
	for _, i := range order {
		n := &t.Nodes[i]
		o, err := m.op(rank, n)
		if err != nil {
			return fmt.Errorf("node %d (%s): %w", n.ID, n.Name, err)
		}
		for _, d := range n.deps(control) {
			if at, is := place[d]; is {
				o.After = append(o.After, at)
			}
		}
		if stream, traced := n.stream(); traced { // kernels of a stream ran one after the other
			if last, is := devices[stream]; is {
				o.After = append(o.After, last)
			}
			devices[stream] = int32(len(list.Ops))
		}
		slices.Sort(o.After)
		o.After = slices.Compact(o.After)
		place[n.ID] = int32(len(list.Ops))
		list.Ops = append(list.Ops, o)
	}
	m.Lists, m.Of = append(m.Lists, list), append(m.Of, int32(rank))
	return nil
}

// stream is the stream of a kernel in a trace of a real run, which has begins and threads.
func (n *Node) stream() (name string, traced bool) {
	tid, known := n.ints["tid"]
	if !known {
		tid, known = n.ints["stream"]
	}
	if !known || n.Start == 0 || n.host() {
		return "", false
	}
	return fmt.Sprint(tid), true
}

// deps are the nodes that a node depends on.
func (n *Node) deps(control bool) []uint64 {
	if !control {
		return n.Data
	}
	return slices.Concat(n.Ctrl, n.Data)
}

// host reports whether a node runs on the host.
func (n *Node) host() bool { return n.ints["is_cpu_op"] != 0 }

// op is the operation of a node. Each has a stream of its own: what waits for what is in the trace.
func (m *maker) op(rank int, n *Node) (job.Op, error) {
	o := job.Op{Kind: job.Compute, Name: n.Name, Label: "GPU", Stream: strconv.FormatUint(n.ID, 10)}
	if n.host() {
		o.Label, o.Host = "host", true
	}
	switch n.Type {
	case typeSend, typeRecv:
		return m.message(rank, n, o)
	case typeCollective:
		if _, has := n.ints["comm_type"]; has && (!n.host() || n.ints["comm_size"] > 0) {
			return m.collective(rank, n, o)
		}
		m.hosts++
	case typeMetadata:
		o.Kind = job.Mark
		return o, nil
	}
	o.Time = m.time(n)
	return o, nil
}

// time is what a node takes: as it was measured, or by the roofline.
func (m *maker) time(n *Node) units.Time {
	if n.Duration > 0 {
		return units.Time(n.Duration) * units.Microsecond
	}
	if m.Flops == 0 || m.HBM == 0 {
		return 0
	}
	seconds := max(float64(n.ints["num_ops"])/m.Flops, float64(n.ints["tensor_size"])/m.HBM)
	return units.Time(seconds * float64(units.Second))
}

func (m *maker) message(rank int, n *Node, o job.Op) (job.Op, error) {
	o.Kind, o.Tag = job.Send, int(n.ints["comm_tag"])
	key := "comm_dst"
	if n.Type == typeRecv {
		o.Kind, key = job.Recv, "comm_src"
	}
	peer, has := n.ints[key]
	if !has {
		return o, fmt.Errorf("has no %s", key)
	}
	if peer < 0 || int(peer) >= m.Ranks {
		return o, fmt.Errorf("%s is %d, and the files are of ranks 0 to %d", key, peer, m.Ranks-1)
	}
	o.Peer = int(peer)
	bytes := n.ints["comm_size"]
	if bytes < 0 || units.Bytes(bytes) > collective.MaxBytes {
		return o, fmt.Errorf("comm_size %d is no size", bytes)
	}
	o.Bytes = max(units.Bytes(bytes), collective.Element)
	return o, nil
}

// collectives by comm_type (et_def.proto).
func collectiveOf(kind int64) (op collective.Op, known bool) {
	switch kind {
	case 0:
		return collective.AllReduce, true
	case 2:
		return collective.AllGather, true
	case 5:
		return collective.Broadcast, true
	case 6:
		return collective.AllToAll, true
	case 7, 8:
		return collective.ReduceScatter, true
	}
	return 0, false
}

func (m *maker) collective(rank int, n *Node, o job.Op) (job.Op, error) {
	kind := n.ints["comm_type"]
	if kind == 9 { // a barrier: an AllReduce of one element
		kind, n.ints["comm_size"] = 0, int64(collective.Element)
	}
	op, known := collectiveOf(kind)
	if !known {
		return o,
			fmt.Errorf("comm_type %d is no collective that is carried out: AllReduce 0, AllGather 2, Broadcast 5, AllToAll 6, "+
				"ReduceScatter 7", kind)
	}
	name := n.texts["pg_name"]
	if v, is := n.ints["pg_name"]; is && name == "" && v != 0 {
		name = strconv.FormatInt(v, 10)
	}
	on, is := m.comms[name]
	if !is {
		if m.Groups != nil || m.Ranks == 0 {
			return o, fmt.Errorf("communicator %s is not among those that are given", name)
		}
		on = m.comms[""]
	}
	bytes := n.ints["comm_size"]
	if bytes < 0 || units.Bytes(bytes) > collective.MaxBytes {
		return o, fmt.Errorf("comm_size %d is no size", bytes)
	}
	size := units.Bytes(bytes)
	if op == collective.AllGather && m.Share {
		size *= units.Bytes(len(m.Comms[on].Groups[0]))
	}
	o.Kind, o.Coll, o.On, o.Bytes = job.Collective, op, on, max(size, collective.Element)
	if !slices.Contains(m.Comms[on].Groups[0], int32(rank)) {
		return o, fmt.Errorf("rank %d is not in communicator %s", rank, m.Comms[on].Name)
	}
	return o, nil
}

// order are the nodes so that each comes behind what it depends on, the earliest begun and then the lowest
// number first: files have them in any order.
func (m *maker) order(t *Trace, control bool) ([]int, error) {
	index := make(map[uint64]int, len(t.Nodes))
	for i := range t.Nodes {
		if _, twice := index[t.Nodes[i].ID]; twice {
			return nil, fmt.Errorf("two nodes have the number %d", t.Nodes[i].ID)
		}
		index[t.Nodes[i].ID] = i
	}
	left, then := make([]int, len(t.Nodes)), make([][]int, len(t.Nodes))
	q := ready{nodes: t.Nodes}
	for i := range t.Nodes {
		for _, d := range t.Nodes[i].deps(control) {
			from, is := index[d]
			switch {
			case !is:
				m.dropped++
			case from != i:
				then[from] = append(then[from], i)
				left[i]++
			}
		}
		if left[i] == 0 {
			heap.Push(&q, i)
		}
	}
	var out []int
	for q.Len() > 0 {
		i := heap.Pop(&q).(int)
		out = append(out, i)
		for _, next := range then[i] {
			if left[next]--; left[next] == 0 {
				heap.Push(&q, next)
			}
		}
	}
	for i := range left {
		if left[i] > 0 {
			return nil, fmt.Errorf("node %d (%s) depends on itself through others", t.Nodes[i].ID, t.Nodes[i].Name)
		}
	}
	return out, nil
}

// ready is a heap of nodes.
type ready struct {
	nodes []Node
	list  []int
}

func (q *ready) Len() int { return len(q.list) }
func (q *ready) Less(a, b int) bool {
	x, y := &q.nodes[q.list[a]], &q.nodes[q.list[b]]
	if x.Start != y.Start {
		return x.Start < y.Start
	}
	return x.ID < y.ID
}
func (q *ready) Swap(a, b int) { q.list[a], q.list[b] = q.list[b], q.list[a] }
func (q *ready) Push(x any)    { q.list = append(q.list, x.(int)) }
func (q *ready) Pop() any {
	n := len(q.list) - 1
	out := q.list[n]
	q.list = q.list[:n]
	return out
}
