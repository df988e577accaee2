package claims

import "github.com/hopscope/hopscope/internal/record"

// tcpBulk is one host that sends to another over TCP, with what Linux and a Xeon cost.
var tcpBulk = []string{star("2"), single, stack("tcp"), linux}

var tcpSetup = Text{"One host with a Xeon and Linux sends {size} to another over TCP, at {rate}.",
	"一台 Xeon + Linux 主机经 TCP 向另一台发送 {size}，链路 {rate}。"}

var (
	bulkSizes = []string{"16MB", "32MB"}
	caiNote   = Text{"Cai et al., SIGCOMM 2021, measure the same parts on ConnectX-5 and Linux 5.4; " +
		"docs/models/host-cost.md.",
		"Cai 等（SIGCOMM 2021）在 ConnectX-5 与 Linux 5.4 上测过同样的分项，见 docs/models/host-cost.md。"}
)

// hostClaims are of the path through the kernel, and what it costs by cause.
func hostClaims() []Claim {
	return []Claim{
		longSocketPath(),
		coresAt400G(),
		costByCause(),
		tsoSaves(),
		groSaves(),
		zeroCopySends(),
		tcpNeedNotCopy(),
		acksAreWork(),
		interruptsWait(),
	}
}

var (
	copyTime      = Text{"receiver: copies", "接收端：拷贝"}
	inputTime     = Text{"receiver: the stack's input", "接收端：协议栈收包"}
	interruptTime = Text{"receiver: interrupts", "接收端：中断"}
)

// part is a cause of the receiver's core time.
func part(cause string, name Text) *Figure { return coreTime("h1", "receive", name, cause) }

// verbsClaims are of the card's path.
func verbsClaims() []Claim {
	return []Claim{
		zeroCopyNoKernel(),
		cardSegments(),
		noRemoteCPU(),
		atomicsInTheCard(),
		queuesOfWork(),
	}
}

func receives(n string) string {
	return "workload=[{flow: {from: h0, to: h1, size: {size}, count: 16, verb: send, receives: " + n + "}}]"
}

