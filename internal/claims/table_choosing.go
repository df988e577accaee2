package claims

import "github.com/hopscope/hopscope/internal/record"

// Two planes: bulk data, and calls over TCP beside it.
const rpcEntry = "{rpc: {name: control, between: [h5, h4], size: 2KB, every: 50us, count: 40, stack: tcp, class: "

func planes(class string) string {
	return "workload=[{incast: {name: bulk, from: [h0, h1, h2, h3], to: h4, size: {size}, count: 4, class: 3}}, " +
		"" + rpcEntry + class + "}}]"
}

// calls are the same without bulk data.
const calls = "workload=[" + rpcEntry + "0}}]"

// choosingClaims are of two planes and which stack for which.
func choosingClaims() []Claim {
	return []Claim{
		tcpForControl(),
		twoNetworksTwoPlanes(),
		mostPredictable(),
		thresholdsAreTuned(),
	}
}

const (
	twoNetworks = "topology={hosts: [a, b, c], switches: [ib, eth], links: [{between: [a, ib], rate: {rate}}, " +
		"{between: [b, ib], rate: {rate}}, {between: [c, ib], rate: {rate}}, {between: [a, eth], rate: 25Gbps}, " +
		"{between: [b, eth], rate: 25Gbps}, {between: [c, eth], rate: 25Gbps}]}"
	sharedNetwork = "topology={hosts: [a, b, c], switches: [sw], links: [{between: [a, sw], rate: {rate}}, {between: " +
		"[b, sw], rate: {rate}}, {between: [c, sw], rate: {rate}}]}"
	sideCalls = "{rpc: {between: [\"a:2\", \"c:2\"], size: 2KB, every: 20us, count: 20, stack: tcp}}"
)

// many is a variant over a stack with five seeds.
func many(key, of string) Variant {
	v := named(key, of)
	v.Seeds = 5
	return v
}

// operatingClaims are of what one sees in production.
func operatingClaims() []Claim {
	return []Claim{
		xmitWaitGrows(),
		threeCountersTogether(),
	}
}

// refusals is how often a responder had no receive for a SEND.
func refusals() *Figure {
	return ofQPs("", Text{"RNR NAKs", "RNR NAK 数"}, func(q *record.QP) int64 { return q.NAKsSent })
}

func tcpForControl() Claim {
	return Claim{
		Chapter: Choosing, Article: []int{84, 95, 96, 97},
		Says: Text{"TCP stays for the control plane: beside a full RDMA data plane its calls keep their time as long as " +
			"they have a class of their own.",
			"控制面继续用 TCP：旁边的 RDMA 数据面跑满时，只要 TCP 有独立的优先级，调用时延就不受影响。"},
		Setup: Text{"Four hosts fill the port to a fifth over RoCEv2 at {rate}; a sixth calls that one over TCP every " +
			"50 us with 2 KB.",
			"四台主机经 RoCEv2 挤满通往第五台的端口，链路 {rate}；第六台每 50 us 经 TCP 向它发起一次 2 KB 的调用。"},
		Base: "mixed-traffic", Set: []string{star("8"), "measure.from=0s", "measure.to=1ms"}, Rate: "100Gbps", Size: "2MB",
		Variants: []Variant{
			with("idle", "no bulk", "无大流量", calls), with("own", "class of its own", "独立优先级", planes("0")),
			with("same", "the bulk's class", "与大流量同优先级", planes("3")),
		},
		Checks: []Check{
			under(rpcP99("control"), "own", 1.3, rpcP99("control"), "idle"), over(rpcP99("control"), "same", 1.3,
				rpcP99("control"), "own"),
		},
		Off:   Removal{What: Text{"the class of its own", "取消独立优先级"}, Only: "own", Set: []string{planes("3")}},
		Range: Range{seeds, allRates, []string{"2MB", "4MB"}},
		Note: Text{"Metadata, Kubernetes, REST and metrics are such calls as far as the network is concerned; none is " +
			"modelled by itself.",
			"对网络而言，元数据、Kubernetes、REST、监控都是这类调用，并未逐一建模。"},
	}
}

