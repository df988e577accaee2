package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/server"
	"github.com/hopscope/hopscope/internal/units"
)

// Host is a server and what its ways allow, for hopscope host. Times are picoseconds,
// rates bit/s of payload.
type Host struct {
	Version  int           `json:"version"`
	Source   string        `json:"source"` // file or preset
	ACS      bool          `json:"acs_redirect"`
	Devices  []HostDevice  `json:"devices"`
	Links    []HostLink    `json:"links"`
	Cards    []HostCard    `json:"cards"`  // which card each GPU should use
	Staged   []HostStaged  `json:"staged"` // GPUs and cards whose data go through the memory of the host
	Pairs    []HostPair    `json:"pairs"`  // every memory with every card
	Warnings []HostWarning `json:"warnings"`
	Notes    []record.Note `json:"parameters"`

	tree *server.Tree
}

// HostDevice is a place in the server.
type HostDevice struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"`
	BusID  string  `json:"bus_id,omitempty"`
	Alias  string  `json:"alias,omitempty"` // what the system calls a card
	NUMA   int     `json:"numa_node"`       // -1: not known
	Line   int     `json:"line,omitempty"`  // of the file
	Memory int64   `json:"memory_bps,omitempty"`
	Ports  []int64 `json:"ports_bps,omitempty"` // 0: not known
}

// HostLink joins two devices.
type HostLink struct {
	Kind    string `json:"kind"`
	A       string `json:"a"` // nearer to the root complex
	B       string `json:"b"`
	Gen     int    `json:"generation,omitempty"` // of PCIe
	Lanes   int    `json:"lanes,omitempty"`
	MPS     int64  `json:"mps_bytes,omitempty"`
	MRRS    int64  `json:"mrrs_bytes,omitempty"`
	Rate    int64  `json:"rate_bps"` // each way; of PCIe for posted writes
	Latency int64  `json:"latency_ps"`
	Count   int    `json:"links,omitempty"` // NVLinks in parallel
	Line    int    `json:"line,omitempty"`
}

// HostCard is the network port that a GPU should use.
type HostCard struct {
	GPU   string `json:"gpu"`
	Card  string `json:"card"`
	Port  int    `json:"port"` // of the host, from 1
	Class string `json:"class"`
}

// HostStaged are a GPU and a network port between which NCCL takes data through the memory
// of the host.
type HostStaged struct {
	GPU  string `json:"gpu"`
	Card string `json:"card"`
	Port int    `json:"port"` // of the host, from 1
	Why  string `json:"why"`
}

// HostPair is the way between a memory and a card.
type HostPair struct {
	Memory      string    `json:"memory"` // of a GPU, or DRAM
	Card        string    `json:"card"`
	Class       string    `json:"class"`
	Send        HostFlow  `json:"send"`    // the card reads from the memory
	Receive     HostFlow  `json:"receive"` // the card writes to it
	Duplex      int64     `json:"both_ways_bps"`
	DuplexLimit string    `json:"both_ways_limit"`
	Hops        []HostHop `json:"hops"` // from the memory to the card

	gpu bool
}

// HostFlow is one direction of a way.
type HostFlow struct {
	Rate    int64  `json:"rate_bps"`
	Limit   string `json:"limit"`
	Latency int64  `json:"latency_ps"` // of 64 B, nothing else on the way
}

// HostHop is what a link, or the memory itself, contributes to a way.
type HostHop struct {
	Hop         string `json:"hop"`
	What        string `json:"what"`
	SendRate    int64  `json:"send_bps,omitempty"`
	ReceiveRate int64  `json:"receive_bps,omitempty"`
	Send        int64  `json:"send_ps"`
	Receive     int64  `json:"receive_ps"`
}

// HostWarning is what a file left open.
type HostWarning struct {
	Line int    `json:"line"` // 0: the whole file
	Text string `json:"text"`
}