func longSocketPath() Claim {
	return Claim{
		Chapter: Host, Article: []int{57, 58, 72, 104},
		Says: Text{"The socket path is long: system call, kernel, interrupt and wakeup make 64 bytes take more than ten " +
			"times as long as RDMA's post and poll.",
			"Socket 路径很长：系统调用、内核、中断、唤醒，使 64 字节消息耗时是 RDMA 提交与轮询的十倍以上。"},
		Setup: Text{"One host with a Xeon and Linux sends {size} to another, idle, at {rate}.",
			"一台 Xeon + Linux 主机在空载时向另一台发送 {size}，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("2"), single, linux}, Rate: "400Gbps", Size: "64B",
		Variants: []Variant{named("tcp", "tcp"), named("rdma", "rocev2")},
		Checks: []Check{over(slowest(), "tcp", 10, slowest(), "rdma"), atLeast(syscalls(), "tcp", 2), atMost(syscalls(),
			"rdma", 0)},
		Off:   Removal{What: Text{"what the kernel costs", "去掉内核开销"}, Set: []string{freeHost}},
		Range: Range{seeds, allRates, []string{"64B", "1KB"}},
	}
}

func coresAt400G() Claim {
	return Claim{
		Chapter: Host, Article: []int{61, 88},
		Says: Text{"At 400G and more TCP needs more than eight cores at the receiver, RDMA less than a hundredth of one.",
			"400G 及以上，TCP 接收端要占用八个以上的核，RDMA 不到一个核的百分之一。"},
		Setup: Text{"One host with a Xeon and Linux sends {size} to another over 24 connections, at {rate}.",
			"一台 Xeon + Linux 主机经 24 条连接向另一台发送 {size}，链路 {rate}。"},
		Base: "incast-4to1", Rate: "400Gbps", Size: "4MB",
		Set:      []string{star("2"), "workload=[{flow: {from: h0, to: h1, size: {size}, qps: 24}}]", linux},
		Variants: []Variant{named("tcp", "tcp"), named("rdma", "rocev2-pfc-only")},
		Checks: []Check{atLeast(coresOf("h1"), "tcp", 8), atMost(coresOf("h1"), "rdma", 0.01), atLeast(goodput(), "tcp",
			200e9)},
		Off:   Removal{What: Text{"what the kernel and its copies cost", "去掉内核与拷贝的开销"}, Set: []string{freeHost}},
		Range: Range{seeds, []string{"400Gbps", "800Gbps"}, []string{"4MB", "8MB"}},
	}
}

func costByCause() Claim {
	return Claim{
		Chapter: Host, Article: []int{60, 62},
		Says: Text{"What TCP costs a receiver at high rates is copies above all, then the stack's input.",
			"高速率下 TCP 接收端的开销，首先是拷贝，其次是协议栈收包。"},
		Setup: tcpSetup, Base: "incast-4to1", Set: tcpBulk, Rate: "400Gbps", Size: "32MB",
		Variants: []Variant{with("tcp", "tcp", "tcp")},
		Checks: []Check{
			over(part("copy", copyTime), "tcp", 0.35, receiverCores(), "tcp"), over(part("copy", copyTime), "tcp", 1,
				part("input", inputTime), "tcp"),
			over(part("input", inputTime), "tcp", 1, part("interrupt", interruptTime), "tcp"),
		},
		Off: Removal{What: Text{"the copy (pages are mapped instead)", "去掉拷贝，改为页映射"},
			Set: []string{"host.receive=zerocopy", "tcp.mtu=4148"}},
		Range: Range{seeds, allRates, bulkSizes}, Note: caiNote,
	}
}

func tsoSaves() Claim {
	return Claim{
		Chapter: Host, Article: []int{62},
		Says: Text{"TSO saves the sender: without it the kernel sends every frame by itself and its cores work nearly " +
			"twice as long.",
			"TSO 省的是发送端：关掉它，内核要逐帧发送，CPU 时间接近翻倍。"},
		Setup: tcpSetup, Base: "incast-4to1", Set: tcpBulk, Rate: "400Gbps", Size: "32MB",
		Variants: []Variant{with("on", "TSO", "开 TSO"), with("off", "no TSO, no GSO", "关 TSO 与 GSO", "host.tso=false",
			"host.gso=false")},
		Checks: []Check{over(senderCores(), "off", 1.8, senderCores(), "on")},
		Off: Removal{What: Text{"TSO and GSO, in both", "两者都关 TSO 与 GSO"}, Set: []string{"host.tso=false",
			"host.gso=false"}},
		Range: Range{seeds, allRates, bulkSizes}, Note: caiNote,
	}
}

func groSaves() Claim {
	return Claim{
		Chapter: Host, Article: []int{62},
		Says: Text{"GRO saves the receiver: without it the stack takes every frame by itself and its cores work half as " +
			"long again.",
			"GRO 省的是接收端：关掉它，协议栈要逐帧处理，CPU 时间多出一半以上。"},
		Setup: tcpSetup, Base: "incast-4to1", Set: tcpBulk, Rate: "400Gbps", Size: "32MB",
		Variants: []Variant{with("on", "GRO", "开 GRO"), with("off", "no GRO", "关 GRO", "host.gro=false")},
		Checks:   []Check{over(receiverCores(), "off", 1.5, receiverCores(), "on")},
		Off:      Removal{What: Text{"GRO, in both", "两者都关 GRO"}, Set: []string{"host.gro=false"}},
		Range:    Range{seeds, allRates, bulkSizes}, Note: caiNote,
	}
}

func zeroCopySends() Claim {
	return Claim{
		Chapter: Host, Article: []int{63, 64},
		Says: Text{"MSG_ZEROCOPY and sendfile spare the sender its copy: less than two thirds of its core time, half " +
			"the bytes copied.",
			"MSG_ZEROCOPY 与 sendfile 省掉发送端的拷贝：CPU 时间不到三分之二，拷贝字节数减半。"},
		Setup: tcpSetup, Base: "incast-4to1", Set: tcpBulk, Rate: "400Gbps", Size: "32MB",
		Variants: []Variant{
			with("copy", "copies", "拷贝发送"), with("zero", "MSG_ZEROCOPY", "MSG_ZEROCOPY", "host.send=zerocopy"),
			with("file", "sendfile", "sendfile", "host.send=sendfile"),
		},
		Checks: []Check{
			under(senderCores(), "zero", 0.67, senderCores(), "copy"), under(senderCores(), "file", 0.67, senderCores(), "copy"),
			under(copied(), "zero", 0.51, copied(), "copy"), under(copied(), "file", 0.51, copied(), "copy"),
		},
		Off:   Removal{What: Text{"zero copy", "取消零拷贝"}, Set: []string{"host.send=copy"}},
		Range: Range{seeds, allRates, bulkSizes},
		Note:  Text{"The receiver stays the limit: its copies remain. See the next claim.", "接收端仍是瓶颈：它的拷贝还在。见下一条。"},
	}
}

func tcpNeedNotCopy() Claim {
	return Claim{
		Chapter: Host, Article: []int{65},
		Says: Text{"TCP does not force copies: with MSG_ZEROCOPY and TCP_ZEROCOPY_RECEIVE not a page is copied, and the " +
			"stream is faster.",
			"TCP 并不必然拷贝：配合 MSG_ZEROCOPY 与 TCP_ZEROCOPY_RECEIVE，一页也不拷贝，流还更快。"},
		Setup: tcpSetup, Base: "incast-4to1", Set: append([]string{"tcp.mtu=4148"}, tcpBulk...), Rate: "400Gbps",
		Size: "32MiB",
		Variants: []Variant{
			with("copy", "copies", "拷贝"), with("zero", "zero copy at both ends", "两端零拷贝", "host.send=zerocopy",
				"host.receive=zerocopy"),
		},
		Checks: []Check{
			atMost(copied(), "zero", 4095), over(copied(), "copy", 2, posted(), "copy"), over(goodput(), "zero", 1.05,
				goodput(), "copy"),
		},
		Off:   Removal{What: Text{"zero copy on receipt", "取消接收侧零拷贝"}, Set: []string{"host.receive=copy"}},
		Range: Range{seeds, allRates, []string{"16MiB", "20MB", "32MiB"}},
		Note: Text{"Both variants have an IP MTU of 4148, one page of payload to a frame: zero copy on receipt needs " +
			"that, and maps pages instead; what does not fill the last one is copied. RDMA needs neither.",
			"两种情形的 IP MTU 都是 4148，每帧负载恰为一页：接收侧零拷贝有此要求，并以页映射代替拷贝，不满一页的末尾仍要拷贝。RDMA 两者都不需要。"},
	}
}

func acksAreWork() Claim {
	return Claim{
		Chapter: Host, Article: []int{57, 59},
		Says: Text{"Sequence numbers and ACKs are the kernel's work in TCP, at both ends; in RDMA they are the card's, " +
			"and no core hears of them.",
			"序号与 ACK 在 TCP 里是两端内核的工作；在 RDMA 里由网卡处理，不占用 CPU。"},
		Setup: Text{"One host with a Xeon and Linux sends {size} to another, at {rate}.",
			"一台 Xeon + Linux 主机向另一台发送 {size}，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("2"), single, linux}, Rate: "400Gbps", Size: "32MB",
		Variants: []Variant{named("tcp", "tcp"), named("rdma", "rocev2")},
		Checks: []Check{
			atLeast(ackCores(), "tcp", 10e6), atMost(ackCores(), "rdma", 0), over(sentPackets(), "rdma", 1000, posts(), "rdma"),
		},
		Off: Removal{What: Text{"the kernel (verbs in both)", "不用内核，都用 verbs"}, Only: "tcp",
			Set: []string{stack("rocev2")}},
		Range: Range{seeds, allRates, []string{"8MB", "16MB", "32MB"}},
	}
}

func interruptsWait() Claim {
	return Claim{
		Chapter: Host, Article: []int{66},
		Says: Text{"Interrupts wait and wake: a host that polls takes none and answers sooner, and a core is busy for " +
			"it all the time.",
			"中断要等待、要唤醒：改用轮询则没有中断、响应更快，但要一直占着一个核。"},
		Setup: Text{"One host with a Xeon and Linux calls another over TCP 50 times with {size}, at {rate}.",
			"一台 Xeon + Linux 主机经 TCP 向另一台发起 50 次 {size} 的调用，链路 {rate}。"},
		Base: "incast-4to1", Rate: "400Gbps", Size: "256B",
		Set: []string{star("2"), "workload=[{rpc: {between: [h0, h1], size: {size}, every: 50us, count: 50}}]",
			stack("tcp"), linux},
		Variants: []Variant{
			with("irq", "interrupts", "中断"), with("poll", "busy polling", "忙轮询", "host.busy_poll=true"),
		},
		Checks: []Check{
			atMost(interrupts(), "poll", 0), atLeast(interrupts(), "irq", 50), under(rpcP99(""), "poll", 0.8, rpcP99(""), "irq"),
			over(allCores(), "poll", 1.5, allCores(), "irq"),
		},
		Off:   Removal{What: Text{"polling", "取消轮询"}, Set: []string{"host.busy_poll=false"}},
		Range: Range{seeds, allRates, []string{"256B", "1KB"}},
	}
}

func zeroCopyNoKernel() Claim {
	return Claim{
		Chapter: Host, Article: []int{67, 68},
		Says: Text{"RDMA copies nothing and enters no kernel in steady state: no byte copied, no system call, no interrupt.",
			"RDMA 稳态下零拷贝、绕过内核：没有一个字节被拷贝，没有系统调用，也没有中断。"},
		Setup: Text{"One host with a Xeon and Linux sends 16 messages of {size} to another, at {rate}.",
			"一台 Xeon + Linux 主机向另一台发送 16 条 {size} 的消息，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("2"), "workload=[{flow: {from: h0, to: h1, size: {size}, count: 16}}]",
			linux},
		Rate: "400Gbps", Size: "64KB", Variants: []Variant{named("rdma", "rocev2"), named("tcp", "tcp")},
		Checks: []Check{
			atMost(copied(), "rdma", 0), atMost(syscalls(), "rdma", 0), atMost(interrupts(), "rdma", 0), atLeast(allCores(),
				"rdma", 1e3),
			over(copied(), "tcp", 2, posted(), "tcp"), atLeast(syscalls(), "tcp", 16),
		},
		Off: Removal{What: Text{"verbs (sockets instead)", "不用 verbs，改用 socket"}, Only: "rdma",
			Set: []string{stack("tcp")}},
		Range: Range{seeds, allRates, []string{"4KB", "64KB", "1MB"}},
		Note: Text{"What remains is posting, the doorbell and polling; connections and registration do enter the kernel.",
			"剩下的只是提交、门铃与轮询；建链与注册内存仍要进内核。"},
	}
}

func cardSegments() Claim {
	return Claim{
		Chapter: Host, Article: []int{69},
		Says: Text{"The card segments and acknowledges: one work request becomes hundreds of packets, and a message a " +
			"hundred times as long takes no more core time.",
			"分段与确认都由网卡完成：一个工作请求变成成百上千个报文，消息长一百倍也不多花 CPU。"},
		Setup: Text{"One host with a Xeon and Linux writes {size}, or a hundredth of it, to another, at {rate}.",
			"一台 Xeon + Linux 主机向另一台写入 {size} 或其百分之一，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("2"), linux}, Rate: "400Gbps", Size: "8MB",
		Variants: []Variant{
			with("long", "long", "长消息", single), with("short", "80 KB", "80 KB",
				"workload=[{flow: {from: h0, to: h1, size: 80KB}}]"),
		},
		Checks: []Check{
			over(sentPackets(), "long", 500, posts(), "long"), atLeast(posts(), "long", 1), under(allCores(), "long", 1.01,
				allCores(), "short"),
		},
		Off: Removal{What: Text{"the card's transport (TCP in the kernel)", "不用网卡传输，改用内核 TCP"},
			Set: []string{stack("tcp")}},
		Range: Range{seeds, allRates, []string{"4MB", "8MB", "16MB"}},
	}
}

func noRemoteCPU() Claim {
	return Claim{
		Chapter: Host, Article: []int{15, 70, 106},
		Says: Text{"RDMA moves memory and needs no remote CPU: WRITE and READ leave the other side's application " +
			"without work, which SEND does not.",
			"RDMA 搬的是内存，不需要远端 CPU：WRITE 与 READ 不给对端应用添任何事，SEND 则会。"},
		Setup: Text{"One host moves 32 messages of {size} to another by WRITE and SEND, and from it by READ, at {rate}.",
			"一台主机用 WRITE、SEND 向另一台写 32 条 {size} 的消息，再用 READ 读回同样多，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("2"), "host.post=200ns", "host.poll=100ns"}, Rate: "400Gbps", Size: "64KB",
		Variants: []Variant{oneSided("write", "h0", "h1"), oneSided("read", "h1", "h0"), oneSided("send", "h0", "h1")},
		Checks:   []Check{atMost(work("h1"), "write", 0), atMost(work("h1"), "read", 0), atLeast(work("h1"), "send", 32)},
		Off: Removal{What: Text{"one-sided verbs (SEND instead)", "不用单边操作，改用 SEND"}, Only: "write",
			Set: oneSided("send", "h0", "h1").Set},
		Range: Range{seeds, allRates, []string{"4KB", "64KB", "1MB"}},
		Note:  Text{"TCP, too, carries its bytes to a process, which has to read them.", "TCP 把字节送到进程，进程必须自己去读。"},
	}
}

func atomicsInTheCard() Claim {
	return Claim{
		Chapter: Host, Article: []int{16},
		Says: Text{"Atomics run in the other side's card: compare-and-swap returns within microseconds and leaves its " +
			"application without work.",
			"原子操作由对端网卡执行：CAS 几微秒即返回，不惊动对端应用。"},
		Setup: Text{"One host does 16 CAS on another's memory, one after the other, at {rate}.",
			"一台主机对另一台内存依次做 16 次 CAS，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("2"), "workload=[{flow: {from: h0, to: h1, verb: cas, count: 16, depth: " +
			"1}}]", "host.post=200ns", "host.poll=100ns"},
		Rate: "400Gbps", Variants: []Variant{with("cas", "CMP_SWAP", "CMP_SWAP")},
		Checks: []Check{atLeast(completed(), "cas", 16), atMost(slowest(), "cas", 5e6), atMost(work("h1"), "cas", 0)},
		Off: Removal{What: Text{"the atomic (a call that the other side's application answers)", "不用原子操作，改由对端应用应答"},
			Set: []string{"workload=[{rpc: {between: [h0, h1], size: 16B, count: 16, every: 5us}}]"}},
		Range: Range{Seeds: seeds, Rates: allRates},
	}
}

func queuesOfWork() Claim {
	return Claim{
		Chapter: Host, Article: []int{71},
		Says: Text{"Queue pairs are queues: SEND without a posted receive is refused (RNR) and tried again until there " +
			"is one.",
			"QP 就是队列：对端没有预先提交接收请求，SEND 就被 RNR 拒收，直到有了为止。"},
		Setup: Text{"One host sends 16 messages of {size} to one that posts 4 receives, and each anew after 100 us, at " +
			"{rate}.",
			"一台主机向另一台发送 16 条 {size} 的消息；对端只提交 4 个接收请求，每个用掉后 100 us 补一个，链路 {rate}。"},
		Base: "incast-4to1", Set: []string{star("2"), "host.repost=100us"}, Rate: "400Gbps", Size: "64KB",
		Variants: []Variant{
			with("few", "4 receives", "4 个接收请求", receives("4")), with("many", "16 receives", "16 个接收请求", receives("16")),
		},
		Checks: []Check{
			atLeast(refusals(), "few", 1), atMost(refusals(), "many", 0), over(slowest(), "few", 3, slowest(), "many"),
			atLeast(completed(), "few", 16),
		},
		Off:   Removal{What: Text{"the want of receives", "接收请求充足"}, Only: "few", Set: []string{receives("16")}},
		Range: Range{seeds, allRates, []string{"4KB", "64KB"}},
		Note:  Text{"IBTA volume 1, 9.7.5.2: RNR NAK.", "IBTA 卷 1 第 9.7.5.2 节：RNR NAK。"},
	}
}

func senderCores() *Figure {
	return coreTime("h0", "transmit", Text{"core time of the sender", "发送端 CPU 时间"})
}

func receiverCores() *Figure {
	return coreTime("h1", "receive", Text{"core time of the receiver", "接收端 CPU 时间"})
}

func ackCores() *Figure {
	return coreTime("h0", "receive", Text{"core time that the sender spends on ACKs", "发送端处理 ACK 的 CPU 时间"})
}

// oneSided is a variant that moves 32 messages by a verb.
func oneSided(verb, from, to string) Variant {
	return with(verb, verb, verb, "workload=[{flow: {from: "+from+", to: "+to+", size: {size}, count: 32, verb: "+
		""+verb+"}}]")
}

// work is what the application of a host has to do.
func work(host string) *Figure {
	return ofQPs(host, Text{"work requests and completions of " + host + "'s application", host + " 应用处理的工作请求与完成数"},
		func(q *record.QP) int64 { return q.Posts + q.Polls + q.Receives + q.Reposts })
}
