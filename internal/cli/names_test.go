package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/visible"
)

// Names as nobody would give them.
func oddNames() []string {
	return []string{"<svg onload=alert(1)>", "<svg/onload=alert(1)>", "=1+1", "+cmd|' /C calc'!A0", "it's \"h\"", "\"", "two\nlines", "\x1b[31mred\u009b0m",
		"数据中心", "fe80::1", "x->y", "\u202egnp", " ", "&amp;<!--", "</script>", "{{.}}", "%s%n", "CON"}
}

// Hosts, switches, entries and the scenario may be called anything. Terminal, CSV, SVG, pages and
// file names take no harm, columns line up, and what is named in reports is found by that name.
func TestNamesHoldAnything(t *testing.T) {
	t.Chdir(t.TempDir())
	var s, links, flows strings.Builder
	all := oddNames()
	quoted := make([]string, len(all))
	for i, name := range all {
		quoted[i] = strconv.Quote(name)
		links.WriteString("    - {between: [" + quoted[i] + ", \"sw: =1+1\\e[1m\"], rate: 100Gbps}\n")
		flows.WriteString("  - flow: {from: " + quoted[i] + ", to: " + strconv.Quote(all[(i+1)%len(all)]) + ", size: 40KB, name: " + quoted[i] + "}\n")
	}
	s.WriteString("name: " + strconv.Quote(strings.Join(all, "")) + "\ntopology:\n  hosts: [" + strings.Join(quoted, ", ") +
		"]\n  switches: [\"sw: =1+1\\e[1m\"]\n  links:\n" + links.String() + "workload:\n" + flows.String() +
		"  - incast: {to: \"fe80::1\", size: 200KB}\n")
	if err := os.WriteFile("s.yaml", []byte(s.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	say := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := Main(context.Background(), args, &out, &errs, Pipeline{Do: run.Do, List: run.List}); code != exitOK {
			t.Fatalf("%q: status %d: %s", args, code, errs.String())
		}
		for _, c := range out.String() + errs.String() {
			if unicode.IsControl(c) && c != '\n' || unicode.Is(unicode.Bidi_Control, c) {
				t.Errorf("%q writes %q to the terminal", args, c)
			}
		}
		return out.String()
	}
	text := say("run", "s.yaml", "--verbose", "--out", "d", "--csv", "c", "--html", "p.html", "--svg", "v", "--counters", "k", "--series", "queue,rate",
		"--series-out", "s", "--series-ports", `"sw: =1+1`+"\x1b[1m\":3,fe80::1", "--series-qps", `"x->y":1,数据中心`)
	if again := say("report", "d", "--verbose"); again != text {
		t.Error("report does not print what run printed")
	}
	say("run", "d/scenario.yaml", "--quiet")
	columnsLineUp(t, text)
	for _, which := range []string{`"x->y"->*`, `fe80::1 -> "x->y"`, "<svg onload=alert(1)>-><svg/onload=alert(1)>", `it's "h"->"\""`,
		"two\nlines -> \x1b*", "workload:\x1b*", "数据中心->*"} {
		if !strings.Contains(say("report", "d", "--explain", which), "\nMessage ") {
			t.Errorf("--explain %s says nothing", which)
		}
	}
	say("check", "s.yaml")
	say("path", "s.yaml", "fe80::1", "<svg/onload=alert(1)>")
	say("compare", "s.yaml", "--stacks", "rocev2,tcp", "--html", "compare.html")
	say("whatif", "s.yaml", "--html", "whatif.html")
	for _, pattern := range []string{"*.html", "v/*.svg", "c/*.csv", "s/*.csv", "k/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Errorf("%s: %d files, %v", pattern, len(found), err)
		}
		for _, file := range found {
			harmless(t, file)
		}
	}
	if found, _ := filepath.Glob("k/*.ethtool.txt"); len(found) != len(all) {
		t.Errorf("%d hosts have counters, want %d", len(found), len(all))
	}
}

// columnsLineUp holds all sizes in the table of messages to one column of the terminal.
func columnsLineUp(t *testing.T, text string) {
	var columns []int
	for line := range strings.Lines(text) {
		if head, _, is := strings.Cut(line, " 40.0 KB"); is && strings.Contains(head, " -> ") {
			columns = append(columns, visible.Width(head))
		}
	}
	if len(columns) != len(oddNames()) || slices.Min(columns) != slices.Max(columns) {
		t.Errorf("sizes of %d messages in columns %v, want %d in one", len(columns), columns, len(oddNames()))
	}
}

// harmless fails where a file of a run acts: control characters, formulas, tags from names, or SVG
// that is not well formed.
func harmless(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range string(data) {
		if unicode.IsControl(c) && c != '\n' && c != '\t' || unicode.Is(unicode.Bidi_Control, c) {
			t.Errorf("%s holds %q", file, c)
		}
	}
	for _, c := range filepath.Base(file) {
		if unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || strings.ContainsRune(`\:*?"<>|`, c) {
			t.Errorf("%q is a file's name", file)
		}
	}
	switch filepath.Ext(file) {
	case ".csv":
		records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, record := range records {
			for _, cell := range record {
				if _, err := strconv.ParseFloat(cell, 64); cell != "" && err != nil && strings.ContainsRune("=+-@", rune(cell[0])) {
					t.Errorf("%s: %q begins a formula", file, cell)
				}
			}
		}
	case ".html":
		if text := string(data); strings.Contains(text, "<svg onload") || strings.Contains(text, "<svg/onload") || strings.Count(text, "</script>") != strings.Count(text, "<script") ||
			!strings.Contains(text, "&lt;svg onload=alert(1)&gt;") {
			t.Errorf("%s holds a tag from a name, or not the name", file)
		}
	case ".svg":
		d := xml.NewDecoder(bytes.NewReader(data))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", file, err)
				break
			}
			if e, is := token.(xml.StartElement); is {
				for _, a := range e.Attr {
					if strings.HasPrefix(a.Name.Local, "on") {
						t.Errorf("%s: <%s> has %s", file, e.Name.Local, a.Name.Local)
					}
				}
			}
		}
	}
}
