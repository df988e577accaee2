package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Defects are settings and parts that are wrong. One shows at many ports, of which none dominates a run, and
// ports that are merely full are there in runs where all is well. So they have a verdict of their own.

// Bounds of what a defect must take to be the verdict.
const (
	defectTells    = 100 // thousandths of all messages' time, where nothing else dominates
	defectSlowest  = 250 // or so many of the slowest message's
	defectOverrule = 250 // of all messages' time, to stand in place of a port that dominates
)

// defect adds up over messages what one kind of defect took of them.
type defect struct {
	kind    catalog.Verdict
	time    units.Time
	slowest units.Time // the part of it in the slowest message
	of      int        // messages that it took time of
	at      []defectAt // where, that which took most first once it is told of
}

// defectAt is what a defect took at one port.
type defectAt struct {
	port *record.Port
	time units.Time
}

// defects are those that a run's messages met.
type defects struct {
	all     []defect
	latest  *record.Message // the slowest of the messages that were looked at
	known   map[portClass]*hashedAlike
	tiers   map[string]int // see fastest
	fastest map[towards]units.Rate
	hosts   units.Rate // see hostRate
}

// add looks for defects among the causes of a message, which have just been found.
func (x *index) addDefects(all *defects, f *record.Message) {
	latest := all.latest == nil || f.Life() > all.latest.Life()
	if latest {
		all.latest = f
		for i := range all.all {
			all.all[i].slowest = 0
		}
	}
	for i := range x.causes {
		kind, p, took := x.defectOf(all, &x.causes[i])
		if kind == catalog.NoVerdict || took == 0 {
			continue
		}
		k := slices.IndexFunc(all.all, func(d defect) bool { return d.kind == kind })
		if k < 0 {
			k, all.all = len(all.all), append(all.all, defect{kind: kind})
		}
		d := &all.all[k]
		d.time, d.of = d.time+took, d.of+1
		if latest {
			d.slowest += took
		}
		n := slices.IndexFunc(d.at, func(a defectAt) bool { return a.port == p })
		if n < 0 {
			n, d.at = len(d.at), append(d.at, defectAt{port: p})
		}
		d.at[n].time += took
	}
}

// defectOf is the defect behind a cause of a message, at which port, and how much of its time that took.
func (x *index) defectOf(all *defects, c *Dominant) (kind catalog.Verdict, p *record.Port, took units.Time) {
	switch c.Cause.Kind {
	case catalog.CauseFault:
		if p = x.portTo(c.Cause.Place.Node); p != nil {
			return catalog.VerdictReceiver, p, c.TimePS
		}
		return catalog.NoVerdict, nil, 0
	case catalog.CauseFailure:
		if p = x.portAt(c.Cause.Place); p != nil {
			return catalog.VerdictFailure, p, c.TimePS
		}
		return catalog.NoVerdict, nil, 0
	}
	if c.Cause.Place.Kind != catalog.AtPortClass {
		return catalog.NoVerdict, nil, 0
	}
	p = x.ports[portClass{c.Cause.Place.PortID(), int(c.Cause.Place.Class)}]
	if p == nil {
		return catalog.NoVerdict, nil, 0
	}
	switch c.Cause.Why {
	case catalog.ReasonHeadroom:
		return catalog.VerdictHeadroom, p, c.TimePS
	case catalog.ReasonMap:
		return catalog.VerdictMap, p, c.TimePS
	case catalog.ReasonOversize:
		return catalog.VerdictOversize, p, c.TimePS
	}
	switch c.Cause.Kind {
	case catalog.CauseLoss:
		return catalog.VerdictLoss, p, c.TimePS
	case catalog.CausePort:
		if x.slowLink(all, p) > 0 {
			return catalog.VerdictSlowLink, p, c.TimePS
		}
		if x.alike(all, p) != nil {
			return catalog.VerdictPolarised, p, c.TimePS
		}
		paused, paced := units.Time(0), units.Time(0)
		for _, part := range c.Parts {
			switch part.Stage.Base() {
			case catalog.StagePaused:
				paused += part.TimePS
			case catalog.StageRate:
				paced += part.TimePS
			}
		}
		if paused <= paced {
			break
		}
		if sent, arrived := x.cnpsTo(p); 4*arrived < 3*sent {
			return catalog.VerdictLostCNPs, p, paused
		}
		if x.unmarked(p) {
			return catalog.VerdictUnmarked, p, paused
		}
	}
	return catalog.NoVerdict, nil, 0
}