func twoNetworksTwoPlanes() Claim {
	return Claim{
		Chapter: Choosing, Article: []int{95, 98},
		Says: Text{"InfiniBand for data and TCP over Ethernet for control go together: calls do not notice what the " +
			"data plane does.",
			"数据面用 InfiniBand、控制面用以太网上的 TCP，两者互不干扰：数据面再忙，调用时延也不受影响。"},
		Setup: Text{"Two hosts send {size} each to a third over InfiniBand at {rate}, one of which calls it over TCP on a " +
			"25 Gb/s Ethernet of its own.",
			"两台主机经 InfiniBand 向第三台各发送 {size}，链路 {rate}；同时在独立的 25 Gb/s 以太网上经 TCP 调用它。"},
		Base: "incast-4to1", Set: []string{twoNetworks, stack("infiniband")}, Rate: "400Gbps", Size: "4MB",
		Variants: []Variant{
			with("busy", "beside the data", "与数据并行", "workload=[{incast: {from: [\"a:1\", \"b:1\"], to: \"c:1\", size: "+
				"{size}}}, "+sideCalls+"]"),
			with("idle", "no data", "无数据", "workload=["+sideCalls+"]"),
		},
		Checks: []Check{under(rpcP99(""), "busy", 1.1, rpcP99(""), "idle"), atLeast(held(), "busy", 1e6)},
		Off: Removal{What: Text{"the network of its own (calls share the data's host port and class)",
			"取消独立网络，调用与数据共用端口和优先级"}, Only: "busy",
			Set: []string{sharedNetwork, stack("rocev2-pfc-only"), "switch.buffer=4MB",
				"workload=[{incast: {from: [a, b], to: c, size: {size}, count: 4}}, {rpc: {between: [a, c], size: 2KB, every: " +
					"20us, count: 20, stack: tcp, class: 3}}]"}},
		Range: Range{seeds, allRates, []string{"4MB", "8MB"}},
	}
}

func mostPredictable() Claim {
	return Claim{
		Chapter: Choosing, Article: []int{102},
		Says: Text{"InfiniBand is the most predictable: from seed to seed its slowest message stays within 0.2 %, where " +
			"the other's moves by 1 % and more.",
			"InfiniBand 最可预测：更换随机种子时，最慢消息的波动在 0.2% 以内，而对手达到 1% 以上。"},
		When: Text{"the other is DCQCN; PFC alone is as predictable", "对手是 DCQCN；只用 PFC 时同样可预测"},
		Setup: Text{"Four hosts send {size} each at once to a fifth at {rate}, with five seeds.",
			"四台主机同时向第五台各发送 {size}，链路 {rate}，共五个种子。"},
		Base: "incast-4to1", Set: []string{star("5"), incast}, Rate: "400Gbps", Size: "16MB",
		Variants: []Variant{many("ib", "infiniband"), many("dcqcn", "rocev2"), many("pfc", "rocev2-pfc-only")},
		Checks:   []Check{atMost(seedSpread(slowest()), "ib", 0.002), atLeast(seedSpread(slowest()), "dcqcn", 0.01)},
		Outside:  []Check{atLeast(seedSpread(slowest()), "pfc", 0.01)},
		Off: Removal{What: Text{"DCQCN (PFC alone in its place)", "去掉 DCQCN，只用 PFC"}, Only: "dcqcn",
			Set: []string{stack("rocev2-pfc-only")}},
		Range: Range{Seeds: []uint64{11, 101}, Rates: allRates, Sizes: []string{"8MB", "16MB"}},
		Note: Text{"Kindly bounded: at five hosts, not at ten thousand; what is compared is congestion control, not the " +
			"fabric's size.",
			"为原文补个前提：这里是五台主机而非一万台，比较的是拥塞控制而不是规模。"},
	}
}

