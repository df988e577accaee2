package server

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
)

var update = flag.Bool("update", false, "write the tables of constants in docs/models/host.md again")

const (
	constantsPage  = "../../docs/models/host.md"
	constantsBegin = "<!-- constants: go test ./internal/server -update -->\n"
	constantsEnd   = "<!-- end of constants -->\n"
)

// TestConstantsAreDocumented: the page about the model lists every constant of every
// preset with its source.
func TestConstantsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(constantsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), constantsBegin)
	_, after, ok2 := strings.Cut(rest, constantsEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for constants", constantsPage)
	}
	want := before + constantsBegin + constants(t) + constantsEnd + after
	if want == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s lists other constants than the presets have; go test ./internal/server -update writes them again", constantsPage)
	}
	if err := os.WriteFile(constantsPage, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// constants writes what all presets share, then what each has of its own.
func constants(t *testing.T) string {
	var trees []*Tree
	for _, name := range Presets() {
		trees = append(trees, preset(t, name))
	}
	shared := func(n record.Note) bool {
		for _, tree := range trees {
			found := false
			for _, x := range tree.Notes {
				found = found || x == n
			}
			if !found {
				return false
			}
		}
		return true
	}
	var b strings.Builder
	table := func(title string, notes []record.Note, of func(record.Note) bool) {
		fmt.Fprintf(&b, "\n%s\n\n| constant | value | source |\n|---|---|---|\n", title)
		for _, n := range notes {
			if of(n) {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.TrimPrefix(n.Key, "server."), n.Value, n.Source)
			}
		}
	}
	table("All systems:", trees[0].Notes, shared)
	for _, tree := range trees {
		table("`"+tree.Name+"`:", tree.Notes, func(n record.Note) bool { return !shared(n) })
	}
	b.WriteString("\n")
	return b.String()
}
