package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/scenario"
)

// The mark stands below the column that the error names, tabs and long lines
// included; what has no line has no excerpt.
func TestExcerpt(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.yaml")
	long := strings.Repeat("x", 200) + "HERE" + strings.Repeat("y", 200)
	if err := os.WriteFile(file, []byte("name: a\n\tbad: 1\r\n"+long+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		e    scenario.Error
		want string
	}{
		{scenario.Error{File: file, Line: 1, Col: 7}, "    1 | name: a\n      |       ^\n"},
		{scenario.Error{File: file, Line: 2, Col: 2}, "    2 |  bad: 1\n      |  ^\n"},
		{scenario.Error{File: file, Line: 1, Col: 8}, "    1 | name: a\n      |        ^\n"},
		{scenario.Error{File: file, Line: 1, Col: 90}, "    1 | \n      | ^\n"},
		{scenario.Error{File: file, Line: 9, Col: 1}, ""},
		{scenario.Error{File: file}, ""},
		{scenario.Error{File: "--set a=b"}, ""},
		{scenario.Error{File: filepath.Join(dir, "none"), Line: 1, Col: 1}, ""},
	} {
		if got := excerpt(&c.e); got != c.want {
			t.Errorf("%d:%d:\n got  %q\n want %q", c.e.Line, c.e.Col, got, c.want)
		}
	}
	lines := strings.Split(excerpt(&scenario.Error{File: file, Line: 3, Col: 201}), "\n")
	if i := strings.Index(lines[1], "^"); i < 0 || len(lines[0]) > 108 || !strings.HasPrefix(lines[0][i:], "HERE") {
		t.Errorf("%q and %q", lines[0], lines[1])
	}
	if got := excerpt(&scenario.Error{File: "incast-4to1", Line: 1, Col: 1}); !strings.HasPrefix(got, "    1 | name: incast-4to1\n") {
		t.Errorf("of a shipped scenario: %q", got)
	}
}

func TestMany(t *testing.T) {
	for n, want := range map[int]string{0: "no switches", 1: "1 switch", 2: "2 switches", 1024: "1,024 switches"} {
		if got := many(n, "switch", "es"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
