package claims

import "github.com/hopscope/hopscope/internal/catalog"

// A ring of four switches, whose four flows take two links of it each.
const (
	ringFlows = "workload=[{flow: {from: a, to: c, size: {size}, path: [a, s1, s2, s3, c]}}, {flow: {from: b, to: d, " +
		"size: {size}, path: [b, s2, s3, s4, d]}}, {flow: {from: c, to: a, size: {size}, path: [c, s3, s4, s1, a]}}, " +
		"{flow: {from: d, to: b, size: {size}, path: [d, s4, s1, s2, b]}}]"
	// upDown has the fourth flow go the other way round, so that no circle of buffers is left.
	upDown = "workload[3].flow.path=[d, s4, s3, s2, b]"
)

func ring(rate string) string {
	links := ""
	for _, l := range []string{"a, s1", "b, s2", "c, s3", "d, s4", "s1, s2", "s2, s3", "s3, s4", "s4, s1"} {
		if links != "" {
			links += ", "
		}
		links += "{between: [" + l + "], rate: " + rate + "}"
	}
	return "topology={hosts: [a, b, c, d], switches: [s1, s2, s3, s4], links: [" + links + "]}"
}

var ringSetup = Text{"Four switches in a ring at {rate}; four flows of {size} take two of its links each.",
	"四台交换机成环，链路 {rate}；四条 {size} 的流各占环上两条链路。"}

// deadlockClaims are of what lossless networks can come to.
func deadlockClaims() []Claim {
	return []Claim{
		pfcDeadlock(),
		creditDeadlock(),
		serviceLevelsCure(),
		watchdogBreaks(),
		shortHeadroom(),
		pauseStorm(),
	}
}

// bigRing is a ring of five switches with a host each.
func bigRing(rate string) string {
	hosts, switches, links := "", "", ""
	for i := range 5 {
		n, next := string(rune('0'+i)), string(rune('0'+(i+1)%5))
		hosts += "h" + n + ", "
		switches += "s" + n + ", "
		links += "{between: [h" + n + ", s" + n + "], rate: " + rate + "}, {between: [s" + n + ", s" + next + "], rate: " +
			"" + rate + "}, "
	}
	return "topology={hosts: [" + hosts[:len(hosts)-2] + "], switches: [" + switches[:len(switches)-2] + "], links: " +
		"[" + links[:len(links)-2] + "]}"
}

// bigRingFlows has each host send to the second after it.
func bigRingFlows() string {
	flows := ""
	for i := range 5 {
		flows += "{flow: {from: h" + string(rune('0'+i)) + ", to: h" + string(rune('0'+(i+2)%5)) + ", size: {size}}}, "
	}
	return "workload=[" + flows[:len(flows)-2] + "]"
}

// lossyClaims are of RoCEv2 without PFC.
func lossyClaims() []Claim {
	return []Claim{
		noNeedOfPFC(),
		selectiveRepeat(),
		controlByDelay(),
		controlByTelemetry(),
	}
}

// creditClaims are of InfiniBand's way.
func creditClaims() []Claim {
	return []Claim{
		waitsForCredits(),
		lanesIsolate(),
		noPatchwork(),
	}
}

func tuned() *Figure {
	return parameters(Text{"parameters of switches and congestion control", "交换机与拥塞控制的参数数"}, "switch.", "dcqcn.",
		"infiniband.")
}

func pfcDeadlock() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{43},
		Says: Text{"PFC can deadlock: in a circle of full buffers each switch waits for the next, and nothing moves any " +
			"more.",
			"PFC 会死锁：缓冲首尾相接成环且都满时，每台交换机都在等下一台，一切停摆。"},
		Setup: ringSetup, Base: "deadlock-ring", Set: []string{ring("{rate}"), ringFlows, "switch.buffer=2MB"},
		Rate: "100Gbps", Size: "1500KB",
		Variants: []Variant{named("pfc", "rocev2-pfc-only")},
		Checks:   []Check{atLeast(deadlocked(), "pfc", 3), atLeast(unfinished(), "pfc", 4)},
		Off:      Removal{What: Text{"the circle (one flow goes the other way round)", "去掉环，让一条流反向走"}, Set: []string{upDown}},
		Range:    Range{Seeds: seeds, Rates: allRates, Sizes: []string{"1500KB", "4MB", "8MB"}},
		Note: Text{"Guo et al., SIGCOMM 2016, had it in production; cyclic buffer dependency is Dally and Seitz's " +
			"condition (1987).",
			"Guo 等（SIGCOMM 2016）在生产网中遇到过；循环缓冲依赖即 Dally 与 Seitz（1987）的条件。"},
	}
}

