package scenario

import "slices"

// Key is a key of scenarios, for shells that complete it.
type Key struct {
	Path    string // as --set addresses it, in the first item of a list: workload[0].flow.size
	Meaning string // in plain text
	Section bool   // it holds other keys
}

// Keys lists the keys of scenarios, each section before its keys. Keys of single hosts and
// switches are left out: they are those of all, under names that a scenario chooses.
func (x Known) Keys() []Key { return appendKeys(nil, allKeys(x), "") }

func appendKeys(out []Key, keys []key, above string) []Key {
	for i := range keys {
		k := &keys[i]
		if k.renamed != "" {
			continue
		}
		inner, path := k.keys(), above+k.name
		out = append(out, Key{path, plainMarkdown(k.text), inner != nil})
		switch {
		case inner == nil || k.many == namedSections:
		case k.many == listedSections:
			out = appendKeys(out, inner, path+"[0].")
		default:
			out = appendKeys(out, inner, path+".")
		}
	}
	return out
}

// Words lists the words that may stand under a key, such as the names of its presets; nil:
// it takes none, or there is no such key.
func (x Known) Words(path string) (words []string) {
	k := keyAt(allKeys(x), path)
	if k == nil {
		return nil
	}
	words = k.wordTexts()
	for _, form := range k.forms {
		if enum, ok := form["enum"].([]string); ok {
			words = append(words, enum...)
		}
		if t, ok := form["type"].(string); ok && t == "boolean" {
			words = append(words, "true", "false")
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}
