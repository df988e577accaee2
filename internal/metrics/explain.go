package metrics

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Dominant is the stage that took most of a message's time.
type Dominant struct {
	Stage  string
	Where  string // port, queue pair or host responsible
	TimePS units.Time
	Milli  int64 // share of the completion time, in thousandths
	How    string
}

// DominantStage names the stage of message i that took most of its time and says
// in words what stands behind it, looked up in the records. It is zero for a
// message without account.
func DominantStage(r *record.Run, i int) Dominant {
	f := &r.Flows[i]
	x := newIndex(r)
	k, ok := x.requesters()[flowQP(f)]
	if !ok || len(f.Account) == 0 {
		return Dominant{}
	}
	return x.dominant(f, &r.QPs[k], false)
}

// nodeOf is the node of a port's name.
func nodeOf(endpoint string) string {
	node, _, _ := strings.Cut(endpoint, ":")
	return node
}

// StageOf divides a stage into its name and place, which accounts read back from
// JSON hold as one.
func StageOf(s record.Stage) (name, where string) {
	if s.Where != "" {
		return s.Name, s.Where
	}
	for _, known := range placed {
		for _, prefix := range []string{"", "ACK "} {
			if rest, ok := strings.CutPrefix(s.Name, prefix+known+" "); ok && rest != "" {
				return prefix + known, rest
			}
		}
	}
	return s.Name, ""
}

// placed are the stages that carry a place.
var placed = [...]string{"paused", "control frames", "other traffic", "sending", "resending", "queue", "receive buffer",
	"serialisation", "propagation", "switch latency", "ACK coalescing"}

// dominant sums the stages up by name; of the largest the place that took most
// is the one responsible. With waiting, the time in which the message itself
// was being sent does not count.
func (x *index) dominant(f *record.Flow, q *record.QP, waiting bool) Dominant {
	var names []string
	sums := map[string]units.Time{}
	places := map[record.Stage]units.Time{}
	for _, s := range f.Account {
		name, where := StageOf(s)
		if _, seen := sums[name]; !seen {
			names = append(names, name)
		}
		sums[name] += s.Time
		places[record.Stage{Name: name, Where: where}] += s.Time
	}
	d := Dominant{}
	for _, n := range names {
		if waiting && (n == "sending" || n == "serialisation") {
			continue
		}
		if sums[n] > d.TimePS {
			d.Stage, d.TimePS = n, sums[n]
		}
	}
	most := units.Time(0)
	for _, s := range f.Account { // in order: ties go to the first
		name, where := StageOf(s)
		if t := places[record.Stage{Name: name, Where: where}]; name == d.Stage && t > most {
			most, d.Where = t, where
		}
	}
	if d.Where == "" {
		d.Where = qpActor(q)
	}
	d.Milli = mulDiv(int64(d.TimePS), 1000, int64(max(f.CompletionPS, 1)))
	x.say(&d, f, q)
	return d
}

// say fills in How, and Where when the cause lies elsewhere.
func (x *index) say(d *Dominant, f *record.Flow, q *record.QP) {
	l := &q.Limits
	me := qpActor(q)
	if stage, ack := strings.CutPrefix(d.Stage, "ACK "); ack {
		d.How = sayAck(stage, d.Where)
		return
	}
	switch d.Stage {
	case "rate":
		d.How = x.sayRate(f, q, me)
	case "window":
		d.Where, d.How = x.sayWindow(f, q, me)
	case "paused":
		d.Where, d.How = x.sayPaused(d.Where, q)
	case "queue":
		d.How = strings.TrimSuffix(fmt.Sprintf("it waited in the queue of %s", d.Where)+x.sharedBy(d.Where, q), ",")
	case "receive buffer":
		d.How = fmt.Sprintf("it waited in the receive buffer of %s, drained at %s", d.Where, FormatRate(l.DrainBps))
	case "other traffic":
		d.How = fmt.Sprintf("%s served %s first", d.Where, x.others(d.Where))
	case "control frames":
		d.How = d.Where + " sent ACKs, CNPs or PFC frames first"
	case "behind earlier work":
		d.How = fmt.Sprintf("earlier messages of %s were not sent yet", me)
	case "sending":
		d.How = fmt.Sprintf("%s put it on the wire at the line's rate, %s", me, FormatRate(l.LineBps))
	case "resending":
		d.How = fmt.Sprintf("%s sent %s again", me, plural(q.Retransmitted, "packet"))
	case "awaiting NAK or timeout":
		d.How = fmt.Sprintf("a loss had to be noticed: %s, %s in the life of %s", plural(x.naksTo(q), "NAK"), plural(q.Timeouts, "timeout"), me)
	case "RNR wait":
		d.How = fmt.Sprintf("%s waited for receive work requests at %s", me, f.Dst)
	case "propagation":
		d.How = "the cable " + d.Where
	case "serialisation":
		d.How = "the rate of " + d.Where
	default:
		d.How = d.Where
	}
}

