package ns3

import (
	"path/filepath"
	"strings"

	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/typo"
)

// config is the config file: the words after each key.
type config struct {
	*importer.Reader
	file  string
	keys  map[string][]word // looked up, never iterated
	at    map[string]pos
	names []string // in the order of the file
}

// readConfig reads the config file and puts the arguments of --set over it.
func readConfig(r *importer.Reader, file string, src []byte, set []string) *config {
	c := &config{Reader: r, file: file, keys: map[string][]word{}, at: map[string]pos{}}
	c.read(rowsOf(file, string(src)))
	for _, s := range set {
		at := pos{File: "--set " + s}
		key, value, _ := strings.Cut(s, "=")
		words := tree.Words("", 0, key+" "+value, len(s))
		for i := range words {
			words[i].Pos = at
		}
		c.read(words)
	}
	return c
}

// checkSet looks at arguments of --set before any file is read.
func checkSet(r *importer.Reader, set []string) {
	for _, s := range set {
		at := pos{File: "--set " + s}
		switch key, _, ok := strings.Cut(s, "="); {
		case !ok:
			r.Fail(at, "no value; write --set KEY=value, such as --set BUFFER_SIZE=4")
		case key == "seed":
			r.Fail(at, "a config file of ns-3 has no seed; give it to hopscope run as --seed, or write it into the scenario")
		}
	}
}

// rowsOf are all words of a text.
func rowsOf(file, src string) (words []word) {
	line := 0
	for text := range strings.SplitSeq(src, "\n") {
		line++
		words = append(words, tree.Words(file, line, text, len(text))...)
	}
	return words
}

// read takes words key by key. Text in braces is a comment.
func (c *config) read(all []word) {
	var words []word
	comment := false
	for _, w := range all {
		comment = comment || strings.HasPrefix(w.Text, "{")
		if !comment {
			words = append(words, w)
		}
		comment = comment && !strings.HasSuffix(w.Text, "}")
	}
	seen := map[string]int{} // line by key; looked up, never iterated
	for len(words) > 0 && c.Err == nil {
		key := words[0]
		if line, twice := seen[key.Text]; twice {
			c.Fail(key.Pos, "%s stands in line %d as well; keep one", key.Text, line)
			return
		}
		seen[key.Text] = key.Pos.Line
		n := valuesOf(key.Text)
		if n == 0 {
			c.Fail(key.Pos, "unknown key %q; %s", key.Text, suggest(key.Text))
			return
		}
		words = words[1:]
		if n < 0 && len(words) > 0 {
			n = 1 + 2*int(c.Number(words[0], key.Text+" length", 1, 64))
		}
		n = max(n, 1)
		if len(words) < n {
			c.Fail(key.Pos, "%s needs %d values and the file ends after %d; add the rest", key.Text, n, len(words))
			return
		}
		if c.keys[key.Text] == nil {
			c.names = append(c.names, key.Text)
		}
		c.keys[key.Text], c.at[key.Text] = words[:n], key.Pos
		words = words[n:]
	}
}

func suggest(key string) string {
	if w := typo.Nearest(key, append(Section(), elsewhere()...)); w != "" {
		return "did you mean " + w + "?"
	}
	return "remove it, or check the number of values of the key before it"
}

// word returns a key's only value, or a default.
func (c *config) word(key, otherwise string) word {
	if w := c.keys[key]; len(w) > 0 {
		return w[0]
	}
	return word{Text: otherwise, Pos: c.begin()}
}

// need returns a key's only value, which must be there.
func (c *config) need(key, example string) word {
	if len(c.keys[key]) == 0 {
		c.Fail(c.begin(), "%s is missing; add a line such as %s %s", key, key, example)
	}
	return c.word(key, example)
}

// begin is the begin of the file.
func (c *config) begin() pos { return pos{File: c.file, Line: 1, Col: 1} }

// section writes the keys that an ns3 section of a scenario has. Maps by rate become mappings.
func (c *config) section() *node {
	n := &node{Kind: tree.Mapping, Pos: c.begin()}
	put := func(m *node, key string, at pos, value word) { m.Put(key, at, value.At(value.Text)) }
	for _, key := range Section() {
		switch words := c.keys[key]; {
		case len(words) == 1:
			put(n, key, c.at[key], words[0])
		case len(words) > 1:
			m := &node{Kind: tree.Mapping, Pos: words[0].Pos}
			for w := words; len(w) >= 3; w = w[2:] {
				if m.Get(w[1].Text) == nil { // the first entry of a rate counts
					put(m, w[1].Text, w[1].Pos, w[2])
				}
			}
			n.Put(key, c.at[key], m)
		}
	}
	return n
}

// places are where a file that the config file names may be: as given, as the simulators
// take it, then from the folder of the config file, then by its name alone in that folder,
// for files that were moved together.
func (c *config) places(name string) []string {
	dir := filepath.Dir(c.file)
	out := []string{filepath.Clean(name)}
	for _, path := range []string{filepath.Join(dir, name), filepath.Join(dir, filepath.Base(name))} {
		if !has(out, path) && !(filepath.IsAbs(name) && path == filepath.Join(dir, name)) {
			out = append(out, path)
		}
	}
	return out
}
