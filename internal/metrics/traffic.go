package metrics

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// traffic is what each queue pair had sent by when, if its messages were sent evenly over their time.
type traffic struct {
	once   sync.Once
	curves []curve           // by index into QPs
	inside map[string]*cards // by host with a server
}

// curve is the bytes on the wire by time: at each instant so many, and from it on so many per ps.
type curve []knee

type knee struct {
	at         units.Time
	bytes, per float64
}

// mover is a queue pair whose data a card reads from a memory of its host, or writes there.
type mover struct {
	qp    int32 // index into QPs
	limit *record.InsideLimit
}

// cards is who sends and receives by the cards of a host.
type cards struct{ reads, writes []mover }

// side are those of one direction.
func (c *cards) side(write bool) []mover {
	switch {
	case c == nil:
		return nil
	case write:
		return c.writes
	}
	return c.reads
}

// trafficOf adds up the run's messages, when someone asks first.
func (x *index) trafficOf() *traffic {
	t := &x.together.traffic
	t.once.Do(func() {
		var list record.Account
		t.curves, t.inside = make([]curve, len(x.r.QPs)), map[string]*cards{}
		for i := range x.r.Messages {
			f := &x.r.Messages[i]
			k, ok := x.sender(f)
			if !ok {
				continue
			}
			_, bytes := x.messageBytes(f, &x.r.QPs[k].Limits)
			took := max(f.Life()-x.wayBack(f, &list), 1)
			rate := float64(bytes) / float64(took)
			t.curves[k] = append(t.curves[k], knee{f.StartPS, 0, rate}, knee{f.StartPS + took, 0, -rate})
		}
		for _, c := range t.curves {
			c.sum()
		}
		for i := range x.r.QPs {
			all := x.r.QPs[i].Limits.Inside
			for n := range all {
				l := &all[n]
				at := t.inside[l.Host]
				if at == nil {
					at = &cards{}
					t.inside[l.Host] = at
				}
				if l.Write {
					at.writes = append(at.writes, mover{int32(i), l})
				} else {
					at.reads = append(at.reads, mover{int32(i), l})
				}
			}
		}
	})
	return t
}

// mostTraced is up to how many messages what their acknowledgements took is left out of the time in which
// they are taken to be sent.
const mostTraced = 1 << 14

// wayBack is how long a message waited for its acknowledgement after all of it had arrived.
func (x *index) wayBack(f *record.Message, list *record.Account) (t units.Time) {
	if len(x.r.Messages) > mostTraced || f.Account.IsZero() {
		return 0
	}
	*list = f.Account.Append((*list)[:0])
	for i := range *list {
		if s := &(*list)[i]; s.Stage.Leg() == catalog.LegAck {
			t += s.Time
		}
	}
	return t
}

// sum makes a curve of changes of the rate.
func (c curve) sum() {
	slices.SortStableFunc(c, func(a, b knee) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(c); i++ {
		before := &c[i-1]
		c[i].bytes = before.bytes + before.per*float64(c[i].at-before.at)
		c[i].per += before.per
	}
}

// by is what was sent by an instant.
func (c curve) by(t units.Time) float64 {
	n := sort.Search(len(c), func(i int) bool { return c[i].at > t })
	if n == 0 {
		return 0
	}
	k := &c[n-1]
	return k.bytes + k.per*float64(t-k.at)
}

// within is what was sent from one instant to another.
func (c curve) within(from, to units.Time) int64 { return int64(c.by(to) - c.by(from) + 0.5) }

// duplex is which cards moved data both ways in a time.
type duplex struct {
	from, to units.Time
	cards    map[[2]string]bool // by host and card
}

// bothWays reports whether a card moved data both ways in the time that is asked about, of one way no
// more than twice those of the other.
func (x *index) bothWays(l *record.InsideLimit) bool {
	from, to := x.timeAsked()
	d := &x.duplex
	if d.cards == nil || d.from != from || d.to != to {
		*d = duplex{from, to, map[[2]string]bool{}}
	}
	key := [2]string{l.Host, l.Card}
	both, known := d.cards[key]
	if known {
		return both
	}
	t := x.trafficOf()
	var n [2]int64
	for i := range n {
		for _, m := range t.inside[l.Host].side(i > 0) {
			if m.limit.Card == l.Card {
				n[i] += t.curves[m.qp].within(from, to)
			}
		}
	}
	both = n[0] > 0 && n[0] <= 2*n[1] && n[1] <= 2*n[0]
	d.cards[key] = both
	return both
}

// timeAsked is the time that is asked about: of a message, or the run's.
func (x *index) timeAsked() (from, to units.Time) {
	if x.known.to == 0 {
		return 0, x.r.EndPS
	}
	return x.known.from, x.known.to
}
