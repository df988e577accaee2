package claims

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
)

// simulate makes a run as the command line does.
func simulate(ctx context.Context, s Spec) (*record.Run, error) {
	r, _, err := run.Do(ctx, run.Options{Scenario: s.Scenario, Set: s.Set, Seed: s.Seed, Workers: 1})
	return r, err
}

func chinese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// Every claim says what it must: both languages, figures of runs that it makes, what is taken away and where it must not
// turn. The texts of a claim that are sentences are Chinese in Chinese.
func TestDeclarations(t *testing.T) {
	all := All()
	if len(all) < 40 {
		t.Errorf("%d claims", len(all))
	}
	said := map[string]bool{}
	for i := range all {
		c := &all[i]
		if said[c.Says.EN] {
			t.Errorf("claim %d is there twice", i+1)
		}
		said[c.Says.EN] = true
		sentences := []Text{c.Says, c.Setup, c.Off.What}
		if c.When != (Text{}) {
			sentences = append(sentences, c.When)
		}
		if c.Note != (Text{}) {
			sentences = append(sentences, c.Note)
		}
		for _, s := range sentences {
			if s.EN == "" || chinese(s.EN) || !chinese(s.ZH) {
				t.Errorf("claim %d: %q, %q", i+1, s.EN, s.ZH)
			}
		}
		if len(c.Checks) == 0 || len(c.Off.Set) == 0 || len(c.Range.Seeds) == 0 || len(c.Article) == 0 || c.Base == "" {
			t.Errorf("claim %d lacks checks, what is taken away, a range, the article's statement or a scenario", i+1)
		}
		if (len(c.Outside) > 0) != (c.When.EN != "") {
			t.Errorf("claim %d has a condition and nothing outside of it, or the other way round", i+1)
		}
		for _, n := range c.Article {
			if n < 1 || n > NumStatements {
				t.Errorf("claim %d shows statement %d", i+1, n)
			}
		}
		if c.Off.Only != "" {
			c.variant(c.Off.Only)
		}
		for _, check := range slices.Concat(c.Checks, c.Outside) {
			c.variant(check.Left.Of)
			if check.Left.Figure.Name.ZH == "" {
				t.Errorf("claim %d: the figure %q has no Chinese name", i+1, check.Left.Figure.Name.EN)
			}
			if check.Right != nil && (c.variant(check.Right.Of) == nil || check.Right.Figure.Unit != check.Left.Figure.Unit &&
				(check.Right.Figure.Unit != Count || check.Left.Figure.Unit != Bytes)) {
				t.Errorf("claim %d compares %s with %s", i+1, check.Left.Figure.Unit, check.Right.Figure.Unit)
			}
		}
		for _, v := range c.Variants {
			for _, e := range slices.Concat(c.Set, v.Set, c.Off.Set) {
				if strings.Contains(e, "{rate}") && c.Rate == "" || strings.Contains(e, "{size}") && c.Size == "" {
					t.Errorf("claim %d: %s stands for nothing", i+1, e)
				}
			}
		}
	}
}

// Each of the article's statements is shown by a claim or answered in words, and what is not simulated says so.
func TestStatements(t *testing.T) {
	all, statements := All(), Statements()
	if len(statements) != NumStatements {
		t.Fatalf("%d statements", len(statements))
	}
	for i := range statements {
		s := &statements[i]
		if len(s.Claims(all)) == 0 && s.Words.EN == "" {
			t.Errorf("S%d is neither shown nor answered", s.Number)
		}
		if s.About.EN == "" || s.About.ZH == "" || s.Words.EN != "" && !chinese(s.Words.ZH) {
			t.Errorf("S%d lacks a text", s.Number)
		}
		if strings.HasPrefix(s.Words.EN, "not simulated") != strings.HasPrefix(s.Words.ZH, "未仿真") {
			t.Errorf("S%d: %q, %q", s.Number, s.Words.EN, s.Words.ZH)
		}
	}
	for _, carrier := range []int{20, 21, 22} { // what RDMA runs over
		if s := &statements[carrier-1]; len(s.Claims(all)) == 0 {
			t.Errorf("S%d, %s, is shown by no claim", carrier, s.About.EN)
		}
	}
}

