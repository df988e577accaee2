package metrics

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Verdict is what dominates a run. It is made from what the explanations of messages blame,
// so that it cannot contradict them.
type Verdict struct {
	Kind catalog.Verdict `json:"kind"` // what sort of thing dominates
	// Cause is what most of the messages' time went to, with its share of the time of all.
	Cause Cause `json:"cause,omitzero"`
	// Messages is how many of the messages looked at lost most of their time to the cause.
	Messages int `json:"messages"`
	// Of is how many messages were looked at: all of them, or of many every so many.
	Of int `json:"of"`
	// Ports is how many ports a storm held, or are in the circle of a deadlock.
	Ports int `json:"ports,omitempty"`
	// HeldPS adds up over the ports of a storm the time held with a frame waiting.
	HeldPS units.Time `json:"held_ps,omitempty"`
	// Victims is how many messages a storm held that do not go to where it began.
	Victims int `json:"victims,omitempty"`
	// Unused are the ports that lead where an overloaded one does and that nobody took.
	Unused []record.PortID `json:"unused,omitempty"`
	Text   string          `json:"text"`
}

// Bounds of what dominates.
const (
	dominates    = 250     // thousandths of all messages' time that go to one cause, which more than half blame
	fullLine     = 0.95    // of the time that a port that is full sends
	mostJudged   = 512     // messages that are looked at; of more every so many
	mostSliced   = 1 << 16 // accounts of earlier messages that are looked at for them, see slice
	listedNobody = 3       // names in a list
)

// judgement adds up one cause over messages.
type judgement struct {
	cause    Cause
	time     units.Time // that went to it
	blaming  units.Time // completion times of the messages that blame it most
	messages int
	reached  int            // of these, how many reached their best rate
	first    int32          // message
	places   []record.Place // of a reason inside hosts
}

// tally is what the explanations of messages come to.
type tally struct {
	top   *judgement // took most of their time
	of    int        // messages that were looked at
	total units.Time // theirs
	waits []waited
	defects
}

// verdict is what dominates the run; nil: nothing does.
func (x *index) verdict(j *tally, trees []PauseTree) *Verdict {
	if len(x.r.Cycle) > 0 {
		v := &Verdict{Kind: catalog.VerdictDeadlock, Ports: len(x.r.Cycle), Of: len(x.r.Messages), Messages: x.r.OpenMessages}
		v.Cause = x.circle()
		v.Text = x.l.Sprintf("deadlock: %d ports wait for each other in a circle, and %s for them", len(x.r.Cycle),
			plural(x.l, int64(x.r.OpenMessages), "message"))
		return v
	}
	v := x.unbroken(j, trees)
	if c := x.brokenCircle(); c != nil {
		return x.brokenVerdict(c, v)
	}
	return v
}

// unbroken is the verdict where no circle of waits is looked for.
func (x *index) unbroken(j *tally, trees []PauseTree) *Verdict {
	if v := x.otherJobs(x.defectVerdict(x.dominating(j, trees), j), j.of); v != nil {
		return v
	}
	if v := x.busyCoreVerdict(j.of); v != nil {
		return v
	}
	return x.lostNotices(j.of)
}

// dominating is the verdict on the cause that most messages blame; nil: none dominates.
func (x *index) dominating(j *tally, trees []PauseTree) *Verdict {
	top := j.top
	if top == nil || 2*top.blaming <= j.total || int64(top.time) < mulDiv(int64(j.total), dominates, 1000) {
		return nil
	}
	v := &Verdict{Cause: top.cause, Messages: top.messages, Of: j.of}
	v.Cause.Milli = mulDiv(int64(top.time), 1000, int64(j.total))
	x.pass(v, top, trees)
	if v.Kind == catalog.NoVerdict {
		return nil
	}
	return v
}

