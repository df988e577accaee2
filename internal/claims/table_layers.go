package claims

import "github.com/hopscope/hopscope/internal/catalog"

// layersClaims are of API, transport and fabric.
func layersClaims() []Claim {
	return []Claim{
		rdmaIsNotInfiniBand(),
		rdmaOverTCP(),
		streamWithoutBounds(),
		whatServicesPromise(),
		keysGuardMemory(),
		registrationCosts(),
		setUpOnce(),
		roceIsRouted(),
		lossUnlessStopped(),
		tcpIsHostPath(),
		fabricIsFlowControl(),
	}
}

// service is a variant that sends over a service.
func service(name string) Variant {
	return with(name, name, name, "workload=[{flow: {from: h0, to: h1, verb: send, size: 2KB, count: 300, service: "+
		""+name+"}}]")
}

func rdmaIsNotInfiniBand() Claim {
	return Claim{
		Chapter: Layers, Article: []int{20, 23, 26},
		Says: Text{"RDMA is not InfiniBand: the same verbs, work request by work request, run over InfiniBand, over " +
			"UDP (RoCEv2) and over TCP (iWARP).",
			"RDMA 不等于 InfiniBand：同样的 verbs、同样的工作请求，既能跑在 InfiniBand 上，也能跑在 UDP（RoCEv2）和 TCP（iWARP）上。"},
		Setup: Text{"One host sends 16 messages of {size} to another, at {rate}.", "一台主机向另一台发送 16 条 {size} 的消息，链路 {rate}。"},
		Base:  "incast-4to1", Set: []string{star("2"), "workload=[{flow: {from: h0, to: h1, size: {size}, count: 16}}]"},
		Rate: "400Gbps", Size: "64KB",
		Variants: []Variant{named("ib", "infiniband"), named("roce", "rocev2"), named("iwarp", "iwarp")},
		Checks: []Check{
			over(posts(), "roce", 1, posts(), "ib"), over(posts(), "iwarp", 1, posts(), "ib"), atLeast(posts(), "ib", 16),
			over(completed(), "roce", 1, completed(), "ib"), over(completed(), "iwarp", 1, completed(), "ib"),
			under(slowest(), "roce", 1.5, slowest(), "ib"), under(slowest(), "iwarp", 2, slowest(), "ib"),
		},
		Off: Removal{What: Text{"verbs (sockets instead)", "不用 verbs，改用 socket"}, Only: "roce",
			Set: []string{stack("tcp")}},
		Range: Range{seeds, allRates, []string{"4KB", "64KB", "1MB"}},
		Note: Text{"What TCP in the card takes longer counts most where messages are small and links fast: 1.7 times with " +
			"4 KB at 800G.",
			"网卡里的 TCP 多花的时间在消息小、链路快时最明显：800G、4 KB 时为 1.7 倍。"},
	}
}

// rdmaOverTCP has the two ends behind routers, whose buffers are small and have no PFC.
func rdmaOverTCP() Claim {
	return Claim{
		Chapter: Layers, Article: []int{22},
		Says: Text{"iWARP is RDMA over TCP: the card runs it, so that nothing is copied and the kernel is not called, and " +
			"it crosses routers that drop: TCP sends again what they lose, and nobody needs PFC.",
			"iWARP 是 TCP 之上的 RDMA：TCP 由网卡运行，不拷贝、不调用内核；它能穿过会丢包的路由器：丢了由 TCP 重传，不需要 PFC。"},
		Setup: Text{"Four hosts with a Xeon and Linux send {size} each at once to a fifth, over leaf and spine at {rate}, " +
			"with switches of 1 MB.",
			"四台 Xeon + Linux 主机经叶与脊同时向第五台各发送 {size}，链路 {rate}，交换机缓冲 1 MB。"},
		Base: "incast-4to1", Rate: "100Gbps", Size: "4MB",
		Set: []string{"topology={leaf_spine: {leaves: 5, spines: 1, hosts_per_leaf: 1, host_link: {rate}, uplink: {rate}}}",
			incast, linux, "switch.buffer=1MB"},
		Variants: []Variant{named("iwarp", "iwarp"), named("tcp", "tcp"), named("pfc", "rocev2-pfc-only")},
		Checks: []Check{
			atLeast(posts(), "iwarp", 4), atMost(copied(), "iwarp", 0), atMost(syscalls(), "iwarp", 0),
			atLeast(copied(), "tcp", 1), atLeast(drops(), "iwarp", 1), atLeast(resent(), "iwarp", 1),
			atLeast(completed(), "iwarp", 4), atMost(pauses(), "iwarp", 0), atLeast(pauses(), "pfc", 1),
		},
		Off: Removal{What: Text{"the offload (the kernel runs TCP, for sockets)", "去掉卸载，改由内核为 socket 运行 TCP"}, Only: "iwarp",
			Set: []string{stack("tcp")}},
		Range: Range{seeds, allRates, []string{"2MB", "4MB"}},
		Note: Text{"RFC 5040, 5041 and 5044. What loss costs it is TCP's: a timeout of a card is 10 ms here, which is assumed.",
			"RFC 5040、5041 与 5044。丢包的代价就是 TCP 的代价：此处网卡的超时取 10 ms，为假设值。"},
	}
}

