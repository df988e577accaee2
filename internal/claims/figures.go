package claims

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// Outcome is a run with what reports read from it.
type Outcome struct {
	run *record.Run
	sum *metrics.Summary
}

// outcomeOf condenses a run.
func outcomeOf(r *record.Run) *Outcome { return &Outcome{r, metrics.Summarise(r)} }

// Unit is what a figure counts.
type Unit string

// Units.
const (
	Time  Unit = "ps"
	Bytes Unit = "bytes"
	Rate  Unit = "bps"
	Count Unit = ""
	Ratio Unit = "x"
	Cores Unit = "cores"
	Share Unit = "share"
	GBps  Unit = "gbyte_s" // busbw, in 10^9 B
)

// Format writes a value of the unit for reading.
func (u Unit) Format(v float64) string {
	switch u {
	case Time:
		return metrics.FormatTime(units.Time(v))
	case Bytes:
		return metrics.FormatBytes(int64(v))
	case Rate:
		return metrics.FormatRate(units.Rate(v))
	case Count:
		return metrics.FormatCount(int64(v))
	case Cores:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case Share:
		return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
	case GBps:
		return strconv.FormatFloat(v, 'f', 1, 64) + " GB/s"
	}
	return strconv.FormatFloat(v, 'f', 3, 64) + "x"
}

// Figure is a number that is read from a run, or from several seeds of one.
type Figure struct {
	Name Text
	Unit Unit
	// read is false where a run has none: nothing was marked, nobody waited.
	read func(*Outcome) (float64, bool)
	// across, if not nil, makes one value of those of several seeds.
	across func([]float64) float64
}

// always makes a figure that every run has.
func always(name Text, u Unit, read func(*Outcome) float64) *Figure {
	return &Figure{name, u, func(o *Outcome) (float64, bool) { return read(o), true }, nil}
}

func slowest() *Figure {
	return &Figure{Text{"slowest message", "最慢消息的完成时间"}, Time, func(o *Outcome) (float64, bool) {
		return float64(o.sum.Messages.CompletionPS.Worst), o.sum.Messages.Completed > 0
	}, nil}
}

// slowestOf is the longest completion of an entry of the workload.
func slowestOf(entry string, name Text) *Figure {
	return &Figure{name, Time, func(o *Outcome) (float64, bool) {
		for i := range o.sum.Entries {
			if e := &o.sum.Entries[i]; e.Workload == entry {
				return float64(e.CompletionPS.Worst), e.Completed == e.Messages.Messages
			}
		}
		return 0, false
	}, nil}
}

// seedSpread is by how much a figure differs from seed to seed: its range over its median.
func seedSpread(f *Figure) *Figure {
	name := Text{"range over median, of 5 seeds, of the " + f.Name.EN, "5 个种子下" + f.Name.ZH + "的极差与中位数之比"}
	return &Figure{name, Share, f.read, func(v []float64) float64 {
		v = slices.Sorted(slices.Values(v))
		return (v[len(v)-1] - v[0]) / v[(len(v)-1)/2]
	}}
}

func goodput() *Figure {
	return &Figure{Text{"goodput", "有效吞吐"}, Rate, func(o *Outcome) (float64, bool) {
		return float64(o.sum.Messages.GoodputBps), o.sum.Messages.Completed > 0
	}, nil}
}

func completed() *Figure {
	return always(Text{"messages completed", "完成的消息数"}, Count, func(o *Outcome) float64 {
		return float64(o.sum.Messages.Completed)
	})
}

func unfinished() *Figure {
	return always(Text{"messages that never ended", "始终没有结束的消息数"}, Count, func(o *Outcome) float64 {
		return float64(o.sum.Messages.Open)
	})
}

func failed() *Figure {
	return always(Text{"messages that ended in an error", "以错误结束的消息数"}, Count, func(o *Outcome) float64 {
		return float64(o.sum.Messages.Failed)
	})
}

func lost() *Figure {
	return always(Text{"messages never delivered", "从未送达的消息数"}, Count, func(o *Outcome) float64 {
		return float64(o.sum.Messages.Lost)
	})
}

// ended counts the messages with a completion status.
func ended(status string) *Figure {
	return always(Text{"messages that ended with " + status, "以 " + status + " 结束的消息数"}, Count,
		func(o *Outcome) (n float64) {
			for i := range o.run.Messages {
				if o.run.Messages[i].Status == status {
					n++
				}
			}
			return n
		})
}

