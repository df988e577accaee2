// Package decode follows RDMA traffic in captures: which queue pairs and connections there are, which
// packets were sent again and what the capture shows of why, who notified whom, which pauses were
// asked for, how long messages took. It claims what packets show and says what they cannot show. It keeps a
// bounded amount for each queue pair, and nothing for each packet.
package decode

import (
	"errors"
	"io"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/pcap"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// Bounds of what is followed: directions of queue pairs, directions of TCP connections, ports and
// classes that pause.
const (
	maxFlows  = 16_384
	maxStream = 16_384
	maxPauses = 4096
)

// Options say what a capture does not.
type Options struct {
	Rate units.Rate // of the captured links, to tell when pauses ran out; 0: not known
}

// Decoder reads a capture.
type Decoder struct {
	opt   Options
	in    *pcap.Reader
	now   units.Time
	begun bool
	first units.Time
	last  units.Time

	flows   []*flow
	byKey   map[flowKey]*flow
	between map[[2]address][]*flow // those of a direction that have no other direction yet
	latest  *flow                  // of the packet before
	dials   []dial                 // of the connection manager

	streams  []*stream
	byStream map[streamKey]*stream
	pauses   []*pauser
	byPauser map[pauserKey]*pauser

	stations []station // of points
	frames   [kinds]int64
	bytes    int64
	cut      int64 // kept in part
	unread   map[string]int64
	untimed  int64
	backward int64               // stamps before the one before
	skipped  [2]int64            // packets of flows and streams beyond the bounds
	links    map[pcap.Link]int64 // packets of link types that are not read

	ringLeft int // by how many entries rings may grow yet

	rows     []row
	unlisted int64
	broken   error // why the capture ends early
}

// Read reads a capture to its end, or to where it is cut. tick is called now and then with the packets read.
func Read(in *pcap.Reader, opt Options, tick func(packets int64)) (*Decoder, error) {
	d := &Decoder{opt: opt, in: in, byKey: map[flowKey]*flow{}, between: map[[2]address][]*flow{},
		ringLeft: maxRings, byStream: map[streamKey]*stream{}, byPauser: map[pauserKey]*pauser{}, unread: map[string]int64{},
		links: map[pcap.Link]int64{}}
	var p pcap.Packet
	var f frame
	for {
		err := in.Next(&p)
		if err == io.EOF {
			break
		}
		var cut *pcap.CutError
		if errors.As(err, &cut) {
			d.broken = err
			break
		}
		if err != nil {
			return nil, err
		}
		d.packet(&p, &f)
		const often = 1 << 16
		if in.Packets()%often == 0 && tick != nil {
			tick(in.Packets())
		}
	}
	d.end()
	return d, nil
}

// packet takes one packet.
func (d *Decoder) packet(p *pcap.Packet, f *frame) {
	if !readable(p.Link) {
		d.links[p.Link]++
		return
	}
	d.clock(p)
	d.bytes += int64(p.Length)
	if len(p.Data) < p.Length {
		d.cut++
	}
	f.read(p)
	d.frames[f.kind]++
	switch f.kind {
	case rdma:
		d.rdma(p, f)
	case segment:
		d.segment(p, f)
	case pause:
		d.pause(p, f)
	case unreadable:
		d.unread[f.why]++
	}
}

// clock takes the time of a packet.
func (d *Decoder) clock(p *pcap.Packet) {
	switch {
	case !p.Timed:
		d.untimed++
	case d.begun && p.At < d.now:
		d.backward++
	}
	d.now = p.At
	if !d.begun || p.At < d.first {
		d.first = p.At
	}
	if !d.begun || p.At > d.last {
		d.last = p.At
	}
	d.begun = true
}

// rdma takes a packet of a queue pair.
func (d *Decoder) rdma(p *pcap.Packet, fr *frame) {
	f := d.flowOf(fr)
	if f == nil {
		d.skipped[0]++
		return
	}
	s := f.at(p.Point)
	now, bth := d.now, &fr.t.BTH
	if s.copy(fr, now) {
		s.copies++
		return
	}
	if s.packets == 0 || now < s.first {
		s.first = now
	}
	s.last = max(s.last, now)
	s.packets++
	s.bytes += int64(p.Length)
	switch fr.icrc {
	case right:
		s.right++
	case wrong: // the receiver throws it away, but it was sent, and captures are rewritten
		s.wrong.Add(now, int64(fr.payload))
	}
	s.payload += int64(fr.payload)
	if fr.ecn == ce {
		s.marked.Add(now, int64(p.Length))
	}
	if fr.ecn != 0 {
		s.capable++
	}
	switch roleOf(bth.Opcode) {
	case notification:
		s.cnps.Add(now, 0)
		s.cnp = sent{bth.PSN, fr.tag(), now}
	case request:
		d.serve(f, bth.Opcode)
		f.learn(bth.Opcode, fr.payload)
		d.request(f, s, fr)
	case answer:
		d.serve(f, bth.Opcode)
		d.answer(f, s, fr)
	case response:
		d.serve(f, bth.Opcode)
		f.learn(bth.Opcode, fr.payload)
		d.response(f, s, fr)
	case datagram:
		d.serve(f, bth.Opcode)
		d.datagram(f, s, fr)
	}
}

// copy reports whether a packet was captured at that point before.
func (s *sight) copy(fr *frame, now units.Time) bool {
	psn, e := fr.t.BTH.PSN, &s.cnp
	switch roleOf(fr.t.BTH.Opcode) {
	case request, datagram:
		if s.reqs == nil {
			return false
		}
		e = s.reqs.entry(psn)
	case answer, response:
		if s.rsps == nil {
			return false
		}
		e = s.rsps.entry(psn)
	}
	return e.copied(psn, fr.tag(), now)
}

// serve notes the service of a flow.
func (d *Decoder) serve(f *flow, op wire.Opcode) {
	if f.served {
		return
	}
	f.served = true
	switch op >> 5 {
	case wire.UCSendFirst >> 5:
		f.service = catalog.UC
	case wire.UDSendOnly >> 5:
		f.service = catalog.UD
	}
}

// flowOf finds or makes the flow of a packet; nil: there are too many.
func (d *Decoder) flowOf(fr *frame) *flow {
	key := flowKey{src: fr.src, dst: fr.dst, qp: fr.t.BTH.DestQP}
	if roleOf(fr.t.BTH.Opcode) == datagram {
		key.srcQP = fr.t.DETH.SrcQP + 1
	}
	if d.latest != nil && d.latest.key == key {
		return d.latest
	}
	f := d.byKey[key]
	if f == nil {
		if len(d.flows) == maxFlows {
			return nil
		}
		f = &flow{key: key, number: len(d.flows), srcUDP: fr.srcPort}
		if key.srcQP != 0 {
			f.srcQP, f.srcSure = key.srcQP-1, true
		}
		d.flows = append(d.flows, f)
		d.byKey[key] = f
		if key.srcQP == 0 {
			hosts := [2]address{key.src, key.dst}
			d.between[hosts] = append(d.between[hosts], f)
			d.dialled(f)
		}
	}
	d.latest = f
	return f
}

// request takes a packet of a SEND, WRITE, READ or atomic.
func (d *Decoder) request(f *flow, s *sight, fr *frame) {
	psn, now, payload := fr.t.BTH.PSN, d.now, int64(fr.payload)
	n, slack := uint32(1), int32(0)
	reads := fr.t.BTH.Opcode == wire.RCReadRequest
	switch {
	case reads && fr.short: // of any length
		slack = maxJump
	case reads:
		n, slack = f.readPackets(fr.t.RETH.DMALen)
	}
	goesOn := d.goesOn(f, s, psn)
	fate, _, opened := s.req.see(psn, n, now)
	s.after = (psn + n) & psnMask
	if s == f.sights[0] && (fate == fresh || fate == filled || fate == anew) {
		if fate == anew {
			f.open = f.open[:0]
		}
		d.assemble(f, fr, n, now)
	}
	switch fate {
	case fresh, anew:
		s.req.slack = slack
		s.pass = noCause
		if fate == anew {
			s.restarts++
		}
	case before:
		s.early++
		s.pass = noCause
	default:
		why := s.pass
		if !goesOn {
			why = d.classify(f, s, psn, fate, opened)
		}
		d.again(f, s, why, fate, psn, payload, reads)
	}
	if s.reqs == nil {
		s.reqs = newRing()
	}
	s.reqs.put(psn, fr.tag(), now)
	s.asked = now
	d.compare(f, s, psn, func(x *sight) *ring { return x.reqs })
}

// goesOn reports whether a request belongs to the packets that are being sent again: it is the next, or
// one that comes soon behind, where what lies between was acknowledged or not asked for.
func (d *Decoder) goesOn(f *flow, s *sight, psn uint32) bool {
	if s.pass == noCause || !s.req.started {
		return false
	}
	if psn == s.after {
		return true
	}
	news := s.serials[0] != f.nak.serial || s.serials[1] != f.rnr.serial
	return !news && psnDiff(psn, s.after) > 0 && d.now-s.asked < max(leastTimeout, f.quickest)
}

// again notes a request that was sent again, or came late.
func (d *Decoder) again(f *flow, s *sight, why cause, fate fate, psn uint32, payload int64, reads bool) {
	s.pass = why
	if why == noCause { // others had overtaken it
		s.late.Add(d.now, payload)
		return
	}
	if s == f.sights[0] {
		f.sentAgain(psn, d.now)
	}
	if why == afterNAK || why == afterRNR {
		for k, n := range [2]*notice{&f.nak, &f.rnr} {
			if s.serials[k] == n.serial && psnDiff(psn, s.handled[k]) > 0 {
				s.handled[k] = psn
			}
		}
	}
	if why == missing && reads {
		s.askedAgain.Add(d.now, 0)
		return
	}
	s.resent[why].Add(d.now, payload)
	if fate == filled {
		s.firstLost++
	}
}

// leastTimeout is below any timer of a card that resends, in ps.
const leastTimeout = 100 * units.Microsecond

// classify says why a pass of packets that are sent again begins with psn; noCause: it came late.
func (d *Decoder) classify(f *flow, s *sight, psn uint32, fate fate, opened units.Time) cause {
	if why := s.notified(f, psn); why != noCause {
		return why
	}
	if f.peer != nil && f.peer.lacksResponse(psn) {
		return missing
	}
	since := opened
	if fate == again {
		since = s.lastSent(psn)
	}
	wait := d.now - since
	if wait < max(leastTimeout, f.quickest) {
		if fate == filled {
			return noCause
		}
		return unseen
	}
	s.timeouts.Add(d.now, int64(wait))
	return afterTimer
}

// notified reports whether a notice of the peer asked for a packet that is sent again, and which, the
// latest if both did. What was sent again for a notice is not sent once more for it.
func (s *sight) notified(f *flow, psn uint32) (why cause) {
	var latest units.Time
	for k, n := range [2]*notice{&f.nak, &f.rnr} {
		if !n.covers(psn) || s.serials[k] == n.serial && (psnDiff(psn, n.psn) < 0 || psnDiff(psn, s.handled[k]) <= 0) {
			continue
		}
		s.serials[k], s.handled[k] = n.serial, psn
		if why == noCause || n.at > latest {
			why, latest = [2]cause{afterNAK, afterRNR}[k], n.at
		}
	}
	return why
}

// lastSent is when a request was sent last, or where that is not known any more a later time.
func (s *sight) lastSent(psn uint32) units.Time {
	if e := s.reqs.entry(psn); e.tag.set {
		return e.at
	}
	return s.asked
}

// lacksResponse reports whether responses behind that PSN came, and it did not.
func (f *flow) lacksResponse(psn uint32) bool {
	for _, s := range f.sights {
		if _, in := s.rsp.find(psn); in {
			return true
		}
	}
	return false
}

// datagram takes a packet of UD.
func (d *Decoder) datagram(f *flow, s *sight, fr *frame) {
	if fr.t.BTH.DestQP == wire.GSIQP {
		if m, ok := wire.ParseCM(fr.t.Payload); ok {
			d.connect(f, &m)
		}
	}
	if s.reqs == nil {
		s.reqs = newRing()
	}
	s.reqs.put(fr.t.BTH.PSN, fr.tag(), d.now)
	d.compare(f, s, fr.t.BTH.PSN, func(x *sight) *ring { return x.reqs })
	if s != f.sights[0] {
		return
	}
	v := places[fr.t.BTH.Opcode&0x1f].verb
	d.finish(f, &message{first: fr.t.BTH.PSN, last: fr.t.BTH.PSN, verb: v, bytes: int64(fr.payload), packets: 1,
		start: d.now,
		sent:  d.now}, d.now, "sent")
}

// compare notes how long a packet took from the first capture point to this one.
func (d *Decoder) compare(f *flow, s *sight, psn uint32, of func(*sight) *ring) {
	home := f.sights[0]
	if s == home || of(home) == nil {
		return
	}
	r := of(home)
	if at, ok := r.get(psn); ok {
		s.way.add(d.now - at)
	} else if r.grow(d.ringLeft) {
		d.ringLeft -= r.size() / 2
	}
}
