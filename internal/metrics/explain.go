package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Dominant is what took most of a message's time: one stage at one place, or
// several stages that stem from the same cause.
type Dominant struct {
	Stage  string // the longest of Parts
	Where  string // port, queue pair or host responsible
	TimePS units.Time
	Milli  int64 // share of the completion time, in thousandths
	How    string
	// Parts are the stages that add up to TimePS, the longest first.
	Parts []Part
	// Loss says which port dropped packets of the message or of those it had to wait
	// for, where that is not what How tells; else it is empty.
	Loss string
	// Core says which cores of either end were full, where that is not what How tells:
	// work that waits for a core shows in other stages as well.
	Core string
}

// Part is a stage's share of a Dominant.
type Part struct {
	Stage  string
	TimePS units.Time
	Milli  int64 // share of the completion time, in thousandths
}

// DominantStage names the stage of message i that took most of its time and says
// in words what stands behind it, looked up in the records. It is zero for a
// message without account.
func DominantStage(r *record.Run, i int) Dominant {
	d, _ := Explain(r, i)
	return d
}

// Explain returns the dominant stage of message i and its ceiling, which is nil
// where the record knows no path or the message has no payload.
func Explain(r *record.Run, i int) (Dominant, *Ceiling) {
	f := &r.Flows[i]
	x := newIndex(r)
	k, ok := x.sender(f)
	if !ok {
		return Dominant{}, nil
	}
	d := Dominant{}
	if !f.Account.IsZero() {
		if d = x.dominant(f, false); !strings.Contains(d.How, " dropped ") {
			d.Loss = x.alsoLost(f)
		}
		if !strings.Contains(d.How, wasBusy) {
			d.Core = x.sayFullCores(&r.QPs[k])
		}
	}
	c := x.ceiling(f, &r.QPs[k])
	if c != nil {
		c.Shared = x.sayShared(f, &r.QPs[k])
	}
	return d, c
}

// StageOf divides a stage into its name and place, which accounts read back from
// JSON hold as one.
func StageOf(s record.Stage) (name, where string) {
	if s.Where != "" {
		return s.Name, s.Where
	}
	for _, known := range record.PlacedStages() {
		for _, prefix := range []string{"", record.ResponseStage, record.AckStage} {
			if rest, ok := strings.CutPrefix(s.Name, prefix+known+" "); ok && rest != "" {
				return prefix + known, rest
			}
		}
	}
	return s.Name, ""
}

// dominant adds up the stages that stem from the same cause; the cause that
// took most is the one responsible. With waiting, the time in which the message
// itself was being sent does not count.
func (x *index) dominant(f *record.Flow, waiting bool) Dominant {
	var all []Dominant
	at := map[string]int{}                           // into all, by cause
	for _, s := range perPlace(f.Account.Stages()) { // in order: ties go to the first
		stage, response := strings.CutPrefix(s.Name, record.ResponseStage)
		if waiting && (stage == record.StageSending || stage == record.StageSerialisation) {
			continue
		}
		q := x.actor(f, response)
		d := Dominant{Stage: s.Name, Where: s.Where}
		if d.Where == "" {
			d.Where = qpActor(q)
		}
		key := s.Key()
		if x.say(&d, f, q, stage) {
			key = "cause " + d.Where
		}
		k, seen := at[key]
		if !seen {
			k = len(all)
			at[key], all = k, append(all, d)
		}
		all[k].add(s, d.How)
	}
	best := Dominant{}
	for i := range all {
		if all[i].TimePS > best.TimePS {
			best = all[i]
		}
	}
	milli := func(t units.Time) int64 { return (mulDiv(int64(t), 2000, int64(max(f.CompletionPS, 1))) + 1) / 2 } // rounded
	best.Milli = milli(best.TimePS)
	for i := range best.Parts {
		best.Parts[i].Milli = milli(best.Parts[i].TimePS)
	}
	slices.SortStableFunc(best.Parts, func(a, b Part) int { return cmp.Compare(b.TimePS, a.TimePS) })
	return best
}