// NewHost gathers what a server allows.
func NewHost(source string, t *server.Tree) *Host {
	h := &Host{Version: pageVersion, Source: source, ACS: t.ACS, Notes: t.Notes, tree: t, Cards: []HostCard{},
		Staged: []HostStaged{}, Pairs: []HostPair{}, Warnings: []HostWarning{}}
	for _, w := range append(t.SlowLinks(), t.Warnings...) {
		h.Warnings = append(h.Warnings, HostWarning(w))
	}
	for i := range t.Devices {
		d := &t.Devices[i]
		x := HostDevice{Name: d.Name, Kind: d.Kind.String(), BusID: d.BusID, Alias: d.Alias, NUMA: d.NUMA, Line: d.Line,
			Memory: int64(d.Memory)}
		for _, n := range t.PortsOf(i) {
			x.Ports = append(x.Ports, int64(t.Nets[n].Rate))
		}
		h.Devices = append(h.Devices, x)
	}
	for i := range t.Links {
		l := &t.Links[i]
		x := HostLink{Kind: l.Kind.String(), A: t.Devices[l.A].Name, B: t.Devices[l.B].Name, Rate: int64(t.LinkRate(i)),
			Latency: int64(l.Latency), Count: l.Count, Line: l.Line}
		if l.Kind == server.PCIe {
			x.Gen, x.Lanes, x.MPS, x.MRRS = l.PCIe.Gen, l.PCIe.Width, int64(l.PCIe.MPS), int64(l.PCIe.MRRS)
		}
		h.Links = append(h.Links, x)
	}
	for _, g := range t.GPUs() {
		if n, class := t.NetFor(g, len(t.Nets)); n >= 0 {
			h.Cards = append(h.Cards, HostCard{t.Devices[g].Name, t.Devices[t.Nets[n].Card].Name, n + 1, class.String()})
		}
		for n := range t.Nets {
			if staged, why := t.Staged(g, n); staged {
				h.Staged = append(h.Staged, HostStaged{t.Devices[g].Name, t.Devices[t.Nets[n].Card].Name, n + 1, why})
			}
		}
	}
	h.addPairs()
	return h
}

// addPairs predicts the way between every memory and every card, GPUs first.
func (h *Host) addPairs() {
	t := h.tree
	for _, kind := range [2]server.Kind{server.GPU, server.DRAM} {
		for m := range t.Devices {
			if t.Devices[m].Kind != kind {
				continue
			}
			for _, n := range t.NICs() {
				if p, err := t.Predict(m, n); err == nil {
					h.Pairs = append(h.Pairs, h.pair(m, n, &p))
				}
			}
		}
	}
}

// pair words one prediction.
func (h *Host) pair(memory, nic int, p *server.Prediction) HostPair {
	t := h.tree
	card := &t.Devices[nic]
	x := HostPair{Memory: t.Devices[memory].Name, Card: card.Name, Class: t.PCIClass(memory, nic).String(),
		gpu:  t.Devices[memory].Kind == server.GPU,
		Send: h.flow(p.Read, fmt.Sprintf("%d read tags", t.Costs.ReadTags)), Receive: h.flow(p.Write, "posted credits"),
		Duplex: int64(p.Duplex)}
	if p.DuplexLimit >= 0 {
		x.DuplexLimit = h.tree.LinkName(p.DuplexLimit)
	}
	var ports units.Rate
	all := t.PortsOf(nic)
	for _, n := range all {
		r := t.Nets[n].Rate
		if r == 0 { // not known: no limit
			ports = 0
			break
		}
		ports += r
	}
	name := "port of " + card.Name
	if len(all) > 1 {
		name = fmt.Sprintf("%d ports of %s", len(all), card.Name)
	}
	if ports > 0 {
		for _, f := range [2]*HostFlow{&x.Send, &x.Receive} {
			if int64(ports) < f.Rate {
				f.Rate, f.Limit = int64(ports), name
			}
		}
		if int64(ports) < x.Duplex {
			x.Duplex, x.DuplexLimit = int64(ports), name
		}
	}
	if x.DuplexLimit == "" {
		x.DuplexLimit = x.Send.Limit
		if x.Receive.Rate < x.Send.Rate {
			x.DuplexLimit = x.Receive.Limit
		}
	}
	h.addHops(&x, memory, p.Path)
	return x
}

// flow words one direction; without a link it is what unlinked names that limits.
func (h *Host) flow(f server.Flow, unlinked string) HostFlow {
	limit := unlinked
	if f.Limit >= 0 {
		limit = h.tree.LinkName(f.Limit)
	}
	return HostFlow{int64(f.Rate), limit, int64(f.Latency)}
}

// addHops lists what the memory and every link contribute.
func (h *Host) addHops(x *HostPair, memory int, path []server.Hop) {
	t := h.tree
	own, shares := t.Shares(path)
	x.Hops = append(x.Hops, HostHop{Hop: t.Devices[memory].Name, What: "access", Send: int64(own.Read),
		Receive: int64(own.Write)})
	for i, s := range shares {
		l := &t.Links[path[i].Link]
		what := l.Kind.String()
		if l.Kind == server.PCIe {
			what = "PCIe " + l.PCIe.String()
		}
		x.Hops = append(x.Hops, HostHop{t.LinkName(path[i].Link), what, int64(s.ReadRate), int64(s.WriteRate),
			int64(s.Read), int64(s.Write)})
	}
}

// JSON encodes the server, indented, with a newline at the end.
func (h *Host) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(h)
	return b.Bytes(), err
}
