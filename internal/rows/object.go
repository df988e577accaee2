package rows

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Object writes the fields of a JSON object in order, indented by a space per level, or all
// on one line, as encoding/json does.
type Object struct {
	b     []byte
	depth int
	more  bool // a field stands before
	line  bool // all on one line
}

// begin starts an element of a list of which all stands on one line.
func (o *Object) begin() {
	o.separate()
	o.b = append(o.b, '{')
	o.line, o.more = true, false
}

// finish ends what begin started.
func (o *Object) finish() {
	o.b = append(o.b, '}')
	o.line, o.more = false, true
}

// Begin starts an object as the value of a field, or with "" an element of a list.
func (o *Object) Begin(key string) {
	o.key(key)
	o.b = append(o.b, '{')
	o.depth++
	o.more = false
}

// End ends the object that Begin started last.
func (o *Object) End() { o.end('}') }

// BeginList starts a list, which EndList ends.
func (o *Object) BeginList(key string) {
	o.key(key)
	o.b = append(o.b, '[')
	o.depth++
	o.more = false
}

// EndList ends the list that BeginList started last.
func (o *Object) EndList() { o.end(']') }

func (o *Object) end(bracket byte) {
	o.depth--
	if o.more && !o.line { // else {} or []
		o.newline()
	}
	o.b = append(o.b, bracket)
	o.more = true
}

// spaces is the indentation of the deepest level and more; between stands before it.
const (
	between = ",\n"
	spaces  = "                                "
)

func (o *Object) newline() { o.b = append(o.b, (between + spaces)[1:len(between)+o.depth]...) }

// separate begins a field or an element.
func (o *Object) separate() {
	if o.line {
		if o.more {
			o.b = append(o.b, ',')
		}
		o.more = true
		return
	}
	if !o.more {
		o.more = true
		o.newline()
		return
	}
	o.b = append(o.b, (between + spaces)[:len(between)+o.depth]...)
}

func (o *Object) key(key string) {
	o.separate()
	if key != "" {
		o.b = append(o.b, '"')
		o.b = append(o.b, key...)
		o.b = append(o.b, '"', ':')
		if !o.line {
			o.b = append(o.b, ' ')
		}
	}
}

// Int writes a whole number.
func (o *Object) Int(key string, v int64) {
	o.key(key)
	o.b = strconv.AppendInt(o.b, v, 10)
}

// Bool writes true or false.
func (o *Object) Bool(key string, v bool) {
	o.key(key)
	o.b = strconv.AppendBool(o.b, v)
}

// String writes a string.
func (o *Object) String(key, v string) {
	o.key(key)
	o.b = appendString(o.b, v)
}

// Raw writes a value that is JSON already.
func (o *Object) Raw(key string, v []byte) {
	o.key(key)
	o.b = append(o.b, v...)
}

// Number writes a whole number behind what the last Again left open.
func (o *Object) Number(v int64) { o.b = strconv.AppendInt(o.b, v, 10) }

// Close ends an object that the last Again left open.
func (o *Object) Close() { o.b = append(o.b, '}') }

// Again writes the text of fields or elements, each with a comma before it.
func (o *Object) Again(fields []byte) {
	if !o.more && fields[0] == between[0] {
		fields = fields[1:]
	}
	o.b = append(o.b, fields...)
	o.more = true
}

// Value writes any value as encoding/json does, without escaping for HTML.
func (o *Object) Value(key string, v any) error {
	compact, err := marshal(v)
	if err != nil {
		return err
	}
	o.key(key)
	if o.line {
		o.b = append(o.b, compact...)
		return nil
	}
	b := bytes.NewBuffer(o.b)
	if err := json.Indent(b, compact, spaces[:o.depth], " "); err != nil {
		return err
	}
	o.b = b.Bytes()
	return nil
}

// row writes any value as an element of a list, on one line.
func (o *Object) row(v any) error {
	compact, err := marshal(v)
	if err != nil {
		return err
	}
	o.separate()
	o.b = append(o.b, compact...)
	return nil
}

// marshal is json.Marshal without escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// appendString quotes s as encoding/json does without escapes for HTML.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, _ := marshal(s) // a string does not fail
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
