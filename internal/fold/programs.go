package fold

import (
	"slices"

	"github.com/hopscope/hopscope/internal/workload"
)

// place is where a rank is.
type place struct {
	host   int
	device int16
}

// member is a rank of a program, or of a job.
type member struct{ of, rank int32 }

// comparedSteps is how many steps of a lane are compared of two programs: those of rings repeat, and a
// rule makes what follows of the same numbers.
const comparedSteps = 64

// matchPrograms finds the image of each program: of the programs of a place, those of its image's in
// the same order. So what falls due at one instant is in the same order there.
func (s *finder) matchPrograms() {
	plan := s.Plan
	s.places = make(map[place][]member)
	for i, p := range plan.Programs {
		for r := range p.Ranks {
			at := place{p.Ranks[r].Host, p.Ranks[r].Device}
			s.places[at] = append(s.places[at], member{int32(i), int32(r)})
		}
	}
	if _, all := plan.Bases(); all >= 1<<32-1 {
		s.refuse("a server has more than 2^32 operations")
	}
	s.programs = make([]int32, len(plan.Programs))
	for i, p := range plan.Programs {
		s.ranks = append(s.ranks, make([]int32, len(p.Ranks)))
		for r := range p.Ranks {
			at := place{p.Ranks[r].Host, p.Ranks[r].Device}
			image := place{s.next[at.host], at.device}
			k := slices.Index(s.places[at], member{int32(i), int32(r)})
			if len(s.places[image]) != len(s.places[at]) {
				s.refuse("%s has other ranks than %s", s.name(image.host), s.name(at.host))
			}
			m := s.places[image][k]
			if r == 0 {
				s.programs[i] = m.of
			}
			if s.programs[i] != m.of {
				s.refuse("the collectives of %s and %s differ", s.name(at.host), s.name(image.host))
			}
			s.ranks[i][r] = m.rank
		}
	}
	s.conns = make([]int32, len(plan.Conns))
	for c := range s.conns {
		s.conns[c] = -1
	}
	for i := range plan.Programs {
		s.program(i)
	}
}

// program compares a program with its image.
func (s *finder) program(i int) {
	a, b, to := s.Plan.Programs[i], s.Plan.Programs[s.programs[i]], s.ranks[i]
	same := a.Iterations == b.Iterations && a.Start == b.Start && a.Called == b.Called && a.Blocks == b.Blocks &&
		a.Launch == b.Launch && len(a.Ranks) == len(b.Ranks) && a.PerRank == b.PerRank && len(a.Edges) == len(b.Edges) &&
		len(a.Moves) == len(b.Moves) && a.Slots == b.Slots && a.Orders == b.Orders && a.Bytes == b.Bytes &&
		a.Verb == b.Verb && a.SlotVerb == b.SlotVerb && a.SlotBytes == b.SlotBytes && len(a.Calls) == len(b.Calls)
	for r := range a.Calls {
		same = same && a.Calls[r] == b.Calls[to[r]]
	}
	if !same {
		s.refuse("the collectives of %s and %s differ", s.name(a.Ranks[0].Host), s.name(b.Ranks[0].Host))
	}
	if turns, is := a.Rule.(workload.ProgramTurns); is && a == b {
		if why := turns.Turns(to); why != "" {
			s.refuse("in %s %s", s.Plan.Entries[a.Entry], why)
		}
	}
	edges := s.edges(a, b, to)
	if a != b {
		s.steps(a, b, to, edges)
	}
}

// edges maps the edges of a program onto those of its image: each lane of edges, as many as there are
// between the same ranks, in their order.
func (s *finder) edges(a, b *workload.Program, to []int32) []int32 {
	ends := make(map[[2]int32][]int32)
	for k := range b.Edges {
		e := [2]int32{b.Edges[k].From, b.Edges[k].To}
		ends[e] = append(ends[e], int32(k))
	}
	taken := make(map[[2]int32]int)
	out := make([]int32, len(a.Edges))
	for k := range a.Edges {
		x := a.Edges[k]
		e := [2]int32{to[x.From], to[x.To]}
		n := taken[e]
		taken[e]++
		if n >= len(ends[e]) {
			s.refuse("%s passes servers in different ways", s.Plan.Entries[a.Entry])
		}
		out[k] = ends[e][n]
		y := b.Edges[out[k]]
		s.conn(x.Conn, y.Conn)
		s.conn(x.Back, y.Back)
		x.From, x.To, x.Conn, x.Back = y.From, y.To, y.Conn, y.Back
		if x != y {
			s.refuse("%s passes servers in different ways", s.Plan.Entries[a.Entry])
		}
	}
	return out
}

// steps compares what lanes of two programs do.
func (s *finder) steps(a, b *workload.Program, to, edges []int32) {
	lane := func(l int32) int32 { return to[l/int32(a.PerRank)]*int32(a.PerRank) + l%int32(a.PerRank) }
	var x, y workload.ProgramStep
	for l := range int32(len(a.Ranks) * a.PerRank) {
		n := a.Rule.Steps(l)
		same := n == b.Rule.Steps(lane(l))
		for k := 0; same && k < n; k++ {
			if k == comparedSteps && n > 2*comparedSteps {
				k = n - comparedSteps
			}
			a.Rule.Step(l, k, &x)
			b.Rule.Step(lane(l), k, &y)
			same = x.Order == y.Order && x.Label == y.Label && x.From == y.From && x.To == y.To && x.Bytes == y.Bytes &&
				x.Work == y.Work && x.Folded == y.Folded && len(x.Takes) == len(y.Takes) && len(x.Puts) == len(y.Puts) &&
				len(x.After) == len(y.After)
			for i := 0; same && i < len(x.Takes); i++ {
				same = edges[x.Takes[i]] == y.Takes[i]
			}
			for i := 0; same && i < len(x.Puts); i++ {
				same = edges[x.Puts[i]] == y.Puts[i]
			}
			for i := 0; same && i < len(x.After); i++ {
				same = lane(x.After[i].Lane) == y.After[i].Lane && x.After[i].Steps == y.After[i].Steps
			}
		}
		if !same {
			s.refuse("the collectives of %s and %s differ", s.name(a.Ranks[0].Host), s.name(b.Ranks[0].Host))
		}
	}
}

