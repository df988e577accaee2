package scenario

import (
	"fmt"

	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/units"
)

// processorKeys are the keys of a host section that say what processors, memory and kernel are
// like: first the preset, then the card's offloads. why says why the kernel does nothing.
func processorKeys(s *hostSettings, why func() string) []key {
	const presets = "the preset's"
	gsoOff, ddio := false, true
	return joinKeys([]key{
		elsewhere(wordKey("preset", &s.preset, host.Presets(), "`free`: nothing costs anything; `linux-xeon`: a server with Linux, whose constants `hopscope show linux-xeon` lists with their sources.").
			otherwise("`linux-xeon` where TCP ends, else `free`").check(func(object) { s.Spec, _ = host.Preset(s.preset) }), card.Presets(), "is a card; give it to the section nic"),
	}, unless([]key{
		wordKey("offloads", &s.card, host.Cards(), "Which offloads of TCP the card has: `connectx-5` all, `plain` none.").check(func(object) { s.takeCard() }),
		coresKey(&s.Cores).otherwise(presets),
		sectionKey("numa", []key{
			numberKey("sockets", &s.Sockets, 1, host.MaxCores, "Sockets, to which cores are dealt in blocks.").otherwise(presets),
			eitherKey("application", &s.Remote, "local", "remote", "Whether applications run on the card's socket or on the next."),
		}, "Sockets of the host.").finish(func(o object) {
			if s.Remote && s.Sockets < 2 {
				o.fail("application", "remote needs another socket than the card's; give sockets: 2 or more")
			}
		}),
		rateKey("memory_bandwidth", &s.Memory, "DRAM bandwidth of a socket.").otherwise(presets).
			within(int64(units.Gbps), int64(units.Never), "is less than any memory; give that of a socket, such as 800Gbps"),
		flagKey("ddio", &ddio, "The card writes into the last-level cache.").check(func(object) { s.NoDDIO = !ddio }),
		s.moderationKey().otherwise(presets),
		s.offloadKey("gro", "Frames are merged on arrival.", func(on bool) {
			s.GRO = map[bool]units.Bytes{true: 65535}[on]
		}),
		s.offloadKey("gso", "Software cuts segments into frames.", func(on bool) {
			gsoOff = !on
			if s.Segmentation != host.TSO {
				s.Segmentation = map[bool]host.Segmentation{true: host.GSO, false: host.NoSegmentation}[on]
			}
		}).check(func(o object) {
			s.lacks(o, "gso", "scatter-gather, which GSO needs", !gsoOff && !s.has().ScatterGather)
		}),
		s.offloadKey("tso", "The card cuts segments into frames.", func(on bool) {
			switch {
			case on:
				s.Segmentation = host.TSO
			case s.Segmentation == host.TSO && gsoOff:
				s.Segmentation = host.NoSegmentation
			case s.Segmentation == host.TSO:
				s.Segmentation = host.GSO
			}
		}).check(func(o object) { s.lacks(o, "tso", "TSO", s.Segmentation == host.TSO && !s.has().TSO) }),
		spokenKey("send", &s.Send, []host.Send{host.SendCopy, host.SendZeroCopy, host.SendFile}, "How data get to the card: by a copy, by MSG_ZEROCOPY or by sendfile.").
			check(func(o object) {
				s.lacks(o, "send", "scatter-gather, without which data are copied", s.Send != host.SendCopy && !s.has().ScatterGather)
			}),
		eitherKey("receive", &s.MapIn, "copy", "zerocopy", "How data get from TCP's sockets: by a copy, or as pages that "+
			"are mapped into the application (TCP_ZEROCOPY_RECEIVE), which takes frames whose payload is whole pages, such as "+
			"`tcp.mtu: 4148`, and a card that splits headers off.").check(func(o object) {
			s.lacks(o, "receive", "header split, without which data are copied", s.MapIn && !s.has().HeaderSplit)
		}),
		flagKey("busy_poll", &s.BusyPoll, "Applications poll the card: no interrupts, no wakeups, no idle core."),
		eitherKey("steering", &s.FlowSteering, "rss", "arfs", "Whether frames go to the core of their flow's hash, or of their application.").otherwise("`arfs`").
			check(func(o object) { s.lacks(o, "steering", "filters for aRFS", s.FlowSteering && !s.has().FlowSteering) }),
		numberKey("ring", &s.Ring, 1, 1<<16, "Frames that a receive queue holds.").otherwise("1024"),
	}, why), []key{
		sectionKey("costs", append(unless(kernelCosts(s), why), kernelCost("doorbell", &s.Doorbell, "telling the card of new work, for RDMA too")),
			"What the parts of the kernel take.").otherwise(presets),
		costKey("post", &s.Post, "Time to post a work request; `costs.doorbell` comes on top.").otherwise(presets),
		costKey("poll", &s.Poll, "Time to poll a completion.").otherwise(presets),
		costKey("repost", &s.Repost, "Time from a received message until a receive is posted in place of the one it took; `never`: those of `receives` are all there are.").
			otherwise("`never`").check(func(object) { s.Reposts = true }).or("never", func() { s.Reposts = false }),
		{name: "card", renamed: "offloads"},
	})
}