// perPlace adds up the stages of the same name and place, in order of the first.
func perPlace(a record.Account) (out []record.Stage) {
	at := map[record.Stage]int{}
	for _, s := range a {
		name, where := StageOf(s)
		key := record.Stage{Name: name, Where: where}
		k, seen := at[key]
		if !seen {
			k = len(out)
			at[key], out = k, append(out, key)
		}
		out[k].Time += s.Time
	}
	return out
}

// add counts a stage of the same cause, which is told as how; the longest one
// gives the words.
func (d *Dominant) add(s record.Stage, how string) {
	longest := units.Time(0)
	part := -1
	for i := range d.Parts {
		longest = max(longest, d.Parts[i].TimePS)
		if d.Parts[i].Stage == s.Name {
			part = i
		}
	}
	if part < 0 {
		part = len(d.Parts)
		d.Parts = append(d.Parts, Part{Stage: s.Name})
	}
	d.TimePS += s.Time
	d.Parts[part].TimePS += s.Time
	if s.Time > longest {
		d.Stage, d.How = s.Name, how
	}
}

// say fills in How, and Where when the cause lies elsewhere. It reports whether
// the stage is due to something on the way that may stand behind other stages
// as well. q is the queue pair whose packets passed the stage, whose name without
// prefix is stage.
func (x *index) say(d *Dominant, f *record.Flow, q *record.QP, stage string) (caused bool) {
	me := qpActor(q)
	if stage, ack := strings.CutPrefix(d.Stage, record.AckStage); ack {
		d.How = sayAck(stage, d.Where)
		return false
	}
	switch stage {
	case record.StageRate:
		d.Where, d.How = x.sayRate(f, q, me)
		return d.Where != me
	case record.StageWindow:
		d.Where, d.How = x.sayWindow(f, q, me)
		return true
	case record.StageBitmap:
		d.Where, d.How = x.sayBitmap(f, q, me)
		return true
	case record.StageReads:
		d.Where, d.How = limitReads, me+" had as many READs and atomics outstanding as max_rd_atomic allows: "+strconv.FormatInt(q.Limits.MaxRdAtomic, 10)
		return true
	case record.StageRNRWait, record.StageAwaitRNR:
		d.Where, d.How = "receive queue of "+f.Dst, fmt.Sprintf("%s waited for receive work requests at %s", me, f.Dst)
		return true
	case record.StagePaused, record.StageCredits:
		d.Where, d.How = x.sayPaused(d.Where, f, q)
		return true
	case record.StageQueue:
		d.Where, d.How = x.sayQueue(d.Where, f, q)
		return true
	case record.StageReceiveBuffer:
		d.Where, d.How = x.sayReceiveBuffer(d.Where, q)
		return true
	case record.StageResending, record.StageLoss:
		d.Where, d.How = x.sayLoss(stage, d.Where, q)
		return true
	}
	d.How = x.sayOwn(d, f, q, stage)
	return false
}

// whyNarrow is what made the window of a queue pair small.
func (x *index) whyNarrow(q *record.QP) string {
	if q.Timeouts > 0 {
		return plural(q.Timeouts, "timeout")
	}
	return "it was idle"
}

// peerHost is the host of a queue pair's peer.
func peerHost(q *record.QP) string {
	host, _, _ := strings.Cut(q.Peer, " ")
	return host
}

// bufferOf is how a host's receive buffer is named as a cause.
func (x *index) bufferOf(host string) string {
	if l := x.drains[host]; l != nil && l.Inside != nil {
		return fmt.Sprintf("receiver host %s: %s", host, l.Inside)
	}
	return "receive buffer of " + host
}

