package scenarios_test

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/cli"
	"github.com/hopscope/hopscope/internal/run"
)

// The page of incidents shows what its commands print: of a run its verdict's place and the
// explanation, of an experiment all of it.
func TestReadmeIncidents(t *testing.T) {
	for _, c := range []struct{ command, from, to string }{
		{"hopscope run slow-receiver --explain slowest --brief", "Message 0: ", "\nCeiling"},
		{"hopscope whatif slow-receiver", "", ""},
		{"hopscope run victim-flow --explain 'h4->h5' --brief", "Message 4: ", "\nCeiling"},
		{"hopscope whatif victim-flow 'h4->h5' --runs 6", "", ""},
		{"hopscope run link-failure --explain 11 --brief", "Message 11: ", "\nCeiling"},
		{"hopscope whatif link-failure 11", "", ""},
	} {
		words := strings.Fields(strings.ReplaceAll(c.command, "'", ""))[1:]
		var out, errs bytes.Buffer
		pipeline := cli.Pipeline{Do: run.Do, List: run.List}
		if status := cli.Main(context.Background(), words, &out, &errs, pipeline); status != 0 {
			t.Fatalf("%s: status %d: %s", c.command, status, errs.String())
		}
		printed := out.String()
		if c.from != "" {
			_, after, found := strings.Cut(printed, c.from)
			part, _, ends := strings.Cut(after, c.to)
			if !found || !ends {
				t.Fatalf("%s does not print what stands from %q to %q", c.command, c.from, c.to)
			}
			printed = c.from + part
		}
		shows(t, "../docs/incidents.md", "$ "+c.command+"\n", printed)
	}
}

// Reports of others: each command of the table prints what stands beside it in quotes, and not
// what it says that it does not.
func TestReports(t *testing.T) {
	page, err := os.ReadFile("../docs/incidents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "<!-- reports: ")
	quoted := regexp.MustCompile("(and not )?`([^`]+)`")
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.Contains(cells[3], "`hopscope ") {
			continue
		}
		rows++
		command := strings.Trim(cells[3], " `")
		words := strings.Fields(strings.ReplaceAll(command, " docs/", " ../docs/"))[1:]
		var out, errs bytes.Buffer
		cli.Main(context.Background(), words, &out, &errs, cli.Pipeline{Do: run.Do, List: run.List}) // a deadlock has a status of its own
		printed := strings.Join(strings.Fields(out.String()+errs.String()), " ")
		for _, q := range quoted.FindAllStringSubmatch(cells[4], -1) {
			if strings.Contains(printed, q[2]) == (q[1] != "") {
				t.Errorf("%s: the page says %s: %s", command, q[0], printed[:min(len(printed), 1200)])
			}
		}
	}
	if rows < 28 {
		t.Errorf("%d reports", rows)
	}
}
