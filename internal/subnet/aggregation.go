package subnet

import (
	"fmt"
	"strings"
)

// aggregationNode begins the description of the channel adapter inside a switch
// that computes reductions (NVIDIA SHARP), as discovery shows it behind the last port.
const aggregationNode = "Mellanox Technologies Aggregation Node"

// aggregation names the switches that no adapter hangs on but their own aggregation
// node, for an error about roots or ranks: it makes them leaves. Empty if there are
// none. OpenSM, too, tells these nodes from no other channel adapter.
func (t *Tables) aggregation() string {
	var names []string
	for i, leaf := range t.leaves {
		only := true
		for _, a := range t.adapters[i] {
			only = only && strings.HasPrefix(t.Fabric.Nodes[t.Fabric.Endports[a].Node].Name, aggregationNode)
		}
		if only {
			names = append(names, t.Fabric.Nodes[leaf].Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s counts as a leaf, for its aggregation node is a channel adapter)", strings.Join(names, ", "))
}