// judge adds up what the explanations of messages blame.
func (x *index) judge() *tally {
	type key struct {
		kind  catalog.Cause
		place record.Place
		why   catalog.Reason
	}
	at := map[key]int{}
	var all []judgement
	out := &tally{waits: waitKinds()}
	e := &Explainer{x}
	defer func(was bool) { x.thorough, x.sliced = was, 0 }(x.thorough)
	x.thorough, x.sliced = true, mostSliced
	for k := range min(len(x.r.Messages), mostJudged) {
		i := x.judged(k)
		f := &x.r.Messages[i]
		if _, ok := x.sender(f); !ok || f.Life() <= 0 || f.Account.IsZero() {
			continue
		}
		d := x.dominant(f, false)
		x.waitsOf(f, out.waits)
		x.addDefects(&out.defects, f)
		out.of, out.total = out.of+1, out.total+f.Life()
		if d.Stage == catalog.NoStage {
			continue
		}
		k := key{d.Cause.Kind, d.Cause.Place, d.Cause.Why}
		switch {
		case k.kind == catalog.CauseLine || k.kind == catalog.CauseStaged: // whatever its place
			k.place = record.Place{}
		case k.kind != catalog.CauseInside: // its place says it all
			k.why = catalog.NoReason
		case k.why != catalog.NoReason: // likewise
			k.place = record.Place{}
		}
		n, known := at[k]
		if !known {
			n = len(all)
			place := d.Cause.Place
			if k.kind == catalog.CauseLine || k.kind == catalog.CauseStaged {
				place = record.Place{}
			}
			at[k], all = n, append(all, judgement{cause: Cause{Kind: k.kind, Place: place, Why: d.Cause.Why}, first: int32(i)})
		}
		j := &all[n]
		if !slices.Contains(j.places, d.Cause.Place) {
			j.places = append(j.places, d.Cause.Place)
		}
		j.messages++
		j.time, j.blaming = j.time+d.TimePS, j.blaming+f.Life()
		if k.kind == catalog.CauseLine {
			if c := e.Ceiling(i); c != nil && c.Reached && x.atLineRate(f, c.MeasuredBps) {
				j.reached++
			}
		}
	}
	if len(all) > 0 {
		most := slices.MaxFunc(all, func(a, b judgement) int { return cmp.Compare(a.time, b.time) })
		out.top = &most
	}
	return out
}

// judged is the message that is looked at k-th. Of many they are spread so that they fall in with no
// order that messages are in: steps of the golden section hit no period for long.
func (x *index) judged(k int) int {
	n := len(x.r.Messages)
	if n <= mostJudged {
		return k
	}
	const golden = 0x9e3779b97f4a7c15 // of 2^64
	hi, _ := bits.Mul64(uint64(k)*golden, uint64(n))
	return int(hi)
}

// atLineRate reports whether a message's goodput is that of the slowest link of its way, less
// a tenth for headers: no other limit held it.
func (x *index) atLineRate(f *record.Message, goodput units.Rate) bool {
	k, ok := x.sender(f)
	if !ok {
		return false
	}
	for _, h := range x.r.QPs[k].Limits.Path {
		if goodput >= h.RateBps-h.RateBps/10 {
			return true
		}
	}
	return false
}

// pass gives the verdict its kind and words.
func (x *index) pass(v *Verdict, top *judgement, trees []PauseTree) {
	share := x.l.Sprintf("%.0f %% of all messages' time", float64(v.Cause.Milli)/10)
	where := x.nameOf(&top.cause)
	if x.storm(v, trees) {
		return
	}
	switch v.Cause.Kind {
	case catalog.CausePort:
		x.passPort(v, where, share)
	case catalog.CauseLine:
		if top.reached*2 > v.Of {
			v.Kind = catalog.VerdictFull
			v.Text = x.l.Sprintf("%d of %d messages are as fast as their way allows: only a faster link would gain anything",
				top.reached, v.Of)
		}
	case catalog.CauseCaches:
		if host := v.Cause.Place.Node; x.mostlyStalled(host) == "" { // as a sender
			v.Kind = catalog.VerdictReceiver
			v.Text = x.l.Sprintf("%s's card fetched contexts and translations that its caches did not hold before it sent: "+
				"%s went to that, and a faster network would not help", host, share)
			break
		}
		fallthrough
	case catalog.CauseReceiver, catalog.CauseFault:
		v.Kind = catalog.VerdictReceiver
		v.Text = x.l.Sprintf("%s: %s went to that%s, and a faster network would not help",
			x.slowTaker(v.Cause.Place.Node), share,
			x.sharedTaker(v.Cause.Place.Node))
	case catalog.CauseInside:
		v.Kind = catalog.VerdictInside
		v.Text = x.l.Sprintf("%s%s: %s went to that, and not to the network", where, x.insideOf(&v.Cause), share)
		if v.Cause.Why != catalog.NoReason && len(top.places) > 1 {
			rate := ""
			if l := x.limitAt(&v.Cause); l != nil {
				rate = x.l.Of(", no more than ") + FormatRate(l.Bps)
			}
			v.Text = x.l.Sprintf("%s (%s%s): %s went to that, and not to the network", insideHosts(x.l, v.Cause.Why, top.places),
				where, rate, share)
		}
	case catalog.CauseCore:
		v.Kind = catalog.VerdictCore
		v.Text = x.l.Sprintf("%s: %s went to that, and not to the network", x.worksAt(v.Cause.Place.Node), share)
	case catalog.CauseStaged:
		v.Kind = catalog.VerdictStaged
		v.Text = x.l.Of("without GPUDirect data of GPUs are copied through the memory of their hosts: ") + share +
			x.l.Of(" went to that")
	case catalog.CauseMessages:
		f := &x.r.Messages[top.first]
		if k, ok := x.sender(f); ok {
			v.Kind = catalog.VerdictMessages
			v.Text = x.l.Sprintf("%s (%s went to that)", x.takenUp(f, &x.r.QPs[k]), share)
		}
	case catalog.CauseFailure:
		v.Kind = catalog.VerdictFailure
		v.Text = x.l.Sprintf("%s failed%s: %s went to that%s", where, x.outages(v.Cause.Place), share, x.after())
	}
}