func thresholdsAreTuned() Claim {
	return Claim{
		Chapter: Choosing, Article: []int{99},
		Says: Text{"On RoCEv2 thresholds are there to be tuned: Kmin and Kmax alone change the queue by more than half.",
			"RoCEv2 的阈值需要调：仅 Kmin 与 Kmax 就能让队列相差一倍以上。"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), incast, stack("rocev2")}, Rate: "400Gbps",
		Size: "16MB",
		Variants: []Variant{
			with("low", "Kmin 50 KB, Kmax 200 KB", "Kmin 50 KB，Kmax 200 KB", "switch.ecn={kmin: 50KB, kmax: 200KB, pmax: 0.2}"),
			with("high", "Kmin 3 MB, Kmax 12 MB", "Kmin 3 MB，Kmax 12 MB", "switch.ecn={kmin: 3MB, kmax: 12MB, pmax: 0.2}"),
		},
		Checks: []Check{under(meanQueue(), "low", 0.5, meanQueue(), "high")},
		Off:    Removal{What: Text{"the senders' reaction", "关闭发送端的反应"}, Set: []string{"dcqcn=none"}},
		Range:  Range{seeds, allRates, []string{"16MB", "32MB"}},
	}
}

func xmitWaitGrows() Claim {
	return Claim{
		Chapter: Operating, Article: []int{92, 100},
		Says: Text{"On InfiniBand the counter to watch is PortXmitWait: it grows at the ports that wait for credits, " +
			"and nowhere on an idle path.",
			"InfiniBand 该盯的计数器是 PortXmitWait：等待信用的端口会增长，空闲路径上则不变。"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), stack("infiniband")}, Rate: "400Gbps", Size: "2MB",
		Variants: []Variant{with("incast", "incast", "多打一", incast), with("one", "one sender", "单个发送方", alone)},
		Checks:   []Check{atLeast(xmitWait(), "incast", 4), atMost(xmitWait(), "one", 0)},
		Off:      Removal{What: Text{"the congestion", "去掉拥塞"}, Set: []string{alone}},
		Range:    Range{seeds, allRates, []string{"1MB", "2MB", "4MB"}},
		Note: Text{"IBTA volume 1, 16.1.3.5. --counters writes them as perfquery does.",
			"IBTA 卷 1 第 16.1.3.5 节；--counters 按 perfquery 的格式输出。"},
	}
}

func threeCountersTogether() Claim {
	return Claim{
		Chapter: Operating, Article: []int{91, 100},
		Says: Text{"On RoCEv2 watch pauses, CNPs and drops together: the same incast shows in the first with PFC alone, " +
			"in the second with ECN, in the third with neither.",
			"RoCEv2 要把 PFC 暂停、CNP 与丢包放在一起看：同样的多打一，只用 PFC 时显现为暂停，用 ECN 时显现为 CNP，都不用时显现为丢包。"},
		Setup: fiveHosts, Base: "incast-4to1", Set: []string{star("5"), incast, "switch.buffer=4MB",
			"nic.adaptive_timeout=true"},
		Rate: "400Gbps", Size: "2MB",
		Variants: []Variant{named("pfc", "rocev2-pfc-only"), named("ecn", "rocev2-ecn-only",
			"switch.ecn={kmin: 200KB, kmax: 800KB, pmax: 0.2}"), named("none", "rocev2-none")},
		Checks: []Check{
			atLeast(pausedPorts(), "pfc", 4), atMost(cnps(), "pfc", 0), atMost(drops(), "pfc", 0),
			atLeast(cnps(), "ecn", 1), atMost(pausedPorts(), "ecn", 0),
			atLeast(drops(), "none", 1), atMost(pausedPorts(), "none", 0), atMost(cnps(), "none", 0),
		},
		Off:   Removal{What: Text{"the congestion", "去掉拥塞"}, Set: []string{alone}},
		Range: Range{seeds, allRates, []string{"2MB", "4MB"}},
		Note: Text{"On machines: rx_prio3_pause, np_cnp_sent and the switch's drop counters; --counters writes them.",
			"对应的真实计数器：rx_prio3_pause、np_cnp_sent 与交换机丢包计数，--counters 可输出。"},
	}
}

func xmitWait() *Figure {
	return always(Text{"ports whose PortXmitWait grew", "PortXmitWait 增长的端口数"}, Count, func(o *Outcome) (n float64) {
		for i := range o.run.Counters {
			if o.run.Counters[i].PortXmitWait > 0 {
				n++
			}
		}
		return n
	})
}

func pausedPorts() *Figure {
	return always(Text{"ports that received pauses", "收到 PFC 暂停的端口数"}, Count, func(o *Outcome) (n float64) {
		for i := range o.run.Ports {
			if o.run.Ports[i].PausesReceived > 0 {
				n++
			}
		}
		return n
	})
}
