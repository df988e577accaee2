package compare

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
)

// serverWith is a host whose links were busy for these times, of a millisecond.
func serverWith(host string, in, out units.Time, copies ...record.CopyEngine) record.Server {
	return record.Server{Host: host, Server: "dgx-h100", Copies: copies, Links: []record.ServerLink{
		{Name: "nic0 to switch0", Kind: "PCIe gen3 x16", BusyPS: in}, {Name: "switch0 to nic0", Kind: "PCIe gen3 x16", BusyPS: out},
		{Name: "memory of dram0", Kind: record.KindDRAM, BusyPS: 10 * us}}}
}

// What bounded a run inside hosts is named: a receiver that the network waited for, and
// else what was busier than any port.
func TestHopsInsideHosts(t *testing.T) {
	port := func(use float64) []record.Port {
		return []record.Port{{Node: "sw", Port: 1, Class: 0, Utilisation: use / 2}, {Node: "sw", Port: 1, Class: 3, Utilisation: use / 2}, {Node: "sw", Port: 2, Class: 3, Utilisation: 0.5}}
	}
	slow := func(host string, peak int64) record.Port {
		return record.Port{Node: host, Port: 1, Limits: record.PortLimits{Receive: &record.Approach{Value: peak, Threshold: 1000},
			Inside: &record.InsideLimit{Host: host, Link: "nic0 to switch0", Kind: "PCIe gen3 x8", Bps: 52900 * units.Mbps}}}
	}
	for _, c := range []struct {
		name    string
		servers []record.Server
		ports   []record.Port
		want    string
	}{
		{"nothing", nil, port(0.1), ""},
		{"not busy", []record.Server{serverWith("h4", 799*us, 0)}, port(0.1), ""},
		{"a link", []record.Server{serverWith("h4", 951*us, 0)}, port(0.95),
			"link nic0 to switch0 (PCIe gen3 x16) of h4 was busy for 95 % of the time, no port of the network for as long"},
		{"a port is busier, over its classes", []record.Server{serverWith("h4", 951*us, 0)}, port(0.96), ""},
		{"a copy engine", []record.Server{serverWith("h4", 900*us, 0, record.CopyEngine{GPU: "gpu0", In: true, BusyPS: 971 * us})}, port(0.9),
			"the copy engine into gpu0 of h4 was busy for 97 % of the time, no port of the network for as long"},
		{"two hosts", []record.Server{serverWith("h0", 0, 900*us), serverWith("h1", 0, 0, record.CopyEngine{GPU: "gpu1", BusyPS: 990 * us})}, port(0.5),
			"the copy engine out of gpu1 of h1 was busy for 99 % of the time and link switch0 to nic0 (PCIe gen3 x16) of h0 for 90 %, no port of the network for as long"},
		{"three hosts", []record.Server{serverWith("h0", 0, 900*us), serverWith("h1", 0, 850*us), serverWith("h2", 0, 870*us)}, port(0.5),
			"link switch0 to nic0 (PCIe gen3 x16) of h0 was busy for 90 % of the time, hops of 2 other hosts for at least 85 %, no port of the network for as long"},
		{"a full receive buffer", []record.Server{serverWith("h4", 900*us, 0)}, append(port(0.6), slow("h4", 1001)),
			"receiver host h4 took no more than 52.9 Gb/s (PCIe gen3 x8, nic0 to switch0)"},
		{"four", []record.Server{serverWith("h4", 900*us, 0)}, append(port(0.6), slow("h1", 1001), slow("h2", 1001), slow("h3", 1001), slow("h3", 1001), slow("h4", 1001)),
			"receiver host h1 took no more than 52.9 Gb/s (PCIe gen3 x8, nic0 to switch0), receiver host h2 took no more than 52.9 Gb/s (PCIe gen3 x8, nic0 to switch0) and 2 more receiver hosts"},
		{"one that is not full", []record.Server{serverWith("h4", 700*us, 0)}, append(port(0.6), slow("h4", 1000)), ""},
		{"a full one and a busy sender", []record.Server{serverWith("h0", 0, 990*us), serverWith("h4", 900*us, 0)}, append(port(0.6), slow("h4", 1001)),
			"receiver host h4 took no more than 52.9 Gb/s (PCIe gen3 x8, nic0 to switch0) and link switch0 to nic0 (PCIe gen3 x16) of h0 was busy for 99 % of the time, no port of the network for as long"},
	} {
		r := &record.Run{EndPS: ms, Messages: flows("h0"), Servers: c.servers, Ports: c.ports}
		s := &story{r: r, base: r.FirstPost()}
		if got := s.insides(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		if whole := Sentence(r); c.want != "" && !strings.Contains(whole, "; "+c.want+"; ") {
			t.Errorf("%s: %s", c.name, whole)
		}
	}
}
