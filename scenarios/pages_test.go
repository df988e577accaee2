package scenarios_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/cli"
	"github.com/hopscope/hopscope/internal/counters"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// What a scenario's page tells is what its run does: the story in its order with its times,
// counters with their values, what changes come to, what `hopscope whatif` prints and every
// warning. With -update the page is written so; only what happened stays as told.
func TestPages(t *testing.T) {
	for _, s := range run.List() {
		t.Run(s.Name, func(t *testing.T) {
			file := filepath.Join(s.Name, "README.md")
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r, v, err := run.Do(context.Background(), run.Options{Scenario: s.Name, Set: s.Reduced, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			page := string(src)
			for _, w := range v.Warnings {
				if !strings.Contains(strings.Join(strings.Fields(page), " "), w) {
					t.Errorf("%s does not mention the warning %q", file, w)
				}
			}
			now := changes(t, s.Name, commands(t, s.Name, story(t, page, r), r))
			if len(s.Symptoms) > 0 && !strings.Contains(page, "\n"+storyHead) {
				t.Errorf("%s has symptoms and tells no story", file)
			}
			if *update {
				if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if line, a, b := firstDifference(page, now); line > 0 {
				t.Errorf("%s line %d\nwritten %s\nis      %s\nmake golden writes what is; then mend what the page says of it", file, line, a, b)
			}
		})
	}
}

// storyHead begins the table of what happened, by time.
const storyHead = "| when | who | what |\n|---|---|---|\n"

// event is something of a run that a story may tell.
type event struct {
	who, what string
	at        units.Time
}

// events are all that a story may tell, by time.
func events(r *record.Run) (out []event) {
	for i := range r.Ledger {
		e := &r.Ledger[i]
		out = append(out, event{e.Actor.String(), e.Mechanism.String(), e.First})
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		who := record.NodeOf(m.Src) + " -> " + record.NodeOf(m.Dst)
		out = append(out, event{who, "posted", m.StartPS})
		if m.CompletionPS >= 0 {
			out = append(out, event{who, m.Status, m.StartPS + m.CompletionPS})
		}
	}
	for i := range r.Failures {
		f := &r.Failures[i]
		who := f.Link.String()
		out = append(out, event{who, "failed", f.DownPS})
		for _, e := range []event{{who, "noticed", f.NoticedPS}, {who, "rerouted", f.ReroutedPS}, {who, "works again", f.UpPS}} {
			if e.at > 0 {
				out = append(out, e)
			}
		}
	}
	for _, f := range r.Faults {
		out = append(out, event{f.Node, string(f.Kind) + " begin", f.FromPS})
		if f.ToPS >= 0 {
			out = append(out, event{f.Node, string(f.Kind) + " end", f.ToPS})
		}
	}
	for _, s := range r.Storms {
		if s.ToPS >= 0 {
			out = append(out, event{fmt.Sprintf("%v prio %d", s.Port, s.Class), "restored", s.ToPS})
		}
	}
	slices.SortStableFunc(out, func(a, b event) int { return int(max(-1, min(1, a.at-b.at))) })
	return out
}

// story returns the page with the times of its story as the run has them. Its rows must be
// events of the run in their order.
func story(t *testing.T, page string, r *record.Run) string {
	t.Helper()
	before, rest, found := strings.Cut(page, storyHead)
	if !found {
		return page
	}
	all, used, last := events(r), map[event]bool{}, units.Time(-1)
	var b strings.Builder
	for strings.HasPrefix(rest, "|") {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			t.Fatalf("a story has three columns: %s", line)
		}
		who, what := strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])
		what, _, _ = strings.Cut(what, ": ")
		i := slices.IndexFunc(all, func(e event) bool { return e.who == who && e.what == what && !used[e] })
		if i < 0 {
			t.Errorf("nothing of the run is %q of %s", what, who)
			b.WriteString(line + "\n")
			continue
		}
		used[all[i]] = true
		if all[i].at < last {
			t.Errorf("told out of order: %s (it is at %v)", line, metrics.FormatTime(all[i].at))
		}
		last = all[i].at
		fmt.Fprintf(&b, "| %s |%s|%s|\n", metrics.FormatTime(last), cells[2], cells[3])
	}
	return before + storyHead + b.String() + rest
}

