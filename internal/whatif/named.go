package whatif

import "github.com/hopscope/hopscope/internal/metrics"

// Named is what takes away the cause that a report names for a subject, and the sentence in
// which it does; none where it names none that can be taken away.
func (l *Lab) Named(s Subject) (changes []Change, said string) {
	d := metrics.DominantStage(l.Run, s.Message)
	if d.TimePS == 0 {
		return nil, ""
	}
	return nil, d.How
}
