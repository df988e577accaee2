package decode

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// book gathers lines of the ledger.
type book []record.Entry

// note adds what an actor did, if it did.
func (b *book) note(m catalog.Mechanism, actor record.Place, a record.Act) {
	if a.Count > 0 {
		*b = append(*b, record.Entry{Question: m.Question(), Mechanism: m, Actor: actor, Act: a})
	}
}

// entries are a flow's lines of the ledger.
func entries(f *flow, n namer) []record.Entry {
	var b book
	s, from := f.sights[0], n.sender(f)
	mark := catalog.ECNMark
	if f.key.src.infiniBand() {
		mark = catalog.FECNMark
	}
	b.note(mark, record.Place{Kind: catalog.AtWay, Node: n.of(f.key.dst)}, f.marked())
	b.note(catalog.SequenceGap, from, s.gaps)
	b.note(catalog.RNR, from, s.rnr)
	timeouts := s.timeouts
	timeouts.Sum = 0
	b.note(catalog.AckTimeout, from, timeouts)
	late := f.late()
	late.Sum = 0
	if late.Count > 0 {
		to := record.HostAt(n.of(f.key.dst))
		if f.service != catalog.UD {
			to = record.QPAt(catalog.RC, n.of(f.key.dst), int(f.key.qp))
		}
		b.note(catalog.Reordering, to, late)
	}
	b.note(catalog.CNPSent, from, s.cnps)
	b.note(catalog.NAKSent, from, s.naks[0].And(s.rnr))
	b.note(catalog.BECNOnAck, from, s.becn)
	b.note(catalog.AskedAgain, from, s.askedAgain)
	var refused record.Act
	for _, a := range s.naks[1:] {
		refused = refused.And(a)
	}
	b.note(catalog.NAKRefused, from, refused)
	for why := afterNAK; why < causes; why++ {
		b.note(causeMechanism[why], from, s.resent[why])
	}
	b.note(catalog.RetransRead, from, s.answered)
	return b
}

// streamEntries are those of one end of a TCP connection.
func streamEntries(x *stream, n namer) []record.Entry {
	var b book
	s := x.sights[0]
	from := record.HostAt(fmt.Sprintf("%s port %d", n.of(x.src), x.srcPort))
	marked := s.marked
	for _, at := range x.sights[1:] {
		if at.marked.Count > marked.Count {
			marked = at.marked
		}
	}
	b.note(catalog.ECNMark, record.Place{Kind: catalog.AtWay, Node: n.of(x.dst)}, marked)
	timeouts := s.timeouts
	timeouts.Sum = 0
	b.note(catalog.RTO, from, timeouts)
	b.note(catalog.ECESent, from, s.echoes)
	b.note(catalog.SACKSent, from, s.sacks)
	b.note(catalog.DupAckSent, from, s.dupAcks)
	b.note(catalog.RetransFast, from, s.fast)
	b.note(catalog.RetransRTO, from, s.rto)
	b.note(catalog.RetransUnseen, from, s.unseen)
	return b
}

// pauseEntries are those of a port that pauses its peer; what several capture points saw counts at the
// first.
func (d *Decoder) pauseEntries(x *pauser) []record.Entry {
	var b book
	by, of := d.pausePorts(x)
	for _, y := range d.pauses {
		if y.mac != x.mac || y.class != x.class || y == x {
			continue
		}
		if y.number < x.number {
			return nil
		}
		if s := d.station(y.point); s.way == "in" { // the far end, by its name
			of = s.name
		}
	}
	asked := x.acts
	asked.Sum = 0
	b.note(catalog.PFCSent, classAt(by, x.class), asked)
	asked.Sum = int64(x.asked)
	b.note(catalog.PFCPause, classAt(of, x.class), asked)
	return b
}

// classAt is a class of a port that is known by a name.
func classAt(port string, class uint8) record.Place {
	return record.ClassAt(port, 0, int(class), catalog.Ethernet)
}

// pausePorts names the port that sends pauses and the one that is paused.
func (d *Decoder) pausePorts(x *pauser) (by, of string) {
	by = x.mac.String()
	of = "what faces " + by
	s := d.station(x.point)
	far := s.far
	if far == "" {
		far = "what faces " + s.name
	}
	switch s.way {
	case "out":
		return s.name, far
	case "in":
		return far, s.name
	}
	return by, of
}

func (d *Decoder) paused(x *pauser) Pause {
	by, _ := d.pausePorts(x)
	return Pause{Port: by, MAC: x.mac.String(), Point: d.pointName(x.point), Class: int(x.class), Frames: x.frames,
		Pauses:    x.acts.Count,
		Refreshes: x.prolonged, Resumes: x.resumed, Lapsed: x.lapsed, AskedPS: x.asked, LongestPS: x.longest,
		Unmeasured: x.unmeasured, FirstPS: x.first, LastPS: x.last}
}

// rate is that of the links at a capture point, 0 where nobody says.
func (d *Decoder) rate(point int) units.Rate {
	if d.opt.Rate > 0 {
		return d.opt.Rate
	}
	return d.station(point).rate
}
