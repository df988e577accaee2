package metrics

import (
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// Layers are the link layers of a run's ports, in the order of the record; Ethernet where
// it has none.
func Layers(r *record.Run) (out []catalog.Layer) {
	for i := range r.Ports {
		if l := r.Ports[i].Layer; !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		out = append(out, catalog.Ethernet)
	}
	return out
}
