// Package perfetto writes traces in Perfetto's own format: a stream of TracePackets (protos/perfetto/trace/
// trace_packet.proto and track_event/*.proto of github.com/google/perfetto), which ui.perfetto.dev and its
// trace_processor read. There is no library for Go that writes it; this one writes tracks, slices, instants,
// counters, flows and annotations, row by row, and keeps no more than the names that it has used.
//
// Perfetto counts nanoseconds and the rest of this program picoseconds. Both ends of a slice are rounded down, never
// its length, so that slices that follow each other without a gap still do, and none begins before one that it lies
// in. The exact times stand beside it as annotations.
package perfetto

import (
	"io"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hopscope/hopscope/internal/units"
)

// Numbers of fields, by message.
const (
	tracePacket = 1 // Trace

	packetTimestamp  = 8 // TracePacket
	packetSequence   = 10
	packetEvent      = 11
	packetInterned   = 12
	packetFlags      = 13
	packetDescriptor = 60

	trackUUID     = 1 // TrackDescriptor
	trackName     = 2
	trackParent   = 5
	trackCounter  = 8
	trackOrdering = 11
	trackRank     = 12

	counterUnit     = 3 // CounterDescriptor
	counterUnitName = 6

	eventAnnotations = 4 // TrackEvent
	eventCategories  = 3
	eventType        = 9
	eventName        = 10
	eventTrack       = 11
	eventValue       = 30
	eventFlows       = 47
	eventFlowEnds    = 48

	annotationName   = 1 // DebugAnnotation
	annotationInt    = 4
	annotationString = 6

	internedCategories  = 1 // InternedData
	internedNames       = 2
	internedAnnotations = 3

	entryIID  = 1 // EventCategory, EventName, DebugAnnotationName
	entryName = 2
)

// Values of TrackEvent.Type, TracePacket.SequenceFlags, TrackDescriptor.ChildTracksOrdering and
// CounterDescriptor.Unit.
const (
	typeBegin   = 1
	typeEnd     = 2
	typeInstant = 3
	typeCounter = 4

	stateCleared = 1
	stateNeeded  = 2

	orderExplicit = 3

	unitBytes = 3
)

// sequence is the one packet sequence of a trace. It must not be 0.
const sequence = 1

// Track is a row of the timeline, or a group of rows.
type Track uint64

// Writer writes one trace. Its first error stays, and nothing is written after it.
type Writer struct {
	w      io.Writer
	err    error
	tracks Track
	ranks  map[Track]int64 // children that a track has so far
	names  [3]map[string]uint64
	begun  bool

	packet, event, inner, entries []byte // being made
	slices                        int64
}

// Kinds of names that stand in the trace once and are numbered.
const (
	category = iota
	name
	annotation
)

// New begins a trace.
func New(w io.Writer) *Writer {
	t := &Writer{w: w, ranks: map[Track]int64{}}
	for k := range t.names {
		t.names[k] = map[string]uint64{}
	}
	return t
}

// Err is the first error of writing.
func (t *Writer) Err() error { return t.err }

// Slices is how many slices were begun.
func (t *Writer) Slices() int64 { return t.slices }

// Track makes a row below another, behind those that are there, or for parent 0 one of its own. It is no process:
// those put what lies in them in an order of their own.
func (t *Writer) Track(parent Track, title string) Track { return t.describe(parent, title, nil) }

// Counter makes a row that shows a number over time, in bytes or in a unit of its own name.
func (t *Writer) Counter(parent Track, title, unit string) Track {
	var c []byte
	if unit == "bytes" {
		c = number(c, counterUnit, unitBytes)
	} else {
		c = text(c, counterUnitName, unit)
	}
	return t.describe(parent, title, protowire.AppendBytes(protowire.AppendTag(nil, trackCounter, protowire.BytesType), c))
}

// describe writes the descriptor of a new track.
func (t *Writer) describe(parent Track, title string, more []byte) Track {
	t.tracks++
	d := number(t.event[:0], trackUUID, uint64(t.tracks))
	d = text(d, trackName, title)
	d = append(d, more...)
	if parent != 0 {
		d = number(d, trackParent, uint64(parent))
		d = number(d, trackRank, uint64(t.ranks[parent]))
		t.ranks[parent]++
	}
	d = number(d, trackOrdering, orderExplicit)
	t.event = d
	t.put(nil, packetDescriptor)
	return t.tracks
}

// Note is an annotation of an event: a number, or a text where there is one.
type Note struct {
	Name   string
	Number int64
	Text   string
}

// Event is what a slice or an instant shows.
type Event struct {
	Name, Category string
	Notes          []Note
	Flows          []uint64 // numbers of the arrows that lead on from here, or through
	Ends           []uint64 // of those that end here
}

