package metrics

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
)

// WhyStalled says why nothing moves on the open messages of a run that ended
// "stalled", in words that follow "and".
func WhyStalled(r *record.Run) string {
	x := newIndex(r)
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
	if lost := whatWasLost(r); lost != "" && timerless {
		why = append(why, "what was lost ("+lost+") is never sent again: no retransmission timer runs")
	}
	why = append(why, x.refusals()...)
	why = append(why, unposted.why(failures(r))...)
	if len(why) == 0 {
		return "nothing is pending that could move one on"
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
func (u *unposted) why(failed string) (why []string) {
	for _, c := range []struct {
		what, many, wait, waits string
		of                      []string
	}{
		{"reply", "replies", "its request never arrived", "their requests never arrived", u.replies},
		{"message", "messages", "what comes before it in the collective never ended", "what comes before them in the collective never ended", u.steps},
		{"message", "messages", "no trigger started it", "no trigger started them", u.triggered},
	} {
		switch n := len(c.of); {
		case n == 1:
			why = append(why, fmt.Sprintf("1 %s was never posted, as %s (%s)", c.what, c.wait, c.of[0]))
		case n > 1:
			why = append(why, fmt.Sprintf("%d %s were never posted, as %s (%s)", n, c.many, c.waits, someOf(c.of)))
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
		why = append(why, fmt.Sprintf("%s posts no more receives: %s retried for ever, rnr_retry 7", host, someOf(retried[host])))
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
	what = fmt.Sprintf("message %d (%s", open[0], Arrow(f))
	if behind := len(open) - 1; behind > 0 {
		what += fmt.Sprintf("; %d behind it", behind)
	}
	return record.HostOf(f.Dst), what + ")"
}
