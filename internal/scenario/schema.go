package scenario

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"strings"
)

// jsonSchema is the part of JSON Schema (draft 2020-12) that is needed.
type jsonSchema map[string]any

// Kinds of value.
func anyScalar() jsonSchema { return jsonSchema{"type": []string{"string", "number", "boolean"}} }

// numberOrText is a value whose form only the reader knows; true and false are
// neither.
func numberOrText() jsonSchema { return jsonSchema{"type": []string{"string", "number"}} }
func quantityOf(pattern string) jsonSchema {
	return jsonSchema{"type": []string{"string", "number"}, "pattern": pattern, "minimum": 0, "maximum": 0}
}
func wordsOf(words ...string) jsonSchema { return jsonSchema{"enum": words} }
func wholeNumber(lo, hi int) jsonSchema {
	pattern := "^[0-9]+$"
	if lo < 0 {
		pattern = "^-?[0-9]+$"
	}
	return jsonSchema{"type": []string{"integer", "string"}, "minimum": lo, "maximum": hi, "pattern": pattern}
}
func listOf(item jsonSchema) jsonSchema { return jsonSchema{"type": "array", "items": item} }
func mapOf(value jsonSchema) jsonSchema {
	return jsonSchema{"type": "object", "additionalProperties": value}
}

// Schema returns the JSON Schema of scenario files, for editors and other
// programs. What it lets pass may still be refused for reasons that a schema
// cannot say, such as a name that no host has.
func (x Known) Schema() []byte {
	doc := sectionSchema(allKeys(x), false)
	doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	doc["title"] = "hopscope scenario"
	var b bytes.Buffer
	e := json.NewEncoder(&b) // sorts keys
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(doc); err != nil {
		return nil // maps of texts and numbers always encode
	}
	return b.Bytes()
}

// allKeys are the keys of a scenario with what holds without them.
func allKeys(x Known) []key {
	r := &resolver{d: &decoder{}, v: &Valid{}, known: x}
	r.setDefaults()
	return r.rootKeys()
}

// sectionSchema is the schema of a section.
func sectionSchema(keys []key, one bool) jsonSchema {
	props := jsonSchema{}
	var needed []string
	for i := range keys {
		k := &keys[i]
		if k.renamed != "" {
			continue
		}
		props[k.name] = k.schema()
		if k.needed != "" {
			needed = append(needed, k.name)
		}
	}
	out := jsonSchema{"type": []string{"object", "null"}, "properties": props, "additionalProperties": false}
	if len(needed) > 0 {
		out["required"] = needed
	}
	if one {
		out["minProperties"], out["maxProperties"] = 1, 1
	}
	return out
}

// schema is what may stand under a key: values, words, sections.
func (k *key) schema() jsonSchema {
	forms := append([]jsonSchema(nil), k.forms...)
	inner := k.keys()
	if short := find(inner, k.short); short != nil {
		forms = append(forms, short.forms...)
	}
	if k.words != nil {
		forms = append(forms, wordsOf(k.wordTexts()...))
	}
	if inner != nil {
		switch section := sectionSchema(inner, k.one); k.many {
		case oneSection:
			forms = append(forms, section)
		case namedSections:
			forms = append(forms, mapOf(section))
		case listedSections:
			forms = append(forms, section, listOf(section))
		}
	}
	out := jsonSchema{"anyOf": forms}
	if len(forms) == 1 {
		out = maps.Clone(forms[0])
	}
	out["description"] = k.description()
	return out
}

// description is the meaning and the default as plain text.
func (k *key) description() string {
	text := k.text
	if d := k.standard(); d != "" {
		text += " Default: " + d + "."
	}
	return plainMarkdown(text)
}

// standard says what holds without the key; "": nothing.
func (k *key) standard() string {
	if k.preset != "" || k.now == nil || k.needed != "" {
		return k.preset
	}
	return k.now()
}

// plainMarkdown takes links and code marks out of a text.
func plainMarkdown(text string) string {
	text = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`).ReplaceAllString(text, "$1")
	return strings.ReplaceAll(text, "`", "")
}
