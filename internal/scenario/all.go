package scenario

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/tree"
)

// mostErrors bounds how many errors are listed.
const mostErrors = 50

// standIns are values that most keys take. One stands in for a wrong value that a section
// cannot do without, so that the rest of the section is read.
func standIns() []string { return []string{"100Gbps", "1MB", "1us", "2"} }

// mend is a wrong value: taken out of its section, or with another text in its place.
type mend struct {
	at, section pos
	text        string
}

// Errors lists what is wrong with a scenario, in the order of the file: what Load says first,
// and what it says once that is taken out, and so on, as far as that leaves something to read.
// What is only missing because it was taken out is not listed.
func (s Source) Errors() []*Error {
	if s.Text == nil {
		var bad *Error
		if s.Name, s.Text, bad = open(s.Name); bad != nil {
			return []*Error{bad}
		}
	}
	whole, bad := s.parse()
	if bad != nil {
		return []*Error{bad}
	}
	var entries []pos // of the workload, that are left
	if w := whole.Get("workload"); w != nil {
		for _, item := range w.Items {
			entries = append(entries, item.Pos)
		}
	}
	left := make([]int, len(entries)) // their numbers in the file
	for i := range left {
		left[i] = i
	}
	var found []*Error
	var mends []mend
	for len(found) < mostErrors {
		root := s.mended(mends)
		bad := s.wrong(root)
		if bad == nil {
			break
		}
		at := pos{File: bad.File, Line: bad.Line, Col: bad.Col}
		thin := slices.IndexFunc(mends, func(m mend) bool { return m.section == at })
		if thin >= 0 && s.standIn(mends, thin) {
			continue
		}
		if thin < 0 && at != (pos{}) {
			bad.Msg = renumbered(bad.Msg, left)
			found = append(found, bad)
		}
		if i := slices.Index(s.Set, setOf(bad.File)); i >= 0 {
			s.Set = slices.Delete(slices.Clone(s.Set), i, i+1)
			continue
		}
		shapeless := root.Get("topology").Begins(at)
		section, ok := root.TakeOut(at)
		if i := slices.Index(entries, at); i >= 0 && section == root.Get("workload").Pos {
			entries, left = slices.Delete(entries, i, i+1), slices.Delete(left, i, i+1)
		}
		if !ok || shapeless || root.Get("topology") == nil || root.Get("workload") == nil {
			break // what is left says nothing of the file
		}
		mends = append(mends, mend{at: at, section: section})
	}
	slices.SortStableFunc(found, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return found
}

// mended is the file's tree with what was wrong taken out or replaced.
func (s Source) mended(mends []mend) *node {
	root, _ := tree.Parse(s.Name, s.Text)
	for _, m := range mends {
		if m.text == "" {
			root.TakeOut(m.at)
		} else {
			root.PutText(m.at, m.text)
		}
	}
	return root
}

// standIn looks for a value in place of what was taken out of a section that now lacks it, and
// reports whether the section is read further with one.
func (s Source) standIn(mends []mend, i int) bool {
	m := &mends[i]
	if m.text != "" {
		return false
	}
	value, ok := s.mended(nil).PutText(m.at, "")
	if !ok {
		return false // no single value
	}
	for _, m.text = range standIns() {
		bad := s.wrong(s.mended(mends))
		if bad == nil {
			return true
		}
		if at := (pos{File: bad.File, Line: bad.Line, Col: bad.Col}); !slices.Contains([]pos{m.at, m.section, value}, at) {
			return true
		}
	}
	m.text = ""
	return false
}

// renumbered puts the numbers of the file in place of those that entries have once others
// are taken out.
func renumbered(msg string, left []int) string {
	return regexp.MustCompile(`workload\[[0-9]+\]`).ReplaceAllStringFunc(msg, func(s string) string {
		i, err := strconv.Atoi(s[len("workload[") : len(s)-1])
		if err != nil || i >= len(left) {
			return s
		}
		return indexed("workload", left[i])
	})
}

// setOf is the argument of an error that a --set caused.
func setOf(file string) string {
	const before = "--set "
	if len(file) > len(before) && file[:len(before)] == before {
		return file[len(before):]
	}
	return ""
}

// wrong is what Read says of a tree.
func (s Source) wrong(root *node) *Error {
	if root.Kind != mappingNode || root.Get("topology") == nil || root.Get("workload") == nil {
		_, err := Read(s)
		bad, _ := err.(*Error)
		return bad
	}
	_, bad := s.resolve(root)
	return bad
}
