package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// ncclSettings is the section `nccl`: how collectives decide.
type ncclSettings struct {
	version               int // 2.26 is 226
	env                   collective.Env
	directLevel, p2pLevel server.Class // 0: NCCL's rules
	trafficClass, level   int          // IB_TC and IB_SL
	said                  object       // env, as the scenario has it
}

// versions lists what `version` may be, oldest first.
func versions() (words []string) {
	for v := collective.OldestVersion; v <= collective.NewestVersion; v++ {
		words = append(words, "2."+strconv.Itoa(v-200))
	}
	return words
}

// ncclKeys are the keys of the section.
func ncclKeys(s *ncclSettings) []key {
	words := versions()
	return []key{
		textKey("version", quoted(words), wordsOf(words...), s.readVersion, "Whose rules hold; the "+
			"[model](../models/collectives.md) lists what versions changed. A patch level, as in `2.26.2`, changes nothing.").otherwise("`2.26`"),
		sectionKey("env", envKeys(s), "NCCL's environment variables, with or without `NCCL_` before them. A workload's own keys win.").in(&s.said),
	}
}

// readVersion reads a version, whose patch level decides nothing.
func (s *ncclSettings) readVersion(o object, text string) {
	parts := strings.Split(text, ".")
	minor := 0
	if len(parts) >= 2 {
		minor, _ = strconv.Atoi(parts[1])
	}
	v := 200 + minor
	words := versions()
	switch first, last := words[0], words[len(words)-1]; {
	case len(parts) < 2 || len(parts) > 3 || parts[0] != "2" || minor <= 0:
		o.fail("version", "%q is no version of NCCL that is known; give one from %s to %s, such as 2.%d", text, first, last,
			collective.DefaultVersion-200)
	case v < collective.OldestVersion:
		o.fail("version", "%q is older than %s, the oldest version whose rules are known; did you mean %q?", text, first,
			first)
	case v > collective.NewestVersion:
		o.fail("version", "%q is newer than %s, the newest version whose rules are known; did you mean %q?", text, last, last)
	default:
		s.version = v
	}
}

// unmodelled are variables that NCCL knows and that change nothing here.
func unmodelled() []string {
	return []string{"CROSS_NIC", "PXN_DISABLE", "IB_QPS_PER_CONNECTION", "IB_SPLIT_DATA_ON_QPS", "IB_AR_THRESHOLD", "IB_ADAPTIVE_ROUTING",
		"IB_HCA", "IB_GID_INDEX", "IB_TIMEOUT", "IB_RETRY_CNT", "SOCKET_IFNAME", "DEBUG", "DEBUG_SUBSYS", "TOPO_FILE", "NET_GDR_READ", "COLLNET_ENABLE", "NTHREADS"}
}