// conn notes the image of a connection.
func (s *finder) conn(a, b int32) {
	switch {
	case a < 0 && b < 0:
	case a < 0 || b < 0:
		s.refuse("connections differ")
	default:
		s.conns[a] = b
	}
}

// matchConns compares connections with their images.
func (s *finder) matchConns() {
	posts := make([][]int32, len(s.g.Nodes)) // by node: the connections that it posts to
	for c, to := range s.conns {
		if to < 0 {
			s.refuse("there are connections beside those of collectives")
		}
		a, b := s.Plan.Conns[c], s.Plan.Conns[to]
		src, dst := s.g.Endpoints[a.Src], s.g.Endpoints[a.Dst]
		posts[src.Node] = append(posts[src.Node], int32(c))
		src.Node, dst.Node = s.next[src.Node], s.next[dst.Node]
		if src != s.g.Endpoints[b.Src] || dst != s.g.Endpoints[b.Dst] {
			s.refuse("connections of %s lead elsewhere than those of its images", s.Plan.Entries[a.Entry])
		}
		if a.Path != nil || b.Path != nil {
			s.refuse("the path of %s is pinned", s.Plan.Entries[a.Entry])
		}
		if a.Service != workload.RC || a.SRQ != 0 {
			s.refuse("connections of %s are not RC", s.Plan.Entries[a.Entry])
		}
		a.Src, a.Dst, a.SrcPort, a.Entry = b.Src, b.Dst, b.SrcPort, b.Entry
		if !sameConn(&a, &b) || s.Windows != nil && s.Windows[c] != s.Windows[to] ||
			s.BaseRTTs != nil && s.BaseRTTs[c] != s.BaseRTTs[to] {
			s.refuse("connections of %s are set differently", s.Plan.Entries[b.Entry])
		}
	}
	for node, list := range posts { // queue pairs that are ready at one instant are in order of their numbers
		for k, c := range list {
			if image := posts[s.next[node]]; s.image[node]+1 < s.images && image[k] != s.conns[c] {
				s.refuse("queue pairs of %s are in another order than those of %s", s.name(node), s.name(s.next[node]))
			}
		}
	}
}

// sameConn compares two connections without a path.
func sameConn(a, b *workload.Conn) bool {
	return a.Src == b.Src && a.Dst == b.Dst && a.SrcDevice == b.SrcDevice && a.DstDevice == b.DstDevice &&
		a.SrcStaged == b.SrcStaged && a.DstStaged == b.DstStaged && a.DstPort == b.DstPort && a.Class == b.Class &&
		a.DSCP == b.DSCP && a.Reads == b.Reads && a.SrcThread == b.SrcThread && a.DstThread == b.DstThread &&
		a.Slots == b.Slots &&
		a.WrongRKey == b.WrongRKey && a.Denied == b.Denied && a.Receives == b.Receives && a.ReceiveSize == b.ReceiveSize &&
		a.Region == b.Region && a.Fence == b.Fence && a.Inline == b.Inline && a.InitialRate == b.InitialRate
}

// matchJobs finds the image of each rank of a job, and the one that runs for it.
func (s *finder) matchJobs() {
	for _, j := range s.Plan.Jobs {
		if j.Ideal != nil {
			s.refuse("the network is ideal")
		}
		at := make(map[place][]int32)
		for r := range j.Ranks {
			p := place{j.Ranks[r].Host, j.Ranks[r].Device}
			at[p] = append(at[p], int32(r))
		}
		out := make([]int32, len(j.Ranks))
		for r := range j.Ranks {
			p := place{j.Ranks[r].Host, j.Ranks[r].Device}
			k := slices.Index(at[p], int32(r))
			image, first := at[place{s.next[p.host], p.device}], at[place{s.rep[p.host], p.device}]
			if len(image) != len(at[p]) || len(first) != len(at[p]) {
				s.refuse("%s has other ranks than %s", s.name(s.next[p.host]), s.name(p.host))
			}
			out[r] = first[k]
			s.jobRank(j, int32(r), image[k])
		}
		s.jobRanks = append(s.jobRanks, out)
	}
}

// jobRank compares a rank of a job with its image.
func (s *finder) jobRank(j *workload.Job, a, b int32) {
	if j.List[a] != j.List[b] || j.Processors[a] != j.Processors[b] {
		s.refuse("ranks %d and %d of %s do different work", a, b, s.Plan.Entries[j.Entry])
	}
	for c := range j.Calls {
		x, y := j.Calls[c].Seats[a], j.Calls[c].Seats[b]
		if x.Program < 0 && y.Program < 0 {
			continue
		}
		if x.Program < 0 || y.Program < 0 || s.programs[x.Program] != y.Program || s.ranks[x.Program][x.Rank] != y.Rank {
			s.refuse("ranks %d and %d of %s meet others", a, b, s.Plan.Entries[j.Entry])
		}
	}
}
