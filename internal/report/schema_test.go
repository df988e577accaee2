package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

var rewriteSchema = flag.Bool("schema", false, "write the JSON schema of results again")

// schemaFile is the JSON schema of results, which is made of the records' declarations.
const schemaFile = "../../docs/formats/result.schema.json"

// The schema in docs is that of the documents as they are, and every field of it says what it
// is.
func TestSchema(t *testing.T) {
	s := &schemas{t: t, defs: map[string]any{}, types: map[string]reflect.Type{}, comments: map[string]map[string]string{},
		used: map[string]bool{}}
	root := s.object(reflect.TypeOf(resultSchema{}))
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "hopscope result"
	root["$defs"] = s.defs
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(root); err != nil {
		t.Fatal(err)
	}
	if *rewriteSchema {
		if err := os.WriteFile(schemaFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	had, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(had, b.Bytes()) {
		t.Error("the schema is not that of the records; write it again with -schema")
	}
	for name := range plainFields {
		if !s.used[name] {
			t.Errorf("plainFields: no field needs %s", name)
		}
	}
	if len(s.silent) > 0 {
		t.Errorf("%d fields say nothing of what they are: %s", len(s.silent), strings.Join(s.silent, ", "))
	}
}

// resultSchema is a Document with its messages as their rows have them.
type resultSchema struct {
	Document
	// Messages has a row per message.
	Messages []Message `json:"messages"`
}

// schemas makes JSON schemas of types.
type schemas struct {
	t        *testing.T
	defs     map[string]any
	types    map[string]reflect.Type      // by name among defs
	comments map[string]map[string]string // by package folder: of "Type.Field"
	silent   []string
	used     map[string]bool // of plainFields
}

// of is the schema of a type; structs stand among the definitions.
func (s *schemas) of(t reflect.Type) map[string]any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if values := namesOf(t); values != nil {
		return map[string]any{"type": "string", "enum": values}
	}
	switch t {
	case reflect.TypeOf(record.Deferred{}):
		return s.list(reflect.TypeOf(accountRow{}))
	case reflect.TypeOf(record.Place{}):
		return s.define("Place", reflect.TypeOf(placeRow{}))
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.define(t.Name(), t)
	case reflect.Slice, reflect.Array:
		return s.list(t.Elem())
	case reflect.Map:
		return map[string]any{"type": "object"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	}
	return map[string]any{"type": "integer"}
}

func (s *schemas) list(of reflect.Type) map[string]any {
	return map[string]any{"type": "array", "items": s.of(of)}
}

func (s *schemas) define(name string, t reflect.Type) map[string]any {
	if of, taken := s.types[name]; taken && of != t {
		pkg := filepath.Base(t.PkgPath())
		name = strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	ref := map[string]any{"$ref": "#/$defs/" + name}
	if _, known := s.types[name]; !known {
		s.types[name] = t
		s.defs[name] = s.object(t)
	}
	return ref
}

// object is the schema of a struct.
func (s *schemas) object(t reflect.Type) map[string]any {
	properties := map[string]any{}
	s.fields(t, properties, "")
	return map[string]any{"type": "object", "properties": properties}
}

// fields adds the fields of a struct but one, those of embedded ones in their place.
func (s *schemas) fields(t reflect.Type, to map[string]any, but string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			if t == reflect.TypeOf(resultSchema{}) {
				but = "messages"
			}
			s.fields(f.Type, to, but)
			continue
		case name == "-" || name == but && t.Name() == "Run" || !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		field := s.of(f.Type)
		text := cmp.Or(s.comment(t, f.Name), s.plain(t.Name()+"."+name), s.plain(name))
		if text == "" {
			s.silent = append(s.silent, t.String()+"."+f.Name)
		}
		field["description"] = text
		to[name] = field
	}
}

// plain is what plainFields says of a field.
func (s *schemas) plain(name string) string {
	text := plainFields[name]
	if text != "" {
		s.used[name] = true
	}
	return text
}

// comment is what stands beside or above a field.
func (s *schemas) comment(t reflect.Type, field string) string {
	dir := "../.."
	if _, below, ok := strings.Cut(t.PkgPath(), "hopscope/hopscope/"); ok {
		dir = filepath.Join(dir, below)
	}
	if s.comments[dir] == nil {
		s.comments[dir] = fieldComments(s.t, dir)
	}
	return s.comments[dir][t.Name()+"."+field]
}

// fieldComments are those of the structs of a package.
func fieldComments(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if fields, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					text := strings.TrimSpace(f.Doc.Text() + f.Comment.Text())
					for _, id := range f.Names {
						out[spec.Name.Name+"."+id.Name] = strings.Join(strings.Fields(text), " ")
					}
				}
			}
			return true
		})
	}
	return out
}