func streamWithoutBounds() Claim {
	return Claim{
		Chapter: Layers, Article: []int{12, 106},
		Says: Text{"A socket is a byte stream without bounds between messages; RDMA moves each message as such.",
			"Socket 是没有消息边界的字节流；RDMA 则按消息搬运。"},
		Setup: Text{"One host sends 400 messages of {size} to another, at {rate}.", "一台主机向另一台发送 400 条 {size} 的消息，链路 {rate}。"},
		Base:  "incast-4to1", Set: []string{star("2"), "workload=[{flow: {from: h0, to: h1, size: {size}, count: 400}}]"},
		Rate: "400Gbps", Size: "512B", Variants: []Variant{named("tcp", "tcp"), named("rdma", "rocev2")},
		Checks: []Check{
			under(dataFrames(), "tcp", 0.5, completed(), "tcp"),
			over(dataFrames(), "rdma", 1, completed(), "rdma"),
		},
		Off:   Removal{What: Text{"the stream (verbs instead)", "不用字节流，改用 verbs"}, Set: []string{stack("rocev2")}},
		Range: Range{seeds, allRates, []string{"256B", "512B", "1KB"}},
	}
}

func whatServicesPromise() Claim {
	return Claim{
		Chapter: Layers, Article: []int{19},
		Says: Text{"RC delivers what a link loses; UC and UD do not, and nobody tells their sender.",
			"链路丢包时，RC 会补上；UC 与 UD 不会，发送方也无从得知。"},
		Setup: Text{"One host sends 300 messages of 2 KB over each of RC, UC and UD, on a cable that loses one frame in " +
			"fifty, at {rate}.",
			"一台主机分别用 RC、UC、UD 发送 300 条 2 KB 消息，线缆丢包率 2%，链路 {rate}。"},
		Base: "incast-4to1", Rate: "100Gbps", Set: []string{cable("2%"), "nic.timeout=6"},
		Variants: []Variant{service("rc"), service("uc"), service("ud")},
		Checks: []Check{
			atLeast(lost(), "uc", 1), atLeast(lost(), "ud", 1),
			atLeast(completed(), "rc", 300), atMost(lost(), "rc", 0), atMost(failed(), "rc", 0), atLeast(resent(), "rc", 1),
		},
		Off:   Removal{What: Text{"the loss", "去掉丢包"}, Set: []string{cable("0")}},
		Range: Range{Seeds: seeds, Rates: allRates},
		Note:  Text{"IBTA volume 1, 9.7: RC acknowledges, UC and UD do not.", "IBTA 卷 1 第 9.7 节：RC 有确认，UC 与 UD 没有。"},
	}
}

