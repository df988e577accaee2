package scenarios_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

var update = flag.Bool("update", false, "write golden.txt and the samples of docs from what the program prints")

// long reports whether tests run whole what takes minutes.
func long() bool { return os.Getenv("HOPSCOPE_LONG") != "" }

// reduced are the changes with which tests run a shipped scenario: those that make a smaller one of one that takes
// minutes, as its page and golden.txt show it.
func reduced(name string) []string { return scenario.Reduced(name) }

// reportOf runs a shipped scenario and returns what `hopscope run` prints where
// there is no terminal: 100 columns, no colour.
func reportOf(t *testing.T, name string, set ...string) []byte {
	t.Helper()
	r, _, err := run.Do(context.Background(), run.Options{Scenario: name, Set: set, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.Text(&b, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every shipped scenario prints what its golden.txt holds, one that takes minutes in its reduced form; HOPSCOPE_LONG
// runs it whole, against whole.txt.
func TestGolden(t *testing.T) {
	list := run.List()
	if len(list) == 0 {
		t.Fatal("no shipped scenarios")
	}
	for _, s := range list {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			golden(t, filepath.Join(s.Name, "golden.txt"), reportOf(t, s.Name, s.Reduced...))
			if s.Reduced != nil && long() {
				golden(t, filepath.Join(s.Name, "whole.txt"), reportOf(t, s.Name))
			}
		})
	}
}

// golden holds that a file has what was printed; with -update it writes it.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; make golden writes it", err)
	}
	if line, a, b := firstDifference(string(want), string(got)); line > 0 {
		t.Errorf("%s line %d\nwant %s\ngot  %s\nmake golden writes what is printed now; read the difference before committing it",
			file, line, a, b)
	}
}

func firstDifference(want, got string) (line int, a, b string) {
	if want == got {
		return 0, "", ""
	}
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for line = range min(len(w), len(g)) {
		if w[line] != g[line] {
			return line + 1, w[line], g[line]
		}
	}
	return min(len(w), len(g)) + 1, "", ""
}

// The output in docs/report.md is what its command prints.
func TestReadmeSample(t *testing.T) {
	readmeShows(t, "$ go run ./cmd/hopscope run incast-4to1\n", string(reportOf(t, "incast-4to1")))
}

// So is the one in Chinese.
func TestReadmeChinese(t *testing.T) {
	r, _, err := run.Do(context.Background(), run.Options{Scenario: "deadlock-ring", Workers: 1})
	if r == nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := report.Text(&b, r, report.TextOptions{Lang: lang.Chinese, Brief: true}); err != nil {
		t.Fatal(err)
	}
	readmeShows(t, "$ go run ./cmd/hopscope run deadlock-ring --brief --lang zh\n", b.String())
}

// readmeShows holds that docs/report.md shows what a command printed, in a fenced block
// after the command's line; with -update it writes it there.
func readmeShows(t *testing.T, command, printed string) {
	t.Helper()
	shows(t, "../docs/report.md", command, printed)
}

// shows holds the same of any page.
func shows(t *testing.T, file, command, printed string) {
	t.Helper()
	const fence = "```\n"
	readme, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(readme), command)
	shown, after, closed := strings.Cut(rest, fence)
	if !found || !closed {
		t.Fatalf("%s shows no %q", file, strings.TrimSpace(command))
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+command+printed+fence+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if line, a, b := firstDifference(shown, printed); line > 0 {
		t.Errorf("%s, sample line %d\nshown   %s\nprinted %s\nmake golden writes it", file, line, a, b)
	}
}

// Every --set that a scenario's page proposes loads.
func TestPagesProposeWhatLoads(t *testing.T) {
	set := regexp.MustCompile("--set (?:'([^']+)'|([^ `]+))")
	tried := 0
	for _, s := range run.List() {
		page, err := os.ReadFile(filepath.Join(s.Name, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range regexp.MustCompile("`[^`]+`").FindAllString(string(page), -1) {
			var changes []string
			for _, m := range set.FindAllStringSubmatch(code, -1) {
				changes = append(changes, m[1]+m[2])
			}
			if len(changes) == 0 {
				continue
			}
			tried++
			if _, err := scenario.Load(s.Name, changes, nil); err != nil {
				t.Errorf("%s/README.md proposes %s: %v", s.Name, code, err)
			}
		}
	}
	if tried < len(run.List()) {
		t.Errorf("the pages of %d scenarios propose %d changes", len(run.List()), tried)
	}
}
