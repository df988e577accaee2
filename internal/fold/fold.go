// Package fold finds servers of a run that do the same at the same times, so that one or two of them can
// stand for all. It looks for a symmetry of the whole scenario: a permutation of the servers that
// maps the topology, the cards and every collective onto themselves. Where rings pass through
// servers, that is a turn of the rings by a place, or by two: NCCL's alternating rings pass every
// other server the other way round.
//
// With such a symmetry, and without anything drawn at random, the state of a server is at all times
// that of its image, so that a frame that leaves one server for a second one arrives there when its
// image arrives at the second one's. The servers that run therefore send to each other, or each to itself,
// what they would send to the images of each other; nothing else differs. What is kept apart is what ports of
// one switch share, its memory: see mmu.Crowd.
package fold

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/workload"
)

// Fold says which servers of a run stand for others.
type Fold struct {
	// Images is of how many servers each that runs is one.
	Images int
	// Rep is by node the one that runs for it. Switches run for themselves.
	Rep []int
	// Image is by node which of the images it is, from 0, which runs; -1: a switch.
	Image []int
	// Members are by node that runs those that it stands for, itself first, by image; nil: a switch, or it does not run.
	Members [][]int
	// Blocks are the first nodes of blocks of servers. At an instant at which all images do the same, all servers of
	// a block come before those of the next one, and within a block all that run before the next images of them.
	Blocks []int
	// Requester and Responder are by connection the one like it whose requester, or responder, is at
	// a server that runs.
	Requester, Responder []int32
	// JobRanks is by job and rank the one that runs for it.
	JobRanks [][]int32
	conns    []int32   // by connection: the image of it
	programs [][]int32 // by image and program: of which program that runs it is the image
}

// Runs reports whether a node runs.
func (f *Fold) Runs(node int) bool { return f == nil || f.Rep[node] == node }

// Next is the next image of a connection.
func (f *Fold) Next(conn int) int { return int(f.conns[conn]) }

// Program is the program in which the server that runs for a node does what that does in program p.
func (f *Fold) Program(node, p int) int {
	if f == nil {
		return p
	}
	return int(f.programs[f.Image[node]][p])
}

// refusal ends a search.
type refusal string

// Find returns how the servers of a scenario fold, or in a sentence why they do not.
func Find(v *scenario.Valid) (f *Fold, why string) {
	f, why = find(v, 1)
	if f == nil {
		var again string
		if f, again = find(v, 2); f != nil || strings.HasSuffix(why, workload.OtherOrder) {
			return f, again
		}
	}
	return f, why
}

// find is Find for a turn of rings by so many places.
func find(v *scenario.Valid, places int) (f *Fold, why string) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			f, why = nil, string(r)
		default:
			panic(r)
		}
	}()
	s := finder{Valid: v, g: v.Graph}
	s.suits()
	s.turn(places)
	s.hardware()
	s.matchPrograms()
	s.matchJobs()
	s.matchConns()
	s.feeders()
	return s.fold(), ""
}

// finder looks for a symmetry.
type finder struct {
	*scenario.Valid
	g        *topology.Graph
	next     []int // by node: that onto which the symmetry maps it
	images   int
	rep      []int // by node
	image    []int // likewise
	block    []int // likewise; see inTurn
	blocks   []int // the first node of each
	orbits   []int // the nodes that run, hosts alone, in their order
	places   map[place][]member
	programs []int32 // by program: its image
	ranks    [][]int32
	jobRanks [][]int32
	conns    []int32 // by connection: its image
}

func (s *finder) refuse(format string, args ...any) { panic(refusal(fmt.Sprintf(format, args...))) }

// name is that of a node.
func (s *finder) name(node int) string { return s.g.Nodes[node].Name }

// suits refuses what no symmetry is looked for in.
func (s *finder) suits() {
	p := s.Plan
	switch {
	case len(p.Programs) == 0 && len(p.Collectives)+len(p.Jobs) == 0:
		s.refuse("there is no collective")
	case len(p.Programs) == 0:
		s.refuse("each operation of the collective is kept (records: sums keeps none)")
	case p.Len() > 0 || len(p.Locals) > 0 || len(p.Triggers) > 0:
		s.refuse("there are messages beside collectives whose operations are not kept")
	case s.Noise != (scenario.Noise{}) || s.BesideNoise != (scenario.Noise{}):
		s.refuse("noise makes each server different (noise: off)")
	case s.CarryData:
		s.refuse("messages carry data")
	case len(s.Failures) > 0 || len(s.Tables) > 0 || len(s.Loops) > 0:
		s.refuse("links fail")
	case s.Beside != nil || s.Wire.Block > 0:
		s.refuse("links have credits")
	case s.TimeQuantum > 0:
		s.refuse("times are rounded")
	}
	for i := range s.g.Links {
		if k := &s.g.Links[i]; k.Loss > 0 || k.BER > 0 || k.DropEvery > 0 || len(k.Outages) > 0 {
			s.refuse("the link of %s and %s loses frames", s.name(k.A), s.name(k.B))
		}
	}
	for node := range s.NICs {
		if len(s.NICs[node].Faults) > 0 {
			s.refuse("the card of %s has a fault", s.name(node))
		}
	}
}

// fold puts down what was found.
func (s *finder) fold() *Fold {
	f := &Fold{conns: s.conns, Blocks: s.blocks, Images: s.images, Rep: s.rep, Image: s.image, JobRanks: s.jobRanks,
		Members: make([][]int, len(s.rep)), Requester: make([]int32, len(s.conns)), Responder: make([]int32, len(s.conns))}
	for c := range s.conns {
		from, to := s.g.HostOf(s.Plan.Conns[c].Src), s.g.HostOf(s.Plan.Conns[c].Dst)
		at := int32(c)
		for range s.images {
			if s.rep[from] == from {
				f.Requester[at] = int32(c)
			}
			if s.rep[to] == to {
				f.Responder[at] = int32(c)
			}
			at = s.conns[at]
		}
	}
	for _, i := range s.orbits {
		for at := i; len(f.Members[i]) < s.images; at = s.next[at] {
			f.Members[i] = append(f.Members[i], at)
		}
	}
	base := make([]int32, len(s.programs))
	for p := range base {
		base[p] = int32(p)
	}
	for range s.images {
		f.programs = append(f.programs, base)
		image := make([]int32, len(base))
		for p := range base {
			image[s.programs[p]] = base[p]
		}
		base = image
	}
	return f
}
