package fidelity

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// data is the class that carries RoCEv2 data unless a scenario says otherwise.
const data = 3

// Bytes around the payload of a RoCEv2 packet over IPv4 without VLAN tag, with
// preamble and gap: 8+12+14+20+8+12+4+4 (IEEE 802.3, RFC 791, RFC 768, IBTA
// A17).
const wireOverhead = 82

func (c *checks) cases(t *testing.T) {
	for _, one := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"F1", c.goodput}, {"F4", c.timeouts}, {"F5", c.protection}, {"F6", c.fixedPoint}, {"F7", c.stability},
		{"F8", c.convergence}, {"F9", c.rttFairness}, {"F10", c.headroom}, {"F11", c.portFairness}, {"F12", c.victim},
		{"F16", c.dynamicThreshold},
	} {
		t.Run(one.name, one.run)
	}
}

// runCase runs a scenario of this folder with some values set.
func runCase(t *testing.T, file string, set ...string) *record.Run {
	t.Helper()
	return do(t, run.Options{Scenario: filepath.Join("cases", file+".yaml"), Set: set})
}

// portTo returns the data class of the port of node that faces peer.
func portTo(t *testing.T, r *record.Run, node, peer string) *record.Port {
	t.Helper()
	for i := range r.Ports {
		p := &r.Ports[i]
		if p.Node == node && strings.HasPrefix(p.Peer, peer+":") && p.Class == data {
			return p
		}
	}
	t.Fatalf("no port of %s towards %s carried data", node, peer)
	return nil
}

// between returns the requester and the responder QP of a host pair.
func between(t *testing.T, r *record.Run, src, dst string) (requester, responder *record.QP) {
	t.Helper()
	for i := range r.QPs {
		q := &r.QPs[i]
		switch {
		case q.Host == src && strings.HasPrefix(q.Peer, dst+" "):
			requester = q
		case q.Host == dst && strings.HasPrefix(q.Peer, src+" "):
			responder = q
		}
	}
	if requester == nil || responder == nil {
		t.Fatalf("no QP pair from %s to %s", src, dst)
	}
	return requester, responder
}

// wireRate is what one pair sent in the measured window, as Gb/s on the wire
// with packets of mtu bytes.
func wireRate(t *testing.T, r *record.Run, src, dst string, mtu float64) float64 {
	t.Helper()
	_, q := between(t, r, src, dst)
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

// goodput, case F1: the share of the line that is payload. A message of 10^6 B
// is n = ceil(10^6/MTU) packets, each with 82 B around it, and a RETH of 16 B.
func (c *checks) goodput(t *testing.T) {
	const source = "byte count: IEEE 802.3, IBTA"
	for _, mtu := range []float64{1024, 4096} {
		for _, gbps := range []float64{100, 200, 400} {
			r := runCase(t, "f01-goodput", fmt.Sprintf("mtu=%g", mtu), fmt.Sprintf("topology.star.link=%gGbps", gbps))
			last := len(r.Flows) - 2
			span := float64(r.Flows[last].CompletionPS - r.Flows[0].CompletionPS) // all were posted at 0
			share := float64(last) * 1e6 * 8 / span * 1000 / gbps
			expected := map[float64]float64{1024: 0.92585, 4096: 0.98036}[mtu]
			c.hold(t, c.book.Near("F1", fmt.Sprintf("goodput over line rate, MTU %g, %g Gb/s, %d messages", mtu, gbps, last), expected, share, 0.001, source))
		}
	}
}

// timeouts, case F4: retries with a broken cable, and after RNR NAKs.
func (c *checks) timeouts(t *testing.T) {
	const source = "IBTA: timeout 4.096 us * 2^14 = T, hardware may take T to 4T; 8 attempts"
	r := runCase(t, "f04-timeout")
	c.hold(t, c.book.Same("F4", "status of the first message", "RETRY_EXC_ERR", r.Flows[0].Status, source),
		c.book.Between("F4", "time to give up, s", float64(r.Flows[0].CompletionPS)/1e12, 8*4.096e-6*(1<<14), 8*4*4.096e-6*(1<<14), source))
	for i, f := range r.Flows[1:] {
		c.hold(t, c.book.Same("F4", fmt.Sprintf("status of message %d", i+2), "WR_FLUSH_ERR", f.Status, source))
	}
	q, _ := between(t, r, "h0", "h1")
	c.hold(t, c.book.Same("F4", "state of the requester", "ERR", q.State, source),
		c.book.Within("F4", "timeouts (retry count 7)", 8, float64(q.Timeouts), 0, source))

	r = runCase(t, "f04-rnr")
	var naks record.Act
	for _, e := range r.Ledger {
		if e.Mechanism == record.RNR {
			naks = e.Act
		}
	}
	const code12 = "IBTA: RNR NAK timer code 12 is 640 us"
	c.hold(t, c.book.Within("F4", "RNR NAKs (RNR retry 6)", 7, float64(naks.Count), 0, code12),
		c.book.Near("F4", "time from one RNR NAK to the next, us", 640, float64(naks.Last-naks.First)/float64(naks.Count-1)/1e6, 0.05, code12),
		c.book.Same("F4", "status after the last RNR NAK", "RNR_RETRY_EXC_ERR", r.Flows[0].Status, code12))
}

// protection, case F5: the NAK codes of a wrong key and of a missing right.
func (c *checks) protection(t *testing.T) {
	const source = "IBTA: AETH syndrome 0x62 (remote access) and 0x61 (invalid request), verbs status 10 and 9"
	r := runCase(t, "f05-protection")
	for _, one := range []struct{ what, src, dst, status string }{
		{"wrong R_Key", "h0", "h1", "REM_ACCESS_ERR"}, {"no REMOTE_WRITE", "h2", "h3", "REM_INV_REQ_ERR"},
	} {
		var status []string
		for _, f := range r.Flows {
			if f.Src == one.src {
				status = append(status, f.Status)
			}
		}
		q, p := between(t, r, one.src, one.dst)
		c.hold(t, c.book.Same("F5", one.what+": statuses", one.status+" WR_FLUSH_ERR", strings.Join(status, " "), source),
			c.book.Within("F5", one.what+": bytes written", 0, float64(p.DeliveredBytes), 0, source),
			c.book.Within("F5", one.what+": NAKs", 1, float64(p.NAKsSent), 0, source),
			c.book.Same("F5", one.what+": states of both QPs", "ERR ERR", q.State+" "+p.State, source))
	}
}

// upTo is the lower end of an open range.
func upTo() float64 { return math.Inf(-1) }

// andMore is the upper end of an open range.
func andMore() float64 { return math.Inf(1) }