// defectVerdict is the verdict on the defect that took most, if that is enough beside what dominates; else
// it is what dominates.
func (x *index) defectVerdict(dominating *Verdict, j *tally) *Verdict {
	if len(j.defects.all) == 0 || j.total == 0 {
		return dominating
	}
	d := slices.MaxFunc(j.defects.all, func(a, b defect) int { return cmp.Compare(a.time, b.time) })
	slices.SortStableFunc(d.at, func(a, b defectAt) int { return cmp.Compare(b.time, a.time) })
	milli := mulDiv(int64(d.time), 1000, int64(j.total))
	least := int64(defectTells)
	if dominating != nil {
		least = defectOverrule
		switch dominating.Kind {
		case catalog.VerdictPort, catalog.VerdictUplinks, catalog.VerdictFull:
		default:
			return dominating
		}
	}
	first := d.at[0].port
	v := &Verdict{Kind: d.kind, Messages: d.of, Of: j.of, Cause: atPort(first)}
	v.Cause.Milli = milli
	went := x.l.Sprintf("%.0f %% of all messages' time", float64(milli)/10)
	if milli < defectTells {
		went = x.l.Sprintf("%.0f %% of the slowest message's time", float64(share(d.slowest, j.defects.latest))/10)
	}
	if dominating != nil && d.kind == catalog.VerdictFailure && milli >= defectTells {
		if said := x.filledInVain(dominating, d.links()); said != "" {
			v.Text = x.sayDefect(v, &d, &j.defects) + x.l.Of(": ") + went + x.l.Of(" went to that, and ") + said
			return v
		}
	}
	// Other defects may be why the port is full; these two are causes beside it, and the larger is told.
	broken := d.kind == catalog.VerdictFailure || d.kind == catalog.VerdictReceiver
	if dominating != nil && broken && milli < dominating.Cause.Milli ||
		milli < least && (dominating != nil || share(d.slowest, j.defects.latest) < defectSlowest) {
		if dominating != nil && milli >= defectTells {
			dominating.Text += x.l.Of("; ") + x.besides(dominating, v, &d, &j.defects) + x.l.Of(": ") + went +
				x.l.Of(" went to that")
		}
		return dominating
	}
	v.Text = x.sayDefect(v, &d, &j.defects) + x.l.Of(": ") + went + x.l.Of(" went to that")
	if d.kind == catalog.VerdictFailure {
		v.Text += x.after()
	}
	return v
}

// besides tells of a defect beside what dominates, whose words may have named a link that failed.
func (x *index) besides(dominating, v *Verdict, d *defect, all *defects) string {
	said := x.sayDefect(v, d, all)
	if d.kind == catalog.VerdictFailure && strings.Contains(dominating.Text, x.nameOf(&v.Cause)) {
		return x.l.Of("and to what the failure itself held up")
	}
	return x.l.Of("besides, ") + said
}

// portTo is a port by which queue pairs send to a host; nil: there is none.
func (x *index) portTo(host string) *record.Port {
	for i := range x.r.Ports {
		if p := &x.r.Ports[i]; p.Peer.Node == host && x.users(p) > 0 {
			return p
		}
	}
	return nil
}

// portAt is a port of a link that sent something; nil: there is none.
func (x *index) portAt(link record.Place) *record.Port {
	for i := range x.r.Ports {
		if p := &x.r.Ports[i]; link.Joins(p.ID(), p.Peer) {
			return p
		}
	}
	return nil
}

// fewCNPs is how many CNPs are too few to tell of a loss of them.
const fewCNPs = 8

// lostNotices is the verdict where no time dominates, on notifications of which more than a quarter did not arrive and
// pauses that came in their place; nil: there is none.
func (x *index) lostNotices(of int) *Verdict {
	for i := range x.r.Ports {
		p := &x.r.Ports[i]
		if p.Marked == 0 {
			continue
		}
		sent, arrived := x.cnpsTo(p)
		if sent < fewCNPs || 4*arrived >= 3*sent {
			continue
		}
		pauses := int64(0)
		for k := range x.r.Ports {
			if o := &x.r.Ports[k]; o.Node == p.Node && o.Class == p.Class {
				pauses += o.PausesSent
			}
		}
		if pauses > 0 {
			return &Verdict{Kind: catalog.VerdictLostCNPs, Of: of, Cause: atPort(p), Text: x.l.Sprintf("lost CNPs: of %s that "+
				"receivers behind %s sent, %s arrived, so that %s had to send %s to senders that DCQCN should have slowed",
				plural(x.l, sent, "CNP"), p.ID(), FormatCount(arrived), p.Node, plural(x.l, pauses, "pause"))}
		}
	}
	return nil
}