// outages says when a link failed and for how long, in words that follow; of several times the first.
func (x *index) outages(link record.Place) string {
	var first *record.Failure
	n := int64(0)
	for i := range x.r.Failures {
		if f := &x.r.Failures[i]; f.Link == link {
			if n++; first == nil {
				first = f
			}
		}
	}
	if first == nil {
		return ""
	}
	said := x.l.Of(" at ") + FormatTime(first.DownPS-x.r.FirstPost())
	if n > 1 {
		said = x.l.Sprintf(" %d times, first%s", n, said)
	}
	if first.SwitchDown != "" {
		said += x.l.Of(" with the switch ") + first.SwitchDown
	}
	if first.UpPS > 0 {
		said += x.l.Of(" for ") + FormatTime(first.UpPS-first.DownPS)
	}
	if first.Silent {
		said += x.l.Of(", which nobody noticed")
	}
	return said
}

// slowTaker names a host and says why it takes no more.
func (x *index) slowTaker(host string) string {
	if stall := x.mostlyStalled(host); stall != "" {
		return host + x.l.Of("'s card ") + stall
	}
	if f := x.faultOf(host); f != nil {
		return host + x.l.Of("'s card ") + SayFault(x.l, f)
	}
	if d := x.drain(host); d != nil {
		return host + x.l.Of(" takes data only at ") + drainRate(x.l, d)
	}
	return host + x.l.Of(" does not take data as fast as they come")
}

// sharedTaker says of a card that was slow for a while that senders would wait for each other without that,
// too, as they send more to it than its link carries, in words that follow; "": they would not.
func (x *index) sharedTaker(host string) string {
	n, rate, saves := x.sharedCardOf(host)
	if n == 0 {
		return ""
	}
	return x.l.Sprintf(" and to the %d senders that share the %s to it, of which a card that keeps up saves no more than "+
		"%.0f %% of the time", n, FormatRate(rate), saves)
}

// keepsUp says the same in the explanation of a message.
func (x *index) keepsUp(host string) string {
	n, rate, saves := x.sharedCardOf(host)
	if n == 0 {
		return ""
	}
	return x.l.Sprintf("; %d senders share the %s to it, so that a card that keeps up saves no more than %.0f %% of the "+
		"time", n, FormatRate(rate), saves)
}

// sharedCardOf is how many senders share the link to a host whose card was slow for a while, its rate, and up to how
// much of the time a card that keeps up saves, in hundredths; 0: they bring no more than the link carries. What n
// bytes take at the card's rate R is L/R times what they take on the link of rate L, so that 1 - R/L is saved.
func (x *index) sharedCardOf(host string) (n int, rate units.Rate, saves float64) {
	f, p := x.faultOf(host), x.portTo(host)
	if f == nil || f.Kind != record.FaultSlow || p == nil || x.users(p) < 2 {
		return 0, 0, 0
	}
	if _, rate := x.feeds(p); rate <= p.RateBps {
		return 0, 0, 0
	}
	return x.users(p), p.RateBps, 100 * (1 - float64(f.RateBps)/float64(p.RateBps))
}

// insideOf says what is special about the way inside a host that limits it, in words that
// follow.
func (x *index) insideOf(c *Cause) string {
	if l := x.limitAt(c); l != nil {
		return ", " + FormatRate(l.Bps) + InsideBut(x.l, l)
	}
	return ""
}

