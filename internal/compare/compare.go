// Package compare runs one scenario over several stacks and sets what came of
// it side by side: the six questions, the figures, and a sentence per stack.
// Every actor, time and count is looked up in the records.
package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Version is the version of Comparison as JSON. It changes when a field changes
// its meaning or goes; new fields do not change it.
const Version = 2

// Comparison is one scenario over several stacks, with one or more seeds.
type Comparison struct {
	Version     int      `json:"version"`
	Scenario    string   `json:"scenario"`
	Description string   `json:"description,omitempty"`
	View        string   `json:"view,omitempty"` // what the stacks share and in what they differ, where a view chose them
	Seeds       []uint64 `json:"seeds"`
	// How many seeds and stacks were asked for, and how many seeds finished, with all stacks
	// that are here: less where it was interrupted.
	SeedsAsked    int      `json:"seeds_asked"`
	SeedsFinished int      `json:"seeds_finished"`
	StacksAsked   int      `json:"stacks_asked"`
	Stacks        []Column `json:"stacks"`
	// LeftOut are stacks that cannot run the scenario.
	LeftOut []LeftOut `json:"left_out,omitempty"`
}

// LeftOut are stacks that were to be compared and cannot run the scenario, and why.
type LeftOut struct {
	Stacks []string `json:"stacks"`
	Why    string   `json:"why"`
}

// Column is one stack.
type Column struct {
	Stack string `json:"stack"`
	// Layers are the APIs, transports and fabrics of what it carried.
	Layers []catalog.Layering `json:"layers,omitempty"`
	// Sentence says in plain words what happened, with the first seed; or which
	// stack before it took the very same course (the same fingerprint).
	Sentence string   `json:"sentence"`
	Told     string   `json:"-"`       // the sentence in the language that was asked for; "": there is none but English
	Answers  []Answer `json:"answers"` // in the order of Questions
	Figures  Figures  `json:"figures"`
	// Account is where the time of AccountOf went with the first seed, part by part: of the
	// message that took longest, or of a collective over its critical path. The parts add
	// up to it. Empty where none completed.
	AccountOf    string                `json:"account_of,omitempty"`
	Account      []metrics.AccountPart `json:"account,omitempty"`
	Stopped      []string              `json:"stopped"`      // why each run ended, by seed
	Fingerprints []string              `json:"fingerprints"` // by seed
	Runs         []Row                 `json:"runs"`         // likewise
	// Lottery names the headline figures that differ so much from seed to seed that no
	// single run stands for them; see lottery.
	Lottery  []string `json:"lottery,omitempty"`
	Warnings []string `json:"warnings"` // of the first seed
	// For a page, of the first seed: the completion times of messages, sorted, of many every
	// so many; and samples over time.
	Completions []units.Time     `json:"completions_ps,omitempty"`
	Timeline    *record.Timeline `json:"timeline,omitempty"`
}

// Answer is who answered a question first, and by what. With several seeds it
// is about the runs in which the most frequent first mechanism was first.
type Answer struct {
	Question catalog.Question `json:"question"`
	Happened int              `json:"happened"` // in how many runs anybody did
	// Actor is the one that was first most often, in First of the runs.
	Actor     record.Place      `json:"actor,omitzero"`
	First     int               `json:"first"`
	Mechanism catalog.Mechanism `json:"mechanism,omitempty"`
	// FirstPS counts from the first post; Count and SpanPS (first act to last)
	// are over all actors of the mechanism; HeldPS adds up the time held over
	// ports, for pauses.
	FirstPS Spread[units.Time] `json:"first_ps"`
	Count   Spread[int64]      `json:"count"`
	SpanPS  Spread[units.Time] `json:"span_ps"`
	HeldPS  Spread[units.Time] `json:"held_ps"`
	Why     string             `json:"why,omitempty"` // why nobody did, in the first seed's run
}

// Figures are the numbers compared.
type Figures struct {
	Messages   Spread[int64]      `json:"messages"`
	Completed  Spread[int64]      `json:"completed"` // with success
	Lost       Spread[int64]      `json:"lost"`      // of those, with UC and UD: never delivered
	Failed     Spread[int64]      `json:"failed"`    // with an error completion
	Open       Spread[int64]      `json:"open"`      // at the end of the run
	P50PS      Spread[units.Time] `json:"completion_p50_ps"`
	P99PS      Spread[units.Time] `json:"completion_p99_ps"`
	MaxPS      Spread[units.Time] `json:"completion_max_ps"`
	CallP50PS  Spread[units.Time] `json:"rpc_p50_ps,omitzero"` // latency of remote procedure calls; absent without any
	CallP99PS  Spread[units.Time] `json:"rpc_p99_ps,omitzero"`
	GoodputBps Spread[units.Rate] `json:"goodput_bps"` // completed payload from the first post to the last completion
	Jain       Spread[float64]    `json:"jain"`
	PeakQueue  Spread[int64]      `json:"peak_queue_bytes"` // of the deepest queue
	HeldPS     Spread[units.Time] `json:"held_ps"`          // paused with a frame waiting, over all ports
	Pauses     Spread[int64]      `json:"pauses"`
	Marked     Spread[int64]      `json:"marked"`
	Dropped    Spread[int64]      `json:"dropped"` // frames
	Resent     Spread[int64]      `json:"retransmitted_bytes"`
	Timeouts   Spread[int64]      `json:"timeouts"`
	CorePS     Spread[units.Time] `json:"core_ps"`      // of the processors of all hosts
	Copied     Spread[int64]      `json:"copied_bytes"` // between user and kernel memory
	// WireRatio is bytes that hosts put on the wire (retransmissions, ACKs and
	// CNPs, preambles and gaps included) per byte of payload delivered.
	WireRatio Spread[float64] `json:"wire_bytes_per_payload_byte"`
	Inside    *Inside         `json:"inside,omitempty"` // of hosts that have one; nil: none has
	// Collectives are those of the workload, in its order.
	Collectives []Collective `json:"collectives,omitempty"`
	Jobs        []JobFigures `json:"jobs,omitempty"` // likewise
}

