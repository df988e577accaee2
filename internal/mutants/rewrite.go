package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Variables of the environment by which the test program learns which mutant is
// on, and where to note the mutants that it comes by.
const (
	variableOn    = "HOPSCOPE_MUTANT_ON"
	variableReach = "HOPSCOPE_MUTANT_REACH"
)

// support is what changed packages get besides: whether a mutant is on, and the
// operators. Most of it is inlined, and a mutant that is off costs a comparison.
const support = `package %s

import (
	hmatomic "sync/atomic"

	hmos "os"
	hmstrconv "strconv"
)

var hmActive = func() int { n, _ := hmstrconv.Atoi(hmos.Getenv("` + variableOn + `")); return n }()

var hmReach, hmSeen = func() (*hmos.File, []hmatomic.Bool) {
	f, err := hmos.OpenFile(hmos.Getenv("` + variableReach + `"), hmos.O_APPEND|hmos.O_WRONLY, 0)
	if err != nil {
		return nil, nil
	}
	return f, make([]hmatomic.Bool, %d)
}()

func hmOn(n int) bool { return n == hmActive || hmReach != nil && hmReached(n) }

func hmReached(n int) bool {
	if !hmSeen[n].Swap(true) {
		hmReach.WriteString(hmstrconv.Itoa(n) + "\n")
	}
	return false
}

type hmNumber interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

func hmAdd[T hmNumber](n int, a, b T) T { if hmOn(n) { return a - b }; return a + b }
func hmSub[T hmNumber](n int, a, b T) T { if hmOn(n) { return a + b }; return a - b }
func hmAddLess[T hmNumber](n int, a, b T) T { if hmOn(n) { return a }; return a + b }
func hmSubLess[T hmNumber](n int, a, b T) T { if hmOn(n) { return a }; return a - b }
func hmMin[T hmNumber](n int, a, b T) T { if hmOn(n) { return max(a, b) }; return min(a, b) }
func hmMax[T hmNumber](n int, a, b T) T { if hmOn(n) { return min(a, b) }; return max(a, b) }
func hmPick[T any](n int, other, own T) T { if hmOn(n) { return other }; return own }
`

// overlay writes the changed files of the package to folder, and returns the
// file that tells the go command to take them for those of the package.
func (p *pkg) overlay(folder string, list []*mutant) (string, error) {
	replaced := map[string]string{}
	put := func(name, text string) error {
		to := filepath.Join(folder, name)
		replaced[filepath.Join(p.dir, name)] = to
		return os.WriteFile(to, []byte(text), 0o666)
	}
	if err := put("hm_support.go", fmt.Sprintf(support, p.name, len(list)+1)); err != nil {
		return "", err
	}
	for _, f := range p.files {
		var own []*mutant
		for _, m := range list {
			if m.file == f {
				own = append(own, m)
			}
		}
		if len(own) == 0 {
			continue
		}
		if err := put(f.name, rewrite(f.source, own)); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	to := filepath.Join(folder, "overlay.json")
	return to, os.WriteFile(to, data, 0o666)
}

// edit puts text in place of a range of bytes, which may be empty.
type edit struct {
	at, to int
	order  [3]int // among edits at the same place
	text   string
}

// rewrite applies the mutants, whose ranges lie beside or within one another.
// Where several meet, what ends comes before what begins, the inner ends first
// and the outer begins first.
func rewrite(source []byte, list []*mutant) string {
	var edits []edit
	for _, m := range list {
		number := func(s string) string { return strings.ReplaceAll(s, "#N#", fmt.Sprint(m.id)) }
		edits = append(edits,
			edit{m.start, m.start, [3]int{1, -m.end, -m.id}, number(m.prefix)},
			edit{m.end, m.end, [3]int{0, -m.start, m.id}, number(m.suffix)})
		if m.swapTo > 0 {
			edits = append(edits, edit{m.swapAt, m.swapTo, [3]int{2}, number(m.swap)})
		}
	}
	slices.SortFunc(edits, func(a, b edit) int {
		return cmp.Or(a.at-b.at, slices.Compare(a.order[:], b.order[:]))
	})
	var out strings.Builder
	at := 0
	for _, e := range edits {
		out.Write(source[at:e.at])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(source[at:])
	return out.String()
}

// nested leaves out generated mutants whose range cuts that of one of the table
// in two, and of two that swap the same operator the later.
func nested(list []*mutant) (kept []*mutant) {
	for _, m := range list {
		cuts := func(o *mutant) bool {
			if o.file != m.file {
				return false
			}
			crosses := m.start < o.start && o.start < m.end && m.end < o.end || o.start < m.start && m.start < o.end && o.end < m.end
			return crosses || m.swapTo > 0 && o.swapTo > 0 && m.swapAt == o.swapAt || o.named && m.swapTo > 0 && o.start <= m.swapAt && m.swapAt < o.end && o.start > m.start
		}
		if !slices.ContainsFunc(kept, cuts) {
			kept = append(kept, m)
		}
	}
	return kept
}
