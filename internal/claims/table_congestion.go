package claims

import "github.com/hopscope/hopscope/internal/catalog"

// The pause tree: two hosts fill the port to r, and v, which sends elsewhere, shares their leaf and spine.
const (
	treeIncast = "workload=[{incast: {name: incast, from: [a, b], to: r, size: {size}}}, {flow: {name: victim, from: " +
		"v, to: x, size: {size}}}]"
	treeAlone = "workload=[{flow: {name: victim, from: v, to: x, size: {size}}}]"
	treeOne   = "workload=[{incast: {name: incast, from: [a], to: r, size: {size}}}, {flow: {name: victim, from: v, " +
		"to: x, size: {size}}}]"
	treeBuffer = "switch.buffer=4MB"

	storageReads = "workload=[{incast: {from: [h1, h2, h3, h4], to: h0, size: {size}, verb: read}}]"
	oneRead      = "workload=[{incast: {from: [h1], to: h0, size: {size}, verb: read}}]"
)

var treeSetup = Text{"Two hosts behind two leaves send {size} each to one; a third shares leaf and spine with one " +
	"of them and sends elsewhere.",
	"两台主机（位于不同叶交换机）向同一台各发送 {size}；第三台与其中一台共用叶和脊，但发往别处。"}

// congestionClaims are of who reacts, how fast, and how far it spreads.
func congestionClaims() []Claim {
	return []Claim{
		ringMakesNoIncast(),
		readsMakeIncast(),
		allToAllWhenUneven(),
		ecnOverRoundTrips(),
		pfcWithinAHop(),
		creditsBefore(),
		ecnBeforePFC(),
		dcqcnInThreeSteps(),
		throttleAndBrake(),
		pauseGoesUpstream(),
		onePriorityPaused(),
		pauseTree(),
		noPauseNoVictim(),
	}
}

// beside is an incast in class 3 and a flow of one of its senders to somewhere else in a class.
func beside(class string) string {
	return "workload=[{incast: {name: bulk, from: [h0, h1, h2, h3], to: h4, size: 4MB}}, {flow: {name: aside, from: " +
		"h0, to: h5, size: {size}, class: " + class + ", start: 20us}}]"
}

func pausedAt(node string) Text {
	return Text{"first pause of a port of " + node, node + " 端口首次被暂停"}
}

// pausesOf is how often ports of a node were paused.
func pausesOf(node string) *Figure {
	return always(Text{"pauses of ports of " + node, node + " 端口被暂停的次数"}, Count, func(o *Outcome) (n float64) {
		for i := range o.run.Ports {
			if p := &o.run.Ports[i]; p.Node == node {
				n += float64(p.PausesReceived)
			}
		}
		return n
	})
}

var (
	markToCut   = Text{"first mark to first cut", "首个标记到首次降速"}
	xoffToPause = Text{"first XOFF crossing to first port paused", "首次越过 XOFF 到首个端口暂停"}
	aside       = Text{"message that goes elsewhere", "发往别处的消息"}
	victim      = Text{"the victim's message", "受害者的消息"}
)

func ringMakesNoIncast() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{30},
		Says: Text{"An AllGather has several servers send into one port at once.",
			"AllGather 会让多台服务器同时涌向同一个端口。"},
		Setup: Text{"AllGather of {size} over five hosts at one switch, by NCCL's ring, at {rate}.",
			"同一台交换机下五台主机做 AllGather，共 {size}，采用 NCCL 的环算法，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("5"), "workload=[{collective: {op: allgather, size: {size}}}]"},
		Rate: "400Gbps",
		Size: "5MB", Variants: []Variant{named("ring", "rocev2")},
		Checks: []Check{over(peakQueue(), "ring", 0.1, posted(), "ring")},
		Off: Removal{What: Text{"the ring (four hosts send to the fifth directly)", "去掉环，四台直接发给第五台"},
			Set: []string{incast}},
		Range: Range{seeds, allRates, []string{"5MB", "10MB"}},
		Note: Text{"Kindly corrected: in NCCL's ring each server sends to one other and hears from one other, so that " +
			"no port has two senders. The article's picture is right for a gather, reads from storage and an uneven AllToAll.",
			"这里替原文稍作更正：NCCL 的环里，每台服务器只发给一台、只收自一台，没有端口被两个发送方同时占用。文中的图景适用于 gather、存储读取与不均匀的 AllToAll。"},
	}
}

