// Package batch makes many runs in one process, each on one worker and as many at a time as there are
// processors, and keeps of each no more than its headline figures. A run that cannot be made, breaks or comes
// to no end is a result like any other.
package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hopscope/hopscope/internal/headline"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/units"
)

// Do makes one run; see run.Do.
type Do func(context.Context, run.Options) (*record.Run, *scenario.Valid, error)

// Status says what became of a run.
type Status string

// What may become of a run.
const (
	Done     Status = "done"     // it came to its end: quiescence or its stop time
	Deadlock Status = "deadlock" // ports hold frames for ever
	Stalled  Status = "stalled"  // messages are open, and nothing will complete them
	Invalid  Status = "invalid"  // the scenario is refused
	Failed   Status = "failed"   // the run broke
)

// Result is what is kept of a run.
type Result struct {
	Status      Status
	Error       string          // why it is invalid or failed, in one line
	Stopped     string          // why it ended; see record.Run
	Stack       string          // that it ran over
	Seed        uint64          // that it ran with
	Fingerprint string          // of the course that packets took; see record.Run
	Warnings    []string        // about the scenario and the run
	Figures     headline.Values // none where it is invalid or failed
	Collectives []string        // of the workload, in its order
	Jobs        []string        // likewise
	// Completions are the completion times of messages, sorted, or of many an even choice; see metrics.Thin.
	Completions []units.Time
	Wall        time.Duration // that it took; no part of what is compared
}

// One makes a run and keeps what is kept of it. ok is false where ctx ended before the run did.
func One(ctx context.Context, do Do, opt run.Options) (result Result, ok bool) {
	began := time.Now()
	defer func() {
		if f := recover(); f != nil { // a broken invariant: the other runs go on
			result, ok = Result{Status: Failed, Error: fmt.Sprintf("this program broke: %v", f)}, true
		}
		result.Wall = time.Since(began)
	}()
	opt.Workers = max(1, opt.Workers)
	r, _, err := do(ctx, opt)
	if ctx.Err() != nil && (r == nil || r.Stopped == "interrupted") {
		return Result{}, false
	}
	var wrong *scenario.Error
	switch {
	case errors.As(err, &wrong):
		return Result{Status: Invalid, Error: wordsOf(wrong)}, true
	case err != nil:
		return Result{Status: Failed, Error: err.Error()}, true
	case r == nil:
		return Result{Status: Failed, Error: "the run brought no result"}, true
	}
	return resultOf(r), true
}

// wordsOf says what is wrong with a scenario; who made the run knows what it has set.
func wordsOf(wrong *scenario.Error) string {
	if strings.HasPrefix(wrong.File, "--set ") {
		return wrong.Msg
	}
	return wrong.Error()
}

// resultOf is what is kept of a run that ended.
func resultOf(r *record.Run) Result {
	out := Result{Status: Done, Stopped: r.Stopped, Stack: r.Stack, Seed: r.Seed, Fingerprint: r.Fingerprint,
		Warnings: r.Warnings}
	switch {
	case r.Data != nil && r.Data.Differ > 0:
		out.Status = Failed
		out.Error = fmt.Sprintf("data: %d messages differ; the first: %s", r.Data.Differ, r.Data.Faults[0])
		return out
	case r.Stopped == "deadlock":
		out.Status = Deadlock
	case r.Stopped == "stalled":
		out.Status = Stalled
	}
	out.Figures = headline.Of(r, metrics.Summarise(r))
	for i := range r.Collectives {
		out.Collectives = append(out.Collectives, r.Collectives[i].Workload)
	}
	for i := range r.Jobs {
		out.Jobs = append(out.Jobs, r.Jobs[i].Workload)
	}
	for i := range r.Messages {
		if metrics.Completed(&r.Messages[i]) {
			out.Completions = append(out.Completions, r.Messages[i].CompletionPS)
		}
	}
	out.Completions = metrics.Thin(out.Completions)
	return out
}

// Run makes n runs, workers at a time, and calls done with what came of each as it ends, never twice at a
// time. job says what run i is. An error of done ends it, as does the end of ctx; runs that are under way then
// are given up, and the error is returned.
func Run(ctx context.Context, do Do, n, workers int, job func(i int) run.Options,
	done func(i int, r Result) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range max(1, min(workers, n)) {
		wg.Go(func() {
			for i := range next {
				r, ok := One(ctx, do, job(i))
				if !ok {
					continue
				}
				mu.Lock()
				if ctx.Err() == nil {
					if err := done(i, r); err != nil {
						cancel(err)
					}
				}
				mu.Unlock()
			}
		})
	}
feed:
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
