package lang

// chineseCausesA are the sentences of package metrics, files a to h: what stands behind what a run did.
var chineseCausesA = map[string]string{
	// metrics/ack.go
	" waited before it acknowledged": " 在确认之前等待",
	"the ACK had to wait until the READ responses before it were sent": "" +
		"ACK 必须等它前面的 READ 响应发完",
	"no ACK came before the response to a later request, which acknowledges it too": "" +
		"没有单独的 ACK，后一个请求的响应把它一并确认了",
	"the ACK was on its way":          "ACK 在返回途中",
	", because ":                      "，原因是 ",
	"it waited":                       "它在等待",
	"the ACK: ":                       "ACK：",
	"the ACK's %s at %s":              "ACK 的%s，位于 %s",
	"the ACK waited in the queue of ": "ACK 在此排队：",
	"%s, held by %s, because %s":      "%s，被%s挡住，原因是 %s",
	"the first ACK did not arrive; a later one did": "第一个 ACK 没有到达，到的是后来的一个",
	"; ": "；",

	// metrics/answers.go
	"nothing was lost: all of that was sent in vain": "并没有丢失任何报文，这些重传都是多余的",
	" alone, and less beside other transfers":        "（单独传输时；与其他传输并行时更低）",
	"receiver host %s: %s, takes %s%s%s; its network link brings up to %s": "" +
		"接收主机 %s：%s，收取速率 %s%s%s；它的网络链路最高可送来 %s",
	" (busy %.0f %% of the run, with %s of data in all and %s received)": "" +
		"（在 %.0f %% 的运行时间里繁忙，共传输 %s 数据，收到 %s）",

	// metrics/cause.go
	"copies without GPUDirect": "没有 GPUDirect 时的拷贝",
	"message rate of ":         "消息速率：",
	"receiver host %s: %s":     "接收主机 %s：%s",

	// metrics/causes.go
	"no data of its class takes this port, only ACKs, NAKs or CNPs": "" +
		"该优先级没有数据走这个端口，只有 ACK、NAK 或 CNP",
	"%s dropped there for want of room in its pool kept the queue short": "" +
		"因缓存池已满在此丢弃了 %s，队列因此没有继续增长",
	"# frame": "个帧",
	"%s dropped there at the egress threshold kept the queue short": "" +
		"因出口门限在此丢弃了 %s，队列因此没有继续增长",
	"only ":    "只有 ",
	" passed ": " 经过，",
	"no data of its class arrives here, only ACKs, NAKs or CNPs": "" +
		"该优先级没有数据到达这里，只有 ACK、NAK 或 CNP",
	"%s dropped %s before (%s)":   "%s 先丢弃了 %s（%s）",
	" arrived ":                   " 到达，",
	"before the run ended, with ": "到运行结束为止，还有 ",
	"# message":                   "条消息",
	" still open":                 "未完成",
	"in all":                      "合计",
	"at most ":                    "最多 ",
	"the window holds %s to %s":   "窗口把 %s 限制在 %s",
	"the window holds each of %s to %s, %s together": "窗口把 %s 每个限制在 %s，合计 %s",
	"# sender": "个发送方",
	"no port it leads to is fed faster than it sends": "它通往的端口，进来的流量都不超过发送能力",
	"one port feeds %s, no faster than it sends (%s)": "给 %s 送流量的只有一个端口，速率不超过它的发送速率（%s）",
	"the %d ports that feed %s bring %s together, no more than it sends (%s)": "" +
		"给 %[2]s 送流量的 %[1]d 个端口合计 %[3]s，不超过它的发送速率（%[4]s）",
	"each of ": "每个 ",
	"congestion control starts %s at %s, together no more than the link": "" +
		"拥塞控制让 %s 以 %s 起步，合计不超过链路速率",
	" of ":                            " / ",
	"%s of %s slowed %s first, as %s": "%[2]s 的 %[1]s先压低了 %[3]s 的速率，原因是 %[4]s",
	"%s slowed %s first, %s":          "%s先压低了 %s 的速率，%s",
	"%s slowed %s first, as marks begin at Kmin, %s": "%s先压低了 %s 的速率，因为超过 Kmin（%s）就开始标记",
	"PFC stopped its senders first, with XOFF at ":   "PFC 先停住了它的发送方，XOFF 门限为入口缓存 ",
	" of ingress":                                                   "（入口）",
	", filled above all by the queue of ":                           "，主要由这里的队列填满：",
	" on the way before more had queued up":                         "（在更上游），队列来不及继续增长",
	"the traffic that met there was over before more had queued up": "经过那里的流量在队列继续增长之前就结束了",
	"as much left as came, except for moments: %s from %s in all, %s on average": "" +
		"除瞬间外进出相当：共 %s，来自 %s，平均 %s",
	"the traffic that met there was over before more had queued up: %s from %s in all": "" +
		"经过那里的流量在队列继续增长之前就结束了：共 %s，来自 %s",
	"%s, of which %s dropped %s (%s)": "%s，其中 %s 丢弃了 %s（%s）",

	// metrics/ceiling.go
	"%s allows %s and it reached %s":                        "%s 允许 %s，实际达到 %s",
	"%d flows shared %s, %s each":                           "%d 条流共享 %s，每条 %s",
	"nothing held it; it was there %s after %s had sent it": "没有受到阻碍；在 %[2]s 发出后 %[1]s 到达",
	"%s less headers and gaps":                              "%s 减去帧头和帧间隔",
	"maximum rate":                                          "最大速率",
	"DCQCN's maximum ":                                      "DCQCN 的最大速率 ",
	"%s per idle round trip of %s":                          "每个空载 RTT（%[2]s）%[1]s",
	"card reads":                                            "网卡读",
	"card writes":                                           "网卡写",
	"inside ":                                               "主机内部：",
	", bounded by ":                                         "，受限于 ",
	"receive buffer of ":                                    "接收缓冲：",
	"the host takes ":                                       "主机的收取速率为 ",
	"card of ":                                              "网卡：",
	"it ":                                                   "它",
	"%d of %s per idle round trip of %s":                    "每个空载 RTT（%[3]s）%[1]d 个 %[2]s",

	// metrics/circle.go
	": %.0f %% of all messages' time went to that":            "：这占所有消息时间的 %.0f %%",
	", and %.0f %% to the storms that the watchdog saw in it": "，看门狗由此判定的风暴占 %.0f %%",
	"; besides, ": "；此外，",
	"deadlock: %s waited for each other in a circle from %s on, until ": "" +
		"死锁：%s 自 %s 起互相等待，形成环，直到 ",
	"the %s broke it at %s, and then each time that it closed again, by %s there in all": "" +
		"%s 在 %s 打破了它，此后每次重新闭合又被打破，那里共有 %s",
	"# discard":                     "次丢弃",
	"the PFC watchdog broke it at ": "PFC 看门狗打破了它，时刻 ",
	"at least ":                     "至少 ",
	" (%s%d times, for it closed again; it stood for %s%s in all)": "" +
		"（%s%d 次，因为它又重新闭合；共持续 %s%s）",

	// metrics/collective_cause.go
	"it was not over at the end of the run, so that it has no critical path": "" +
		"运行结束时它还没有完成，因此没有关键路径",
	"its transfers run side by side, and which of them the last step waited for was not kept," +
		" so that it has no critical path": "" +
		"它的传输并行进行，最后一步等的是哪一个没有记录，因此没有关键路径",
	"held up for %.0f %% of its critical path: %s, before its messages were sent; where was" +
		" not kept": "" +
		"关键路径有 %.0f %% 的时间受阻：%s，发生在消息发出之前；具体位置没有记录",
	"nothing holds its messages for a fifth of its critical path before they are sent; what" +
		" they met on the way was not kept; ": "" +
		"消息发出之前，没有任何因素占到关键路径的五分之一；途中的情况没有记录；",
	"nothing holds its messages for a fifth of its time; ": "没有任何因素占到其时间的五分之一；",
	"held up for %.0f %% of its time: %s":                  "有 %.0f %% 的时间受阻：%s",

	// metrics/control.go
	" of a bitmap of %s": "（位图容量 %s）",
	"%s came behind later ones; %s held at most %s%s until an earlier one came": "" +
		"有 %s 晚于序号在后的报文到达；%s 在缺口补齐前最多保存了 %s%s",
	"# packet": "个报文",
	"%s of the %s that %s sent did not reach senders, which went on at their rates: %s": "" +
		"%[3]s 发送的 %[2]s 中，有 %[1]s没有到达发送方，发送方因此没有降速：%[4]s",
	"# CNP": "个 CNP",
	"look at drops of the class that CNPs travel in (nic.cnp_class)": "" +
		"请检查 CNP 所在优先级的丢包（nic.cnp_class）",
	"no buffer dropped any; look at the link %s - %s, which lost %s (%s)": "" +
		"没有缓存丢弃过它们；请检查链路 %s - %s，它丢失了 %s（%s）",
	"%s sends at most one per %s": "%s 最多每 %s 发送一个",
	"CNPs are kept apart twice: %s, and %s ignores what comes as soon after one that it took:" +
		" %s of the %s that came had no effect (nic.cnp_coalesce)": "" +
		"CNP 被限了两次间隔：%s，而 %s 接受一个之后，紧接着到来的会被忽略：到达的 %[4]s 中有 %[3]s没有起作用（nic.cnp_coalesce）",
	"senders":     "个发送方",
	"queue pairs": "个 QP",
	"and %s more that share a limiter of CNPs so": "另有 %s同样共用一个 CNP 限速器",
	"# port":   "个端口",
	"per port": "（每端口）",
	"to ":      "对 ",
	"%s: %s CNP/s %s, each of %d %s hears at most one per %s on average (min_time_between_cnps" +
		" %s, cnp_limiter %s); each was sent %s to %s CNPs, and %s got none": "" +
		"%[1]s：%[2]s CNP/s%[3]s，%[4]d %[5]s 中的每一个平均最多每 %[6]s 收到一个（min_time_between_cnps %[7]s，cnp_limiter" +
		" %[8]s）；每个收到 %[9]s 至 %[10]s 个 CNP，另有 %[11]s没有引发 CNP",
	"# marked packet": "个被标记的报文",

	// metrics/controller.go
	"round trips were too long or grew":                      "往返时延过长或持续增长",
	"telemetry told of a port that was busier than it wants": "遥测显示途中有端口超过目标负载",
	"packets were lost or came out of order":                 "报文丢失或乱序",
	"; on its way %s had the longest queue":                  "；途中队列最长的是 %s",
	"although no switch on the way marked anything":          "尽管途中没有交换机做过标记",
	"after ":                            "此前收到 ",
	"s":                                 "",
	"s that were sent for losses":       "（因丢包而发）",
	"CE flag":                           "CE 标志",
	" on ACKs":                          "（在 ACK 上）",
	" does not need them":               " 不需要它",
	"no responder sends ":               "没有响应方发送 ",
	"s: there is no congestion control": "：没有启用拥塞控制",
	" never cut: ":                      " 从未降速：",
	" never cut: nothing that it goes by came back to any sender": " 从未降速：没有任何发送方收到过它所依据的信号",

	// metrics/cores.go
	"%s, with the %s of that end, was busy for %.0f %% of its time": "" +
		"%[1]s（该端的%[2]s）在 %.0[3]f %% 的时间里繁忙",

	// metrics/credit.go
	"input buffer of ":               "输入缓冲：",
	"%s of %s per credit loop of %s": "每个信用环路（%[3]s）%[1]s，每个 %[2]s",
	"the input buffer of %s takes %s in a credit loop of %s, no more than %s": "" +
		"%[1]s 的输入缓冲在一个信用环路（%[3]s）内只能收 %[2]s，不超过 %[4]s",

	// metrics/defects.go
	"%.0f %% of all messages' time":          "所有消息时间的 %.0f %%",
	"%.0f %% of the slowest message's time":  "最慢消息时间的 %.0f %%",
	": ":                                     "：",
	" went to that, and ":                    "花在这里，而 ",
	" went to that":                          "花在这里",
	"and to what the failure itself held up": "以及故障本身造成的阻塞",
	"besides, ":                              "此外，",
	"lost CNPs: of %s that receivers behind %s sent, %s arrived, so that %s had to send %s" +
		" to senders that DCQCN should have slowed": "" +
		"CNP 丢失：%[2]s 之后的接收方发送的 %[1]s 中只到达了 %[3]s，%[4]s 只好对本该由 DCQCN 降速的发送方发送 %[5]s",
	"# pause": "次暂停",
	"short headroom: %s lossless frames, which came after its pause; its headroom of %s is" +
		" less than the %s that the cable can need%s": "" +
		"headroom 不足：%s 个无损帧在暂停发出之后到达；其 headroom 为 %s，而这条线缆可能需要 %s%s",
	"wrong priority map: %s puts in priority %d what hosts send in %d, so that pauses of %s" +
		" do not stop it, and %s frames of it%s": "" +
		"优先级映射错误：%s 把主机以优先级 %[3]d 发送的流量放进优先级 %[2]d，%[4]s 的暂停因此停不住它，%[5]s 个帧属于这部分流量%[6]s",
	"wrong priority map: %s puts in priority %d what hosts send in another, and %s frames of" +
		" it%s": "" +
		"优先级映射错误：%s 把主机以其他优先级发送的流量放进优先级 %d，%s 个帧属于这部分流量%s",
	"MTU mismatch: %s frames that are larger than its MTU%s": "MTU 不一致：%s 个大于其 MTU 的帧%s",
	"others of ":                             "（同类链路：",
	" like it":                               "）",
	"those of other hosts":                   "其他主机的链路",
	"the link %s - %s gives %s, and %s %s%s": "链路 %[1]s - %[2]s 只提供 %[3]s，而%[4]s 有 %[5]s%[6]s",
	"# link":                                 "条链路",
	"# card":                                 "张网卡",
	"lost CNPs: of %s that receivers behind %s sent, %s arrived, so that PFC held senders that" +
		" DCQCN should have slowed": "" +
		"CNP 丢失：%[2]s 之后的接收方发送的 %[1]s 中只到达了 %[3]s，本该由 DCQCN 降速的发送方于是被 PFC 停住",
	" (and so at %s more)": "（另有 %s也是如此）",
	"%s dropped %s":        "%s 丢弃了 %s",
	"the link %s - %s loses frames (%s): %s of the %s that it carried, %s, each of which costs" +
		" a NAK, a timeout or a cut of the rate%s": "" +
		"链路 %[1]s - %[2]s 丢帧（%[3]s）：它承载的 %[5]s 中丢了 %[4]s，即 %[6]s，每丢一个就要付出一次 NAK、超时或降速%[7]s",
	", and the like at ": "，同样的还有 ",
	"polarised ECMP: the hash of %s goes together with that of %s, so that what comes up from" +
		" there takes %s and never %s%s; another polynomial or a mixing hash in one of the tiers" +
		" would spread it": "" +
		"ECMP 极化：%[1]s 的哈希与 %[2]s 的相关，从那里上来的流量只走 %[3]s，从不走 %[4]s%[5]s；给其中一层换一个多项式或混合哈希即可打散",
	"PFC came before ECN: %s of %s, which share its buffer, sent pauses from %s each on": "" +
		"PFC 先于 ECN：%[2]s 有 %[1]s（与它共享缓存）各自从 %[3]s 起发送暂停",
	"# ingress port": "个入口端口",
	"%s, and %s, where marks begin at Kmin, %s, marked from %s on only%s": "" +
		"%s，而 %s（标记从 Kmin %s 开始）到 %s 才开始标记%s",
	"%s, while the queue of %s, of which they hold the parts, came to %s and marks begin at" +
		" Kmin, %s%s": "" +
		"%s，而它们占用的 %s 队列只到了 %s，标记从 Kmin %s 才开始%s",

	// metrics/dominant.go
	"earlier messages of ":                                 "先前属于 ",
	" were not sent yet: ":                                 " 的消息尚未发出：",
	"; what was sent again had to wait for its turn again": "；需要重传的部分又得重新排队",

	// metrics/explain.go
	"%s waited for receive work requests at %s": "%s 在等 %s 的接收工作请求",
	"it waited in the receive buffer of %s: %s": "它在 %s 的接收缓冲中等待：%s",
	"a timeout":                            "超时",
	"it was idle":                          "空闲",
	"%s served %s first%s":                 "%s 先服务了%s%s",
	"the NIC of ":                          "网卡 ",
	" sent ACKs, CNPs or PFC frames first": "先发送了 ACK、CNP 或 PFC 帧",
	"the application on %s had not posted it yet":       "%s 上的应用还没有提交它",
	"%s set its connection up first":                    "%s 先建立了连接",
	"%s registered its memory first":                    "%s 先注册了内存",
	"%s put it on the wire at the line's rate, %s":      "%s 以线速 %s 发送",
	"slow restart kept the window of %s small after %s": "%[2]s之后慢重启使 %[1]s 的窗口保持很小",
	"%s let it wait for the READs and atomics before it: it is fenced": "" +
		"%s 让它等前面的 READ 和原子操作完成：它设置了 fence",
	"the NIC fetched what its caches did not hold for ": "网卡在取其缓存中没有的上下文，涉及 ",
	"all of it was answered, but completions keep the order of posting and an earlier READ" +
		" was not complete": "" +
		"它已全部得到响应，但完成要按提交顺序上报，而前面的一个 READ 还没有完成",
	"%s had sent all of it, and %s refused it: %s":                    "%s 已全部发出，%s 拒绝了它：%s",
	"%s had sent all of it when a message before it failed":           "%s 已全部发出，但它前面的一条消息失败了",
	"%s had sent all of it and %s had not acknowledged it":            "%s 已全部发出，%s 还没有确认",
	" had nothing to send":                                            " 没有东西可发",
	"responses of %s arrived, up to one that was lost":                "%s 的响应陆续到达，直到有一个丢失",
	"packets of %s that were sent earlier arrived after its last one": "%s 先发的报文比它的最后一个报文晚到",
	"its way had more hops than the record holds":                     "它经过的跳数超过了记录的容量",
	"a packet takes that long through the pipeline of ":               "一个报文通过这条流水线需要这么久：",
	"a signal takes that long along the cable ":                       "信号在这条线缆上传播需要这么久：",
	" at ": " 于 ",
	"a packet takes that long onto the link at %s of %s": "把一个报文以 %s 送上 %s 的链路需要这么久",
	"a packet takes that long onto the link of ":         "把一个报文送上链路需要这么久：",
	"at ":                               "",
	"back":                              "压住",
	"%s held %s %s, as %s":              "%s 把 %s %s，原因是 %s",
	"%s held %s %s, %s":                 "%s 把 %s %s，%s",
	"%s held %s %s after %ss%s from %s": "%[1]s 收到来自 %[6]s 的 %[4]s%[5]s 之后把 %[2]s %[3]s",
	"%s held %s %s (lowest rate %s) after %s%s from %s": "" +
		"%[1]s 收到来自 %[7]s 的 %[5]s%[6]s 之后把 %[2]s %[3]s（最低速率 %[4]s）",
	", sent for losses: ":                "，因丢包而发：",
	"%s; %s marked packets":              "%s；%s 标记了报文",
	"%s; %s marked packets%s":            "%s；%s 标记了报文%s",
	"%s began at its initial rate of %s": "%s 以初始速率 %s 起步",
	" and no CNP reached it":             "，而且没有 CNP 到达它",
	"%s may send %s at most":             "%s 最多只能以 %s 发送",
	"pacing held ":                       "pacing 限制了 ",
	"s among them,":                      "，",
	"; on the way back %s dropped %s in priority %d, so that it was told late or not at all": "" +
		"；返回途中 %s 在优先级 %[3]d 丢弃了 %[2]s，发送方因此很晚才得知或根本不知道",
	" were not sent yet":                             " 的消息尚未发出",
	"; what held its messages most: ":                "；其消息主要受阻于：",
	"%s's window let %s send no more per round trip": "%s 的窗口使 %s 每个 RTT 不能发送更多",
	", and had become small, as ":                    "，而窗口之所以变小，是因为 ",
	"the window of %s let %s send no more than that per round trip": "" +
		"%s 的窗口使 %s 每个 RTT 不能发送更多",
	"%s had as many READs and atomics outstanding as max_rd_atomic allows, %s: these bring" +
		" %s, where all else allows %s": "" +
		"%s 未完成的 READ 和原子操作已达到 max_rd_atomic 的上限 %s：由此只能达到 %s，而其他因素允许 %s",
	" had as many READs and atomics outstanding as max_rd_atomic allows: ": "" +
		" 未完成的 READ 和原子操作已达到 max_rd_atomic 的上限：",
	"half the PSN space let %s send no more than %s per round trip": "" +
		"半个 PSN 空间使 %s 每个 RTT 最多发送 %s",
	"the receive bitmap of %s let %s send no more than that per round trip": "" +
		"%s 的接收位图使 %s 每个 RTT 不能发送更多",
	", which was long, as ":    "，而 RTT 变长，是因为 ",
	", which took longer, as ": "，而用时更长，是因为 ",
	" when idle":               "（空载）",
	"%s, which the queue of %s stretched (%s on average)%s": "%s，%s 的队列把它拉长了（平均 %s）%s",
	", shared with %s":   "，与 %s共享",
	"# other queue pair": "个其他 QP",
	", which this message does not take but 1 other queue pair does": "" +
		"，本消息不经过它，但有 1 个其他 QP 经过",
	", which this message does not take but %s do": "，本消息不经过它，但 %s经过",
	"other traffic": "其他流量",

	// metrics/failures.go
	"the run": "运行",
	"a black hole for %s, which nobody noticed": "黑洞持续 %s，无人察觉",
	"a black hole, which nobody noticed":        "黑洞，无人察觉",
	"over after %s, before it was noticed":      "%s 后自行恢复，尚未被察觉",
	"not noticed before ":                       "未被察觉，直至 ",
	" ended":                                    "结束",
	"noticed after ":                            "察觉用时 ",
	", not converged before ":                   "，尚未收敛，直至 ",
	"%s, converged after %s (%s)":               "%s，收敛用时 %s（%s）",
	", %s after the link worked again":          "，在链路恢复之后 %s",
	"from ":                                     "自 ",
	" on":                                       " 起",
	"for %s from %s on, until all of them had new tables": "从 %[2]s 起持续 %[1]s，直到它们都换上新表",
	"went round in a loop of %s %s":                       "在 %s 的环路中打转，%s",
	"the message":                                         "消息",
	" with the switch ":                                   "，连同交换机 ",
	" for what ":                                          "（对 ",
	" sends":                                              " 发送的流量）",
	"the link %s failed%s%s at %s, %s":                    "链路 %s 故障%s%s，时刻 %s，%s",
	" %d times, the last":                                 "共 %d 次，最近一次",
	" failed":                                             "故障",
	"the switch ":                                         "交换机 ",
	"no flow changed its path":                            "没有流改变路径",
	"%s failed, %s":                                       "%s 故障，%s",
	"; no table of a switch had to change for it":         "；没有交换机的表需要为此改变",
	"# switch table":                                      "张交换机表",
	"%s; %s changed, but no other way was left: %s then dropped %s": "" +
		"%s；%s已更新，但没有其他路径：%s 随后丢弃了 %s",
	"%s; %s changed, but no packet met another path there": "%s；%s已更新，但没有报文因此改走其他路径",

	// metrics/faults.go
	"; the card of %s %s, of which it reached %.0f %%": "；%s 的网卡 %s，达到其能力的 %.0f %%",
	" to ":       " 至 ",
	"hung ":      "挂死，",
	", but for ": "，其间停顿 ",
	"# lapse":    "次中断",
	"paused its switch for no reason of its own ": "无故暂停了它的交换机，",
	"took data only at %s %s":                     "只以 %s 收取数据，%s",
}
