package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/iwarp"
	"github.com/hopscope/hopscope/internal/tcp"
	"github.com/hopscope/hopscope/internal/workload"
)

// iwarpSettings is the `iwarp` section. What carries its streams is a profile of the tcp section.
type iwarpSettings struct {
	iwarp.Config
	obj             object
	preset, cc, ecn string
}

// Presets of iWARP that scenarios have: cards that run TCP, and Linux's driver for those that do not.
const (
	offloadPreset = "offload"
	siwPreset     = "siw"
)

// newIWARP is what holds without the section.
func newIWARP() (s iwarpSettings) {
	s.preset = offloadPreset
	s.take()
	return s
}

// take makes the settings those of their preset.
func (s *iwarpSettings) take() {
	c, err := iwarp.Preset(s.preset)
	if err != nil {
		panic("scenario: BUG: " + err.Error())
	}
	s.Config, s.cc, s.ecn = c, c.TCP.CC.Algorithm.String(), c.TCP.ECN.String()
}

// iwarpKeys are the keys of the section.
func (r *resolver) iwarpKeys() []key {
	const presets = "the preset's"
	s := &r.iwarp
	return []key{
		wordKey("preset", &s.preset, []string{offloadPreset, siwPreset}, "Who runs it: `offload`, the card, after "+
			"Chelsio's T5 and T6; `siw`, the host's kernel over a TCP socket, as Linux's driver of that name does for any "+
			"card: posting is a system call, payload is copied at both ends, and cores take frames, interrupts and CRCs "+
			"(section `host`).").
			check(func(object) { s.take() }).otherwise("`offload`"),
		flagKey(
			"markers",
			&s.Markers,
			"Each receiver asks for markers: 4 bytes in every 512 of its peer's stream (RFC 5044).",
		).check(func(o object) {
			if s.Markers && s.RefuseMarkers {
				o.fail("markers", "siw rejects a peer that asks for markers (Linux siw_cm.c); leave markers out, "+
					"or take preset: offload")
			}
		}),
		flagKey("crc", &s.CRC, "FPDUs are checked by their CRC32c; the field is there in any case.").
			otherwise(presets),
		wordKey("cc", &s.cc, []string{"reno", "cubic", "dctcp", "none"},
			"Congestion control of the card's TCP; `dctcp` has switches mark its class, as the stack `dctcp` does.").
			check(func(o object) {
				s.TCP.CC.Algorithm, _ = congestion.WindowAlgorithmNamed(s.cc)
				if s.TCP.CC.Algorithm == congestion.DCTCP {
					s.TCP.ECN = tcp.ECNDCTCP
				}
			}).otherwise(presets),
		wordKey(
			"ecn",
			&s.ecn,
			[]string{"off", "classic"},
			"`classic` (RFC 3168): switches then mark the class by `switch.ecn`; "+
				"`cc: dctcp` has its own.",
		).check(func(o object) {
			switch {
			case s.TCP.CC.Algorithm == congestion.DCTCP:
				o.fail("ecn", "DCTCP has a use of ECN of its own; leave ecn out, or give another cc")
			case s.ecn == "classic":
				s.TCP.ECN = tcp.ECNClassic
			}
		}).otherwise("`off`"),
		flagKey(
			"peer_to_peer",
			&s.PeerToPeer,
			"The end that opens a connection begins with an empty READ, so that the other may send "+
				"(RFC 6581); with `tcp.handshake: first-message`.",
		).otherwise(presets),
		timeKey(
			"start_timeout",
			&s.Timeout,
			"How long an end waits for its peer's frame of MPA's start-up.",
		).nonzero("would give up at once; give a time such as 60s"),
	}
}

// readIWARP reads the section.
func (r *resolver) readIWARP(root object) {
	r.iwarp = newIWARP()
	o := root.object("iwarp", r.iwarpKeys())
	r.iwarp.obj = o
	o.read(r.iwarpKeys())
}

// carriedByTCP reports whether a stack's data go by TCP.
func carriedByTCP(stack string) bool {
	_, ok := profileOf(stack)
	return ok
}

// sockets reports whether an entry is one of TCP connections of the kernel.
func (e *entryOptions) sockets() bool { return e.Profile > 0 && e.Profile-1 != offloadedTCP }

// settleIWARP makes an entry one of iWARP, and refuses what that lacks.
func (r *resolver) settleIWARP(o object, e *entryOptions) {
	if e.Profile-1 != offloadedTCP || r.d.err != nil {
		return
	}
	switch verb := workload.VerbNames()[e.Verb]; {
	case e.Service == workload.UD:
		o.fail("service", "iWARP has no datagrams: a stream of TCP has one peer; use service: rc, or an RoCEv2 stack")
	case e.Service == workload.UC:
		o.fail(
			"service",
			"iWARP has no unreliable connections: TCP repairs losses; use service: rc, or an RoCEv2 stack",
		)
	case e.Verb == workload.WriteImm, e.Verb == workload.SendImm:
		o.fail(
			"verb",
			"iWARP has no immediate data before RFC 7306, and %s brings some; use write, send, send-inv or read",
			verb,
		)
	case e.Verb.Atomic():
		o.fail("verb", "iWARP has no atomics before RFC 7306, and %s is one; use write, send, send-inv or read", verb)
	}
	e.Service = workload.IWARP
}

// iwarpMarked are the priorities of iWARP if it uses ECN so.
func (r *resolver) iwarpMarked(use tcp.ECN) uint8 {
	if !r.tcp.used[offloadedTCP] || r.tcp.profiles[offloadedTCP].ECN != use {
		return 0
	}
	return r.tcp.classes[offloadedTCP]
}

