package claims

import "slices"

// Statement is one of the 112 that the article makes, with what answers it: claims, or words where no run can.
type Statement struct {
	Number int
	About  Text
	Words  Text // where no claim shows it, or what claims leave out
}

// NumStatements is how many statements the article makes.
const NumStatements = 112

// Claims are the numbers of the claims that show a statement.
func (s *Statement) Claims(all []Claim) (numbers []int) {
	for i := range all {
		if slices.Contains(all[i].Article, s.Number) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// notBuilt begins the words on what is not simulated yet.
func notBuilt(en, zh string) Text { return Text{"not simulated: " + en, "未仿真：" + zh} }

// Statements lists what the article states, in its order.
func Statements() []Statement {
	out := slices.Clone(statements)
	for i := range out {
		out[i].Number = i + 1
	}
	return out
}

var statements = []Statement{
	{About: Text{"The whole way at one look, from switch to GPU memory", "一张全景图：从交换机到 GPU 显存"},
		Words: Text{"`hopscope path hbm-to-hbm h0/gpu0 h1/gpu0` lists every hop of it.",
			"`hopscope path hbm-to-hbm h0/gpu0 h1/gpu0` 列出途中每一跳。"}},
	{About: Text{"Hundreds of GPUs send one way, and the egress queue rises at once", "数百 GPU 涌向一处，出口队列立刻上涨"}},
	{About: Text{"Who detects first", "谁最先发现"}},
	{About: Text{"Who feeds back", "谁反馈"}},
	{About: Text{"Who slows down", "谁降速"}},
	{About: Text{"Who pauses upstream", "谁暂停上游"}},
	{About: Text{"Who sends again", "谁重传"}},
	{About: Text{"Who chooses another path", "谁换路"}},
	{About: Text{"Which of it is hardware, which software", "哪些由硬件做，哪些由软件做"}},
	{About: Text{"First rule: whose memory and whose bus do the data cross", "第一原则：数据经过谁的内存、谁的总线"}},
	{About: Text{"400G or 800G is not the question", "问题不在 400G 还是 800G"}},
	{About: Text{"Sockets are a byte stream", "Socket 是字节流"}},
	{About: Text{"Verbs: memory is registered and pinned", "verbs：内存要注册、锁页"}},
	{About: Text{"Verbs: queue pairs are set up", "verbs：要建立 QP"}},
	{About: Text{"SEND, READ and WRITE work requests", "SEND、READ、WRITE 工作请求"}},
	{About: Text{"CAS and other atomics", "CAS 等原子操作"}},
	{About: Text{"Keys and rights guard remote memory", "密钥与权限保护远端内存"}},
	{About: Text{"TCP/IP is kernel software on CPUs", "TCP/IP 是跑在 CPU 上的内核软件"}},
	{About: Text{"RDMA's transports: RC, UC, UD", "RDMA 传输：RC、UC、UD"}},
	{About: Text{"RDMA over InfiniBand", "InfiniBand 上的 RDMA"}},
	{About: Text{"RDMA over UDP/IP crosses routers", "UDP/IP 上的 RDMA 可跨三层"}},
	{About: Text{"RDMA over TCP: iWARP", "TCP 上的 RDMA：iWARP"}},
	{About: Text{"RDMA is not InfiniBand", "RDMA 不等于 InfiniBand"}},
	{About: Text{"Ethernet is lossy, or lossless with PFC", "以太网：有损，或用 PFC 做成无损"}},
	{About: Text{"InfiniBand is lossless by nature", "InfiniBand 天生无损"}},
	{About: Text{"API, transport and fabric are separate layers", "API、传输、网络是不同的层"},
		Words: Text{"`hopscope show` and `compare` keep the three apart; `compare --view host` and `--view fabric` " +
			"change one of them.",
			"`hopscope show` 与 `compare` 将三者分列；`compare --view host` 与 `--view fabric` 每次只改变其中一层。"}},
	{About: Text{"TCP against RDMA is about the host path", "TCP 与 RDMA 之争在主机路径"}},
	{About: Text{"Ethernet against InfiniBand is about flow control", "以太网与 InfiniBand 之争在流控"}},
	{About: Text{"Four times 400G into 400G: a queue must grow", "4 x 400G 进 400G：必然排队"}},
	{About: Text{"... with AllGather as the load", "……以 AllGather 为负载"}},
	{About: Text{"At which queue length does what act", "队列到多长时谁动作"}},
	{About: Text{"ECN marks above a threshold", "超过阈值打 ECN 标记"}},
	{About: Text{"The receiver's card makes CNPs", "接收端网卡产生 CNP"}},
	{About: Text{"The sender's card slows by DCQCN", "发送端网卡按 DCQCN 降速"}},
	{About: Text{"ECN is the throttle, PFC the emergency brake", "ECN 是油门，PFC 是急刹"}},
	{About: Text{"PFC is hop by hop", "PFC 逐跳"}},
	{About: Text{"PFC pauses one priority only", "PFC 只暂停一个优先级"}},
	{About: Text{"PFC prevents loss in bursts", "PFC 防突发丢包"}},
	{About: Text{"To which neighbour a pause goes", "暂停发给哪个邻居"}},
	{About: Text{"Pauses spread up the tree", "暂停沿树向上蔓延"}},
	{About: Text{"The congestion tree: root, branches, victims", "拥塞树：根、枝、受害者"}},
	{About: Text{"Head-of-line blocking", "队头阻塞"}},
	{About: Text{"PFC deadlock", "PFC 死锁"}},
	{About: Text{"Bad settings cause it (headroom, class)", "配置不当引发（余量、优先级）"}},
	{About: Text{"Watchdogs and storms", "看门狗与风暴"}},
	{About: Text{"RoCE without PFC", "不用 PFC 的 RoCE"}},
	{About: Text{"... by RTT-based control", "……靠基于 RTT 的控制"}},
	{About: Text{"... by hardware telemetry", "……靠硬件遥测"}},
	{About: Text{"... by selective retransmission", "……靠选择性重传"}},
	{About: Text{"InfiniBand sends only with credits", "InfiniBand 有信用才发"}},
	{About: Text{"Without credits it waits at the sender", "没有信用就在发送端等"}},
	{About: Text{"Virtual lanes isolate", "虚拟通道隔离"}},
	{About: Text{"The subnet manager", "子网管理器"}},
	{About: Text{"LID routing", "LID 路由"},
		Words: Text{"`hopscope fabric leaf-spine-permutation --lfts` lists by which port each switch sends which LID.",
			"`hopscope fabric leaf-spine-permutation --lfts` 列出每台交换机把哪个 LID 从哪个端口送出。"}},
	{About: Text{"InfiniBand needs no patchwork of layers", "InfiniBand 无需层层打补丁"}},
	{About: Text{"The reactive loop beside preventive credits", "事后反应与事前信用"}},
	{About: Text{"The socket path, step by step", "Socket 路径逐步看"},
		Words: Text{"`hopscope path incast-4to1 h0 h1 --stack tcp -v` lists its steps with their times.",
			"`hopscope path incast-4to1 h0 h1 --stack tcp -v` 列出每一步及其耗时。"}},
	{About: Text{"System calls and mode switches", "系统调用与态切换"}},
	{About: Text{"Sequence numbers and ACKs", "序号与 ACK"}},
	{About: Text{"Copies", "拷贝"}},
	{About: Text{"At 400/800G the CPU is the limit", "400/800G 下 CPU 成为瓶颈"}},
	{About: Text{"TSO, GSO and GRO help", "TSO、GSO、GRO 有帮助"}},
	{About: Text{"MSG_ZEROCOPY", "MSG_ZEROCOPY"}},
	{About: Text{"sendfile", "sendfile"}},
	{About: Text{"TCP does not force copies", "TCP 并不必然拷贝"}},
	{About: Text{"Hard and soft interrupts", "硬中断与软中断"}},
	{About: Text{"RDMA: zero copy", "RDMA：零拷贝"}},
	{About: Text{"RDMA: kernel bypass", "RDMA：绕过内核"}},
	{About: Text{"RDMA: offload of segmentation, ACKs and retransmission", "RDMA：分段、ACK、重传卸载"},
		Words: notBuilt("what a card's own CRC costs: its pipeline has a time, not a cost.", "网卡计算 CRC 的开销：只有流水线时延，没有单独计费。")},
	{About: Text{"RDMA: remote memory without recv()", "RDMA：无需 recv() 访问远端内存"}},
	{About: Text{"Queue pairs and completion queues", "QP 与 CQ"}},
	{About: Text{"How long the two host paths are", "两条主机路径各有多长"}},
	{About: Text{"Tensors in HBM; traffic of TP, PP and EP", "HBM 里的张量；TP、PP、EP 流量"}},
	{About: Text{"The staged path, hop by hop", "中转路径逐跳看"},
		Words: Text{"`hopscope path hbm-to-hbm h0/gpu0 h1/gpu0 -v` lists it beside GPUDirect's.",
			"`hopscope path hbm-to-hbm h0/gpu0 h1/gpu0 -v` 把它与 GPUDirect 的路径并列给出。"}},
	{About: Text{"Staging eats DRAM and PCIe", "中转吃掉 DRAM 与 PCIe 带宽"}},
	{About: Text{"GPU pipeline bubbles", "GPU 流水线气泡"}},
	{About: Text{"The GPUDirect path by PCIe peer to peer", "GPUDirect 的 PCIe P2P 路径"}},
	{About: Text{"CPU and DRAM are bypassed", "绕过 CPU 与 DRAM"}},
	{About: Text{"From tens of microseconds to 2 to 5", "从几十微秒降到 2 到 5 us"}},
	{About: Text{"Near-linear scaling to 10,000 GPUs", "近线性扩展到一万 GPU"},
		Words: Text{"shown packet by packet on 16 and 32 GPUs. `hopscope run FILE --level flow` runs ten thousand, with fair " +
			"shares of links and without queues and marks (docs/scale.md).",
			"逐包仿真用 16 与 32 个 GPU 展示。`hopscope run FILE --level flow` 可运行一万个 GPU，链路按公平份额分配，不含队列与标记（docs/scale.md）。"}},
	{About: Text{"The trunk is the PCIe switch or root complex", "主干是 PCIe 交换芯片或根复合体"}},
	{About: Text{"NVLink and NVSwitch stay inside a node", "NVLink/NVSwitch 只在机内"}},
	{About: Text{"HBM joined to the network card", "HBM 直连网卡"}},
	{About: Text{"RDMA does not mean the end of TCP", "有了 RDMA 也离不开 TCP"}},
	{About: Text{"Matrix: typical position", "矩阵：典型定位"},
		Words: Text{"`hopscope advise` says it of one's own workload: API, transport, fabric and setting of each column. " +
			"What is typical is a judgement: TCP everywhere and for the control plane; RoCEv2 for data planes on " +
			"Ethernet; InfiniBand for clusters that train or compute.",
			"`hopscope advise` 按自己的负载列出每种网络的 API、传输、网络与设置。何为典型属于判断：TCP 通用并承担控制面；" +
				"RoCEv2 用于以太网上的数据面；InfiniBand 用于训练与 HPC 集群。"}},
	{About: Text{"Matrix: what the fabric needs", "矩阵：网络基础"},
		Words: Text{"`hopscope advise` counts what is bought (switches, cables, cards) and what is tuned (parameters of " +
			"switches, congestion control and hosts) for each network. RoCEv2 needs switches with PFC and ECN and cards with " +
			"RDMA, InfiniBand its own switches, cards and cables.",
			"`hopscope advise` 为每种网络统计要买的（交换机、线缆、网卡）与要调的（交换机、拥塞控制、主机的参数）。" +
				"RoCEv2 需要支持 PFC/ECN 的交换机与 RDMA 网卡；InfiniBand 需要专用交换机、网卡与线缆。"}},
	{About: Text{"Matrix: flow control", "矩阵：流控"}},
	{About: Text{"Matrix: CPU", "矩阵：CPU 占用"}},
	{About: Text{"Matrix: GPUDirect", "矩阵：GPUDirect"}},
	{About: Text{"Matrix: tools for TCP", "矩阵：TCP 的工具"},
		Words: Text{"`hopscope run --pcap` writes frames that Wireshark and tshark read, RDMA's too. On machines " +
			"tcpdump sees all of TCP and nothing of what a card handles by itself; that is not simulated.",
			"`hopscope run --pcap`写出 Wireshark 与 tshark 可读的帧，包括 RDMA。真机上 tcpdump 能看到全部 TCP，却看不到网卡自行处理的报文，这一点未仿真。"}},
	{About: Text{"Matrix: tools for RoCE", "矩阵：RoCE 的工具"}},
	{About: Text{"Matrix: tools for InfiniBand", "矩阵：InfiniBand 的工具"}},
	{About: Text{"Matrix: total cost", "矩阵：总成本"},
		Words: Text{"`hopscope advise MY.yaml --prices FILE` adds up switches, cables, cards, cores kept busy and " +
			"parameters at the reader's prices, for data and control plane apart; docs/examples/prices.yaml is an example with invented " +
			"ones. Power, room, licences and support are not in it.",
			"`hopscope advise MY.yaml --prices FILE` 按读者自己的价格累计交换机、线缆、网卡、占用的 CPU 核与要维护的参数，" +
				"数据面与控制面分开；docs/examples/prices.yaml 是虚构价格的示例。电力、机房、授权与支持不计入。"}},
	{About: Text{"The matrix filled from one's own workload", "按自己的负载填矩阵"},
		Words: Text{"`hopscope advise MY.yaml --prices FILE` fills it from runs, for data and control plane.",
			"`hopscope advise MY.yaml --prices FILE` 用仿真结果填写，数据面与控制面分开。"}},
	{About: Text{"Two planes", "两个平面"}},
	{About: Text{"Advice 1: the control plane on TCP", "建议一：控制面用 TCP"}},
	{About: Text{"... storage metadata, Kubernetes, REST, metrics", "……存储元数据、K8s、REST、监控"}},
	{About: Text{"InfiniBand data plane with a TCP control plane", "InfiniBand 数据面配 TCP 控制面"}},
	{About: Text{"Advice 2: RoCE, with thresholds tuned", "建议二：RoCE，调好阈值"}},
	{About: Text{"... and monitored", "……并做监控"}},
	{About: Text{"Storage as data plane", "存储作为数据面"}},
	{About: Text{"Advice 3: a new cluster of ten thousand: InfiniBand is most predictable", "建议三：新建万卡集群，InfiniBand 最可预测"},
		Words: notBuilt("how predictable ten thousand cards are, as `--level flow` has no queues; shown on five.",
			"万卡规模下的可预测性（`--level flow` 不含队列）；这里用五台主机展示。")},
	{About: Text{"The two-minute answer", "两分钟回答"},
		Words: Text{"a summary, `hopscope tour 7`. Its parts are the claims on layers, congestion, host and GPU.",
			"这是总结，见 `hopscope tour 7 --lang zh`；各部分见分层、拥塞、主机与 GPU 的论断。"}},
	{About: Text{"Direct, in microseconds", "直达，微秒级"}},
	{About: Text{"The whole path derived, HBM to HBM", "推导整条路径：HBM 到 HBM"},
		Words: Text{"`hopscope path` derives it for any server.", "`hopscope path` 可对任意服务器推导。"}},
	{About: Text{"TCP carries bytes to a process, RDMA moves memory", "TCP 把字节送给进程，RDMA 搬内存"}},
	{About: Text{"RoCEv2 does not need PFC", "RoCEv2 不一定要 PFC"}},
	{About: Text{"The eight references", "八条参考文献"},
		Words: Text{"docs/sources.md lists them, and where each appears.", "见 docs/sources.zh.md，并注明各条用在何处。"}},
	{About: Text{"The article's order, as a tour", "按文章顺序的导览"},
		Words: Text{"`hopscope tour` goes through docs/guide step by step; chapters and claims stand in the article's order.",
			"`hopscope tour` 逐步带读 docs/guide；各章与论断都按文章顺序排列。"}},
	{About: Text{"In Chinese", "中文"},
		Words: Text{"docs/guide/zh, README.zh.md, and `--lang zh` of reports and claims.", "docs/guide/zh、README.zh.md，以及报告与论断的 `--lang zh`。"}},
	{About: Text{"Claims as experiments with a verdict", "把论断做成有结论的实验"},
		Words: Text{"`hopscope claims`: this list.", "`hopscope claims`：就是本清单。"}},
	{About: Text{"Six figures as pictures", "六张图"},
		Words: Text{"`--svg DIR` draws them from runs; chapters of docs/guide show theirs, and docs/page.md says what each " +
			"is.",
			"`--svg DIR` 可由运行结果画出；docs/guide 各章附有其图，docs/page.md 说明每种图。"}},
}
