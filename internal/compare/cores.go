package compare

import (
	"slices"

	"github.com/hopscope/hopscope/internal/metrics"
)

// busyShare is from what share of a run on a core counts as one that may have
// bounded it.
const busyShare = 0.8

// cores says which hosts had cores that were busy for nearly all of the run: who
// would have to be faster where no queue of the network grew.
func (t *story) cores() string {
	span := float64(max(t.r.LastCompletion()-t.base, 1))
	n, least := 0, 1.0
	var hosts []string
	for i := range t.r.Processors {
		p := &t.r.Processors[i]
		for k := range p.ByCore {
			share := float64(p.ByCore[k].InTimePS) / span
			if share < busyShare {
				continue
			}
			n++
			least = min(least, share)
			if !slices.Contains(hosts, p.Host) {
				hosts = append(hosts, p.Host)
			}
		}
	}
	if n == 0 {
		return ""
	}
	where := metrics.FormatCount(int64(len(hosts))) + t.l.Of(" hosts")
	switch len(hosts) {
	case 1:
		where = hosts[0]
	case 2:
		where = hosts[0] + t.l.Of(" and ") + hosts[1]
	}
	percent := int(100 * least)
	if n == 1 {
		return t.l.Sprintf("a core of %s was busy for %d %% of the time", where, percent)
	}
	return t.l.Sprintf("%s cores of %s were busy for at least %d %% of the time", metrics.FormatCount(int64(n)), where,
		percent)
}
