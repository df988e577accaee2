package subnet

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
)

// Error is what is wrong with a file: where, and what would be right.
type Error struct {
	Line, Col int // from 1
	Msg       string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg) }

// ParseOptions say how strictly a file is read.
type ParseOptions struct {
	// Partial accepts an excerpt: switches that are named as neighbours but have no
	// record, links named from one side only, and pieces that no link joins.
	Partial bool
}

// IsDiscovery reports whether text looks like output of ibnetdiscover, in either
// form, by its first line that is neither empty nor a comment.
func IsDiscovery(text []byte) bool {
	for line := range bytes.Lines(text) {
		s := strings.TrimSpace(string(line))
		if s == "" || s[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(strings.ReplaceAll(s, "\t", " "), " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "CA", "SW", "RT", "Switch", "Ca", "Rt":
			return rest != "" && rest[0] >= '0' && rest[0] <= '9'
		case "Chassis", "Non-Chassis":
			return true
		}
		if _, ok := ibsimKind(word); ok {
			return isIBSim(text)
		}
		key, _, isKey := strings.Cut(word, "=")
		return isKey && isHeaderKey(key) || word[0] == '[' && strings.Contains(word, "]")
	}
	return false
}

func isHeaderKey(key string) bool {
	switch key {
	case "vendid", "devid", "sysimgguid", "switchguid", "caguid", "rtguid":
		return true
	}
	return false
}

// Parse reads output of ibnetdiscover: the topology form (no option) or the form
// of one line per port (-p), or a net file of ibsim. LIDs are those of the file; endports without one get
// the lowest that are free. An error is an *Error.
func Parse(text []byte, opt ParseOptions) (*Fabric, error) {
	r := &reader{opt: opt, guid: map[GUID]int{}, ports: map[GUID]place{}}
	switch r.byPort = isPortForm(text); {
	case r.byPort:
		r.portForm(text)
	case isIBSim(text):
		r.ibsimForm(text)
	default:
		r.topologyForm(text)
	}
	if r.err == nil {
		r.build()
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.f, nil
}

// isPortForm looks at the first line that is neither empty nor a comment.
func isPortForm(text []byte) bool {
	for line := range bytes.Lines(text) {
		s := strings.TrimSpace(string(line))
		if s == "" || s[0] == '#' {
			continue
		}
		return len(s) > 3 && (s[2] == ' ' || s[2] == '\t') && portKind(s[:2]) >= 0
	}
	return false
}

// record is a node of the file, or one that only its neighbours name.
type record struct {
	kind   Kind
	guid   GUID
	system GUID
	name   string
	ports  int // as the record says; 0 when it has none of its own
	at     place
	own    bool // it has a record of its own
	base   bool // a switch with base port 0
	lid    LID  // of port 0 of a switch
	lmc    uint8
	halves []int // indices into reader.halves, in order of the file
}

// place is a line and a column, both from 1.
type place struct{ line, col int }

// half is one line about a link: what one side says of it.
type half struct {
	node, port         int
	peer, peerPort     int
	rate               linkRate
	at, peerAt         place
	portGUID, peerGUID GUID
	lid, peerLID       LID
	lmc                uint8 // 0 where the form has none
}

// reader holds what has been read. Errors stick: after the first nothing counts.
type reader struct {
	opt     ParseOptions
	byPort  bool // the form of a line per port
	f       *Fabric
	records []record
	halves  []half
	guid    map[GUID]int   // node GUID to record; looked up, never iterated
	ports   map[GUID]place // port GUIDs of adapters seen; looked up, never iterated
	warn    []string
	err     error
}

func (r *reader) fail(at place, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{at.line, at.col, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")}
	}
}

// node returns the record of a GUID, which a neighbour may name before its own
// record comes.
func (r *reader) node(kind Kind, guid GUID, at place) int {
	if i, ok := r.guid[guid]; ok {
		if r.records[i].kind != kind {
			r.fail(at, "GUID %s is a %s here and a %s on line %d; a GUID names one node", guid, kind, r.records[i].kind, r.records[i].at.line)
		}
		return i
	}
	i := len(r.records)
	r.guid[guid] = i
	r.records = append(r.records, record{kind: kind, guid: guid, system: guid, at: at})
	return i
}

// cursor reads one line from left to right.
type cursor struct {
	r    *reader
	line int
	s    string
	i    int
}

func (c *cursor) at() place { return place{c.line, c.i + 1} }

func (c *cursor) space() {
	for c.i < len(c.s) && (c.s[c.i] == ' ' || c.s[c.i] == '\t') {
		c.i++
	}
}

func (c *cursor) done() bool { return c.i >= len(c.s) }

// expect takes a literal, after blanks.
func (c *cursor) expect(text, what string) bool {
	c.space()
	if !strings.HasPrefix(c.s[c.i:], text) {
		c.bad("%s", what)
		return false
	}
	c.i += len(text)
	return true
}

// peek reports whether a literal comes next, after blanks.
func (c *cursor) peek(text string) bool {
	c.space()
	return strings.HasPrefix(c.s[c.i:], text)
}

// bad says what should stand here; at the end of a line that it is torn.
func (c *cursor) bad(format string, args ...any) {
	want := fmt.Sprintf(format, args...)
	if c.done() {
		c.r.fail(c.at(), "the line ends where %s should stand; is the file torn?", want)
		return
	}
	word, _, _ := strings.Cut(c.s[c.i:], " ")
	if len(word) > 24 {
		word = word[:24] + "..."
	}
	c.r.fail(c.at(), "%q stands where %s should", word, want)
}

// number takes decimal digits up to most.
func (c *cursor) number(what string, most int) int {
	c.space()
	start, n := c.i, 0
	for c.i < len(c.s) && c.s[c.i] >= '0' && c.s[c.i] <= '9' && n <= most {
		n = n*10 + int(c.s[c.i]-'0')
		c.i++
	}
	if c.i == start {
		c.bad("%s, a number from 0 to %d,", what, most)
	} else if n > most {
		c.r.fail(place{c.line, start + 1}, "%s is beyond %d", what, most)
	}
	return n
}

// hex takes up to 16 hexadecimal digits.
func (c *cursor) hex(what string) GUID {
	start := c.i
	var n GUID
	for c.i < len(c.s) {
		d := strings.IndexByte("0123456789abcdef", c.s[c.i]|0x20)
		if d < 0 || c.s[c.i] < '0' {
			break
		}
		n = n<<4 | GUID(d)
		c.i++
	}
	if c.i == start || c.i-start > 16 {
		at := c.i
		c.i = start
		if at == start {
			c.bad("%s, up to 16 hexadecimal digits,", what)
		} else {
			c.r.fail(c.at(), "%s has %d hexadecimal digits; a GUID has at most 16", what, at-start)
		}
	}
	return n
}

// word takes everything up to the next blank.
func (c *cursor) word() string {
	c.space()
	start := c.i
	for c.i < len(c.s) && c.s[c.i] != ' ' && c.s[c.i] != '\t' {
		c.i++
	}
	return c.s[start:c.i]
}

// quoted takes text between double quotes. The last one on the line ends a
// node description, which may hold others.
func (c *cursor) quoted(what string) string {
	if !c.expect(`"`, what+` in double quotes`) {
		return ""
	}
	end := strings.LastIndexByte(c.s[c.i:], '"')
	if end < 0 {
		c.i = len(c.s)
		c.bad("the double quote that ends %s", what)
		return ""
	}
	text := c.s[c.i : c.i+end]
	c.i += end + 1
	return visible(text)
}

// visible is a description without blanks around, and with a question mark for each character
// that would steer a terminal.
func visible(text string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\t' {
			return '?'
		}
		return c
	}, text))
}

// end wants nothing but blanks.
func (c *cursor) end() {
	c.space()
	if c.r.err == nil && !c.done() {
		c.bad("the end of the line")
	}
}
