package server

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Warning is what a file leaves open, and what is assumed instead.
type Warning struct {
	Line int // of the file, from 1; 0: of the whole
	Text string
}

// String is "line: text".
func (w Warning) String() string {
	if w.Line == 0 {
		return w.Text
	}
	return strconv.Itoa(w.Line) + ": " + w.Text
}

// In is the warning with the name of its file, as errors have it: "file:line: text".
func (w Warning) In(file string) string {
	if w.Line == 0 {
		return file + ": " + w.Text
	}
	return file + ":" + w.String()
}

// warnings gathers them.
type warnings struct{ list []Warning }

func (w *warnings) warn(line int, format string, args ...any) {
	w.list = append(w.list, Warning{line, fmt.Sprintf(format, args...)})
}

// sorted returns them in the order of the file.
func (w *warnings) sorted() []Warning {
	slices.SortStableFunc(w.list, func(a, b Warning) int { return cmp.Compare(a.Line, b.Line) })
	return w.list
}
