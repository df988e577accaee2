package claims

// gpuFlow is a message from one server's GPU to another's, through one switch.
const (
	gpuFlow  = "workload=[{flow: {from: h0/gpu0, to: h1/gpu0, size: {size}}}]"
	dgx      = "server=dgx-h100"
	onGPU    = "gpudirect=on"
	offGPU   = "gpudirect=off"
	gpuBase  = "gpu-incast"
	sameHost = "workload=[{flow: {from: h0/gpu0, to: h0/gpu1, size: {size}}}]"
)

var gpuSetup = Text{"A GPU of one DGX H100 sends {size} to a GPU of another, at {rate}, with GPUDirect or staged " +
	"through host memory.",
	"一台 DGX H100 的 GPU 向另一台的 GPU 发送 {size}，链路 {rate}，使用 GPUDirect 或经主机内存中转。"}

func direct() Variant { return with("direct", "GPUDirect", "GPUDirect", onGPU) }
func viaHost() Variant {
	return with("staged", "staged", "中转", offGPU)
}

// gpuClaims are of the last metres to a GPU's memory.
func gpuClaims() []Claim {
	return []Claim{
		whoseMemory(),
		whoseBus(),
		twoToFiveMicroseconds(),
		stagingTakesLonger(),
		tcpStages(),
		nvlinkStaysInside(),
		trunkIsPCIeSwitch(),
		scalingIsLinear(),
		expertsFeelIt(),
	}
}

const (
	insideServer = "workload=[{collective: {op: allreduce, size: {size}, ranks: [h0/gpus]}}]"
	ar128        = "workload=[{collective: {op: allreduce, size: 128MiB, algorithm: ring, protocol: simple}}]"
)

func gpuSize(size string) string {
	return "workload=[{flow: {from: h0/gpu0, to: h1/gpu0, size: " + size + "}}]"
}

func rails(servers string) string {
	return "topology={rail: {servers: " + servers + ", rails: 8, link: {rate}}}"
}

func nvlink() *Figure {
	return overLinks("NVLink", Text{"bytes over NVLink", "经 NVLink 的字节数"})
}

// onWire are the bytes that hosts sent into the network.
func onWire() *Figure {
	return always(Text{"bytes on the network", "进入网络的字节" +
		"数"}, Bytes, func(o *Outcome) float64 { return float64(o.sum.Totals.TxBytes) })
}

func whoseMemory() Claim {
	return Claim{
		Chapter: GPU, Article: []int{10, 74, 75, 78, 89},
		Says: Text{"Whose memory do the data cross? Staged, each byte passes host memory four times on its way; with " +
			"GPUDirect not once.",
			"数据经过谁的内存？中转时，每字节一路要进出主机内存四次；GPUDirect 一次也不经过。"},
		Setup: gpuSetup, Base: gpuBase, Set: []string{star("2"), gpuFlow, stack("rocev2")}, Rate: "400Gbps", Size: "4MB",
		Variants: []Variant{direct(), viaHost()},
		Checks: []Check{
			atMost(dram(), "direct", 0.01), atLeast(dram(), "staged", 3.9), atMost(dram(), "staged", 4.1), atMost(staged(),
				"direct", 0),
		},
		Off:   Removal{What: Text{"GPUDirect", "关闭 GPUDirect"}, Set: []string{offGPU}},
		Range: Range{seeds, allRates, []string{"1MB", "4MB", "16MB"}},
	}
}

func whoseBus() Claim {
	return Claim{
		Chapter: GPU, Article: []int{10, 75, 77, 83, 105},
		Says: Text{"Whose bus? With GPUDirect a byte crosses four PCIe links, GPU to switch to card at either end; " +
			"staged it crosses eight.",
			"经过谁的总线？GPUDirect 每字节经过四段 PCIe（两端各为 GPU—交换芯片—网卡），中转则要经过八段。"},
		Setup: gpuSetup, Base: gpuBase, Set: []string{star("2"), gpuFlow, stack("rocev2")}, Rate: "400Gbps", Size: "4MB",
		Variants: []Variant{direct(), viaHost()},
		Checks: []Check{
			atLeast(pcie(), "direct", 3.99), atMost(pcie(), "direct", 4.1), atLeast(pcie(), "staged", 7.9), atMost(pcie(),
				"staged", 8.2),
		},
		Off:   Removal{What: Text{"GPUDirect", "关闭 GPUDirect"}, Set: []string{offGPU}},
		Range: Range{seeds, allRates, []string{"1MB", "4MB", "16MB"}},
		Note: Text{"NVIDIA's DGX H100 user guide: each card hangs on a PCIe switch with its GPU.",
			"NVIDIA DGX H100 用户指南：每块网卡与其 GPU 挂在同一 PCIe 交换芯片下。"},
	}
}

