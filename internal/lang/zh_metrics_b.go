package lang

// chineseCausesB are those of the other files.
var chineseCausesB = map[string]string{
	// metrics/idle.go
	", because DCQCN held back what was to leave by it": "，因为 DCQCN 压低了要从这里发出的流量",
	"; what fills it fills its queue, and this class drops what finds no room there (docs/models/dcqcn" +
		".md)": "" +
		"；能填满它的设置也会填满它的队列，而这个优先级缓存不下就丢（docs/models/dcqcn.md）",
	"; dcqcn.%s: %s fills a line": "；dcqcn.%s: %s 可以跑满一条链路",
	"; with %s: true no rate comes back from a cut: dcqcn.%s: false with %s: %s fills a line": "" +
		"；%s: true 时降速后速率不再恢复：dcqcn.%s: false 加上 %s: %s 可以跑满一条链路",
	" at the price of its queue": "，代价是队列变长",
	" (docs/models/dcqcn.md)":    "（docs/models/dcqcn.md）",
	"%s: %d to 1 at %d Gb/s, 32 MB each, then reaches %.0f %% with %.3g MB in it on average" +
		" (docs/models/dcqcn.md)": "" +
		"%s：%d 打 1，%d Gb/s，每个 32 MB，可达到 %.0f %%，队列平均 %.3g MB（docs/models/dcqcn.md）",
	" beside its pauses": "（暂停时间除外）",
	"%s got %%.0f %%%% less than the %s that its host takes": "" +
		"%s 得到的比其主机能收取的 %[2]s 少 %%.0f %%%%",
	"%s holds %s at %s": "%s 把 %s 限制在 %s",
	"%s had %s begin at %s, and rates rise slowly from there": "%s 让 %s 以 %s 起步，速率从那里缓慢上升",
	"%s, for %s; %s: %v fills it":                             "%s，持续 %s；%s: %v 可以跑满它",

	// metrics/inside.go
	"the card had not got the work request of ":            "网卡还没有拿到工作请求：",
	"the card wrote it to memory":                          "网卡正在把它写入内存",
	"without GPUDirect, %s copied it out of the GPU first": "没有 GPUDirect，%s 先把它从 GPU 拷贝出来",
	"without GPUDirect, %s copied it into the GPU":         "没有 GPUDirect，%s 要把它拷贝进 GPU",
	"payload of %s was still being read from memory: %s":   "%s 的数据还在从内存读取：%s",
	"payload of ":                       "",
	" was still being read from memory": " 的数据还在从内存读取",
	"no less than the line":             "不低于线速",
	"little less than the line":         "只略低于线速",
	"%s, %s, which it shares with %s%s": "%s，%s，而且与 %s共享%s",
	"; then %s of %s":                   "；然后是 %[2]s 的 %[1]s",
	"without GPUDirect data of GPUs are copied through %s of %s, over the links that the card" +
		" takes as well": "" +
		"没有 GPUDirect，GPU 的数据要经 %[2]s 的 %[1]s 中转，走的还是网卡要用的链路",
	"the card of %s takes up the work requests of one queue pair every %s, %s of %s each, however" +
		" fast its line; more queue pairs, or larger messages, bring more": "" +
		"%s 的网卡每 %s 取一个 QP 的工作请求，每个 %[4]s 即 %[3]s，与线速无关；多用几个 QP 或用更大的消息才能更快",
	" (a shared card: data of %s and %s take %s of %s)": "（共享网卡：%s 和 %s 的数据都走 %[4]s 的 %[3]s）",
	", which takes one packet the latency of that way, whatever its rate": "" +
		"，单个报文要花这条路径的时延，与速率无关",
	", %s at most%s: %s of %s": "，最高 %s%s：%[4]s 的 %[3]s",
	" while it reads as much":  "（同时还要读同样多）",
	" while it writes as much": "（同时还要写同样多）",
	", as ACS sends what %s and %s exchange up to the root complex": "" +
		"，因为 ACS 把 %s 与 %s 之间的流量送到根复合体再折返",
	", as %s is at another socket than %s (NUMA)":   "，因为 %s 与 %s 不在同一个 CPU 插槽（NUMA）",
	", over a slow slot":                            "，插槽速率低",
	", less what misses of the IOTLB cost, %s each": "，再减去 IOTLB 未命中的代价，每次 %s",

	// metrics/jobs.go
	"%s takes %.1f times what it takes alone, %s": "%s 用时是单独运行时的 %.1f 倍，%s",
	"fill ":            "占满了 ",
	"fills ":           "占满了 ",
	", which ":         "，而 ",
	" takes as well: ": "也要经过它：",

	// metrics/mechanisms.go
	"marking is off at every port that carried data": "承载数据的端口都没有启用标记",
	"no connection has a window":                     "没有连接使用窗口",
	"every requester goes back N: no receive bitmap bounds what is outstanding": "" +
		"所有请求方都采用 go-back-N，没有接收位图限制在途报文",
	"nobody posted READs or atomics":                         "没有提交 READ 或原子操作",
	"PFC is off at every switch port that carried data":      "承载数据的交换机端口都没有启用 PFC",
	"there is no lossless class":                             "没有无损优先级",
	"no lossy class with a limit carried anything":           "没有设门限的有损优先级承载流量",
	"nothing was sent":                                       "没有发送任何东西",
	"the packets are not ECN-capable (ECT)":                  "报文不支持 ECN（没有 ECT）",
	"with Pmax 0 packets are marked only above Kmax; ":       "Pmax 为 0，只有超过 Kmax 才标记；",
	"marking looks at what stays behind a frame that leaves": "标记看的是出队之后剩下的队列",
	"the queue passed %s by less than a frame, and %s":       "队列超过 %s 不到一个帧，而且 %s",
	"the queue passed Kmin, but chance marked none: the probability rises to %.3g %% only at" +
		" %s": "" +
		"队列超过了 Kmin，但按概率一个也没有标记：要到 %[2]s 概率才升到 %.3[1]g %%",
	", and ":               "，而且 ",
	"no packet was marked": "没有报文被标记",
	"%s marked, but none that reached this queue pair": "标记了 %s，但都没有到达这个 QP",
	"no ":         "没有 ",
	" reached it": " 到达它",
	"%s%s reached it and left its rate at %s: it was at the minimum rate already, or the run" +
		" ended first": "" +
		"有 %s%s到达，但速率保持在 %s：它已处于最低速率，或者运行先结束了",
	" does not go by marks":            " 不依据标记",
	"no sender has congestion control": "没有发送方启用拥塞控制",
	"TCP sends what its windows admit at once (tcp.pacing: true spreads it over the round trip)": "" +
		"窗口允许多少，TCP 就立即发送多少（tcp.pacing: true 可把它分散到整个 RTT）",
	"no sender has congestion control: all send at the line's rate":  "没有发送方启用拥塞控制：都以线速发送",
	"its window was full before its segments would have had to wait": "报文段还不需要等待，窗口就已经满了",
	"its rate never fell below the line's":                           "它的速率从未低于线速",
	"its port was busy, or it had nothing to send, for longer than its rate asks": "" +
		"端口繁忙或没有东西可发的时间，比速率要求的间隔更长",
	"max_rd_atomic let it ask for %s at a time": "max_rd_atomic 每次只允许它请求 %s",
	"it asked for only ":                        "它总共只请求了 ",
	" in all":                                   "（合计）",
	"it sent only ":                             "它只发送了 ",
	"# rate cut":                                "次降速",
	" kept it from filling the window":          "使它没有用满窗口",
	"ACKs came back in time: the path holds %s (%s at %s)": "ACK 来得及时：路径容量为 %s（%s × %s）",
	"other traffic or pauses kept it to %s in flight":      "其他流量或暂停使它在途的数据不超过 %s",
	"at most %s were outstanding":                          "最多有 %s未确认",
	"nothing was left to send when it was full":            "用满时已经没有东西可发",
	"at most %s outstanding":                               "最多有 %s未完成",
	"# request":                                            "个请求",
	"no further READ or atomic had to wait":                "没有 READ 或原子操作因此等待",
	"its link failed at %s and gave none back":             "它的链路在 %s 故障，没有归还信用",
	"XOFF was never crossed":                               "从未越过 XOFF",
	" arrived after XOFF":                                  " 在 XOFF 之后到达",
	"PFC is off, although %s takes data only at %s":        "PFC 未启用，尽管 %s 只以 %s 收取数据",
	"the receive queues of hosts, from which cores take frames, drop and send no XOFF": "" +
		"主机的接收队列由核来取帧，满了就丢，不发 XOFF",
	"every frame found room in its receive queue":      "每个帧都能放进接收队列",
	"every frame found room in it":                     "每个帧都放得下",
	"the host takes %s, as fast as the link brings it": "主机以 %s 收取，与链路送来的一样快",
	"nothing was lost":                                 "没有丢包",
	" were dropped, none of them followed by a later packet of this queue pair": "" +
		"被丢弃，其后这个 QP 都没有再来报文",
	"it has waited ":            "到目前为止已等待 ",
	" for an ACK or NAK so far": "，还没有等到 ACK 或 NAK",
	"the longest wait for an ACK or NAK that brought progress was ": "" +
		"等待一个推进进度的 ACK 或 NAK，最长为 ",
	"no retransmission timer expired":        "没有重传定时器到期",
	"no message took a receive work request": "没有消息消耗接收工作请求",
	"its":                                    "自己的",
	"the shared":                             "共享的",
	"messages had at most %s of %s %s receive work requests at a time": "" +
		"%[3]s %[2]s 个接收工作请求，消息同时最多占用 %[1]s 个",

	// metrics/met.go
	"%s; %s marked %d of its packets":                       "%s；%s 标记了它的 %d 个报文",
	"%s, fed no faster than it sends, but %s paused it: %s": "%s，进入的流量不超过它的发送速率，但 %s 暂停了它：%s",
	"%s and was held by %s, because %s":                     "%s，又被%s挡住，原因是 %s",
	"packets":                                               "报文",
	"acknowledgements":                                      "确认",
	"%s waited %s each":                                     "%s 每个等待 %s",
	"%s at %s, held by %s":                                  "%s，位于 %s，被%s挡住",
	"%s in the queue of %s%s":                               "%s，在 %s 排队%s",
	", behind %s %d":                                        "，排在 %s %d 之后",
	", which is served first":                               "，后者优先发送",

	// metrics/moved.go
	"; packets ":                           "；报文 ",
	"; packets %s, and %s ended their TTL": "；报文%s，%s 的 TTL 因此耗尽",
	" and to what waited at %s, where new tables led what took another way%s": "" +
		"，以及在 %s 等待的流量：新表把改道的流量引到了那里%s",
	", to which new tables sent what another way took; ": "，新表把改道的流量送到了这里；",

	// metrics/path_shares.go
	"only a faster way, or another algorithm, helps": "只有更快的链路或换一种算法才有用",
	": fewer steps or shorter ones, such as by another algorithm, help, a faster way does not": "" +
		"：减少步数或缩短每一步（例如换一种算法）有用，更快的链路没有用",
	": only a faster way, or another algorithm, helps": "：只有更快的链路或换一种算法才有用",

	// metrics/pausetree.go
	"shares":                    "共享",
	"share":                     "共享",
	" its ":                     "它的 ",
	" (others like it have %s)": "（同类的有 %s）",
	"%s %s to %s, and it sends %.0f %% of the time": "" +
		"%[1]s%[2]s（到 %[3]s），它有 %.0[4]f %% 的时间在发送",
	"its card ":                              "它的网卡 ",
	"does not take data as fast as it comes": "的收取速率低于数据到达的速率",
	"takes data only at ":                    "收取数据的速率只有 ",

	// metrics/places.go
	"off: ": "未启用：",

	// metrics/root.go
	" held ":       " 停住了 ",
	", behind it ": "，其后是 ",
	"%d ports wait for each other in a circle: a deadlock": "%d 个端口互相等待成环：死锁",
	"%s%s could not send as fast as it was fed":            "%s%s 的发送速率低于流量进入的速率",
	" only at ":       "的速率只有 ",
	"%s takes data%s": "%s 收取数据%s",
	"; the record does not show what filled the buffer behind it": "；记录没有显示是什么填满了它后面的缓存",
	"it waited in the queue of ":                                  "它在此排队：",
	", held by ":                                                  "，被挡住：",
	" as were ":                                                   "，同样被挡住的有 ",
	"a loss had to be noticed":                                    "丢包要先被发现",
	"packets that ":                                               "需要重传的报文，原先由 ",
	" had sent before had to be sent again":                       " 发送",
	" had no other way to send it":                                " 没有其他路径可走",
	"%s; %s of its connection %s, and ended their TTL":            "%[1]s；其连接有 %[2]s %[3]s，TTL 耗尽",
	"%s dropped %s of its connection (%s)":                        "%s 丢弃了其连接的 %s（%s）",
	", in priority %d, in which acknowledgements travel":          "，在优先级 %d，确认走的就是它",
	", in priority %d, where %s puts what %s sends in priority %d": "" +
		"，在优先级 %[1]d：%[2]s 把 %[3]s 以优先级 %[4]d 发送的流量放到了那里",
	": %s sends in priority %d what %s pauses in priority %d": "" +
		"：%s 以优先级 %d 发送，而 %s 暂停的是优先级 %d",
	", and the cable can need %s":           "，而这条线缆可能需要 %s",
	", which took it for a storm, because ": "，它把这判定为风暴，原因是 ",
	": more came after its pause than its headroom of %s holds": "" +
		"：暂停发出后到达的数据超过了它 %s 的 headroom",
	"%s dropped frames (%s)": "%s 丢了帧（%s）",
	"a NAK":                  "NAK",
	"a missing response":     "缺失的响应",
	", by ":                  "，由以下信号得知：",
	"part of it was lost on the way and sent again: ": "有一部分在途中丢失并重传：",
	"; %s takes data at %s":                           "；%s 以 %s 收取数据",
	" over ":                                          "，经 ",
	", less the time in which its NIC fetched what its caches did not hold": "" +
		"，再减去网卡取缓存中没有的内容所花的时间",
	"; %s paused it, as %s takes %s%s": "；%s 暂停了它，因为 %s 只收 %s%s",
	"fetched contexts and translations that its caches did not hold, which took longer than" +
		" all data at ": "" +
		"在取其缓存中没有的上下文和地址转换，花的时间比全部数据发送的时间还长，速率为 ",
	" in the receive buffer of ": "，在接收缓冲：",
	": the NIC ":                 "：网卡 ",
	", drained at ":              "，取走的速率为 ",

	// metrics/series.go
	", which is no faster and has as much to send, would mark in its place: ": "" +
		"同样快、也同样要发这么多，没有它也会由那里来标记：",
	"either alone gains little":                           "只改其一收效甚微",
	", and without that it would have waited as long at ": "，没有它也会在别处等同样久：",
	", to which more came than it sends":                  "，进入的流量超过它的发送速率",
	"what is inside ":                                     "主机内部：",
	"the cores of ":                                       "这些核：",
	"the ":                                                "",
	" would have held it nearly as long: either alone gains little": " 也会让它等几乎同样久：只改其一收效甚微",

	// metrics/slowed.go
	"sender host %s: %s, gives %s%s%s; its network link takes up to %s": "" +
		"发送主机 %s：%s，提供 %s%s%s；它的网络链路最高可接受 %s",
	"%s was busy for %.0f %% of the time to the last completion, %.0f %% of that with %s": "" +
		"%s 到最后一次完成为止有 %.0f %% 的时间繁忙，其中 %.0f %% 用于%s",
	"core %d of %s": "%[2]s 的 %[1]d 号核",
	"%s was busy for %.0f %% of the time, %.0f %% of that with %s: what it works for gains" +
		" no more than %.0f %% unless that costs less or is shared with another core": "" +
		"%s 有 %.0f %% 的时间繁忙，其中 %.0f %% 用于%s：除非减少这项开销或分给另一个核，它所服务的流量最多只能再提高 %.0f %%",
	" and the interrupts that they wait for": "以及它们等待的中断",
	"%s was busy for %.0f %% of the time":    "%s 有 %.0f %% 的时间繁忙",
	" ACS sends what devices exchange up to the root complex and down again": "" +
		"：ACS 把设备之间的流量送到根复合体再折返",
	" data cross from socket to socket between memory and card (NUMA)": "" +
		"：数据在内存与网卡之间跨 CPU 插槽（NUMA）",
	" cards are in slow slots": "：网卡插在低速插槽上",
	"%s and %d more":           "%s 等，另有 %d 个",
	" and ":                    "，",

	// metrics/spent.go
	"%s (%s of %s)": "%s（%s，共 %s）",

	// metrics/stalled.go
	"what was lost (": "丢失的部分（",
	") is never sent again: no retransmission timer runs": "）不会重传：没有重传定时器",
	"nothing is pending that could move one on":           "没有任何事件能再推动它们",
	"reply":                        "条应答",
	"replies":                      "条应答",
	"its request never arrived":    "它的请求始终没有到达",
	"their requests never arrived": "它们的请求始终没有到达",
	"message":                      "条消息",
	"messages":                     "条消息",
	"what comes before it in the collective never ended":   "集合通信中它之前的步骤始终没有结束",
	"what comes before them in the collective never ended": "集合通信中它们之前的步骤始终没有结束",
	"no trigger started it":                                "没有触发条件启动它",
	"no trigger started them":                              "没有触发条件启动它们",
	"1 %s was never posted, as %s (%s)":                    "有 1 %s始终没有提交，因为 %s（%s）",
	"%d %s were never posted, as %s (%s)":                  "有 %d %s始终没有提交，因为 %s（%s）",
	"%s posts no more receives: %s retried for ever, rnr_retry 7": "" +
		"%s 不再投递接收请求：%s 无限重试，rnr_retry 为 7",
	"message %d (%s": "消息 %d（%s",
	"; %d behind it": "；其后还有 %d 条",

	// metrics/stream.go
	"nothing came back: the NIC of %s %s": "没有任何返回：%s 的网卡 %s",
	"%s opened its connection first":      "%s 先打开了连接",
	"the socket of %s had no room for what was to be written: its buffer holds %s until that" +
		" is acknowledged": "" +
		"%s 的套接字放不下要写的数据：它的缓冲为 %s，确认之前不能释放",
	"too little for": "不足以支撑",
	"the card had no room for more of %s: it holds %s of a stream until that is acknowledged": "" +
		"网卡放不下 %s 更多的数据：它为一条流保存 %s，确认之前不能释放",
	"%s spreads its segments over the round trip": "%s 把报文段分散到整个 RTT 发送",
	"Nagle's rule held a small segment of %s back until what went before was acknowledged": "" +
		"Nagle 算法扣住了 %s 的一个小报文段，直到先前的数据得到确认",
	" waited for duplicates, time or a probe to tell of a loss":        " 在等重复 ACK、时间或探测来判定丢包",
	"nothing came back until the retransmission timer of %s expired":   "没有任何返回，直到 %s 的重传定时器到期",
	"segments of %s that were sent earlier arrived after its last one": "%s 先发的报文段比它的最后一段晚到",
	"the application on %s had not read it yet":                        "%s 上的应用还没有读取它",
	"the application on %s had not written it yet":                     "%s 上的应用还没有写入它",
	" had not taken it out of its receive queue and through its layers yet": "" +
		" 还没有把它从接收队列取出并送上协议栈",
	"the kernel under %s copied it and made segments of it":     "%s 所在的内核在拷贝它并切成报文段",
	"the receive window that %s grants was full":                "%s 通告的接收窗口已满",
	", and an update that said there was room again was lost: ": "，而通告窗口重新打开的更新又丢失了：",
	" had to wait for its persist timer":                        " 只能等持续定时器",
	": its application reads too slowly, or its buffer is too small for the path": "" +
		"：对端应用读得太慢，或者其缓冲相对路径太小",
	": without window scaling (RFC 7323) it is %s at most": "：没有窗口扩大选项（RFC 7323）时最多为 %s",
	": its buffer holds %s at the end":                     "：其缓冲到结束时为 %s",
	"the congestion window of %s was full":                 "%s 的拥塞窗口已满",
	": it begins at %s and was not cut":                    "：它以 %s 起步，没有减小过",
	"and grows once in":                                    "而且每隔这么久才增长一次：",
	"; it was cut":                                         "；它减小过",
	"; the round trip was long, as ":                       "；RTT 变长，是因为 ",
	"%s, %s the round trip of %s (%s at least)":            "%s，%s RTT %s（最小 %s）",
	" and the ": "以及",
	"; without it the congestion window, which begins at %s, holds it about as long": "" +
		"；没有它，拥塞窗口（以 %s 起步）也会让它等差不多同样久",
	"%s that %s took to take the last of it in and read it": "%[2]s 用了 %[1]s 才把最后一部分收进来并读完",
	", the wait for interrupts included (moderation %s)":    "，包括等待中断的时间（调节方式 %s）",
	"%s; the round trip was long for the %s":                "%s；RTT 变长，是因为 %s",

	// metrics/tcp.go
	"no connection sends":                        "没有连接发送数据",
	"it was never full":                          "它从未满过",
	"the peer's was never full":                  "对端的窗口从未满过",
	"it had room for all that was to be written": "它总放得下要写的数据",
	"no small segment had to wait":               "没有小报文段需要等待",
	"no connection is ECN-capable":               "没有连接支持 ECN",
	"no marked segment reached it":               "没有被标记的报文段到达它",
	"no ECN-Echo reached it":                     "没有 ECN-Echo 到达它",
	"it took nothing for lost":                   "它没有判定任何丢包",
	"it sent %s again for other reasons":         "它因其他原因重传了 %s",
	"# segment":                                  "个报文段",

	// metrics/unreliable.go
	"%s dropped %s (%s)":                                        "%s 丢弃了 %s（%s）",
	" refused, as TCP had acknowledged them":                    " 被拒绝，因为 TCP 已经确认过",
	" lost on the way":                                          " 在途中丢失",
	"lost on the way":                                           "在途中丢失",
	" looks at no PSNs: what is lost is not missed":             " 不检查 PSN：丢了什么无从得知",
	"nothing waits for an acknowledgement on ":                  "以下服务不等待确认：",
	": a message completes when it has left":                    "：消息发出即完成",
	"no sender has a retransmission timer":                      "没有发送方设重传定时器",
	"no NAK is sent on ":                                        "以下服务不发 NAK：",
	": a message that finds no receive work request is dropped": "：遇不到接收工作请求的消息会被丢弃",
	"every responder has receive work requests enough":          "每个响应方都有足够的接收工作请求",
	"every message that arrived whole had the rights, and found the receive, that it needs": "" +
		"每条完整到达的消息都有所需的权限和接收请求",
	" dropped, and nothing is sent again on ": " 被丢弃，而这些服务不重传：",
	"nobody missed what was lost (%s), for %s looks at no PSNs; ": "" +
		"丢失的部分无人察觉（%s），因为 %s 不检查 PSN；",

	// metrics/vain.go
	"%.0f %% to %s, which %s packets filled that %s%s sent again for that": "" +
		"其中 %.0f %% 花在 %s：填满它的 %s 个报文是 %s%s因此而重传的",
	"queue pair": "个 QP",

	// metrics/verdict.go
	"deadlock: %d ports wait for each other in a circle, and %s for them": "" +
		"死锁：%d 个端口互相等待成环，%s 在等它们",
	"%d of %d messages are as fast as their way allows: only a faster link would gain anything": "" +
		"%[2]d 条消息中有 %[1]d 条已达到路径允许的速度：只有更快的链路才有用",
	"%s's card fetched contexts and translations that its caches did not hold before it sent:" +
		" %s went to that, and a faster network would not help": "" +
		"%s 的网卡在发送前要取其缓存中没有的上下文和地址转换：%s花在这里，更快的网络没有用",
	"%s: %s went to that%s, and a faster network would not help": "%s：%s花在这里%s，更快的网络没有用",
	"%s%s: %s went to that, and not to the network":              "%s%s：%s花在这里，而不是网络上",
	", no more than ": "，不超过 ",
	"%s (%s%s): %s went to that, and not to the network": "%s（%s%s）：%s花在这里，而不是网络上",
	"%s: %s went to that, and not to the network":        "%s：%s花在这里，而不是网络上",
	"without GPUDirect data of GPUs are copied through the memory of their hosts: ": "" +
		"没有 GPUDirect，GPU 的数据要经主机内存中转：",
	"%s (%s went to that)":                     "%s（%s花在这里）",
	"%s failed%s: %s went to that%s":           "%s 故障%s：%s花在这里%s",
	" %d times, first%s":                       "，共 %d 次，第一次%s",
	" for ":                                    "（涉及：",
	", which nobody noticed":                   "，无人察觉",
	"'s card ":                                 " 的网卡 ",
	" takes data only at ":                     " 收取数据的速率只有 ",
	" does not take data as fast as they come": "的收取速率低于数据到达的速率",
	" and to the %d senders that share the %s to it, of which a card that keeps up saves no" +
		" more than %.0f %% of the time": "" +
		"，以及共享通往它的 %[2]s 的 %[1]d 个发送方：网卡若跟得上，最多也只能省下 %.0[3]f %% 的时间",
	"; %d senders share the %s to it, so that a card that keeps up saves no more than %.0f" +
		" %% of the time": "" +
		"；有 %[1]d 个发送方共享通往它的 %[2]s，网卡若跟得上，最多也只能省下 %.0[3]f %% 的时间",
	"do":   "都",
	"does": "",
	"%s from %s (%s): %s held %s, %s in all%s; %s that it held %s not go there: %s": "" +
		"%[1]s，源头在 %[2]s（%[3]s）：%[4]s共阻塞了 %[5]s，合计 %[6]s%[7]s；被它挡住的 %[8]s %[9]s不去往那里：%[10]s",
	" until nothing moved, and then to the end":                "，直到一切停住，此后持续到结束",
	" until nothing moved, and then %d of them to the end":     "，直到一切停住，其中 %d 个此后持续到结束",
	", until the PFC watchdog of %s took it for a storm at %s": "，直到 %s 的 PFC 看门狗在 %s 把它判定为风暴",
	", until PFC watchdogs took %s for storms, %s at %s":       "，直到 PFC 看门狗把 %s判定为风暴，其中 %s 在 %s",
	"# queue": "个队列",
	"uneven uplinks: the hashes put %s on %s and none on %s, which lead%s to the same place;" +
		" another seed, more queue pairs per message, spraying or adaptive routing would spread" +
		" them (%s went to that)": "" +
		"上行链路不均：哈希把 %s放在 %s，而 %s 一个也没有，它们通往同一处%[4]s；换一个种子、每条消息多用几个 QP、逐包喷洒或自适应路由都能把它们打散（%[5]s花在这里）",
	" share it": "共享它",
	"%s failed%s, and new tables led there what took another way": "%s 故障%s，新表把改道的流量引到了这里",
	"one sender fills it":                       "一个发送方就占满了它",
	"%s puts in priority %d what is sent in %d": "%s 把以优先级 %[3]d 发送的流量放进优先级 %[2]d",
	"%s to %s is full, %.0f %% of the time: %s, and only a faster port or less traffic to it" +
		" gains anything (%s went to that)": "" +
		"%s 到 %s 的链路已跑满，占 %.0f %% 的时间：%s，只有更快的端口或更少的流量才有用（%s花在这里）",
	", %s found no room": "，%s 没有缓存可放",
	"more came to %s than it sends to %s: %s, it sends %s of the time, and %s went to that": "" +
		"%[1]s 发往 %[2]s 的流量进多出少：%[3]s，它在 %[4]s 的时间里都在发送，%[5]s花在这里",

	// metrics/waits.go
	"for receive work requests at ": "在等接收工作请求：",
	" (RNR NAKs)":                   "（RNR NAK）",
	"behind classes that are served first, most of it at ":            "排在优先服务的类别之后，主要在 ",
	"for a NAK, or a timeout, to tell of a loss":                      "在等 NAK 或超时来发现丢包",
	"for duplicate acknowledgements, or a timeout, to tell of a loss": "在等重复 ACK 或超时来发现丢包",
	" (%s in the run)": "（整个运行 %s）",
	"# timeout":        "次超时",
	"%d of %d messages waited %s: %s of all messages' time": "" +
		"%[2]d 条消息中有 %[1]d 条%[3]s：占所有消息时间的 %[4]s",
	", %.0f %% of the slowest's": "，占最慢消息时间的 %.0f %%",

	// metrics/why.go
	"no congestion, but %s refused a request of %s (%s); ": "没有拥塞，但 %s 拒绝了 %s 的一个请求（%s）；",
	"no frame was ever queued":                             "没有帧排过队",
	"the deepest held %s (%s)":                             "最深的为 %s（%s）",
	"no queue passed ":                                     "没有队列超过 ",
	"no packet was marked, although a queue passed ":       "没有报文被标记，尽管有队列超过了 ",
	"%s (%s): the deepest held %s (%s), because %s":        "%s（%s）：最深的为 %s（%s），原因是 %s",
	"nothing marks, and no buffer reached XOFF: the nearest held %s of %s (%s), because %s": "" +
		"没有启用标记，也没有缓存达到 XOFF：最接近的为 %s，门限 %s（%s），原因是 %s",
	"no queue marked, crossed XOFF or dropped: ":                      "没有队列触发标记、越过 XOFF 或丢包：",
	"credit-based: a full input buffer simply stops granting credits": "基于信用：输入缓冲一满，就不再发放信用",
	"nothing was detected":                                            "没有检测到拥塞",
	"%s packets were marked, but no receiver was to tell":             "%s 个报文被标记，但没有接收方需要通知",
	"%s packets were marked, but no responder sent CNPs":              "%s 个报文被标记，但没有响应方发送 CNP",
	"no message: there are no acknowledgements on ":                   "没有反馈消息：以下服务没有确认：",
	"who missed packets could not tell the sender: there are no acknowledgements on ": "" +
		"缺报文的一方无法告知发送方，因为以下服务没有确认：",
	"nobody had to be told: who missed a response sent the request again itself": "" +
		"不需要通知任何人：缺响应的一方自己重新请求",
	"no packet was marked and no responder missed a PSN":    "没有报文被标记，也没有响应方发现 PSN 缺失",
	"no packet was marked and no receiver missed a segment": "没有报文被标记，也没有接收方发现报文段缺失",
	"no sender took anything for lost, and no ECN-Echo came that asked for it": "" +
		"没有发送方判定丢包，也没有要求降速的 ECN-Echo",
	"no congestion notification was sent":                         "没有发送拥塞通知",
	"no sender cut its rate on the notifications it got":          "收到通知的发送方都没有降速",
	"%s pauses were sent, but no paused port had a frame waiting": "发送了 %s 次暂停，但被暂停的端口都没有帧在等待",
	"PFC is off": "PFC 未启用",
	"no ingress buffer reached XOFF: the nearest held %s of %s (%s), because %s%s": "" +
		"没有入口缓存达到 XOFF：最接近的为 %s，门限 %s（%s），原因是 %s%s",
	"no ingress buffer reached XOFF":                           "没有入口缓存达到 XOFF",
	"no ingress buffer reached XOFF: the fullest held %s (%s)": "没有入口缓存达到 XOFF：最满的为 %s（%s）",
	"no port used up its credits: the nearest had %s of %s in use (%s), because %s": "" +
		"没有端口耗尽信用：最接近的用了 %s，共 %s（%s），原因是 %s",
	"no frame waited for credits":              "没有帧等待信用",
	"PFC is off for %s, where the data travel": "数据所在的%s没有启用 PFC",
	", and on for ":                            "，启用的是 ",
	"priority ":                                "优先级 ",
	"priorities ":                              "优先级 ",
	"%s frames were dropped, but nothing was sent again": "丢了 %s 个帧，但没有重传",
	"nothing was sent again":                             "没有重传",
	", while %s ended in error (%s)":                     "，而 %s以错误结束（%s）",
	" was":                                               "",
	" were":                                              "",
}