func creditDeadlock() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{25, 43},
		Says: Text{"InfiniBand is lossless by nature, and for the same reason its credits deadlock in the same circle.",
			"InfiniBand 天生无损，也正因如此，信用在同样的环里照样死锁。"},
		Setup: ringSetup,
		Base:  "deadlock-ring", Rate: "100Gbps", Size: "1500KB",
		Set: []string{ring("{rate}"), stack("infiniband"), ringFlows, "infiniband.buffer=32KiB"},
		Variants: []Variant{
			with("one", "one lane", "单一虚拟通道"),
		},
		Checks: []Check{atLeast(deadlocked(), "one", 3), atLeast(unfinished(), "one", 4)},
		Off:    Removal{What: Text{"the circle (one flow goes the other way round)", "去掉环，让一条流反向走"}, Set: []string{upDown}},
		Range:  Range{Seeds: seeds, Rates: allRates, Sizes: []string{"1500KB", "4MB"}},
		Note: Text{"Kindly bounded: \"lossless by nature\" holds with routes free of loops. OpenSM's up/down and LASH " +
			"exist for that.",
			"为原文补个前提：“天生无损”要求路由无环，OpenSM 的 up/down 与 LASH 正为此而设。"},
	}
}

func serviceLevelsCure() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{43, 53, 54},
		Says: Text{"On InfiniBand two service levels cure the deadlock: the subnet manager gives paths that would " +
			"close the circle another lane.",
			"InfiniBand 用两个服务等级即可解开死锁：子网管理器让会闭环的路径走另一条虚拟通道。"},
		Setup: Text{"Five switches in a ring at {rate}; each host sends {size} to the second after it, as the subnet " +
			"manager routes it.",
			"五台交换机成环，链路 {rate}；每台主机向其后第二台发送 {size}，按子网管理器的路由。"},
		Base: "deadlock-ring", Rate: "100Gbps", Size: "4MB",
		Set: []string{bigRing("{rate}"), stack("infiniband"), bigRingFlows()},
		Variants: []Variant{
			with("one", "one service level", "一个服务等级"), with("two", "two service levels", "两个服务等级", "infiniband.sls=2"),
		},
		Checks: []Check{atLeast(deadlocked(), "one", 3), atMost(deadlocked(), "two", 0), atMost(unfinished(), "two", 0)},
		Off:    Removal{What: Text{"the second service level", "取消第二个服务等级"}, Only: "two", Set: []string{"infiniband.sls=1"}},
		Range:  Range{Seeds: seeds, Rates: allRates, Sizes: []string{"2MB", "4MB"}},
	}
}

func watchdogBreaks() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{43, 45},
		Says: Text{"On Ethernet a PFC watchdog breaks the deadlock at the price of drops; IRN never gets into it.",
			"以太网上，PFC 看门狗能打破死锁，代价是丢包；IRN 则根本不会陷入死锁。"},
		Setup: ringSetup, Base: "deadlock-ring", Set: []string{ring("{rate}"), ringFlows, "switch.buffer=2MB"},
		Rate: "100Gbps", Size: "1500KB",
		Variants: []Variant{
			named("stuck", "rocev2-pfc-only"),
			with("dog", "with the watchdog", "启用看门狗", "switch.watchdog=drop"), named("irn", "rocev2-irn"),
		},
		Checks: []Check{
			atLeast(unfinished(), "stuck", 4), atMost(unfinished(), "dog", 0), atLeast(drops(), "dog", 1), atMost(unfinished(),
				"irn", 0),
		},
		Off: Removal{What: Text{"what the watchdog does (it only alerts)", "看门狗不动作，只告警"}, Only: "dog",
			Set: []string{"switch.watchdog=alert"}},
		Range: Range{Seeds: seeds, Rates: allRates, Sizes: []string{"1500KB", "4MB"}},
	}
}