func readsMakeIncast() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{101},
		Says: Text{"Reads from storage do make an incast: the host that asks four servers at once fills its own port.",
			"存储读取才是真正的多打一：一台主机同时向四台存储服务器读数据，挤满的是它自己的端口。"},
		Setup: Text{"One host reads {size} from each of four at once, or takes part in an AllGather by a ring, at {rate}.",
			"一台主机同时从四台各读取 {size}，或参与环算法 AllGather，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("8"), stack("rocev2-pfc-only")}, Rate: "400Gbps", Size: "1MB",
		Variants: []Variant{
			with("reads", "storage READs", "存储 READ", storageReads),
			with("ring", "AllGather by a ring", "环算法 AllGather", "workload=[{collective: {op: allgather, size: 8MB}}]"),
		},
		Checks: []Check{over(peakQueue(), "reads", 0.5, posted(), "reads"), over(peakQueue(), "reads", 10, peakQueue(),
			"ring")},
		Off: Removal{What: Text{"the many at once (it reads from one)", "去掉多打一，只从一台读"}, Only: "reads",
			Set: []string{oneRead}},
		Range: Range{seeds, allRates, []string{"512KB", "1MB", "2MB"}},
	}
}

func allToAllWhenUneven() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{30, 73},
		Says: Text{"AllToAll makes an incast.", "AllToAll 会造成多打一。"},
		When: Text{"some ranks get more than others, as popular experts do", "有的 rank 收得比别人多，如热门专家"},
		Setup: Text{"Eight hosts at one switch send {size} to each other; in the uneven case the first gets as much " +
			"again, at {rate}.",
			"同一台交换机下八台主机两两互发 {size}；不均匀时，第一台再多收一份，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("8"), stack("rocev2-pfc-only")}, Rate: "400Gbps", Size: "1MB",
		Variants: []Variant{
			with("uneven", "uneven", "不均匀", "workload=[{all_to_all: {size: {size}}}, {incast: {to: h0, size: {size}}}]"),
			with("even", "even, in step", "均匀且同步", "workload=[{all_to_all: {size: {size}}}]"),
		},
		Checks:  []Check{atLeast(peakQueue(), "uneven", 200e3)},
		Outside: []Check{atLeast(peakQueue(), "even", 200e3)},
		Off: Removal{What: Text{"the popular rank", "去掉热门 rank"}, Set: []string{"workload=[{all_to_all: {size: " +
			"{size}}}]"}},
		Range: Range{seeds, allRates, []string{"512KB", "1MB", "2MB"}},
		Note: Text{"Where all send equal parts in step, each sender divides its line by as many as each port has " +
			"senders: nothing queues.",
			"大家等量且同步发送时，每个发送方把线速均分给各接收方，恰好等于每个端口的入流：不排队。"},
	}
}

func ecnOverRoundTrips() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{35, 56},
		Says: Text{"ECN reacts over round trips: from the first mark to the first cut takes longer than an idle round trip.",
			"ECN 的反应以往返时延计：从首个标记到首次降速，超过一个空载 RTT。"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), stack("rocev2")}, Rate: "400Gbps", Size: "2MB",
		Variants: []Variant{with("incast", "incast", "多打一", incast), with("idle", "64 B, idle", "空载 64 B", small)},
		Checks:   []Check{over(reaction(catalog.ECNMark, catalog.RateCut, markToCut), "incast", 1, slowest(), "idle")},
		Off:      Removal{What: Text{"marks", "关闭 ECN 标记"}, Set: []string{stack("rocev2-pfc-only")}},
		Range:    Range{seeds, allRates, []string{"2MB", "4MB"}},
		Note: Text{"The CNP waits in no queue here; in a full network it may, see lost-cnps.",
			"这里 CNP 没有排队；网络拥塞时则未必，见场景 lost-cnps。"},
	}
}

