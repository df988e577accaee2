package fidelity

import "github.com/hopscope/hopscope/internal/units"

// loss, case F3: a link loses every 256th data packet under messages of 4 MB,
// 3907 packets each. Go-back-0 never brings one across (the livelock of SIGCOMM
// 2016) although the link is busy; go-back-N loses W packets of work per loss,
// W the packets in flight when the NAK comes back.
func (c *checker) loss() {
	const paper = "RDMA over Commodity Ethernet at Scale, SIGCOMM 2016"
	r := c.scenario("f03-loss", "nic.recovery=go-back-0")
	completed := 0.0
	for _, f := range r.Flows {
		if f.Status == "success" {
			completed++
		}
	}
	c.within("go-back-0: messages completed", 0, completed, 0, paper)
	c.inRange("go-back-0: utilisation of the link", c.portTo(r, "h0", "s1").Utilisation, 0.99, 1, paper)

	r = c.scenario("f03-loss")
	_, responder := c.pair(r, "h0", "h1")
	seconds := float64(r.MeasureTo-r.MeasureFrom) / float64(units.Second)
	onWire := float64(responder.MeasuredBytes) * 8 / seconds / 100e9 * (1024 + wireOverhead) / 1024
	// W = C*RTT/packet = 100 Gb/s * 5 us / 8 / 1106 B = 56.5.
	c.near("go-back-N: share of the link that delivers", 1-(56.5+1)/256, onWire, 0.04, "1 - (W+1)/256, W = C*RTT/packet")
}
