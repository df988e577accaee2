package tree

import (
	"math"
	"strconv"
	"strings"
)

// Word is a word of a text file, with its place.
type Word struct {
	Text string
	Pos  Pos
}

// At is a scalar that errors place where the word stands.
func (w Word) At(text string) *Node { return &Node{Kind: Scalar, Text: text, Pos: w.Pos} }

// Number parses a whole number within a range. On an error it is the least.
func (w Word) Number(what string, lo, hi int64) (int64, *Error) {
	v, err := strconv.ParseInt(w.Text, 10, 64)
	if err != nil || v < lo || v > hi {
		return lo, w.Pos.Errorf("%s %q is not a whole number from %d to %d", what, w.Text, lo, hi)
	}
	return v, nil
}

// Decimal parses a number from 0 to hi.
func (w Word) Decimal(what string, hi float64) (float64, *Error) {
	v, err := strconv.ParseFloat(w.Text, 64)
	if err != nil || !(v >= 0 && v <= hi) || math.IsInf(v, 0) {
		return 0, w.Pos.Errorf("%s %q is not a number from 0 to %g", what, w.Text, hi)
	}
	return v, nil
}

// Words splits a line into words, at most one more than most.
func Words(file string, line int, text string, most int) []Word {
	var words []Word
	for i := 0; i < len(text) && len(words) <= most; {
		if isSpace(text[i]) {
			i++
			continue
		}
		j := i
		for j < len(text) && !isSpace(text[j]) {
			j++
		}
		words = append(words, Word{text[i:j], Pos{file, line, i + 1}})
		i = j
	}
	return words
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// Cells splits a line of comma-separated values that begins at a place.
func Cells(at Pos, text string) []Word {
	var cells []Word
	for cell := range strings.SplitSeq(text, ",") {
		trimmed := strings.TrimSpace(cell)
		cells = append(cells, Word{trimmed, Pos{at.File, at.Line, at.Col + strings.Index(cell, trimmed)}})
		at.Col += len(cell) + 1
	}
	return cells
}