func pfcWithinAHop() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{35, 36, 56},
		Says: Text{"PFC reacts within a hop: the neighbour stops within 3 us of the crossing, sooner than ECN's first " +
			"cut after its mark.",
			"PFC 在一跳之内见效：越过 XOFF 后 3 us 内邻居就停发，快于 ECN 从标记到降速。"},
		Setup: fiveHosts, Base: "incast-4to1",
		Set: []string{star("5"), incast, stack("rocev2"), "switch.buffer=4MB",
			"switch.ecn={kmin: 200KB, kmax: 800KB, pmax: 0.2}"},
		Rate: "400Gbps", Size: "2MB", Variants: []Variant{with("incast", "rocev2", "rocev2")},
		Checks: []Check{
			atMost(reaction(catalog.XOFFCross, catalog.PFCPause, xoffToPause), "incast", 3e6),
			under(reaction(catalog.XOFFCross, catalog.PFCPause, xoffToPause), "incast", 0.9, reaction(catalog.ECNMark,
				catalog.RateCut, markToCut), "incast"),
		},
		Off:   Removal{What: Text{"PFC", "关闭 PFC"}, Set: []string{stack("rocev2-ecn-only")}},
		Range: Range{seeds, allRates, []string{"2MB", "4MB"}},
		Note: Text{"IEEE 802.3 31B.3.7 allows 394 quanta of 512 bits, 2.0 us at 100 Gb/s, to obey; the frame and the " +
			"cable come on top.",
			"IEEE 802.3 31B.3.7 容许 394 个 512 比特的 quanta（100 Gb/s 下为 2.0 us）用于响应，另加 PFC 帧与线缆时延。"},
	}
}

func creditsBefore() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{50, 56},
		Says: Text{"Credits act before: InfiniBand's senders wait before an Ethernet switch has marked anything, and " +
			"its queue stays a fraction.",
			"信用先于拥塞起作用：以太网交换机还没打出第一个标记，InfiniBand 的发送端就已在等待，队列也只有前者的几分之一。"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), incast,
			"switch.ecn={kmin: 800KB, kmax: 3200KB, pmax: 0.2}"},
		Rate: "400Gbps", Size: "2MB", Variants: []Variant{named("eth", "rocev2"), named("ib", "infiniband")},
		Checks: []Check{
			under(first(catalog.CreditsOut, firstCredits), "ib", 1, first(catalog.ECNMark, firstMark), "eth"),
			under(peakQueue(), "ib", 0.4, peakQueue(), "eth"),
		},
		Off: Removal{What: Text{"the bound on credits", "取消信用上限"}, Only: "ib",
			Set: []string{"infiniband.buffer=unlimited"}},
		Range: Range{seeds, allRates, []string{"1MB", "2MB", "4MB"}},
	}
}

func ecnBeforePFC() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{31, 35},
		Says:  Text{"ECN acts before PFC.", "ECN 先于 PFC 动作。"},
		When:  Text{"Kmin is less than what XOFF lets queue", "Kmin 低于 XOFF 所容许的队列"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), incast, stack("rocev2"), "switch.buffer=4MB"},
		Rate: "400Gbps",
		Size: "2MB",
		Variants: []Variant{
			with("low", "Kmin 200 KB", "Kmin 200 KB", "switch.ecn={kmin: 200KB, kmax: 800KB, pmax: 0.2}"),
			with("high", "Kmin 2 MB", "Kmin 2 MB", "switch.ecn={kmin: 2MB, kmax: 8MB, pmax: 0.2}"),
		},
		Checks:  []Check{under(first(catalog.ECNMark, firstMark), "low", 1, first(catalog.XOFFCross, firstXOFF), "low")},
		Outside: []Check{under(first(catalog.ECNMark, firstMark), "high", 1, first(catalog.XOFFCross, firstXOFF), "high")},
		Off:     Removal{What: Text{"marks", "关闭 ECN 标记"}, Set: []string{stack("rocev2-pfc-only")}},
		Range:   Range{seeds, allRates, []string{"2MB", "4MB"}},
		Note: Text{"With alpha 1/8 and four ingress ports XOFF lets a third of the pool queue. The shipped scenario " +
			"pfc-before-ecn is the other case: many ports share a small buffer.",
			"alpha 为 1/8、四个入端口时，XOFF 容许约三分之一的缓冲池排队。随附场景 pfc-before-ecn 是另一种情形：许多端口共用小缓冲。"},
	}
}

