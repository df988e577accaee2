package metrics

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Ceiling is the best payload rate that a message's path and queue pair allow,
// beside what it reached.
type Ceiling struct {
	// Limits are the hops of the path in order, then what credits, the queue pair and
	// the receiving host add.
	Limits []Limit `json:"-"`
	// BestBps is the lowest of them and At the first that has it.
	BestBps     units.Rate `json:"best_bps"`
	At          string     `json:"at"`
	MeasuredBps units.Rate `json:"measured_bps"` // 0 unless it completed with success
	// Reached says that it came within 2 % of the best.
	Reached bool `json:"reached"`
	// Cause is the kind of what explains what is missing, in words where it lies, and its
	// share of the message's time; How says it in words. All are empty for a message that did
	// not succeed or reached the best.
	Cause NamedCause `json:"cause,omitzero"`
	How   string     `json:"how,omitempty"`
	// Placed: How names the place already.
	Placed bool `json:"-"`
	// Of is Cause with its place.
	Of Cause `json:"-"`
	// Shared says which port of the path was shared most, by how many flows at the same
	// time, and what each one's share of its rate is. Explain alone looks for it.
	Shared string `json:"shared,omitempty"`
}

// NamedCause is a cause by the name of its place.
type NamedCause struct {
	Kind  catalog.Cause `json:"kind"`
	Place string        `json:"place"`
	Milli int64         `json:"share_milli"` // of the message's time, in thousandths
}

// Limit is one bound of a message's payload rate.
type Limit struct {
	Name string     `json:"name"` // "h0:1", "window", "maximum rate", "receive buffer of h4"
	Bps  units.Rate `json:"bps"`  // of payload
	How  string     `json:"how"`
}

// Names of limits of what may be outstanding.
const (
	limitWindow = "window"
	limitBitmap = "bitmap"
	limitReads  = "max_rd_atomic"
)

// atCeiling is how near, in thousandths, the measured rate must come for the
// ceiling itself to be the explanation.
const atCeiling = 980

// Explainer tells of the messages of a run one by one. It remembers what they have in
// common and is for one goroutine.
type Explainer struct{ x *index }

// NewExplainer looks through r once, which must not change. Its forks, for as many workers
// at most, are for one goroutine each.
func NewExplainer(r *record.Run, workers int) *Explainer {
	x := newIndex(r)
	x.together.workers = max(1, workers)
	return &Explainer{x}
}

// In makes the explainer speak a language.
func (e *Explainer) In(l lang.Language) *Explainer {
	e.x.l = l
	return e
}

// Fork returns an explainer for another goroutine.
func (e *Explainer) Fork() *Explainer { return &Explainer{e.x.fork()} }

// Of a run of more messages than allFollowed, what is missing follows earlier work through so many
// accounts that all messages together look at about mostFollowed, and no ports in series are looked for.
const (
	allFollowed  = 256
	mostFollowed = 1 << 19
)

// Ceiling returns the ceiling of message i; nil where the record knows no path, and of a
// message without payload. Messages of the same queue pair and size share Limits.
func (e *Explainer) Ceiling(i int) *Ceiling {
	x := e.x
	f := &x.r.Messages[i]
	k, ok := x.sender(f)
	if !ok {
		return nil
	}
	defer func(thorough, single bool, sliced int) {
		x.thorough, x.single, x.sliced = thorough, single, sliced
	}(x.thorough, x.single, x.sliced)
	x.thorough = true
	if n := len(x.r.Messages); n > allFollowed {
		x.single, x.sliced = true, 1+mostFollowed/n
	}
	return x.ceiling(f, &x.r.QPs[k])
}

// Stages calls yield with the account of message i, in order: a number that stands for stage
// and place, and the two with their time.
func (e *Explainer) Stages(i int, yield func(number int, s record.StageTime)) {
	all := &e.x.stages
	all.again(e.x.keepers, i, e.x.r.Messages[i].Account)
	for _, t := range all.steps {
		k := &all.known[t.number]
		yield(int(t.number), record.StageTime{Stage: k.stage, Where: k.at, Time: t.time})
	}
}

// Ceilings returns the ceiling of every message, in order.
func Ceilings(r *record.Run) []*Ceiling {
	e := NewExplainer(r, 1)
	out := make([]*Ceiling, len(r.Messages))
	for i := range r.Messages {
		out[i] = e.Ceiling(i)
	}
	return out
}

// CeilingOf returns the ceiling of message i; nil where the record knows no
// path.
func CeilingOf(r *record.Run, i int) *Ceiling {
	_, c := Explain(r, i)
	return c
}

// qpKey names a queue pair.
type qpKey struct {
	host string
	qp   int
}

// flowQP is the requester of a message.
func flowQP(f *record.Message) qpKey { return qpKey{record.HostOf(f.Src), f.QP} }

