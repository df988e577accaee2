package scenario

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of keys in docs/formats/scenario.md again")

const (
	keysPage  = "../../docs/formats/scenario.md"
	keysBegin = "<!-- keys: "
	keysEnd   = "<!-- end of keys -->\n"
)

// The page about scenario files has the tables that the declarations of keys give, and every
// key stands in one of them.
func TestKeysAreDocumented(t *testing.T) {
	page, err := os.ReadFile(keysPage)
	if err != nil {
		t.Fatal(err)
	}
	p := keyPage{all: allKeys(Known{}), said: map[string]bool{}, tables: map[string]bool{}}
	parts := strings.Split(string(page), keysBegin)
	for _, part := range parts[1:] {
		name, _, _ := strings.Cut(part, " ")
		p.tables[name] = true
	}
	var b strings.Builder
	b.WriteString(parts[0])
	for _, part := range parts[1:] {
		head, rest, ok := strings.Cut(part, "\n")
		_, after, ok2 := strings.Cut(rest, keysEnd)
		if !ok || !ok2 {
			t.Fatalf("%s: the table of %s has no end", keysPage, head)
		}
		name, _, _ := strings.Cut(head, " ")
		b.WriteString(keysBegin + head + "\n\n" + p.table(t, name) + "\n" + keysEnd + after)
	}
	p.missing(t, p.all, "")
	if b.String() == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s lists other keys than are declared; go test ./internal/scenario -run Documented -update writes them again", keysPage)
	}
	if err := os.WriteFile(keysPage, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// keyPage writes the tables.
type keyPage struct {
	all          []key
	tables, said map[string]bool // by path; by path or group
}

// each calls f for all keys, those in sections after the section.
func (p *keyPage) each(keys []key, prefix string, f func(path string, k *key)) {
	for i := range keys {
		if k := &keys[i]; k.renamed == "" {
			f(prefix+k.name, k)
			p.each(k.keys(), prefix+k.name+".", f)
		}
	}
}

// missing names the keys that no table has.
func (p *keyPage) missing(t *testing.T, keys []key, prefix string) {
	for i := range keys {
		k := &keys[i]
		if k.renamed != "" || k.group != "" && p.tables[k.group] {
			continue
		}
		if !p.said[prefix+k.name] {
			t.Errorf("%s%s stands in no table of %s", prefix, k.name, keysPage)
		}
		p.missing(t, k.keys(), prefix+k.name+".")
	}
}

// table writes the table of a section or of a group of keys.
func (p *keyPage) table(t *testing.T, name string) string {
	var keys []key
	prefix := name + "."
	switch k := keyAt(p.all, name); {
	case name == "scenario":
		keys, prefix = p.all, ""
	case k != nil:
		keys = k.keys()
	default:
		p.each(p.all, "", func(path string, k *key) {
			if k.group == name && find(keys, k.name) == nil {
				keys = append(keys, *k)
			}
		})
	}
	if len(keys) == 0 {
		t.Fatalf("there are no keys of %q", name)
	}
	return "| key | values | default | meaning |\n|---|---|---|---|\n" + p.rows(keys, prefix, "", name)
}

// rows writes the keys of a section at path whose names begin with shown.
func (p *keyPage) rows(keys []key, path, shown, table string) string {
	var b strings.Builder
	var shared []string // of another table
	group := ""
	for i := range keys {
		k := &keys[i]
		switch {
		case k.renamed != "":
			continue
		case k.group != "" && k.group != table && p.tables[k.group]:
			shared, group = append(shared, "`"+shown+k.name+"`"), k.group
			p.said[path+k.name] = true
			continue
		}
		p.said[path+k.name] = true
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", shown+k.name, k.takes(), k.standard(), strings.ReplaceAll(k.text, "|", `\|`))
		if inner := k.keys(); inner != nil && !p.tables[path+k.name] && !p.elsewhere(inner) {
			step := map[many]string{oneSection: ".", namedSections: ".*.", listedSections: "[]."}[k.many]
			b.WriteString(p.rows(inner, path+k.name+".", shown+k.name+step, table))
		}
	}
	if shared != nil {
		fmt.Fprintf(&b, "| %s | | | as in [%s](#%s) |\n", strings.Join(shared, ", "), group, group)
	}
	return b.String()
}

// elsewhere reports whether all keys stand in tables of their own.
func (p *keyPage) elsewhere(keys []key) bool {
	for i := range keys {
		if k := &keys[i]; k.renamed == "" && !(k.group != "" && p.tables[k.group]) {
			return false
		}
	}
	return true
}

// Every key has a meaning, one sentence or more, and none has two names.
func TestKeysHaveMeanings(t *testing.T) {
	p, n := keyPage{}, 0
	p.each(allKeys(Known{}), "", func(path string, k *key) {
		n++
		if len(k.text) < 4 || !strings.HasSuffix(k.text, ".") {
			t.Errorf("%s: the meaning %q is no sentence", path, k.text)
		}
		if len(k.values) == 0 && k.keys() == nil {
			t.Errorf("%s: nothing says what may stand there", path)
		}
	})
	if n < 300 {
		t.Errorf("only %d keys", n)
	}
}

// Every algorithm has the page that its declaration gives.
func TestControllersAreDocumented(t *testing.T) {
	all := new(resolver).registry().All()
	for i := range all {
		path := "../../docs/models/controllers/" + all[i].Name + ".md"
		page, err := os.ReadFile(path)
		if want := all[i].Page(); err != nil || string(page) != want {
			if !*update {
				t.Errorf("%s is not what the algorithm declares; go test ./internal/scenario -run Documented -update writes it again", path)
			} else if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