func keysGuardMemory() Claim {
	return Claim{
		Chapter: Layers, Article: []int{17},
		Says: Text{"Keys guard memory: a request with a key that was never issued writes nothing and ends in REM_ACCESS_ERR.",
			"密钥保护远端内存：rkey 不对的请求一个字节也写不进去，以 REM_ACCESS_ERR 结束。"},
		Setup: Text{"One host writes {size} to another with the right key, and with a wrong one, at {rate}.",
			"一台主机向另一台写入 {size}，分别使用正确与错误的 rkey，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("2")}, Rate: "400Gbps", Size: "1MB",
		Variants: []Variant{
			with("right", "right key", "正确的 rkey", single),
			with("wrong", "wrong key", "错误的 rkey", "workload=[{flow: {from: h0, to: h1, size: {size}, rkey: wrong}}]"),
		},
		Checks: []Check{
			atLeast(ended("REM_ACCESS_ERR"), "wrong", 1), atLeast(completed(), "right", 1), atMost(completed(), "wrong", 0),
		},
		Off:   Removal{What: Text{"the wrong key", "换回正确的 rkey"}, Set: []string{single}},
		Range: Range{seeds, allRates, []string{"64KB", "1MB"}},
		Note: Text{"IBTA volume 1, 9.7.5.2: the responder's NAK 0x62, remote access error.",
			"IBTA 卷 1 第 9.7.5.2 节：应答方以 NAK 0x62（远端访问错误）拒绝。"},
	}
}

func registrationCosts() Claim {
	return Claim{
		Chapter: Layers, Article: []int{13},
		Says: Text{"Registering memory pins its pages and costs as much as sending it, or more: applications do it " +
			"ahead of time.",
			"注册内存要锁页，开销不亚于把数据发出去，所以应用都提前注册。"},
		Setup: Text{"One host writes 8 messages of {size}, at {rate}; registration costs 10 us and 200 ns per page of 4 KB.",
			"一台主机写 8 条 {size} 的消息，链路 {rate}；注册一次 10 us，每个 4 KB 页 200 ns。"},
		Base: "incast-4to1", Rate: "400Gbps", Size: "256KB",
		Set: []string{star("2"), "workload=[{flow: {from: h0, to: h1, size: {size}, count: 8, depth: 1}}]",
			"host.registration.base=10us",
			"host.registration.per_page=200ns"},
		Variants: []Variant{
			with("ahead", "registered ahead", "提前注册", "host.register=ahead"),
			with("each", "registered per message", "每条消息注册", "host.register=per-message"),
		},
		Checks: []Check{over(median(), "each", 1.8, median(), "ahead")},
		Off: Removal{What: Text{"what registration costs", "注册不计开销"}, Set: []string{"host.registration.base=0s",
			"host.registration.per_page=0s"}},
		Range: Range{seeds, allRates, []string{"16KB", "64KB", "256KB"}},
		Note: Text{"The costs are of the order that Frey and Alonso (ICDCS 2009) measured; they are set, and 0 by default.",
			"开销的量级见 Frey 与 Alonso（ICDCS 2009）；数值由场景给定，默认为 0。"},
	}
}

func setUpOnce() Claim {
	return Claim{
		Chapter: Layers, Article: []int{14},
		Says: Text{"Setting up a queue pair costs once; messages after the first do not pay for it.",
			"建立 QP 的代价只付一次，之后的消息不再为它付费。"},
		Setup: Text{"One host sends 8 messages of {size} one after the other, at {rate}; setting up takes 1 ms or nothing.",
			"一台主机依次发送 8 条 {size} 的消息，链路 {rate}；建链耗时 1 ms 或为零。"},
		Base: "incast-4to1", Rate: "400Gbps", Size: "64KB",
		Set: []string{star("2"), "workload=[{flow: {from: h0, to: h1, size: {size}, count: 8, depth: 1}}]"},
		Variants: []Variant{
			with("up", "QP there", "QP 已建好"), with("first", "QP set up first", "先建 QP", "host.connect=1ms"),
		},
		Checks: []Check{
			over(slowest(), "first", 10, slowest(), "up"), under(median(), "first", 1.1, median(), "up"),
		},
		Off:   Removal{What: Text{"the set-up", "去掉建链"}, Set: []string{"host.connect=0s"}},
		Range: Range{seeds, allRates, []string{"4KB", "64KB", "256KB"}},
	}
}

func roceIsRouted() Claim {
	return Claim{
		Chapter: Layers, Article: []int{21},
		Says: Text{"RoCEv2 is routed: its packets cross routers hop by hop as IP does, each of which takes one off the TTL.",
			"RoCEv2 可以三层路由：报文像 IP 一样逐跳转发，每过一台路由器 TTL 减一。"},
		Setup: Text{"One host writes {size} to another over leaf, spine and leaf at {rate}, with TTL 64 and with TTL 2.",
			"一台主机经叶、脊、叶向另一台写入 {size}，链路 {rate}，TTL 分别为 64 与 2。"},
		Base: "incast-4to1", Rate: "100Gbps", Size: "64KB",
		Set: []string{"topology={leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, host_link: {rate}, uplink: {rate}}}",
			single,
			"nic.timeout=4", "nic.retry=1"},
		Variants: []Variant{with("full", "TTL 64", "TTL 64"), with("short", "TTL 2", "TTL 2", "nic.ttl=2")},
		Checks: []Check{
			atLeast(drops(), "short", 1), atMost(completed(), "short", 0), atLeast(completed(), "full", 1),
		},
		Off:   Removal{What: Text{"the routers (one switch)", "去掉路由器，只有一台交换机"}, Set: []string{star("2")}},
		Range: Range{seeds, allRates, []string{"64KB", "1MB"}},
		Note: Text{"IBTA annex A17: UDP port 4791 over IP. RoCEv1, which no router forwards, is not modelled.",
			"IBTA 附录 A17：IP 之上的 UDP 4791 端口。RoCEv1 不能跨路由器，未建模。"},
	}
}

func lossUnlessStopped() Claim {
	return Claim{
		Chapter: Layers, Article: []int{24, 25, 38},
		Says: Text{"Ethernet drops when a buffer is full unless PFC stops the sender in time; InfiniBand never sends " +
			"what has no room.",
			"以太网缓冲满了就丢，除非 PFC 及时叫停发送方；InfiniBand 从不发送没有空间接收的数据。"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), incast, "switch.buffer=4MB",
			"nic.adaptive_timeout=true"},
		Rate: "400Gbps", Size: "2MB",
		Variants: []Variant{named("none", "rocev2-none"), named("pfc", "rocev2-pfc-only"), named("ib", "infiniband")},
		Checks:   []Check{atLeast(drops(), "none", 1), atMost(drops(), "pfc", 0), atMost(drops(), "ib", 0)},
		Off:      Removal{What: Text{"PFC", "关闭 PFC"}, Only: "pfc", Set: []string{stack("rocev2-none")}},
		Range:    Range{seeds, allRates, []string{"2MB", "4MB"}},
	}
}

