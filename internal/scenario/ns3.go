package scenario

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/foreign"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/typo"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/wire"
)

// LoadNS3 reads a config file of the public ns-3 RDMA simulators with the
// topology and flow files it names, and turns it into a scenario that follows
// their rules: frame sizes, buffer policy, byte windows, the congestion flag on
// ACKs, no timeout, a clock of 1 ns that truncates. Times stay those of the
// files. Each element of set is KEY=value and replaces that key. The error is
// always an *Error.
func LoadNS3(config string, set []string, seed *uint64) (*Valid, error) {
	src, err := files.Read(config, maxConfig)
	if err != nil {
		return nil, pos{file: config}.errorf("cannot be read: %v; name a config file of the ns-3 RDMA simulators", rootCause(err))
	}
	if other := foreign.Instead(src, "a config file of the ns-3 RDMA simulators", foreign.NS3Config); other != "" {
		return nil, pos{file: config}.errorf("%s", other)
	}
	v, bad := parseNS3(config, src, readInput, set, seed)
	if bad != nil {
		return nil, bad
	}
	return v, nil
}

// maxConfig bounds a config file in bytes; those of the simulators have two thousand.
const maxConfig = 1 << 20

// ns3Config is the config file: the words after each key.
type ns3Config struct {
	d    *decoder
	file string
	keys map[string][]ns3Word // looked up, never iterated
	at   map[string]pos
}

// parseNS3 reads the text of a config file.
func parseNS3(config string, src []byte, readFile func(string) ([]byte, error), set []string, seed *uint64) (*Valid, *Error) {
	r := &resolver{d: &decoder{file: config, readFile: readFile}, v: &Valid{Name: ns3Name(config), Stack: stackRoCEv2, Seed: 1,
		Description: "imported from an ns-3 RDMA simulator's files", TimeQuantum: units.Nanosecond, Wire: wire.NS3,
		MeasureFrom: units.Never, MeasureTo: units.Never}}
	if seed != nil {
		r.v.Seed = *seed
	}
	c := &ns3Config{d: r.d, file: config, keys: map[string][]ns3Word{}, at: map[string]pos{}}
	c.read(splitRows(config, string(src)))
	for _, s := range set {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			r.d.fail(pos{file: "--set " + s}, "no value; write --set KEY=value, such as --set BUFFER_SIZE=4")
			break
		}
		rows := splitRows("", key+" "+value)
		for i := range rows {
			for j := range rows[i].words {
				rows[i].words[j].pos = pos{file: "--set " + s}
			}
		}
		c.read(rows)
	}
	r.resolveNS3(c)
	if r.d.err != nil {
		return nil, r.d.err
	}
	r.v.Source = render(r.ns3Tree(c, seed))
	return r.v, nil
}

// ns3Name names the run after the folder, since the files are all called
// config.txt.
func ns3Name(config string) string {
	if dir := filepath.Base(filepath.Dir(config)); dir != "." && dir != string(filepath.Separator) {
		return dir
	}
	return strings.TrimSuffix(filepath.Base(config), filepath.Ext(config))
}

// read takes the words of the file key by key. Text in braces is a comment.
func (c *ns3Config) read(rows []ns3Row) {
	var words []ns3Word
	comment := false
	for _, row := range rows {
		for _, w := range row.words {
			comment = comment || strings.HasPrefix(w.text, "{")
			if !comment {
				words = append(words, w)
			}
			comment = comment && !strings.HasSuffix(w.text, "}")
		}
	}
	known, seen := ns3Words(), map[string]int{} // line by key; looked up, never iterated
	for len(words) > 0 && c.d.err == nil {
		key := words[0]
		if line, twice := seen[key.text]; twice {
			c.d.fail(key.pos, "%s stands in line %d as well; keep one", key.text, line)
			return
		}
		seen[key.text] = key.pos.line
		n, ok := known[key.text]
		if !ok {
			c.d.fail(key.pos, "unknown key %q; %s", key.text, suggestKey(key.text))
			return
		}
		words = words[1:]
		if n < 0 && len(words) > 0 {
			n = 1 + 2*int(c.d.number(words[0], key.text+" length", 1, 64))
		}
		n = max(n, 1)
		if len(words) < n {
			c.d.fail(key.pos, "%s needs %d values and the file ends after %d; add the rest", key.text, n, len(words))
			return
		}
		c.keys[key.text], c.at[key.text] = words[:n], key.pos
		words = words[n:]
	}
}

func suggestKey(key string) string {
	if w := typo.Nearest(key, ns3Names()); w != "" {
		return "did you mean " + w + "?"
	}
	return "remove it, or check the number of values of the key before it"
}

