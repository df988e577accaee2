package campaign

import (
	"context"
	"time"

	"github.com/hopscope/hopscope/internal/batch"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/sweep"
)

// rowOf is what is kept of run i.
func (c *Campaign) rowOf(i int, r *batch.Result) *sweep.Row {
	row := &sweep.Row{ID: c.ID(c.Identity, i), Status: string(r.Status), Stopped: r.Stopped, Error: r.Error,
		Stack: r.Stack, Fingerprint: r.Fingerprint, Warnings: len(r.Warnings), Collectives: r.Collectives,
		Jobs:         r.Jobs,
		CompletionPS: sweep.Quantiles(r.Completions)}
	if len(r.Figures) > 0 {
		row.Figures = make(map[string]float64, len(r.Figures))
		for _, f := range r.Figures {
			row.Figures[f.Name] = f.X
		}
	}
	return row
}

// Estimate is what the runs that are missing will take.
type Estimate struct {
	Each  time.Duration // a run, on one worker
	Least bool          // it is at least so much: none of those that were tried came far enough to tell
	Bytes int64         // on disk, of all runs
	made  map[int]*sweep.Row
}

// Time is how long so many runs take on a number of workers.
func (e *Estimate) Time(runs, workers int) time.Duration {
	return time.Duration(float64(e.Each) * float64(runs) / float64(max(1, min(workers, runs))))
}

// Bounds of trying: how many runs, and for how long.
const (
	triedRuns = 3
	triedTime = 2 * time.Second
	rowBytes  = 4000 // of a run of many messages, in all files
)

// Estimate tries some of the missing runs, the first, one in the middle and the last, for a short while. Those
// that come to their end need not be made again.
func (c *Campaign) Estimate(ctx context.Context, missing []int, workers int) (*Estimate, error) {
	e := &Estimate{made: map[int]*sweep.Row{}, Bytes: rowBytes * int64(c.Runs())}
	if len(missing) == 0 {
		return e, nil
	}
	tried := evenly(missing, triedRuns)
	short, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	began := time.Now()
	far := make([]float64, len(tried))
	job := func(k int) run.Options {
		o := c.job(tried[k])
		o.Progress = func(p run.Progress) { far[k] = fraction(p) }
		return o
	}
	took, bytes := time.Duration(0), 0
	err := batch.Run(short, c.do, len(tried), workers, job, func(k int, r batch.Result) error {
		row := c.rowOf(tried[k], &r)
		line, err := row.Line()
		e.made[tried[k]] = row
		took += r.Wall
		bytes = max(bytes, len(line))
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && short.Err() == nil:
		return nil, err
	}
	if n := len(e.made); n > 0 {
		e.Each = took / time.Duration(n)
		e.Bytes = int64(2*bytes) * int64(c.Runs())
		e.Least = n < len(tried) && n <= workers
		return e, nil
	}
	// None has ended: as far as they came, so much longer they take.
	e.Each, e.Least = time.Since(began), true
	for _, f := range far[:min(len(far), max(1, workers))] {
		if f > 0 {
			e.Each, e.Least = max(e.Each, time.Duration(float64(time.Since(began))/f)), false
		}
	}
	return e, nil
}

// fraction is the part of a run that is done, as far as that is known.
func fraction(p run.Progress) float64 {
	if p.TotalBytes > 0 {
		return float64(p.DeliveredBytes) / float64(p.TotalBytes)
	}
	return 0
}

// Run makes the missing runs and adds them to the store. shown is called as each ends, with how many are made of those.
// The end of ctx is an error, and nothing that ended before is lost.
func (c *Campaign) Run(ctx context.Context, s *Store, missing []int, e *Estimate, workers int,
	shown func(made int)) error {
	made := 0
	var rest []int
	for _, i := range missing {
		row := e.made[i]
		if row == nil {
			rest = append(rest, i)
			continue
		}
		if err := s.Add(i, row); err != nil {
			return err
		}
		made++
	}
	shown(made)
	each := max(1, workers/max(1, len(rest))) // of few runs each has several
	return batch.Run(ctx, c.do, len(rest), workers, func(k int) run.Options {
		o := c.job(rest[k])
		o.Workers = each
		return o
	},
		func(k int, r batch.Result) error {
			if err := s.Add(rest[k], c.rowOf(rest[k], &r)); err != nil {
				return err
			}
			made++
			shown(made)
			return nil
		})
}