// placeRow is a record.Place in JSON.
type placeRow struct {
	Name   string            `json:"name"`       // as reports write it
	Kind   catalog.PlaceKind `json:"kind"`       // what it is
	Node   string            `json:"node"`       // a host or switch; of a cable or link, the one at its near end
	Port   int               `json:"port"`       // of the node, from 1
	Class  int               `json:"class"`      // of a port: priority or virtual lane
	Layer  catalog.Layer     `json:"link_layer"` // of the class
	Number int               `json:"number"`     // of a queue pair, connection or core at its host
	To     string            `json:"to"`         // the node at the far end of a cable or link
	ToPort int               `json:"to_port"`    // of the node at the far end of a link, from 1
	Inside string            `json:"inside"`     // a link or memory inside the host
}

// accountRow is a stage of an account in JSON.
type accountRow struct {
	Stage catalog.Stage `json:"stage"` // what the time was spent on
	Where string        `json:"where"` // name of one of places; absent: at the message's own queue pair
	PS    units.Time    `json:"ps"`    // picoseconds, above 0
}

// namesOf lists the names of a type of the catalogue; nil for any other type.
func namesOf(t reflect.Type) (names []string) {
	if !strings.HasSuffix(t.PkgPath(), "internal/catalog") || t.Kind() != reflect.Uint8 && t.Kind() != reflect.Uint16 {
		return nil
	}
	text, ok := reflect.New(t).Interface().(interface {
		MarshalText() ([]byte, error)
		UnmarshalText([]byte) error
	})
	if !ok {
		return nil
	}
	if t == reflect.TypeOf(catalog.NoStage) {
		for _, s := range catalog.Stages() {
			names = append(names, s.String())
		}
		return names
	}
	v := reflect.ValueOf(text).Elem()
	for k := range uint64(256) {
		v.SetUint(k)
		name, _ := text.MarshalText() // does not fail
		if text.UnmarshalText(name) != nil || v.Uint() != k {
			break
		}
		if len(name) > 0 {
			names = append(names, string(name))
		}
	}
	return names
}

// The rows that the schema describes by hand have the fields that places and accounts have.
func TestSchemaOfRows(t *testing.T) {
	for _, p := range []record.Place{record.ClassAt("leaf1", 3, 3, catalog.Ethernet), record.QPAt(catalog.RC, "h0", 0),
		record.LinkAt("a", 1, "b", 2), record.InsideAt("h0", "nic0 to cpu0")} {
		strict(t, p, &placeRow{})
	}
	at := record.PortAt("h0", 1)
	strict(t, record.Account{{Stage: catalog.StageQueue, Where: &at, Time: 3}}, &[]accountRow{})
}

// strict reads the JSON of a value into another type, which must have all its fields.
func strict(t *testing.T, v, into any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Errorf("%s: %v", data, err)
	}
}

// What is written has the fields of the schema and no others, with values of their types.
func TestSchemaOfResults(t *testing.T) {
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for name, r := range runs() {
		var v any
		result, err := JSON(r)
		if err == nil {
			err = json.Unmarshal(result, &v)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range against(schema, schema, v, name) {
			t.Error(problem)
		}
	}
}

// against compares a value with a schema; where says what the value is.
func against(root, schema map[string]any, v any, where string) (problems []string) {
	if ref, ok := schema["$ref"].(string); ok {
		def := root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")]
		return against(root, def.(map[string]any), v, where)
	}
	is := "null"
	switch v := v.(type) {
	case map[string]any:
		is = "object"
		properties, described := schema["properties"].(map[string]any)
		for key, field := range v {
			if of, ok := properties[key].(map[string]any); ok {
				problems = append(problems, against(root, of, field, where+"."+key)...)
			} else if described {
				problems = append(problems, where+"."+key+" is not in the schema")
			}
		}
	case []any:
		is = "array"
		for _, item := range v {
			problems = append(problems, against(root, schema["items"].(map[string]any), item, where)...)
		}
	case string:
		is = "string"
		if names, ok := schema["enum"].([]any); ok && !slices.Contains(names, any(v)) {
			problems = append(problems, where+": "+v+" is not one of those in the schema")
		}
	case bool:
		is = "boolean"
	case float64:
		if is = "number"; schema["type"] == "integer" && v == math.Trunc(v) {
			is = "integer"
		}
	}
	if want, ok := schema["type"]; ok && want != is && is != "null" {
		problems = append(problems, fmt.Sprintf("%s is of type %s, not %s", where, is, want))
	}
	return problems
}