func shortHeadroom() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{44},
		Says: Text{"Headroom that is too short for the cable loses frames although PFC is on.",
			"余量 (headroom) 配得比线缆所需短，开着 PFC 也照样丢包。"},
		Setup: Text{"Three hosts send {size} each to a fourth over 300 m of cable, at {rate}.",
			"三台主机经 300 m 线缆向第四台各发送 {size}，链路 {rate}。"},
		Base: "short-headroom", Rate: "100Gbps", Size: "2MB",
		Set: []string{"topology={star: {hosts: 4, link: {rate}, length: 300m}}",
			"workload=[{incast: {to: h3, size: {size}}}]", "switch.buffer=16MB",
			stack("rocev2-pfc-only")},
		Variants: []Variant{
			with("short", "headroom 40 KB", "余量 40 KB", "switch.pfc={xoff: 100KB, headroom: 40KB}"),
			with("right", "headroom by rate and cable", "按速率与线缆计算", "switch.pfc={xoff: 100KB, headroom: auto}"),
		},
		Checks: []Check{atLeast(drops(), "short", 1), atMost(drops(), "right", 0)},
		Off:    Removal{What: Text{"the mistake", "改正配置"}, Set: []string{"switch.pfc={xoff: 100KB, headroom: auto}"}},
		Range:  Range{seeds, allRates, []string{"1MB", "2MB", "4MB"}},
		Note: Text{"Headroom is C(2 tprop + tresp) plus frames on the wire (IEEE 802.1Qbb); docs/models/headroom.md.",
			"余量 = C(2·传播时延 + 响应时间) + 在途帧（IEEE 802.1Qbb），见 docs/models/headroom.md。"},
	}
}

func pauseStorm() Claim {
	return Claim{
		Chapter: Operating, Article: []int{45},
		Says: Text{"One sick card that pauses without end stops hosts that have nothing to do with it; a PFC watchdog " +
			"lets them go on.",
			"一块坏网卡无休止地发 Pause，会让毫不相干的主机停摆；PFC 看门狗能让它们继续。"},
		Setup: Text{"Three hosts send {size} each over leaf, spine and leaf at {rate}; the card of one receiver pauses " +
			"for ten seconds.",
			"三台主机经叶脊网络各发送 {size}，链路 {rate}；其中一个接收端的网卡连续发 Pause 十秒。"},
		Base: "pause-storm", Rate: "100Gbps", Size: "4MB",
		Set: []string{"topology={leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 3, link: {rate}}}",
			"workload=[{flow: {name: to the sick card, from: h0, to: h5, size: {size}}}, {flow: {name: victim, from: h1, " +
				"to: h3, size: {size}}}]",
			"hosts={h5: {faults: [{pauses: {from: 20us, until: 10s}}]}}"},
		Variants: []Variant{
			with("none", "a watchdog that only alerts", "看门狗只告警", "switch.watchdog=alert"), with("dog", "with the watchdog",
				"启用看门狗", "switch.watchdog=drop"),
		},
		Checks: []Check{
			over(slowestOf("victim", victim), "none", 2, slowestOf("victim", victim), "dog"),
			atLeast(count(catalog.Storm, Text{"storms found", "发现的风暴数"}), "dog", 1),
		},
		Off: Removal{What: Text{"what the watchdog does (it only alerts)", "看门狗不动作，只告警"}, Only: "dog",
			Set: []string{"switch.watchdog=alert"}},
		Range: Range{seeds, allRates, []string{"4MB", "8MB"}},
	}
}

func noNeedOfPFC() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{46, 107},
		Says: Text{"RoCEv2 does not need PFC: with IRN's window and selective repeat an incast ends as soon as with " +
			"PFC, without a pause.",
			"RoCEv2 不一定要 PFC：用 IRN 的窗口与选择性重传，多打一与开 PFC 时同时完成，且一次暂停都没有。"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), incast, "switch.buffer=4MB"}, Rate: "400Gbps",
		Size:     "2MB",
		Variants: []Variant{named("pfc", "rocev2-pfc-only"), named("irn", "rocev2-irn")},
		Checks: []Check{
			under(slowest(), "irn", 1.05, slowest(), "pfc"), atMost(pauses(), "irn", 0), atLeast(pauses(), "pfc", 1),
		},
		Off: Removal{What: Text{"IRN (drops and go-back-N)", "不用 IRN，丢包加 go-back-N"}, Only: "irn",
			Set: []string{stack("rocev2-none")}},
		Range: Range{seeds, allRates, []string{"2MB", "4MB", "8MB"}},
		Note: Text{"Mittal et al., Revisiting Network Support for RDMA, SIGCOMM 2018. No card on sale has IRN; what those on " +
			"sale do without PFC, hopscope run incast-4to1 --set stack=rocev2-lossy shows.",
			"Mittal 等，SIGCOMM 2018。在售网卡都没有 IRN；现有网卡不开 PFC 的表现见 hopscope run incast-4to1 --set stack=rocev2-lossy。"},
	}
}