// Inside is what went over links and through memories inside hosts, all together.
type Inside struct {
	Staged Spread[int64] `json:"staged_bytes"` // by copy engines, between GPUs and memory of hosts
	// PCIeRatio is payload over all PCIe links, once for each that it crossed, per byte of
	// payload delivered; PCIeBytesRatio bytes on those links, with headers and requests;
	// DRAMRatio what was read from and written to the memory of hosts.
	PCIeRatio      Spread[float64] `json:"pcie_crossings_per_payload_byte"`
	PCIeBytesRatio Spread[float64] `json:"pcie_bytes_per_payload_byte"`
	DRAMRatio      Spread[float64] `json:"dram_bytes_per_payload_byte"`
}

// Collective is a collective operation of the workload.
type Collective struct {
	Workload string             `json:"workload"`
	Done     Spread[int64]      `json:"done"`    // iterations that were over
	TimePS   Spread[units.Time] `json:"time_ps"` // mean of those
	BusBW    Spread[float64]    `json:"busbw_gbyte_s"`
}

// Job is one run of a comparison.
type Job struct {
	Index   int // among Options.Stacks times Options.Seeds, stacks varying fastest
	Stack   string
	Stacks  []string // all that are compared
	Seed    *uint64  // nil: the scenario's
	Workers int      // goroutines for this run, at least 1
}

// Options say what to compare.
type Options struct {
	Stacks  []string
	Seeds   int           // at least 1: that many, counting up from Seed
	Seed    *uint64       // nil: the scenario's
	Lang    lang.Language // of Told
	Workers int           // goroutines in all, at least 1; the result does not depend on it
	// Do runs a job. It must be safe to call from several goroutines.
	Do func(context.Context, Job) (*record.Run, error)
}

// ErrInterrupted is what Run returns when its context ended before all runs had.
var ErrInterrupted = errors.New("interrupted before every run had ended")

// Run runs all stacks with all seeds. The first error in the order of jobs is
// returned, whichever came first in time. With ErrInterrupted comes what can be
// compared of the runs that ended, nil if none did: of the first seed the stacks
// that had run, of further seeds those that all stacks had run.
func Run(ctx context.Context, opt Options) (*Comparison, error) {
	c, err := runSeeds(ctx, opt)
	if c != nil {
		c.SeedsAsked, c.SeedsFinished, c.StacksAsked = opt.Seeds, len(c.Seeds), len(opt.Stacks)
	}
	return c, err
}

// runSeeds is Run without what was asked.
func runSeeds(ctx context.Context, opt Options) (*Comparison, error) {
	first := make([]Job, len(opt.Stacks))
	for i, s := range opt.Stacks {
		first[i] = Job{Index: i, Stack: s, Stacks: opt.Stacks, Seed: opt.Seed}
	}
	done, err := runAll(ctx, opt, first) // tells the scenario's seed
	if errors.Is(err, ErrInterrupted) {
		return assembleEnded(opt.Stacks, done), err
	}
	if err != nil {
		return nil, err
	}
	seed := done[0].run.Seed
	var rest []Job
	for k := 1; k < opt.Seeds; k++ {
		for _, s := range opt.Stacks {
			next := seed + uint64(k)
			rest = append(rest, Job{Index: len(first) + len(rest), Stack: s, Stacks: opt.Stacks, Seed: &next})
		}
	}
	more, err := runAll(ctx, opt, rest)
	if errors.Is(err, ErrInterrupted) {
		n := 0
		for n+len(first) <= len(more) && !slices.ContainsFunc(more[n:n+len(first)],
			func(o outcome) bool { return !o.ended() }) {
			n += len(first)
		}
		return assemble(opt.Stacks, append(done, more[:n]...)), err
	}
	if err != nil {
		return nil, err
	}
	return assemble(opt.Stacks, append(done, more...)), nil
}

// outcome is what a comparison keeps of a run.
type outcome struct {
	run     record.Run // without flows, queue pairs, ports and ledger
	base    units.Time // the first post
	summary *metrics.Summary
	figures figures
	words   string
	told    string // words in the language of the options
	of      string // whose account it is
	account []metrics.AccountPart
	drawn   drawn
}

