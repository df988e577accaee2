package timeline_test

import (
	"cmp"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hopscope/hopscope/internal/units"
)

// A reader of traces of its own: what it does not know is an error.

// seen is a trace as read back.
type seen struct {
	tracks map[uint64]*track
	order  []*track
	names  [4]map[uint64]string // by kind of interned name: categories, event names, annotations
}

// track is a row with its events in the order of the file.
type track struct {
	name   string
	parent *track
	unit   string
	events []event
}

type event struct {
	kind     uint64
	at       uint64 // ns
	name     string
	category string
	numbers  map[string]int64
	texts    map[string]string
	value    int64
	flows    []uint64
	ends     []uint64
}

const (
	begin   = 1
	finish  = 2
	instant = 3
	value   = 4
)

// slice is one of a track, in the one it lies in.
type slice struct {
	event
	from, to units.Time
	children []*slice
}

// path is the names from the top down to a track.
func (t *track) path() string {
	if t.parent == nil {
		return t.name
	}
	return t.parent.path() + " / " + t.name
}

// fields calls yield with every field of a message.
func fields(t testing.TB, b []byte, yield func(n protowire.Number, v uint64, data []byte)) {
	for len(b) > 0 {
		n, kind, k := protowire.ConsumeTag(b)
		if k < 0 {
			t.Fatal("a tag that is none")
		}
		b = b[k:]
		var v uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			v, k = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, k = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			data, k = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d has wire type %d", n, kind)
		}
		if k < 0 {
			t.Fatalf("field %d is cut short", n)
		}
		b = b[k:]
		yield(n, v, data)
	}
}

// readTrace reads a trace.
func readTrace(t testing.TB, b []byte) *seen {
	s := &seen{tracks: map[uint64]*track{}}
	for k := range s.names {
		s.names[k] = map[uint64]string{}
	}
	packets := 0
	fields(t, b, func(n protowire.Number, _ uint64, packet []byte) {
		if n != 1 {
			t.Fatalf("field %d of Trace", n)
		}
		packets++
		var at, sequence, flags uint64
		var body, descriptor []byte
		fields(t, packet, func(n protowire.Number, v uint64, data []byte) {
			switch n {
			case 8:
				at = v
			case 10:
				sequence = v
			case 11:
				body = data
			case 12:
				s.intern(t, data)
			case 13:
				flags = v
			case 60:
				descriptor = data
			default:
				t.Fatalf("field %d of TracePacket", n)
			}
		})
		if want := uint64(2); sequence != 1 || flags != want && packets > 1 || flags != 1 && packets == 1 {
			t.Fatalf("packet %d: sequence %d, flags %d", packets, sequence, flags)
		}
		if descriptor != nil {
			s.describe(t, descriptor)
		} else {
			s.event(t, at, body)
		}
	})
	return s
}

func (s *seen) intern(t testing.TB, b []byte) {
	fields(t, b, func(kind protowire.Number, _ uint64, entry []byte) {
		var iid uint64
		var name string
		fields(t, entry, func(n protowire.Number, v uint64, data []byte) {
			if n == 1 {
				iid = v
			} else {
				name = string(data)
			}
		})
		if iid == 0 || s.names[kind][iid] != "" {
			t.Fatalf("%q has number %d, which is none or taken", name, iid)
		}
		s.names[kind][iid] = name
	})
}

func (s *seen) describe(t testing.TB, b []byte) {
	x, id := &track{}, uint64(0)
	fields(t, b, func(n protowire.Number, v uint64, data []byte) {
		switch n {
		case 1:
			id = v
		case 2:
			x.name = string(data)
		case 5:
			if x.parent = s.tracks[v]; x.parent == nil {
				t.Fatalf("%s lies below a track that is not there yet", x.name)
			}
		case 8:
			x.unit = "bytes"
			fields(t, data, func(n protowire.Number, _ uint64, data []byte) {
				if n == 6 {
					x.unit = string(data)
				}
			})
		case 11, 12:
		default:
			t.Fatalf("field %d of TrackDescriptor", n)
		}
	})
	if id == 0 || s.tracks[id] != nil {
		t.Fatalf("track %s has number %d, which is none or taken", x.name, id)
	}
	s.tracks[id] = x
	s.order = append(s.order, x)
}

func (s *seen) event(t testing.TB, at uint64, b []byte) {
	e := event{at: at, numbers: map[string]int64{}, texts: map[string]string{}}
	var on *track
	name := func(kind int, iid uint64) string {
		n, ok := s.names[kind][iid]
		if !ok {
			t.Fatalf("name %d of kind %d is not known", iid, kind)
		}
		return n
	}
	fields(t, b, func(n protowire.Number, v uint64, data []byte) {
		switch n {
		case 3:
			e.category = name(1, v)
		case 4:
			var key string
			fields(t, data, func(n protowire.Number, v uint64, data []byte) {
				switch n {
				case 1:
					key = name(3, v)
				case 4:
					e.numbers[key] = int64(v)
				case 6:
					e.texts[key] = string(data)
				default:
					t.Fatalf("field %d of DebugAnnotation", n)
				}
			})
		case 9:
			e.kind = v
		case 10:
			e.name = name(2, v)
		case 11:
			on = s.tracks[v]
		case 30:
			e.value = int64(v)
		case 47:
			e.flows = append(e.flows, v)
		case 48:
			e.ends = append(e.ends, v)
		default:
			t.Fatalf("field %d of TrackEvent", n)
		}
	})
	if on == nil || (e.kind == value) != (on.unit != "") {
		t.Fatalf("an event of kind %d is on no track, or on one of another kind", e.kind)
	}
	on.events = append(on.events, e)
}

// slices are the outermost slices of a track. That they nest is checked as a reader of the trace does it, which puts
// events in order of time first.
func (x *track) slices(t testing.TB) (top []*slice) {
	events := slices.Clone(x.events)
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	var open []*slice
	for _, e := range events {
		switch e.kind {
		case begin:
			s := &slice{event: e, from: units.Time(e.numbers["from_ps"])}
			s.to = s.from + units.Time(e.numbers["ps"])
			if s.to < s.from || uint64(s.from/units.Nanosecond) != e.at {
				t.Fatalf("%s: %s from %d ps for %d stands at %d ns", x.path(), e.name, s.from, s.to-s.from, e.at)
			}
			siblings := &top
			if n := len(open); n > 0 {
				siblings = &open[n-1].children
				if s.from < open[n-1].from || s.to > open[n-1].to {
					t.Fatalf("%s: %s from %d to %d does not lie in %s from %d to %d", x.path(), e.name, s.from, s.to, open[n-1].name,
						open[n-1].from, open[n-1].to)
				}
			}
			if n := len(*siblings); n > 0 && (*siblings)[n-1].to > s.from {
				t.Fatalf("%s: %s begins at %d, before %s ends at %d", x.path(), e.name, s.from, (*siblings)[n-1].name, (*siblings)[n-1].to)
			}
			*siblings = append(*siblings, s)
			open = append(open, s)
		case finish:
			n := len(open)
			if n == 0 || uint64(open[n-1].to/units.Nanosecond) != e.at {
				t.Fatalf("%s: an end at %d ns of no slice, or of one that ends at another time", x.path(), e.at)
			}
			open = open[:n-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("%s: %d slices have no end", x.path(), len(open))
	}
	return top
}