func tcpIsHostPath() Claim {
	return Claim{
		Chapter: Layers, Article: []int{18, 27, 61},
		Says: Text{"TCP against RDMA is about the path through the host: over the same wire one stream has a fraction " +
			"of RDMA's rate, and its receiver's core is what is full.",
			"TCP 与 RDMA 之争在于主机路径：同一根线上，单条 TCP 流只有 RDMA 的一小部分速率，而跑满的是接收端的 CPU 核。"},
		Setup: Text{"One host with a Xeon and Linux sends {size} to another, at {rate}.",
			"一台 Xeon + Linux 主机向另一台发送 {size}，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("2"), single, linux}, Rate: "400Gbps", Size: "32MB",
		Variants: []Variant{named("tcp", "tcp"), named("rdma", "rocev2-pfc-only")},
		Checks:   []Check{under(goodput(), "tcp", 0.6, goodput(), "rdma"), atLeast(busiest("h1"), "tcp", 0.8)},
		Off:      Removal{What: Text{"what the kernel and its copies cost", "去掉内核与拷贝的开销"}, Set: []string{freeHost}},
		Range:    Range{seeds, allRates, []string{"16MB", "32MB"}},
	}
}

func fabricIsFlowControl() Claim {
	return Claim{
		Chapter: Layers, Article: []int{28, 55, 87},
		Says: Text{"Ethernet against InfiniBand is about flow control: where PFC pauses a port, credits hold it, and " +
			"messages end at the same time.",
			"以太网与 InfiniBand 之争在于流控：PFC 靠暂停端口，InfiniBand 靠信用让端口等待，而消息完成的时间相差无几。"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), incast, "switch.buffer=4MB"}, Rate: "400Gbps",
		Size:     "2MB",
		Variants: []Variant{named("pfc", "rocev2-pfc-only"), named("ib", "infiniband")},
		Checks: []Check{
			atLeast(count(catalog.PFCPause, Text{"ports paused", "端口被暂停的次数"}), "pfc", 1), atLeast(count(catalog.CreditWait,
				Text{"waits for credits", "等待信用的次数"}), "ib", 1),
			under(slowest(), "pfc", 1.1, slowest(), "ib"), under(slowest(), "ib", 1.1, slowest(), "pfc"),
		},
		Off:   Removal{What: Text{"flow control on Ethernet", "关闭以太网的流控"}, Only: "pfc", Set: []string{stack("rocev2-none")}},
		Range: Range{seeds, allRates, []string{"2MB", "4MB"}},
	}
}
