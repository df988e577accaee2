package whatif

import (
	"slices"

	"github.com/hopscope/hopscope/internal/fabric"
	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/scenario"
)

// setRight changes a setting of switches that may be wrong.
func (c Change) setRight(v *scenario.Valid) {
	switch c.Kind {
	case Headroom:
		ampleHeadroom(v)
	case Hash:
		otherHashes(v)
	case MTU:
		for i := range v.Switches {
			v.Switches[i].MaxFrame = 0
		}
	case Map:
		conn := &v.Plan.Conns[c.Conn]
		v.Switches[c.Node].DSCPToPrio[conn.DSCP&63] = conn.Class
	}
}

// ampleHeadroom gives the lossless groups of all switches Faster times the headroom that they have, and
// as much more memory.
func ampleHeadroom(v *scenario.Valid) {
	done := map[*mmu.Params]*mmu.Params{} // looked up, never iterated
	for i := range v.Switches {
		was := v.Switches[i].Memory
		if was == nil {
			continue
		}
		if done[was] == nil {
			done[was] = withHeadroom(was)
		}
		v.Switches[i].Memory = done[was]
	}
}

// withHeadroom is a memory with Faster times the headroom.
func withHeadroom(was *mmu.Params) *mmu.Params {
	m := *was
	m.Groups = append([][mmu.Classes]mmu.GroupProfile(nil), was.Groups...)
	m.Ingress = append([]mmu.Pool(nil), was.Ingress...)
	for i := range m.Ingress {
		m.Size += (Faster - 1) * m.Ingress[i].Headroom
		m.Ingress[i].Headroom *= Faster
	}
	for i := range m.Groups {
		for c := range m.Groups[i] {
			if g := &m.Groups[i][c]; g.Lossless {
				m.Size += (Faster - 1) * g.Headroom
				g.Headroom *= Faster
			}
		}
	}
	return &m
}

// ownHashes reports whether each switch has a hash of its own.
func ownHashes(v *scenario.Valid) bool {
	return !slices.ContainsFunc(v.Switches, func(s fabric.SwitchParams) bool { return s.Hash.Kind != fabric.HashOwn })
}

// otherHashes gives each switch a hash of its own, or where it has one another.
func otherHashes(v *scenario.Valid) {
	own := ownHashes(v)
	for i := range v.Switches {
		v.Switches[i].Hash = fabric.Hash{}
		if own {
			v.Switches[i].Salt++
		}
	}
}