// settle completes what the keys have read together.
func (s *hostSettings) settle(o object) {
	if o.d.err == nil && s.Sockets > s.Cores {
		if o.has("numa") {
			o.fail("numa", "%d sockets with %s in all; a socket has at least one, so give cores: %d or more", s.Sockets, number(s.Cores, "core"), s.Sockets)
		}
		s.Sockets = 1
	}
	s.lacks(o, "moderation", "interrupt moderation", o.has("moderation") && !s.has().Moderation && s.Moderation != (host.Moderation{}))
	if err := s.Spec.Check(); err != nil && o.d.err == nil {
		o.d.fail(o.n.Pos, "%v", err)
	}
}

// has are the offloads of the card.
func (s *hostSettings) has() host.Card {
	c, _ := host.CardOf(s.card)
	return c
}

// takeCard drops what the card does not have.
func (s *hostSettings) takeCard() {
	c := s.has()
	if !c.TSO {
		s.Segmentation = host.GSO
	}
	if !c.ScatterGather {
		s.Segmentation, s.Send = host.NoSegmentation, host.SendCopy
	}
	s.MapIn = s.MapIn && c.HeaderSplit
	if !c.Moderation {
		s.Moderation = host.Moderation{}
	}
	s.FlowSteering = s.FlowSteering && c.FlowSteering
}

// lacks fails for an offload that the card does not have.
func (s *hostSettings) lacks(o object, key, what string, is bool) {
	if is {
		o.fail(key, "the card %s has no %s; leave %s out, or give offloads: connectx-5", s.card, what, key)
	}
}

// coresKey is the number of processor cores.
func coresKey(cores *int) key {
	k := numberKey("cores", cores, 1, host.MaxCores, "Processor cores.")
	parse := k.parse
	k.parse = func(o object, name string) bool {
		if text, ok := o.scalar(name); ok && text == "0" {
			o.fail(name, "0 cores run nothing; give 1 to %d", host.MaxCores)
		}
		return parse(o, name)
	}
	return k
}

// moderationKey says when the card interrupts.
func (s *hostSettings) moderationKey() key {
	return sectionKey("moderation", []key{
		timeKey("time", &s.Moderation.Time, "How long after a frame the card interrupts at the latest.").
			within(0, int64(maxModeration), fmt.Sprintf("is longer than any card holds an interrupt back; give at most %v, such as 16us", maxModeration)),
		numberKey("frames", &s.Moderation.Frames, 1, 1<<16, "After how many frames it interrupts at once."),
	}, "When the card interrupts: `adaptive`, `off` (at every frame), or a section.").
		or("off", func() { s.Moderation = host.Moderation{} }).or("adaptive", func() { s.Moderation.Adaptive = true }).
		opening(func(object) { s.Moderation = host.Moderation{} }).
		finish(func(o object) {
			if s.Moderation.Time == 0 && s.Moderation.Frames > 1 {
				o.d.fail(o.n.Pos, "%s: interrupts after %d frames and no time leave the last frames for ever; give a time such as 16us", o.path, s.Moderation.Frames)
			}
		})
}

