package compare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// story writes the sentence about one run.
type story struct {
	l     lang.Language
	r     *record.Run
	s     *metrics.Summary
	base  units.Time
	hosts map[string]bool
}

// Sentence says in plain words what a run did about congestion and how it
// ended. Every actor, time and count comes from the record.
func Sentence(r *record.Run) string { return SentenceIn(lang.English, r, metrics.Summarise(r)) }

// SentenceIn is Sentence in a language; s is the summary in it.
func SentenceIn(l lang.Language, r *record.Run, s *metrics.Summary) string {
	t := &story{l: l, r: r, s: s, base: r.FirstPost(), hosts: map[string]bool{}}
	for i := range r.QPs {
		t.hosts[r.QPs[i].Host] = true
	}
	for i := range r.Messages {
		t.hosts[r.Messages[i].Src], t.hosts[r.Messages[i].Dst] = true, true
	}
	var acts, calm []string
	for _, part := range []struct{ did, not string }{
		{t.marks(), ""}, {t.notified(), ""}, {t.cuts(), ""}, {t.windowCuts(), ""},
		{t.holds(), t.noHolds()}, {t.drops(), t.noDrops()}, {t.discards(), ""},
		{t.naks(), ""}, {t.terminated(), ""}, {t.notReady(), ""}, {t.timeouts(catalog.AckTimeout), ""},
		{t.timeouts(catalog.RTO), ""}, {t.rerouted(), ""}, {t.resent(), ""},
	} {
		switch {
		case part.did != "":
			acts = append(acts, part.did)
		case part.not != "":
			calm = append(calm, part.not)
		}
	}
	if why := t.s.Answers[0].Why; len(acts) == 0 && why != "" {
		acts = []string{why}
	}
	var parts []string
	if len(acts) > 0 {
		parts = append(parts, strings.Join(acts, l.Of(", ")))
	}
	if busy := t.cores(); busy != "" {
		parts = append(parts, busy)
	}
	if slow := t.insides(); slow != "" {
		parts = append(parts, slow)
	}
	if len(calm) > 0 {
		parts = append(parts, strings.Join(calm, l.Of(" and ")))
	}
	parts = append(parts, t.outcome())
	return strings.Join(parts, l.Of("; ")) + l.Of(".")
}

// group is the acts of one mechanism: the nodes that took part in the order of
// their first act, and their sum.
type group struct {
	nodes []string
	record.Act
}

// by gathers the ledger's entries of a mechanism.
func (t *story) by(m catalog.Mechanism) group {
	return t.where(func(e catalog.Mechanism) bool { return e == m })
}

// in gathers those of all mechanisms of a role.
func (t *story) in(role catalog.Role) group {
	return t.where(func(e catalog.Mechanism) bool { return e.Role() == role })
}

// where gathers those of some mechanisms.
func (t *story) where(of func(catalog.Mechanism) bool) group {
	var found []record.Entry
	for _, e := range t.r.Ledger {
		if of(e.Mechanism) && e.Count > 0 {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b record.Entry) int { return cmp.Compare(a.First, b.First) })
	var g group
	for i, e := range found {
		if i == 0 || e.First < g.First {
			g.First = e.First
		}
		g.Last = max(g.Last, e.Last)
		g.Count += e.Count
		g.Sum += e.Sum
		if !slices.Contains(g.nodes, e.Actor.Node) {
			g.nodes = append(g.nodes, e.Actor.Node)
		}
	}
	return g
}

// who names the nodes of a group: up to two by name, more by number with the
// one that was first.
func (t *story) who(nodes []string) (name string, first string) {
	switch len(nodes) {
	case 0:
		return t.l.Of("nobody"), ""
	case 1:
		return t.name(nodes[0]), ""
	case 2:
		return t.name(nodes[0]) + t.l.Of(" and ") + t.name(nodes[1]), ""
	}
	kind := t.l.Of("switches")
	hosts := 0
	for _, n := range nodes {
		if t.hosts[n] {
			hosts++
		}
	}
	switch hosts {
	case 0:
	case len(nodes):
		kind = t.l.Of("NICs")
	default:
		kind = t.l.Of("devices")
	}
	return metrics.FormatCount(int64(len(nodes))) + " " + kind, t.name(nodes[0]) + t.l.Of(" first")
}

