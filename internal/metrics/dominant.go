package metrics

import (
	"cmp"
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// What a message's time is laid at the door of. Its own bytes on links and through switches
// are inherent: only a faster way makes them shorter, and they are the longest stage of many
// messages that other things hold up for half of their time. So they do not compete with
// what could be taken away; they are named where that is little.

// lineShare is the part of a message's time, one in so many, below which causes together are not
// looked at beside what its own way takes: a fifth, the bound of internal/proof for a sentence that
// only a faster way helps.
const lineShare = 5

// spell is a time out of the account of a message: the one that is asked about, or one before
// it on its queue pair that it waited for.
type spell struct {
	of     *record.Message
	number int32 // of the stage
	time   units.Time
	behind bool // it waited for of
}

// dominant adds up what stems from the same cause; the cause that took most is the one
// responsible. With waiting, the time in which the message itself was being sent does not
// count, and nothing is said of shares.
func (x *index) dominant(f *record.Message, waiting bool) Dominant {
	x.causes = x.causes[:0]
	var way spell // the longest of those that are the line's, each for itself
	inherent := units.Time(0)
	for _, s := range x.spells(f) {
		k := &x.stages.known[s.number]
		switch {
		case waiting && !s.behind && k.stage.Is(catalog.Sent):
		case s.behind || !k.line:
			x.bookCause(s, k.stage)
		default:
			if inherent += s.time; s.time > way.time {
				way = s
			}
		}
	}
	if way.time > 0 {
		x.bookCause(way, x.stages.known[way.number].stage)
	}
	best := x.strongest(f.Life(), inherent)
	if best == nil {
		return Dominant{}
	}
	return x.told(f, best, waiting)
}

// bookCause adds a spell to the others of its cause, and what of it packets waited that were sent again to that of
// the loss; but what fails for a while takes no longer for those.
func (x *index) bookCause(s spell, stage catalog.Stage) {
	cause := x.causeOf(s)
	if cause.Kind != catalog.CauseFault && cause.Kind != catalog.CauseFailure {
		if again, ok := x.again(&s); ok {
			x.book(again, stage, x.causeOf(again))
		}
	}
	x.book(s, stage, cause)
}

// book adds a spell in a stage to the others of its cause. What is inherent stands for itself, stage by stage.
func (x *index) book(s spell, stage catalog.Stage, cause Cause) {
	if s.behind {
		stage = catalog.StageEarlierWork.On(stage.Leg())
	}
	n := 0
	line := cause.Kind == catalog.CauseLine
	for ; n < len(x.causes); n++ {
		d := &x.causes[n]
		if d.Cause.Kind == cause.Kind && (!line || d.Stage == stage) && d.Cause.Place == cause.Place {
			break
		}
	}
	if n == len(x.causes) {
		x.causes = slices.Grow(x.causes, 1)[:n+1]
		x.causes[n] = Dominant{Stage: stage, Cause: cause, Parts: x.causes[n].Parts[:0]} // room of an earlier message's
	}
	if x.causes[n].Cause.Then == nil {
		x.causes[n].Cause.Then = cause.Then
	}
	x.causes[n].Cause.Why = max(x.causes[n].Cause.Why, cause.Why)
	x.causes[n].add(stage, s)
}

// waitsToSend are the stages in which a queue pair has something to send and may not.
var waitsToSend = [...]catalog.Stage{
	catalog.StageRate, catalog.StageWindow, catalog.StageBitmap, catalog.StagePaused, catalog.StageCredits,
	catalog.StageOther,
}

// again takes out of a spell, in which a queue pair might not send, what it waited with packets that it had sent
// before: of that time it is as much as of the time on the wire. It stands as a spell of resending, whose cause is
// that of the loss. false: nothing of it was sent again.
func (x *index) again(s *spell) (again spell, ok bool) {
	k := x.stages.known[s.number]
	if !k.own || !slices.Contains(waitsToSend[:], k.base) {
		return spell{}, false
	}
	sent, resent := units.Time(0), units.Time(0)
	again = spell{of: s.of, behind: s.behind}
	for _, t := range x.stages.read(s.of.Account) {
		switch o := &x.stages.known[t.number]; {
		case o.stage.Leg() != k.stage.Leg():
		case o.base == catalog.StageSending:
			sent += t.time
		case o.base == catalog.StageResending:
			resent, again.number = resent+t.time, t.number
		}
	}
	if resent == 0 {
		return spell{}, false
	}
	again.time = units.Time(mulDiv(int64(s.time), int64(resent), int64(sent+resent)))
	s.time -= again.time
	return again, again.time > 0
}

// strongest is the cause that took most of a time, of which so much is inherent; the first of those that
// took as much.
func (x *index) strongest(total, inherent units.Time) *Dominant {
	var line, cause *Dominant
	all := units.Time(0) // of what could be taken away
	for i := range x.causes {
		best := &cause
		if x.causes[i].Cause.Kind == catalog.CauseLine {
			best = &line
		} else {
			all += x.causes[i].TimePS
		}
		if *best == nil || x.causes[i].TimePS > (*best).TimePS {
			*best = &x.causes[i]
		}
	}
	if line == nil || cause != nil && (cause.TimePS > max(inherent, line.TimePS) || all*lineShare >= total) {
		return cause
	}
	return line
}

// told completes what is said of the strongest cause.
func (x *index) told(f *record.Message, strongest *Dominant, waiting bool) Dominant {
	best, s := *strongest, strongest.longest
	best.longest = spell{}
	k := &x.stages.known[s.number]
	defer x.restore(x.known.from, x.known.to)
	x.during(f)
	x.tells = 0
	_, best.How = x.say(s.of, x.packetsOf(s.of, k), k)
	best.tells = x.tells
	slices.SortStableFunc(best.Parts, func(a, b Part) int { return cmp.Compare(b.TimePS, a.TimePS) })
	if best.Stage = best.Parts[0].Stage; best.Stage.Base() == catalog.StageEarlierWork && best.Stage != k.stage {
		best.How = x.l.Of("earlier messages of ") + qpActor(x.packetsOf(f, k)) + x.l.Of(" were not sent yet: ") + best.How
	}
	waits := func(p Part) bool { return slices.Contains(waitsToSend[:], p.Stage.Base()) }
	if k.base == catalog.StageResending && slices.ContainsFunc(best.Parts, waits) {
		best.How += x.l.Of("; what was sent again had to wait for its turn again")
	}
	if x.thorough && !x.single && best.Cause.Then == nil {
		best.How += x.inSeries(f, &best.Cause, best.TimePS, k.base)
	}
	best.Where = x.nameOf(&best.Cause)
	if waiting { // a ceiling asks for no more
		best.Parts = nil
		return best
	}
	best.Parts = slices.Clone(best.Parts) // the room is for the next message
	best.Milli = share(best.TimePS, f)
	best.Cause.Milli = best.Milli
	for i := range best.Parts {
		best.Parts[i].Milli = share(best.Parts[i].TimePS, f)
	}
	return best
}

// share is a part of a message's time in thousandths, rounded.
func share(t units.Time, f *record.Message) int64 {
	return (mulDiv(int64(t), 2000, int64(max(f.Life(), 1))) + 1) / 2
}

// add counts a stage of the same cause; the longest one gives the words.
func (d *Dominant) add(stage catalog.Stage, s spell) {
	part := slices.IndexFunc(d.Parts, func(p Part) bool { return p.Stage == stage })
	if part < 0 {
		part = len(d.Parts)
		d.Parts = append(d.Parts, Part{Stage: stage})
	}
	d.TimePS += s.time
	d.Parts[part].TimePS += s.time
	if s.time > d.longest.time {
		d.longest = s
	}
}

// packetsOf is the queue pair whose packets passed a stage of a message's account.
func (x *index) packetsOf(f *record.Message, s *stageKnown) *record.QP {
	q := x.actor(f, false)
	if s.response {
		if peer, ok := x.peer(q); ok {
			return &x.r.QPs[peer]
		}
	}
	return q
}

// spells are the stages of a message's account, added up. The time that it waited for earlier
// messages of its queue pair is, if thorough, divided into what these did
// meanwhile. The result holds until the next call.
func (x *index) spells(f *record.Message) []spell {
	x.spelled = x.spelled[:0]
	account := x.stages.read(f.Account)
	behind := func(t stageTime) bool { return x.stages.known[t.number].base == catalog.StageEarlierWork }
	if x.thorough && slices.ContainsFunc(account, behind) {
		x.slice(f, f.StartPS, f.StartPS+f.Life(), 0)
		return x.spelled
	}
	for _, t := range account {
		x.spelled = append(x.spelled, spell{of: f, number: t.number, time: t.time})
	}
	return x.spelled
}

// mostBehind is how many earlier messages are gone through, one behind the other.
const mostBehind = 4096

// slice adds the spells of a message's account between two instants, and how long they are
// together. Where it waited for earlier messages, the one before it tells what that was for.
func (x *index) slice(f *record.Message, from, to units.Time, depth int) (sum units.Time) {
	type wait struct {
		number   int32
		from, to units.Time
	}
	var waits []wait
	x.stages.read(f.Account)
	first, at := len(x.spelled), f.StartPS
	for _, t := range x.stages.steps {
		start, end := max(at, from), min(at+t.time, to)
		if at += t.time; start >= end {
			continue
		}
		sum += end - start
		if s := &x.stages.known[t.number]; s.base == catalog.StageEarlierWork && !s.ack {
			waits = append(waits, wait{t.number, start, end})
			continue
		}
		x.addSpell(first, spell{f, t.number, end - start, depth > 0})
	}
	before := x.before(f)
	for _, w := range waits {
		left := w.to - w.from
		if before != nil && !before.Account.IsZero() && depth < mostBehind && x.maySlice() {
			left -= x.slice(before, w.from, w.to, depth+1)
		}
		if left > 0 {
			x.addSpell(len(x.spelled), spell{f, w.number, left, depth > 0})
		}
	}
	return sum
}

// maySlice reports whether one more account may be looked at.
func (x *index) maySlice() bool {
	switch {
	case x.sliced == 0: // as many as there are
		return true
	case x.sliced > 1:
		x.sliced--
		return true
	}
	return false
}

// addSpell adds one to that of the same stage, of those from first on.
func (x *index) addSpell(first int, s spell) {
	for i := first; i < len(x.spelled); i++ {
		if o := &x.spelled[i]; o.number == s.number && o.of == s.of && o.behind == s.behind {
			o.time += s.time
			return
		}
	}
	x.spelled = append(x.spelled, s)
}

// before is the message that was posted to the same queue pair before; nil: none was.
func (x *index) before(f *record.Message) *record.Message {
	n := int(f.Number)
	if n >= len(x.r.Messages) || &x.r.Messages[n] != f {
		return nil
	}
	if x.previous == nil {
		x.previous = make([]int32, len(x.r.Messages))
		order := make([]int32, len(x.r.Messages))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortStableFunc(order, func(a, b int32) int {
			return cmp.Compare(x.r.Messages[a].StartPS, x.r.Messages[b].StartPS)
		})
		last := map[qpKey]int32{}
		for _, i := range order {
			key := flowQP(&x.r.Messages[i])
			before, there := last[key]
			if !there {
				before = -1
			}
			x.previous[i], last[key] = before, i
		}
	}
	if k := x.previous[n]; k >= 0 {
		return &x.r.Messages[k]
	}
	return nil
}

// collective reports whether a message belongs to a collective: the messages before it on its
// queue pair are the same work, none of which can be taken away.
func (x *index) collective(f *record.Message) bool {
	return slices.ContainsFunc(x.r.Collectives, func(c record.Collective) bool {
		return c.Has(f)
	})
}

// causeOf is where the cause of a spell lies. What earlier messages took to be sent is their
// cause, and of a collective's, which are the same work, the way's.
func (x *index) causeOf(s spell) Cause {
	k := &x.stages.known[s.number]
	q := x.packetsOf(s.of, k)
	cause := x.blame(s.of, q, s.number)
	if cause.Kind == catalog.CauseLine && s.behind {
		cause = Cause{Kind: catalog.CauseEarlier, Place: q.Place()}
	}
	if cause.Kind == catalog.CauseEarlier && x.collective(s.of) {
		cause.Kind = catalog.CauseLine
	}
	return cause
}