func dcqcnInThreeSteps() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{32, 33, 34},
		Says: Text{"DCQCN in three steps: the switch marks some packets, the receiver's card answers a few of the marks " +
			"with CNPs, and each CNP cuts a sender's rate at most once.",
			"DCQCN 三步：交换机给部分报文打标记，接收端网卡对其中少数回 CNP，每个 CNP 至多让发送方降速一次。"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), incast, stack("rocev2")}, Rate: "400Gbps",
		Size:     "4MB",
		Variants: []Variant{with("roce", "rocev2", "rocev2")},
		Checks: []Check{
			over(marks(), "roce", 2, cnps(), "roce"), over(cnps(), "roce", 1, cuts(), "roce"), atLeast(cuts(), "roce", 4),
		},
		Off:   Removal{What: Text{"DCQCN", "关闭 DCQCN"}, Set: []string{"dcqcn=none"}},
		Range: Range{seeds, allRates, []string{"4MB", "8MB"}},
		Note: Text{"Zhu et al., SIGCOMM 2015: at most one CNP per flow and interval.",
			"Zhu 等，SIGCOMM 2015：每条流每个间隔至多一个 CNP。"},
	}
}

func throttleAndBrake() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{35},
		Says: Text{"ECN is the throttle for the long run and PFC the emergency brake: with DCQCN ports are paused for " +
			"less than half as long as with PFC alone.",
			"ECN 是长期油门，PFC 是紧急刹车：有 DCQCN 时，端口被暂停的时间不到只用 PFC 时的一半。"},
		Setup: fiveHosts, Base: "incast-4to1",
		Set:  []string{star("5"), incast, "switch.buffer=4MB", "switch.ecn={kmin: 100KB, kmax: 400KB, pmax: 0.2}"},
		Rate: "400Gbps", Size: "8MB", Variants: []Variant{named("both", "rocev2"), named("pfc", "rocev2-pfc-only")},
		Checks: []Check{under(held(), "both", 0.5, held(), "pfc"), atLeast(pauses(), "both", 1)},
		Off:    Removal{What: Text{"DCQCN", "关闭 DCQCN"}, Only: "both", Set: []string{"dcqcn=none"}},
		Range:  Range{seeds, allRates, []string{"8MB", "16MB"}},
	}
}

func pauseGoesUpstream() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{36, 39, 40},
		Says: Text{"PFC pauses the neighbour upstream, hop by hop: the last leaf stops the spine, the spine the first " +
			"leaf, that one the hosts; the receiver downstream is never paused.",
			"PFC 逐跳暂停上游邻居：末端 leaf 先暂停 spine，spine 再暂停首端 leaf，首端 leaf 再暂停主机；下游的接收方从不会被暂停。"},
		Setup: treeSetup, Base: "pause-tree", Set: []string{treeIncast, treeBuffer}, Size: "10MB",
		Variants: []Variant{with("tree", "rocev2-pfc-only", "rocev2-pfc-only")},
		Checks: []Check{
			under(firstAt(catalog.PFCPause, "spine", pausedAt("spine")), "tree", 1, firstAt(catalog.PFCPause, "leaf1",
				pausedAt("leaf1")), "tree"),
			under(firstAt(catalog.PFCPause, "leaf1", pausedAt("leaf1")), "tree", 1, firstAt(catalog.PFCPause, "v",
				pausedAt("v")), "tree"),
			atMost(pausesOf("r"), "tree", 0),
		},
		Off:   Removal{What: Text{"PFC", "关闭 PFC"}, Set: []string{stack("rocev2-none")}},
		Range: Range{Seeds: seeds, Sizes: []string{"5MB", "10MB", "20MB"}},
		Note: Text{"Kindly corrected: the article has a full buffer pause its \"downstream neighbour\". A pause goes " +
			"upstream, to whoever sends into the buffer (IEEE 802.1Qbb).",
			"这里替原文稍作更正：文中说缓冲满后向“下游邻居”发 Pause，应为上游，即正往这个缓冲里发送的一方（IEEE 802.1Qbb）。"},
	}
}

