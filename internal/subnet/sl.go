package subnet

import (
	"fmt"
	"slices"
)

// MaxSLs is how many service levels AssignSLs may use. There are 16, and each that
// it uses needs a data lane of its own: IBTA allows 15, but adapters and switches
// have at most 8 (VLCap 4, VL0-7), and so have the simulated ones.
const MaxSLs = 8

// AssignSLs gives the paths between every two leaves a service level, the same
// both ways, so that the channel dependency graph of no level has a cycle, as
// layered shortest path routing does (LASH, Skeie et al., 2002): a pair takes the
// lowest level where its dependencies, over all LIDs of both leaves, close none.
// It is an error when more than most levels are needed. Every level needs a
// virtual lane of its own.
func (t *Tables) AssignSLs(most int) error {
	if most < 1 || most > MaxSLs {
		return fmt.Errorf("%d service levels; give 1 to %d, for each needs a data lane and devices have 8", most, MaxSLs)
	}
	lids := t.lidsOfLeaves()
	t.Layer = make([][]uint8, len(t.leaves))
	for i := range t.Layer {
		t.Layer[i] = make([]uint8, len(t.leaves))
	}
	layers := []*layer{newLayer(t)}
	for _, pair := range t.pairsByLength(lids) {
		i, j := pair[0], pair[1]
		k := 0
		for !layers[k].take(t, i, j, lids) {
			if k++; k == most {
				t.Layer, t.Layers = nil, 1
				return fmt.Errorf("%d service levels do not break all credit loops; %s to %s would close one in each",
					most, t.Fabric.Nodes[t.leaves[i]].Name, t.Fabric.Nodes[t.leaves[j]].Name)
			}
			if k == len(layers) {
				layers = append(layers, newLayer(t))
			}
		}
		t.Layer[i][j], t.Layer[j][i] = uint8(k), uint8(k)
	}
	t.Layers = len(layers)
	return nil
}

// pairsByLength lists the pairs of leaves, those with the longest path first:
// they have the most dependencies, and the short ones fit in between.
func (t *Tables) pairsByLength(lids [][]LID) [][2]int {
	type pair struct {
		ends   [2]int
		length int
	}
	var pairs []pair
	for i := range t.leaves {
		for j := range i {
			to := t.Fabric.Endports[t.Owner[lids[j][0]]]
			length, _ := t.measure(t.leaves[i], t.leaves[j], to, lids[j][0])
			pairs = append(pairs, pair{[2]int{i, j}, length})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return b.length - a.length })
	out := make([][2]int, len(pairs))
	for i, p := range pairs {
		out[i] = p.ends
	}
	return out
}

// lidsOfLeaves returns the LIDs of the adapters at each leaf.
func (t *Tables) lidsOfLeaves() [][]LID {
	lids := make([][]LID, len(t.leaves))
	for i := range t.leaves {
		for _, a := range t.adapters[i] {
			p := t.Fabric.port(t.Fabric.Endports[a])
			for l := range LID(1) << p.LMC {
				lids[i] = append(lids[i], p.LID+l)
			}
		}
	}
	return lids
}

// layer is the dependency graph of one service level, kept without cycles.
type layer struct {
	g     *depGraph
	added []edge  // of the pair at hand, to be taken back if it does not fit
	mark  []int32 // by vertex: the search that reached it last
	run   int32
	stack []int32
}

type edge struct{ from, to int32 }

func newLayer(t *Tables) *layer {
	g := newDepGraph(t)
	return &layer{g: g, mark: make([]int32, len(g.end))}
}

// take adds the dependencies of both ways between leaves i and j. If they close a
// cycle it leaves the graph as it was and returns false.
func (l *layer) take(t *Tables, i, j int, lids [][]LID) bool {
	l.added = l.added[:0]
	for _, way := range [2][2]int{{i, j}, {j, i}} {
		for _, lid := range lids[way[1]] {
			l.added = l.g.addPath(t.leaves[way[0]], t.leaves[way[1]], lid, l.added)
		}
	}
	for _, e := range l.added {
		if l.reaches(e.to, e.from) {
			for k := len(l.added) - 1; k >= 0; k-- {
				from := l.added[k].from
				l.g.next[from] = l.g.next[from][:len(l.g.next[from])-1]
			}
			return false
		}
	}
	return true
}

// reaches reports whether dependencies lead from channel a to channel b.
func (l *layer) reaches(a, b int32) bool {
	l.run++
	l.stack = append(l.stack[:0], a)
	l.mark[a] = l.run
	for len(l.stack) > 0 {
		v := l.stack[len(l.stack)-1]
		l.stack = l.stack[:len(l.stack)-1]
		if v == b {
			return true
		}
		for _, w := range l.g.next[v] {
			if l.mark[w] != l.run {
				l.mark[w] = l.run
				l.stack = append(l.stack, w)
			}
		}
	}
	return false
}
