package scenario

import (
	"strings"

	"github.com/hopscope/hopscope/internal/tree"
)

// reducedKey reads the changes that make a smaller scenario of one that takes long.
func (r *resolver) reducedKey() key {
	return listKey("reduced", "list of changes KEY=VALUE", func(o object, name string) bool {
		for _, item := range o.list(name) {
			if k, _, is := strings.Cut(item.Text, "="); item.Kind != scalarNode || !is || k == "" {
				o.d.fail(item.Pos, "%s: %q is no change such as topology.rail.servers=2", o.join(name), item.Text)
				return false
			}
		}
		return true
	}, "Of a scenario that takes minutes: changes, as of `--set`, that make a smaller one of its kind, which its tests run; "+
		"commands that run it many times say so first.").otherwise("none")
}

// reducedOf are the changes of a scenario's text.
func reducedOf(root *tree.Node) (out []string) {
	n := root.Get("reduced")
	if n == nil {
		return nil
	}
	for _, item := range n.Items {
		out = append(out, item.Text)
	}
	return out
}

// Reduced are the changes that make a smaller scenario of a shipped one that takes long; nil: it does not.
func Reduced(name string) []string {
	for _, s := range List() {
		if s.Name == name {
			return s.Reduced
		}
	}
	return nil
}
