package scenario

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// A schema is made by letting the readers of the sections read an empty
// scenario while the decoder notes what they ask for: the keys of every section
// and the kind of value under each. So it cannot say anything else than the
// readers do.

// jsonSchema is the part of JSON Schema (draft 2020-12) that is needed.
type jsonSchema map[string]any

// shape is what the decoder notes.
type shape struct {
	sections map[string]*section // by path; "*" stands for any name, "[]" for any item
}

// section is one mapping: its keys, and the kinds of value that stand beside a
// mapping or list under each.
type section struct {
	keys   []string
	kinds  map[string][]jsonSchema
	needed []string
	one    bool // exactly one of the keys
}

// at returns the section of a path, whose list items all share one.
func (s *shape) at(path string) *section {
	var b strings.Builder
	for part := range strings.SplitSeq(path, "[") {
		if _, rest, isIndex := strings.Cut(part, "]"); isIndex && b.Len() > 0 {
			part = "]" + rest
		}
		if b.Len() > 0 {
			b.WriteByte('[')
		}
		b.WriteString(part)
	}
	path = b.String()
	if s.sections[path] == nil {
		s.sections[path] = &section{kinds: map[string][]jsonSchema{}}
	}
	return s.sections[path]
}

// note says that key may hold a value of a kind.
func (o object) note(key string, kind jsonSchema) {
	if o.d.shape == nil {
		return
	}
	s := o.d.shape.at(o.path)
	s.kinds[key] = append(s.kinds[key], kind)
}

// describing reports whether the readers are asked for their keys only.
func (o object) describing() bool { return o.d.shape != nil }

// exactlyOne says that a section holds one of its keys.
func (o object) exactlyOne() {
	if o.describing() {
		o.d.shape.at(o.path).one = true
	}
}

// quantityFor is the kind of value that is read into dst.
func quantityFor(dst any) jsonSchema {
	switch dst.(type) {
	case *units.Time:
		return quantityOf(units.TimePattern())
	case *units.Bytes:
		return quantityOf(units.BytesPattern())
	case *units.Rate:
		return quantityOf(units.RatePattern())
	case *uint64:
		return jsonSchema{"type": []string{"integer", "string"}, "minimum": 0, "pattern": "^[0-9]+$"}
	}
	return anyScalar()
}

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
func Schema() []byte {
	s := &shape{sections: map[string]*section{}}
	describe(s)
	doc := s.object("")
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

// describe lets every reader say its keys.
func describe(s *shape) {
	g, err := topology.Star(2, topology.LinkSpec{Rate: units.Gbps})
	if err != nil {
		return
	}
	r := &resolver{d: &decoder{shape: s}, v: &Valid{Graph: g}}
	o := r.d.object(nil, "", rootKeys()...)
	o.need("topology")
	o.need("workload")
	r.readHeader(o)
	t := r.d.object(nil, "topology", topologyKeys()...)
	for _, read := range []func(object){r.readStar, r.readLeafSpine, r.readFatTree, r.readClos, r.readRail, r.readExplicit, r.changeLinks} {
		read(t)
		r.v.Graph = g
	}
	r.readDevices(o)
	r.readDCQCN(nil)
	r.readTCP(o)
	r.readInfiniBand(o)
	r.readFailover(o)
	r.readTriggerList(o)
	for _, kind := range patterns() {
		entry := &node{kind: mappingNode, fields: []field{{key: kind, value: &node{}}}}
		r.readWorkload(&node{kind: sequenceNode, items: []*node{entry}})
	}
	readProcessors(r.hostObj, &hostSettings{})
	readProcessors(r.nics[0].hostOwn, &hostSettings{})
	r.ns3Section(nil)
}

// object writes the schema of a section.
func (s *shape) object(path string) jsonSchema {
	sec := s.sections[path]
	props := jsonSchema{}
	for _, key := range sec.keys {
		full := key
		if path != "" {
			full = path + "." + key
		}
		props[key] = s.value(full, sec.kinds[key])
	}
	out := jsonSchema{"type": []string{"object", "null"}, "properties": props, "additionalProperties": false}
	if len(sec.needed) > 0 {
		out["required"] = sec.needed
	}
	if sec.one {
		out["minProperties"], out["maxProperties"] = 1, 1
	}
	return out
}

// value writes the schema of what stands under a key: scalars, a mapping, a
// mapping of any names, a list.
func (s *shape) value(path string, kinds []jsonSchema) jsonSchema {
	var any []jsonSchema
	seen := map[string]bool{}
	add := func(k jsonSchema) {
		text, _ := json.Marshal(k)
		if !seen[string(text)] {
			seen[string(text)] = true
			any = append(any, k)
		}
	}
	for _, k := range kinds {
		add(k)
	}
	if s.sections[path] != nil {
		add(s.object(path))
	}
	if s.sections[path+".*"] != nil {
		add(mapOf(s.object(path + ".*")))
	}
	if s.sections[path+"[]"] != nil {
		add(s.object(path + "[]"))
		add(listOf(s.object(path + "[]")))
	}
	if len(any) == 0 {
		add(numberOrText())
	}
	if len(any) == 1 {
		return any[0]
	}
	return jsonSchema{"anyOf": any}
}

// need says that a section cannot be without key.
func (o object) need(key string) {
	if o.describing() {
		if s := o.d.shape.at(o.path); !slices.Contains(s.needed, key) {
			s.needed = append(s.needed, key)
		}
	}
}
