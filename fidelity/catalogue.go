package fidelity

import (
	"embed"
	"strings"
)

//go:embed cases/*.yaml
var files embed.FS

// kase is a case and how it is carried out.
type kase struct {
	Info
	run    func(*checker)
	random bool // its figures are bands, which the rule about all of them counts
}

// named reports whether the user's name means this case.
func (k *kase) named(name string) bool {
	group, _, grouped := strings.Cut(k.Name, "/")
	return strings.EqualFold(name, k.Name) || grouped && strings.EqualFold(name, group)
}

// Catalogue lists the cases.
func Catalogue() (out []Info) {
	for _, k := range catalogue() {
		out = append(out, k.Info)
	}
	return out
}

// catalogue lists the cases, cheap and basic ones first.
func catalogue() []kase {
	all := []kase{
		{Info: Info{Name: "F1", Title: "goodput of one queue pair by MTU and rate"}, run: (*checker).goodput},
		{Info: Info{Name: "F2", Title: "InfiniBand: goodput of one queue pair by rate"}, run: (*checker).infinibandGoodput},
		{Info: Info{Name: "F3", Title: "every 256th packet lost: go-back-0 livelock, go-back-N, selective repeat"}, run: (*checker).loss},
		{Info: Info{Name: "F4", Title: "timeout and RNR retries"}, run: (*checker).timeouts},
		{Info: Info{Name: "F5", Title: "protection: wrong R_Key, no REMOTE_WRITE"}, run: (*checker).protection},
		{Info: Info{Name: "F6", Title: "DCQCN fixed point: queue, marking, CNPs"}, run: (*checker).fixedPoint},
		{Info: Info{Name: "F7", Title: "DCQCN stability by control loop and number of flows"}, run: (*checker).stability},
		{Info: Info{Name: "F8", Title: "DCQCN convergence, and the strawman that does not converge"}, run: (*checker).convergence},
		{Info: Info{Name: "F9", Title: "DCQCN with round trips of 2 us and 1.77 ms"}, run: (*checker).rttFairness},
		{Info: Info{Name: "F10", Title: "PFC headroom over all phases"}, run: (*checker).headroom},
		{Info: Info{Name: "F11", Title: "PFC shares by port, DCQCN by flow"}, run: (*checker).portFairness},
		{Info: Info{Name: "F12", Title: "victim flow of an incast"}, run: (*checker).victim},
		{Info: Info{Name: "F13", Title: "a routing loop under PFC: where it deadlocks"}, run: (*checker).loop},
		{Info: Info{Name: "F14", Title: "paths that bounce under PFC, with one class and two"}, run: (*checker).bounce},
		{Info: Info{Name: "F15", Title: "PFC watchdog: a storm found, cut off and restored"}, run: (*checker).watchdog},
		{Info: Info{Name: "F16", Title: "dynamic buffer threshold"}, run: (*checker).dynamicThreshold},
		{Info: Info{Name: "F17", Title: "DCTCP: the queue's saw tooth, alpha"}, run: (*checker).dctcp},
		{Info: Info{Name: "F22", Title: "InfiniBand: credits per loop, weights of virtual lanes"}, run: (*checker).credits},
		{Info: Info{Name: "F23", Title: "InfiniBand: a ring that deadlocks, and routes that do not"}, run: (*checker).ring},
		{Info: Info{Name: "F24", Title: "InfiniBand congestion control: rate by CCTI, its fall by the timer"}, run: (*checker).congestionControl},
		{Info: Info{Name: "F25", Title: "PCIe: TLPs, writes and reads of a stream between GPUs"}, run: (*checker).pcie},
		{Info: Info{Name: "F26", Title: "ACS redirection; GPUDirect and staging of small messages"}, run: (*checker).hostPath},
		{Info: Info{Name: "F27", Title: "TCP bound by the receiving core; latency against RDMA"}, run: (*checker).hostBound},
		{Info: Info{Name: "F28", Title: "AllReduce over a ring"}, run: (*checker).ringAllReduce},
		{Info: Info{Name: "F29", Title: "AllReduce over servers with GPUs"}, run: (*checker).serverAllReduce},
		{Info: Info{Name: "nccl-tables", Title: "published tables of nccl-tests, by size", Long: true, Data: true}, run: (*checker).publishedTables},
		{Info: Info{Name: "nccl-tests", Title: "a log of nccl-tests, eight A100 in one server", Data: true}, run: (*checker).ncclTests},
		{Info: Info{Name: "TCP", Title: "goodput of one TCP connection by MTU and rate"}, run: (*checker).streamGoodput},
		{Info: Info{Name: "F30", Title: "ECMP: eight flows over eight links"}, run: (*checker).ecmp},
		{Info: Info{Name: "F31", Title: "latencies that perftest printed, by card"}, run: (*checker).cards},
		{Info: Info{Name: "IRN", Title: "IRN against go-back-N, with and without PFC and DCQCN", Long: true}, run: (*checker).irn},
	}
	for _, name := range deterministicRuns() {
		all = append(all, kase{Info: Info{Name: "ns3/" + name, Title: "reference run without random numbers", Data: true},
			run: func(c *checker) { c.deterministic(name) }})
	}
	for _, r := range randomRuns() {
		all = append(all, kase{Info: Info{Name: "ns3/" + r.name, Title: "reference run with random marking, 20 seeds", Data: true, Long: r.long},
			run: func(c *checker) { c.incast(r) }, random: true})
	}
	for _, name := range []string{"fatk4_ali50_dcqcn", "fatk4_ali50_dcqcn_paper"} {
		all = append(all, kase{Info: Info{Name: "ns3/" + name, Title: "reference run of a fat-tree, 20 ECMP salts", Data: true, Long: true},
			run: func(c *checker) { c.fatTree(name) }, random: true})
	}
	return all
}
