package report

import (
	"strings"

	"github.com/hopscope/hopscope/internal/visible"
)

// hung writes prose of any language, indented, each line in a style, and those after the first
// indented more, so that one sees where the next thing begins.
func (t *text) hung(s string, indent int, style func(string) string) {
	const more = 2
	for i, l := range visible.Wrap(visible.Text(s), t.width-indent-more) {
		if i == 1 {
			indent += more
		}
		t.line(strings.Repeat(" ", indent) + style(strings.TrimRight(l, " ")))
	}
}
