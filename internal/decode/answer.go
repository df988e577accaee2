package decode

import (
	"fmt"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// answer takes an acknowledgement, positive or not.
func (d *Decoder) answer(f *flow, s *sight, fr *frame) {
	psn, a := fr.t.BTH.PSN, fr.t.AETH
	if fr.t.BTH.BECN {
		s.becn.Add(d.now, 0)
	}
	switch {
	case a.IsACK():
		s.acks++
	case a.IsRNR():
		s.rnr.Add(d.now, 0)
		s.rnrSyndrome = a.Syndrome
	case a.IsNAK() && int(a.Value()) < len(s.naks):
		if a.Syndrome == wire.SyndromePSNSequence && (s.naks[0].Count == 0 || s.gap != psn) {
			s.gaps.Add(d.now, 0)
			s.gap = psn
		}
		s.naks[a.Value()].Add(d.now, 0)
	default:
		d.unread["acknowledgement with a reserved syndrome"]++
		return
	}
	d.putAnswer(f, s, fr)
	d.pair(f, fr, a.IsACK())
	q := f.peer
	if q == nil {
		return
	}
	upto := psn
	if !a.IsACK() {
		upto = (psn - 1) & psnMask
	}
	for _, at := range q.sights {
		at.uncaptured += at.req.acknowledged(upto)
	}
	if !d.reaches(q, f, s) {
		return
	}
	switch {
	case a.IsRNR():
		q.heard(&q.rnr, psn, d.now)
	case a.Syndrome == wire.SyndromePSNSequence:
		q.heard(&q.nak, psn, d.now)
	}
	d.acknowledge(q, upto, d.now)
	if a.IsNAK() && a.Syndrome != wire.SyndromePSNSequence {
		d.refuse(q, psn, d.now, nakNames[a.Value()])
	}
}

// putAnswer remembers when an answer came, for what it takes to the next capture point.
func (d *Decoder) putAnswer(f *flow, s *sight, fr *frame) {
	psn := fr.t.BTH.PSN
	if s.rsps == nil {
		s.rsps = newRing()
	}
	s.rsps.put(psn, fr.tag(), d.now)
	d.compare(f, s, psn, func(x *sight) *ring { return x.rsps })
}

// nakNames are the errors of NAKs by code (IBTA 9.7.5.2.4).
var nakNames = [5]string{"PSN sequence error", "invalid request", "remote access error", "remote operational error",
	"invalid RD request"}

// heard notes a NAK or RNR NAK.
func (f *flow) heard(n *notice, psn uint32, now units.Time) {
	upto := psn
	for _, s := range f.sights {
		if s.req.started && psnDiff(s.req.next, upto) > 0 {
			upto = s.req.next
		}
	}
	*n = notice{serial: n.serial + 1, psn: psn, upto: max1(psn, upto), at: now}
}

// max1 is the PSN behind the last that a notice is about: at least the one it names.
func max1(psn, upto uint32) uint32 {
	if upto == psn {
		return (psn + 1) & psnMask
	}
	return upto
}

// response takes a packet of the answer to a READ or atomic.
func (d *Decoder) response(f *flow, s *sight, fr *frame) {
	psn, op := fr.t.BTH.PSN, fr.t.BTH.Opcode
	s.responses++
	if fr.t.BTH.BECN {
		s.becn.Add(d.now, 0)
	}
	starts := op == wire.RCReadRespFirst || op == wire.RCReadRespOnly || op == wire.RCAtomicAck
	if starts && s.rsp.started && psnDiff(psn, s.rsp.next) > 0 {
		s.rsp.next = psn // what lies between was not asked for by READs
	}
	if fate, _, _ := s.rsp.see(psn, 1, d.now); fate == again {
		s.answered.Add(d.now, int64(fr.payload))
	}
	d.putAnswer(f, s, fr)
	d.pair(f, fr, true)
	q := f.peer
	if q == nil || !d.reaches(q, f, s) {
		return
	}
	if op == wire.RCReadRespFirst {
		q.settle(psn, uint32(fr.payload))
	}
	q.gather(psn, int64(fr.payload))
	d.acknowledge(q, (psn-1)&psnMask, d.now)
	if op == wire.RCReadRespLast || op == wire.RCReadRespOnly || op == wire.RCAtomicAck {
		d.respond(q, psn, d.now)
	}
}

// gather adds a response to the bytes of a READ whose length the capture has cut off.
func (f *flow) gather(psn uint32, payload int64) {
	for i := len(f.open) - 1; i >= 0; i-- {
		if m := &f.open[i]; psnDiff(psn, m.first) >= 0 {
			if m.unsized {
				m.bytes += payload
				m.last = psn
			}
			return
		}
	}
}

// settle takes from the first response to a READ how many PSNs that has.
func (f *flow) settle(psn, mtu uint32) {
	for i := range f.open {
		m := &f.open[i]
		if m.verb != read || m.first != psn || mtu == 0 || m.unsized {
			continue
		}
		m.last = (psn + max(uint32((m.bytes+int64(mtu)-1)/int64(mtu)), 1) - 1) & psnMask
		for _, s := range f.sights {
			if more := psnDiff(m.last+1, s.req.next); more > 0 && more <= s.req.slack {
				s.req.next, s.req.slack, s.after = (m.last+1)&psnMask, 0, (m.last+1)&psnMask
			}
		}
	}
}

// station is the place of a capture point: interfaces that capture the two directions of one port
// are at one.
type station struct {
	name string
	way  string     // "in", "out", or "": both
	far  string     // the port at the other end of its link, where the file says it
	rate units.Rate // of the link, where the file says it; else 0
}

// stationOf takes "h0:1/in" apart, as captures of simulations and of some switches name interfaces.
func stationOf(name string, point int) station {
	for _, way := range []string{"in", "out"} {
		for _, joint := range []string{"/", " ", "-", "_"} {
			if n := len(name) - len(joint) - len(way); n > 0 && name[n:] == joint+way {
				return station{name: name[:n], way: way}
			}
		}
	}
	if name == "" {
		name = fmt.Sprintf("interface %d", point)
	}
	return station{name: name}
}

// stated takes from an interface's description, such as "from sw:1 at 400 Gb/s; stamped as the last bit is
// there", the far end of its link and the rate, as far as it tells.
func stated(description string) (far string, rate units.Rate) {
	link, _, _ := strings.Cut(description, ";")
	end, at, ok := strings.Cut(link, " at ")
	if !ok {
		return "", 0
	}
	rate, err := units.ParseRate(strings.NewReplacer(" ", "", "b/s", "bps").Replace(at))
	if err != nil {
		return "", 0
	}
	for _, way := range []string{"from ", "to "} {
		if name, ok := strings.CutPrefix(end, way); ok {
			far = name
		}
	}
	return far, rate
}

// station of a point.
func (d *Decoder) station(point int) station {
	for points := d.in.Points(); len(d.stations) < len(points); {
		k := len(d.stations)
		s := stationOf(points[k].Name, k)
		s.far, s.rate = stated(points[k].Description)
		d.stations = append(d.stations, s)
	}
	return d.stations[point]
}

// reaches reports whether an answer of f that is captured at s is where the requests of q were captured
// first, near to their sender: there it ends messages. Where that point does not see answers, the last
// point that does stands in.
func (d *Decoder) reaches(q, f *flow, s *sight) bool {
	if len(d.in.Points()) == 1 {
		return true
	}
	home := d.station(q.sights[0].point)
	for k := range d.in.Points() {
		if x := d.station(k); x.name == home.name && (x.way == "" || x.way != home.way) {
			return d.station(s.point).name == home.name
		}
	}
	return s == f.sights[len(f.sights)-1]
}
