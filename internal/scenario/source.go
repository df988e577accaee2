package scenario

import "strings"

// SourceLine returns the line of the scenario or other file that an error
// points at, as it stands there; ok is false when it points at none.
func SourceLine(e *Error) (line string, ok bool) {
	if e.Line < 1 || e.File == "" {
		return "", false
	}
	_, src, bad := open(e.File)
	if bad != nil {
		return "", false
	}
	n := 0
	for text := range strings.SplitSeq(string(src), "\n") {
		if n++; n == e.Line {
			return strings.TrimRight(text, "\r"), true
		}
	}
	return "", false
}
