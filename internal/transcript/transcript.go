// Package transcript runs tests that are written as text: commands, and under
// each what came of it. The state machines of internal/rdma and internal/tcp are
// tested with it; each brings its own commands.
package transcript

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// World carries out commands. Do does one line, which stands at where
// (FILE:LINE), and returns the lines that came of it, each indented.
type World interface {
	Do(where, line string) []string
}

// Run runs testdata/*.txt of the calling package, each file as a subtest in a
// world of its own. A line that is not indented is a command, the indented lines
// under it are what came of it, lines of # are comments. With update the indented
// lines are written again, unless the test failed.
func Run(t *testing.T, update bool, world func(t *testing.T) World) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) { run(t, name, update, world(t)) })
	}
}

func run(t *testing.T, name string, update bool, world World) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var again []string
	for i := 0; i < len(lines); {
		line, where := lines[i], fmt.Sprintf("%s:%d", name, i+1)
		i++
		again = append(again, line)
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == ' ' {
			t.Fatalf("%s: output without a command", where)
		}
		from := i
		for i < len(lines) && strings.HasPrefix(lines[i], " ") {
			i++
		}
		got := world.Do(where, line)
		if want := lines[from:i]; !slices.Equal(got, want) && !update {
			t.Errorf("%s: %s\n got\n%s\nwant\n%s", where, line, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		again = append(again, got...)
	}
	if !update || t.Failed() {
		return
	}
	if err := os.WriteFile(name, []byte(strings.Join(again, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
