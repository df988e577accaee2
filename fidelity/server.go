package fidelity

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/record"
)

// payloadRate is what responders took in the measured window, in Gb/s.
func payloadRate(r *record.Run) (sum float64) {
	for _, bytes := range received(r) {
		sum += bytes
	}
	return sum * 8 / float64(r.MeasureTo-r.MeasureFrom) * 1000
}

// linkInside is one direction of a link in a host's server.
func (c *checker) linkInside(r *record.Run, host, name string) *record.ServerLink {
	for i := range r.Servers {
		for k := range r.Servers[i].Links {
			if l := &r.Servers[i].Links[k]; r.Servers[i].Host == host && l.Name == name {
				return l
			}
		}
	}
	c.abort("nothing went over %s of %s", name, host)
	return nil
}

// pcie, case F25: what a stream writes over the receiver's PCIe links, and what the
// sender's card reads with few tags.
func (c *checker) pcie() {
	const source = "source of pcie-bench's pcie-model (SIGCOMM 2018): TLPs of 256 B less headers, ACKs, flow control and SKP"
	links := func(gen, width int) []string {
		link := fmt.Sprintf("{gen: %d, width: %d}", gen, width)
		return []string{"hosts.h1.server.links.nic0=" + link, "hosts.h1.server.links.gpu0=" + link}
	}
	r := c.scenario("f25-pcie", links(3, 8)...)
	c.near("rate of TLPs, generation 3 x8, Gb/s", 57.88, float64(c.linkInside(r, "h1", "nic0 to switch0").Rate)/1e9, 0.0001, source)
	for _, one := range []struct {
		gen  int
		rate float64
	}{{3, 103.9}, {4, 207.9}, {5, 415.8}} {
		c.near(fmt.Sprintf("writes into a GPU, generation %d x16, Gb/s", one.gen), one.rate, payloadRate(c.scenario("f25-pcie", links(one.gen, 16)...)), 0.01, source)
	}
	// Of the 1 us of a read of 512 B the links take 510.4 ns.
	tags := c.scenario("f25-pcie", "server.costs.read_tags=32", "server.costs.hbm_read=489.6ns", "hosts.h1.server.links.nic0.gen=6")
	c.near("32 reads of 512 B within 1 us, Gb/s", 131.07, payloadRate(tags), 0.02, "closed form tags * MRRS / latency")
}

// hostPath, case F26: what ACS leaves of two-way traffic between GPUs and cards, and
// what staging adds to a small message.
func (c *checker) hostPath() {
	const acs = "NVIDIA/nccl#949, nccl-tests#112: all traffic twice over the switch's uplink; half, 56 % of the line measured with it on and 96 % with it off"
	direct, turned := payloadRate(c.scenario("f26-acs")), payloadRate(c.scenario("f26-acs", "server.acs=redirect"))
	c.inRange("two-way GPUDirect with ACS redirection over direct", turned/direct, 0.50, 0.56, acs)
	small, staged := c.scenario("f26-small"), c.scenario("f26-small", "server.gpudirect=off")
	c.inRange("8 B from GPU to GPU, us", float64(small.Messages[0].CompletionPS)/1e6, 2, 5, "MVAPICH2-GDR and measurements on A100: 2 to 3 us; 2 to 5 us with another switch and card")
	c.inRange("8 B staged, us", float64(staged.Messages[0].CompletionPS)/1e6, 15, 20, "two copies of 8 to 10 us at most and the network: 15 to 20 us published")
}
