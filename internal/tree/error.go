package tree

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/typo"
)

// Error is what is wrong with a scenario: one line that says where, what, and
// what would be right.
type Error struct {
	File      string // file name, or the text of the --set that caused it
	Line, Col int    // 1-based; 0 when there is no place to point at
	Msg       string
}

func (e *Error) Error() string {
	file := strings.NewReplacer("\n", " ", "\r", " ").Replace(e.File)
	switch {
	case e.File == "":
		return e.Msg
	case e.Line == 0:
		return file + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d:%d: %s", file, e.Line, e.Col, e.Msg)
}

// Pos is a place in a file; line 0 means the file as a whole.
type Pos struct {
	File      string
	Line, Col int
}

// Errorf is an error at the place.
func (p Pos) Errorf(format string, args ...any) *Error {
	msg := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	return &Error{File: p.File, Line: p.Line, Col: p.Col, Msg: msg}
}

// Suggest words the second half of an error about an unknown word: the nearest
// right one, or all of them.
func Suggest(s string, words []string) string {
	if w := typo.Nearest(s, words); w != "" {
		return fmt.Sprintf("did you mean %q?", w)
	}
	return "use one of " + strings.Join(words, ", ")
}
