package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/card"
	"github.com/hopscope/hopscope/internal/congestion"
	"github.com/hopscope/hopscope/internal/units"
)

// TestBadCards: an unknown card, and a preset in the wrong section, end in one line that says
// what would be right.
func TestBadCards(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"nic: {preset: connectx-8}\n", `s.yaml:6:15: nic.preset: "connectx-8" is not known; did you mean "connectx-5"? there are ` + strings.Join(card.Presets(), ", ")},
		{"nic: {preset: linux-xeon}\n", `s.yaml:6:15: nic.preset: linux-xeon is a host; give it to the section host`},
		{"host: {preset: e810}\n", `s.yaml:6:16: host.preset: e810 is a card; give it to the section nic`},
		{"hosts: {h0: {preset: connectx7}}\n", `s.yaml:6:22: hosts.h0.preset: "connectx7" is neither a card nor a host; did you mean "connectx-7"?`},
		{"nic: {blue_flame: 8KB}\n", `s.yaml:6:19: nic.blue_flame: 8KB is more than any doorbell takes along; give at most 4KiB, such as 256B`},
		{"nic: {nak_delay: 2s}\n", `s.yaml:6:18: nic.nak_delay: 2s is longer than any card takes; give at most 1s`},
		{"nic: {qp_message_rate: 0}\n", `s.yaml:6:24: nic.qp_message_rate: "0" is not a whole number from 1 to 1000000000`},
	} {
		if _, err := Parse("s.yaml", []byte(base+c.src), nil, nil); err == nil || err.Error() != c.want {
			t.Errorf("%s gives %v\nwant %s", c.src, err, c.want)
		}
	}
}

// TestCardsOfHosts: a preset is of all hosts or of one, keys beside it change it, and a word
// among a single host's keys means a card or a host.
func TestCardsOfHosts(t *testing.T) {
	v, err := Parse("s.yaml", []byte(base+`nic: {preset: connectx-6-dx, send_pipeline: 1us}
hosts:
  h1: {preset: e810}
  h2: {preset: linux-xeon}
  h3: {preset: ideal}
`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) *NIC {
		n, _ := v.Graph.NodeByName(name)
		return &v.NICs[n]
	}
	h0, h1, h2, h3 := of("h0"), of("h1"), of("h2"), of("h3")
	dx, _ := card.Preset("connectx-6-dx")
	if h0.Card.Name != dx.Name || h0.Card.Send != units.Microsecond || h0.Card.Receive != dx.Receive || h0.Server == nil || h0.Server != h2.Server {
		t.Errorf("h0 has %+v, server %v", h0.Card, h0.Server)
	}
	if h1.Card.Name != "e810" || h2.Card.Name != dx.Name || !h2.Host.Kernel() || h3.Card.Name != card.Ideal || h3.Server != nil {
		t.Errorf("h1 %q, h2 %q with a kernel %v, h3 %q", h1.Card.Name, h2.Card.Name, h2.Host.Kernel(), h3.Card.Name)
	}
	a, b := v.Transports[h0.Transport], v.Transports[h1.Transport]
	if a.Adaptive.Min != 4096*units.Microsecond || !a.NAKNotifies || !a.SlowRestart.On || b.Adaptive.Min != 0 || b.NAKNotifies {
		t.Errorf("h0 recovers by %+v, h1 by %+v", a, b)
	}
	if a.CC.CNPLimiter != congestion.PerPort || b.CC.CNPLimiter != congestion.PerQueuePair || b.CC.MinTimeBetweenCNPs != 50*units.Microsecond {
		t.Errorf("h0 limits CNPs per %v, h1 per %v and %v", a.CC.CNPLimiter, b.CC.CNPLimiter, b.CC.MinTimeBetweenCNPs)
	}
}

// TestCardsWithoutInfiniBand: what has no such port is named on InfiniBand, and nowhere else.
func TestCardsWithoutInfiniBand(t *testing.T) {
	for _, name := range card.Presets() {
		for _, stack := range []string{"infiniband", "rocev2"} {
			v := parse(t, base+"stack: "+stack+"\nhosts:\n  h1: {preset: "+name+"}\n")
			want := stack == "infiniband" && (name == "e810" || name == "bcm57508" || name == "connectx-6-dx" || name == "chelsio-t6")
			if said := strings.Join(v.Warnings, "\n"); strings.Contains(said, "has no InfiniBand (h1)") != want {
				t.Errorf("%s, %s: warnings %q", name, stack, said)
			}
		}
	}
}

// TestCardInAServer: the link of a card trains to the older generation of its two ends, those
// of GPUs stay; and what dcqcn says goes before a card's limiter.
func TestCardInAServer(t *testing.T) {
	v, err := Parse("s.yaml", []byte(base+"nic: {preset: e810}\nserver: dgx-h100\ndcqcn: {min_time_between_cnps: 7us}\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := v.Graph.NodeByName("h0")
	tree := v.NICs[n].Server
	for i := range tree.Links {
		l := &tree.Links[i]
		if name := tree.Devices[l.B].Name; strings.HasPrefix(name, "nic") && l.PCIe.Gen != 4 || strings.HasPrefix(name, "gpu") && l.PCIe.Gen > 0 && l.PCIe.Gen != 5 {
			t.Errorf("the link of %s has generation %d", name, l.PCIe.Gen)
		}
	}
	if cc := v.Transports[v.NICs[n].Transport].CC; cc.MinTimeBetweenCNPs != 7*units.Microsecond || cc.CNPLimiter != congestion.PerQueuePair {
		t.Errorf("CNPs per %v and %v", cc.CNPLimiter, cc.MinTimeBetweenCNPs)
	}
}
