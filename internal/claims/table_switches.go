package claims

import "github.com/hopscope/hopscope/internal/catalog"

// switchesClaims are of the article's opening: a full port, and who does what about it.
func switchesClaims() []Claim {
	return []Claim{
		queueMustGrow(),
		moreSendersSooner(),
		orderOfReaction(),
		cardSendsAgain(),
		switchesReroute(),
		choicePerPacket(),
		rateIsNotTheQuestion(),
	}
}

// cable is a network of two hosts and a switch whose cable loses frames.
func cable(loss string) string {
	return "topology={star: {hosts: 2, link: {rate}, length: 5m}, links: [{between: [h0, sw], loss: " + loss + "}]}"
}

// two puts two hosts at a switch by links of a rate.
func two(rate string) string { return "topology={star: {hosts: 2, link: " + rate + ", length: 5m}}" }

// Names of first times.
var (
	firstMark    = Text{"first ECN mark", "首个 ECN 标记"}
	firstCNP     = Text{"first CNP", "首个 CNP"}
	firstCut     = Text{"first rate cut", "首次降速"}
	firstPause   = Text{"first port paused", "首次有端口被暂停"}
	firstXOFF    = Text{"first XOFF crossing", "首次越过 XOFF"}
	firstCredits = Text{"first port out of credits", "首次信用耗尽"}
)

func queueMustGrow() Claim {
	return Claim{
		Chapter: Switches, Article: []int{2, 29},
		Says: Text{"When four senders at line rate share one port, three quarters of what they send must wait, on any " +
			"fabric: on Ethernet in the switch, on InfiniBand in front of it.",
			"四个线速发送方挤向同一个端口时，四分之三的数据必须等待，任何网络都不例外：以太网上排在交换机里，InfiniBand 上停在发送端。"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), incast}, Rate: "400Gbps", Size: "1MB",
		Variants: []Variant{named("pfc", "rocev2-pfc-only"), named("ib", "infiniband")},
		Checks: []Check{
			over(peakQueue(), "pfc", 0.6, posted(), "pfc"),
			over(held(), "ib", 2, slowest(), "ib"),
			under(peakQueue(), "ib", 0.2, posted(), "ib"),
		},
		Off:   Removal{What: Text{"the fan-in (one host sends)", "去掉多打一，只留一个发送方"}, Set: []string{alone}},
		Range: Range{seeds, allRates, []string{"1MB", "2MB"}},
		Note: Text{"Conservation: (4-1)/4 of the bytes that are underway have to be somewhere.",
			"守恒关系：在途数据的 (4-1)/4 总要有地方放。"},
	}
}

func moreSendersSooner() Claim {
	return Claim{
		Chapter: Switches, Article: []int{2},
		Says: Text{"The more servers send one way, the sooner the switch's egress queue reaches the marking threshold: " +
			"with 64 of them within 3 us of the first post.",
			"同时发往一处的服务器越多，交换机出口队列越快到达 ECN 阈值：64 台时，从首次提交起 3 us 之内即到。"},
		Setup: Text{"4 or 64 hosts send {size} each at once to another, at {rate}.",
			"4 台或 64 台主机同时向另一台各发送 {size}，链路 {rate}。"},
		Base: "incast-4to1", Rate: "400Gbps", Size: "512KB",
		Set: []string{star("65"), "switch.ecn={kmin: 200KB, kmax: 400KB, pmax: 1}"},
		Variants: []Variant{
			with("few", "4 senders", "4 个发送方", "workload=[{incast: {from: [h0, h1, h2, h3], to: h64, size: {size}}}]"),
			with("many", "64 senders", "64 个发送方", "workload=[{incast: {to: h64, size: {size}}}]"),
		},
		Checks: []Check{
			under(first(catalog.ECNMark, firstMark), "many", 0.5, first(catalog.ECNMark, firstMark), "few"),
			atMost(first(catalog.ECNMark, firstMark), "many", 3e6),
		},
		Off: Removal{What: Text{"the many (both have 4 senders)", "去掉“多”，两者都只有 4 个发送方"}, Only: "many",
			Set: []string{"workload=[{incast: {from: [h0, h1, h2, h3], to: h64, size: {size}}}]"}},
		Range: Range{seeds, allRates, []string{"256KB", "512KB"}},
		Note: Text{"A queue grows by (n-1) times the link's rate. The article's \"hundreds\" in one direction are a " +
			"gather or storage, not a ring; see the claims on AllGather and AllToAll.",
			"队列以链路速率的 (n-1) 倍增长。文中“数百个 GPU 同时涌向一个方向”应理解为 gather 或存储流量，而不是环，参见 AllGather 与 AllToAll 的论断。"},
	}
}

