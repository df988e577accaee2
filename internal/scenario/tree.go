package scenario

import "github.com/hopscope/hopscope/internal/tree"

// What a scenario is read from.
type (
	node  = tree.Node
	field = tree.Field
	pos   = tree.Pos
	word  = tree.Word

	// Error is what is wrong with a scenario: one line that says where, what, and what would
	// be right.
	Error = tree.Error
)

const (
	nullNode     = tree.Null
	scalarNode   = tree.Scalar
	mappingNode  = tree.Mapping
	sequenceNode = tree.Sequence
)
