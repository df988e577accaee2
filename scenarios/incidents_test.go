package scenarios_test

import (
	"bytes"
	"context"
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