func orderOfReaction() Claim {
	return Claim{
		Chapter: Switches, Article: []int{3, 4, 5, 6},
		Says: Text{"On RoCEv2 the switch detects first (ECN mark), the receiver's card feeds back (CNP), the sender's " +
			"card slows, and where that is too late the switch pauses its neighbour.",
			"RoCEv2 上，最先发现拥塞的是交换机（ECN 标记），反馈的是接收端网卡（CNP），降速的是发送端网卡；来不及时，由交换机用 PFC 暂停上游邻居。"},
		Setup: fiveHosts, Base: "incast-4to1",
		Set:  []string{star("5"), incast, "switch.buffer=4MB", "switch.ecn={kmin: 200KB, kmax: 800KB, pmax: 0.2}"},
		Rate: "400Gbps",
		Size: "2MB", Variants: []Variant{named("roce", "rocev2")},
		Checks: []Check{
			under(first(catalog.ECNMark, firstMark), "roce", 1, first(catalog.CNPSent, firstCNP), "roce"),
			under(first(catalog.CNPSent, firstCNP), "roce", 1, first(catalog.RateCut, firstCut), "roce"),
			under(first(catalog.ECNMark, firstMark), "roce", 1, first(catalog.PFCPause, firstPause), "roce"),
		},
		Off:   Removal{What: Text{"ECN and DCQCN", "关闭 ECN 与 DCQCN"}, Set: []string{stack("rocev2-pfc-only")}},
		Range: Range{seeds, allRates, []string{"1MB", "2MB", "4MB"}},
		Note: Text{"Which comes first is a matter of thresholds: here Kmin is below what XOFF lets queue. See the claim " +
			"on thresholds.",
			"先后顺序取决于阈值：此处 Kmin 低于 XOFF 所容许的队列。参见关于阈值的论断。"},
	}
}

