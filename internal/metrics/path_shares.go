package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// PathPart is what operations on the critical path of a collective have in common.
type PathPart uint8

// Parts of a critical path.
const (
	PathLaunch  PathPart = iota // of kernels, and the calls before it
	PathSteps                   // what steps take beside their data: polls, fences, flags
	PathCopies                  // data inside servers, over NVLink, PCIe and memories
	PathHosts                   // proxies, cores, and cards beside their data
	PathNetwork                 // all else of messages
)

func (p PathPart) String() string { return p.In(lang.English) }

// In is what reports in a language call the part.
func (p PathPart) In(l lang.Language) string {
	switch p {
	case PathLaunch:
		return l.Of("the launch of kernels")
	case PathSteps:
		return l.Of("the latency of steps")
	case PathCopies:
		return l.Of("moving data inside servers")
	case PathHosts:
		return l.Of("proxies, cores and cards")
	}
	return l.Of("the network")
}

// PathShare is the share of a critical path that a part has.
type PathShare struct {
	Part  PathPart
	PS    units.Time
	Share float64 // of the path
}

// PathShares are the parts of a critical path, the longest first; those without time are left
// out.
func PathShares(path []record.CriticalGroup) (out []PathShare) {
	var sums [PathNetwork + 1]units.Time
	all := units.Time(0)
	for i := range path {
		g := &path[i]
		for _, s := range g.Stages {
			sums[partOf(g.Kind, &s)] += s.TimePS
			all += s.TimePS
		}
	}
	for p, t := range sums {
		if t > 0 {
			out = append(out, PathShare{PathPart(p), t, float64(t) / float64(all)})
		}
	}
	slices.SortStableFunc(out, func(a, b PathShare) int { return cmp.Compare(b.PS, a.PS) })
	return out
}

// partOf is what a stage of an operation of a kind belongs to.
func partOf(kind string, s *record.CriticalStage) PathPart {
	switch {
	case kind == record.KindMessage, kind == record.KindSlot:
		switch s.Stage.Base() {
		case catalog.StageRead, catalog.StagePlace, catalog.StageCopyOut, catalog.StageCopyIn:
			return PathCopies
		}
		if part := s.Stage.Part(); part == catalog.PartCores || part == catalog.PartInside {
			return PathHosts
		}
		return PathNetwork
	case kind == record.KindLaunch, kind == record.KindCalls:
		return PathLaunch
	case strings.HasPrefix(kind, record.KindProxy):
		return PathHosts
	case s.Stage == catalog.StageCopy:
		return PathCopies
	}
	return PathSteps
}

// latencyBound is from which share on launch, steps, proxies and cores, which take as long
// however few the data are, bind a collective.
const latencyBound = 0.5

// whatHelps says where the time of a collective went that nothing holds up, and what would
// make it shorter.
func whatHelps(l lang.Language, path []record.CriticalGroup) string {
	shares := PathShares(path)
	fixed, words := 0.0, []string(nil)
	for _, s := range shares {
		if s.Part == PathLaunch || s.Part == PathSteps || s.Part == PathHosts {
			fixed += s.Share
		}
		if s.Share*lineShare >= 1 {
			words = append(words, fmt.Sprintf("%s %.0f %%", s.Part, 100*s.Share))
		}
	}
	switch {
	case len(shares) == 0:
		return l.Of("only a faster way, or another algorithm, helps")
	case fixed >= latencyBound:
		return strings.Join(words, ", ") +
			l.Of(": fewer steps or shorter ones, such as by another algorithm, help, a faster way does not")
	}
	return strings.Join(words, ", ") + l.Of(": only a faster way, or another algorithm, helps")
}