func twoToFiveMicroseconds() Claim {
	return Claim{
		Chapter: GPU, Article: []int{79},
		Says: Text{"GPU to GPU across the network takes 2 to 5 us.", "跨网络的 GPU 到 GPU 只需 2 到 5 us。"},
		When: Text{"a message has at most 64 KB", "消息不超过 64 KB"},
		Setup: Text{"A GPU of one DGX H100 sends to a GPU of another with GPUDirect, at {rate}.",
			"一台 DGX H100 的 GPU 用 GPUDirect 向另一台的 GPU 发送数据，链路 {rate}。"},
		Base: gpuBase, Set: []string{star("2"), onGPU, stack("rocev2")}, Rate: "400Gbps",
		Variants: []Variant{
			with("tiny", "8 B", "8 B", gpuSize("8B")), with("small", "64 KB", "64 KB", gpuSize("64KB")), with("large", "1 MB",
				"1 MB", gpuSize("1MB")),
		},
		Checks: []Check{
			atLeast(slowest(), "tiny", 2e6), atMost(slowest(), "tiny", 5e6), atLeast(slowest(), "small", 2e6),
			atMost(slowest(), "small", 5e6),
		},
		Outside: []Check{atMost(slowest(), "large", 5e6)},
		Off:     Removal{What: Text{"GPUDirect", "关闭 GPUDirect"}, Set: []string{offGPU}},
		Range:   Range{Seeds: seeds, Rates: []string{"400Gbps", "800Gbps"}},
		Note:    Text{"At 100G 64 KB alone take 5.3 us on the wire.", "100G 时 64 KB 光线上就要 5.3 us。"},
	}
}

func stagingTakesLonger() Claim {
	return Claim{
		Chapter: GPU, Article: []int{74, 79},
		Says: Text{"Staging takes tens of microseconds, more than four times GPUDirect's time for a small message.",
			"中转要十几到几十微秒，小消息耗时是 GPUDirect 的四倍以上。"},
		Setup: gpuSetup, Base: gpuBase, Set: []string{star("2"), gpuFlow, stack("rocev2")}, Rate: "400Gbps", Size: "64KB",
		Variants: []Variant{direct(), viaHost()},
		Checks:   []Check{over(slowest(), "staged", 4, slowest(), "direct"), atLeast(slowest(), "staged", 10e6)},
		Off:      Removal{What: Text{"the staging", "取消中转"}, Only: "staged", Set: []string{onGPU}},
		Range:    Range{seeds, []string{"400Gbps", "800Gbps"}, []string{"8B", "4KB", "64KB"}},
	}
}

func tcpStages() Claim {
	return Claim{
		Chapter: GPU, Article: []int{89},
		Says: Text{"The kernel's TCP always stages: it has no GPUDirect, whatever is set.",
			"内核 TCP 总要中转：它没有 GPUDirect，怎么设都一样。"},
		Setup: Text{"A GPU of one DGX H100 sends {size} to a GPU of another, at {rate}, over TCP and over RoCEv2.",
			"一台 DGX H100 的 GPU 分别经 TCP 与 RoCEv2 向另一台的 GPU 发送 {size}，链路 {rate}。"},
		Base: gpuBase, Set: []string{star("2"), gpuFlow}, Rate: "400Gbps", Size: "4MB",
		Variants: []Variant{named("tcp", "tcp"), named("rdma", "rocev2")},
		Checks:   []Check{over(staged(), "tcp", 2, posted(), "tcp"), atMost(staged(), "rdma", 0)},
		Off:      Removal{What: Text{"the kernel (RoCEv2 in both)", "不用内核 TCP，都用 RoCEv2"}, Set: []string{stack("rocev2")}},
		Range:    Range{seeds, allRates, []string{"1MB", "4MB"}},
		Note:     Text{"Device memory TCP (Linux 6.12) is not modelled.", "devmem TCP（Linux 6.12）未建模。"},
	}
}

func nvlinkStaysInside() Claim {
	return Claim{
		Chapter: GPU, Article: []int{82},
		Says: Text{"NVLink carries nothing between servers: inside one it has all of a message, across the network the " +
			"card has it.",
			"NVLink 不出服务器：机内消息全走 NVLink，跨机则全走网卡。"},
		Setup: Text{"AllReduce of {size} over the eight GPUs of one DGX H100, and a message between two servers, at {rate}.",
			"在一台 DGX H100 的八个 GPU 上做 {size} 的 AllReduce，以及两台服务器间发送一条消息，链路 {rate}。"},
		Base: gpuBase, Set: []string{star("2")}, Rate: "400Gbps", Size: "4MB",
		Variants: []Variant{
			with("inside", "inside a server", "机内", insideServer), with("across", "between servers", "跨机", gpuFlow),
		},
		Checks: []Check{
			atLeast(nvlink(), "inside", 1), atMost(nvlink(), "across", 0), atLeast(onWire(), "across", 1), atMost(onWire(),
				"inside", 0),
		},
		Off:   Removal{What: Text{"the second server", "去掉第二台服务器"}, Only: "across", Set: []string{insideServer}},
		Range: Range{seeds, allRates, []string{"1MB", "4MB"}},
	}
}