func cardSendsAgain() Claim {
	return Claim{
		Chapter: Switches, Article: []int{7, 9, 69},
		Says: Text{"What RDMA loses its card sends again, in hardware: no core does anything for it. TCP's cores do.",
			"RDMA 丢的包由网卡硬件重传，不占 CPU；TCP 的重传则由内核、也就是 CPU 来做。"},
		Setup: Text{"One host sends {size} to another over a cable that loses one frame in a hundred, or none, at {rate}.",
			"一台主机向另一台发送 {size}，线缆每百帧丢一帧或不丢，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{single, linux}, Rate: "100Gbps", Size: "4MB",
		Variants: []Variant{
			with("clean", "rocev2-lossy, no loss", "rocev2-lossy，无丢包", stack("rocev2-lossy"), cable("0")),
			with("lossy", "rocev2-lossy, 1 % lost", "rocev2-lossy，丢包 1%", stack("rocev2-lossy"), cable("1%")),
		},
		Checks: []Check{
			atLeast(resent(), "lossy", 1),
			atMost(allCores(), "lossy", 1e6), under(allCores(), "lossy", 1, allCores(), "clean"),
		},
		Off: Removal{What: Text{"the card's transport (TCP in the kernel)", "不用网卡传输，改用内核 TCP"},
			Set: []string{stack("tcp")}},
		Range: Range{seeds, allRates, []string{"4MB", "8MB"}},
	}
}

func switchesReroute() Claim {
	return Claim{
		Chapter: Switches, Article: []int{8, 53},
		Says: Text{"When a link fails, Ethernet's switches take another path for its flows themselves; on InfiniBand " +
			"the subnet manager sweeps and writes new tables.",
			"链路故障时，以太网由交换机自己把流切到其他路径；InfiniBand 则由子网管理器重新扫描并下发转发表。"},
		Setup: Text{"Four hosts send {size} each over leaf and spine at {rate}, and a link between them fails after 20 us.",
			"四台主机经叶脊网络各发送 {size}，链路 {rate}，20 us 时叶脊间一条链路故障。"},
		Base: "sm-sweep", Rate: "200Gbps", Size: "10MB",
		Set: []string{"topology={leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: {rate}}, links: [{between: " +
			"[leaf1, spine1], down: [{at: 20us}]}]}",
			"workload=[{flows: {size: {size}, qps: 4, list: [{from: h0, to: h2}, {from: h1, to: h3}, {from: h2, to: h0}, " +
				"{from: h3, to: h1}]}}]"},
		Variants: []Variant{named("eth", "rocev2"), named("ib", "infiniband")},
		Checks: []Check{
			atLeast(count(catalog.ECMPChange, Text{"flows that switches moved", "由交换机切换的流"}), "eth", 1),
			atLeast(count(catalog.LFTChange, Text{"flows that new tables moved", "随新转发表切换的流"}), "ib", 1),
			atMost(failed(), "eth", 0), atMost(failed(), "ib", 0),
		},
		Off: Removal{What: Text{"the second spine (there is no other path)", "去掉第二台脊交换机，没有别的路径"}, Set: []string{
			"topology={leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, link: {rate}}, links: [{between: [leaf1, " +
				"spine1], down: [{at: 20us}]}]}"}},
		Range: Range{seeds, []string{"100Gbps", "400Gbps", "800Gbps"}, []string{"10MB", "20MB"}},
		Note: Text{"How long it takes is set (failover, and the subnet manager's sweep); the order of acts is what is " +
			"shown. The sender's card sends again what was lost, after its timer.",
			"所需时间来自配置（failover 与子网管理器的扫描），这里只验证由谁动作。丢失的数据由发送端网卡在超时后重传。"},
	}
}

func choicePerPacket() Claim {
	return Claim{
		Chapter: Switches, Article: []int{8},
		Says: Text{"Choosing the path for each packet fills equal paths better than hashing each flow onto one.",
			"逐包选路比按流哈希更能用满等价路径。"},
		Setup: Text{"32 hosts on 8 leaves and 4 spines send {size} to one other each, at {rate}.",
			"8 叶 4 脊共 32 台主机，两两配对各发送 {size}，链路 {rate}。"},
		Base: "leaf-spine-permutation", Rate: "100Gbps", Size: "200KB",
		Set: []string{"topology={leaf_spine: {leaves: 8, spines: 4, hosts_per_leaf: 4, host_link: {rate}, uplink: " +
			"{rate: {rate}, length: 30m}}}",
			"switch.buffer=32MB", "workload=[{permutation: {size: {size}}}]", stack("rocev2-pfc-only")},
		Variants: []Variant{with("ecmp", "ECMP", "ECMP 哈希"), with("spray", "spraying", "逐包喷洒", "routing=spray")},
		Checks:   []Check{under(slowest(), "spray", 0.8, slowest(), "ecmp")},
		Off:      Removal{What: Text{"the choice per packet", "取消逐包选路"}, Set: []string{"routing=ecmp"}},
		Range:    Range{seeds, allRates, []string{"200KB", "400KB"}},
	}
}

func rateIsNotTheQuestion() Claim {
	return Claim{
		Chapter: Switches, Article: []int{11, 27},
		Says: Text{"400G or 800G is not the question: one TCP stream is no faster on the faster wire, while RDMA is " +
			"twice as fast.",
			"问题不在 400G 还是 800G：换成更快的线，单条 TCP 流几乎不变快，RDMA 却快一倍。"},
		Setup: Text{"One host with a Xeon and Linux sends {size} to another, at 400 and at 800 Gb/s.",
			"一台 Xeon + Linux 主机向另一台发送 {size}，链路分别为 400 与 800 Gb/s。"},
		Base: "incast-4to1", Set: []string{single, linux}, Size: "32MB",
		Variants: []Variant{
			with("tcp4", "tcp, 400G", "tcp，400G", stack("tcp"), two("400Gbps")), with("tcp8", "tcp, 800G", "tcp，800G",
				stack("tcp"), two("800Gbps")),
			with("rdma4", "rocev2, 400G", "rocev2，400G", two("400Gbps")), with("rdma8", "rocev2, 800G", "rocev2，800G",
				two("800Gbps")),
		},
		Checks: []Check{
			under(goodput(), "tcp8", 1.15, goodput(), "tcp4"),
			over(goodput(), "rdma8", 1.7, goodput(), "rdma4"),
		},
		Off:   Removal{What: Text{"what the kernel and its copies cost", "去掉内核与拷贝的开销"}, Set: []string{freeHost}},
		Range: Range{Seeds: seeds, Sizes: []string{"16MB", "32MB", "64MB"}},
		Note: Text{"Cai et al., Understanding Host Network Stack Overheads, SIGCOMM 2021: about 42 Gb/s per core with " +
			"all offloads.",
			"Cai 等，SIGCOMM 2021：全部卸载打开时每核约 42 Gb/s。"},
	}
}
