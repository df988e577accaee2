package workload

import (
	"fmt"
	"math"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// Arrivals says how messages come at hosts that know nothing of each other.
type Arrivals struct {
	// Load is the share of its link's rate that each host sends, in payload; above 0 and below 1.
	Load  float64
	Sizes *Sizes
	// For is how long messages come, from Options.Start on.
	For units.Time
	// On and Off are the means of the times in which a host sends and does not, exponentially
	// distributed; 0: it always sends. Load is over both.
	On, Off units.Time
}

// Load is what an entry of arrivals asks of the network.
type Load struct {
	Entry int
	Asked float64 // of the senders' links, in payload
	From  units.Time
	To    units.Time // messages are posted before
	Links units.Rate // of all senders together
	Sizes string
}

// Poisson appends messages whose arrivals at each endpoint of from are a Poisson process, or one that
// goes on and off, to endpoints of to on other hosts, each as often. rate is that of an endpoint's link
// and stream what it draws from. Options.QPs queue pairs of a pair of ends, which are made as the pair
// first has a message, take turns.
func (p *Plan) Poisson(entry int, net Network, from, to []int, rate func(ep int) units.Rate,
	stream func(ep int) *rng.Stream, a Arrivals, o Options) error {
	o.QPs, o.Count = max(o.QPs, 1), 1
	if err := o.check(); err != nil {
		return err
	}
	load := Load{Entry: entry, Asked: a.Load, From: o.Start, To: o.Start + a.For, Sizes: a.Sizes.Name}
	expected := 0.0
	for _, ep := range from {
		load.Links += rate(ep)
		expected += perSecond(a, rate(ep)) * seconds(a.For)
	}
	if room := float64(MaxMessages - p.total); expected > room {
		return fmt.Errorf("load %g of messages of %.4g bytes on average for %s are about %.2g messages, which take about %s "+
			"of memory; at most %d are possible: send for a shorter time", a.Load, a.Sizes.Mean(), a.For, expected,
			memoryOf(1, int(math.Min(expected, 1e15))), MaxMessages)
	}
	pairs := map[[2]int]*rotation{} // looked up, never iterated
	for _, src := range from {
		others := to[:0:0]
		for _, dst := range to {
			if net.HostOf(dst) != net.HostOf(src) {
				others = append(others, dst)
			}
		}
		if len(others) == 0 {
			return fmt.Errorf("%s has no other host to send to; name one", net.EndpointName(src))
		}
		s := stream(src)
		for at := newClock(a, rate(src), s); ; {
			t, ok := at.next(s)
			if !ok {
				break
			}
			dst := others[s.IntN(len(others))]
			pair := pairs[[2]int{src, dst}]
			if pair == nil {
				pair = &rotation{}
				pairs[[2]int{src, dst}] = pair
			}
			conn, err := p.turn(pair, entry, src, dst, o)
			if err != nil {
				return err
			}
			m := Message{Conn: conn, Verb: o.Verb, Bytes: a.Sizes.draw(s), Start: o.Start + t, SendDone: o.SendDone,
				RecvDone: o.RecvDone}
			p.AddMessage(m)
		}
	}
	p.Loads = append(p.Loads, load)
	return nil
}

// rotation are the connections of a pair of ends, which messages take in turn.
type rotation struct {
	conns []int
	next  int
}

// turn is the connection of the next message of a pair.
func (p *Plan) turn(t *rotation, entry, from, to int, o Options) (int, error) {
	if len(t.conns) < o.QPs {
		if len(p.Conns) == MaxConns {
			return 0, fmt.Errorf("more than %d connections; take fewer hosts, or qps", MaxConns)
		}
		if o.Verb == Read {
			from, to = to, from
		}
		t.conns = append(t.conns, p.connect(entry, from, to, len(t.conns), o))
		return t.conns[len(t.conns)-1], nil
	}
	conn := t.conns[t.next%len(t.conns)]
	t.next++
	return conn, nil
}

// perSecond is how many messages an endpoint sends each second on average.
func perSecond(a Arrivals, rate units.Rate) float64 {
	return a.Load * float64(rate) / 8 / a.Sizes.Mean()
}

// clock tells when messages of an endpoint come.
type clock struct {
	a       Arrivals
	gap     float64 // mean seconds between messages while it sends
	at      float64 // seconds
	until   float64 // it sends
	silence float64 // mean seconds
}

func newClock(a Arrivals, rate units.Rate, s *rng.Stream) *clock {
	c := &clock{a: a, gap: 1 / perSecond(a, rate), until: math.Inf(1)}
	if a.On > 0 && a.Off > 0 {
		on, off := seconds(a.On), seconds(a.Off)
		c.gap *= on / (on + off)
		c.silence = off
		if s.Float64()*(on+off) < off { // in the middle of a silence
			c.at = exponential(s, off)
		}
		c.until = c.at + exponential(s, on)
	}
	return c
}

// next is when the next message comes; ok is false at the end.
func (c *clock) next(s *rng.Stream) (t units.Time, ok bool) {
	left := exponential(s, c.gap)
	for c.at+left > c.until {
		left -= c.until - c.at
		c.at = c.until + exponential(s, c.silence)
		c.until = c.at + exponential(s, seconds(c.a.On))
		if c.at > seconds(c.a.For) {
			return 0, false
		}
	}
	c.at += left
	if c.at >= seconds(c.a.For) {
		return 0, false
	}
	return units.Time(math.Round(c.at*1e9)) * units.Nanosecond, true // digits beyond may differ from machine to machine
}

// seconds is a time in seconds.
func seconds(t units.Time) float64 { return float64(t) / float64(units.Second) }

// exponential draws from an exponential distribution.
func exponential(s *rng.Stream, mean float64) float64 { return -mean * math.Log(1-s.Float64()) }
