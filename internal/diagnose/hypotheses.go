package diagnose

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/scenario"
	"github.com/hopscope/hopscope/internal/topology"
	"github.com/hopscope/hopscope/internal/units"
)

// Hypothesis is a fault, as a change of the scenario by its keys.
type Hypothesis struct {
	Name   string
	Set    []string // key=value, as hopscope run --set has them
	Checks []string // commands on the machine, each with what it shows
}

// checks of several hypotheses.
const (
	checkNet   = "NCCL_DEBUG=INFO on the test, then grep 'NET/': NET/IB names each card in use, NET/Socket is TCP"
	checkSlot  = "lspci -vv -s BUS | grep -E 'LnkCap|LnkSta' for each card: LnkSta below LnkCap reads (downgraded)"
	checkTopo  = "nvidia-smi topo -m: each GPU has a card at PIX or PXB; SYS and NODE cross sockets or host bridges"
	checkPairs = "the test on pairs of servers, and ib_write_bw between them: the pair that is slow names the server"
)

// hypotheses lists the faults that a scenario may have; entry is its collective's in the
// workload. Whether a scenario knows the keys shows when it is read with them.
func hypotheses(v *scenario.Valid, entry, ranks int) []Hypothesis {
	widths, gens := perCard(v)
	out := []Hypothesis{
		{"GPUDirect off", []string{"gpudirect=off"}, []string{
			"lsmod | grep nvidia_peermem: there, or a kernel and driver with DMA-BUF",
			"NCCL_DEBUG=INFO on the test, then grep 'via NET/': GDRDMA stands behind each channel that has it",
			"env | grep NCCL_NET_GDR: empty",
		}},
		{"ACS on", []string{"server.acs=redirect"}, []string{
			"lspci -vvv | grep ACSCtl: ReqRedir+ or CmpltRedir+ at a PCIe bridge is ACS on",
			"dmesg | grep -i iommu: off, or passthrough",
		}},
		{"TCP instead of RDMA", []string{"stack=tcp"}, []string{
			checkNet,
			"ibv_devinfo | grep state: PORT_ACTIVE for each card",
			"env | grep NCCL_IB: no NCCL_IB_DISABLE",
		}},
		{"one card for all GPUs", []string{"topology.rail.rails=1"}, []string{
			checkNet,
			"env | grep NCCL_IB_HCA: empty, or all cards",
			"ibv_devinfo | grep -E 'hca_id|state': as many PORT_ACTIVE as cards",
		}},
		{"a card at gen3 or x8", []string{"server.links.nic0={gen: 3, width: 16}"}, []string{checkSlot}},
		{"all cards at x8", []string{widths}, []string{checkSlot}},
		{"all cards at gen3", []string{gens}, []string{
			checkSlot,
			"dmidecode -t slot, and PCIe generation in the BIOS set-up: auto, or the card's",
		}},
		{"cards of the wrong NUMA node", []string{wrongNUMA(v, entry, ranks)}, []string{
			checkTopo,
			"NCCL_DEBUG=INFO on the test, then grep 'via NET/': which card each GPU takes",
			"env | grep NCCL_TOPO_FILE in virtual machines",
		}},
		{"no NVLink or NVSwitch", []string{"server.nvswitch=off"}, []string{
			"systemctl status nvidia-fabricmanager: active",
			"nvidia-smi topo -m: NV between all GPUs",
			"NCCL_DEBUG=INFO on the test, then grep ' via ': P2P/IPC or P2P/CUMEM, not SHM",
		}},
		{"half the NVLinks of a GPU down", []string{nvlinks(v)}, []string{
			"nvidia-smi nvlink -s: every link has a rate, none inactive",
			"dmesg | grep -i xid: 74 is an NVLink error",
		}},
		{"few channels", []string{"nccl.env.MAX_NCHANNELS=2"}, []string{
			"env | grep -E 'NCCL_(MAX|MIN)_(NCHANNELS|CTAS)', and /etc/nccl.conf: empty",
			"NCCL_DEBUG=INFO on the test, then grep 'coll channels': as hopscope run has them in its table",
		}},
		{"NVLS off", []string{"nccl.env.NVLS_ENABLE=0"}, []string{
			"env | grep NCCL_NVLS_ENABLE, and /etc/nccl.conf: empty",
			"NCCL_DEBUG=INFO on the test, then grep NVLS: multicast support is on",
		}},
	}
	if !bytes.Contains(v.Source, []byte("between:")) { // a list of links would be replaced
		host, fabric := slowLinks(v)
		out = append(out,
			Hypothesis{"a slow server: its ports at half their rate", []string{host}, []string{
				checkPairs,
				"ethtool DEV | grep Speed, or ibstat | grep Rate, on each server: as its neighbours",
				"ethtool -S DEV | grep -E 'prio.*pause|discard' on each server: one whose counts grow",
			}},
			Hypothesis{"ECMP collision of one queue pair: a link between switches at half its rate", []string{fabric}, []string{
				"rates of the uplinks of each switch while the test runs: one full and others idle",
				"NCCL_IB_QPS_PER_CONNECTION=4 NCCL_IB_SPLIT_DATA_ON_QPS=0 on the test: faster",
				checkPairs,
			}})
	}
	return slices.DeleteFunc(out, func(h Hypothesis) bool { return len(h.Set) == 0 || h.Set[0] == "" })
}