func trunkIsPCIeSwitch() Claim {
	return Claim{
		Chapter: GPU, Article: []int{81},
		Says: Text{"The trunk is the PCIe switch: where ACS sends transfers up to the root complex, GPUDirect loses " +
			"half of its rate and more as soon as both directions are in use.",
			"主干是 PCIe 交换芯片：ACS 把流量绕到根复合体后，双向同时传输时 GPUDirect 速率损失过半。"},
		Setup: Text{"A GPU of one DGX H100 sends {size} to a GPU of another and gets as much, at {rate}.",
			"两台 DGX H100 的 GPU 互发 {size}，链路 {rate}。"},
		Base: gpuBase, Rate: "400Gbps", Size: "16MB",
		Set: []string{star("2"), "workload=[{flow: {from: h0/gpu0, to: h1/gpu0, size: {size}}}, {flow: {from: h1/gpu0, " +
			"to: h0/gpu0, size: {size}}}]"},
		Variants: []Variant{
			with("direct", "ACS off", "关 ACS", "server={preset: dgx-h100, acs: direct}"),
			with("acs", "ACS redirects", "开 ACS 重定向", "server={preset: dgx-h100, acs: redirect}"),
		},
		Checks: []Check{under(goodput(), "acs", 0.5, goodput(), "direct")},
		Off:    Removal{What: Text{"ACS", "关闭 ACS"}, Only: "acs", Set: []string{"server={preset: dgx-h100, acs: direct}"}},
		Range:  Range{seeds, []string{"400Gbps"}, []string{"4MB", "16MB"}},
		Note: Text{"At 100G the link is the limit in either case, and 800G is more than the card's PCIe slot.",
			"100G 时两种情形都由链路限速，800G 则超过网卡 PCIe 插槽的能力。"},
	}
}

func scalingIsLinear() Claim {
	return Claim{
		Chapter: GPU, Article: []int{80},
		Says: Text{"Scaling is near linear: AllReduce keeps its bus bandwidth when servers double.",
			"扩展接近线性：服务器翻倍，AllReduce 的总线带宽基本不变。"},
		When: Text{"messages are large (512 MiB; at 128 MiB it is not)", "消息足够大：512 MiB 时成立，128 MiB 时不成立"},
		Setup: Text{"AllReduce over the GPUs of 2 and of 4 DGX H100 on rails, by NCCL's ring, at {rate}.",
			"在 2 台与 4 台多轨组网的 DGX H100 上做环算法 AllReduce，链路 {rate}。"},
		Base: "allreduce-8x8", Rate: "400Gbps", Set: []string{"workload=[{collective: {op: allreduce, size: 512MiB, " +
			"algorithm: ring, protocol: simple}}]"},
		Variants: []Variant{
			with("two", "512 MiB, 2 servers", "512 MiB，2 台", rails("2")), with("four", "512 MiB, 4 servers", "512 MiB，4 台",
				rails("4")),
			with("two128", "128 MiB, 2 servers", "128 MiB，2 台", rails("2"), ar128), with("four128", "128 MiB, 4 servers",
				"128 MiB，4 台", rails("4"), ar128),
		},
		Checks:  []Check{over(busbw(), "four", 0.94, busbw(), "two")},
		Outside: []Check{over(busbw(), "four128", 0.94, busbw(), "two128")},
		Off: Removal{What: Text{"full bisection (servers beyond the first two are behind one slow uplink)",
			"去掉全二分带宽，后两台服务器隔着一条慢上行链路"},
			Only: "four", Set: []string{"topology={rail: {servers: 4, rails: 8, servers_per_group: 2, spines: 1, " +
				"host_link: {rate}, uplink: 100Gbps}}"}},
		Range: Range{Seeds: seeds[:1]},
		Note: Text{"Each of a ring's 2(n-1) steps costs the same whatever the size; nccl-tests show it on H100 alike " +
			"(SimAI's table: 210 GB/s at 128 MB, 349 at 1 GB on 8 servers).",
			"环的 2(n-1) 步每步都有固定开销，与大小无关；H100 上的 nccl-tests 同样如此（SimAI 表：8 机 128 MB 为 210 GB/s，1 GB 为 349）。"},
	}
}

func expertsFeelIt() Claim {
	return Claim{
		Chapter: GPU, Article: []int{73, 75},
		Says: Text{"Experts feel it most: AllToAll between servers takes more than one and a half times as long staged " +
			"as with GPUDirect.",
			"专家并行最敏感：跨机 AllToAll 经中转耗时是 GPUDirect 的一倍半以上。"},
		Setup: Text{"AllToAll of {size} over the 16 GPUs of two DGX H100 on rails, at {rate}.",
			"在两台多轨组网的 DGX H100 共 16 个 GPU 上做 {size} 的 AllToAll，链路 {rate}。"},
		Base: "allreduce-8x8", Set: []string{rails("2"), "workload=[{collective: {op: alltoall, size: {size}}}]"},
		Rate: "400Gbps", Size: "16MiB",
		Variants: []Variant{direct(), viaHost()},
		Checks:   []Check{over(collectiveTime(""), "staged", 1.5, collectiveTime(""), "direct")},
		Off:      Removal{What: Text{"the staging", "取消中转"}, Only: "staged", Set: []string{onGPU}},
		Range:    Range{Seeds: seeds, Rates: []string{"400Gbps"}, Sizes: []string{"16MiB", "32MiB"}},
	}
}