// word returns a key's only value, or a default.
func (c *ns3Config) word(key, otherwise string) ns3Word {
	if w := c.keys[key]; len(w) > 0 {
		return w[0]
	}
	return ns3Word{otherwise, pos{c.file, 1, 1}}
}

func (c *ns3Config) need(key, example string) ns3Word {
	if w := c.keys[key]; len(w) > 0 {
		return w[0]
	}
	c.d.fail(pos{c.file, 1, 1}, "%s is missing; add a line such as %s %s", key, key, example)
	return ns3Word{example, pos{c.file, 1, 1}}
}

func (c *ns3Config) number(key, otherwise string, lo, hi int64) int64 {
	return c.d.number(c.word(key, otherwise), key, lo, hi)
}

func (c *ns3Config) flag(key, otherwise string) bool { return c.number(key, otherwise, 0, 1) == 1 }

// places are where a file that the config file names may be: as given, as the simulators
// take it, then from the folder of the config file, then by its name alone in that folder,
// for files that were moved together.
func (c *ns3Config) places(name string) []string {
	dir := filepath.Dir(c.file)
	out := []string{filepath.Clean(name)}
	for _, path := range []string{filepath.Join(dir, name), filepath.Join(dir, filepath.Base(name))} {
		if !contains(out, path) && !(filepath.IsAbs(name) && path == filepath.Join(dir, name)) {
			out = append(out, path)
		}
	}
	return out
}

// ns3Open opens a file that the config file names. It says so where that is not the one
// that the name would mean at first sight.
func (r *resolver) ns3Open(c *ns3Config, key string, name ns3Word, what string, kinds ...foreign.Kind) *ns3Rows {
	places := c.places(name.text)
	var first error
	for i, path := range places {
		src, err := r.d.readFile(path)
		if err != nil {
			if first == nil || !errors.Is(err, fs.ErrNotExist) {
				first = err
			}
			continue
		}
		if other := foreign.Instead(src, what, kinds...); other != "" {
			r.d.fail(pos{file: path}, "%s", other)
		}
		switch beside := filepath.Join(filepath.Dir(c.file), name.text); {
		case i == 0 && len(places) > 1 && places[1] == beside:
			if other, err := r.d.readFile(beside); err == nil && !bytes.Equal(src, other) {
				r.warn(key, "%s %s: there is also %s beside the config file, which differs; the first is read, "+
					"as those simulators do", key, name.text, beside)
			}
		case i > 0 && path != beside:
			r.warn(key, "%s %s is not there; %s is read", key, name.text, path)
		}
		return &ns3Rows{d: r.d, file: path, rest: string(src)}
	}
	r.d.fail(name.pos, "%s %s cannot be read: %v; name an existing file, as given or relative to the config file",
		key, name.text, rootCause(first))
	return &ns3Rows{d: r.d, file: name.text}
}

