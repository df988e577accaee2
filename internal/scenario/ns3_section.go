package scenario

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/importer/ns3"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
	"github.com/hopscope/hopscope/wire"
)

// ns3Keys declares the keys of an ns3 section, which are those of the simulators' config files
// but for names of files, monitors, and what links say themselves (ns3.Section).
func ns3Keys() (section []key) {
	one := func(name, text string) key {
		return otherKey(name, "as in config files", []jsonSchema{numberOrText()}, readLater, text)
	}
	byRate := func(name, text string) key {
		return otherKey(name, "mapping of rates in bit/s", []jsonSchema{mapOf(anyScalar())}, readLater, text)
	}
	section = []key{
		one("ENABLE_QCN", "0: no ECN and no congestion control.").otherwise("1"),
		one("CC_MODE", "Congestion control: 1 (DCQCN), 3 (HPCC), 7 (TIMELY) or 8 (DCTCP).").otherwise("1"),
		one("PACKET_PAYLOAD_SIZE", "Payload of a full packet in bytes.").otherwise("1000"),
		one("SIMULATOR_STOP_TIME", "End of the run in seconds; it begins at 2.").otherwise("4.0"),
		one("ALPHA_RESUME_INTERVAL", "Period of the update of DCQCN's alpha in microseconds.").otherwise("55"),
		one("RATE_DECREASE_INTERVAL", "Least time between two cuts in microseconds.").otherwise("4"),
		one("CLAMP_TARGET_RATE", "1: every cut sets the target rate to the rate before it.").otherwise("0"),
		one("RP_TIMER", "Period of the timer that raises the rate in microseconds; must be given with `ENABLE_QCN: 1`."),
		one("EWMA_GAIN", "Gain g of DCQCN's alpha; must be given with `ENABLE_QCN: 1`."),
		one("FAST_RECOVERY_TIMES", "Stage at which fast recovery ends.").otherwise("5"),
		one("RATE_AI", "Step of active increase.").otherwise("5Mb/s"),
		one("RATE_HAI", "Step of hyper increase.").otherwise("50Mb/s"),
		one("MIN_RATE", "Lowest rate of a flow.").otherwise("100Mb/s"),
		one("U_TARGET", "HPCC's eta: the utilisation that the busiest hop is aimed at.").otherwise("0.95"),
		one("MI_THRESH", "HPCC's round trips that may only add before the next one multiplies.").otherwise("5"),
		one("FAST_REACT", "1: with HPCC every ACK sets the rate.").otherwise("1"),
		one("INT_MULTI", "HPCC's telemetry counts bytes in so many times 128 and 80.").otherwise("1"),
		one("MULTI_RATE", "1: HPCC keeps a rate per hop.").otherwise("1"),
		one("SAMPLE_FEEDBACK", "1: within a round trip HPCC looks at hops with a queue only.").otherwise("0"),
		one("DCTCP_RATE_AI", "DCTCP's step.").otherwise("1000Mb/s"),
		byRate("KMAX_MAP", "Queue in kB above which everything is marked, for every link rate of the topology."),
		byRate("KMIN_MAP", "Queue in kB up to which nothing is marked."),
		byRate("PMAX_MAP", "Probability of a mark at `KMAX_MAP`."),
		one("BUFFER_SIZE", "Packet memory of a switch in MiB, up to 1024."),
		one("HAS_WIN", "1: flows have a window of one bandwidth-delay product.").otherwise("0"),
		one("VAR_WIN", "1: the window shrinks with the rate.").otherwise("0"),
		one("GLOBAL_T", "1: all windows are those of the longest round trip.").otherwise("1"),
		one("ACK_HIGH_PRIO", "1: hosts send ACKs in the first class.").otherwise("0"),
		one("L2_BACK_TO_ZERO", "Only 0: go-back-N."),
		one("RATE_BOUND", "Only 1: hosts pace."),
		one("L2_ACK_INTERVAL", "Not 0, which would never acknowledge."),
	}
	for _, name := range strings.Fields(`USE_DYNAMIC_PFC_THRESHOLD L2_CHUNK_SIZE PINT_LOG_BASE PINT_PROB PAUSE_TIME`) {
		section = append(section, one(name, "Known and without effect with these `CC_MODE`s, as there."))
	}
	return section
}

