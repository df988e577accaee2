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

// A controller that asks to be asked again every few picoseconds holds up the run as one that never ends: so many
// wake-ups may not come within a nanosecond each, which no packet of any link is as short as.
const (
	wakes    = 1 << 16
	wakeTime = wakes * units.Nanosecond
)

// Guarded is a watched controller.
type Guarded struct {
	told        bool // of something, since it was asked
	woken       int  // how often it was asked because it wanted to be, from since on
	since       units.Time
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
		g.told = true
		g.ctl.OnSend(s)
		g.weigh()
	}
}

// OnFeedback implements RateController.
func (g *Guarded) OnFeedback(f *Feedback) {
	if g.fault == "" {
		defer g.caught()
		g.told = true
		g.ctl.OnFeedback(f)
		g.weigh()
	}
}

// Decide implements RateController.
func (g *Guarded) Decide(now units.Time) (d Decision) {
	d = Decision{Rate: g.line, Again: units.Never}
	if g.fault == "" {
		defer g.caught()
		g.wake(now)
		if g.fault != "" {
			return d
		}
		d = g.ctl.Decide(now)
		g.judge(&d, now)
	}
	return d
}

// judge stops a controller that decides what cannot be, and puts the line's rate in place of that.
func (g *Guarded) judge(d *Decision, now units.Time) {
	switch {
	case d.Rate < 1:
		g.fault = fmt.Sprintf("decides a rate of %d bit/s; the least is 1", int64(d.Rate))
	case d.Window < 0:
		g.fault = fmt.Sprintf("decides a window of %d bytes; the least is 0, for none", d.Window)
	case d.Gap < 0 || d.Gap >= units.Never-now:
		g.fault = fmt.Sprintf("decides a gap of %d ps, which does not end; give 0 or more", int64(d.Gap))
	case d.Cause >= NumCauses:
		g.fault = fmt.Sprintf("gives the cause %d; there are 0 to %d", d.Cause, NumCauses-1)
	default:
		return
	}
	*d = Decision{Rate: g.line, Again: units.Never}
}

// wake stops a controller that is asked because it wanted to be so often that time stands still.
func (g *Guarded) wake(now units.Time) {
	if g.told {
		g.told = false
		return
	}
	if g.woken == 0 {
		g.since = now
	}
	if g.woken++; g.woken < wakes {
		return
	}
	if now-g.since < wakeTime {
		g.fault = fmt.Sprintf("wants to be asked again without end: %d times within %s", g.woken, (now - g.since).Human())
	}
	g.woken = 0
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