// sayOwn tells of the stages that stand for themselves.
func (x *index) sayOwn(d *Dominant, f *record.Flow, q *record.QP, stage string) string {
	me := qpActor(q)
	if how := x.sayStream(d.Where, stage, q); how != "" {
		return how
	}
	if how := x.sayInside(f, d.Where, stage, q); how != "" {
		return how
	}
	switch stage {
	case record.StageOther:
		return fmt.Sprintf("%s served %s first", d.Where, x.others(d.Where))
	case record.StageControl:
		return d.Where + " sent ACKs, CNPs or PFC frames first"
	case record.StageCPU:
		return fmt.Sprintf("the application on %s had not posted it yet", d.Where)
	case record.StageConnect:
		return fmt.Sprintf("%s set its connection up first", d.Where)
	case record.StageRegister:
		return fmt.Sprintf("%s registered its memory first", d.Where)
	case record.StageEarlierWork:
		return x.sayEarlier(d.Stage, q, me)
	case record.StageSending:
		return fmt.Sprintf("%s put it on the wire at the line's rate, %s", me, FormatRate(q.Limits.LineBps))
	case record.StageSlowRestart:
		return fmt.Sprintf("slow restart kept the window of %s small after %s", me, x.whyNarrow(q))
	case record.StageFence:
		return fmt.Sprintf("%s let it wait for the READs and atomics before it: it is fenced", me)
	case record.StageFetch:
		return "the NIC fetched what its caches did not hold for " + me
	case record.StageInOrder:
		return "all of it was answered, but completions keep the order of posting and an earlier READ was not complete"
	case record.StageAwaitAck:
		if strings.HasPrefix(f.Status, "REM_") {
			return fmt.Sprintf("%s had sent all of it, and %s refused it: %s", me, record.HostOf(f.Dst), f.Status)
		}
		if f.Status == "WR_FLUSH_ERR" {
			return fmt.Sprintf("%s had sent all of it when a message before it failed", me)
		}
		return fmt.Sprintf("%s had sent all of it and %s had not acknowledged it", me, record.HostOf(f.Dst))
	case record.StageIdle:
		return me + " had nothing to send"
	case record.StageResponses:
		how := fmt.Sprintf("responses of %s arrived, up to one that was lost", record.HostOf(f.Dst))
		if p, drop := x.dropped(q); p != nil {
			how += "; " + x.sayDropped(p, drop)
		}
		return how
	case record.StageReordered:
		return fmt.Sprintf("packets of %s that were sent earlier arrived after its last one", me)
	case record.StageBeyond:
		return "its way had more hops than the record holds"
	case record.StageLatency:
		return "a packet takes that long through the pipeline of " + d.Where
	case record.StagePropagation:
		return "a signal takes that long along the cable " + d.Where
	case record.StageSerialisation:
		return x.saySerialisation(d.Where, q)
	}
	return d.Stage + " at " + d.Where
}

func (x *index) saySerialisation(port string, q *record.QP) string {
	for _, h := range q.Limits.Path {
		if h.Port == port {
			return fmt.Sprintf("a packet takes that long onto the link at %s of %s", FormatRate(h.RateBps), port)
		}
	}
	return "a packet takes that long onto the link of " + port
}

// sayAck tells what the acknowledgement met.
func sayAck(stage, where string) string {
	switch stage {
	case record.StageQueue:
		return "the ACK waited in the queue of " + where
	case record.StagePaused:
		return "PFC held the ACK at " + where
	case record.StageCredits:
		return "the ACK waited for credits at " + where
	case "coalescing":
		return where + " waited before it acknowledged"
	case "behind READ responses":
		return "the ACK had to wait until the READ responses before it were sent"
	case "implied":
		return "no ACK came before the response to a later request, which acknowledges it too"
	case "lost":
		return "the first ACK did not arrive; a later one did"
	}
	if stage == "on its way" {
		return "the ACK was on its way"
	}
	return fmt.Sprintf("the ACK's %s at %s", stage, where)
}

