package congestion

import (
	"fmt"
	"reflect"

	"github.com/hopscope/hopscope/internal/units"
)

// A controller that is not of this package is watched: what it does wrong ends the run with its name.

// maxHeld is how much memory a controller of one queue pair may come to hold, in bytes.
const maxHeld = 1 << 20

// Guard returns a controller that stops c when it panics or comes to hold more than 1 MiB; Fault then says
// why, and the sender is no longer limited.
func Guard(c RateController, line units.Rate) *Guarded { return &Guarded{ctl: c, line: line, look: 1} }

// Guarded is a watched controller.
type Guarded struct {
	ctl         RateController
	line        units.Rate
	calls, look int
	fault       string
}

// Fault is what the controller did that none may, without a subject; "": nothing.
func (g *Guarded) Fault() string { return g.fault }

// OnSend implements RateController.
func (g *Guarded) OnSend(s *Sending) {
	if g.fault == "" {
		defer g.caught()
		g.ctl.OnSend(s)
		g.weigh()
	}
}

// OnFeedback implements RateController.
func (g *Guarded) OnFeedback(f *Feedback) {
	if g.fault == "" {
		defer g.caught()
		g.ctl.OnFeedback(f)
		g.weigh()
	}
}

// Decide implements RateController.
func (g *Guarded) Decide(now units.Time) (d Decision) {
	d = Decision{Rate: g.line, Again: units.Never}
	if g.fault == "" {
		defer g.caught()
		d = g.ctl.Decide(now)
	}
	return d
}

func (g *Guarded) caught() {
	if p := recover(); p != nil {
		g.fault = fmt.Sprintf("panicked: %v", p)
	}
}

// weigh looks at what the controller holds after 1, 2, 4, 8 calls and so on: what grows without bound is
// seen by the time that it is twice too much.
func (g *Guarded) weigh() {
	if g.calls++; g.calls < g.look {
		return
	}
	g.look *= 2
	w := weighing{seen: map[uintptr]bool{}}
	w.add(reflect.ValueOf(g.ctl))
	if w.bytes > maxHeld {
		g.fault = fmt.Sprintf("holds more than %v of memory for one queue pair, after %d calls",
			units.Bytes(maxHeld), g.calls)
	}
}

// weighing adds up the memory that can be reached from a value, as far as that is decided.
type weighing struct {
	seen  map[uintptr]bool
	bytes uint64
}

func (w *weighing) add(v reflect.Value) {
	if w.bytes > maxHeld {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && w.once(v.Pointer()) {
			w.bytes += uint64(v.Elem().Type().Size())
			w.add(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			w.bytes += uint64(v.Elem().Type().Size())
			w.add(v.Elem())
		}
	case reflect.String:
		w.bytes += uint64(v.Len())
	case reflect.Slice:
		if v.Cap() > 0 && w.once(v.Pointer()) {
			w.bytes += uint64(v.Cap()) * uint64(v.Type().Elem().Size())
			w.items(v)
		}
	case reflect.Array:
		w.items(v)
	case reflect.Map:
		w.bytes += uint64(v.Len()) * uint64(v.Type().Key().Size()+v.Type().Elem().Size())
		for it := v.MapRange(); it.Next() && w.bytes <= maxHeld; {
			w.add(it.Key())
			w.add(it.Value())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.add(v.Field(i))
		}
	}
}

func (w *weighing) items(v reflect.Value) {
	if plainKind(v.Type().Elem().Kind()) {
		return
	}
	for i := range v.Len() {
		if w.add(v.Index(i)); w.bytes > maxHeld {
			return
		}
	}
}

// plainKind reports whether values of a kind refer to nothing else.
func plainKind(k reflect.Kind) bool { return k <= reflect.Complex128 }

func (w *weighing) once(p uintptr) bool {
	if w.seen[p] {
		return false
	}
	w.seen[p] = true
	return true
}
