package claims

import (
	"strings"

	"github.com/hopscope/hopscope/internal/record"
)

// noWorkload takes a shipped scenario's own traffic away, so that a job has the network to itself.
const noWorkload = "workload=[{flow: {from: h0, to: h1, size: 8B, enabled: false}}]"

// step is a training step of a small GPT on some ranks, with what is said of its layout.
func step(ranks, layers, layout string) string {
	return "jobs=[{name: step, ranks: [" + ranks + "], model: {layers: " + layers + ", hidden: 2048, heads: 16, " +
		"sequence: 1024, vocabulary: 1024, micro_batch: 1, gradient_bytes: 2, " + layout + "}}]"
}

// Ranks of four stages on a server each; of two groups of four for tensor parallel, in a server each and over both.
const (
	fourStages = "h0/gpu0, h1/gpu0, h2/gpu0, h3/gpu0"
	tpInside   = "h0/gpu0, h0/gpu1, h0/gpu2, h0/gpu3, h1/gpu0, h1/gpu1, h1/gpu2, h1/gpu3"
	tpAcross   = "h0/gpu0, h1/gpu0, h0/gpu1, h1/gpu1, h0/gpu2, h1/gpu2, h0/gpu3, h1/gpu3"
	tpLayout   = "tp: 4, pp: 2, batch: 4"
)

// trainingClaims are of a training step.
func trainingClaims() []Claim {
	return []Claim{tensorStaysInside(), pipelineBubbles()}
}

func tensorStaysInside() Claim {
	calls := func(what Figure, call string) *Figure {
		what.read = callsOf(what.Unit, call)
		return &what
	}
	bytes := func(call string) *Figure {
		return calls(Figure{Name: Text{"bytes of calls " + call, "调用 " + call + " 的字节数"}, Unit: Bytes}, call)
	}
	taken := calls(Figure{Name: Text{"time of the calls of tensor parallel", "张量并行调用的总时间"}, Unit: Time}, "on tp")
	return Claim{
		Chapter: GPU, Article: []int{73, 82},
		Says: Text{"Of a training step tensor parallel moves the most, ten times what the pipeline sends and more, and " +
			"belongs on NVLink: across servers its calls take more than half again as long.",
			"一个训练步里张量并行的通信量最大，是流水线的十倍以上，应当留在 NVLink 上：一旦跨服务器，其通信耗时增加一半以上。"},
		Setup: Text{"A step of a small GPT on eight GPUs of two DGX H100, tensor parallel 4 and two pipeline stages, at " +
			"{rate}; a group of tensor parallel inside a server, or half in either.",
			"在两台 DGX H100 的八个 GPU 上运行小型 GPT 的一个训练步，张量并行 4、流水线 2 级，链路 {rate}；张量并行组在一台服务器内，或横跨两台。"},
		Base: "allreduce-8x8", Set: []string{rails("2"), noWorkload}, Rate: "400Gbps",
		Variants: []Variant{
			with("inside", "inside servers", "机内", step(tpInside, "4", tpLayout)),
			with("across", "across servers", "跨机", step(tpAcross, "4", tpLayout)),
		},
		Checks: []Check{
			over(bytes("on tp"), "inside", 10, bytes("send"), "inside"), over(taken, "across", 1.5, taken, "inside"),
		},
		Off: Removal{What: Text{"the way across servers", "取消跨机，都放在机内"}, Only: "across",
			Set: []string{step(tpInside, "4", tpLayout)}},
		Range: Range{Seeds: seeds, Rates: allRates},
		Note: Text{"Narayanan et al. 2021 (Megatron-LM): tensor parallel up to the GPUs of a server, pipeline across " +
			"servers.", "Narayanan 等 2021（Megatron-LM）：张量并行不超出单机，跨机用流水线。"},
	}
}

func pipelineBubbles() Claim {
	layout := func(batch string) string { return "tp: 1, pp: 4, batch: " + batch }
	few, many := 3.0/7, 3.0/19 // (p-1)/(m+p-1)
	return Claim{
		Chapter: GPU, Article: []int{76},
		Says: Text{"A pipeline has bubbles: of p stages and m micro-batches GPUs wait (p-1)/(m+p-1) of the time, so that " +
			"more micro-batches shrink them.",
			"流水线有气泡：p 级、m 个微批时，GPU 约有 (p-1)/(m+p-1) 的时间在等待；微批越多，气泡越小。"},
		Setup: Text{"A step of a small GPT in four stages, one GPU of a DGX H100 each, with 4 and with 16 micro-batches, " +
			"at {rate}.",
			"小型 GPT 的一个训练步分四级，每级为一台 DGX H100 的一个 GPU，微批数为 4 与 16，链路 {rate}。"},
		Base: gpuBase, Set: []string{star("4"), noWorkload}, Rate: "400Gbps",
		Variants: []Variant{
			with("few", "4 micro-batches", "4 个微批", step(fourStages, "16", layout("4"))),
			with("many", "16 micro-batches", "16 个微批", step(fourStages, "16", layout("16"))),
		},
		Checks: []Check{
			atLeast(bubble(), "few", few/1.15), atMost(bubble(), "few", few*1.15), atLeast(bubble(), "many", many/1.15),
			atMost(bubble(), "many", many*1.15), under(bubble(), "many", 0.5, bubble(), "few"),
		},
		Off: Removal{What: Text{"the pipeline (all layers on one GPU)", "不用流水线，所有层都在一个 GPU 上"},
			Set: []string{step("h0/gpu0", "16", "tp: 1, pp: 1, batch: 4")}},
		Range: Range{Seeds: seeds, Rates: allRates},
		Note: Text{"Narayanan et al. 2021 for 1F1B. The margin of 15 % is what sending between stages takes, and the last " +
			"stage's head.", "1F1B 公式见 Narayanan 等 2021。15% 的余量留给级间发送与末级的输出层。"},
	}
}

// bubble is the share of the time of a job's ranks, that of the optimizer apart, in which they wait for another stage.
func bubble() *Figure {
	name := Text{"share of the step but for the optimizer in which GPUs wait", "扣除优化器后 GPU 等待的时间占比"}
	return &Figure{name, Share, func(o *Outcome) (float64, bool) {
		if len(o.run.Jobs) == 0 {
			return 0, false
		}
		all, waits := 0.0, 0.0
		for _, t := range o.run.Jobs[0].Times {
			switch {
			case t.Kind == record.JobComputes && t.What == "optimizer":
				continue
			case t.Kind == record.JobMessage, t.Kind == record.JobIdle:
				waits += float64(t.TimePS)
			}
			all += float64(t.TimePS)
		}
		return waits / max(all, 1), true
	}, nil}
}

// callsOf adds up bytes or time of a job's calls whose names have something in them.
func callsOf(u Unit, call string) func(*Outcome) (float64, bool) {
	return func(o *Outcome) (n float64, found bool) {
		for i := range o.run.Jobs {
			for _, c := range o.run.Jobs[i].Calls {
				if !strings.Contains(c.Name, call) {
					continue
				}
				found = true
				if u == Time {
					n += float64(c.TimePS)
				} else {
					n += float64(c.Bytes) * float64(c.Count)
				}
			}
		}
		return n, found
	}
}
