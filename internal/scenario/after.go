package scenario

import (
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/workload"
)

// wait is what messages of an entry wait for: all messages of other entries.
type wait struct {
	ends []waited
}

// waited is the end of the messages of an entry.
type waited struct {
	name     string
	received bool // at the receiver; else completed at the sender
	at       object
	item     *node
}

// span are the series of an entry in the plan.
type seriesSpan struct{ first, last int }

// receivedWord stands before the name of an entry whose messages are to be received.
const receivedWord = "received "

// afterKey is the key of what messages wait for.
func (r *resolver) afterKey(e *entryOptions) key {
	return listKey("after", "name or list of names", func(o object, name string) bool {
		var w wait
		for _, item := range o.list(name) {
			if item.Kind != scalarNode {
				r.d.fail(item.Pos, "%s is the name of an entry of the workload, or a list of such", o.join(name))
				return false
			}
			of, received := strings.CutPrefix(item.Text, receivedWord)
			w.ends = append(w.ends, waited{of, received, o, item})
		}
		if len(w.ends) == 0 {
			o.fail(name, "names nothing; give the name of an entry of the workload")
			return false
		}
		r.waits = append(r.waits, w)
		e.Trigger = len(r.triggers) + len(r.waits)
		return true
	}, "Entries of the workload, by name, all of whose messages come first: until they are complete at their senders, "+
		"however they end, or with `received NAME` until their receivers have them.").also(perFlow)
}

// noteSeries notes which series of the plan are an entry's.
func (r *resolver) noteSeries(entry, first int) {
	if r.spans == nil {
		r.spans = make(map[string]seriesSpan)
	}
	r.spans[r.v.Plan.Entries[entry]] = seriesSpan{first, len(r.v.Plan.Series)}
}

// addWaits makes triggers of what messages wait for. Those of a scenario are there already.
func (r *resolver) addWaits() {
	plan := r.v.Plan
	for k := range r.waits {
		number := plan.AddTrigger(r.waits[k].String(), workload.Barrier, 0)
		plan.Triggers[number-1].Waits = true
	}
	relays := make(map[int]bool) // looked up, never iterated
	tell := func(at *int, number int) {
		switch {
		case *at == 0:
			*at = number
		case relays[*at]:
			plan.Triggers[*at-1].Then = append(plan.Triggers[*at-1].Then, number)
		default:
			relay := plan.AddTrigger("relay", workload.OneShot, 0)
			relays[relay] = true
			plan.Triggers[relay-1].Then = []int{*at, number}
			*at = relay
		}
	}
	for k := range r.waits {
		number, count := len(r.triggers)+k+1, 0
		for i := range r.waits[k].ends {
			w := &r.waits[k].ends[i]
			span, known := r.spans[w.name]
			switch {
			case !known:
				r.d.fail(w.item.Pos, "%s: %q sends no messages that others can wait for; %s", w.at.join("after"), w.name,
					suggestName(r.spanNames(), w.name))
				return
			}
			for s := span.first; s < span.last; s++ {
				x := &plan.Series[s]
				count += x.Count
				if w.received {
					tell(&x.RecvDone, number)
				} else {
					tell(&x.SendDone, number)
				}
			}
		}
		plan.Triggers[number-1].Count = count
		if count == 0 { // nothing is sent that they wait for
			r.startAtOnce(number)
		}
	}
}

// startAtOnce has messages wait for nothing.
func (r *resolver) startAtOnce(number int) {
	plan := r.v.Plan
	plan.Triggers[number-1].Count = 1
	for i := range plan.Series {
		if x := &plan.Series[i]; x.Trigger == number {
			x.Trigger, x.Start = 0, 0
		}
	}
}

// spanNames are the entries that messages can wait for.
func (r *resolver) spanNames() (names []string) {
	for _, name := range r.v.Plan.Entries {
		if _, known := r.spans[name]; known {
			names = append(names, name)
		}
	}
	return slices.Compact(names)
}

// String is what is waited for, in words.
func (w *wait) String() string {
	var parts []string
	for i := range w.ends {
		parts = append(parts, w.ends[i].item.Text)
	}
	return strings.Join(parts, ", ")
}