func posted() *Figure {
	return always(Text{"payload posted", "提交的数据量"}, Bytes, func(o *Outcome) (n float64) {
		for i := range o.run.Messages {
			n += float64(o.run.Messages[i].Bytes)
		}
		return n
	})
}

func peakQueue() *Figure {
	return always(Text{"deepest switch queue", "交换机最深队列"}, Bytes, func(o *Outcome) (n float64) {
		hosts := hostsOf(o.run)
		for i := range o.run.Ports {
			if p := &o.run.Ports[i]; !slices.Contains(hosts, p.Node) {
				n = max(n, float64(p.PeakQueueBytes))
			}
		}
		return n
	})
}

// meanQueue is that of the port with the deepest queue of all, over the run.
func meanQueue() *Figure {
	return always(Text{"mean queue of the deepest port", "最深端口的平均队列"}, Bytes, func(o *Outcome) (n float64) {
		hosts, peak := hostsOf(o.run), int64(-1)
		for i := range o.run.Ports {
			if p := &o.run.Ports[i]; p.PeakQueueBytes > peak && !slices.Contains(hosts, p.Node) {
				peak, n = p.PeakQueueBytes, p.MeanQueueBytes
			}
		}
		return n
	})
}

// hostsOf are the nodes that messages begin and end at.
func hostsOf(r *record.Run) (out []string) {
	for i := range r.QPs {
		if h := r.QPs[i].Host; !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// total is one of the sums over a run.
func total(name Text, u Unit, of func(*metrics.Totals) int64) *Figure {
	return always(name, u, func(o *Outcome) float64 { return float64(of(&o.sum.Totals)) })
}

func pauses() *Figure {
	return total(Text{"PFC pauses", "PFC 暂停次数"}, Count, func(t *metrics.Totals) int64 { return t.PausesSent })
}

func marks() *Figure {
	return total(Text{"packets marked", "ECN 标记的报文数"}, Count, func(t *metrics.Totals) int64 { return t.Marked })
}

func cnps() *Figure {
	return total(Text{"CNPs sent", "CNP 数"}, Count, func(t *metrics.Totals) int64 { return t.CNPsSent })
}

func cuts() *Figure {
	return total(Text{"rate cuts", "降速次数"}, Count, func(t *metrics.Totals) int64 { return t.RateCuts })
}

func drops() *Figure {
	return total(Text{"frames dropped", "丢弃的帧数"}, Count, func(t *metrics.Totals) int64 { return t.Dropped })
}

func resent() *Figure {
	return total(Text{"payload sent again", "重传的数据量"}, Bytes, func(t *metrics.Totals) int64 { return t.ResentBytes })
}

// held is the time for which ports could not send though they had something to.
func held() *Figure {
	return total(Text{"time held, over all ports", "各端口被阻塞的总时" +
		"间"}, Time, func(t *metrics.Totals) int64 { return int64(t.HeldPS) })
}

// count is how often a mechanism acted.
func count(m catalog.Mechanism, name Text) *Figure {
	return always(name, Count, func(o *Outcome) (n float64) {
		for i := range o.run.Ledger {
			if e := &o.run.Ledger[i]; e.Mechanism == m {
				n += float64(e.Count)
			}
		}
		return n
	})
}

// firstOf is when any of some mechanisms acted first, from the first post; at, if not empty, is where.
func firstOf(o *Outcome, at string, all ...catalog.Mechanism) (float64, bool) {
	first := units.Never
	for i := range o.run.Ledger {
		e := &o.run.Ledger[i]
		if slices.Contains(all, e.Mechanism) && e.Count > 0 && (at == "" || e.Actor.Node == at) {
			first = min(first, e.First)
		}
	}
	return float64(first - o.run.FirstPost()), first != units.Never
}

// first is when a mechanism acted first, from the first post.
func first(m catalog.Mechanism, name Text) *Figure {
	return &Figure{name, Time, func(o *Outcome) (float64, bool) { return firstOf(o, "", m) }, nil}
}

// firstAt is first at a node.
func firstAt(m catalog.Mechanism, node string, name Text) *Figure {
	return &Figure{name, Time, func(o *Outcome) (float64, bool) { return firstOf(o, node, m) }, nil}
}

// reaction is the time from the first act of one mechanism to the first of another.
func reaction(from, to catalog.Mechanism, name Text) *Figure {
	return &Figure{name, Time, func(o *Outcome) (float64, bool) {
		a, begun := firstOf(o, "", from)
		b, done := firstOf(o, "", to)
		return b - a, begun && done
	}, nil}
}

// deadlocked is 1 where ports wait for each other in a circle, and else 0.
func deadlocked() *Figure {
	return always(Text{"ports in a circle of waits", "循环等待中的端口数"}, Count, func(o *Outcome) float64 {
		return float64(len(o.run.Cycle))
	})
}

// coreTime is the time of a host's cores; host "": of all hosts; direction "": both.
func coreTime(host, direction string, name Text, causes ...string) *Figure {
	return always(name, Time, func(o *Outcome) (n float64) {
		for i := range o.run.Processors {
			p := &o.run.Processors[i]
			if host != "" && p.Host != host {
				continue
			}
			for _, t := range p.Times {
				if (direction == "" || t.Direction == direction) && (len(causes) == 0 || slices.Contains(causes, t.Cause)) {
					n += float64(t.PS)
				}
			}
		}
		return n
	})
}

func allCores() *Figure {
	return coreTime("", "", Text{"core time of all hosts", "所有主机的 CPU 时间"})
}

// busiest is the share of the time for which the busiest core of a host worked.
func busiest(host string) *Figure {
	return always(Text{"share of the time that the busiest core of " + host + " works", host + " 最忙核的占用率"}, Share,
		func(o *Outcome) float64 {
			for i := range o.sum.CPU {
				if o.sum.CPU[i].Host == host {
					return o.sum.CPU[i].Busiest
				}
			}
			return 0
		})
}

// coresOf is how many cores a host kept busy on average.
func coresOf(host string) *Figure {
	return always(Text{"cores of " + host + " kept busy", host + " 平均占用的核数"}, Cores, func(o *Outcome) float64 {
		for i := range o.sum.CPU {
			if o.sum.CPU[i].Host == host {
				return o.sum.CPU[i].Cores
			}
		}
		return 0
	})
}

// ofProcessors adds up a count over the processors of all hosts.
func ofProcessors(name Text, u Unit, of func(*record.Processors) int64) *Figure {
	return always(name, u, func(o *Outcome) (n float64) {
		for i := range o.run.Processors {
			n += float64(of(&o.run.Processors[i]))
		}
		return n
	})
}

func copied() *Figure {
	return ofProcessors(Text{"bytes copied between user and kernel", "用户态与内核态之间拷贝的字节数"}, Bytes,
		func(p *record.Processors) int64 { return p.CopiedBytes })
}

func syscalls() *Figure {
	return ofProcessors(Text{"system calls", "系统调用次数"}, Count, func(p *record.Processors) int64 { return p.Syscalls })
}

func interrupts() *Figure {
	return ofProcessors(Text{"interrupts", "中断次数"}, Count, func(p *record.Processors) int64 { return p.Interrupts })
}

// ofQPs adds up a count over the queue pairs of a host; "": of all.
func ofQPs(host string, name Text, of func(*record.QP) int64) *Figure {
	return always(name, Count, func(o *Outcome) (n float64) {
		for i := range o.run.QPs {
			if q := &o.run.QPs[i]; host == "" || q.Host == host {
				n += float64(of(q))
			}
		}
		return n
	})
}

func posts() *Figure {
	return ofQPs("", Text{"work requests posted", "提交的工作请求数"}, func(q *record.QP) int64 { return q.Posts })
}

func sentPackets() *Figure {
	return ofQPs("", Text{"packets that the cards made of them", "网卡发出的报文数"},
		func(q *record.QP) int64 { return q.SentPackets })
}

// perByte adds up over the links inside servers and divides by the payload delivered; false without servers.
func perByte(o *Outcome, of func(*record.ServerLink) bool) (float64, bool) {
	n := 0.0
	for i := range o.run.Servers {
		for k := range o.run.Servers[i].Links {
			if l := &o.run.Servers[i].Links[k]; of(l) {
				n += float64(l.PayloadBytes)
			}
		}
	}
	return n / float64(max(o.sum.Totals.Delivered, 1)), len(o.run.Servers) > 0
}

// dram is what went through the memory of hosts per byte delivered, both ends together.
func dram() *Figure {
	return &Figure{Text{"bytes over host memory (DRAM) per byte delivered", "每字节数据经过主机内存 (DRAM) 的字节数"}, Ratio,
		func(o *Outcome) (float64, bool) {
			return perByte(o, func(l *record.ServerLink) bool { return l.Kind == record.KindDRAM })
		}, nil}
}

// pcie is how many PCIe links payload crossed, both ends together.
func pcie() *Figure {
	return &Figure{Text{"PCIe links that each byte crosses", "每字节数据经过的 PCIe 链路数"}, Ratio,
		func(o *Outcome) (float64, bool) { return perByte(o, (*record.ServerLink).PCIe) }, nil}
}

func staged() *Figure {
	return always(Text{"bytes staged by copy engines", "由拷贝引擎中转的字节数"}, Bytes, func(o *Outcome) (n float64) {
		for i := range o.run.Servers {
			for k := range o.run.Servers[i].Copies {
				n += float64(o.run.Servers[i].Copies[k].Bytes)
			}
		}
		return n
	})
}

// overLinks is the payload over links inside servers of a kind, by how its name begins.
func overLinks(kind string, name Text) *Figure {
	return always(name, Bytes, func(o *Outcome) (n float64) {
		for i := range o.run.Servers {
			for k := range o.run.Servers[i].Links {
				if l := &o.run.Servers[i].Links[k]; strings.HasPrefix(l.Kind, kind) {
					n += float64(l.PayloadBytes)
				}
			}
		}
		return n
	})
}

func busbw() *Figure {
	return &Figure{Text{"bus bandwidth", "总线带宽 (busbw)"}, GBps, func(o *Outcome) (float64, bool) {
		if len(o.sum.Collectives) == 0 || o.sum.Collectives[0].Done == 0 {
			return 0, false
		}
		return o.sum.Collectives[0].BusBW, true
	}, nil}
}

// collectiveTime is the mean time of a collective.
func collectiveTime(entry string) *Figure {
	return &Figure{Text{"time of the collective", "集合通信的时间"}, Time, func(o *Outcome) (float64, bool) {
		for i := range o.sum.Collectives {
			if c := &o.sum.Collectives[i]; c.Workload == entry || entry == "" {
				return float64(c.TimePS), c.Done > 0
			}
		}
		return 0, false
	}, nil}
}

// rpcP99 is that of the calls of an entry of the workload.
func rpcP99(entry string) *Figure {
	return &Figure{Text{"RPC p99", "RPC p99 时延"}, Time, func(o *Outcome) (float64, bool) {
		for i := range o.sum.Calls {
			if c := &o.sum.Calls[i]; c.Workload == entry || entry == "" {
				return float64(c.LatencyPS.P99), c.Completed == c.Calls
			}
		}
		return 0, false
	}, nil}
}

// victims are the messages that pauses held although they go elsewhere.
func victims() *Figure {
	return always(Text{"messages held that go elsewhere", "被殃及的消息数"}, Count, func(o *Outcome) (n float64) {
		for i := range o.sum.Pauses {
			n += float64(len(o.sum.Pauses[i].Victims))
		}
		return n
	})
}

// parameters are what was set, or has a default that somebody chose, for a layer.
func parameters(name Text, prefixes ...string) *Figure {
	return always(name, Count, func(o *Outcome) (n float64) {
		for _, note := range o.run.Notes {
			if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(note.Key, p) }) {
				n++
			}
		}
		return n
	})
}

// median is the completion time that half of the messages do not exceed.
func median() *Figure {
	return &Figure{Text{"median message", "消息完成时间的中位数"}, Time, func(o *Outcome) (float64, bool) {
		return float64(o.sum.Messages.CompletionPS.P50), o.sum.Messages.Completed > 0
	}, nil}
}

// dataFrames are the frames that the requester's ends sent, whatever the transport.
func dataFrames() *Figure {
	return always(Text{"frames that carried them", "承载它们的帧数"}, Count, func(o *Outcome) (n float64) {
		for i := range o.run.QPs {
			if q := &o.run.QPs[i]; q.DeliveredBytes == 0 {
				n += float64(q.SentPackets)
			}
		}
		return n
	})
}