// name is a switch by its name, or a host's card.
func (t *story) name(node string) string {
	if t.hosts[node] {
		return node + t.l.Of("'s NIC")
	}
	return t.l.Of("switch ") + node
}

// at writes an instant, counted from the first post.
func (t *story) at(instant units.Time) string { return metrics.FormatTime(instant - t.base) }

// since says from when on, and who was first if that is not said yet; more
// goes into the same brackets.
func (t *story) since(first string, a record.Act, more ...string) string {
	when := t.l.Of(" from ") + t.at(a.First) + t.l.Of(" on")
	switch {
	case first != "":
		when = ""
		more = append([]string{first + t.l.Of(", at ") + t.at(a.First)}, more...)
	case a.Count == 1:
		when = t.l.Of(" at ") + t.at(a.First)
	}
	if len(more) == 0 {
		return when
	}
	return when + t.l.Of(" (") + strings.Join(more, t.l.Of("; ")) + t.l.Of(")")
}

// number writes a count with its noun.
func number(l lang.Language, n int64, one, many string) string {
	switch {
	case l == lang.Chinese:
		return l.Counted(n, metrics.FormatCount(n), one)
	case n == 1:
		return "1 " + one
	}
	return metrics.FormatCount(n) + " " + many
}

// times writes how often.
func times(l lang.Language, n int64) string {
	switch n {
	case 1:
		return l.Of("once")
	case 2:
		return l.Of("twice")
	}
	return metrics.FormatCount(n) + l.Of(" times")
}

func (t *story) marks() string {
	g := t.in(catalog.RoleMark)
	if g.Count == 0 {
		return ""
	}
	who, first := t.who(g.nodes)
	return who + t.l.Of(" marked ") + number(t.l, g.Count, "packet", "packets") + t.since(first, g.Act)
}

func (t *story) notified() string {
	for _, m := range catalog.WithRole(catalog.RoleTell) {
		if g := t.by(m); g.Count > 0 {
			who, _ := t.who(g.nodes)
			did, noun := m.English()
			return who + " " + t.l.Of(did) + " " + number(t.l, g.Count, noun, noun+"s")
		}
	}
	return ""
}

func (t *story) cuts() string {
	g := t.in(catalog.RoleSlow)
	if g.Count == 0 {
		return ""
	}
	lowest := units.Rate(0)
	for i := range t.r.QPs {
		if q := &t.r.QPs[i]; q.RateCuts > 0 && (lowest == 0 || q.MinRateBps < lowest) {
			lowest = q.MinRateBps
		}
	}
	if len(g.nodes) == 1 {
		return t.l.Sprintf("%s cut its rate %s, down to %s", t.name(g.nodes[0]), times(t.l, g.Count),
			metrics.FormatRate(lowest))
	}
	return t.l.Sprintf("%s senders cut their rates %s, the slowest to %s", metrics.FormatCount(int64(len(g.nodes))),
		times(t.l, g.Count), metrics.FormatRate(lowest))
}

// windowCuts says which hosts' TCP connections cut their congestion windows, after
// marks, losses or timeouts.
func (t *story) windowCuts() string {
	var all group
	var after []string
	for _, m := range catalog.WithRole(catalog.RoleWindow) {
		g := t.by(m)
		if g.Count == 0 {
			continue
		}
		why := m.Cause()
		if g.Count == 1 {
			why = oneCause(m)
		}
		after = append(after, t.l.Sprintf("%s after %s", times(t.l, g.Count), t.l.Of(why)))
		for _, n := range g.nodes {
			if !slices.Contains(all.nodes, n) {
				all.nodes = append(all.nodes, n)
			}
		}
	}
	switch n := len(all.nodes); n {
	case 0:
		return ""
	case 1:
		return all.nodes[0] + t.l.Of(" cut windows ") + listed(t.l, after)
	default:
		return t.l.Sprintf("%s senders cut windows %s", metrics.FormatCount(int64(n)), listed(t.l, after))
	}
}

// oneCause is what a window was cut for that was cut once.
func oneCause(m catalog.Mechanism) string {
	switch m {
	case catalog.CutLoss:
		return "a loss"
	case catalog.CutRTO:
		return "a timeout"
	}
	return m.Cause()
}