// envKeys are NCCL's variables.
func envKeys(s *ncclSettings) []key {
	e := &s.env
	nvls, p2pOff := true, false
	level := func(name, text string, set func(server.Class)) key {
		word := ""
		return wordKey(name, &word, server.Levels(), text).check(func(object) { set(server.Level(word)) })
	}
	zeroOne := func(name string, dst *bool, text string) key { return eitherKey(name, dst, "0", "1", text) }
	keys := []key{
		listOfWords("ALGO", "Algorithms that NCCL may choose: `Ring,Tree`, or with `^` before them all others.", []string{"Ring", "Tree", "NVLS", "NVLSTree"},
			[]collective.Algorithm{collective.Ring, collective.Tree, collective.NVLS, collective.NVLSTree}, &e.Algorithms),
		listOfWords("PROTO", "Protocols that it may choose, likewise.", []string{"LL", "LL128", "Simple"},
			[]collective.Protocol{collective.LL, collective.LL128, collective.Simple}, &e.Protocols),
		numberKey("MIN_NCHANNELS", &e.MinChannels, 1, collective.MaxChannels, "Channels of collectives, at least (as NCCL_MIN_CTAS).").otherwise("NCCL's"),
		numberKey("MAX_NCHANNELS", &e.MaxChannels, 1, collective.MaxChannels, "Channels, at most (as NCCL_MAX_CTAS).").otherwise("NCCL's"),
		numberKey("NCHANNELS_PER_NET_PEER", &e.PerNetPeer, 1, collective.MaxChannels, "Channels to a peer over the network, of `alltoall` and `sendrecv`.").otherwise("2, fewer with many ranks"),
		level("NET_GDR_LEVEL", "As `net_gdr_level` of a server.", func(c server.Class) { s.directLevel = c }).otherwise("NCCL's"),
		level("P2P_LEVEL", "As `p2p_level` of a server.", func(c server.Class) { s.p2pLevel = c }).otherwise("NCCL's"),
		zeroOne("P2P_DISABLE", &p2pOff, "`1`: as P2P_LEVEL=LOC; NVLinks stay.").check(func(object) {
			if p2pOff {
				s.p2pLevel = server.Level("LOC")
			}
		}),
		zeroOne("NVLS_ENABLE", &nvls, "`0`: neither NVLS nor NVLSTree.").otherwise("1").check(func(object) { e.NoNVLS = !nvls }),
		variableBytesKey("BUFFSIZE", &e.Buffer, "Buffer of a connection with Simple.").otherwise("4194304").
			check(func(o object) {
				if e.Buffer < leastBuffer {
					o.fail("BUFFSIZE", "%v leaves less than the 16 bytes that a thread moves at a time for each of a "+
						"connection's 8 slots; give at least %d, such as 4194304", e.Buffer, leastBuffer)
				}
			}),
		variableBytesKey("P2P_NET_CHUNKSIZE", &e.PeerChunk, "Chunk of a transfer between two ranks over the network.").
			otherwise("131072").check(func(o object) {
			if e.PeerChunk < leastBuffer/8 {
				o.fail("P2P_NET_CHUNKSIZE", "%v is less than the 16 bytes that a thread moves at a time; give at least 16, "+
					"such as 131072", e.PeerChunk)
			}
		}),
		variableBytesKey("P2P_LL_THRESHOLD", &e.PeerLL, "Up to how much for each channel such transfers go with LL; `0`: never.").otherwise("16384").check(func(object) {
			if e.PeerLL == 0 {
				e.PeerLL = -1
			}
		}),
	}
	keys = append(keys,
		numberKey("IB_TC", &s.trafficClass, 0, 255, "Traffic class of RoCE: four times the `dscp` of a collective, and two bits of ECN.").
			otherwise("the stack's"),
		numberKey("IB_SL", &s.level, 0, serviceLevels-1, "Service level of InfiniBand: the `class` of a collective.").
			otherwise("0"))
	for _, name := range unmodelled() {
		keys = append(keys, textKey(name, "text", anyScalar(), func(object, string) {}, "Not modelled: changes nothing.").otherwise("NCCL's").
			unless(func() string { return "it is not modelled" }))
	}
	return keys
}

// ncclClass gives a collective's connections the priority that IB_TC or IB_SL has, where its own keys
// give none. InfiniBand has service levels; what switches of Ethernet sort by is the DSCP.
func (r *resolver) ncclClass(o object, e *entryOptions) {
	for _, v := range []struct{ name, key, why string }{
		{"IB_TC", "dscp", "on InfiniBand, where IB_SL has the service level"},
		{"IB_SL", "class", "on RoCE, whose switches sort by IB_TC"},
	} {
		if r.nccl.said.n == nil || !r.nccl.said.has(v.name) {
			continue
		}
		value := r.nccl.said.text(v.name)
		switch own := firstOf2(o, "dscp", "class"); {
		case e.Service != workload.RC:
			r.warn("nccl env "+v.name, "nccl.env.%s: %s has no effect on %s", v.name, value, e.Service)
		case (v.name == "IB_SL") != r.stack().Credits:
			r.warn("nccl env "+v.name, "nccl.env.%s: %s has no effect %s", v.name, value, v.why)
		case o.has(own):
			r.warn("nccl env "+v.name, "%s: %s: %s stands over nccl.env.%s: %s", o.path, own, o.text(own), v.name, value)
		case v.name == "IB_SL":
			e.Class = uint8(r.nccl.level)
		default:
			e.DSCP = uint8(r.nccl.trafficClass / 4)
			e.Class = r.baseDSCP[e.DSCP]
		}
	}
}

// leastBuffer is 16 B for each of NCCL's 8 slots.
const leastBuffer = 8 * 16 * units.Byte

// variableBytesKey is a number of bytes as variables have it, with or without a unit.
func variableBytesKey(name string, dst *units.Bytes, text string) key {
	parse := func(s string) (units.Bytes, error) {
		if strings.HasPrefix(s, "-") {
			return 0, fmt.Errorf("%q is negative; give bytes, as NCCL's variables have them", s)
		}
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			s = strconv.FormatInt(n, 10) + "B"
		}
		return units.ParseBytes(s)
	}
	k := quantityKey(name, dst, "bytes", `^[0-9.]+ *([kKMGT]i?)?B?$`, parse, text)
	return k.within(0, 1<<30, "is not from 0 to 1GiB")
}

