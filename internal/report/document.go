// Package report writes a run for people and programs: text for a terminal,
// JSON, CSV, and the run directory from which a report can be made again. It
// reads records and summaries and nothing else.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rows"
)

// Version is the version of the JSON document. It changes when a field changes
// its meaning or goes; new fields do not change it.
const Version = 2

// pageVersion is the version of what hopscope fabric, host and show write as JSON.
const pageVersion = 1

// Document is the JSON form of a run: the records, the answers and the
// summary, and then messages, a row each. It depends on the scenario alone; neither
// wall time nor the number of workers appears in it.
type Document struct {
	Version int     `json:"version"`
	Answers Answers `json:"answers"`
	// Summary condenses flows and ports.
	Summary *metrics.Summary `json:"summary"`
	// Mechanisms says of each mechanism how often it acted, or how near it came
	// and what held it back.
	Mechanisms []metrics.State `json:"mechanisms"`
	// Sentences are those of the slowest messages, and of collectives, with what they blame.
	Sentences []Sentence `json:"sentences"`
	record.Run
}

// Sentence is what is said of a message, and its cause.
type Sentence struct {
	Message int `json:"message"` // its row in messages
	// About is "time": where most of its time went; "missing": what kept it from the best rate;
	// "collective": what held up the collective whose row that is, this message most.
	About      string `json:"about"`
	Collective *int   `json:"collective,omitempty"`
	metrics.Cause
	Text string `json:"text"`
}

// sentences are those of the collectives and of some messages.
func sentences(r *record.Run, messages []int) []Sentence {
	out := []Sentence{}
	if len(r.Collectives) <= mostSentences {
		for k := range r.Collectives {
			if held, ok := metrics.CollectiveCause(lang.English, r, k); ok {
				out = append(
					out,
					Sentence{Message: held.Message, About: "collective", Collective: &k, Cause: held.Cause,
						Text: held.Sentence(lang.English, ok)},
				)
			}
		}
	}
	if len(messages) == 0 {
		return out
	}
	e := metrics.NewExplainer(r, 1)
	for _, i := range messages {
		if d := e.Dominant(i); d.Stage != catalog.NoStage {
			out = append(out, Sentence{Message: i, About: "time", Cause: d.Cause, Text: dominantLine(lang.English, &d)})
		}
		if c := e.Ceiling(i); c != nil && c.Of.Kind != catalog.NoCause {
			out = append(out, Sentence{Message: i, About: "missing", Cause: c.Of, Text: c.Cause.Place + ": " + c.How})
		}
	}
	return out
}

// Answers has the six questions as named fields.
type Answers struct {
	Detected  metrics.Answer `json:"detected"`
	FedBack   metrics.Answer `json:"fed_back"`
	Slowed    metrics.Answer `json:"slowed"`
	Held      metrics.Answer `json:"held"`
	Recovered metrics.Answer `json:"recovered"`
	Rerouted  metrics.Answer `json:"rerouted"`
}

// NewDocument arranges r and its summary for JSON.
func NewDocument(r *record.Run) *Document {
	s := metrics.Summarise(r)
	if r.Places == nil {
		r = r.WithPlaces()
	}
	d := &Document{Version: Version, Summary: s, Mechanisms: metrics.Mechanisms(r, metrics.TopActors),
		Sentences: sentences(r, s.Worst), Run: *r}
	for i := range s.Answers {
		*d.Answers.field(s.Answers[i].Question) = s.Answers[i]
	}
	return d
}

// messagesField is where a document has its messages; it comes last.
const messagesField = "messages"

// parts are the fields of a document in order. Each list is a table, so that no more
// than a row of it is encoded at a time, and stands as [] when it has none.
func (d *Document) parts(workers int) []rows.Part {
	tables := map[string]*rows.Table{}
	for _, t := range []*rows.Table{portTable(d.Ports, false), qpTable(d.QPs), ledgerTable(d.Ledger)} {
		tables[t.Name] = t
	}
	var out []rows.Part
	for _, f := range jsonFields(reflect.ValueOf(d).Elem()) {
		t := tables[f.name]
		if t == nil && f.value.Kind() == reflect.Slice {
			t = listOf(f.value)
		}
		switch {
		case f.name == messagesField, d.Flows() && aboutPackets(f.name):
		case t != nil:
			out = append(out, rows.Part{Name: f.name, Table: t})
		default:
			out = append(out, rows.Part{Name: f.name, Value: f.value.Interface()})
		}
	}
	return append(out, rows.Part{Name: messagesField, Table: messageTable(&d.Run, workers)})
}

// aboutPackets reports whether a field says what runs at flow level know nothing of.
func aboutPackets(name string) bool {
	return slices.Contains([]string{"answers", "summary", "mechanisms", "sentences", "qps", "ports", "ledger",
		"fingerprint", "packet_hops"}, name)
}

// jsonField is a field of a struct that stands in its JSON.
type jsonField struct {
	name  string
	value reflect.Value
}

// jsonFields lists the fields of v that stand in its JSON, those of embedded structs in
// their place, as encoding/json does.
func jsonFields(v reflect.Value) (out []jsonField) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			out = append(out, jsonFields(v.Field(i))...)
		case name == "-" || options == "omitempty" && absent(v.Field(i)):
		default:
			out = append(out, jsonField{name, v.Field(i)})
		}
	}
	return out
}

// absent reports whether a field with omitempty is left out.
func absent(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return v.IsZero()
}

// listOf is a table of any list.
func listOf(v reflect.Value) *rows.Table {
	return &rows.Table{N: v.Len(), Value: func(i int) any { return v.Index(i).Addr().Interface() }}
}