// storm makes the verdict one on a storm, if pauses that began at its cause held messages
// that do not go there.
func (x *index) storm(v *Verdict, trees []PauseTree) bool {
	for i := range trees {
		t := &trees[i]
		if !t.Root.Is(v.Cause.Kind, v.Cause.Place) || len(t.Victims) == 0 {
			continue
		}
		v.Kind, v.Ports, v.HeldPS, v.Victims = catalog.VerdictStorm, len(t.Branches), t.HeldPS, len(t.Victims)
		layer := t.Branches[0].port.Layer
		root := x.nameOf(&t.Root)
		if t.Root.Kind == catalog.CauseReceiver || t.Root.Kind == catalog.CauseCaches || t.Root.Kind == catalog.CauseFault {
			root = x.l.Of("the NIC of ") + t.Root.Place.Node
		}
		var names []string
		for _, k := range t.Victims {
			name := Arrow(&x.r.Messages[k])
			if slices.Contains(names, name) {
				continue
			}
			if len(names) == listedNobody {
				names = append(names, "...")
				break
			}
			names = append(names, name)
		}
		do := x.l.Of("do")
		if len(t.Victims) == 1 {
			do = x.l.Of("does")
		}
		v.Text = x.l.Sprintf("%s from %s (%s): %s held %s, %s in all%s; %s that it held %s not go there: %s",
			layer.Words(x.l).HeldStorm, root, t.Why, layer.Words(x.l).Holder, plural(x.l, int64(v.Ports), "port"),
			FormatTime(v.HeldPS), x.toTheEnd(t)+x.cutOff(t), plural(x.l, int64(v.Victims),
				"message"), do, strings.Join(names, ", "))
		return true
	}
	return false
}