// Slice writes a slice that holds no others. Its exact times are its annotations from_ps and ps.
func (t *Writer) Slice(track Track, from, to units.Time, e Event) {
	t.Begin(track, from, to, e)
	t.End(track, to)
}

// Begin begins a slice, which ends at a time that End is told as well; those that begin before it does lie in it.
func (t *Writer) Begin(track Track, from, to units.Time, e Event) {
	t.slices++
	t.mark(typeBegin, track, from, &e, Note{Name: "from_ps", Number: int64(from)},
		Note{Name: "ps", Number: int64(to - from)})
}

// End ends the slice of a track that began last.
func (t *Writer) End(track Track, at units.Time) {
	t.event = number(number(t.event[:0], eventType, typeEnd), eventTrack, uint64(track))
	t.putAt(at)
}

// Instant writes something that takes no time. Its exact time is its annotation from_ps.
func (t *Writer) Instant(track Track, at units.Time, e Event) {
	t.mark(typeInstant, track, at, &e, Note{Name: "from_ps", Number: int64(at)})
}

// mark writes an event with a name.
func (t *Writer) mark(kind uint64, track Track, at units.Time, e *Event, times ...Note) {
	b := number(number(t.event[:0], eventType, kind), eventTrack, uint64(track))
	b = number(b, eventName, t.number(name, e.Name))
	if e.Category != "" {
		b = number(b, eventCategories, t.number(category, e.Category))
	}
	for _, list := range [...][]Note{times, e.Notes} {
		for k := range list {
			n := &list[k]
			t.inner = number(t.inner[:0], annotationName, t.number(annotation, n.Name))
			if n.Text != "" {
				t.inner = text(t.inner, annotationString, n.Text)
			} else {
				t.inner = number(t.inner, annotationInt, uint64(n.Number))
			}
			b = protowire.AppendBytes(protowire.AppendTag(b, eventAnnotations, protowire.BytesType), t.inner)
		}
	}
	for _, id := range e.Flows {
		b = protowire.AppendFixed64(protowire.AppendTag(b, eventFlows, protowire.Fixed64Type), id)
	}
	for _, id := range e.Ends {
		b = protowire.AppendFixed64(protowire.AppendTag(b, eventFlowEnds, protowire.Fixed64Type), id)
	}
	t.event = b
	t.putAt(at)
}

// Value says what a counter is from a time on.
func (t *Writer) Value(counter Track, at units.Time, v int64) {
	b := number(number(t.event[:0], eventType, typeCounter), eventTrack, uint64(counter))
	t.event = number(b, eventValue, uint64(v))
	t.putAt(at)
}

// number is that of a name; one that is new goes into the packet that uses it first.
func (t *Writer) number(kind int, s string) uint64 {
	known := t.names[kind]
	n, ok := known[s]
	if !ok {
		n = uint64(len(known)) + 1
		known[strings.Clone(s)] = n
		e := text(number(nil, entryIID, n), entryName, s)
		field := [...]protowire.Number{internedCategories, internedNames, internedAnnotations}[kind]
		t.entries = protowire.AppendBytes(protowire.AppendTag(t.entries, field, protowire.BytesType), e)
	}
	return n
}

// putAt writes a packet with the event at hand.
func (t *Writer) putAt(at units.Time) {
	t.put(number(t.packet[:0], packetTimestamp, uint64(at/units.Nanosecond)), packetEvent)
}

// put writes a packet that begins as p does, with what is at hand as its field.
func (t *Writer) put(p []byte, field protowire.Number) {
	if p == nil {
		p = t.packet[:0]
	}
	p = number(p, packetSequence, sequence)
	flags := uint64(stateNeeded)
	if !t.begun {
		flags, t.begun = stateCleared, true
	}
	p = number(p, packetFlags, flags)
	if len(t.entries) > 0 {
		p = protowire.AppendBytes(protowire.AppendTag(p, packetInterned, protowire.BytesType), t.entries)
		t.entries = t.entries[:0]
	}
	p = protowire.AppendBytes(protowire.AppendTag(p, field, protowire.BytesType), t.event)
	t.packet = p
	if t.err != nil {
		return
	}
	t.inner = protowire.AppendVarint(protowire.AppendTag(t.inner[:0], tracePacket, protowire.BytesType), uint64(len(p)))
	if _, t.err = t.w.Write(t.inner); t.err == nil {
		_, t.err = t.w.Write(p)
	}
}

// number appends a field of a whole number.
func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

// text appends a field of text, which is valid UTF-8 in any case.
func text(b []byte, field protowire.Number, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}