// listOfWords is a list as NCCL's variables have it: words with commas, or with ^ those that
// are left out.
func listOfWords[T comparable](name, text string, words []string, values []T, dst *[]T) key {
	return textKey(name, "words, or `^` and words", anyScalar(), func(o object, list string) {
		rest, without := strings.CutPrefix(list, "^")
		var named []T
		for _, w := range strings.Split(rest, ",") {
			k := slices.IndexFunc(words, func(x string) bool { return strings.EqualFold(x, strings.TrimSpace(w)) })
			if strings.ContainsAny(list, ":;") {
				o.fail(name, "%q has entries for single functions, which are not read; give words for all, such as %s, "+
					"and algorithm and protocol in each collective", list, words[0])
				return
			}
			if k < 0 {
				o.fail(name, "%q is none of %s; give words with commas, such as %s,%s, or ^%s", strings.TrimSpace(w), strings.Join(words, ", "), words[0], words[1], words[0])
				return
			}
			named = append(named, values[k])
		}
		*dst = nil
		for _, v := range values {
			if slices.Contains(named, v) != without {
				*dst = append(*dst, v)
			}
		}
		if len(*dst) == 0 {
			o.fail(name, "%q leaves none", list)
		}
	}, text).otherwise("all")
}

// readNCCL reads the section and tells servers what follows.
func (r *resolver) readNCCL(o object) {
	r.nccl = ncclSettings{version: collective.DefaultVersion}
	if env := o.n.Get("nccl").Get("env"); env != nil {
		seen := map[string]string{}
		for i := range env.Fields {
			f := &env.Fields[i]
			said := f.Key
			f.Key = strings.TrimPrefix(f.Key, "NCCL_")
			switch f.Key { // newer names
			case "MIN_CTAS":
				f.Key = "MIN_NCHANNELS"
			case "MAX_CTAS":
				f.Key = "MAX_NCHANNELS"
			}
			if first, twice := seen[f.Key]; twice {
				r.d.fail(f.Pos, "nccl.env: %s and %s are the same variable; keep one", first, said)
				return
			}
			seen[f.Key] = said
		}
	}
	keys := ncclKeys(&r.nccl)
	s := o.object("nccl", keys)
	s.read(keys)
	if r.d.err != nil || s.n == nil {
		return
	}
	r.warnIdle(s, keys)
	if e := &r.nccl.env; r.nccl.said.n != nil && e.MaxChannels > 0 && e.MinChannels > e.MaxChannels {
		r.nccl.said.fail("MIN_NCHANNELS", "%d is more than MAX_NCHANNELS: %d; give at most that, or leave one out",
			e.MinChannels, e.MaxChannels)
	}
}

// tellServers gives servers what NCCL's version and variables say, where they say nothing
// themselves.
func (r *resolver) tellServers() {
	for n := range r.nics {
		t := r.nics[n].server.inside()
		if t == nil {
			continue
		}
		t.OldTies = r.nccl.version < collective.NewTies
		if t.DirectLevel == server.SelfX {
			t.DirectLevel = r.nccl.directLevel
		}
		if t.PeerLevel == server.SelfX {
			t.PeerLevel = r.nccl.p2pLevel
		}
	}
}

// warnEnv says where keys of a collective win over NCCL's variables, and which of these say
// nothing of its operation.
func (r *resolver) warnEnv(o object, s *collective.Spec) {
	for _, c := range []struct {
		key       string
		variables []string
		wins      bool
	}{
		{"algorithm", []string{"ALGO"}, s.Algorithm != collective.AutoAlgorithm},
		{"protocol", []string{"PROTO"}, s.Protocol != collective.AutoProtocol},
		{"channels", []string{"MIN_NCHANNELS", "MAX_NCHANNELS"}, s.Channels > 0},
		{"chunk", []string{"BUFFSIZE", "P2P_NET_CHUNKSIZE"}, s.Chunk > 0},
	} {
		for _, v := range c.variables {
			if c.wins && r.nccl.said.n != nil && r.nccl.said.has(v) {
				r.warn("nccl env "+v, "%s: %s: %s stands over nccl.env.%s: %s", o.path, c.key, o.text(c.key), v, r.nccl.said.text(v))
			}
		}
	}
	pairs := s.Op == collective.AllToAll || s.Op == collective.SendRecv
	for _, v := range []struct {
		name  string
		pairs bool // it speaks of transfers between two ranks alone, or of all else
	}{{"ALGO", false}, {"PROTO", false}, {"NVLS_ENABLE", false},
		{"NCHANNELS_PER_NET_PEER", true}, {"P2P_NET_CHUNKSIZE", true}, {"P2P_LL_THRESHOLD", true}} {
		if r.nccl.said.n == nil || !r.nccl.said.has(v.name) || v.pairs == pairs {
			continue
		}
		why := "whose ranks have no transfers of their own with each other"
		if pairs {
			why = "which is made of transfers between two ranks, without a choice of algorithm; LL ends at P2P_LL_THRESHOLD"
		}
		r.warn("nccl env "+v.name+s.Op.String(), "nccl.env.%s: %s has no effect on %s, %s", v.name,
			r.nccl.said.text(v.name), s.Op, why)
	}
}
