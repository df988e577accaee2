package fidelity

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/record"
)

// goodput, case F1: the share of the line that is payload. A message of 10^6 B
// is n = ceil(10^6/MTU) packets, each with 82 B around it, and a RETH of 16 B.
func (c *checker) goodput() {
	const source = "byte count: IEEE 802.3, IBTA"
	for _, mtu := range []float64{1024, 4096} {
		for _, gbps := range []float64{100, 200, 400} {
			r := c.scenario("f01-goodput", fmt.Sprintf("mtu=%g", mtu), fmt.Sprintf("topology.star.link=%gGbps", gbps))
			last := len(r.Messages) - 2
			span := float64(r.Messages[last].CompletionPS - r.Messages[0].CompletionPS) // all were posted at 0
			share := float64(last) * 1e6 * 8 / span * 1000 / gbps
			expected := map[float64]float64{1024: 0.92585, 4096: 0.98036}[mtu]
			c.near(fmt.Sprintf("goodput over line rate, MTU %g, %g Gb/s, %d messages", mtu, gbps, last), expected, share, 0.001, source)
		}
	}
}

// timeouts, case F4: retries with a broken cable, and after RNR NAKs.
func (c *checker) timeouts() {
	const source = "IBTA: timeout 4.096 us * 2^14 = T, hardware may take T to 4T; 8 attempts"
	r := c.scenario("f04-timeout")
	c.same("status of the first message", "RETRY_EXC_ERR", r.Messages[0].Status, source)
	c.inRange("time to give up, s", float64(r.Messages[0].CompletionPS)/1e12, 8*4.096e-6*(1<<14), 8*4*4.096e-6*(1<<14), source)
	for i, f := range r.Messages[1:] {
		c.same(fmt.Sprintf("status of message %d", i+2), "WR_FLUSH_ERR", f.Status, source)
	}
	q, _ := c.pair(r, "h0", "h1")
	c.same("state of the requester", "ERR", q.State, source)
	c.within("timeouts (retry count 7)", 8, float64(q.Timeouts), 0, source)

	r = c.scenario("f04-rnr")
	var naks record.Act
	for _, e := range r.Ledger {
		if e.Mechanism == catalog.RNR {
			naks = e.Act
		}
	}
	const code12 = "IBTA: RNR NAK timer code 12 is 640 us"
	c.within("RNR NAKs (RNR retry 6)", 7, float64(naks.Count), 0, code12)
	c.near("time from one RNR NAK to the next, us", 640, float64(naks.Last-naks.First)/float64(naks.Count-1)/1e6, 0.05, code12)
	c.same("status after the last RNR NAK", "RNR_RETRY_EXC_ERR", r.Messages[0].Status, code12)
}

// protection, case F5: the NAK codes of a wrong key and of a missing right.
func (c *checker) protection() {
	const source = "IBTA: AETH syndrome 0x62 (remote access) and 0x61 (invalid request), verbs status 10 and 9"
	r := c.scenario("f05-protection")
	for _, one := range []struct{ what, src, dst, status string }{
		{"wrong R_Key", "h0", "h1", "REM_ACCESS_ERR"}, {"no REMOTE_WRITE", "h2", "h3", "REM_INV_REQ_ERR"},
	} {
		expected := []string{one.status, "WR_FLUSH_ERR"}
		for _, f := range r.Messages {
			if f.Src == one.src && len(expected) > 0 {
				c.same(one.what+": status", expected[0], f.Status, source)
				expected = expected[1:]
			}
		}
		q, p := c.pair(r, one.src, one.dst)
		c.within(one.what+": bytes written", 0, float64(p.DeliveredBytes), 0, source)
		c.within(one.what+": NAKs", 1, float64(p.NAKsSent), 0, source)
		c.same(one.what+": states of both QPs", "ERR ERR", q.State+" "+p.State, source)
	}
}
