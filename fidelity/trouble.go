package fidelity

import (
	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/units"
)

// loop, case F13: packets in a loop of n = 2 switches take n B / TTL of what comes in from its
// links of B = 40 Gb/s. Above that its buffers fill, and with PFC each waits for the other.
func (c *checker) loop() {
	const source = "Hu et al., HotNets 2016: a deadlock where more comes in than n B / TTL, 5 Gb/s here"
	for _, k := range []struct {
		rate     string
		deadlock float64
	}{{"4.5Gbps", 0}, {"5.5Gbps", 1}, {"4.75Gbps", 0}, {"5.25Gbps", 1}} {
		r := c.scenario("f13-loop", "topology.links[0].rate="+k.rate)
		dead := 0.0
		if r.Stopped == "deadlock" {
			dead = 1
		}
		c.within(k.rate+" comes in: deadlocks", k.deadlock, dead, 0, source)
		if dead > 0 {
			c.inRange(k.rate+": nothing moves since, ms", float64(r.StillPS)/float64(units.Millisecond), 0, 10, source)
		} else {
			ttl := 0.0
			for i := range r.Ports {
				for _, d := range r.Ports[i].DropCauses {
					if d.Cause == catalog.DropTTL {
						ttl += float64(d.Count)
					}
				}
			}
			c.within(k.rate+": drops other than for TTL", 0, dropped(r)-ttl, 0, source)
		}
	}
}

// bounce, case F14: two flows that come down to a leaf and go up again close a circle, and once others
// share its links nothing moves any more. With a second lossless class after the bounce all
// complete, and the link that carries most is full: 42 MB at 40 Gb/s.
func (c *checker) bounce() {
	const source = "Tagger (CoNEXT 2017): one class deadlocks, a second one after a bounce reaches the full rate"
	r := c.scenario("f14-bounce")
	open := 0.0
	if r.Stopped == "deadlock" {
		open = float64(r.OpenMessages)
	}
	c.within("one class: messages in a deadlock", 4, open, 0, source)
	r = c.scenario("f14-bounce", "switch.bounce={3: 4}", "switch.pfc.enabled=[3, 4]")
	c.within("a class after the bounce: messages open", 0, float64(r.OpenMessages), 0, source)
	c.within("frames dropped", 0, dropped(r), 0, source)
	last := units.Time(0)
	for i := range r.Messages {
		last = max(last, r.Messages[i].StartPS+r.Messages[i].CompletionPS)
	}
	const frames = 2*4883 + 489 // of MTU 4096
	line := float64((40 * units.Gbps).TxTimeLong(frames * (4096 + 62 + 20)))
	c.within("until all are through, over what the line takes", 1, float64(last)/line, 0.005, source)
}

// watchdog, case F15: a storm is found after 200 to 400 ms and restored as long after its end, and
// who does not go there gets on.
func (c *checker) watchdog() {
	const source = "SONiC: detection, restoration and poll of 200 ms"
	r := c.scenario("f15-watchdog")
	ms := func(t units.Time) float64 { return float64(t) / float64(units.Millisecond) }
	c.within("storms", 1, float64(len(r.Storms)), 0, source)
	if len(r.Storms) != 1 {
		return
	}
	s := &r.Storms[0]
	c.inRange("from the first pause to the storm, ms", ms(s.FromPS)-330, 200, 400, source)
	c.inRange("from the last pause to its end, ms", ms(s.ToPS)-1330, 200, 400, source)
	victim, late := &r.Messages[1], &r.Messages[2]
	c.inRange("from then to the victim's completion, ms", ms(victim.StartPS+victim.CompletionPS-s.FromPS), 0, 60, source)
	c.inRange("what goes to that host afterwards, ms", ms(late.CompletionPS), 0.8, 1, source)
}
