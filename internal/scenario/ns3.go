package scenario

import (
	"math"
	"strconv"

	"github.com/hopscope/hopscope/internal/units"
)

// ns3Config is an ns3 section: the words after each key of a config file.
type ns3Config struct {
	d    *decoder
	file string
	keys map[string][]word // looked up, never iterated
	at   map[string]pos
}

// word returns a key's only value, or a default.
func (c *ns3Config) word(key, otherwise string) word {
	if w := c.keys[key]; len(w) > 0 {
		return w[0]
	}
	return word{Text: otherwise, Pos: pos{File: c.file, Line: 1, Col: 1}}
}

func (c *ns3Config) need(key, example string) word {
	if w := c.keys[key]; len(w) > 0 {
		return w[0]
	}
	c.d.fail(pos{File: c.file, Line: 1, Col: 1}, "%s is missing; add a line such as %s %s", key, key, example)
	return word{Text: example, Pos: pos{File: c.file, Line: 1, Col: 1}}
}

func (c *ns3Config) number(key, otherwise string, lo, hi int64) int64 {
	return c.d.number(c.word(key, otherwise), key, lo, hi)
}

func (c *ns3Config) flag(key, otherwise string) bool { return c.number(key, otherwise, 0, 1) == 1 }

// rateMap reads KMAX_MAP and its like: n, then n pairs of rate in bit/s and value.
func (c *ns3Config) rateMap(key, example string, hi float64) []ns3Rated {
	c.need(key, example)
	var out []ns3Rated
	for w := c.keys[key]; c.d.err == nil && len(w) >= 3; w = w[2:] {
		out = append(out, ns3Rated{units.Rate(c.d.number(w[1], key+" rate", 1, 1e15)), c.d.decimal(w[2], key+" value", hi), w[2].Pos})
	}
	return out
}

type ns3Rated struct {
	rate  units.Rate
	value float64
	pos   pos
}

// at returns the value of a rate, whose absence the simulators take for zero.
func (c *ns3Config) lookup(key string, rows []ns3Rated, rate units.Rate) ns3Rated {
	for _, row := range rows {
		if row.rate == rate {
			return row
		}
	}
	c.d.fail(c.at[key], "%s has no entry for %d bit/s, a rate of the topology; add one", key, rate)
	return ns3Rated{}
}

// ns3Header reads what neither topology nor devices say.
func (r *resolver) ns3Header(c *ns3Config) {
	r.ns3ModeOf(c)
	c.refuseUnbuilt()
	r.mtu = units.Bytes(c.number("PACKET_PAYLOAD_SIZE", "1000", 64, 9000))
	stop := c.word("SIMULATOR_STOP_TIME", "4.0")
	if v, err := strconv.ParseFloat(stop.Text, 64); err == nil && v > float64(units.Never/units.Second) && v <= 1e15 {
		r.v.Stop = units.Never // SimAI's files say 4e13 where they mean no end
		return
	}
	r.v.Stop = r.d.seconds(stop, "SIMULATOR_STOP_TIME")
}

// ns3Devices fills switches and hosts once topology and flows are known.
func (r *resolver) ns3Devices(c *ns3Config) {
	r.ns3DCQCN(c)
	r.ns3Controller(c)
	r.ns3Switches(c)
	r.ns3NICs(c)
	r.ns3Notes(c)
	r.ns3Warnings(c)
}

// refuseUnbuilt stops at settings that would change results and are not there.
func (c *ns3Config) refuseUnbuilt() {
	if c.flag("L2_BACK_TO_ZERO", "0") {
		c.d.fail(c.word("L2_BACK_TO_ZERO", "").Pos, "L2_BACK_TO_ZERO 1 is not built yet; use 0")
	}
	if !c.flag("RATE_BOUND", "1") {
		c.d.fail(c.word("RATE_BOUND", "").Pos, "RATE_BOUND 0 is not built yet; use 1")
	}
	if c.number("L2_ACK_INTERVAL", "1", 0, 1<<31) == 0 {
		c.d.fail(c.word("L2_ACK_INTERVAL", "").Pos, "L2_ACK_INTERVAL 0 never acknowledges, so no flow would finish; use 1")
	}
}

// ns3Notes says where the rules come from.
func (r *resolver) ns3Notes(c *ns3Config) {
	if r.d.err != nil {
		return
	}
	const src = "ns-3 RDMA simulators"
	r.note("wire", r.v.Wire.Name+": no preamble, gap or FCS"+r.ns3Told(), src)
	r.note("time_quantum", "1ns, truncated", src)
	r.note("switch.buffer", r.ns3Buffer(c).String(), "BUFFER_SIZE in MiB")
	r.note("switch.pfc", "alpha 1/8 at the NICs' rate, doubled per doubling of rate; headroom 3*rate*delay; reserve 4096 B; XON offset 3072 B; no pause timer", src)
	r.controllerNotes()
	if !r.controlled() {
		r.note("dcqcn", "none, and no ECN", "ENABLE_QCN 0")
	}
	for i := range r.v.Transports {
		r.v.Notes = append(r.v.Notes, r.v.Transports[i].Notes()...)
	}
	if r.v.DCQCN != nil {
		r.v.Notes = append(r.v.Notes, r.v.DCQCN.Notes()...)
	}
}

func (r *resolver) ns3Warnings(c *ns3Config) {
	if r.d.err != nil {
		return
	}
	for i := range r.v.Graph.Links {
		if r.v.Graph.Links[i].Loss > 0 {
			r.warn("loss", "links lose packets and these transports have no timeout: a flow that loses its last packet or ACK never completes")
		}
	}
	r.warnDown()
	for _, k := range []struct{ key, usual string }{{"USE_DYNAMIC_PFC_THRESHOLD", "1"}, {"PAUSE_TIME", "5"}} {
		if w := c.word(k.key, k.usual); w.Text != k.usual {
			r.warn(k.key, "%s %s has no effect, as in the ns-3 RDMA simulators: the result is that of %s", k.key, w.Text, k.usual)
		}
	}
	if w := c.word("L2_ACK_INTERVAL", "1"); w.Text != "1" {
		r.warn("L2_ACK_INTERVAL", "L2_ACK_INTERVAL %s has no effect: every packet is acknowledged; those simulators leave out at most the first ACKs of a flow, and only for more than a payload", w.Text)
	}
	if last := r.v.Plan.At(r.v.Plan.Len() - 1).Start; last >= r.v.Stop && last != units.Never {
		r.warn("stop", "SIMULATOR_STOP_TIME is before the last flow starts, so that some flows never run")
	}
	for _, w := range r.warned {
		r.v.Warnings = append(r.v.Warnings, w.text)
	}
}

// ns3Buffer is BUFFER_SIZE, which counts MiB.
func (r *resolver) ns3Buffer(c *ns3Config) units.Bytes {
	return units.Bytes(c.number("BUFFER_SIZE", "16", 1, 1024)) * units.MiB
}

// kilobytes turns a K value, in units of 1000 B, into bytes.
func kilobytes(v float64) units.Bytes { return units.Bytes(math.Round(v * 1000)) }
