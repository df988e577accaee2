package scenario

import (
	"strconv"

	"github.com/hopscope/hopscope/internal/units"
)

// Sweep puts sizes in place of what a collective has in a scenario.
type Sweep struct {
	Entry    int // of the workload, by index
	From, To units.Bytes
	Factor   int
}

// apply changes the tree.
func (s *Sweep) apply(root *node) *Error {
	entries := root.Get("workload")
	if entries == nil || s.Entry >= len(entries.Items) {
		return root.Pos.Errorf("workload has no item [%d]; sizes are those of a collective", s.Entry)
	}
	c := entries.Items[s.Entry].Get("collective")
	if c == nil || c.Kind != mappingNode {
		return entries.Items[s.Entry].Pos.Errorf("workload[%d] is no collective; sizes are those of one", s.Entry)
	}
	at := c.Pos
	value := func(s string) *node { return &node{Kind: scalarNode, Text: s, Pos: at} }
	size := func(n units.Bytes) *node { return value(strconv.FormatInt(int64(n), 10) + "B") }
	sizes := &node{Kind: mappingNode, Pos: at}
	sizes.Put("from", at, size(s.From))
	sizes.Put("to", at, size(s.To))
	sizes.Put("factor", at, value(strconv.Itoa(s.Factor)))
	c.Remove("size")
	c.Put("sizes", at, sizes)
	return nil
}
