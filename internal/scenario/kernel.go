package scenario

import (
	"cmp"

	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/units"
)

// kernelKeys are the keys of a host section that say what processors, memory and
// kernel are like.
func kernelKeys() []string {
	return []string{"preset", "card", "cores", "numa", "memory_bandwidth", "ddio", "moderation", "gro", "gso", "tso", "send", "busy_poll", "steering", "ring", "costs"}
}

// readKernel applies those keys to s: first the preset, then the card's offloads.
func readKernel(o object, s *hostSettings) {
	name := ""
	if o.word("preset", &name, host.Presets()...) {
		s.Spec, _ = host.Preset(name)
		s.preset = name
	}
	if o.word("card", &s.card, host.Cards()...) {
		s.takeCard()
	}
	readCores(o, s)
	if o.rate("memory_bandwidth", &s.Memory) && s.Memory < units.Gbps {
		o.fail("memory_bandwidth", "%v is less than any memory; give that of a socket, such as 800Gbps", s.Memory)
	}
	ddio := !s.NoDDIO
	o.boolean("ddio", &ddio)
	s.NoDDIO = !ddio
	readModeration(o, s)
	readOffloads(o, s)
	o.boolean("busy_poll", &s.BusyPoll)
	o.integer("ring", &s.Ring, 1, 1<<16)
	readCosts(o, s)
	if s.Spec.Check() != nil && o.d.err == nil {
		o.d.fail(o.n.pos, "%v", s.Spec.Check())
	}
}

// takeCard drops what the card does not have.
func (s *hostSettings) takeCard() {
	c, _ := host.CardOf(s.card)
	if !c.TSO {
		s.Segmentation = host.GSO
	}
	if !c.ScatterGather {
		s.Segmentation, s.Send = host.NoSegmentation, host.SendCopy
	}
	if !c.Moderation {
		s.Moderation = host.Moderation{}
	}
	s.FlowSteering = s.FlowSteering && c.FlowSteering
}

// readCores reads the processors and where the applications run.
func readCores(o object, s *hostSettings) {
	if text, ok := o.scalar("cores"); ok && text == "0" {
		o.fail("cores", "0 cores run nothing; give 1 to %d", host.MaxCores)
	}
	o.integer("cores", &s.Cores, 1, host.MaxCores)
	if o.has("numa") || o.describing() {
		n := o.object("numa", "sockets", "application")
		n.integer("sockets", &s.Sockets, 1, host.MaxCores)
		where := "local"
		if s.Remote {
			where = "remote"
		}
		n.word("application", &where, "local", "remote")
		s.Remote = where == "remote"
		if s.Remote && s.Sockets < 2 {
			n.fail("application", "remote needs another socket than the card's; give sockets: 2 or more")
		}
	}
	if s.Sockets > s.Cores && o.d.err == nil {
		if !o.has("numa") {
			s.Sockets = 1
			return
		}
		o.fail("numa", "%d sockets with %s in all; a socket has at least one, so give cores: %d or more", s.Sockets, number(s.Cores, "core"), s.Sockets)
	}
}

// readModeration reads when the card interrupts.
func readModeration(o object, s *hostSettings) {
	o.note("moderation", wordsOf("adaptive", "off"))
	v := o.n.get("moderation")
	if v == nil && !o.describing() {
		return
	}
	before := s.Moderation
	text, _ := "", false
	if v != nil && v.kind == scalarNode {
		text, _ = o.scalar("moderation")
	}
	switch {
	case text == "off":
		s.Moderation = host.Moderation{}
	case text == "adaptive":
		s.Moderation.Adaptive = true
	case text != "":
		o.fail("moderation", "%q is not known; give adaptive, off, or {time: 16us, frames: 32}", text)
	default:
		m := o.object("moderation", "time", "frames")
		s.Moderation = host.Moderation{}
		if m.time("time", &s.Moderation.Time) && s.Moderation.Time > maxModeration {
			m.fail("time", "%v is longer than any card holds an interrupt back; give at most %v, such as 16us", s.Moderation.Time, maxModeration)
		}
		m.integer("frames", &s.Moderation.Frames, 1, 1<<16)
		if s.Moderation.Time == 0 && s.Moderation.Frames > 1 {
			o.fail("moderation", "interrupts after %d frames and no time leave the last frames for ever; give a time such as 16us", s.Moderation.Frames)
		}
	}
	if c, _ := host.CardOf(s.card); !c.Moderation && s.Moderation != (host.Moderation{}) {
		s.Moderation = before
		o.lacks("moderation", s.card, "interrupt moderation")
	}
}