// resolveNS3Scenario reads a scenario whose ns3 section puts the rules of the
// ns-3 RDMA simulators in place of all device settings.
func (r *resolver) resolveNS3Scenario(root *node) {
	allowed := []string{"name", "description", "symptoms", "reduced", "seed", "topology", "measure", "triggers", "workload", "noise",
		"ns3"}
	r.setDefaults()
	r.keys = r.rootKeys()
	for _, f := range root.Fields {
		if find(r.keys, f.Key) != nil && !contains(allowed, f.Key) {
			r.d.fail(f.Pos, "%s: beside ns3 the rules are those of the ns-3 RDMA simulators; leave it out, or change keys of ns3", f.Key)
		}
	}
	o := r.d.object(root, "", r.keys)
	r.readHeader(o)
	r.noise = noiseSettings{}
	r.readNoise(o)
	if r.v.Noise != (Noise{}) {
		r.warn("noise", "with noise the result no longer reproduces the ns-3 RDMA simulators, which have none; give noise: off")
	}
	r.failover = failoverSettings{} // routes change at once
	r.v.Wire, r.v.TimeQuantum = wire.NS3, units.Nanosecond
	c := r.ns3Section(root.Get("ns3"))
	r.ns3Header(c)
	r.readTopology(root.Get("topology"), nil)
	r.readTriggerList(o)
	r.readNS3Workload(root.Get("workload"))
	if r.d.err != nil {
		return
	}
	r.ns3Routes(word{Pos: o.at("topology")})
	if r.d.err == nil {
		r.checkPairs(o)
	}
	r.ns3Devices(c)
}

// readNS3Workload is readWorkload for a scenario without a switch section.
func (r *resolver) readNS3Workload(n *node) {
	for d := range r.baseDSCP {
		r.baseDSCP[d] = uint8(d / 8)
	}
	r.readWorkload(n, nil)
	if r.d.err != nil {
		return
	}
	for i := range r.v.Plan.Series {
		m := &r.v.Plan.Series[i]
		if c := &r.v.Plan.Conns[m.Conn]; m.Verb > workload.Send || c.Service != workload.RC {
			r.d.fail(r.entryPos(c.Entry), "workload[%d]: %s over %s is nothing that the ns-3 RDMA simulators have; use write or send, or leave the ns3 section out", c.Entry, m.Verb, c.Service)
			return
		}
	}
}

// ns3Section reads the section as if it were a config file. Maps by rate are
// written as mappings.
func (r *resolver) ns3Section(n *node) *ns3Config {
	c := &ns3Config{d: r.d, file: r.d.file, keys: map[string][]word{}, at: map[string]pos{}}
	o := r.d.object(n, "ns3", ns3Keys())
	for _, f := range o.n.Fields {
		c.at[f.Key] = f.Pos
		switch {
		case f.Value.Kind == scalarNode && !ns3.IsMap(f.Key):
			c.keys[f.Key] = []word{{Text: f.Value.Text, Pos: f.Value.Pos}}
		case f.Value.Kind == mappingNode && ns3.IsMap(f.Key):
			words := []word{{Text: strconv.Itoa(len(f.Value.Fields)), Pos: f.Pos}}
			for _, g := range f.Value.Fields {
				words = append(words, word{Text: g.Key, Pos: g.Pos}, word{Text: g.Value.Text, Pos: g.Value.Pos})
			}
			c.keys[f.Key] = words
		case ns3.IsMap(f.Key):
			r.d.fail(f.Value.Pos, "ns3.%s is %s; it maps rates in bit/s to values, such as {100000000000: 400}", f.Key, f.Value.Kind)
		default:
			r.d.fail(f.Value.Pos, "ns3.%s is %s; one value is needed", f.Key, f.Value.Kind)
		}
	}
	return c
}

// number reads a whole number within a range.
func (d *decoder) number(w word, what string, lo, hi int64) int64 {
	if d.err != nil {
		return lo
	}
	v, bad := w.Number(what, lo, hi)
	d.keep(bad)
	return v
}

// decimal reads a number from 0 to hi.
func (d *decoder) decimal(w word, what string, hi float64) (v float64) {
	if d.err != nil {
		return 0
	}
	v, bad := w.Decimal(what, hi)
	d.keep(bad)
	return v
}

// seconds reads a time as the ns-3 RDMA simulators do.
func (d *decoder) seconds(w word, what string) units.Time {
	if d.err != nil {
		return 0
	}
	t, bad := ns3.Seconds(w, what)
	d.keep(bad)
	return t
}

// ns3Rate reads a data rate of those simulators.
func (d *decoder) ns3Rate(w word, what string) units.Rate {
	if d.err != nil {
		return 0
	}
	v, bad := ns3.Rate(w, what)
	d.keep(bad)
	return v
}
