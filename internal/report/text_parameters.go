package report

import (
	"strings"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
)

// A source that gave more than groupWhole values is shown by its first
// groupFirst: a preset's name stands there, and says the rest.
const (
	groupWhole = 6
	groupFirst = 3
)

// parameters lists values and where they come from: a paragraph per source, or
// with Verbose a line per value.
func (t *text) parameters() {
	if len(t.r.Notes) == 0 {
		return
	}
	t.section()
	if t.opt.Verbose {
		t.everyParameter(parameterTitles())
		return
	}
	t.line(t.paint.bold(t.l.Of("Parameters")) + t.l.Of(" [source] (all of them: --verbose)"))
	for _, g := range groups(given(t.r.Notes)) {
		t.prose(g.In(t.l), plain)
	}
}

// given leaves out what presets of servers and memories of switches are made of, but for
// the presets' names and what stands in the scenario: hopscope show lists it.
func given(notes []record.Note) []record.Note {
	var out []record.Note
	for _, n := range notes {
		inside := strings.HasPrefix(n.Key, "server.") || strings.HasPrefix(n.Key,
			"switch.memory.") || strings.HasPrefix(n.Key, "hosts.") && strings.Contains(n.Key, ".server.")
		if !inside || n.Source == "scenario" {
			out = append(out, n)
		}
	}
	return out
}

// parameterTitles are the titles of a table of parameters.
func parameterTitles() [3]string { return [3]string{"Parameter", "Value", "Source"} }

func (t *text) everyParameter(titles [3]string) {
	tab := &table{columns: []column{{title: titles[0]}, {title: titles[1]}, {title: titles[2]}}}
	before := ""
	for _, n := range t.r.Notes {
		source := n.Source
		if source == before {
			source = `"` // ditto
		}
		before = n.Source
		tab.addNote(source, n.Key, n.Value)
	}
	t.table(tab)
}

// group is the parameters of one section ("dcqcn") that one source gave.
type group struct {
	section, source string
	values          []string
}

// In writes "section: key value, key value [source]".
func (g group) In(l lang.Language) string {
	shown, more := g.values, ""
	if len(shown) > groupWhole {
		more = l.Sprintf(", and %d more", len(shown)-groupFirst)
		shown = shown[:groupFirst]
	}
	head := ""
	if g.section != "" {
		head = g.section + l.Of(": ")
	}
	return head + strings.Join(shown, ", ") + more + " [" + g.source + "]"
}

// groups gathers notes by section and source, in order of appearance.
func groups(notes []record.Note) []group {
	type origin struct{ section, source string }
	var out []group
	at := map[origin]int{}
	for _, n := range notes {
		section, key := cutSection(n.Key)
		o := origin{section, n.Source}
		i, seen := at[o]
		if !seen {
			i = len(out)
			at[o] = i
			out = append(out, group{section: section, source: n.Source})
		}
		out[i].values = append(out[i].values, key+" "+n.Value)
	}
	return out
}

// cutSection splits "dcqcn.rpg_gd" into section and key; only the part before
// blanks counts, since "switch.ecn (2.5Gbps)" has a dot that divides nothing.
func cutSection(key string) (section, rest string) {
	name, _, _ := strings.Cut(key, " ")
	i := strings.IndexByte(name, '.')
	if i < 0 {
		return "", key
	}
	return key[:i], key[i+1:]
}