// sayDefect completes the verdict on a defect, in words that what it took follows.
func (x *index) sayDefect(v *Verdict, d *defect, all *defects) string {
	p := d.at[0].port
	switch d.kind {
	case catalog.VerdictHeadroom:
		v.Cause.Why = catalog.ReasonHeadroom
		return x.l.Sprintf("short headroom: %s lossless frames, which came after its pause; its headroom of %s is "+
			"less than the %s that the cable can need%s", x.sayDrops(p, catalog.DropHeadroom),
			FormatBytes(p.Limits.HeadroomBytes), FormatBytes(p.Limits.HeadroomNeed), andMore(x.l, len(d.at)-1, "port"))
	case catalog.VerdictMap:
		v.Cause.Why = catalog.ReasonMap
		if to := x.overrunBy(p); to != nil {
			return x.l.Sprintf("wrong priority map: %s puts in priority %d what hosts send in %d, so that pauses of %s do not "+
				"stop it, and %s frames of it%s", p.Node, p.Class, to.Class, to.Node, x.sayDrops(to, catalog.DropHeadroom),
				andMore(x.l, len(d.at)-1, "port"))
		}
		return x.l.Sprintf("wrong priority map: %s puts in priority %d what hosts send in another, and %s frames "+
			"of it%s", p.Node, p.Class, x.sayDrops(p, catalog.NoDrop), andMore(x.l, len(d.at)-1, "port"))
	case catalog.VerdictOversize:
		v.Cause.Why = catalog.ReasonOversize
		return x.l.Sprintf("MTU mismatch: %s frames that are larger than its MTU%s", x.sayDrops(p, catalog.DropOversize),
			andMore(x.l, len(d.at)-1, "port"))
	case catalog.VerdictLoss:
		v.Cause.Kind = catalog.CauseLoss
		return x.sayLossy(d)
	case catalog.VerdictSlowLink:
		others := x.l.Of("others of ") + p.Node + x.l.Of(" like it")
		if x.hosts[p.Peer.Node] {
			others = x.l.Of("those of other hosts")
		}
		return x.l.Sprintf("the link %s - %s gives %s, and %s %s%s", p.ID(), p.Peer, FormatRate(p.RateBps), others,
			FormatRate(x.slowLink(all, p)), andMore(x.l, len(d.links())-1, "link"))
	case catalog.VerdictReceiver:
		v.Cause = ofCard(p.Peer.Node)
		return x.slowTaker(p.Peer.Node) + andMore(x.l, len(d.at)-1, "card")
	case catalog.VerdictFailure:
		v.Cause = Cause{Kind: catalog.CauseFailure, Place: d.links()[0]}
		return x.sayFailed(v, d)
	case catalog.VerdictPolarised:
		return x.sayPolarised(v, d, all)
	case catalog.VerdictLostCNPs:
		sent, arrived := x.cnpsTo(p)
		return x.l.Sprintf("lost CNPs: of %s that receivers behind %s sent, %s arrived, so that PFC held senders "+
			"that DCQCN should have slowed", plural(x.l, sent, "CNP"), p.ID(), FormatCount(arrived))
	}
	return x.sayUnmarked(d)
}

// overrunBy is the port and class at the other end of port p whose headroom was full of what p sends in another class;
// nil: there is none, or p drops it itself.
func (x *index) overrunBy(p *record.Port) *record.Port {
	if p.Dropped > 0 {
		return nil
	}
	for i := range x.r.Ports {
		o := &x.r.Ports[i]
		full := func(d record.Drop) bool { return d.Cause == catalog.DropHeadroom }
		if o.Peer == p.ID() && o.Class != p.Class && slices.ContainsFunc(o.DropCauses, full) && x.remapped(o) == p {
			return o
		}
	}
	return nil
}

// andMore counts further ones, in words that follow.
func andMore(l lang.Language, n int, what string) string {
	if n == 0 {
		return ""
	}
	return l.Sprintf(" (and so at %s more)", plural(l, int64(n), what))
}

// sayDrops says how many frames a port dropped, of one cause or with NoDrop of all: "sw:1 dropped 12".
func (x *index) sayDrops(p *record.Port, why catalog.Drop) string {
	n := int64(0)
	for _, d := range p.DropCauses {
		if why == catalog.NoDrop || d.Cause == why {
			n += d.Count
		}
	}
	return x.l.Sprintf("%s dropped %s", p.ID(), FormatCount(n))
}

