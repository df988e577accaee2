package scenarios_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hopscope/hopscope/internal/cli"
	"github.com/hopscope/hopscope/internal/run"
)

// The page of many runs shows what its sweep prints and draws.
func TestReadmeRuns(t *testing.T) {
	const page, picture = "../docs/runs.md", "../docs/figures/sweep.svg"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`\$ hopscope (sweep [^\n]*)\n`).FindSubmatch(text)
	if command == nil {
		t.Fatal("the page has no command")
	}
	dir := filepath.Join(t.TempDir(), "out")
	words := append(regexp.MustCompile(` +`).Split(string(command[1]), -1), "--out", dir)
	var out, errs bytes.Buffer
	if status := cli.Main(context.Background(), words, &out, &errs, cli.Pipeline{Do: run.Do, List: run.List}); status != 0 {
		t.Fatalf("%s: status %d: %s", words, status, errs.String())
	}
	shows(t, page, string(command[0]), out.String())
	drawn, err := os.ReadFile(filepath.Join(dir, "drawings", "over-switch-ecn-kmin.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(picture, drawn, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if shown, err := os.ReadFile(picture); err != nil || !bytes.Equal(shown, drawn) {
		t.Errorf("%s is not what the sweep draws, %v; make golden writes it", picture, err)
	}
}
