package report

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
)

// Names from files reach a terminal as text: control characters are seen and do nothing.
func TestNamesOnTerminal(t *testing.T) {
	evil := "<svg onload=x>=1+1\"\x1b[2J\x07\x9b鱼"
	r := &record.Run{Scenario: evil, Description: evil, Warnings: []string{evil}, Notes: []record.Note{{Key: evil, Value: evil, Source: evil}},
		Messages: []record.Message{{Src: evil, Dst: evil, Workload: evil, Verb: "WRITE", Status: evil, CompletionPS: -1}}}
	for _, colour := range []bool{false, true} {
		var b strings.Builder
		if err := Text(&b, r, TextOptions{Colour: colour, Verbose: true}); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if colour { // its own sequences
			for _, own := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[1;31m"} {
				text = strings.ReplaceAll(text, own, "")
			}
		}
		if strings.ContainsAny(text, "\x1b\x07\u009b") {
			t.Errorf("a control character reaches the terminal: %q", text)
		}
		if !strings.Contains(text, "鱼") {
			t.Error("the name is missing")
		}
	}
}
