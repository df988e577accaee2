package metrics

import "github.com/hopscope/hopscope/internal/units"

// Setting is a value of a key of DCQCN with which a preset fills a line, and what incasts
// reach with it.
type Setting struct {
	Preset, Key, Value string
	Interval           units.Time // Value as min_time_between_cnps; 0: the key is another
	LeastMB            int64      // what each sender sends at least where that is so
	Marking            units.Time // of the line at Kmin, at least, where that is so
	fills              []fillRows
}

// Fill is what an incast of 32 MB from each sender reached: a line of a table of
// docs/models/dcqcn.md.
type Fill struct {
	Gbps, Senders int
	Scope         string
	Share         float64 // of the line, in percent
	QueueMB       float64 // mean
}

// fillRows are the lines of a table with one rate, for 2, 4, 8, 16 and, if it is
// there, 64 senders.
type fillRows struct {
	scope  string
	gbps   int
	shares []float64
	queues []float64
}

// Settings are those that the report names, of a preset the one with the lowest price first.
func Settings() []Setting {
	const interval, us = "min_time_between_cnps", units.Microsecond
	return []Setting{
		{"nvidia", interval, "50us", 50 * us, 32, 8 * us, []fillRows{
			{"port", 100, []float64{97.3, 98.0, 98.0, 98.0, 98.0}, []float64{4.97, 10.32, 16.11, 21.78, 29.17}},
			{"port", 400, []float64{98.0, 98.0, 98.0, 98.0, 98.0}, []float64{4.79, 33.23, 56.88, 81.01, 115.12}},
			{"queue-pair", 100, []float64{94.8, 96.3, 96.4, 96.2, 98.0}, []float64{3.12, 6.29, 12.38, 15.15, 25.61}},
			{"queue-pair", 400, []float64{96.5, 93.0, 95.6, 95.0, 97.8}, []float64{1.87, 23.73, 40.98, 45.77, 104.89}},
		}},
		{"nvidia", interval, "200us", 200 * us, 0, 0, []fillRows{
			{"port", 100, []float64{98.0, 98.0, 98.0, 98.0}, []float64{5.52, 10.49, 16.16, 21.84}},
			{"port", 400, []float64{98.0, 98.0, 98.0, 98.0}, []float64{13.91, 34.02, 57.01, 81.09}},
			{"queue-pair", 100, []float64{98.0, 98.0, 98.0, 98.0}, []float64{5.06, 10.09, 15.93, 21.48}},
			{"queue-pair", 400, []float64{98.0, 98.0, 98.0, 98.0}, []float64{12.17, 33.02, 56.37, 80.54}},
		}},
		{"nvidia-slow-cnp", interval, "200us", 200 * us, 0, 0, []fillRows{
			{"port", 100, []float64{98.0, 98.0, 98.0, 98.0}, []float64{5.70, 10.51, 16.17, 21.85}},
			{"port", 400, []float64{98.0, 98.0, 98.0, 98.0}, []float64{14.17, 34.14, 57.06, 81.13}},
			{"queue-pair", 100, []float64{97.7, 98.0, 98.0, 98.0}, []float64{4.69, 10.26, 15.98, 21.50}},
			{"queue-pair", 400, []float64{98.0, 98.0, 98.0, 98.0}, []float64{12.67, 33.39, 56.64, 80.67}},
		}},
		{"paper", clampKey, "false", 0, 0, 8 * us, []fillRows{
			{"port", 100, []float64{97.8, 98.0, 98.0, 98.0}, []float64{1.56, 10.39, 16.14, 21.84}},
			{"port", 400, []float64{97.8, 98.0, 98.0, 98.0}, []float64{2.62, 33.29, 56.94, 81.09}},
			{"queue-pair", 100, []float64{98.0, 98.0, 98.0, 98.0}, []float64{0.53, 1.38, 13.84, 20.98}},
			{"queue-pair", 400, []float64{97.4, 97.9, 97.8, 98.0}, []float64{0.72, 1.60, 3.70, 62.66}},
		}},
		{"strawman", interval, "1ms", 1000 * us, 0, 0, []fillRows{
			{"port", 100, []float64{98.0, 98.0, 98.0, 98.0}, []float64{5.98, 10.53, 16.18, 21.87}},
			{"port", 400, []float64{98.0, 98.0, 98.0, 98.0}, []float64{15.64, 34.40, 57.11, 81.16}},
			{"queue-pair", 100, []float64{98.0, 98.0, 98.0, 98.0}, []float64{5.96, 10.52, 16.17, 21.82}},
			{"queue-pair", 400, []float64{98.0, 98.0, 98.0, 98.0}, []float64{15.55, 34.33, 57.05, 81.10}},
		}},
		{"ns3", interval, "500us", 500 * us, 0, 0, []fillRows{
			{"port", 100, []float64{98.0, 98.0, 98.0, 98.0}, []float64{5.39, 10.48, 16.15, 21.83}},
			{"port", 400, []float64{97.5, 98.0, 98.0, 98.0}, []float64{8.80, 33.50, 56.86, 81.05}},
			{"queue-pair", 100, []float64{97.8, 98.0, 98.0, 98.0}, []float64{3.58, 10.25, 15.97, 21.55}},
			{"queue-pair", 400, []float64{97.3, 98.0, 98.0, 98.0}, []float64{1.09, 29.87, 55.61, 80.24}},
		}},
	}
}

// Fills are the lines of its table.
func (s *Setting) Fills() (all []Fill) {
	for _, r := range s.fills {
		for i, n := range []int{2, 4, 8, 16, 64}[:len(r.shares)] {
			all = append(all, Fill{r.gbps, n, r.scope, r.shares[i], r.queues[i]})
		}
	}
	return all
}

// nearest is the line with the nearest rate, and of that the nearest number of senders, by
// their ratio.
func (s *Setting) nearest(rate units.Rate, senders int, scope string) (best Fill) {
	if scope == "destination" { // a sender is one host there as a rule
		scope = "queue-pair"
	}
	ratio := func(a, b int) float64 { return max(float64(a)/float64(b), float64(b)/float64(a)) }
	near := func(f Fill) (float64, float64) {
		return ratio(int(rate/units.Gbps)+1, f.Gbps), ratio(senders, f.Senders)
	}
	for _, f := range s.Fills() {
		if f.Scope != scope {
			continue
		}
		r, n := near(f)
		br, bn := 0.0, 0.0
		if best.Senders > 0 {
			br, bn = near(best)
		}
		if best.Senders == 0 || r < br || r == br && n < bn {
			best = f
		}
	}
	return best
}