// listed joins words by commas, the last by and.
func listed(l lang.Language, words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], l.Of(", ")) + l.Of(" and ") + words[n-1]
	}
	return strings.Join(words, "")
}

// holder is a node that paused others, with the ports it paused.
type holder struct {
	node string
	sent record.Act // XOFFs that began a pause
	held []string   // nodes, in the order of the record
	time units.Time // paused with a frame waiting, over the held ports
}

// holders lists who paused whom, the first to act first.
func (t *story) holders() []holder {
	sent := t.by(catalog.PFCSent)
	out := make([]holder, len(sent.nodes))
	for i, node := range sent.nodes {
		out[i].node = node
		for _, e := range t.r.Ledger {
			if e.Mechanism == catalog.PFCSent && e.Actor.Node == node {
				out[i].sent = out[i].sent.Merge(e.Act)
			}
		}
	}
	for i := range t.r.Ports {
		p := &t.r.Ports[i]
		k := slices.IndexFunc(out, func(h holder) bool { return h.node == p.Peer.Node })
		if k < 0 || p.PausesReceived == 0 {
			continue
		}
		out[k].time += p.HeldPS
		if !slices.Contains(out[k].held, p.Node) {
			out[k].held = append(out[k].held, p.Node)
		}
	}
	return out
}

// pauses says who held whom: one by one for up to two who did, else in all with
// the port that was held longest.
func (t *story) pauses() string {
	all := t.holders()
	if len(all) == 0 {
		return ""
	}
	if len(all) <= 2 {
		var out []string
		for _, h := range all {
			whom, _ := t.who(h.held)
			out = append(out, t.l.Sprintf("%s paused %s %s%s", t.name(h.node), whom, times(t.l, h.sent.Count),
				t.since("", h.sent, heldFor(t.l, h.time))))
		}
		return strings.Join(out, t.l.Of(", "))
	}
	g := t.by(catalog.PFCSent)
	who, first := t.who(g.nodes)
	var held []string
	for _, h := range all {
		for _, n := range h.held {
			if !slices.Contains(held, n) {
				held = append(held, n)
			}
		}
	}
	whom, _ := t.who(held)
	long := heldFor(t.l, t.s.Totals.HeldPS)
	if p := t.longestHeld(); p != nil {
		long += t.l.Sprintf(", longest %s by %s: %s", p.Node, p.Peer.Node, metrics.FormatTime(p.HeldPS))
	}
	return t.l.Sprintf("%s paused %s %s%s", who, whom, times(t.l, g.Count), t.since(first, g.Act, long))
}

// holds says who was held, by pauses or for want of credits.
func (t *story) holds() string {
	paused := t.pauses()
	g := t.by(catalog.CreditWait)
	if g.Count == 0 {
		return paused
	}
	if paused != "" {
		paused += ", "
	}
	who, first := t.who(g.nodes)
	long := heldFor(t.l, t.s.Totals.HeldPS)
	if p := t.longestHeld(); p != nil && len(g.nodes) > 1 {
		long += t.l.Sprintf(", longest %s: %s", p.Node, metrics.FormatTime(p.HeldPS))
	}
	return t.l.Sprintf("%s%s waited for credits %s%s", paused, who, times(t.l, g.Count), t.since(first, g.Act, long))
}

// noHolds is what to say of a run without any.
func (t *story) noHolds() string {
	var none []string
	for _, layer := range metrics.Layers(t.r) {
		none = append(none, layer.Words(t.l).Unheld)
	}
	return listed(t.l, none)
}

// heldFor says for how long frames had to wait.
func heldFor(l lang.Language, d units.Time) string {
	if d == 0 {
		return l.Of("no frame waited")
	}
	return l.Of("held ") + metrics.FormatTime(d) + l.Of(" in all")
}

// longestHeld is the port that was held longest, or nil.
func (t *story) longestHeld() (longest *record.Port) {
	for i := range t.r.Ports {
		p := &t.r.Ports[i]
		if p.HeldPS > 0 && (longest == nil || p.HeldPS > longest.HeldPS) {
			longest = p
		}
	}
	return longest
}

