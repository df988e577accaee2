package fidelity

import "github.com/hopscope/hopscope/internal/units"

// loss, case F3: a link loses every 256th data packet under messages of 4 MB,
// 3907 packets each. Go-back-0 never brings one across (the livelock of SIGCOMM
// 2016) although the link is busy; go-back-N loses W packets of work per loss,
// W the packets in flight when the NAK comes back; selective repeat loses only
// what was lost, one packet in 256. IRN's window of one BDP would stand still for
// a round trip per loss with one queue pair, so it runs without.
func (c *checker) loss() {
	const paper = "RDMA over Commodity Ethernet at Scale, SIGCOMM 2016"
	r := c.scenario("f03-loss", "nic.recovery=go-back-0")
	completed := 0.0
	for _, f := range r.Messages {
		if f.Status == "success" {
			completed++
		}
	}
	c.within("go-back-0: messages completed", 0, completed, 0, paper)
	c.inRange("go-back-0: utilisation of the link", c.portTo(r, "h0", "s1").Utilisation, 0.99, 1, paper)

	// W = C*RTT/packet = 100 Gb/s * 5 us / 8 / 1106 B = 56.5.
	c.near("go-back-N: share of the link that delivers", 1-(56.5+1)/256, c.delivering(), 0.04, "1 - (W+1)/256, W = C*RTT/packet")
	const one = "1 - 1/256"
	c.near("selective repeat: share of the link that delivers", 0.996, c.delivering("nic.recovery=selective-repeat"), 0.01, one)
	c.near("IRN without window: share of the link that delivers", 0.996, c.delivering("nic.recovery=irn", "nic.window=none"), 0.01, one)
}

// delivering runs F3 and returns the share of the link's time whose packets
// were accepted.
func (c *checker) delivering(set ...string) float64 {
	r := c.scenario("f03-loss", set...)
	_, responder := c.pair(r, "h0", "h1")
	seconds := float64(r.MeasureTo-r.MeasureFrom) / float64(units.Second)
	return float64(responder.MeasuredBytes) * 8 / seconds / 100e9 * (1024 + wireOverhead) / 1024
}