// rateMap reads KMAX_MAP and its like: n, then n pairs of rate in bit/s and value.
func (c *ns3Config) rateMap(key, example string, hi float64) []ns3Rated {
	c.need(key, example)
	var out []ns3Rated
	for w := c.keys[key]; c.d.err == nil && len(w) >= 3; w = w[2:] {
		out = append(out, ns3Rated{units.Rate(c.d.number(w[1], key+" rate", 1, 1e15)), c.d.decimal(w[2], key+" value", hi), w[2].pos})
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

// resolveNS3 reads the files and fills the scenario.
func (r *resolver) resolveNS3(c *ns3Config) {
	r.ns3Header(c)
	errorRate := r.d.decimal(c.word("ERROR_RATE_PER_LINK", "0"), "ERROR_RATE_PER_LINK", 1)
	topo, flows := c.need("TOPOLOGY_FILE", "topology.txt"), c.need("FLOW_FILE", "flow.txt")
	if r.d.err != nil {
		return
	}
	const wanted = "a topology of the ns-3 RDMA simulators"
	f := r.ns3Open(c, "TOPOLOGY_FILE", topo, wanted, foreign.NS3Topology, foreign.SimAITopology)
	r.readNS3Topology(f, errorRate)
	r.ns3LinkDown(c)
	r.ns3Routes(topo)
	if r.d.err == nil {
		r.readNS3Flows(r.ns3Open(c, "FLOW_FILE", flows, "a flow file of the ns-3 RDMA simulators", foreign.NS3Flows))
	}
	r.ns3Devices(c)
}

// ns3Header reads what neither topology nor devices say.
func (r *resolver) ns3Header(c *ns3Config) {
	mode := c.number("CC_MODE", "1", 0, 1000)
	if r.d.err == nil && mode != 1 {
		names := map[int64]string{3: "HPCC", 7: "TIMELY", 8: "DCTCP", 10: "HPCC-PINT"}
		if name, known := names[mode]; known {
			r.d.fail(c.word("CC_MODE", "").pos, "CC_MODE %d (%s) is not built yet; use 1 (DCQCN), or ENABLE_QCN 0 for none", mode, name)
		} else {
			r.d.fail(c.word("CC_MODE", "").pos, "CC_MODE %d is no mode of those simulators; use 1 (DCQCN), or ENABLE_QCN 0 for none", mode)
		}
	}
	c.refuseUnbuilt()
	r.mtu = units.Bytes(c.number("PACKET_PAYLOAD_SIZE", "1000", 64, 9000))
	stop := c.word("SIMULATOR_STOP_TIME", "4.0")
	if v, err := strconv.ParseFloat(stop.text, 64); err == nil && v > float64(units.Never/units.Second) && v <= 1e15 {
		r.v.Stop = units.Never // SimAI's files say 4e13 where they mean no end
		return
	}
	r.v.Stop = r.d.seconds(stop, "SIMULATOR_STOP_TIME")
}

// ns3Devices fills switches and hosts once topology and flows are known.
func (r *resolver) ns3Devices(c *ns3Config) {
	r.ns3DCQCN(c)
	r.ns3Switches(c)
	r.ns3NICs(c)
	r.ns3Notes(c)
	r.ns3Warnings(c)
}

// refuseUnbuilt stops at settings that would change results and are not there.
func (c *ns3Config) refuseUnbuilt() {
	if c.flag("L2_BACK_TO_ZERO", "0") {
		c.d.fail(c.word("L2_BACK_TO_ZERO", "").pos, "L2_BACK_TO_ZERO 1 is not built yet; use 0")
	}
	if !c.flag("RATE_BOUND", "1") {
		c.d.fail(c.word("RATE_BOUND", "").pos, "RATE_BOUND 0 is not built yet; use 1")
	}
	if c.number("L2_ACK_INTERVAL", "1", 0, 1<<31) == 0 {
		c.d.fail(c.word("L2_ACK_INTERVAL", "").pos, "L2_ACK_INTERVAL 0 never acknowledges, so no flow would finish; use 1")
	}
}

// ns3LinkDown reads "us_after_2s nodeA nodeB"; time 0 means none.
func (r *resolver) ns3LinkDown(c *ns3Config) {
	w := c.keys["LINK_DOWN"]
	if r.d.err != nil || len(w) != 3 {
		return
	}
	const longest = 1 << 40 // microseconds
	after := r.d.number(w[0], "LINK_DOWN time", 0, longest)
	hi := int64(len(r.v.Graph.Nodes)) - 1
	a, b := r.d.number(w[1], "LINK_DOWN node", 0, hi), r.d.number(w[2], "LINK_DOWN node", 0, hi)
	if r.d.err != nil || after == 0 {
		return
	}
	found := false
	for i := range r.v.Graph.Links {
		k := &r.v.Graph.Links[i]
		if k.A == int(a) && k.B == int(b) || k.A == int(b) && k.B == int(a) {
			k.Outages, found = []topology.Outage{{Down: 2*units.Second + units.Time(after)*units.Microsecond, Up: units.Never}}, true
		}
	}
	if !found {
		r.d.fail(w[1].pos, "LINK_DOWN: there is no link between %d and %d; name a link of the topology", a, b)
	}
}

// ns3Notes says where the rules come from.
func (r *resolver) ns3Notes(c *ns3Config) {
	if r.d.err != nil {
		return
	}
	const src = "ns-3 RDMA simulators"
	r.note("wire", r.v.Wire.Name+": no preamble, gap or FCS", src)
	r.note("time_quantum", "1ns, truncated", src)
	r.note("switch.buffer", r.ns3Buffer(c).String(), "BUFFER_SIZE in MiB")
	r.note("switch.pfc", "alpha 1/8 at the NICs' rate, doubled per doubling of rate; headroom 3*rate*delay; reserve 4096 B; XON offset 3072 B; no pause timer", src)
	var monitors []string
	for _, key := range ns3Monitors() {
		if c.keys[key] != nil {
			monitors = append(monitors, key)
		}
	}
	if len(monitors) > 0 {
		r.note("monitors", strings.Join(monitors, ", ")+": ignored", "hopscope run --series samples queues, rates and pauses")
	}
	if r.v.DCQCN == nil {
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
		if w := c.word(k.key, k.usual); w.text != k.usual {
			r.warn(k.key, "%s %s has no effect, as in the ns-3 RDMA simulators: the result is that of %s", k.key, w.text, k.usual)
		}
	}
	if w := c.word("L2_ACK_INTERVAL", "1"); w.text != "1" {
		r.warn("L2_ACK_INTERVAL", "L2_ACK_INTERVAL %s has no effect: every packet is acknowledged; those simulators leave out at most the first ACKs of a flow, and only for more than a payload", w.text)
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
