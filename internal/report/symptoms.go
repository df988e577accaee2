package report

import (
	"io"
	"strings"
)

// Symptoms writes what shows a symptom: of each a scenario, the symptom and the reason there.
func Symptoms(w io.Writer, found [][3]string, opt TextOptions) error {
	t := table{columns: []column{{title: "Scenario"}, {title: "Symptom"}, {title: "Because", wrap: true}}}
	for _, f := range found {
		t.add(f[:]...)
	}
	width := opt.Width
	if width == 0 {
		width = DefaultWidth
	}
	lines := append(t.lines(max(width, minWidth), paint(opt.Colour)),
		"hopscope run NAME repeats one; scenarios/NAME/README.md says how to confirm it and what helps")
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}
