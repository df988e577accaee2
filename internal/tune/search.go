package tune

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/hopscope/hopscope/internal/rng"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// trial is one setting that a search tried.
type trial struct {
	search string
	x      point
	texts  []string
	score  score
}

// Searches by name.
const (
	halvingSearch = "successive halving"
	cmaSearch     = "CMA-ES"
	randomSearch  = "random search"
)

// try runs settings with the training seeds, in order.
func (t *tuner) try(ctx context.Context, search string, xs []point, seeds []uint64) ([]trial, error) {
	out := make([]trial, len(xs))
	jobs := make([]job, len(xs))
	for i, x := range xs {
		out[i] = trial{search: search, x: x, texts: t.texts(x)}
		jobs[i] = job{t.setOf(out[i].texts), seeds, &out[i].score}
	}
	if err := t.runAll(ctx, jobs); err != nil {
		return nil, err
	}
	t.trials = append(t.trials, out...)
	return out, nil
}

// arms lists all combinations of the enumerations' words.
func (t *tuner) arms() (out [][]int) {
	out = [][]int{nil}
	for i := range t.params {
		if !t.params[i].enumeration() {
			continue
		}
		var longer [][]int
		for _, arm := range out {
			for w := range t.params[i].words {
				longer = append(longer, append(slices.Clone(arm), w))
			}
		}
		out = longer
	}
	return out
}

// halving finds the combination of words that is best: all of them run at the place that the
// scenario has, the better half of them at another place as well, a quarter at two more, and so on
// (Karnin, Koren and Somekh, ICML 2013). A combination counts by the best place that it was seen
// at. most bounds the settings tried.
func (t *tuner) halving(ctx context.Context, most int) (*trial, error) {
	arms := t.arms()
	stream := rng.New(t.drawn, "tune: places of halving")
	bestOf := make([]*trial, len(arms))
	left := make([]int, len(arms))
	for i := range left {
		left[i] = i
	}
	place, tried := t.now().at, 0
	for round := 0; tried+len(left) <= most; round++ {
		for range 1 << max(0, round-1) {
			if tried+len(left) > most {
				break
			}
			var xs []point
			for _, a := range left {
				xs = append(xs, point{place, arms[a]})
			}
			got, err := t.try(ctx, halvingSearch, xs, t.trainSeeds)
			if err != nil {
				return nil, err
			}
			tried += len(left)
			for i, a := range left {
				if bestOf[a] == nil || got[i].score.rank < bestOf[a].score.rank {
					bestOf[a] = &got[i]
				}
			}
			place = t.somewhere(&stream)
		}
		slices.SortStableFunc(left, func(a, b int) int { return cmp.Compare(bestOf[a].score.rank, bestOf[b].score.rank) })
		if len(left) == 1 || t.continuous() == 0 {
			break
		}
		left = left[:(len(left)+1)/2]
	}
	return bestOf[left[0]], nil
}

// somewhere draws a place, each as likely on the logarithmic scales.
func (t *tuner) somewhere(s *rng.Stream) []float64 {
	at := make([]float64, t.continuous())
	for i := range at {
		at[i] = s.Float64()
	}
	return at
}

// continuous is how many parameters have a scale.
func (t *tuner) continuous() (n int) {
	for i := range t.params {
		if !t.params[i].enumeration() {
			n++
		}
	}
	return n
}

// The first samples scatter by firstSpread, as a share of each scale. Every few generations CMA-ES
// begins anew around the best settings so far, closer by a factor: gonum's (v0.17) adapts the shape
// of its samples, and hardly their size, within the few generations that runs allow.
const (
	firstSpread = 0.35
	closer      = 0.6
	inRound     = 3 // generations
)

// population is how many settings a generation has: Hansen's 4 + 3 ln n.
func population(n int) int { return 4 + int(3*math.Log(float64(n))) }

// cma lets CMA-ES find better places for a combination of words, from a place on, by generations
// of which each is run whole before the next is drawn, so that nothing depends on which run ends
// first.
func (t *tuner) cma(ctx context.Context, from point, generations int) error {
	stream := rng.New(t.drawn, "tune: CMA-ES")
	begin, spread := len(t.trials), firstSpread
	for generations > 0 {
		n := min(inRound, generations)
		if err := t.round(ctx, from, spread, n, &stream); err != nil {
			return err
		}
		generations -= n
		from.at = middle(t.trials[begin:])
		spread *= closer
	}
	_, err := t.try(ctx, cmaSearch, []point{from}, t.trainSeeds)
	return err
}