func selectiveRepeat() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{49},
		Says:  Text{"Selective repeat sends a fraction of what go-back-N sends again.", "选择性重传重发的数据只是 go-back-N 的零头。"},
		Setup: lossySetup, Base: "lossy-incast", Rate: "100Gbps", Size: "500KB",
		Set: append([]string{stack("rocev2-lossy"), "switch.ecn={kmin: 400KB, kmax: 1600KB, pmax: 0.2}",
			"nic.adaptive_timeout=true"}, seventeen...),
		Variants: []Variant{
			with("sr", "selective repeat", "选择性重传"), with("gbn", "go-back-N", "go-back-N", "nic.recovery=go-back-n"),
		},
		Checks: []Check{under(resent(), "sr", 0.5, resent(), "gbn"), atLeast(resent(), "sr", 1)},
		Off:    Removal{What: Text{"selective repeat", "取消选择性重传"}, Only: "sr", Set: []string{"nic.recovery=go-back-n"}},
		Range:  Range{seeds, allRates, []string{"500KB", "1MB"}},
	}
}

func controlByDelay() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{47},
		Says: Text{"Control by round trips, as Swift has it, keeps a queue shorter than DCQCN, end to end and without " +
			"any mark.",
			"以 RTT 为信号的端到端控制（如 Swift）不靠任何标记，队列就比 DCQCN 更短。"},
		Setup: controlSetup, Base: "incast-4to1", Set: append([]string{stack("rocev2")}, nine...), Rate: "400Gbps",
		Size: "4MB",
		Variants: []Variant{
			with("dcqcn", "DCQCN", "DCQCN"), with("swift", "Swift", "Swift", "controller=swift", "switch.ecn.priorities=none"),
		},
		Checks: []Check{under(meanQueue(), "swift", 0.8, meanQueue(), "dcqcn"), atMost(marks(), "swift", 0)},
		Off: Removal{What: Text{"Swift", "不用 Swift"}, Only: "swift", Set: []string{"controller=dcqcn",
			"switch.ecn.priorities=3"}},
		Range: Range{seeds, allRates, []string{"4MB", "8MB"}},
		Note: Text{"Kumar et al., SIGCOMM 2020; TIMELY (SIGCOMM 2015) is controller=timely.",
			"Kumar 等，SIGCOMM 2020；TIMELY（SIGCOMM 2015）用 controller=timely。"},
	}
}

func controlByTelemetry() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{48},
		Says: Text{"Control by the switches' telemetry, as HPCC has it, leaves next to no queue.",
			"利用交换机遥测 (INT) 的控制（如 HPCC）几乎不留队列。"},
		Setup: controlSetup, Base: "incast-4to1", Set: append([]string{stack("rocev2")}, nine...), Rate: "400Gbps",
		Size:     "4MB",
		Variants: []Variant{with("dcqcn", "DCQCN", "DCQCN"), with("hpcc", "HPCC", "HPCC", "controller=hpcc")},
		Checks:   []Check{under(meanQueue(), "hpcc", 0.3, meanQueue(), "dcqcn"), atMost(meanQueue(), "hpcc", 64_000)},
		Off:      Removal{What: Text{"HPCC", "不用 HPCC"}, Only: "hpcc", Set: []string{"controller=dcqcn"}},
		Range:    Range{seeds, allRates, []string{"4MB", "8MB"}},
		Note: Text{"Li et al., SIGCOMM 2019. Telemetry is 42 bytes in each packet here and counts.",
			"Li 等，SIGCOMM 2019。这里每个报文带 42 字节遥测，计入线上开销。"},
	}
}

func waitsForCredits() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{50, 51},
		Says: Text{"Without credits a sender waits in front of the network and nothing is dropped: the switch holds a " +
			"few hundred kilobytes, however much is sent.",
			"没有信用，发送端就在网络入口前等待，一个包也不丢：发得再多，交换机里也只有几百 KB。"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), incast, stack("infiniband")}, Rate: "400Gbps",
		Size:     "4MB",
		Variants: []Variant{with("ib", "infiniband", "infiniband")},
		Checks: []Check{
			atMost(peakQueue(), "ib", 700e3), atMost(drops(), "ib", 0), atLeast(count(catalog.CreditWait,
				Text{"waits for credits", "等待信用的次数"}), "ib", 4),
		},
		Off:   Removal{What: Text{"the bound on credits", "取消信用上限"}, Set: []string{"infiniband.buffer=unlimited"}},
		Range: Range{seeds, allRates, []string{"2MB", "4MB", "8MB"}},
		Note: Text{"Four ports of 128 KiB of buffer per lane, 524 KB: more cannot be granted (IBTA 7.9.4).",
			"四个端口、每虚拟通道 128 KiB 缓冲，共 524 KB：再多就授不出信用（IBTA 7.9.4）。"},
	}
}

