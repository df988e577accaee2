package catalog

import "github.com/hopscope/hopscope/internal/lang"

// The Chinese words of reports, as engineers use them: names of frames, fields and protocols stay as the standards
// write them. Every ID that reports name has an entry, which a test sees to.

var chineseQuestions = []string{NoQuestion: "", Detected: "检测", FedBack: "反馈", Slowed: "降速", Held: "阻塞",
	Recovered: "恢复", Rerouted: "改路"}

var chineseMechanisms = []string{
	NoMechanism: "",

	ECNMark: "ECN 标记", XOFFCross: "越过 XOFF 门限", BufferDrop: "缓存丢包", WREDDrop: "WRED 丢包", LifetimeEnd: "超时丢弃",
	Storm: "PFC 看门狗判定风暴", StormDrop: "PFC 看门狗丢包", PFCSent: "PFC XOFF", PFCPause: "PFC 暂停", FECNMark: "FECN 标记",
	CreditsOut: "信用耗尽", CreditWait: "等待信用", ECMPChange: "ECMP 组变更", LFTChange: "LFT 变更", Spraying: "逐包喷洒",
	Adaptive: "自适应路由", Flowlets: "flowlet 切换",

	SequenceGap: "序号缺口", RNR: "接收方未就绪（RNR）", AckTimeout: "ACK 超时", Reordering: "乱序", CCLog: "CCTI 达到触发门限",
	CNPSent: "CNP", CEOnAck: "ACK 上的 CE 标志", BECNOnAck: "ACK 上的 BECN", NAKSent: "NAK", AskedAgain: "重新请求 READ",
	NAKRefused: "NAK（请求被拒绝）", Terminated: "Terminate 消息", RateCut: "降速", DelayCut: "按时延降速", LoadCut: "按遥测降速",
	LossCut: "丢包后降速", DelayRise: "时延过长或持续增长", LoadRise: "负载高于目标", StampOnAck: "ACK 上的时间戳",
	INTOnAck: "ACK 上的遥测", ProbeAnswer: "探测应答", CCTIIncrease: "CCTI 增大", SlowRestart: "慢重启",
	RetransNAK: "NAK 后重传", RetransReordered: "乱序后重传", RetransTimer: "超时重传", RetransRNR: "RNR NAK 后重试",
	RetransMissing: "响应缺失后重传", RetransRead: "重发 READ 响应",

	NoReceiveDrop: "丢弃消息：没有接收工作请求", TooLongDrop: "丢弃消息：接收缓冲太小", BadQKeyDrop: "丢弃消息：Q_Key 不符",
	RefusedDrop: "丢弃消息：R_Key 或权限不符", BrokenDrop: "丢弃消息：缺少报文",

	LossDupAck: "重复 ACK 判定丢包", LossRACK: "RACK 判定丢包", RTO: "重传超时（RTO）", ECESent: "ECN-Echo", SACKSent: "SACK",
	DupAckSent: "重复 ACK", CutLoss: "丢包后减小窗口", CutECE: "收到 ECN-Echo 后减小窗口", CutRTO: "超时后减小窗口",
	RetransFast: "快速重传", RetransRTO: "RTO 后重传", RetransTLP: "尾部丢包探测（TLP）", RetransUnseen: "重传",

	Rerouting: "路由收敛", HeadroomDrop: "headroom 丢包", EgressDrop: "出口门限丢包", ReceiveXOFF: "接收缓冲 XOFF",
	ReceiveDrop: "接收缓冲丢包", MessageDrop: "丢弃消息", WindowHeld: "窗口", Pacing: "限速发送（pacing）", BitmapHeld: "接收位图",
	ReadsHeld: "max_rd_atomic", CwndHeld: "拥塞窗口", ReceiveWindowHeld: "接收窗口", SendBufferHeld: "发送缓冲", NagleHeld: "Nagle 算法",
}

var chineseStages = []string{
	NoStage: "", StageCPU: "主机 CPU", StageConnect: "建立连接", StageRegister: "内存注册", StageEarlierWork: "排在先前请求之后",
	StageIdle: "空闲", StageRNRWait: "RNR 等待", StageAwaitAck: "等待确认", StageWindow: "窗口", StageSlowRestart: "慢重启",
	StageBitmap: "接收位图", StageAwaitRNR: "等待 RNR NAK", StageRate: "限速", StagePaused: "被暂停", StageCredits: "无信用",
	StageControl: "控制帧", StageOther: "其他流量", StageSending: "发送", StageResending: "重发", StageFence: "fence",
	StageHung: "网卡挂死", StageFetch: "网卡缓存未命中", StageWorkFetch: "门铃与取 WQE", StageRead: "DMA 读", StageCopyOut: "拷贝到主机内存",
	StageReads: "max_rd_atomic", StageInOrder: "排在先前 READ 之后", StageLoss: "等待 NAK 或超时", StageResponses: "接收响应",
	StageReordered: "先发报文仍在途中", StageHandshake: "握手", StageSendBuffer: "发送缓冲", StageCardBuffer: "网卡发送缓冲",
	StageCwnd: "拥塞窗口", StageReceiveWindow: "接收窗口", StagePacing: "pacing", StageNagle: "Nagle 算法", StageDetection: "等待判定丢包",
	StageTimeout: "等待超时", StageReassembly: "先发报文段仍在途中", StageUnread: "接收端应用", StageKernel: "系统调用与发送处理",
	StageSoftirq: "中断与接收处理", StageQueue: "排队", StageReceiveBuffer: "接收缓冲", StagePipeline: "网卡流水线",
	StageSerialisation: "串行化", StagePropagation: "传播", StageLatency: "交换机转发时延", StageJitter: "抖动", StageBeyond: "未记录的跳",
	StageCopyIn: "拷贝到 GPU", StageEntry: "写完成条目", StagePlace: "DMA 写", StageCopy: "拷贝", numStages: "",
}

