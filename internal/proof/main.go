// Command proof holds the sentences of reports to experiments: it draws scenarios, asks of each
// sentence what it names as a cause, takes that away in a complete run, and counts how often
// that saves what the sentence says. See score.go and whatif.Claim.Judge.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hopscope/hopscope/internal/whatif"
)

func main() {
	n := flag.Int("n", 320, "scenarios")
	only := flag.Int("only", -1, "this scenario alone, with its text and all its sentences")
	family := flag.String("family", "", "only families whose name contains this")
	held := flag.Bool("held", false, "also those scenarios that are held out while sentences are mended")
	record := flag.String("record", "", "write the result to this folder as well, in a file named after date and commit, with the held out scenarios")
	flag.Parse()
	first, last := 0, *n
	if *only >= 0 {
		first, last = *only, *only+1
	}
	var total tally
	for k := first; k < last; k++ {
		fam, source, _ := drawScenario(k)
		if *only < 0 && (!strings.Contains(fam, *family) || heldOut(k) && !*held && *record == "") {
			continue
		}
		n := k
		if *only < 0 {
			n = numberOf(k)
		}
		s := score(context.Background(), n, runtime.GOMAXPROCS(0))
		if s.err != nil {
			fmt.Fprintln(os.Stderr, s.err)
			os.Exit(1)
		}
		total.add(&s)
		if *only >= 0 {
			fmt.Println(source)
			for i := range s.sentences {
				fmt.Println(s.sentences[i].text())
			}
			return
		}
	}
	total.print(os.Stdout, *record != "")
	if *record != "" {
		if err := total.record(*record, time.Now().UTC().Format("2006-01-02")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// record writes the whole result to dir/<date>-<commit>.txt.
func (t *tally) record(dir, date string) error {
	commit := "unknown"
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value[:min(7, len(s.Value))] + strings.TrimPrefix(commit, "unknown")
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += "-dirty"
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Sentences of hopscope at commit %s, %s, held to experiments\n\n", commit, date)
	t.print(&b, true)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, date+"-"+commit+".txt"), []byte(b.String()), 0o644)
}

// heldOut reports whether a scenario is one of the fifth that is not looked at while sentences
// are mended.
func heldOut(n int) bool { return n/len(families())%5 == 4 }

// fresh is where the numbers of scenarios that are held out begin. A record that lists their misses uses
// them up: the next begins at others.
const fresh = 20_000

// numberOf is the scenario that is drawn as number k of a record.
func numberOf(k int) int {
	if heldOut(k) {
		return fresh + k
	}
	return k
}

// tally sums up what scenarios came to.
type tally struct {
	scenarios, runs              int
	all                          []judged
	slows                        []slow
	others, pass, cables, saving int
}

func (t *tally) add(s *scored) {
	t.scenarios++
	t.runs += s.runs
	t.all = append(t.all, s.sentences...)
	t.slows = append(t.slows, s.slows...)
	t.others, t.pass, t.cables, t.saving = t.others+s.others, t.pass+s.pass, t.cables+s.cables, t.saving+s.saving
}

// text is a sentence with what experiments say of it.
func (j *judged) text() string {
	which := fmt.Sprintf("message %d", j.message)
	if j.message < 0 {
		which = "collective, planted: " + j.planted
	}
	s := fmt.Sprintf("%d %s, %s, %s: %s: %.0f %% %q saves %.1f %%", j.scenario, j.family, which, j.verdict, j.claim.Kind, 100*j.claim.Share, j.claim.Text, 100*j.saved)
	if j.instead != "" {
		s += fmt.Sprintf("; instead %s: %.1f %%", j.instead, 100*j.insteadG)
	}
	return s
}

// group tells sentences that only a faster way helps from the others.
func group(j *judged) string {
	if j.claim.Line {
		return "line"
	}
	return "cause"
}

// count is how many of some sentences are right.
type count struct{ right, all, unresolved int }

func (c count) String() string {
	return fmt.Sprintf("%d of %d, %.1f %%", c.right, c.all, 100*float64(c.right)/float64(max(c.all, 1)))
}

// by counts sentences by a property.
func (t *tally) by(of func(j *judged) string) (names []string, counts map[string]count) {
	counts = make(map[string]count)
	for i := range t.all {
		j := &t.all[i]
		name := of(j)
		c := counts[name]
		if c.all == 0 {
			names = append(names, name)
		}
		c.all++
		switch j.verdict {
		case whatif.Right:
			c.right++
		case whatif.Unresolved:
			c.unresolved++
		}
		counts[name] = c
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b].all, counts[a].all), cmp.Compare(a, b)) })
	return names, counts
}

// print writes the score by kind of sentence, cause and family, and the misses: all of them, or six of
// each kind.
func (t *tally) print(w io.Writer, all bool) {
	fmt.Fprintf(w, "%d scenarios, %d sentences, %d runs\n", t.scenarios, len(t.all), t.runs)
	for _, p := range []struct {
		title string
		of    func(j *judged) string
	}{
		{"by sentence", func(j *judged) string { return j.claim.Group }},
		{"line or cause", group},
		{"by kind of cause", func(j *judged) string { return j.claim.Kind }},
		{"by family", func(j *judged) string { return j.family }},
		{"misses", func(j *judged) string { return j.verdict.String() }},
	} {
		names, counts := t.by(p.of)
		fmt.Fprintf(w, "\n%s\n", p.title)
		for _, name := range names {
			fmt.Fprintf(w, "  %-26s %s\n", name, counts[name])
		}
	}
	given := 0
	for _, s := range t.slows {
		if s.given {
			given++
		}
	}
	fmt.Fprintf(w, "\nmessages beyond 1.5 times their time alone: %d, given a cause with a quarter of the excess: %s\n", len(t.slows), count{right: given, all: len(t.slows)})
	fmt.Fprintf(w, "controls: other candidates pass: %s; longer cables save half a share: %s\n\n", count{right: t.pass, all: t.others}, count{right: t.saving, all: t.cables})
	seen := make(map[string]int)
	for i := range t.all {
		j := &t.all[i]
		key := j.claim.Group + "/" + j.claim.Kind + "/" + j.verdict.String()
		if seen[key]++; j.verdict != whatif.Right && (all || seen[key] <= 6) {
			fmt.Fprintln(w, j.text())
		}
	}
}