// sayAck tells what the acknowledgement met.
func sayAck(stage, where string) string {
	switch stage {
	case "queue":
		return "the ACK waited in the queue of " + where
	case "paused":
		return "PFC held the ACK at " + where
	case "coalescing":
		return where + " waited before it acknowledged"
	case "lost":
		return "the first ACK did not arrive; a later one did"
	}
	return fmt.Sprintf("the ACK's %s, %s", stage, where)
}

// sayRate tells what congestion control did to a queue pair.
func (x *index) sayRate(f *record.Flow, q *record.QP, me string) string {
	goodput := Goodput(f)
	if goodput == 0 {
		goodput = q.FinalRateBps
	}
	switch {
	case q.CNPsReceived > 0:
		return fmt.Sprintf("DCQCN held %s at %s (lowest rate %s) after %s from %s", me, FormatRate(goodput), FormatRate(q.MinRateBps),
			plural(q.CNPsReceived, "CNP"), nodeOf(f.Dst))
	case q.Limits.InitialBps > 0 && q.Limits.InitialBps < q.Limits.LineBps:
		return fmt.Sprintf("%s began at its initial rate of %s and no CNP reached it", me, FormatRate(q.Limits.InitialBps))
	case q.Limits.MaxBps > 0 && q.Limits.MaxBps < q.Limits.LineBps:
		return fmt.Sprintf("%s may send %s at most", me, FormatRate(q.Limits.MaxBps))
	}
	return "pacing held " + me
}

// sayWindow tells whether the idle round trip or queues on the way made the
// window bind.
func (x *index) sayWindow(f *record.Flow, q *record.QP, me string) (where, how string) {
	l := &q.Limits
	how = fmt.Sprintf("the window of %s let %s send no more than that per round trip", FormatBytes(l.WindowBytes), me)
	idle := RateOf(l.WindowBytes, l.BaseRTTPS)
	var deepest *record.Port
	for _, h := range l.Path {
		p := x.ports[fmt.Sprintf("%s prio %d", h.Port, l.Class)]
		if p != nil && (deepest == nil || p.MeanQueueBytes > deepest.MeanQueueBytes) {
			deepest = p
		}
	}
	// A queue that holds a fifth of the window on average stretches the round trip.
	if deepest == nil || Goodput(f) == 0 || idle < Goodput(f)*11/10 || deepest.MeanQueueBytes < float64(l.WindowBytes)/5 {
		return "window", how + ", " + FormatTime(l.BaseRTTPS) + " when idle"
	}
	name := PortName(deepest)
	return name, strings.TrimSuffix(fmt.Sprintf("%s, which the queue of %s stretched (%s on average)%s", how, name, FormatBytes(int64(deepest.MeanQueueBytes)), x.sharedBy(name, q)), ",")
}

// sayPaused follows the pauses down the path to the port that could not send as
// fast as it was fed, or to the host that did not take what arrived.
func (x *index) sayPaused(port string, q *record.QP) (where, how string) {
	path := q.Limits.Path
	class := q.Limits.Class
	k := 0
	for k < len(path) && path[k].Port != port {
		k++
	}
	first := k
	for k < len(path) {
		p := x.ports[fmt.Sprintf("%s prio %d", path[k].Port, class)]
		if p == nil || p.PausedPS == 0 {
			break
		}
		k++
	}
	if k == first || first >= len(path) {
		return port, "PFC held " + port
	}
	held := fmt.Sprintf("PFC held %s", port)
	if k > first+1 {
		held += fmt.Sprintf(" and %s on from it", plural(int64(k-first-1), "port"))
	}
	if k == len(path) {
		host := nodeOf(path[k-1].Peer)
		rate := ""
		if q.Limits.DrainBps > 0 {
			rate = " only at " + FormatRate(q.Limits.DrainBps)
		}
		return "receive buffer of " + host, fmt.Sprintf("%s, because %s takes data%s", held, host, rate)
	}
	return path[k].Port, fmt.Sprintf("%s, because %s%s could not send as fast as it was fed", held, path[k].Port, x.sharedBy(path[k].Port, q))
}

// sharedBy counts the other queue pairs that take a port.
func (x *index) sharedBy(port string, q *record.QP) string {
	n := len(x.class(x.out[port], q.Limits.Class)) - 1
	if n < 1 {
		return ""
	}
	return fmt.Sprintf(", shared with %s,", plural(int64(n), "other queue pair"))
}

func (x *index) others(port string) string {
	n := len(x.out[port]) - 1
	if n < 1 {
		return "other traffic"
	}
	return plural(int64(n), "other queue pair")
}

// naksTo counts the NAKs that the peer of a requester sent.
func (x *index) naksTo(q *record.QP) int64 {
	for i := range x.r.QPs {
		if p := &x.r.QPs[i]; qpActor(p) == q.Peer {
			return p.NAKsSent
		}
	}
	return 0
}