// drops names each cause with the nodes where it struck.
func (t *story) drops() string {
	type cause struct {
		of    catalog.Drop
		nodes group
	}
	var causes []cause
	for i := range t.r.Ports {
		p := &t.r.Ports[i]
		for _, d := range p.DropCauses {
			k := slices.IndexFunc(causes, func(c cause) bool { return c.of == d.Cause })
			if k < 0 {
				k = len(causes)
				causes = append(causes, cause{of: d.Cause})
			}
			causes[k].nodes.add(p.Node, d.Act)
		}
	}
	var out []string
	for _, c := range causes {
		who, first := t.who(c.nodes.nodes)
		verb := t.l.Of(" dropped ")
		if c.of.OnLink() {
			who, verb = t.l.Of("links into ")+who, t.l.Of(" lost ")
		}
		out = append(out, who+verb+number(t.l, c.nodes.Count, "frame", "frames")+t.since(first, c.nodes.Act, c.of.In(t.l)))
	}
	return strings.Join(out, t.l.Of(", "))
}

// noDrops is what to say where no frame was dropped.
func (t *story) noDrops() string {
	if t.discards() != "" {
		return t.l.Of("no frame was dropped")
	}
	return t.l.Of("nothing was dropped")
}

// discards names each cause for which responders of UC and UD threw messages away.
func (t *story) discards() string {
	var out []string
	for _, m := range catalog.MessageDrops {
		g := t.by(m)
		if g.Count == 0 {
			continue
		}
		who, first := t.who(g.nodes)
		out = append(out, who+t.l.Of(" dropped ")+number(t.l, g.Count, "message", "messages")+t.since(first, g.Act,
			t.l.Of(m.Cause())))
	}
	return strings.Join(out, t.l.Of(", "))
}

// add folds in one act; the node whose act is the earliest stands first.
func (g *group) add(node string, a record.Act) {
	known := slices.Contains(g.nodes, node)
	switch {
	case g.Count > 0 && a.First < g.First:
		g.nodes = slices.DeleteFunc(g.nodes, func(n string) bool { return n == node })
		g.nodes = slices.Insert(g.nodes, 0, node)
	case !known:
		g.nodes = append(g.nodes, node)
	}
	if g.Count == 0 || a.First < g.First {
		g.First = a.First
	}
	g.Last = max(g.Last, a.Last)
	g.Count += a.Count
	g.Sum += a.Sum
}

func (t *story) naks() string {
	g := t.by(catalog.NAKSent)
	if g.Count == 0 {
		return ""
	}
	who, first := t.who(g.nodes)
	return who + t.l.Of(" sent ") + number(t.l, g.Count, "NAK", "NAKs") + t.since(first, g.Act)
}

// terminated tells of ends of streams that refused what came.
func (t *story) terminated() string {
	g := t.by(catalog.Terminated)
	if g.Count == 0 {
		return ""
	}
	why := ""
	for i := range t.r.QPs {
		if w := t.r.QPs[i].OverTCP(); w != nil && w.Reason != "" && w.EndedPS == g.First {
			why = " (" + w.Reason + ")"
			break
		}
	}
	who, first := t.who(g.nodes)
	return who + t.l.Of(" ended ") + number(t.l, g.Count, "stream", "streams") + t.l.Of(" with Terminate") + why +
		t.since(first, g.Act)
}

func (t *story) notReady() string {
	g := t.by(catalog.RNR)
	if g.Count == 0 {
		return ""
	}
	who, _ := t.who(g.nodes)
	return who + t.l.Of(" had no receive posted ") + times(t.l, g.Count)
}

func (t *story) timeouts(m catalog.Mechanism) string {
	g := t.by(m)
	if g.Count == 0 {
		return ""
	}
	if len(g.nodes) == 1 {
		return t.l.Sprintf("%s waited for a timeout %s%s", t.name(g.nodes[0]), times(t.l, g.Count), t.since("", g.Act))
	}
	return t.l.Sprintf("%d senders waited for %s (the first ended at %s)", len(g.nodes),
		number(t.l, g.Count, "timeout", "timeouts"), t.at(g.First))
}