// A verdict turns when the mechanism is taken away, and does not in the range that the claim states. Always a few claims;
// all with HOPSCOPE_LONG=1 (make long).
func TestVerdictsTurn(t *testing.T) {
	every := 9
	if testing.Short() {
		every = 24
	}
	if os.Getenv("HOPSCOPE_LONG") != "" {
		every = 1
	}
	all := All()
	var jobs []Job
	for i := every - 1; i < len(all); i += every {
		c := &all[i]
		jobs = append(jobs, Job{i + 1, c, Point{}}, Job{i + 1, c, Point{Off: true}})
		for _, p := range c.Points() {
			jobs = append(jobs, Job{i + 1, c, p})
		}
	}
	results, err := Judge(t.Context(), jobs, Options{Workers: 2, Do: simulate})
	if err != nil {
		t.Fatal(err)
	}
	var own Verdict
	for i := range results {
		r := &results[i]
		switch {
		case r.Point == (Point{}):
			own = r.Verdict
		case r.Point.Off && r.Verdict == own:
			t.Errorf("claim %d %s, and without the mechanism (%s) it does so too", r.Number, own, r.Claim.Off.What.EN)
		case !r.Point.Off && r.Verdict != own:
			t.Errorf("claim %d %s, and %s with seed %v, rate %s, size %s", r.Number, own, r.Verdict, seedOf(r.Point), r.Point.Rate, r.Point.Size)
		}
	}
}

func seedOf(p Point) uint64 {
	if p.Seed == nil {
		return 0
	}
	return *p.Seed
}

// Runs that several claims need are made once, and results do not depend on the workers.
func TestJudgeSharesRuns(t *testing.T) {
	all := All()
	jobs := []Job{{1, &all[0], Point{}}, {1, &all[0], Point{}}, {8, &all[7], Point{}}}
	var first []Result
	for _, workers := range []int{1, 4} {
		var made atomic.Int32
		results, err := Judge(t.Context(), jobs, Options{Workers: workers, Do: func(ctx context.Context, s Spec) (*record.Run, error) {
			made.Add(1)
			return simulate(ctx, s)
		}})
		if err != nil {
			t.Fatal(err)
		}
		if made.Load() != 5 {
			t.Errorf("%d workers: %d runs, want 2 of one claim and 3 of the other", workers, made.Load())
		}
		if first == nil {
			first = results
		}
		for i := range results {
			for k := range results[i].Checks {
				if got, want := results[i].Checks[k].Left.Value, first[i].Checks[k].Left.Value; got != want {
					t.Errorf("claim %d: %v with one worker, %v with %d", results[i].Number, want, got, workers)
				}
			}
		}
	}
}

// A run that fails ends all with its error; one that has no figure makes a comparison false, not true.
func TestJudgeFaults(t *testing.T) {
	all := All()
	broken := errors.New("broken")
	_, err := Judge(t.Context(), []Job{{1, &all[0], Point{}}}, Options{Workers: 2, Do: func(context.Context, Spec) (*record.Run, error) {
		return nil, broken
	}})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	results, err := Judge(t.Context(), []Job{{1, &all[0], Point{}}}, Options{Workers: 2, Do: func(context.Context, Spec) (*record.Run, error) {
		return &record.Run{}, nil
	}})
	if err != nil || results[0].Verdict != DoesNot {
		t.Errorf("nothing ran, and the claim %v (%v)", results[0].Verdict, err)
	}
}

// What a user may write is found or refused in one line.
func TestFindAndPoints(t *testing.T) {
	all := All()
	for word, want := range map[string]int{"1": 1, "72": 72, "0": 0, "999": 0, "1x": 0, "one": 0, "+1": 0, "": 0} {
		n, err := Find(all, word)
		if (err == nil) != (want > 0) || err == nil && n != want || err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %d, %v", word, n, err)
		}
	}
	for _, c := range []struct {
		point Point
		want  string
	}{
		{Point{}, ""}, {Point{Rate: "100Gbps"}, ""}, {Point{Size: "2MB"}, ""},
		{Point{Rate: "50Gbps"}, "--rate 50Gbps: claim 1 is stated for 100Gbps, 400Gbps, 800Gbps"},
		{Point{Size: "3MB"}, "--size 3MB: claim 1 is stated for 1MB, 2MB"},
	} {
		if got := all[0].CheckPoint(1, c.point); got != c.want {
			t.Errorf("%+v: %q, want %q", c.point, got, c.want)
		}
	}
}

// A command is one that a shell reads as it is meant.
func TestCommand(t *testing.T) {
	c := Claim{Base: "incast-4to1", Set: []string{"a={rate}", "b=[x, y]", "c='"}, Rate: "400Gbps", Variants: []Variant{{Key: "v", Seeds: 5}}}
	seed := uint64(3)
	const want = `hopscope run incast-4to1 --set a=100Gbps --set 'b=[x, y]' --set 'c='\''' --set seed=3 --seeds 5`
	if got := c.Command(&c.Variants[0], Point{Rate: "100Gbps", Seed: &seed}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
