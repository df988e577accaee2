package metrics

import (
	"strings"

	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
)

// WhyStalled says why nothing moves on the open messages of a run that ended
// "stalled", in words that follow "and".
func WhyStalled(l lang.Language, r *record.Run) string {
	x := newIndexIn(l, r)
	var unposted unposted
	timerless := false
	for i := range r.Messages {
		f := &r.Messages[i]
		if !Open(f) {
			continue
		}
		if f.StartPS >= r.EndPS { // the record of a message that no trigger started
			x.wait(&unposted, f)
			continue
		}
		k, known := x.requester(f)
		timerless = timerless || known && r.QPs[k].Limits.TimeoutPS == 0
	}
	var why []string
	if lost := whatWasLost(l, r); lost != "" && timerless {
		why = append(why, l.Of("what was lost (")+lost+l.Of(") is never sent again: no retransmission timer runs"))
	}
	why = append(why, x.refusals()...)
	why = append(why, unposted.why(l, failures(l, r))...)
	if len(why) == 0 {
		return l.Of("nothing is pending that could move one on")
	}
	return strings.Join(why, "; ")
}

// unposted are the messages that were never posted, by what they wait for.
type unposted struct{ replies, steps, triggered []string }

// wait notes message f, which was never posted.
func (x *index) wait(u *unposted, f *record.Message) {
	list := &u.triggered
	if f.Reply {
		list = &u.replies
	}
	for k := range x.r.Collectives {
		if x.r.Collectives[k].Has(f) {
			list = &u.steps
		}
	}
	*list = append(*list, Arrow(f))
}

// why says what the messages waited for; failed names those that ended in error.
func (u *unposted) why(l lang.Language, failed string) (why []string) {
	for _, c := range []struct {
		what, many, wait, waits string
		of                      []string
	}{
		{l.Of("reply"), l.Of("replies"), l.Of("its request never arrived"), l.Of("their requests never arrived"), u.replies},
		{l.Of("message"), l.Of("messages"), l.Of("what comes before it in the collective never ended"),
			l.Of("what comes before them in the collective never ended"), u.steps},
		{l.Of("message"), l.Of("messages"), l.Of("no trigger started it"), l.Of("no trigger started them"), u.triggered},
	} {
		switch n := len(c.of); {
		case n == 1:
			why = append(why, l.Sprintf("1 %s was never posted, as %s (%s)", c.what, c.wait, c.of[0]))
		case n > 1:
			why = append(why, l.Sprintf("%d %s were never posted, as %s (%s)", n, c.many, c.waits, someOf(l, c.of)))
		}
	}
	if len(why) > 0 {
		why[len(why)-1] += failed
	}
	return why
}

// refusals say, for each host that posts no more receives, which messages are retried
// for ever.
func (x *index) refusals() (why []string) {
	open := x.openBy()
	var hosts []string
	retried := map[string][]string{} // by responder's host; looked up, never iterated
	for k := range x.r.QPs {
		if x.r.QPs[k].RefusedPS == 0 {
			continue
		}
		host, what := x.refused(open[k])
		if host == "" {
			continue
		}
		if retried[host] == nil {
			hosts = append(hosts, host)
		}
		retried[host] = append(retried[host], what)
	}
	for _, host := range hosts {
		why = append(why, x.l.Sprintf("%s posts no more receives: %s retried for ever, rnr_retry 7", host, someOf(x.l,
			retried[host])))
	}
	return why
}

// openBy lists, by requester (an index into QPs) that tries in vain, the messages that were
// posted and are open.
func (x *index) openBy() map[int][]int {
	open := map[int][]int{}
	for i := range x.r.Messages {
		f := &x.r.Messages[i]
		if k, known := x.requester(f); known && x.r.QPs[k].RefusedPS > 0 && Open(f) && f.StartPS < x.r.EndPS {
			open[k] = append(open[k], i)
		}
	}
	return open
}

// refused names the first of the open messages of a requester, which it retries, counts
// those behind it and gives their responder's host; "" when none is open.
func (x *index) refused(open []int) (host, what string) {
	if len(open) == 0 {
		return "", ""
	}
	f := &x.r.Messages[open[0]]
	what = x.l.Sprintf("message %d (%s", open[0], Arrow(f))
	if behind := len(open) - 1; behind > 0 {
		what += x.l.Sprintf("; %d behind it", behind)
	}
	return record.HostOf(f.Dst), what + ")"
}