// chineseAnswers are the stages of the acknowledgement alone.
var chineseAnswers = []string{"合并", "排在 READ 响应之后", "由后续应答隐含确认", "丢失", "被后来者超过", "返回途中"}

var chineseLegs = [legNames]string{LegResponse: "响应：", LegAck: "ACK："}

var chineseParts = []string{PartCores: "CPU 核", PartCopies: "拷贝", PartInside: "网卡、PCIe", PartOrder: "保序",
	PartSlowed: "限速", PartPeer: "接收方", PartHeld: "阻塞", PartQueued: "排队", PartLost: "丢包恢复", PartWire: "线路",
	PartAnswer: "应答", PartLocal: "服务器内", PartUnknown: "其他"}

var chineseDrops = []string{NoDrop: "", DropHeadroom: "超出 headroom", DropEgress: "出口门限", DropPool: "缓存池已满",
	DropIngress: "入口门限", DropWRED: "WRED，不支持 ECN", DropLoss: "链路丢包", DropBitError: "误码",
	DropEvery: "drop_every", DropLinkDown: "链路中断", DropTTL: "TTL 耗尽", DropOversize: "大于端口 MTU",
	DropNoRoute: "无路由", DropReceive: "网卡接收缓冲已满", DropPFC: "PFC 帧在链路上丢失",
	DropCredit: "流控报文在链路上丢失", DropHOQ: "队头停留超时", DropLifetime: "在交换机内停留超时",
	DropPortDown: "端口中断", DropStorm: "PFC 看门狗"}

var chineseVerdicts = []string{NoVerdict: "无", VerdictDeadlock: "死锁", VerdictStorm: "暂停风暴", VerdictUplinks: "上行链路不均",
	VerdictFull: "链路跑满", VerdictPort: "端口拥塞", VerdictReceiver: "接收方", VerdictInside: "主机内部", VerdictCore: "CPU 核",
	VerdictFailure: "故障", VerdictMessages: "消息速率", VerdictStaged: "经主机内存中转", VerdictLoss: "链路丢包", VerdictSlowLink: "慢链路",
	VerdictHeadroom: "headroom 不足", VerdictMap: "优先级映射不一致", VerdictOversize: "MTU 不一致", VerdictPolarised: "ECMP 极化",
	VerdictUnmarked: "PFC 先于 ECN", VerdictLostCNPs: "CNP 丢失", VerdictJobs: "作业互扰"}

var chineseFabrics = []string{LossyEthernet: "有损以太网", LosslessEthernet: "无损以太网", CreditedFabric: "InfiniBand"}

var chineseAPIs = []string{VerbsAPI: "verbs", SocketsAPI: "sockets"}

var chineseWords = []Words{
	Ethernet: {Class: "优先级", ClassLong: "优先级", ClassTitle: "优先级", HeldTitle: "被暂停", Limit: "Kmin", Message: "CNP",
		Holder: "PFC", Control: "DCQCN", HeldAck: "PFC 挡住了 ACK：", Unheld: "没有端口被暂停", HeldUp: "PFC 暂停了 %s",
		HeldTree: "暂停树", HeldStorm: "暂停风暴"},
	InfiniBand: {Class: "VL", ClassLong: "VL", ClassTitle: "VL", HeldTitle: "无信用", Limit: "FECN 门限", Message: "BECN",
		Holder: "信用不足", Control: "拥塞控制", HeldAck: "ACK 在等信用：", Unheld: "没有端口等待信用", HeldUp: "%s 在等信用",
		HeldTree: "等待信用", HeldStorm: "信用等待扩散"},
}

// in is a name in a language: that of a table of Chinese, by index, or the English one.
func in(l lang.Language, table []string, k int, english string) string {
	if l == lang.Chinese && k < len(table) && table[k] != "" {
		return table[k]
	}
	return english
}

// In is the question as a report asks it.
func (q Question) In(l lang.Language) string { return in(l, chineseQuestions, int(q), q.English()) }

// In is what a report calls the mechanism.
func (m Mechanism) In(l lang.Language) string { return in(l, chineseMechanisms, int(m), m.String()) }

// In is what a report calls the part.
func (p Part) In(l lang.Language) string { return in(l, chineseParts, int(p), p.String()) }

// In is what a report calls the cause of drops.
func (d Drop) In(l lang.Language) string { return in(l, chineseDrops, int(d), d.String()) }

// In is what a report calls the verdict.
func (v Verdict) In(l lang.Language) string { return in(l, chineseVerdicts, int(v), v.String()) }

// In is what a report calls the fabric.
func (f Fabric) In(l lang.Language) string { return in(l, chineseFabrics, int(f), f.String()) }

// In is what a report calls the API.
func (a API) In(l lang.Language) string { return in(l, chineseAPIs, int(a), a.String()) }

// In is what a report calls the stage.
func (s Stage) In(l lang.Language) string {
	table, k := chineseStages, int(s.Base())
	if k >= int(numStages) {
		table, k = chineseAnswers, k-int(numStages)
	}
	if l != lang.Chinese || k >= len(table) || table[k] == "" {
		return s.String()
	}
	return chineseLegs[min(s.Leg(), LegAck)] + table[k]
}

// Words are what reports in a language call the layer's things.
func (l Layer) Words(in lang.Language) Words {
	if in == lang.Chinese {
		return chineseWords[l]
	}
	return english[l]
}
