package compare

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		in   []int64
		want Spread[int64]
	}{
		{nil, Spread[int64]{}},
		{[]int64{7}, Spread[int64]{1, 7, 7, 7}},
		{[]int64{9, 1}, Spread[int64]{2, 1, 1, 9}}, // the lower of the two in the middle
		{[]int64{5, 9, 1}, Spread[int64]{3, 5, 1, 9}},
		{[]int64{4, 3, 2, 1}, Spread[int64]{4, 2, 1, 4}},
	} {
		if got := spread(tt.in); got != tt.want {
			t.Errorf("%v: %+v, want %+v", tt.in, got, tt.want)
		}
	}
}

func TestMostFrequent(t *testing.T) {
	for _, tt := range []struct {
		in    string
		want  string
		times int
	}{{"a", "a", 1}, {"a b b", "b", 2}, {"a b", "a", 1}, {"b a a b", "b", 2}} {
		if got, n := mostFrequent(strings.Fields(tt.in)); got != tt.want || n != tt.times {
			t.Errorf("%s: %s %d", tt.in, got, n)
		}
	}
}

// stub is a run whose numbers follow from stack and seed.
func stub(j Job) *record.Run {
	seed := uint64(40)
	if j.Seed != nil {
		seed = *j.Seed
	}
	k := int64(seed) + int64(100*len(j.Stack))
	r := &record.Run{Scenario: "s", Stack: j.Stack, Seed: seed, Stopped: "quiescence", Fingerprint: fmt.Sprint(k), WireOverhead: 20,
		Messages: []record.Message{{Src: "h0", Dst: "h1", Bytes: 1000, StartPS: 5, CompletionPS: units.Time(k), Status: "success"}},
		QPs:      []record.QP{{Host: "h0", RetransmittedBytes: k}, {Host: "h1", DeliveredBytes: 1000}},
		Ports:    []record.Port{{Node: "h0", TxPackets: 10, TxBytes: 1300}, {Node: "sw", PeakQueueBytes: k, TxPackets: 99, TxBytes: 9999}}}
	actor := record.PortAt("sw", 1)
	if seed%2 == 1 {
		actor = record.PortAt("sw", 2)
	}
	r.Ledger = []record.Entry{{Question: catalog.Detected, Mechanism: catalog.ECNMark, Actor: actor,
		Act: record.Act{Count: k, First: units.Time(5 + k), Last: units.Time(5 + 3*k)}}}
	return r
}

func TestRun(t *testing.T) {
	var mu sync.Mutex
	calls := map[string]int{}
	opt := Options{Stacks: []string{"a", "bb"}, Seeds: 3, Workers: 1, Do: func(_ context.Context, j Job) (*record.Run, error) {
		mu.Lock()
		defer mu.Unlock()
		r := stub(j)
		calls[fmt.Sprint(j.Stack, r.Seed, j.Index)]++
		return r, nil
	}}
	c, err := Run(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"a40 0": 1, "bb40 1": 1, "a41 2": 1, "bb41 3": 1, "a42 4": 1, "bb42 5": 1}
	if !reflect.DeepEqual(calls, want) {
		t.Errorf("jobs %v, want %v", calls, want)
	}
	if !reflect.DeepEqual(c.Seeds, []uint64{40, 41, 42}) || c.Scenario != "s" || c.Version != Version {
		t.Errorf("%+v", c)
	}
	b := c.Stacks[1]
	if b.Stack != "bb" || b.Figures.MaxPS != (Spread[units.Time]{3, 241, 240, 242}) || b.Figures.Resent != (Spread[int64]{3, 241, 240, 242}) ||
		b.Figures.PeakQueue.Median != 241 || b.Figures.Jain.N != 0 {
		t.Errorf("figures %+v", b.Figures)
	}
	// Of the host alone: 1,300 frame bytes and 10 times 20 B for 1,000 B of payload.
	if b.Figures.WireRatio != (Spread[float64]{3, 1.5, 1.5, 1.5}) {
		t.Errorf("wire ratio %+v", b.Figures.WireRatio)
	}
	a := b.Answers[0]
	if a.Happened != 3 || a.Actor != record.PortAt("sw", 1) || a.First != 2 || a.Count.Median != 241 || a.FirstPS.Median != 241 || a.SpanPS.Median != 482 || a.HeldPS.N != 0 {
		t.Errorf("answer %+v", a)
	}
	if x := b.Answers[1]; x.Happened != 0 || x.Why == "" {
		t.Errorf("answer %+v", x)
	}
	for _, workers := range []int{2, 3, 16} {
		opt.Workers = workers
		again, err := Run(context.Background(), opt)
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Errorf("%d workers: %v, %+v", workers, err, again)
		}
	}
}