// ceiling is that of message f, whose data queue pair q sends; nil where it has
// none.
func (x *index) ceiling(f *record.Message, q *record.QP) *Ceiling {
	if f.Bytes == 0 {
		return nil
	}
	c := x.bounds(f, q)
	c.MeasuredBps = Goodput(f)
	if !Completed(f) || f.Account.IsZero() {
		return c
	}
	d := x.dominant(f, true)
	if d.Stage == catalog.NoStage {
		d.Cause, d.How = x.sayWay(f, q)
		d.Where = x.nameOf(&d.Cause)
	}
	c.Of, c.How, c.Placed = d.Cause, d.How, d.tells&tellsPlace != 0
	c.Of.Milli = share(d.TimePS, f)
	c.Cause = NamedCause{c.Of.Kind, d.Where, c.Of.Milli}
	if full := x.sayFullCores(f, q); full != "" && d.tells&tellsCores == 0 {
		c.How += x.l.Of("; ") + full
	}
	if mulDiv(int64(c.MeasuredBps), 1000, int64(max(c.BestBps, 1))) >= atCeiling {
		c.Reached, c.Of, c.Cause = true, Cause{}, NamedCause{}
		c.How = x.l.Sprintf("%s allows %s and it reached %s", c.At, FormatRate(c.BestBps), FormatRate(c.MeasuredBps))
	}
	return c
}

// boundsKey is all that the limits of a message depend on.
type boundsKey struct {
	q        *record.QP
	src, dst string
	qp       int
	verb     string
	service  catalog.Service
	bytes    int64
	duplex   [2]bool    // which of the limits inside hosts are those of both ways at once
	card     units.Rate // see slowCard
}

// maxBounds is how many bounds are remembered.
const maxBounds = 1 << 12

// bounds are the limits of a message and the best that they allow.
func (x *index) bounds(f *record.Message, q *record.QP) *Ceiling {
	defer x.restore(x.known.from, x.known.to)
	x.during(f)
	key := boundsKey{q, f.Src, f.Dst, f.QP, f.Verb, f.Service, f.Bytes, [2]bool{}, 0}
	if fault := x.slowCard(f); fault != nil {
		key.card = fault.RateBps
	}
	for i := range min(len(q.Limits.Inside), len(key.duplex)) {
		key.duplex[i] = x.ofItsTime(&q.Limits.Inside[i]).Both
	}
	c, known := x.bound[key]
	if !known {
		c.Limits = x.limitsOf(f, q)
		for _, l := range c.Limits {
			if c.At == "" || l.Bps < c.BestBps {
				c.BestBps, c.At = l.Bps, l.Name
			}
		}
		if x.bound == nil || len(x.bound) >= maxBounds {
			x.bound = map[boundsKey]Ceiling{}
		}
		x.bound[key] = c
	}
	return &c
}

// sayShared tells of the port of f's path at which the fair share of its payload rate is
// smallest, among the flows that had messages under way while f was; "" if no port
// has two.
func (x *index) sayShared(f *record.Message, q *record.QP) string {
	flows := x.meanwhile(f)
	limits := x.limitsOf(f, q) // begins with the hops of the path
	most, share, port := 0, units.Rate(0), record.PortID{}
	for k, h := range q.Limits.Path {
		n := 0
		for _, i := range x.class(x.out(h.Port), q.Limits.Class) {
			if flows[i] {
				n++
			}
		}
		if each := limits[k].Bps / units.Rate(max(n, 1)); n > 1 && (most == 0 || each < share) {
			most, share, port = n, each, h.Port
		}
	}
	if most == 0 {
		return ""
	}
	return x.l.Sprintf("%d flows shared %s, %s each", most, port, FormatRate(share))
}

// meanwhile are the queue pairs that send data of messages under way while f was.
func (x *index) meanwhile(f *record.Message) map[int32]bool {
	qps := map[int32]bool{}
	for i := range x.r.Messages {
		g := &x.r.Messages[i]
		if k, ok := x.sender(g); ok && g.StartPS < x.endOf(f) && x.endOf(g) > f.StartPS {
			qps[int32(k)] = true
		}
	}
	return qps
}

// sayWay tells of a message that nothing held and that ended with its last byte sent, as
// those of the unreliable services do: what is missing is its way.
func (x *index) sayWay(f *record.Message, q *record.QP) (cause Cause, how string) {
	_, to := DataEnds(f)
	cause = Cause{Kind: catalog.CauseLine, Place: record.Place{Kind: catalog.AtWay, Node: to}}
	return cause, x.l.Sprintf("nothing held it; it was there %s after %s had sent it", FormatTime(max(0,
		f.DeliveredPS-f.CompletionPS)), qpActor(q))
}

