package collective

import (
	"slices"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// cellRule makes the steps of trees, NVLS, chains and SendRecv, whose channels do the same with
// each piece of their data. Such a cell is recorded from what would append it to a plan, and is
// the template of all: it grows with ranks and channels, not with data.
type cellRule struct {
	*builder
	cells  []cell
	lanes  []cellLane  // of the program; while cells are recorded, of the builder
	puts   [][]cellPut // by edge: what puts units on it
	orders uint64
	short  bool // the last piece is being recorded, which may be shorter
	at     int  // its step at hand
}

// cell is what a channel does with a piece.
type cell struct {
	span
	pieces int
	order  uint64 // of its first step
	places uint64 // of a piece in the order of operations
	steps  []cellStep
}

// cellStep is a step of a cell.
type cellStep struct {
	place       uint64 // in the order of its piece
	takes, puts []int32
	after       []int32 // steps of other lanes at its host
	lane, turn  int32   // its lane, and which of its steps in the cell it is
	label       uint16
	from, to    int16
	folded      bool
	sizes       [2]cellSize // with all pieces but the last, and with that
}

// cellSize is what a step moves, sends on each edge and takes at least.
type cellSize struct {
	bytes, wire units.Bytes
	work        units.Time
}

// cellLane is a lane: its steps in the cells that it has a part in, one cell after the other, and how many it is
// through with before each.
type cellLane struct {
	parts  []cellPart
	before []int
	steps  int // in all
}

// cellPart are a lane's steps in a cell.
type cellPart struct {
	cell  int32
	steps []int32
}

// in is the number of a lane's part in a cell.
func (l *cellLane) in(cell int32) int {
	return slices.IndexFunc(l.parts, func(p cellPart) bool { return p.cell == cell })
}

// cellPut is a step of a cell, and which of its edges is meant.
type cellPut struct{ cell, step, put int32 }

// cellRule records the cells of all channels.
func (b *builder) cellRule() *cellRule {
	r := &cellRule{builder: b, orders: uint64(len(b.Ranks))}
	b.launched = make([]workload.Op, len(b.Ranks)) // which lanes begin behind; programs know that
	b.cells, b.records = r, r
	b.iteration()
	b.cells, b.records = nil, nil
	return r
}

// record makes the cell of the channel at hand out of its first piece and its last one.
func (r *cellRule) record(bytes, most units.Bytes, piece func(units.Bytes)) {
	n := int((bytes + most - 1) / most)
	r.cells = append(r.cells, cell{span: span{first: len(r.all)}, pieces: n, order: r.orders})
	r.short = false
	piece(min(bytes, most))
	r.short, r.at = true, -1
	piece(bytes - units.Bytes(n-1)*most)
	c := r.cell()
	c.edges = len(r.all) - c.first
	for i := range c.steps {
		s := &c.steps[i]
		s.place = c.places
		c.places += 1 + uint64(len(s.puts))*workload.SubOrders
	}
	r.orders += uint64(n) * c.places
}

// cell is that which is being recorded.
func (r *cellRule) cell() *cell { return &r.cells[len(r.cells)-1] }

// step is that which is being recorded.
func (r *cellRule) step() *cellStep {
	c := r.cell()
	if r.short {
		return &c.steps[r.at]
	}
	return &c.steps[len(c.steps)-1]
}

// begin records a step of a lane.
func (r *cellRule) begin(l *lane, o *workload.Local) workload.Op {
	c := r.cell()
	size := cellSize{bytes: o.Bytes, work: o.Work}
	if r.short {
		r.at++
		c.steps[r.at].sizes[1] = size
		return workload.OpOfLocal(r.at)
	}
	if l.nr == len(r.lanes) {
		r.lanes = append(r.lanes, cellLane{})
	}
	own, now, at := &r.lanes[l.nr], int32(len(r.cells)-1), len(c.steps)
	if n := len(own.parts); n == 0 || own.parts[n-1].cell != now {
		own.parts = append(own.parts, cellPart{cell: now})
	}
	x := &own.parts[len(own.parts)-1]
	c.steps = append(c.steps, cellStep{lane: int32(l.nr), turn: int32(len(x.steps)), label: o.Label, from: o.From,
		to: o.To, sizes: [2]cellSize{size}})
	x.steps = append(x.steps, int32(at))
	return workload.OpOfLocal(at)
}

// awaits records that the step at hand waits for another one.
func (r *cellRule) awaits(other workload.Op) {
	if !r.short {
		s := r.step()
		s.after = append(s.after, int32(^other))
	}
}

// take records that it takes a unit from an edge.
func (r *cellRule) take(e *edge) {
	if !r.short {
		s := r.step()
		s.takes = append(s.takes, e.nr)
	}
}

// put records that it puts a unit on an edge.
func (r *cellRule) put(e *edge, bytes units.Bytes, folded bool) {
	s := r.step()
	if r.short {
		s.sizes[1].wire = r.onWire(bytes)
		return
	}
	if int(e.nr) == len(r.puts) {
		r.puts = append(r.puts, nil)
	}
	c := r.cell()
	r.puts[e.nr] = append(r.puts[e.nr], cellPut{int32(len(r.cells) - 1), int32(len(c.steps) - 1), int32(len(s.puts))})
	s.puts, s.folded, s.sizes[0].wire = append(s.puts, e.nr), folded, r.onWire(bytes)
}

// settle numbers lanes by rank, so many for each, and returns what steps move over ways that
// edges do not have.
func (r *cellRule) settle() (perRank int, moves []workload.ProgramMove) {
	slots := make([]int, len(r.Ranks))
	for _, l := range r.order {
		slots[l.rank]++
		perRank = max(perRank, slots[l.rank])
	}
	lanes, to := make([]cellLane, len(r.Ranks)*perRank), make([]int32, len(r.order))
	clear(slots)
	for k, l := range r.order {
		to[k] = int32(l.rank*perRank + slots[l.rank])
		slots[l.rank]++
		x := r.lanes[k]
		for _, p := range x.parts {
			x.before = append(x.before, x.steps)
			x.steps += r.cells[p.cell].pieces * len(p.steps)
		}
		lanes[to[k]] = x
	}
	r.lanes = lanes
	known := make(map[workload.ProgramMove]bool)
	for i := range r.cells {
		for k := range r.cells[i].steps {
			s := &r.cells[i].steps[k]
			s.lane = to[s.lane]
			m := workload.ProgramMove{Host: r.Ranks[int(s.lane)/perRank].Host, From: s.from, To: s.to}
			if s.from != s.to && !s.folded && !known[m] {
				known[m] = true
				moves = append(moves, m)
			}
		}
	}
	return perRank, moves
}

// spans implements edgeRule.
func (r *cellRule) spans() (out []span) {
	for i := range r.cells {
		out = append(out, r.cells[i].span)
	}
	return out
}

// Steps implements workload.ProgramRule.
func (r *cellRule) Steps(lane int32) int {
	return r.lanes[lane].steps
}

// Step implements workload.ProgramRule.
func (r *cellRule) Step(lane int32, k int, s *workload.ProgramStep) {
	l := &r.lanes[lane]
	at := len(l.parts) - 1
	for l.before[at] > k {
		at--
	}
	p := &l.parts[at]
	k -= l.before[at]
	c := &r.cells[p.cell]
	piece := k / len(p.steps)
	x := &c.steps[p.steps[k%len(p.steps)]]
	size := x.size(piece, c)
	s.Order, s.Label, s.From, s.To = c.order+uint64(piece)*c.places+x.place, x.label, x.from, x.to
	s.Bytes, s.Work, s.Folded = size.bytes, size.work, x.folded
	s.Takes, s.Puts, s.After = append(s.Takes[:0], x.takes...), append(s.Puts[:0], x.puts...), s.After[:0]
	for _, a := range x.after {
		other := &c.steps[a]
		own := &r.lanes[other.lane]
		n := own.in(p.cell)
		steps := own.before[n] + piece*len(own.parts[n].steps) + int(other.turn) + 1
		s.After = append(s.After, workload.ProgramAfter{Lane: other.lane, Steps: steps})
	}
}

// size is that of a step with a piece.
func (s *cellStep) size(piece int, c *cell) *cellSize {
	if piece == c.pieces-1 {
		return &s.sizes[1]
	}
	return &s.sizes[0]
}

// Unit implements workload.ProgramRule.
func (r *cellRule) Unit(edge int32, k int) (order uint64, put int, wire units.Bytes) {
	puts := r.puts[edge]
	piece, p := k/len(puts), &puts[k%len(puts)]
	c := &r.cells[p.cell]
	s := &c.steps[p.step]
	return c.order + uint64(piece)*c.places + s.place, int(p.put), s.size(piece, c).wire
}

// units implements edgeRule.
func (r *cellRule) units(edge int32) int {
	return r.cells[r.puts[edge][0].cell].pieces * len(r.puts[edge])
}

// carried implements edgeRule.
func (r *cellRule) carried(edge int32) (sum, most units.Bytes) {
	for _, p := range r.puts[edge] {
		c := &r.cells[p.cell]
		x := &c.steps[p.step].sizes
		sum += units.Bytes(c.pieces-1)*x[0].wire + x[1].wire
		most = max(most, x[0].wire)
	}
	return sum, most
}