func (a *Answers) field(q catalog.Question) *metrics.Answer {
	switch q {
	case catalog.Detected:
		return &a.Detected
	case catalog.FedBack:
		return &a.FedBack
	case catalog.Slowed:
		return &a.Slowed
	case catalog.Held:
		return &a.Held
	case catalog.Recovered:
		return &a.Recovered
	default:
		return &a.Rerouted
	}
}

// WriteJSON writes r as a Document, indented, with a newline at the end. The same run
// gives the same bytes, however many workers encode it, at least 1.
func WriteJSON(w io.Writer, r *record.Run, workers int) error {
	return rows.JSON(w, NewDocument(r).parts(workers), workers)
}

// JSON is what WriteJSON writes.
func JSON(r *record.Run) ([]byte, error) {
	var b bytes.Buffer
	err := WriteJSON(&b, r, 1)
	return b.Bytes(), err
}

// ParseJSON reads a Document back into the records it was made from.
func ParseJSON(data []byte) (*record.Run, error) { return ReadJSON(bytes.NewReader(data), 1) }

// ReadJSON reads a Document back into the records it was made from, message by message, of
// which so many workers decode some at a time. What was cut short is an error.
func ReadJSON(from io.Reader, workers int) (*record.Run, error) {
	r, err := readDocument(from, workers)
	var other versionError
	if errors.As(err, &other) {
		return nil, err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it was cut short")
	}
	if err != nil {
		return nil, fmt.Errorf("not a whole hopscope result: %w", err)
	}
	if r.Version != Version {
		return nil, versionError{"result", r.Version}
	}
	return &r.Run, nil
}

func readDocument(from io.Reader, workers int) (*Document, error) {
	in := json.NewDecoder(from)
	if err := expect(in, '{'); err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	var messages []record.Message
	var known record.KnownMeetings
	for messages == nil {
		if !in.More() {
			return nil, fmt.Errorf("it has no %s", messagesField)
		}
		key, err := in.Token()
		if err != nil {
			return nil, err
		}
		if key == messagesField {
			names, err := placesOf(fields[placesField])
			if err != nil {
				return nil, err
			}
			in := bufio.NewReaderSize(io.MultiReader(in.Buffered(), from), 1<<16)
			if messages, err = readMessages(in, workers, names, &known); err != nil {
				return nil, err
			}
			continue
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return nil, err
		}
		if key == versionField {
			err = checkVersion(value)
		}
		if err != nil {
			return nil, err
		}
		fields[fmt.Sprint(key)] = value
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	var d Document
	if err := json.Unmarshal(rest, &d); err != nil {
		return nil, err
	}
	d.Messages = messages
	if d.Evidence != nil {
		d.Evidence.Meetings = &known
	}
	return &d, nil
}

// placesField is where a document has the places that accounts name, before its messages.
const placesField = "places"

// placesOf are the names of places of a document.
func placesOf(field json.RawMessage) (record.PlaceNames, error) {
	var listed []*record.Place
	if len(field) > 0 {
		if err := json.Unmarshal(field, &listed); err != nil {
			return record.PlaceNames{}, err
		}
	}
	return record.NamesOf(listed), nil
}

// versionField is where a document has its version; it comes first.
const versionField = "version"

// versionError says that something is of another version.
type versionError struct {
	what    string
	version int
}

func (v versionError) Error() string {
	if v.version > Version {
		return fmt.Sprintf("%s of version %d, of a newer program; this one reads version %d", v.what, v.version, Version)
	}
	return fmt.Sprintf("%s of version %d; this program reads version %d: run the scenario again", v.what, v.version,
		Version)
}

// checkVersion refuses a document of another version before the rest of it is read.
func checkVersion(field json.RawMessage) error {
	v := 0
	if err := json.Unmarshal(field, &v); err != nil {
		return err
	}
	if v != Version {
		return versionError{"result", v}
	}
	return nil
}

// messageRow is a message as its row has it.
type messageRow struct {
	record.Message
	Account json.RawMessage `json:"account"`
	Met     []record.Met    `json:"met"`
	Lost    []record.Lost   `json:"lost"`
}

// readMessages reads the list of messages, which is the last field, and what ends the
// document. Accounts name places.
func readMessages(
	in *bufio.Reader,
	workers int,
	names record.PlaceNames,
	known *record.KnownMeetings,
) (messages []record.Message, err error) {
	messages = []record.Message{}
	if _, err := in.ReadString(':'); err != nil {
		return nil, err
	}
	err = rows.ReadList(in, workers, func(row []byte) (m messageRow, err error) {
		if err := json.Unmarshal(row, &m); err != nil || len(m.Account) == 0 {
			return m, err
		}
		a, err := names.ReadAccount(m.Account)
		m.Message.Account = record.Known(a...)
		return m, err
	}, func(m messageRow) {
		m.Message.Number = int32(len(messages))
		known.Add(len(messages), m.Met, m.Lost)
		messages = append(messages, m.Message)
	})
	if err != nil {
		return nil, err
	}
	return messages, expect(json.NewDecoder(io.MultiReader(strings.NewReader("{"), in)), '{', '}')
}

// expect reads brackets.
func expect(in *json.Decoder, brackets ...json.Delim) error {
	for _, bracket := range brackets {
		switch t, err := in.Token(); {
		case err != nil:
			return err
		case t != bracket:
			return fmt.Errorf("%v where %v is expected", t, bracket)
		}
	}
	return nil
}
