package job

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/units"
)

// settleSizes puts together what ranks of groups send to each other in calls whose parts differ in size, and refuses
// what senders and receivers do not agree on. Ranks of a group call the same, as checkComm has found.
func (s *Spec) settleSizes() error {
	known := map[string]int{} // looked up, never iterated
	for c := range s.Comms {
		for _, group := range s.Comms[c].Groups {
			calls := make([][]int, len(group))
			for i, r := range group {
				calls[i] = s.unevenCalls(int(r), c)
			}
			for turn := range calls[0] {
				ops := make([]int, len(group))
				for i := range group {
					ops[i] = calls[i][turn]
				}
				if err := s.settle(group, ops, known); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// unevenCalls are a rank's operations on a communicator whose parts differ.
func (s *Spec) unevenCalls(rank, comm int) (out []int) {
	ops := s.Lists[s.Of[rank]].Ops
	for k := range ops {
		if o := &ops[k]; o.Kind == Collective && o.On == comm && o.uneven() {
			out = append(out, k)
		}
	}
	return out
}

// settle makes the sizes of one call of a group, of which each rank has an operation.
func (s *Spec) settle(group []int32, ops []int, known map[string]int) error {
	n := len(group)
	op := func(i int) *Op { return &s.Lists[s.Of[group[i]]].Ops[ops[i]] }
	bad := func(i int, format string, args ...any) error {
		r := int(group[i])
		return wrong(s.Of[r], ops[i], s.ofRank(r, ops[i])+" "+format, args...)
	}
	matrix := make([][]units.Bytes, n)
	for i := range group {
		o := op(i)
		row := o.Sends
		if o.Sizes != nil {
			if len(o.Sizes) != n {
				return bad(i, "has sizes of %d ranks, and its group has %d", len(o.Sizes), n)
			}
			row = o.Sizes[i]
		}
		if len(row) != n || o.Receives != nil && len(o.Receives) != n {
			return bad(i, "has a list of length %d, and its group has %d ranks; give a size for each, 0 for nothing",
				max(len(row), len(o.Receives)), n)
		}
		for k, b := range row {
			if b < 0 || b > collective.MaxBytes {
				return bad(i, "sends %s to rank %d; at most %s are possible", b, group[k], collective.MaxBytes)
			}
		}
		matrix[i] = row
	}
	for i := range group {
		for k, from := range group {
			if o := op(i); o.Receives != nil && o.Receives[k] != matrix[k][i] {
				return bad(i, "receives %s from rank %d, and %s sends it %s; both have the same size", o.Receives[k], from,
					s.ofRank(int(from), ops[k]), matrix[k][i])
			}
			if o, x := op(i), op(k); o.Sizes != nil && x.Sizes != nil && o.Sizes[k][i] != x.Sizes[k][i] {
				return bad(i, "expects %s from rank %d, and %s has %s; both have the same size", o.Sizes[k][i], from,
					s.ofRank(int(from), ops[k]), x.Sizes[k][i])
			}
		}
	}
	return s.keep(group, ops, matrix, known)
}

// keep notes the sizes of a call in its operations: those alike are one.
func (s *Spec) keep(group []int32, ops []int, matrix [][]units.Bytes, known map[string]int) error {
	var id strings.Builder
	own, most, leaves := make([][]units.Bytes, len(matrix)), units.Bytes(0), false
	for i, row := range matrix {
		own[i] = make([]units.Bytes, len(row))
		sum := units.Bytes(0)
		for k, b := range row {
			own[i][k] = (b + collective.Element - 1) / collective.Element * collective.Element
			sum += own[i][k]
			leaves = leaves || i != k && b > 0
			fmt.Fprint(&id, int64(own[i][k]), ",")
		}
		most = max(most, sum)
	}
	if !leaves && len(group) > 1 {
		return wrong(s.Of[group[0]], ops[0], "%s: no rank sends anything to another one; leave it out",
			s.ofRank(int(group[0]), ops[0]))
	}
	number, is := known[id.String()]
	if !is {
		s.matrices = append(s.matrices, own)
		number = len(s.matrices)
		known[id.String()] = number
	}
	for i, r := range group {
		o := &s.Lists[s.Of[r]].Ops[ops[i]]
		if o.matrix != 0 && o.matrix != number {
			return wrong(s.Of[r], ops[i], "%s stands for ranks of groups that send different sizes; give these operations of "+
				"their own", s.ofRank(int(r), ops[i]))
		}
		o.matrix, o.Bytes = number, most
	}
	return nil
}