// resolveIWARP hands the profile over, and refuses what its FPDUs do not fit and peers that have none.
func (r *resolver) resolveIWARP() {
	if !r.tcp.used[offloadedTCP] {
		return
	}
	r.iwarp.TCP = r.tcp.profiles[offloadedTCP]
	c := r.iwarp.Config
	r.v.IWARP = &c
	if n := c.MULPDU(c.Markers); n < iwarp.MinMULPDU {
		with := ""
		if c.Markers {
			with = ", markers taken off,"
		}
		r.d.fail(
			r.iwarp.obj.at("markers"),
			"iwarp: segments of %d B%s leave %d B for DDP, and MPA wants %d at least (RFC 5044); "+
				"raise tcp.mtu or tcp.mss, or leave markers out",
			c.Segment(),
			with,
			n,
			iwarp.MinMULPDU,
		)
		return
	}
	r.checkMPA()
	r.checkKernel()
	if r.tcp.closes && !r.compared {
		r.warn("iwarp close", "tcp.close: last-message has no effect on iWARP, whose connections stay open")
	}
}

// kernelIWARP reports whether hosts' kernels run the workload's iWARP.
func (r *resolver) kernelIWARP() bool { return r.tcp.used[offloadedTCP] && r.iwarp.Kernel }

// checkKernel refuses what the model of a kernel that runs iWARP has not.
func (r *resolver) checkKernel() {
	if !r.kernelIWARP() {
		return
	}
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		for _, end := range []int{c.Src, c.Dst} {
			if n := r.v.Graph.HostOf(end); c.Service == workload.IWARP && r.nics[n].server.inside() != nil {
				r.d.fail(r.iwarp.obj.at("preset"), "iwarp.preset: siw on %s, which has a server: the way of what a kernel "+
					"receives to memory and GPUs is not modelled for iWARP; leave server out, or take preset: offload",
					r.v.Graph.Nodes[n].Name)
				return
			}
		}
	}
}

// checkMPA refuses connections of cards that speak no MPA: nobody answers their peer's request. A comparison runs
// such cards nevertheless, and says so.
func (r *resolver) checkMPA() {
	if r.iwarp.Kernel {
		return // which needs nothing of the card
	}
	for i := range r.v.Plan.Conns {
		c := &r.v.Plan.Conns[i]
		if c.Service != workload.IWARP {
			continue
		}
		for _, end := range []int{c.Src, c.Dst} {
			n := r.v.Graph.HostOf(end)
			name := r.nics[n].card.Name
			if spec, err := card.Preset(name); err != nil || spec.IWARP || name == "" {
				continue
			}
			host := r.v.Graph.Nodes[n].Name
			if r.compared {
				r.warn(
					"no iWARP",
					"nic.preset: %s has no iWARP (%s): the column shows what such a card would do",
					card.About(name),
					host,
				)
				return
			}
			peer := c.Src + c.Dst - end
			r.d.fail(
				r.entryPos(c.Entry),
				"workload[%d]: the card of %s, %s, speaks no MPA, so that the request of %s for an iWARP "+
					"connection has no answer; give nic.preset: %s; iwarp.preset: siw, which asks nothing of a card; "+
					"or an RoCEv2 stack",
				c.Entry,
				host,
				card.About(name),
				r.v.Graph.EndpointName(peer),
				orListed(iwarpCards()),
			)
			return
		}
	}
}

// orListed joins words by commas, the last by or.
func orListed(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// iwarpCards lists the presets of cards that speak MPA.
func iwarpCards() []string {
	return slices.DeleteFunc(slices.Clone(card.Presets()), func(name string) bool {
		c, err := card.Preset(name)
		return err != nil || !c.IWARP
	})
}

// source is where a value of its TCP comes from; linux is the source of that of Linux.
func (s *iwarpSettings) source(key, linux string) string {
	if s.Kernel {
		switch key {
		case "preset":
			return "the kernel's TCP, under siw"
		case "tso":
			return "Linux siw_main.c: try_gso is off, \"severly limits siw maximum tx bandwidth\""
		case "nagle":
			return "Linux siw_main.c: siw_tcp_nagle is off"
		}
		return linux
	}
	switch key {
	case "preset":
		return "a card that runs TCP, after Chelsio T5 and T6"
	case "delayed_ack", "ack_every", "quick_acks", "window_scaling", "recovery", "ecn":
		return "Linux iw_cxgb4 (Chelsio T5, T6)"
	case "cc":
		return "assumed: the driver asks for Tahoe, which is Reno but for what follows a fast retransmit"
	case "sndbuf", "rcvbuf":
		return "assumed: the driver's 128 KiB and 256 KiB are for links of 40 Gb/s"
	case "tso", "nagle":
		return "a segment holds one FPDU (RFC 5044 4.5)"
	case "timestamps":
		return "assumed: the driver leaves them off"
	case "rto_min", "rto_initial":
		return "assumed: hardware counts in milliseconds"
	}
	return "assumed: nothing is published"
}

// iwarpNotes lists what iWARP has beyond TCP.
func (r *resolver) iwarpNotes() {
	if !r.tcp.used[offloadedTCP] || r.v.IWARP == nil {
		return
	}
	for _, n := range r.v.IWARP.Notes() {
		if r.iwarp.obj.has(strings.TrimPrefix(n.Key, "iwarp.")) {
			n.Source = fromScenario
		}
		r.v.Notes = append(r.v.Notes, n)
	}
	c := r.v.IWARP
	r.note(
		"iwarp MULPDU",
		fmt.Sprintf("%d B", c.MULPDU(c.Markers)),
		"RFC 5044 4.5: segments of "+fmt.Sprint(c.Segment())+" B",
	)
}