// offloadKey switches an offload on or off.
func (s *hostSettings) offloadKey(name, text string, set func(on bool)) key {
	on := true
	return flagKey(name, &on, text).check(func(object) { set(on) })
}

// kernelCost is what the kernel does for one call, frame or segment.
func kernelCost(name string, dst *units.Time, of string) key {
	return timeKey(name, dst, "Time of "+of+".").otherwise("the preset's").
		within(0, int64(maxKernelCost), fmt.Sprintf("is longer than a kernel works for one call, frame or segment; give at most %v", maxKernelCost))
}

// kernelCosts are the parts by their names.
func kernelCosts(s *hostSettings) []key {
	var out, in float64
	var num, den int64
	const slow = "is slower than any core copies; give the rate of one, such as 64Gbps"
	return []key{
		kernelCost("syscall", &s.Syscall, "a system call"),
		kernelCost("output", &s.Output, "sending a segment through the stack"),
		kernelCost("gso_frame", &s.GSOFrame, "cutting a frame off a segment in software"),
		kernelCost("tx_complete", &s.TxComplete, "freeing a frame that was sent"),
		kernelCost("rx_frame", &s.RxFrame, "taking a frame from the card"),
		kernelCost("rx_page", &s.RxPage, "giving the card a page for frames to come"),
		kernelCost("input", &s.Input, "receiving a segment through the stack"),
		kernelCost("interrupt", &s.Interrupt, "an interrupt"),
		kernelCost("idle_exit", &s.IdleExit, "waking an idle core"),
		kernelCost("wakeup", &s.Wakeup, "waking an application"),
		kernelCost("zerocopy_call", &s.ZeroCopyCall, "a call with MSG_ZEROCOPY, beside a plain one"),
		kernelCost("pin_page", &s.PinPage, "pinning a page for it"),
		kernelCost("zerocopy_done", &s.ZeroCopyDone, "telling the application that its pages are free"),
		kernelCost("map_page", &s.MapPage, "mapping a received page into the application, and out of it"),
		kernelCost("file_page", &s.FilePage, "handing a page of a file to sendfile"),
		rateKey("crc", &s.CRC, "Rate at which a core works CRC32c out, of iWARP that the kernel runs: `iwarp.preset: siw`.").
			otherwise("the preset's").within(int64(units.Gbps), int64(units.Never), slow),
		rateKey("copy_llc", &s.CopyLLC, "Rate at which a core copies from the last-level cache.").otherwise("the preset's").within(int64(units.Gbps), int64(units.Never), slow),
		rateKey("copy_dram", &s.CopyDRAM, "Rate at which a core copies from DRAM.").otherwise("the preset's").within(int64(units.Gbps), int64(units.Never), slow),
		probabilityKey("miss_out", &out, "Share of copied data that misses the cache when sending, such as `49%`.").otherwise("the preset's").
			check(func(object) { s.MissOut = permille(out) }),
		probabilityKey("miss_in", &in, "Share of copied data that misses the cache when receiving.").otherwise("the preset's").
			check(func(object) { s.MissIn = permille(in) }),
		ratioKey("remote", &num, &den, "Factor by which copies on another socket take longer.").otherwise("the preset's").check(func(o object) {
			if num < den || num > 100*den {
				o.fail("remote", "a copy on another socket takes 1 to 100 times as long; give a factor such as 1.56")
				return
			}
			s.RemotePermille = int(num * 1000 / den)
		}),
	}
}

// permille is a share to a tenth of a per cent.
func permille(p float64) int { return int(p*1000 + 0.5) }