// sayRate tells what congestion control did to a queue pair, and which port of
// its path marked, if one did.
func (x *index) sayRate(f *record.Flow, q *record.QP, me string) (where, how string) {
	goodput := Goodput(f)
	if goodput == 0 {
		goodput = q.FinalRateBps
	}
	switch {
	case q.CNPsReceived > 0:
		control := "DCQCN"
		if x.r.Credits {
			control = "congestion control"
		}
		how = fmt.Sprintf("%s held %s at %s (lowest rate %s) after %s from %s", control, me, FormatRate(goodput), FormatRate(q.MinRateBps),
			plural(q.CNPsReceived, signalsOf(x.r).message), peerHost(q))
		if p := x.mostMarked(q); p != nil {
			return PortName(p), fmt.Sprintf("%s; %s marked %s%s", how, PortName(p), plural(p.Marked, "packet"), x.filledBy(p))
		}
		return me, how
	case q.Limits.InitialBps > 0 && q.Limits.InitialBps < q.Limits.LineBps:
		return me, fmt.Sprintf("%s began at its initial rate of %s and no CNP reached it", me, FormatRate(q.Limits.InitialBps))
	case q.Limits.MaxBps > 0 && q.Limits.MaxBps < q.Limits.LineBps:
		return me, fmt.Sprintf("%s may send %s at most", me, FormatRate(q.Limits.MaxBps))
	}
	return me, "pacing held " + me
}

// sayEarlier tells what the messages of a queue pair, of which one waited for
// earlier ones, spent most time on at it.
func (x *index) sayEarlier(stage string, q *record.QP, me string) string {
	prefix, _ := strings.CutSuffix(stage, record.StageEarlierWork)
	how := fmt.Sprintf("earlier messages of %s were not sent yet", me)
	if most := x.longest(qpKey{q.Host, q.QP}, prefix); most != "" {
		how += "; what held its messages most: " + most
	}
	return how
}

// longest is the stage at a queue pair, as requester or with prefix as responder,
// that took most time of its messages, with its share of the time that they spent
// there; "" if none took any.
func (x *index) longest(q qpKey, prefix string) string {
	if x.spent == nil {
		x.addSpent()
	}
	most, total := 0, units.Time(0)
	all := x.spent[spentAt{q, prefix}]
	for k := range all {
		total += all[k].Time
		if all[k].Time > all[most].Time {
			most = k
		}
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s of %s)", all[most].Name, FormatTime(all[most].Time), FormatTime(total))
}

// spentAt names a queue pair as requester (prefix empty) or responder.
type spentAt struct {
	qp     qpKey
	prefix string
}

// addSpent adds up what the messages of each queue pair spent in its own stages.
func (x *index) addSpent() {
	x.spent = map[spentAt][]record.Stage{}
	for i := range x.r.Flows {
		f := &x.r.Flows[i]
		if _, ok := x.requesters[flowQP(f)]; !ok {
			continue
		}
		for _, s := range f.Account.Stages() {
			name, _ := StageOf(s)
			stage, response := strings.CutPrefix(name, record.ResponseStage)
			at := spentAt{qp: flowQP(f)}
			if response {
				q := x.actor(f, true)
				at = spentAt{qpKey{q.Host, q.QP}, record.ResponseStage}
			}
			if ownStage(stage) {
				x.spent[at] = addStage(x.spent[at], stage, s.Time)
			}
		}
	}
}

// ownStage reports whether a stage is time of a queue pair before its packets
// leave, other than waiting for another message.
func ownStage(stage string) bool {
	switch stage {
	case record.StageRNRWait, record.StageAwaitRNR, record.StageWindow, record.StageSlowRestart, record.StageBitmap, record.StageRate, record.StagePaused, record.StageCredits,
		record.StageControl, record.StageOther, record.StageSending, record.StageResending, record.StageFence, record.StageFetch, record.StageReads, record.StageLoss,
		record.StageHandshake, record.StageSendBuffer, record.StageCwnd, record.StageReceiveWindow, record.StagePacing, record.StageNagle, record.StageDetection, record.StageTimeout, record.StageKernel:
		return true
	}
	return false
}