// limitsOf lists the bounds of a message's payload rate. On a hop of rate R the
// payload takes its share of the bytes on the wire: headers, RETH, padding,
// preamble and gap take the rest.
func (x *index) limitsOf(f *record.Message, q *record.QP) (out []Limit) {
	l := &q.Limits
	frame, onWire := x.messageBytes(f, l)
	payload := func(r units.Rate, of int64) units.Rate { return units.Rate(mulDiv(int64(r), f.Bytes, max(of, 1))) }
	for _, h := range l.Path {
		out = append(out, Limit{h.Port.String(), payload(h.RateBps, onWire), x.l.Sprintf("%s less headers and gaps",
			FormatRate(h.RateBps))})
	}
	out = append(out, x.creditLimits(f, l, func(r units.Rate) units.Rate { return payload(r, onWire) })...)
	if l.MaxBps > 0 && l.MaxBps < l.LineBps {
		out = append(out, Limit{x.l.Of("maximum rate"), payload(l.MaxBps, onWire), x.l.Of("DCQCN's maximum ") +
			FormatRate(l.MaxBps)})
	}
	out = append(out, x.outstandingLimits(f, q)...)
	if l.WindowBytes > 0 && l.BaseRTTPS > 0 {
		// A window is judged before a packet is sent: the last may overshoot.
		mtu := max(l.MTUBytes, 1)
		w := (l.WindowBytes + mtu - 1) / mtu * mtu
		out = append(out, Limit{limitWindow, RateOf(w, l.BaseRTTPS), x.l.Sprintf("%s per idle round trip of %s",
			FormatBytes(w), FormatTime(l.BaseRTTPS))})
	}
	for i := range l.Inside {
		in := x.ofItsTime(&l.Inside[i])
		does := x.l.Of("card reads")
		if in.Write {
			does = x.l.Of("card writes")
		}
		out = append(out, Limit{x.l.Of("inside ") + in.Host, in.Bps, does + InsideBut(x.l, in) +
			x.l.Of(", bounded by ") + in.String()})
	}
	if l.DrainBps > 0 {
		_, to := DataEnds(f)
		out = append(out, Limit{x.l.Of("receive buffer of ") + to, payload(l.DrainBps, frame),
			x.l.Of("the host takes ") + FormatRate(l.DrainBps)})
	}
	if fault := x.slowCard(f); fault != nil {
		out = append(out, Limit{x.l.Of("card of ") + fault.Node, payload(fault.RateBps, frame), x.l.Of("it ") +
			SayFault(x.l, fault)})
	}
	return out
}

// outstandingLimits are what the receive bitmap of selective repeat and the limit of
// outstanding READs and atomics allow. A READ request makes room for the next when
// all of its response has arrived.
func (x *index) outstandingLimits(f *record.Message, q *record.QP) (out []Limit) {
	l, mtu := &q.Limits, max(q.Limits.MTUBytes, 1)
	asker := &x.actor(f, false).Limits
	asks := asker.MaxRdAtomic > 0 && asker.ReadRTTPS > 0 && (Reads(f) || atomic(f))
	each := min(f.Bytes, asker.ReadPartBytes)
	trip := asker.ReadRTTPS + units.Time((each+mtu-1)/mtu-1)*slowest(l).TxTime(units.Bytes(mtu+int64(x.r.FrameHeader)+int64(x.r.WireOverhead)))
	bitmap := func(bytes int64, trip units.Time) {
		out = append(out, Limit{limitBitmap, RateOf(bytes, trip), x.l.Sprintf("%s per idle round trip of %s",
			FormatBytes(bytes), FormatTime(trip))})
	}
	switch {
	case l.BitmapPackets > 0 && asks && f.Bytes > asker.ReadPartBytes:
		bitmap(l.BitmapPackets*mtu/each*each, trip)
	case l.BitmapPackets > 0 && l.BaseRTTPS > 0:
		bitmap(l.BitmapPackets*mtu, l.BaseRTTPS)
	}
	if asks {
		n := asker.MaxRdAtomic
		out = append(out, Limit{limitReads, RateOf(n*each, trip), x.l.Sprintf("%d of %s per idle round trip of %s", n,
			FormatBytes(each), FormatTime(trip))})
	}
	return out
}

// messageBytes is what a message takes in frames and on the wire.
func (x *index) messageBytes(f *record.Message, l *record.QPLimits) (frame, onWire int64) {
	mtu := max(l.MTUBytes, 1)
	packets := max(1, (f.Bytes+mtu-1)/mtu)
	h := x.headersOf(f)
	each := int64(x.r.FrameHeader) + h.every
	last := f.Bytes - (packets-1)*mtu + each
	if packets == 1 {
		frame = max(last+h.only, int64(x.r.MinFrame))
	} else {
		frame = (packets-1)*(mtu+each) + h.first + max(last+h.last, int64(x.r.MinFrame))
	}
	return frame, frame + packets*int64(x.r.WireOverhead)
}