// round is some generations of CMA-ES.
func (t *tuner) round(ctx context.Context, from point, spread float64, generations int, stream *rng.Stream) error {
	n := len(from.at)
	size := population(n)
	shape := mat.NewSymDense(n, nil)
	for i := range n {
		shape.SetSym(i, i, spread*spread)
	}
	var chol mat.Cholesky
	chol.Factorize(shape)
	method := &optimize.CmaEsChol{InitStepSize: 1, Population: size, InitCholesky: &chol,
		StopLogDet: math.NaN(), Src: stream}
	method.Init(n, size)
	tasks := make([]optimize.Task, size)
	for i := range tasks {
		tasks[i].Location = &optimize.Location{X: slices.Clone(from.at)}
	}
	asked, told := make(chan optimize.Task), make(chan optimize.Task)
	go method.Run(asked, told, tasks)
	var failed error
	for g := range generations {
		batch, xs := make([]optimize.Task, size), make([]point, size)
		for i := range batch {
			batch[i] = <-asked
			xs[i] = point{slices.Clone(batch[i].X), from.words}
		}
		var got []trial
		got, failed = t.try(ctx, cmaSearch, xs, t.trainSeeds)
		for i := range batch {
			if failed == nil {
				batch[i].F = got[i].score.rank
			}
			told <- batch[i]
		}
		end := <-asked
		if failed != nil || end.Op == optimize.MethodDone || g == generations-1 {
			break
		}
		told <- end
	}
	told <- optimize.Task{Op: optimize.PostIteration}
	close(told)
	for range asked { // until it has closed
	}
	return failed
}

// middle is the mean place of the best few of some trials: where runs scatter it is often better
// than any of them.
func middle(trials []trial) []float64 {
	sorted := slices.Clone(trials)
	slices.SortStableFunc(sorted, func(a, b trial) int { return cmp.Compare(a.score.rank, b.score.rank) })
	sorted = sorted[:min(len(sorted), bestFew)]
	at := make([]float64, len(sorted[0].x.at))
	for _, tr := range sorted {
		for i, x := range tr.x.at {
			at[i] += fold(x) / float64(len(sorted))
		}
	}
	return at
}

// bestFew is how many settings say where the next samples are drawn.
const bestFew = 4

// random tries settings drawn anywhere.
func (t *tuner) random(ctx context.Context, n int) error {
	stream := rng.New(t.drawn, "tune: random search")
	xs := make([]point, n)
	for i := range xs {
		xs[i].at = t.somewhere(&stream)
		for k := range t.params {
			if p := &t.params[k]; p.enumeration() {
				xs[i].words = append(xs[i].words, stream.IntN(len(p.words)))
			}
		}
	}
	_, err := t.try(ctx, randomSearch, xs, t.trainSeeds)
	return err
}

// listed is how many settings of a search are tried with more seeds before one is judged.
const listed = 8

// shortlist tries the best settings of some searches with more seeds, as few seeds favour the
// lucky, and returns them in the order of these and the training seeds together.
func (t *tuner) shortlist(ctx context.Context, searches ...string) ([]*trial, error) {
	var of []*trial
	for i := range t.trials {
		tr := &t.trials[i]
		same := func(o *trial) bool { return slices.Equal(o.texts, tr.texts) }
		if slices.Contains(searches, tr.search) && !slices.ContainsFunc(of, same) {
			of = append(of, tr)
		}
	}
	slices.SortStableFunc(of, func(a, b *trial) int { return cmp.Compare(a.score.rank, b.score.rank) })
	of = of[:min(len(of), listed)]
	jobs, more := make([]job, len(of)), make([]score, len(of))
	for i, tr := range of {
		jobs[i] = job{t.setOf(tr.texts), append(slices.Clone(t.trainSeeds), t.listSeeds...), &more[i]}
	}
	if err := t.runAll(ctx, jobs); err != nil {
		return nil, err
	}
	order := make([]int, len(of))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(more[a].rank, more[b].rank) })
	out := make([]*trial, len(of))
	for i, k := range order {
		out[i] = of[k]
	}
	return out, nil
}