// lacks fails for an offload that the card does not have.
func (o object) lacks(key, card, what string) {
	o.fail(key, "the card %s has no %s; leave %s out, or give card: connectx-5", card, what, key)
}

// readOffloads reads who cuts and merges segments, and how data gets to the card.
func readOffloads(o object, s *hostSettings) {
	c, _ := host.CardOf(s.card)
	tso, gso, gro := s.Segmentation == host.TSO, s.Segmentation != host.NoSegmentation, s.GRO > 0
	if o.boolean("tso", &tso) && tso && !c.TSO {
		o.lacks("tso", s.card, "TSO")
	}
	if o.boolean("gso", &gso) && gso && !c.ScatterGather {
		o.lacks("gso", s.card, "scatter-gather, which GSO needs")
	}
	s.Segmentation = host.NoSegmentation
	if gso {
		s.Segmentation = host.GSO
	}
	if tso {
		s.Segmentation = host.TSO
	}
	if o.boolean("gro", &gro) {
		s.GRO = 0
		if gro {
			s.GRO = 65535
		}
	}
	ways := []host.Send{host.SendCopy, host.SendZeroCopy, host.SendFile}
	words := []string{ways[0].String(), ways[1].String(), ways[2].String()}
	word := s.Send.String()
	o.word("send", &word, words...)
	for i := range ways {
		if words[i] == word {
			s.Send = ways[i]
		}
	}
	if s.Send != host.SendCopy && !c.ScatterGather {
		o.lacks("send", s.card, "scatter-gather, without which data are copied")
	}
	steering := "rss"
	if s.FlowSteering {
		steering = "arfs"
	}
	o.word("steering", &steering, "rss", "arfs")
	if s.FlowSteering = steering == "arfs"; s.FlowSteering && !c.FlowSteering {
		o.lacks("steering", s.card, "filters for aRFS")
	}
}

// readCosts reads the parts by their names.
func readCosts(o object, s *hostSettings) {
	if !o.has("costs") && !o.describing() {
		return
	}
	c := o.object("costs", append(host.CostNames(), "copy_llc", "copy_dram", "miss_out", "miss_in", "remote")...)
	for _, x := range s.Named() {
		if contains(host.CostNames(), x.Name) {
			if c.time(x.Name, x.Time) && *x.Time > maxKernelCost {
				c.fail(x.Name, "%v is longer than a kernel works for one call, frame or segment; give at most %v", *x.Time, maxKernelCost)
			}
		}
	}
	readCopy(c, "copy_llc", &s.CopyLLC)
	readCopy(c, "copy_dram", &s.CopyDRAM)
	readPermille(c, "miss_out", &s.MissOut)
	readPermille(c, "miss_in", &s.MissIn)
	num, den := int64(s.RemotePermille), int64(1000)
	if c.fraction("remote", &num, &den) {
		if num < den || num > 100*den {
			c.fail("remote", "a copy on another socket takes 1 to 100 times as long; give a factor such as 1.56")
			return
		}
		s.RemotePermille = int(num * 1000 / den)
	}
}

// readCopy reads how fast a core copies: 0 would be no copy at all.
func readCopy(o object, key string, rate *units.Rate) {
	before := *rate
	if o.rate(key, rate) && *rate < units.Gbps {
		o.fail(key, "%v is slower than any core copies; give the rate of one, such as %v", *rate, cmp.Or(before, 64*units.Gbps))
	}
}

// readPermille reads a share to a tenth of a per cent.
func readPermille(o object, key string, dst *int) {
	p := float64(*dst) / 1000
	if o.probability(key, &p) {
		*dst = int(p*1000 + 0.5)
	}
}