// rerouted counts flows each way apart. The ledger counts one again at every switch that
// sends it another way.
func (t *story) rerouted() string {
	g := t.in(catalog.RoleReroute)
	if g.Count == 0 {
		return ""
	}
	who, first := t.who(g.nodes)
	return t.l.Sprintf("%s took another route for %s%s", who,
		number(t.l, int64(t.r.FlowsMoved), "one-way flow", "one-way flows"), t.since(first, g.Act))
}

func (t *story) resent() string {
	n := t.s.Totals.ResentBytes
	if n == 0 {
		return ""
	}
	return metrics.FormatBytes(n) + t.l.Of(" were sent again")
}

// outcome says how the messages ended.
func (t *story) outcome() string {
	m := &t.s.Messages
	var out []string
	slowest := metrics.FormatTime(units.Time(m.CompletionPS.Worst))
	switch {
	case m.Messages == 0 && len(t.s.Jobs) > 0:
	case m.Messages == 0:
		out = append(out, t.l.Of("nothing was sent"))
	case m.Completed == 0:
		out = append(out, t.l.Of("no message completed"))
	case m.Messages == 1:
		out = append(out, t.l.Of("the message took ")+slowest)
	case m.Completed == 2 && m.Messages == 2:
		out = append(out, t.l.Of("both messages completed, the slower in ")+slowest)
	case m.Completed == m.Messages:
		out = append(out, t.l.Sprintf("all %s messages completed, the slowest in %s",
			metrics.FormatCount(int64(m.Messages)), slowest))
	default:
		out = append(out, t.l.Sprintf("%s of %s messages completed, the slowest in %s",
			metrics.FormatCount(int64(m.Completed)), metrics.FormatCount(int64(m.Messages)), slowest))
	}
	switch {
	case m.Lost > 0 && m.Messages == 1:
		out = append(out, t.l.Of("and was never delivered"))
	case m.Lost > 0:
		out = append(out, t.l.Sprintf("%s of them never delivered", metrics.FormatCount(int64(m.Lost))))
	}
	out = slices.Concat(out, t.collectives(), t.jobs(), t.failures())
	switch open := number(t.l, int64(m.Open), "message was", "messages were"); {
	case t.r.Stopped == "deadlock":
		out = append(out, t.l.Sprintf("the network deadlocked at %s while %s open", t.at(metrics.EndOf(t.r)), open))
	case t.r.Stopped == "stalled":
		out = append(out, t.l.Sprintf("the run stalled at %s while %s open", t.at(t.r.EndPS), open))
	case m.Open > 0:
		out = append(out, t.l.Sprintf("%s still open at %s", open, t.at(t.r.EndPS)))
	}
	return strings.Join(out, t.l.Of(", "))
}

// collectives says how long the collectives took that were over, and how fast that is
// for nccl-tests.
func (t *story) collectives() (out []string) {
	for i, c := range t.s.Collectives {
		how := ""
		if n := len(t.r.Collectives[i].EndPS); n > 1 {
			how = t.l.Sprintf(" in the mean of %d", c.Done)
		}
		if c.Done > 0 {
			out = append(out, t.l.Sprintf("%s took %s%s, busbw %.2f GB/s", t.r.Collectives[i].Op, metrics.FormatTime(c.TimePS),
				how, c.BusBW))
		}
	}
	return out
}

// failures names each error status with the first message that met it.
func (t *story) failures() (out []string) {
	type failure struct {
		status string
		count  int64
		first  *record.Message
	}
	end := func(f *record.Message) units.Time { return f.StartPS + f.CompletionPS }
	var all []failure
	for i := range t.r.Messages {
		f := &t.r.Messages[i]
		if metrics.Open(f) || metrics.Completed(f) {
			continue
		}
		k := slices.IndexFunc(all, func(x failure) bool { return x.status == f.Status })
		if k < 0 {
			k = len(all)
			all = append(all, failure{status: f.Status, first: f})
		}
		all[k].count++
		if end(f) < end(all[k].first) {
			all[k].first = f
		}
	}
	for _, x := range all {
		s := t.l.Sprintf("%s failed with %s (%s to %s at %s)", number(t.l, x.count, "message", "messages"), x.status,
			x.first.Src, x.first.Dst, t.at(end(x.first)))
		if x.count > 1 {
			s = strings.Replace(s, "(", "(first ", 1)
		}
		out = append(out, s)
	}
	return out
}
