package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/scenario"
)

// harshInfiniBand makes a random scenario of InfiniBand fail as harsh does; heads of
// queues have a lifetime in half of them.
func harshInfiniBand(seed uint64) string {
	g := &generator{Stream: rng.New(seed, "harsh infiniband")}
	text := drawInfiniBand(seed).text
	if g.one(2) {
		text = strings.Replace(text, "infiniband:\n", "infiniband:\n  hoq_life: "+g.pick("1", "3", "5")+"\n", 1)
	}
	return harden(g, seed, g.stopped(text))
}

// harshStreams is the like with TCP, alone or beside queue pairs.
func harshStreams(seed uint64) string {
	g := &generator{Stream: rng.New(seed, "harsh streams")}
	return harden(g, seed, g.stopped(drawStreams(seed).text))
}

// stopped ends half of the scenarios in the midst of what goes on.
func (g *generator) stopped(text string) string {
	if strings.Contains(text, "stop:") || g.one(2) {
		return text
	}
	return fmt.Sprintf("stop: %dns\n%s", g.between(5000, 300000), text)
}

// TestHarshInfiniBand: whatever fails where links have credits, the result is the
// same on any number of partitions, and the accounts tile.
func TestHarshInfiniBand(t *testing.T) {
	t.Parallel()
	seen := harshRuns(t, harshInfiniBand, 999) // a READ completed between a rewind and its last request
	for _, what := range []string{"success", "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR", "REM_ACCESS_ERR", "REM_INV_REQ_ERR", "open",
		"stop time", "quiescence", catalog.StageCredits.String(), catalog.DropHOQ.String()} {
		if seen[what] == 0 && !testing.Short() {
			t.Errorf("no %q; the scenarios have become too tame: %v", what, seen)
		}
	}
}

// TestHarshStreams: the same where bytes are lost in bulk on their way over TCP.
func TestHarshStreams(t *testing.T) {
	t.Parallel()
	seen := harshRuns(t, harshStreams)
	for _, what := range []string{"success", "open", "stop time", "quiescence", catalog.StageDetection.String(), catalog.StageResending.String(), catalog.DropLoss.String()} {
		if seen[what] == 0 && !testing.Short() {
			t.Errorf("no %q; the scenarios have become too tame: %v", what, seen)
		}
	}
}

// harshRuns runs the scenarios that draw gives, each uncut and cut in two ways. It
// counts how runs and messages ended, the stages, and why packets were dropped. The
// scenarios of found, which found bugs, are always drawn.
func harshRuns(t *testing.T, draw func(seed uint64) string, found ...uint64) map[string]int {
	t.Helper()
	seeds := draws(15, 50)
	seen, ran := map[string]int{}, 0
	for n := range seeds + uint64(len(found)) {
		seed := n
		if n >= seeds {
			seed = found[n-seeds]
		}
		text := draw(seed)
		v, err := scenario.Parse("harsh.yaml", []byte(text), nil, nil)
		if err != nil {
			continue // a draw that the checks rightly refuse
		}
		ran++
		mixVerbs(v, seed)
		r := simulate(t, v, 1, 1)
		for _, parts := range []int{2 + int(seed%6), 16} {
			if d := differ(t, r, simulate(t, v, parts, 2)); d != "" {
				t.Fatalf("seed %d: %d partitions give another result: %s\n%s", seed, parts, d, text)
			}
		}
		if why := accountsWrong(r); why != "" {
			t.Fatalf("seed %d: %s\n%s", seed, why, text)
		}
		tally(seen, r)
	}
	if ran < int(seeds)*9/10 {
		t.Errorf("only %d of %d scenarios were accepted", ran, seeds)
	}
	return seen
}

// accountsWrong says what is wrong with the first account that is, or nothing.
func accountsWrong(r *record.Run) string {
	for i := range r.Messages {
		if r.Messages[i].Service == catalog.TCP {
			continue
		}
		if why := accountWrong(r, i); why != "" {
			return fmt.Sprintf("message %d (%s): %s: %v", i, r.Messages[i].Status, why, r.Messages[i].Account.Stages())
		}
	}
	return streamAccounts(r)
}

func tally(seen map[string]int, r *record.Run) {
	seen[r.Stopped]++
	for i := range r.Messages {
		seen[r.Messages[i].Status]++
		for _, s := range r.Messages[i].Account.Stages() {
			seen[s.Stage.String()]++
		}
	}
	for i := range r.Ports {
		for _, d := range r.Ports[i].DropCauses {
			seen[d.Cause.String()] += int(d.Count)
		}
	}
}