// links are those of the ports where it showed.
func (d *defect) links() (all []record.Place) {
	for i := range d.at {
		p := d.at[i].port
		if !slices.ContainsFunc(all, func(l record.Place) bool { return l.Ends(p.ID()) }) {
			all = append(all, record.LinkAt(p.Node, p.Port, p.Peer.Node, p.Peer.Port))
		}
	}
	return all
}

// sayLossy names the link that loses, both ways together.
func (x *index) sayLossy(d *defect) string {
	p := d.at[0].port
	lost, sent, by := int64(0), int64(0), ""
	links := d.links()
	for i := range x.r.Ports {
		o := &x.r.Ports[i]
		if !links[0].Ends(o.ID()) {
			continue
		}
		sent += o.TxPackets
		for _, c := range o.DropCauses {
			if c.Cause.OnLink() {
				lost, by = lost+c.Count, c.Cause.In(x.l)
			}
		}
	}
	return x.l.Sprintf("the link %s - %s loses frames (%s): %s of the %s that it carried, %s, each of which "+
		"costs a NAK, a timeout or a cut of the rate%s", p.ID(), p.Peer, by, FormatCount(lost), FormatCount(sent),
		lossShare(float64(lost)/float64(max(sent, 1))), andMore(x.l, len(links)-1, "link"))
}

// lossShare is a share of frames in words, two digits of small ones.
func lossShare(share float64) string {
	if share >= 0.1 {
		return fmt.Sprintf("%.0f %%", 100*share)
	}
	return fmt.Sprintf("%.2g %%", 100*share)
}

// slower is how much faster, in quarters, other links of a switch are than one that is slow beside them.
const slower = 5

// slowLink is the rate of the fastest link of a switch to switches of the same tier as a port leads to, or that of
// most links to hosts if it leads to one, if that port is slow beside it; 0: it is not.
func (x *index) slowLink(all *defects, p *record.Port) units.Rate {
	if x.r.Network == nil || x.hosts[p.Node] {
		return 0
	}
	if all.tiers == nil {
		all.tiers, all.fastest = x.fastest()
		all.hosts = x.hostRate()
	}
	if x.hosts[p.Peer.Node] {
		if 4*all.hosts >= slower*p.RateBps {
			return all.hosts
		}
		return 0
	}
	if best := all.fastest[towards{p.Node, all.tiers[p.Peer.Node]}]; 4*best >= slower*p.RateBps {
		return best
	}
	return 0
}

// towards is where some links of a switch lead: to a tier of others.
type towards struct {
	node string
	tier int
}

// fastest are the tiers of switches that have some, and the rates of the fastest links to each.
func (x *index) fastest() (tiers map[string]int, rates map[towards]units.Rate) {
	tiers, rates = map[string]int{}, map[towards]units.Rate{}
	for _, n := range x.r.Network.Nodes {
		tiers[n.Name] = n.Tier
	}
	for _, l := range x.r.Network.Links {
		for _, at := range [2]towards{{l.A.Node, tiers[l.B.Node]}, {l.B.Node, tiers[l.A.Node]}} {
			if at.tier > 0 {
				rates[at] = max(rates[at], l.RateBps)
			}
		}
	}
	return tiers, rates
}

// hostRate is a rate that at least half of the links to hosts have, or more; 0: there is none.
func (x *index) hostRate() units.Rate {
	tiers := map[string]int{}
	for _, n := range x.r.Network.Nodes {
		tiers[n.Name] = n.Tier
	}
	var rates []units.Rate
	for _, l := range x.r.Network.Links {
		if (tiers[l.A.Node] == 0) != (tiers[l.B.Node] == 0) {
			rates = append(rates, l.RateBps)
		}
	}
	if len(rates) == 0 {
		return 0
	}
	slices.Sort(rates)
	return rates[(len(rates)-1)/2]
}

// hashedAlike is what is known of a port up from a switch whose hash goes together with those below it.
type hashedAlike struct {
	below  []string        // the switches whose flows take it
	unused []record.PortID // ports beside it that lead to the same places and that nobody takes
}

// alike tells of a port most of whose queue pairs come up from switches whose hashes go together with its
// own, while ports beside it carry nothing; nil: it is none.
func (x *index) alike(all *defects, p *record.Port) *hashedAlike {
	at := portClass{p.ID(), p.Class}
	found, known := all.known[at]
	if !known {
		if all.known == nil {
			all.known = map[portClass]*hashedAlike{}
		}
		found = x.findAlike(p)
		all.known[at] = found
	}
	return found
}

