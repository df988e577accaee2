package scenario

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
)

// mostErrors bounds how many errors are listed.
const mostErrors = 50

// Errors lists what is wrong with a scenario, in the order of the file: what Load says first,
// and what it says once that is taken out, and so on, as far as that leaves something to read.
// What is only missing because it was taken out is not listed. A src other than nil is the
// scenario's text, which nameOrFile then only names.
func Errors(nameOrFile string, src []byte, set []string, seed *uint64) []*Error {
	file := nameOrFile
	if src == nil {
		var bad *Error
		if file, src, bad = open(nameOrFile); bad != nil {
			return []*Error{bad}
		}
	}
	whole, bad := parseTree(file, src)
	if bad != nil {
		return []*Error{bad}
	}
	var entries []pos // of the workload, that are left
	if w := whole.get("workload"); w != nil {
		for _, item := range w.items {
			entries = append(entries, item.pos)
		}
	}
	left := make([]int, len(entries)) // their numbers in the file
	for i := range left {
		left[i] = i
	}
	var found []*Error
	var out []pos     // what was taken out
	thin := []pos{{}} // sections that something was taken out of
	for len(found) < mostErrors {
		root, _ := parseTree(file, src)
		for _, at := range out {
			root.takeOut(at)
		}
		bad := wrong(file, root, src, set, seed)
		if bad == nil {
			break
		}
		at := pos{bad.File, bad.Line, bad.Col}
		if !slices.Contains(thin, at) {
			bad.Msg = renumbered(bad.Msg, left)
			found = append(found, bad)
		}
		if i := slices.Index(set, setOf(bad.File)); i >= 0 {
			set = slices.Delete(slices.Clone(set), i, i+1)
			continue
		}
		shapeless := root.get("topology").at(at)
		section, ok := root.takeOut(at)
		if i := slices.Index(entries, at); i >= 0 && section == root.get("workload").pos {
			entries, left = slices.Delete(entries, i, i+1), slices.Delete(left, i, i+1)
		}
		if !ok || shapeless || root.get("topology") == nil || root.get("workload") == nil {
			break // what is left says nothing of the file
		}
		out, thin = append(out, at), append(thin, section)
	}
	slices.SortStableFunc(found, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return found
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

// at reports whether a section or a list in it, or an item of one, begins at a place. Of the
// topology: without it nothing else would be judged as it is.
func (n *node) at(place pos) bool {
	if n == nil {
		return false
	}
	if n.kind != scalarNode && n.pos == place {
		return true
	}
	for i := range n.fields {
		f := &n.fields[i]
		if f.pos == place && f.value != nil && f.value.kind != scalarNode || f.value.at(place) {
			return true
		}
	}
	return slices.ContainsFunc(n.items, func(item *node) bool { return item.pos == place || item.at(place) })
}

// setOf is the argument of an error that a --set caused.
func setOf(file string) string {
	const before = "--set "
	if len(file) > len(before) && file[:len(before)] == before {
		return file[len(before):]
	}
	return ""
}

// wrong is what parseChanged says of a tree.
func wrong(file string, root *node, src []byte, set []string, seed *uint64) *Error {
	if root.kind != mappingNode || root.get("topology") == nil || root.get("workload") == nil {
		_, err := ParseStack(file, src, "", set, seed)
		bad, _ := err.(*Error)
		return bad
	}
	_, bad := resolveTree(file, root, src, changes{set: set, seed: seed})
	return bad
}

// takeOut removes the innermost field or item that begins at a place, or whose value does,
// and returns where the section that had it begins.
func (n *node) takeOut(at pos) (section pos, ok bool) {
	if n == nil {
		return pos{}, false
	}
	for i := range n.fields {
		f := &n.fields[i]
		if section, ok = f.value.takeOut(at); ok {
			return section, true
		}
		if f.pos == at || f.value != nil && f.value.pos == at {
			n.fields = slices.Delete(n.fields, i, i+1)
			return n.pos, true
		}
	}
	for i, item := range n.items {
		if section, ok = item.takeOut(at); ok {
			return section, true
		}
		if item.pos == at {
			n.items = slices.Delete(n.items, i, i+1)
			return n.pos, true
		}
	}
	return pos{}, false
}