func addStage(all []record.Stage, name string, d units.Time) []record.Stage {
	for k := range all {
		if all[k].Name == name {
			all[k].Time += d
			return all
		}
	}
	return append(all, record.Stage{Name: name, Time: d})
}

// sayWindow tells whether the idle round trip or queues on the way made the
// window bind.
func (x *index) sayWindow(f *record.Flow, q *record.QP, me string) (where, how string) {
	l := &q.Limits
	how = fmt.Sprintf("the window of %s let %s send no more than that per round trip", FormatBytes(l.WindowBytes), me)
	return x.sayOutstanding(f, q, limitWindow, how, l.WindowBytes)
}

// sayBitmap tells the same of the receive bitmap of selective repeat.
func (x *index) sayBitmap(f *record.Flow, q *record.QP, me string) (where, how string) {
	l := &q.Limits
	packets := l.BitmapPackets
	if packets == 0 {
		packets = 1<<23 - 1
		how = fmt.Sprintf("half the PSN space let %s send no more than %s per round trip", me, plural(packets, "packet"))
	} else {
		how = fmt.Sprintf("the receive bitmap of %s let %s send no more than that per round trip", plural(packets, "packet"), me)
	}
	return x.sayOutstanding(f, q, limitBitmap, how, packets*l.MTUBytes)
}

// sayOutstanding goes on, of a limit of so many bytes outstanding.
func (x *index) sayOutstanding(f *record.Flow, q *record.QP, limit, how string, most int64) (where, said string) {
	l := &q.Limits
	idle := RateOf(most, l.BaseRTTPS)
	var deepest *record.Port
	for _, h := range l.Path {
		p := x.ports[fmt.Sprintf("%s prio %d", h.Port, l.Class)]
		if p != nil && (deepest == nil || p.MeanQueueBytes > deepest.MeanQueueBytes) {
			deepest = p
		}
	}
	// A queue that holds a fifth of the window on average stretches the round trip.
	if deepest == nil || Goodput(f) == 0 || idle < Goodput(f)*11/10 || deepest.MeanQueueBytes < float64(most)/5 {
		return limit, how + ", " + FormatTime(l.BaseRTTPS) + " when idle"
	}
	name := PortName(deepest)
	return name, strings.TrimSuffix(fmt.Sprintf("%s, which the queue of %s stretched (%s on average)%s", how, name, FormatBytes(int64(deepest.MeanQueueBytes)), x.sharedBy(name, q)), ",")
}

// sharedBy counts the queue pairs that take a port, in words that follow its
// name.
func (x *index) sharedBy(port string, q *record.QP) string {
	mine := slices.ContainsFunc(q.Limits.Path, func(h record.PathHop) bool { return h.Port == port })
	switch n := x.load[portClass{port, q.Limits.Class}]; {
	case !mine && n > 0:
		return fmt.Sprintf(", which this message does not take but %s do,", plural(int64(n), "other queue pair"))
	case n > 1:
		return fmt.Sprintf(", shared with %s,", plural(int64(n-1), "other queue pair"))
	}
	return ""
}

func (x *index) others(port string) string {
	n := len(x.out[port]) - 1
	if n < 1 {
		return "other traffic"
	}
	return plural(int64(n), "other queue pair")
}

// WhyRate says in words what held the rate of the queue pair of a name (record.QPName);
// empty: the record has none.
func WhyRate(r *record.Run, name string) string {
	for i := range r.QPs {
		if q := &r.QPs[i]; qpActor(q) == name {
			_, how := newIndex(r).sayRate(&record.Flow{}, q, name)
			return how
		}
	}
	return ""
}