func (x *index) findAlike(p *record.Port) *hashedAlike {
	if x.r.Network == nil {
		return nil
	}
	k := slices.IndexFunc(x.r.Network.Nodes, func(n record.NetworkNode) bool {
		return n.Name == p.Node && len(n.Alike) > 0
	})
	if k < 0 {
		return nil
	}
	out, n := &hashedAlike{}, 0
	users := x.class(x.out(p.ID()), p.Class)
	for _, i := range users {
		hop := x.hop(i, p.ID())
		if hop < 1 {
			continue
		}
		if below := x.r.QPs[i].Limits.Path[hop-1].Port.Node; slices.Contains(x.r.Network.Nodes[k].Alike, below) {
			if n++; !slices.Contains(out.below, below) {
				out.below = append(out.below, below)
			}
		}
	}
	if out.unused = x.unused(p); 2*n <= len(users) || len(out.unused) == 0 {
		return nil
	}
	return out
}

// sayPolarised says which tiers hash alike.
func (x *index) sayPolarised(v *Verdict, d *defect, all *defects) string {
	p := d.at[0].port
	a := x.alike(all, p)
	v.Unused = a.unused
	var others []string
	for i := range d.at {
		if n := d.at[i].port.Node; n != p.Node && !slices.Contains(others, n) {
			others = append(others, n)
		}
	}
	more := ""
	if len(others) > 0 {
		more = x.l.Of(", and the like at ") + listNames(x.l, others, listedNobody)
	}
	return x.l.Sprintf("polarised ECMP: the hash of %s goes together with that of %s, so that what comes up from there "+
		"takes %s and never %s%s; another polynomial or a mixing hash in one of the tiers would spread it", p.Node,
		listNames(x.l, a.below, listedNobody), p.ID(), listPorts(a.unused), more)
}

// unmarked reports whether the ingress ports that feed a port paused who sends to it before it marked
// anything, though it marks and they heed that.
func (x *index) unmarked(p *record.Port) bool {
	if p.Limits.KMinBytes == 0 {
		return false
	}
	first, heeds := units.Never, false
	for _, i := range x.class(x.out(p.ID()), p.Class) {
		q := &x.r.QPs[i]
		heeds = heeds || q.Limits.CC && q.Limits.ECT
		if k := x.hop(i, p.ID()); k > 0 {
			in := record.ClassAt(q.Limits.Path[k-1].Peer.Node, q.Limits.Path[k-1].Peer.Port, p.Class, p.Layer)
			if a := x.acts[actKey{catalog.PFCSent, in}]; a.Count > 0 {
				first = min(first, a.First)
			}
		}
	}
	mark := x.acts[actKey{p.Layer.Vocabulary().Mark, p.Place()}]
	return heeds && first < units.Never && (mark.Count == 0 || mark.First > first)
}

// sayUnmarked says at what size pauses came, and what marks would have taken.
func (x *index) sayUnmarked(d *defect) string {
	p := d.at[0].port
	paused, xoff := 0, int64(0)
	for i := range x.r.Ports {
		o := &x.r.Ports[i]
		if o.Node != p.Node || o.Class != p.Class || o.PausesSent == 0 || o.Limits.XOFF == nil {
			continue
		}
		if paused++; xoff == 0 || o.Limits.XOFF.Threshold < xoff {
			xoff = o.Limits.XOFF.Threshold
		}
	}
	said := x.l.Sprintf("PFC came before ECN: %s of %s, which share its buffer, sent pauses from %s each on",
		plural(x.l, int64(paused), "ingress port"), p.Node, FormatBytes(xoff))
	more := andMore(x.l, len(d.at)-1, "port")
	if mark := x.acts[actKey{p.Layer.Vocabulary().Mark, p.Place()}]; mark.Count > 0 {
		return x.l.Sprintf("%s, and %s, where marks begin at Kmin, %s, marked from %s on only%s", said, p.ID(),
			FormatBytes(p.Limits.KMinBytes), FormatTime(mark.First-x.r.FirstPost()), more)
	}
	return x.l.Sprintf("%s, while the queue of %s, of which they hold the parts, came to %s and marks begin at Kmin, %s%s",
		said, p.ID(), FormatBytes(p.PeakQueueBytes), FormatBytes(p.Limits.KMinBytes), more)
}

// cnpsTo counts the CNPs for what passes a port, and those of them that arrived.
func (x *index) cnpsTo(p *record.Port) (sent, arrived int64) {
	for _, i := range x.out(p.ID()) {
		q := &x.r.QPs[i]
		if q.Limits.Class != p.Class {
			continue
		}
		arrived += q.CNPsReceived
		if k, ok := x.peer(q); ok {
			sent += x.r.QPs[k].CNPsSent
		}
	}
	return sent, arrived
}
