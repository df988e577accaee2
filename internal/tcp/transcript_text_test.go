package tcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/packet"
	"github.com/hopscope/hopscope/internal/units"
)

// transcriptKeys are the options of endpoints and connected.
var transcriptKeys = map[string]func(*transcriptWorld, *Config, string){
	"preset": func(x *transcriptWorld, c *Config, v string) { // first: it sets all but the MSS and offload
		*c = mustPreset(x.t, v)
		c.MSS, c.TSO, c.QuickAcks, c.AckOnGrowth = 1000, 0, 0, false
		if c.Timestamps {
			c.MSS += timestampsLen
		}
	},
	"mss":            num(func(c *Config, n int64) { c.MSS = int(n) }),
	"tso":            num(func(c *Config, n int64) { c.TSO = int(n) }),
	"timestamps":     num(func(c *Config, n int64) { c.Timestamps = n != 0 }),
	"window_scaling": num(func(c *Config, n int64) { c.WindowScaling = n != 0 }),
	"prr":            num(func(c *Config, n int64) { c.PRR = n != 0 }),
	"undo":           num(func(c *Config, n int64) { c.Undo = n != 0 }),
	"initial_window": num(func(c *Config, n int64) { c.CC.InitialWindow = int(n) }),
	"quick_acks":     num(func(c *Config, n int64) { c.QuickAcks = int(n) }),
	"retries":        num(func(c *Config, n int64) { c.Retries = int(n) }),
	"syn_retries":    num(func(c *Config, n int64) { c.SYNRetries = int(n) }),
	"pacing":         num(func(c *Config, n int64) { c.Pacing = n != 0 }),
	"send_buffer":    num(func(c *Config, n int64) { c.Send = Buffer{n, n} }),
	"receive_buffer": num(func(c *Config, n int64) { c.Receive = Buffer{n, n} }),
	"delayed_ack":    duration(func(c *Config, d units.Time) { c.DelayedAck = d }),
	"min_rto":        duration(func(c *Config, d units.Time) { c.MinRTO, c.MinOnVariance = d, false }),
	"recovery": func(x *transcriptWorld, c *Config, v string) {
		c.Recovery = Recovery(slices.Index([]string{"newreno", "sack", "rack-tlp"}, v))
	},
	"nagle": func(x *transcriptWorld, c *Config, v string) {
		c.Nagle = Nagle(slices.Index([]string{"off", "rfc896", "minshall"}, v))
	},
	"ecn": func(x *transcriptWorld, c *Config, v string) {
		c.ECN = ECN(slices.Index([]string{"off", "classic", "dctcp"}, v))
	},
	"cc": func(x *transcriptWorld, c *Config, v string) {
		a, err := congestion.WindowAlgorithmNamed(v)
		if err != nil {
			x.t.Fatalf("%s: %v", x.where, err)
		}
		c.CC.Algorithm = a
	},
}

func num(set func(*Config, int64)) func(*transcriptWorld, *Config, string) {
	return func(x *transcriptWorld, c *Config, v string) { set(c, x.number(v)) }
}

func duration(set func(*Config, units.Time)) func(*transcriptWorld, *Config, string) {
	return func(x *transcriptWorld, c *Config, v string) { set(c, x.time(v)) }
}

// flagNames are the control bits, lowest first.
var flagNames = []string{"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"}

// text is one line: sequence numbers count from the initial ones.
func (x *transcriptWorld) text(w *wireSegment) string {
	from, to := &x.ends[1-w.to], &x.ends[w.to]
	var side *packet.Side
	if w.has {
		side = &w.side
	}
	h := Header(&w.p, side)
	var flags []string
	for i, name := range flagNames {
		if h.Flags&(1<<i) != 0 && name != "ACK" {
			flags = append(flags, name)
		}
	}
	s := fmt.Sprintf("%3d %s>%s", w.n, from.name, to.name)
	if w.n == 0 {
		s = fmt.Sprintf(" ?  >%s", to.name)
	}
	seq := h.Seq - from.iss
	s += fmt.Sprintf("  seq %d", seq)
	if w.p.Payload > 0 {
		s += fmt.Sprintf(":%d", seq+w.p.Payload)
	}
	if h.Flags&ACK != 0 {
		s += fmt.Sprintf(" ack %d", h.Ack-to.iss)
	}
	window := int64(h.Window)
	if h.Flags&SYN == 0 {
		window <<= to.sndScale
	}
	s += fmt.Sprintf(" win %d", window)
	if flags != nil {
		s += " " + strings.Join(flags, " ")
	}
	return s + x.options(&w.p, side, to) + map[uint8]string{packet.ECT0: "  ECT(0)", packet.CE: "  CE"}[w.p.ECN] +
		map[bool]string{true: "  again"}[w.p.Flags&packet.Retrans != 0]
}

func (x *transcriptWorld) options(p *packet.Packet, side *packet.Side, to *transcriptEnd) string {
	h := Header(p, side)
	o := &h.Options
	var s []string
	if o.MSS > 0 {
		s = append(s, fmt.Sprintf("mss %d", o.MSS))
	}
	if o.SACKPermitted {
		s = append(s, "sackOK")
	}
	if o.HasTimestamps {
		s = append(s, fmt.Sprintf("ts %d %d", o.TSVal, o.TSEcr))
	}
	if o.HasWindowScale {
		s = append(s, fmt.Sprintf("wscale %d", o.WindowScale))
	}
	for _, b := range o.SACK[:o.SACKBlocks] {
		s = append(s, fmt.Sprintf("sack %d:%d", b.Left-to.iss, b.Right-to.iss))
	}
	if s == nil {
		return ""
	}
	return "  <" + strings.Join(s, ", ") + ">"
}
