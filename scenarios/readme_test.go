package scenarios_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The README in Chinese has the commands of the English one, in its order.
func TestReadmesAgree(t *testing.T) {
	commands := func(file string) (out []string) {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fenced, comment := false, regexp.MustCompile(` +#.*`)
		for line := range strings.Lines(string(page)) {
			line = strings.TrimRight(line, "\n")
			switch {
			case line == "```":
				fenced = !fenced
			case fenced:
				out = append(out, comment.ReplaceAllString(line, ""))
			case strings.HasPrefix(line, "| "):
				for _, code := range regexp.MustCompile("`[^`]+`").FindAllString(line, -1) {
					out = append(out, strings.Trim(code, "`"))
				}
			}
		}
		return out
	}
	en, zh := commands("../README.md"), commands("../README.zh.md")
	if len(en) < 30 || !slices.Equal(en, zh) {
		t.Errorf("the READMEs have different commands:\n%q\n%q", en, zh)
	}
}