// Two stacks that took the same course say so.
func TestSameCourse(t *testing.T) {
	c, err := Run(context.Background(), Options{Stacks: []string{"ab", "ba"}, Seeds: 1, Workers: 2,
		Do: func(_ context.Context, j Job) (*record.Run, error) { return stub(j), nil }})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Stacks[1].Sentence; got != "the same as ab, packet for packet." {
		t.Error(got)
	}
}

// A comparison needs every stack: the first error by job decides, and it names
// the stack if others ran.
func TestRunErrors(t *testing.T) {
	bad := func(names ...string) func(context.Context, Job) (*record.Run, error) {
		return func(_ context.Context, j Job) (*record.Run, error) {
			for _, n := range names {
				if n == j.Stack {
					return nil, errors.New("no " + n)
				}
			}
			return stub(j), nil
		}
	}
	for _, tt := range []struct {
		bad  []string
		want string
	}{{[]string{"b"}, "b: no b"}, {[]string{"b", "c"}, "b: no b"}, {[]string{"a", "b", "c"}, "no a"}} {
		_, err := Run(context.Background(), Options{Stacks: []string{"a", "b", "c"}, Seeds: 1, Workers: 3, Do: bad(tt.bad...)})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%v: %v, want %s", tt.bad, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Run(ctx, Options{Stacks: []string{"a", "b"}, Seeds: 2, Workers: 1, Do: func(_ context.Context, j Job) (*record.Run, error) {
		cancel()
		return stub(j), nil
	}})
	if !errors.Is(err, ErrInterrupted) || r == nil || len(r.Stacks) != 1 || r.Stacks[0].Stack != "a" || len(r.Seeds) != 1 {
		t.Errorf("cancelled: %v, %+v", err, r)
	}
}

// What had ended when a comparison was interrupted is compared: whole seeds
// only, and nothing of a run that was cut short.
func TestInterruptedKeepsWhatEnded(t *testing.T) {
	for _, tt := range []struct {
		after         int // runs that end
		stacks, seeds int
	}{{0, 0, 0}, {1, 1, 1}, {2, 2, 1}, {3, 2, 1}, {4, 2, 2}, {5, 2, 2}} {
		ctx, cancel := context.WithCancel(context.Background())
		runs := 0
		c, err := Run(ctx, Options{Stacks: []string{"a", "b"}, Seeds: 3, Workers: 1, Do: func(_ context.Context, j Job) (*record.Run, error) {
			r := stub(j)
			if runs++; runs > tt.after {
				cancel()
				r.Stopped = "interrupted"
			}
			return r, nil
		}})
		cancel()
		if !errors.Is(err, ErrInterrupted) {
			t.Errorf("after %d: %v", tt.after, err)
		}
		stacks, seeds := 0, 0
		if c != nil {
			stacks, seeds = len(c.Stacks), len(c.Seeds)
			if c.SeedsAsked != 3 || c.StacksAsked != 2 || c.SeedsFinished != seeds {
				t.Errorf("after %d: %d of %d seeds, %d stacks", tt.after, c.SeedsFinished, c.SeedsAsked, c.StacksAsked)
			}
		}
		if stacks != tt.stacks || seeds != tt.seeds {
			t.Errorf("after %d: %d stacks and %d seeds, want %d and %d", tt.after, stacks, seeds, tt.stacks, tt.seeds)
		}
	}
}
