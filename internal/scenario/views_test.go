package scenario

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/workload"
)

// What a stack declares of its layers is what a scenario that gives nothing else runs.
func TestLayers(t *testing.T) {
	for _, s := range Stacks() {
		got := parse(t, "stack: "+s.Name+"\n"+base).Layers()
		if len(got) != 1 || got[0].API != s.Layers.API || got[0].Fabric != s.Layers.Fabric ||
			!slices.Contains(s.Layers.Transports, got[0].Transports[0]) {
			t.Errorf("%s: ran %+v, declares %+v", s.Name, got, s.Layers)
		}
		if (s.Layers.Fabric == catalog.LosslessEthernet) != s.PFC || (s.Layers.Fabric == catalog.CreditedFabric) != s.Credits {
			t.Errorf("%s: PFC %v, credits %v, and its fabric is %v", s.Name, s.PFC, s.Credits, s.Layers.Fabric)
		}
		for _, service := range s.Layers.Transports {
			if service.API() != s.Layers.API {
				t.Errorf("%s: %v is used by %v, not by %v", s.Name, service, service.API(), s.Layers.API)
			}
		}
	}
	for i := range workload.TCP + 1 {
		if catalog.Service(i).String() != i.String() {
			t.Errorf("service %d is %v in the catalogue and %v in the workload", i, catalog.Service(i), i)
		}
	}
}

// What runs beside or against the stack shows in the layers: entries of other services and stacks, classes that drop.
func TestLayersOfEntries(t *testing.T) {
	const star = "name: t\ntopology: {star: {hosts: 4, link: 100Gbps}}\nworkload:\n"
	for _, c := range []struct{ text, want string }{
		{"  - flow: {from: h0, to: h1, size: 1MB}\n  - flow: {from: h0, to: h1, size: 1KB, service: ud, verb: send}\n",
			"verbs RC, UD Ethernet, lossless"},
		{"  - flow: {from: h0, to: h1, size: 1MB}\n  - rpc: {between: [h2, h3], size: 2KB, every: 50us, count: 2, stack: tcp, class: 0}\n",
			"verbs RC Ethernet, lossless; sockets TCP Ethernet, lossy"},
		{"  - flow: {from: h0, to: h1, size: 1MB}\n  - flow: {from: h2, to: h1, size: 1MB, class: 1}\n",
			"verbs RC Ethernet, lossless; verbs RC Ethernet, lossy"},
		{"  - flow: {from: h0, to: h1, size: 1MB}\nswitch: {pfc: none}\n", "verbs RC Ethernet, lossy"},
	} {
		var got []string
		for _, l := range parse(t, star+c.text).Layers() {
			got = append(got, fmt.Sprintf("%v %s %v", l.API, l.TransportNames(), l.Fabric))
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %s, want %s", c.text, strings.Join(got, "; "), c.want)
		}
	}
}

// A view's stacks share what it says they share; --stacks narrows it, --controllers replaces what can be replaced.
func TestViews(t *testing.T) {
	for _, v := range Views() {
		differ := map[string]bool{}
		for _, s := range v.Stacks {
			if v.differ(layersOf(s)) == "" {
				t.Errorf("%s: %s has no layers", v.Name, s)
			}
			differ[v.differ(layersOf(s))] = true
			onEthernet := layersOf(s).Fabric != catalog.CreditedFabric
			if v.Name == "host" && !onEthernet || v.Name == "fabric" && layersOf(s).API != catalog.VerbsAPI {
				t.Errorf("%s: %s is %+v", v.Name, s, layersOf(s))
			}
		}
		if len(differ) < 2 {
			t.Errorf("%s: its stacks do not differ", v.Name)
		}
	}
	const hpcc = "rocev2 hpcc"
	for _, c := range []struct {
		view, stacks, controls, want string
	}{
		{"host", "", "", "rocev2-pfc-only,tcp"},
		{"fabric", "", "", "rocev2,rocev2-pfc-only,rocev2-ecn-only,rocev2-none,rocev2-lossy,rocev2-irn,infiniband"},
		{"fabric", "rocev2,infiniband", "", "rocev2,infiniband"},
		{"fabric", "rocev2,infiniband", "hpcc,swift", "rocev2 hpcc,rocev2 swift,infiniband"},
		{"fabric", hpcc + ",infiniband", "", "rocev2 hpcc,infiniband"},
		{"host", "rocev2-pfc-only,rocev2-pfc-only staged,tcp", "", "rocev2-pfc-only,rocev2-pfc-only staged,tcp"},
		{"fabric", "rocev2,tcp", "", "--stacks tcp is not of --view fabric"},
		{"fabric", "rocev2,rocev2-pfc-only", "", "leaves --view fabric nothing to compare"},
		{"host", "tcp", "", "leaves --view host nothing to compare"},
		{"host", "", "hpcc", "--controllers: no stack of --view host"},
		{"path", "", "", "\"path\" is no view; use one of host, fabric"},
	} {
		var stacks, controls []string
		if c.stacks != "" {
			stacks = strings.Split(c.stacks, ",")
		}
		if c.controls != "" {
			controls = strings.Split(c.controls, ",")
		}
		v, err := FindView(c.view)
		var got []string
		if err == nil {
			got, err = v.Narrow(stacks, controls)
		}
		said := strings.Join(got, ",")
		if err != nil {
			said = err.Error()
		}
		if said != c.want && (err == nil || !strings.Contains(said, c.want) || strings.Contains(said, "\n")) {
			t.Errorf("%s %s %s: %s, want %s", c.view, c.stacks, c.controls, said, c.want)
		}
	}
}