func onePriorityPaused() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{37},
		Says: Text{"PFC pauses one priority and leaves the others of the same link alone.",
			"PFC 只暂停一个优先级，同一链路上的其他优先级不受影响。"},
		Setup: Text{"Four hosts fill the port to a fifth in class 3; one of them sends {size} to a sixth, in class 3 or " +
			"in class 1, at {rate}.",
			"四台主机以优先级 3 挤满通往第五台的端口；其中一台同时向第六台发送 {size}，用优先级 3 或优先级 1，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("6"), stack("rocev2-pfc-only"), "switch.buffer=4MB"}, Rate: "400Gbps",
		Size: "1MB",
		Variants: []Variant{
			with("same", "same class", "同一优先级", beside("3")), with("own", "class of its own", "独立优先级", beside("1")),
		},
		Checks: []Check{
			under(slowestOf("aside", aside), "own", 0.6, slowestOf("aside", aside), "same"), atLeast(pauses(), "own", 1),
		},
		Off:   Removal{What: Text{"the class of its own", "取消独立优先级"}, Set: []string{beside("3")}},
		Range: Range{seeds, allRates, []string{"512KB", "1MB"}},
	}
}

func pauseTree() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{41, 42},
		Says: Text{"Pauses make a tree with a root, branches and victims: one full port holds a message that never goes " +
			"near it, which takes more than half again as long.",
			"暂停会形成拥塞树，有根、有枝、有受害者：一个端口堵塞，从不经过它的消息也被拖住，耗时多出一半以上。"},
		Setup: treeSetup, Base: "pause-tree", Set: []string{treeBuffer}, Size: "10MB",
		Variants: []Variant{
			with("tree", "beside the incast", "与多打一并行", treeIncast), with("alone", "alone", "单独运行", treeAlone),
		},
		Checks: []Check{
			atLeast(victims(), "tree", 1), over(slowestOf("victim", victim), "tree", 1.5, slowestOf("victim", victim), "alone"),
		},
		Off:   Removal{What: Text{"the root (one host sends to it)", "去掉树根，只留一个发送方"}, Only: "tree", Set: []string{treeOne}},
		Range: Range{Seeds: seeds, Sizes: []string{"5MB", "10MB", "20MB"}},
	}
}

func noPauseNoVictim() Claim {
	return Claim{
		Chapter: Congestion, Article: []int{42, 46},
		Says: Text{"Without pauses there are no victims: IRN's windows leave the same message alone.",
			"没有暂停就没有受害者：换成 IRN 的窗口，同一条消息基本不受牵连。"},
		Setup: treeSetup, Base: "pause-tree", Set: []string{treeIncast, treeBuffer}, Size: "10MB",
		Variants: []Variant{named("pfc", "rocev2-pfc-only"), named("irn", "rocev2-irn")},
		Checks: []Check{
			under(slowestOf("victim", victim), "irn", 0.7, slowestOf("victim", victim), "pfc"), atMost(pauses(), "irn", 0),
		},
		Off:   Removal{What: Text{"IRN (PFC stays)", "不用 IRN，仍用 PFC"}, Only: "irn", Set: []string{stack("rocev2-pfc-only")}},
		Range: Range{Seeds: seeds, Sizes: []string{"5MB", "10MB", "20MB"}},
	}
}
