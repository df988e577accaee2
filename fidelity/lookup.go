package fidelity

import (
	"math"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// data is the class that carries RoCEv2 data unless a scenario says otherwise.
const data = 3

// Bytes around the payload of a RoCEv2 packet over IPv4 without VLAN tag, with
// preamble and gap: 8+12+14+20+8+12+4+4 (IEEE 802.3, RFC 791, RFC 768, IBTA
// A17).
const wireOverhead = 82

// portTo returns the data class of the port of node that faces peer.
func (c *checker) portTo(r *record.Run, node, peer string) *record.Port {
	for i := range r.Ports {
		p := &r.Ports[i]
		if p.Node == node && p.Peer.Node == peer && p.Class == data {
			return p
		}
	}
	c.abort("no port of %s towards %s carried data", node, peer)
	return nil
}

// pair returns the requester and the responder QP of a host pair.
func (c *checker) pair(r *record.Run, src, dst string) (requester, responder *record.QP) {
	for i := range r.QPs {
		q := &r.QPs[i]
		switch {
		case q.Host == src && q.Peer.Node == dst:
			requester = q
		case q.Host == dst && q.Peer.Node == src:
			responder = q
		}
	}
	if requester == nil || responder == nil {
		c.abort("no QP pair from %s to %s", src, dst)
	}
	return requester, responder
}

// wireRate is what one pair sent in the measured window, as Gb/s on the wire
// with packets of mtu bytes.
func (c *checker) wireRate(r *record.Run, src, dst string, mtu float64) float64 {
	_, q := c.pair(r, src, dst)
	seconds := float64(r.MeasureTo-r.MeasureFrom) / float64(units.Second)
	return float64(q.MeasuredBytes) * 8 / seconds / 1e9 * (mtu + wireOverhead) / mtu
}

// received lists what each flow delivered in the measured window.
func received(r *record.Run) (v []float64) {
	for _, q := range r.QPs {
		if q.MeasuredBytes > 0 {
			v = append(v, float64(q.MeasuredBytes))
		}
	}
	return v
}

// jain is Jain's index of fairness: 1 when all are equal, 1/n when one has all.
func jain(v []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range v {
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(v)) * squares)
}

// dropped counts the frames lost anywhere.
func dropped(r *record.Run) (n float64) {
	for _, p := range r.Ports {
		n += float64(p.Dropped)
	}
	return n
}

// upTo is the lower end of an open range.
func upTo() float64 { return math.Inf(-1) }

// andMore is the upper end of an open range.
func andMore() float64 { return math.Inf(1) }