// ended reports whether the run came to its own end.
func (o *outcome) ended() bool { return o.summary != nil && o.run.Stopped != "interrupted" }

// assembleEnded compares the stacks whose runs ended; nil if none did.
func assembleEnded(stacks []string, all []outcome) *Comparison {
	var names []string
	var ended []outcome
	for i := range all {
		if all[i].ended() {
			names, ended = append(names, stacks[i]), append(ended, all[i])
		}
	}
	if len(names) == 0 {
		return nil
	}
	return assemble(names, ended)
}

// runAll runs jobs, as many at a time as there are workers, and returns their
// outcomes in the jobs' order, with ErrInterrupted those of the ones that ran.
func runAll(ctx context.Context, opt Options, jobs []Job) ([]outcome, error) {
	out, errs := make([]outcome, len(jobs)), make([]error, len(jobs))
	atOnce := max(1, min(opt.Workers, len(jobs)))
	next := make(chan int)
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for i := range next {
				jobs[i].Workers = max(1, opt.Workers/atOnce)
				out[i], errs[i] = runOne(ctx, opt, jobs[i])
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	wg.Wait()
	for i, err := range errs {
		switch {
		case err == nil:
		case slices.Contains(errs, nil): // the others ran: it is about this stack
			return nil, fmt.Errorf("%s: %w", jobs[i].Stack, err)
		default:
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return out, ErrInterrupted
	}
	return out, nil
}

func runOne(ctx context.Context, opt Options, j Job) (outcome, error) {
	if ctx.Err() != nil {
		return outcome{}, nil // runAll says so
	}
	r, err := opt.Do(ctx, j)
	if r == nil && ctx.Err() != nil {
		return outcome{}, nil // it had not begun
	}
	if err != nil || r == nil {
		return outcome{}, err
	}
	if r.Data != nil && r.Data.Differ > 0 {
		return outcome{}, fmt.Errorf("data: %d messages differ, which is a fault of this program; the first: %s",
			r.Data.Differ, r.Data.Faults[0])
	}
	return outcomeOf(opt.Lang, r), nil
}

// Of compares runs that were made already, each under a name.
func Of(names []string, runs []*record.Run) *Comparison {
	all := make([]outcome, len(runs))
	for i, r := range runs {
		all[i] = outcomeOf(lang.English, r)
	}
	return assemble(names, all)
}

// outcomeOf is what a comparison keeps of a run.
func outcomeOf(l lang.Language, r *record.Run) outcome {
	s := metrics.Summarise(r)
	o := outcome{run: *r, base: r.FirstPost(), summary: s, figures: figuresOf(r, s), words: SentenceIn(lang.English, r, s)}
	if l == lang.Chinese {
		o.told = SentenceIn(l, r, metrics.SummariseIn(l, r))
	}
	o.of, o.account = metrics.WorstAccount(r)
	o.drawn = drawnOf(r)
	o.run.Timeline, o.run.Network, o.run.Places = nil, nil, nil
	o.run.Collectives, o.run.Jobs = nil, nil
	o.run.Messages, o.run.QPs, o.run.Ports, o.run.Ledger, o.run.Servers = nil, nil, nil, nil, nil
	return o
}

// assemble groups outcomes by stack; stacks vary fastest.
func assemble(stacks []string, all []outcome) *Comparison {
	c := &Comparison{Version: Version, Scenario: all[0].run.Scenario, Description: all[0].run.Description}
	for i := 0; i < len(all); i += len(stacks) {
		c.Seeds = append(c.Seeds, all[i].run.Seed)
	}
	for n, name := range stacks {
		if name == "" { // the scenario's own
			name = all[n].run.Stack
		}
		col := Column{Stack: name, Layers: all[n].run.Layers, Sentence: all[n].words, Told: all[n].told, AccountOf: all[n].of,
			Account:  all[n].account,
			Warnings: append([]string{}, all[n].run.Warnings...), Completions: all[n].drawn.completions,
			Timeline: all[n].drawn.timeline}
		var mine []*outcome
		for i := n; i < len(all); i += len(stacks) {
			mine = append(mine, &all[i])
			col.Stopped = append(col.Stopped, all[i].run.Stopped)
			col.Fingerprints = append(col.Fingerprints, all[i].run.Fingerprint)
			col.Runs = append(col.Runs, rowOf(&all[i]))
		}
		for q := range catalog.Questions {
			col.Answers = append(col.Answers, answer(q, mine))
		}
		if k := slices.IndexFunc(c.Stacks, func(x Column) bool { return x.Fingerprints[0] == col.Fingerprints[0] }); k >= 0 {
			const same = "the same as %s, packet for packet."
			col.Sentence = fmt.Sprintf(same, c.Stacks[k].Stack)
			if col.Told != "" {
				col.Told = lang.Chinese.Sprintf(same, c.Stacks[k].Stack)
			}
		}
		col.Figures = spreads(mine)
		col.Lottery = lottery(&col.Figures, mine)
		c.Stacks = append(c.Stacks, col)
	}
	return c
}
