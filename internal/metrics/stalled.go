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
	var unposted []string
	timerless := false
	for i := range r.Flows {
		f := &r.Flows[i]
		if !Open(f) {
			continue
		}
		if f.StartPS >= r.EndPS { // the record of a message that no trigger started
			unposted = append(unposted, Arrow(f))
			continue
		}
		k, known := x.requesters[flowQP(f)]
		timerless = timerless || known && r.QPs[k].Limits.TimeoutPS == 0
	}
	var why []string
	if lost := whatWasLost(r); lost != "" && timerless {
		why = append(why, "what was lost ("+lost+") is never sent again: no retransmission timer runs")
	}
	why = append(why, x.refusals()...)
	if n := len(unposted); n > 0 {
		why = append(why, fmt.Sprintf("%s never posted, for want of a trigger (%s)%s", were(n, "message"), someOf(unposted), failures(r)))
	}
	if len(why) == 0 {
		return "nothing is pending that could move one on"
	}
	return strings.Join(why, "; ")
}

// refusals say, for each host that posts no more receives, which messages are retried
// for ever.
func (x *index) refusals() (why []string) {
	var hosts []string
	retried := map[string][]string{} // by responder's host; looked up, never iterated
	for k := range x.r.QPs {
		if x.r.QPs[k].RefusedPS == 0 {
			continue
		}
		host, what := x.refused(k)
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

// refused names the message that requester k retries, counts those behind it and
// gives their responder's host; "" when none is open.
func (x *index) refused(k int) (host, what string) {
	behind := 0
	for i := range x.r.Flows {
		f := &x.r.Flows[i]
		switch of, known := x.requesters[flowQP(f)]; {
		case !known || of != k || !Open(f) || f.StartPS >= x.r.EndPS:
		case host == "":
			host, what = record.HostOf(f.Dst), fmt.Sprintf("message %d (%s", i, Arrow(f))
		default:
			behind++
		}
	}
	if behind > 0 {
		what += fmt.Sprintf("; %d behind it", behind)
	}
	return host, what + ")"
}