// toTheEnd says how many ports of a pause tree were held when all had come to rest, in words that follow; "":
// none was.
func (x *index) toTheEnd(t *PauseTree) string {
	n := 0
	for i := range t.Branches {
		if x.lasting(t.Branches[i].port, 0, x.r.EndPS) > 0 {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case len(t.Branches):
		return x.l.Of(" until nothing moved, and then to the end")
	}
	return x.l.Sprintf(" until nothing moved, and then %d of them to the end", n)
}

// cutOff says that PFC watchdogs cut ports of a pause tree off, the first of them the one nearest
// the root, in words that follow; "": none did.
func (x *index) cutOff(t *PauseTree) string {
	var first *record.Storm
	n := int64(0)
	for i := range t.Branches {
		b := &t.Branches[i].Port
		k := slices.IndexFunc(x.r.Storms, func(s record.Storm) bool {
			return s.Action != record.WatchdogAlert && s.Port == b.PortID() && s.Class == int(b.Class)
		})
		if k < 0 {
			continue
		}
		if n++; first == nil {
			first = &x.r.Storms[k]
		}
	}
	switch {
	case n == 0:
		return ""
	case n == 1:
		return x.l.Sprintf(", until the PFC watchdog of %s took it for a storm at %s", first.Port, FormatTime(first.FromPS))
	}
	return x.l.Sprintf(", until PFC watchdogs took %s for storms, %s at %s", plural(x.l, n, "queue"), first.Port,
		FormatTime(first.FromPS))
}

// passPort tells of a port to which more came than it sends: whether others lead there as
// well, or whether it is full.
func (x *index) passPort(v *Verdict, where, share string) {
	place := v.Cause.Place
	p := x.ports[portClass{place.PortID(), int(place.Class)}]
	if p == nil {
		return
	}
	n := x.users(p)
	if v.Unused = x.unused(p); len(v.Unused) > 0 && n > 1 {
		v.Kind = catalog.VerdictUplinks
		v.Text = x.l.Sprintf("uneven uplinks: the hashes put %s on %s and none on %s, which lead%s to the same place; "+
			"another seed, more queue pairs per message, spraying or adaptive routing would spread them (%s went to that)",
			plural(x.l, int64(n), "sender"), where, listPorts(v.Unused), x.l.Of(singular(len(v.Unused))), share)
		return
	}
	who := plural(x.l, int64(n), "sender") + x.l.Of(" share it") + x.sharedBehind(v, p)
	switch moved := x.movedTo(p); {
	case moved != nil:
		who = x.l.Sprintf("%s failed%s, and new tables led there what took another way", moved.Link, x.outages(moved.Link))
	case n < 2:
		who = x.l.Of("one sender fills it")
	}
	if all := x.out(p.ID()); n == 0 && len(all) > 0 {
		who = x.l.Sprintf("%s puts in priority %d what is sent in %d", p.Node, p.Class, x.r.QPs[all[0]].Limits.Class)
	}
	if p.Utilisation >= fullLine {
		v.Kind = catalog.VerdictFull
		v.Text = x.l.Sprintf("%s to %s is full, %.0f %% of the time: %s, and only a faster port or less traffic to it gains "+
			"anything (%s went to that)", where, p.Peer.Node, 100*p.Utilisation, who, share)
		return
	}
	dropped := int64(0)
	for _, d := range p.DropCauses {
		if d.Cause.Sign() == catalog.BufferDrop && !d.Cause.Arriving() {
			dropped += d.Count
		}
	}
	if dropped > 0 {
		who += x.l.Sprintf(", %s found no room", plural(x.l, dropped, "frame"))
	}
	v.Kind = catalog.VerdictPort
	v.Text = x.l.Sprintf("more came to %s than it sends to %s: %s, it sends %s of the time, and %s went to that",
		where, p.Peer.Node, who, percent(x.l, p.Utilisation), share)
}

// percent is a share in words: small ones are not none.
func percent(l lang.Language, share float64) string {
	if share < 0.01 {
		return l.Of("less than 1 %")
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// sharedBehind says that a card shares a port among several devices of its host, or the port at the far
// end, in words that follow; "": it does not.
func (x *index) sharedBehind(v *Verdict, p *record.Port) string {
	for _, k := range x.class(x.out(p.ID()), p.Class) {
		if s := x.sharedCard(p.ID(), &x.r.QPs[k]); s != "" {
			v.Cause.Why = catalog.ReasonShared
			return s
		}
	}
	return ""
}

func singular(n int) string {
	if n == 1 {
		return "s"
	}
	return ""
}

// unused lists the ports beside p, from switch to switch, that nobody takes in its class, that carried hardly
// any data beside what p did, and that lead to the same places: from whose far ends it is as far to all hosts
// that p's data go to. Those whose link failed are none.
func (x *index) unused(p *record.Port) (out []record.PortID) {
	e := x.r.Evidence
	if e == nil || len(e.Far) < len(e.Ports) || x.hosts[p.Node] || x.hosts[p.Peer.Node] {
		return nil
	}
	neighbours := map[string][]string{}
	var beside []uint32
	for i := range e.Ports {
		o, far := e.Ports[i], e.Ports[e.Far[i]].Node
		neighbours[o.Node] = append(neighbours[o.Node], far)
		if o.Node == p.Node && o != p.ID() && !x.hosts[far] && len(x.class(x.out(o), p.Class)) == 0 &&
			x.failureAt(o, nil) == nil && !x.shares(o, p) {
			beside = append(beside, uint32(i))
		}
	}
	for _, host := range x.reached(p) {
		away := distances(neighbours, host)
		beside = slices.DeleteFunc(beside, func(i uint32) bool { return away[e.Ports[e.Far[i]].Node] != away[p.Peer.Node] })
	}
	for _, i := range beside {
		out = append(out, e.Ports[i])
	}
	return out
}

// shares reports whether a port carried at least a tenth of the data that another did in its class.
func (x *index) shares(o record.PortID, p *record.Port) bool {
	beside := x.ports[portClass{o, p.Class}]
	return beside != nil && carried(beside) > 0 && 10*carried(beside) >= carried(p)
}

// mostReached is how many hosts are looked at that a port's data go to.
const mostReached = 64

// reached lists hosts that the data of a port go to.
func (x *index) reached(p *record.Port) (hosts []string) {
	for _, i := range x.class(x.out(p.ID()), p.Class) {
		path := x.r.QPs[i].Limits.Path
		if to := path[len(path)-1].Peer.Node; !slices.Contains(hosts, to) && len(hosts) < mostReached {
			hosts = append(hosts, to)
		}
	}
	return hosts
}

// distances is how many links it is from each node to one.
func distances(neighbours map[string][]string, to string) map[string]int {
	far := map[string]int{to: 1}
	for queue := []string{to}; len(queue) > 0; queue = queue[1:] {
		for _, n := range neighbours[queue[0]] {
			if far[n] == 0 {
				far[n] = far[queue[0]] + 1
				queue = append(queue, n)
			}
		}
	}
	return far
}
