package decode

import (
	"slices"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/wire"
)

// maxTries bounds how often the other direction of a flow is looked for among several.
const maxTries = 64

// pair looks for the flow whose requests an acknowledgement or response of f answers.
func (d *Decoder) pair(f *flow, fr *frame, positive bool) {
	if f.peer != nil || f.tries == maxTries {
		return
	}
	f.tries++
	psn := fr.t.BTH.PSN
	var found, same *flow
	fits, alike := 0, 0
	for _, q := range d.between[[2]address{f.key.dst, f.key.src}] {
		if q == f || q.peer != nil || !q.asked(psn, positive) {
			continue
		}
		found = q
		fits++
		if q.srcUDP == fr.srcPort && fr.srcPort != 0 {
			same = q
			alike++
		}
	}
	switch {
	case fits == 1:
		d.join(f, found, byPSN)
	case alike == 1:
		d.join(f, same, byPort)
	}
}

// asked reports whether an answer with that PSN may be to a request of the flow.
func (f *flow) asked(psn uint32, positive bool) bool {
	if f.service != catalog.RC || !f.served {
		return false
	}
	for _, s := range f.sights {
		if !s.req.started || psnDiff(psn, s.req.next) > 0 || psnDiff(psn, s.req.first) < 0 {
			continue
		}
		if !positive || s.reqs == nil {
			return true
		}
		if _, ok := s.reqs.get(psn); ok {
			return true
		}
		for i := range f.open { // a packet in the midst of a READ's responses
			if m := &f.open[i]; m.asks() && psnDiff(psn, m.first) >= 0 && psnDiff(psn, m.last) <= 0 {
				return true
			}
		}
	}
	return false
}

// join makes two flows the directions of one pair of queue pairs.
func (d *Decoder) join(f, q *flow, how pairing) {
	f.peer, q.peer, f.paired, q.paired = q, f, how, how
	f.srcQP, f.srcSure = q.key.qp, true
	q.srcQP, q.srcSure = f.key.qp, true
	for _, x := range []*flow{f, q} {
		hosts := [2]address{x.key.src, x.key.dst}
		if list := slices.DeleteFunc(d.between[hosts], func(y *flow) bool { return y == x }); len(list) > 0 {
			d.between[hosts] = list
		} else {
			delete(d.between, hosts)
		}
	}
}

// dial is a connection that the connection manager sets up.
type dial struct {
	from, to   address
	local      uint32 // identifier of the one that asks
	qp, peerQP uint32
	granted    bool
	ackTimeout uint8
}

// maxDials bounds the connections in the making that are remembered.
const maxDials = 4096

// connect takes a message of the connection manager.
func (d *Decoder) connect(f *flow, m *wire.CM) {
	switch m.Kind {
	case wire.CMREQ:
		if len(d.dials) == maxDials {
			d.dials = append(d.dials[:0], d.dials[1:]...)
		}
		for i := range d.dials { // sent again, or at another capture point
			if x := &d.dials[i]; x.from == f.key.src && x.to == f.key.dst && x.local == m.Local && x.qp == m.QPN {
				return
			}
		}
		d.dials = append(d.dials, dial{from: f.key.src, to: f.key.dst, local: m.Local, qp: m.QPN, ackTimeout: m.AckTimeout})
	case wire.CMREP:
		for i := range d.dials {
			x := &d.dials[i]
			if x.granted || x.from != f.key.dst || x.to != f.key.src || x.local != m.Remote {
				continue
			}
			x.granted, x.peerQP = true, m.QPN
			for _, key := range x.keys() {
				if flow := d.byKey[key]; flow != nil {
					d.dialled(flow)
				}
			}
		}
	}
}

// keys are those of the flows of a connection: of the one that asked, and of the other.
func (x *dial) keys() [2]flowKey {
	return [2]flowKey{{src: x.from, dst: x.to, qp: x.peerQP}, {src: x.to, dst: x.from, qp: x.qp}}
}

// dialled looks whether the connection manager set a flow up.
func (d *Decoder) dialled(f *flow) {
	for i := range d.dials {
		x := &d.dials[i]
		if !x.granted {
			continue
		}
		keys := x.keys()
		for k := range keys {
			if f.key != keys[k] {
				continue
			}
			f.srcQP, f.srcSure, f.ackTimeout = keys[1-k].qp, true, x.ackTimeout
			if q := d.byKey[keys[1-k]]; q != nil && f.peer == nil && q.peer == nil {
				d.join(f, q, byCM)
			} else if f.peer == nil {
				f.paired = byCM
			}
		}
	}
}

// joinLeft joins flows that are the only ones between two addresses.
func (d *Decoder) joinLeft() {
	for _, f := range d.flows {
		if f.peer != nil || f.key.srcQP != 0 || f.paired == byCM {
			continue
		}
		ahead := d.between[[2]address{f.key.src, f.key.dst}]
		back := d.between[[2]address{f.key.dst, f.key.src}]
		if len(ahead) == 1 && len(back) == 1 && back[0] != f && back[0].paired == unpaired {
			d.join(f, back[0], byAddresses)
		}
	}
}