func lanesIsolate() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{52},
		Says: Text{"Virtual lanes isolate: behind a slow receiver a message in a lane of its own passes, one in the " +
			"same lane waits.",
			"虚拟通道能隔离：接收端慢时，走独立虚拟通道的消息照样通过，同一虚拟通道的则被堵住。"},
		Setup: Text{"One host sends to a host that takes 10 Gb/s, and {size} to another one, in the same lane or " +
			"another, at {rate}.",
			"一台主机同时发往一台只能收 10 Gb/s 的主机和另一台（{size}），同一虚拟通道或不同虚拟通道，链路 {rate}。"},
		Base: "virtual-lanes", Set: []string{"topology={star: {hosts: 4, link: {rate}, length: 5m}}"}, Rate: "400Gbps",
		Size: "1MB",
		Variants: []Variant{
			with("same", "same lane", "同一虚拟通道", lane("0")), with("own", "lane of its own", "独立虚拟通道", lane("1")),
		},
		Checks: []Check{under(slowestOf("aside", aside), "own", 0.4, slowestOf("aside", aside), "same")},
		Off:    Removal{What: Text{"the lane of its own", "取消独立虚拟通道"}, Set: []string{lane("0")}},
		Range:  Range{seeds, allRates, []string{"512KB", "1MB", "2MB"}},
	}
}

func noPatchwork() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{55},
		Says: Text{"InfiniBand needs no patchwork of thresholds: of what somebody had to choose for switches and " +
			"congestion control, RoCEv2 has more than twice as many.",
			"InfiniBand 不需要一层层打补丁：交换机与拥塞控制中需要人来选定的参数，RoCEv2 是它的两倍以上。"},
		When: Text{"RoCEv2 has ECN and DCQCN; with PFC alone it has less than twice as many",
			"RoCEv2 开了 ECN 与 DCQCN；只用 PFC 时不到两倍"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), incast}, Rate: "400Gbps", Size: "64KB",
		Variants: []Variant{named("roce", "rocev2"), named("pfc", "rocev2-pfc-only"), named("ib", "infiniband")},
		Checks:   []Check{over(tuned(), "roce", 2, tuned(), "ib")},
		Outside:  []Check{over(tuned(), "pfc", 2, tuned(), "ib")},
		Off: Removal{What: Text{"PFC, ECN and DCQCN", "去掉 PFC、ECN 与 DCQCN"}, Set: []string{stack("rocev2-none")},
			Only: "roce"},
		Range: Range{seeds, allRates, []string{"64KB", "1MB"}},
		Note: Text{"What a run lists under switch, dcqcn and infiniband is counted; a default is a choice that somebody " +
			"else made. hopscope advise leaves out what follows from others. See deadlock for what InfiniBand's routing has to see to.",
			"统计的是一次运行在 switch、dcqcn、infiniband 下列出的参数；默认值也是别人替你选的。hopscope advise 不计由其他参数推出的参数。InfiniBand 路由要操心的事见死锁一条。"},
	}
}

// lane is a slow receiver's message and one that goes elsewhere, in a class.
func lane(class string) string {
	return "workload=[{flow: {name: to the slow host, from: h0, to: h2, size: 2MB}}, {flow: {name: aside, from: h0, " +
		"to: h3, size: {size}, start: 5us, class: " + class + "}}]"
}

var (
	lossySetup = Text{"Sixteen hosts send {size} each to another through a switch with 2 MB at {rate}.",
		"十六台主机经一台缓冲 2 MB 的交换机向另一台各发送 {size}，链路 {rate}。"}
	seventeen    = []string{star("17"), "workload=[{incast: {to: h16, size: {size}}}]", "switch.buffer=2MB"}
	controlSetup = Text{"Eight hosts send {size} each to another at {rate}.", "八台主机向另一台各发送 {size}，链路 {rate}。"}
	nine         = []string{star("9"), "workload=[{incast: {to: h8, size: {size}}}]",
		"switch.ecn={kmin: 400KB, kmax: 1600KB, pmax: 0.2}"}
)
