package metrics

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Wait is something that messages waited for and that neither ports nor queue pairs show: receive
// work requests, what tells of a loss, a class that is served first.
type Wait struct {
	Kind catalog.Cause `json:"kind"` // receives, loss or class
	// Place is where most of it passed: a receive queue, a port's class; of a loss there is none.
	Place record.Place `json:"place,omitzero"`
	// Milli is its share of the time of all messages that were looked at, in thousandths.
	Milli int64 `json:"share_milli"`
	// SlowestMilli is its share of the slowest message's time.
	SlowestMilli int64 `json:"slowest_milli"`
	// Messages is how many of the messages that were looked at waited so.
	Messages int    `json:"messages"`
	Text     string `json:"text"`
}

// mostWaited is the part of all messages' time, or of the slowest's, one in so many, above which a
// wait is told of.
const mostWaited = 10

// waited adds up one kind of wait.
type waited struct {
	kind    catalog.Cause
	time    units.Time
	most    units.Time // at the place
	place   record.Place
	slowest int64
	of      int
	at      map[record.Place]units.Time
}

// waitKinds are the kinds of waits that are told of.
func waitKinds() []waited {
	all := []waited{{kind: catalog.CauseReceives}, {kind: catalog.CauseLoss}, {kind: catalog.CauseClass}}
	for i := range all {
		all[i].at = map[record.Place]units.Time{}
	}
	return all
}

// waitsOf adds what a message, whose causes have just been found, waited for.
func (x *index) waitsOf(f *record.Message, all []waited) {
	for i := range all {
		w := &all[i]
		sum := units.Time(0)
		if w.kind == catalog.CauseLoss {
			for _, t := range x.spelled {
				if untold(x.stages.known[t.number].base) {
					sum += t.time
				}
			}
		} else {
			for k := range x.causes {
				c := &x.causes[k]
				if c.Cause.Kind != w.kind {
					continue
				}
				sum += c.TimePS
				if w.at[c.Cause.Place] += c.TimePS; w.at[c.Cause.Place] > w.most {
					w.most, w.place = w.at[c.Cause.Place], c.Cause.Place
				}
			}
		}
		if sum > 0 {
			w.time += sum
			w.of++
		}
		w.slowest = share(sum, f)
	}
}

// untold reports whether a stage is the wait for a NAK, for duplicate ACKs or for a timer to tell
// of a loss.
func untold(s catalog.Stage) bool {
	return s == catalog.StageLoss || s == catalog.StageDetection || s == catalog.StageTimeout
}

// waits are those that took more than a tenth of all messages' time, or of the slowest's, and that
// the verdict does not tell of. slowest is a row of the messages; -1: none completed.
func (x *index) waits(all *tally, v *Verdict, slowest int) []Wait {
	var out []Wait
	last := waitKinds()
	if slowest >= 0 && !x.r.Messages[slowest].Account.IsZero() {
		f := &x.r.Messages[slowest]
		if _, ok := x.sender(f); ok {
			defer func(was bool) { x.thorough = was }(x.thorough)
			x.thorough = true // it may have waited for earlier ones that did
			x.dominant(f, false)
			x.waitsOf(f, last)
		}
	}
	for i := range all.waits {
		w := &all.waits[i]
		milli := mulDiv(int64(w.time), 1000, int64(max(all.total, 1)))
		told := v != nil && (v.Cause.Kind == w.kind && v.Kind != catalog.VerdictLoss || v.Kind == catalog.VerdictFailure && w.kind == catalog.CauseLoss)
		if told || max(milli, last[i].slowest)*mostWaited <= 1000 {
			continue
		}
		if w.most == 0 {
			w.place, w.of = last[i].place, max(w.of, last[i].of)
		}
		wait := Wait{Kind: w.kind, Place: w.place, Milli: milli, SlowestMilli: last[i].slowest, Messages: w.of}
		wait.Text = x.sayWaited(&wait, all.of)
		out = append(out, wait)
	}
	return out
}

// sayWaited is a wait in words.
func (x *index) sayWaited(w *Wait, of int) string {
	what := ""
	switch w.Kind {
	case catalog.CauseReceives:
		what = x.l.Of("for receive work requests at ") + w.Place.Node + x.l.Of(" (RNR NAKs)")
	case catalog.CauseClass:
		what = x.l.Of("behind classes that are served first, most of it at ") + w.Place.In(x.l)
	default:
		what = x.l.Of("for a NAK, or a timeout, to tell of a loss")
		if onlyStreams(x.r) {
			what = x.l.Of("for duplicate acknowledgements, or a timeout, to tell of a loss")
		}
		timeouts := int64(0)
		for i := range x.r.QPs {
			timeouts += x.r.QPs[i].Timeouts
		}
		if timeouts > 0 {
			what += x.l.Sprintf(" (%s in the run)", plural(x.l, timeouts, "timeout"))
		}
	}
	part := fmt.Sprintf("%.0f %%", float64(w.Milli)/10)
	if w.Milli < 10 {
		part = x.l.Of("less than 1 %")
	}
	said := x.l.Sprintf("%d of %d messages waited %s: %s of all messages' time", w.Messages, of, what, part)
	if w.SlowestMilli > 0 {
		said += x.l.Sprintf(", %.0f %% of the slowest's", float64(w.SlowestMilli)/10)
	}
	return said
}