// perCard are the changes that put all cards of the servers at eight lanes, or generation 3.
func perCard(v *scenario.Valid) (width, gen string) {
	most := 0
	for n := range v.NICs {
		if s := v.NICs[n].Server; s != nil {
			most = max(most, len(s.NICs()))
		}
	}
	if most < 2 {
		return "", ""
	}
	var w, g []string
	for i := range most {
		w, g = append(w, fmt.Sprintf("nic%d: {width: 8}", i)), append(g, fmt.Sprintf("nic%d: {gen: 3}", i))
	}
	return "server.links={" + strings.Join(w, ", ") + "}", "server.links={" + strings.Join(g, ", ") + "}"
}

// nvlinks is the change that takes half of a GPU's NVLinks down: of the numbers that a GPU may
// have, half of the largest that the scenario's server takes; "": it has none.
func nvlinks(v *scenario.Valid) string {
	for n := range v.NICs {
		if s := v.NICs[n].Server; s != nil && s.HasNVSwitch() {
			gpu := s.GPUs()[0]
			switch chip := s.Devices[gpu].Chip; {
			case chip == "sm80":
				return "server.links.gpu0.nvlinks=6"
			case chip != "":
				return "server.links.gpu0.nvlinks=9"
			}
		}
	}
	return ""
}

// wrongNUMA is the change that gives every GPU a card of another NUMA node; "": there is none,
// or the ranks are not all GPUs.
func wrongNUMA(v *scenario.Valid, entry, ranks int) string {
	var names []string
	for n := range v.NICs {
		s := v.NICs[n].Server
		if s == nil {
			continue
		}
		ports := len(v.Graph.Nodes[n].Ports)
		for k, gpu := range s.GPUs() {
			port := -1
			for i := range s.Nets[:min(ports, len(s.Nets))] {
				p := (k + len(s.Nets)/2 + i) % len(s.Nets)
				if p < ports && s.Devices[s.Nets[p].Card].NUMA != s.Devices[gpu].NUMA {
					port = p
					break
				}
			}
			if port < 0 {
				return ""
			}
			names = append(names, fmt.Sprintf("%q", fmt.Sprintf("%s:%d/%s", v.Graph.Nodes[n].Name, port+1, s.Devices[gpu].Name)))
		}
	}
	if len(names) == 0 || len(names) != ranks {
		return ""
	}
	return fmt.Sprintf("workload[%d].collective.ranks=[%s]", entry, strings.Join(names, ", "))
}

// slowLinks are the changes that halve the rate of all links of the last host, and of the first
// link between switches; "": there is none.
func slowLinks(v *scenario.Valid) (host, fabric string) {
	g := v.Graph
	last := -1
	for n := range g.Nodes {
		if g.Nodes[n].Kind == topology.Host {
			last = n
		}
	}
	half := func(l *topology.Link) string {
		return fmt.Sprintf("{between: [%s, %s], rate: %dMbps}", g.Nodes[l.A].Name, g.Nodes[l.B].Name,
			int64(l.Rate/2/units.Mbps))
	}
	var of []string
	for i := range g.Links {
		l := &g.Links[i]
		switch {
		case l.A == last || l.B == last:
			of = append(of, half(l))
		case fabric == "" && g.Nodes[l.A].Kind == topology.Switch && g.Nodes[l.B].Kind == topology.Switch:
			fabric = "topology.links=[" + half(l) + "]"
		}
	}
	if len(of) > 0 {
		host = "topology.links=[" + strings.Join(of, ", ") + "]"
	}
	return host, fabric
}