var (
	block   = regexp.MustCompile("(?s)```\n([^\n]*)\n(.*?)```\n")
	word    = regexp.MustCompile(`'([^']*)'|(\S+)`)
	counter = regexp.MustCompile(`^(\S+)\$ (.*) \| grep -(o?)E '(.*)'$`)
)

// commands returns the page with what its commands print: those on a box of the run, and
// `hopscope whatif`.
func commands(t *testing.T, name, page string, r *record.Run) string {
	t.Helper()
	return block.ReplaceAllStringFunc(page, func(b string) string {
		m := block.FindStringSubmatch(b)
		printed := m[2]
		if c := counter.FindStringSubmatch(m[1]); c != nil {
			printed = onBox(t, r, c[1], c[2], c[3] != "", regexp.MustCompile(c[4]))
		} else if strings.HasPrefix(m[1], "$ hopscope whatif "+name) {
			var words []string
			for _, w := range word.FindAllStringSubmatch(strings.TrimPrefix(m[1], "$ hopscope "), -1) {
				words = append(words, w[1]+w[2])
			}
			printed = hopscope(t, words)
		}
		return "```\n" + m[1] + "\n" + printed + "```\n"
	})
}

// onBox is what a command prints of itself on a box, as far as the pattern takes it: whole
// lines, or only what matches.
func onBox(t *testing.T, r *record.Run, box, command string, only bool, pattern *regexp.Regexp) string {
	t.Helper()
	var b strings.Builder
	for _, f := range counters.Files(r) {
		if !strings.HasPrefix(f.Name, box+".") {
			continue
		}
		_, text, found := strings.Cut(f.Text, "$ "+command+"\n")
		if !found {
			continue
		}
		text, _, _ = strings.Cut(text, "\n$ ")
		for line := range strings.Lines(text) {
			switch {
			case only:
				for _, match := range pattern.FindAllString(line, -1) {
					b.WriteString(match + "\n")
				}
			case pattern.MatchString(line):
				b.WriteString(line)
			}
		}
	}
	if b.Len() == 0 {
		t.Errorf("%s$ %s prints nothing that matches %v", box, command, pattern)
	}
	return b.String()
}

// hopscope is what the program prints.
func hopscope(t *testing.T, words []string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := cli.Main(context.Background(), words, &out, &errs, cli.Pipeline{Do: run.Do, List: run.List}); status != 0 {
		t.Fatalf("hopscope %v: status %d: %s", words, status, errs.String())
	}
	return out.String()
}

// changesHead begins the table of what changes come to.
const changesHead = "| change | done after | pauses | drops | |\n|---|---|---|---|---|\n"

var set = regexp.MustCompile("--set (?:'([^']+)'|([^ `]+))")

// changes returns the page with what its changes come to.
func changes(t *testing.T, name, page string) string {
	t.Helper()
	before, rest, found := strings.Cut(page, changesHead)
	if !found {
		return page
	}
	var b strings.Builder
	for strings.HasPrefix(rest, "|") {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		cells := strings.Split(line, "|")
		if len(cells) != 7 {
			t.Fatalf("a table of changes has five columns: %s", line)
		}
		o := run.Options{Scenario: name, Workers: 2, Set: reduced(name)}
		for _, m := range set.FindAllStringSubmatch(cells[1], -1) {
			o.Set = append(o.Set, m[1]+m[2])
		}
		r, _, err := run.Do(context.Background(), o)
		if err != nil {
			t.Fatalf("%s: %v", cells[1], err)
		}
		pauses, drops := int64(0), int64(0)
		for i := range r.Ports {
			pauses += r.Ports[i].PausesSent
			drops += r.Ports[i].Dropped
		}
		took := metrics.FormatTime(r.LastCompletion() - r.FirstPost())
		failed := 0
		for i := range r.Messages {
			if s := r.Messages[i].Status; s != "success" && s != "not delivered" {
				failed++
			}
		}
		switch {
		case r.OpenMessages > 0:
			took = "never"
		case failed > 0:
			took += fmt.Sprintf(", %d failed", failed)
		}
		fmt.Fprintf(&b, "|%s| %s | %s | %s |%s|\n", cells[1], took, metrics.FormatCount(pauses), metrics.FormatCount(drops), cells[5])
	}
	return before + changesHead + b.String() + rest
}
