package advise

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/units"
)

// The example can be read, and each way to get prices wrong is one line with its place.
func TestPrices(t *testing.T) {
	text, err := os.ReadFile("../../docs/examples/prices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, bad := ReadPrices("p.yaml", text)
	if bad != nil || p.Currency != "USD" || p.Ethernet.RDMACard != 1100 ||
		p.InfiniBand.Cable != 180 || p.Parameter != 100 {
		t.Fatalf("%+v, %v", p, bad)
	}
	for _, c := range []struct{ old, new, want string }{
		{"28000 USD", "28000 EUR",
			"p.yaml:9:11: infiniband.switch is in EUR, and prices above are in USD; give all in one currency"},
		{"120 USD", "-120 USD", "p.yaml:5:10: ethernet.cable: -120 USD is negative; a price is 0 or more"},
		{"120 USD", "120", `"120" is no price; write a number and a currency, such as 100 USD`},
		{"120 USD", "[1, 2]", "ethernet.cable:"},
		{"120 USD", "99999999999 USD", "is beyond 1000000000"},
		{"  cable: 180 USD\n", "", "infiniband.cable has no price; give one"},
		{"  rdma_card", "  rdmacard", `did you mean "rdma_card"?`},
		{"infiniband:", "infinband:", `did you mean "infiniband"?`},
		{"core: 150 USD", "", "core has no price"},
		{"infiniband:\n  switch: 28000 USD\n  cable: 180 USD\n  card: 1500 USD\n", "",
			"there are no prices for infiniband, which advise weighs; give its switch, cable, card"},
		{string(text), "\n", "p.yaml:1:1: the file is empty; it needs ethernet, infiniband, core and parameter"},
	} {
		_, bad := ReadPrices("p.yaml", []byte(strings.Replace(string(text), c.old, c.new, 1)))
		if bad == nil || !strings.Contains(bad.Error(), c.want) || !strings.HasPrefix(bad.Error(), "p.yaml") {
			t.Errorf("%s for %s: %v, want %s", c.new, c.old, bad, c.want)
		}
	}
}

// seenOf are runs of a stack that takes so long with each seed.
func seenOf(took ...units.Time) (out []*Seen) {
	for i, d := range took {
		out = append(out, &Seen{Seed: uint64(i + 1), Messages: 1, P99: d, Switches: 1, Cables: 2, Cards: 2,
			Layers: []catalog.Layering{{API: catalog.VerbsAPI}}, over: 1, window: 1})
	}
	return out
}

// Each rule decides where its figure differs, and only where seeds do not make it.
func TestRules(t *testing.T) {
	prices := func(parameter float64) *Prices {
		return &Prices{Currency: "USD", Ethernet: Parts{1000, 10, 100, 200}, InfiniBand: Parts{2000, 10, 300, 0},
			Parameter: parameter}
	}
	base := func() Runs {
		return Runs{Why: map[string]string{}, Seen: map[string][]*Seen{
			"tcp": seenOf(200, 210), "rocev2": seenOf(100, 110), "rocev2-lossy": seenOf(100, 120),
			"infiniband": seenOf(101, 108)}}
	}
	for _, c := range []struct {
		name, want, rule string
		prices           *Prices
		change           func(r Runs)
	}{
		{"cheapest of those alike", "RoCEv2 (lossless) with PFC, ECN and DCQCN", "cost", prices(5), func(r Runs) {
			r.Seen["rocev2-lossy"][0].Tune[ofSwitches] = 1
		}},
		{"faster with every seed", "InfiniBand", "time", prices(5), func(r Runs) { r.Seen["infiniband"] = seenOf(80, 85) }},
		{"faster with one seed alone", "RoCEv2 (lossless) with PFC, ECN and DCQCN", "cost", prices(5), func(r Runs) {
			r.Seen["infiniband"] = seenOf(80, 115)
			r.Seen["rocev2-lossy"][0].Tune[ofSwitches] = 1
		}},
		{"fast with one seed of three alone", "InfiniBand", "time", nil, func(r Runs) { // a median of 200
			delete(r.Seen, "rocev2")
			delete(r.Seen, "rocev2-lossy")
			r.Seen["tcp"], r.Seen["infiniband"] = seenOf(10, 200, 200), seenOf(70, 70, 70)
			r.Seen["infiniband"][0].Tune[ofControl] = 9
		}},
		{"fewest parameters", "InfiniBand", "tuning", nil, func(r Runs) {
			r.Seen["rocev2"][0].Tune[ofControl], r.Seen["rocev2-lossy"][0].Tune[ofControl] = 9, 9
		}},
		{"fewest cores", "InfiniBand", "cores", nil, func(r Runs) {
			for _, s := range []string{"rocev2", "rocev2-lossy"} {
				r.Seen[s][0].AllCores, r.Seen[s][1].AllCores = 1, 1
			}
		}},
		{"a setting that is faster", "RoCEv2 (lossless) with PFC alone", "time", nil, func(r Runs) {
			r.Seen["rocev2-pfc-only"] = seenOf(70, 80)
		}},
		{"a setting that alone ends", "RoCEv2 (lossless) with PFC alone", "time", nil, func(r Runs) {
			r.Seen["rocev2"][0].Trouble = "a deadlock"
			r.Seen["rocev2-pfc-only"] = seenOf(70, 80)
		}},
		{"research is not recommended", "InfiniBand", "time", nil, func(r Runs) {
			r.Seen["rocev2-irn"], r.Seen["infiniband"] = seenOf(10, 10), seenOf(80, 85)
		}},
		{"all others lose", "TCP with CUBIC", "ends", prices(5), func(r Runs) {
			for _, s := range []string{"rocev2", "rocev2-lossy", "infiniband"} {
				r.Seen[s][1].Trouble = "a deadlock"
			}
		}},
	} {
		runs := base()
		c.change(runs)
		a := Of("s", "", runs, c.prices)
		rules := []string{}
		for _, s := range a.Data.Steps {
			rules = append(rules, s.Rule)
		}
		for _, s := range a.Data.Steps { // what stands behind the colon is what the words before it say
			if !strings.HasSuffix(s.States, " is out") {
				t.Errorf("%s: rule %s says %q of what it takes away, %v", c.name, s.Rule, s.States, s.Out)
			}
		}
		if best := a.Best(); best == nil || best.Full() != c.want || !slices.Contains(rules, c.rule) {
			t.Errorf("%s: %q by %v, want %q by %s", c.name, a.Data.Text, rules, c.want, c.rule)
		}
	}
	runs := base()
	for _, list := range runs.Seen {
		list[0].Trouble = "a stall"
	}
	if a := Of("s", "", runs, nil); a.Data.Name != "" {
		t.Errorf("%q is recommended where nothing ends", a.Data.Name)
	}
	runs = base()
	runs.Seen["infiniband"] = seenOf(60, 130)
	if a := Of("s", "", runs, nil); !strings.Contains(a.Data.Text, "not firm") {
		t.Errorf("%q of seeds that choose otherwise", a.Data.Text)
	}
}

// A page says what its runs did not put to the test: that nothing was held back, that one switch makes no victims.
func TestNotShown(t *testing.T) {
	of := func(fabric catalog.Fabric, switches int, held float64, control int) string {
		return strings.Join(notShown(&Answer{Data: catalog.Layering{Fabric: fabric}, Switches: switches, ControlParameters: control,
			HeldPS: Spread{Most: held}, PeakQueue: Spread{Most: 24.4e6}}), "\n")
	}
	for _, c := range []struct {
		text      string
		has, lack []string
	}{
		{of(catalog.LosslessEthernet, 1, 0, 0), []string{"PFC paused nobody", "24.4 MB", "With one switch", "PFC alone"}, nil},
		{of(catalog.LosslessEthernet, 4, 5, 28), []string{"claims 30 32"}, []string{"nobody", "one switch", "PFC alone"}},
		{of(catalog.CreditedFabric, 4, 0, 0), []string{"nobody waited for credits", "claims 33"}, []string{"PFC"}},
		{of(catalog.LossyEthernet, 1, 0, 0), nil, []string{"hold"}},
	} {
		for _, s := range c.has {
			if !strings.Contains(c.text, s) {
				t.Errorf("%q lacks %q", c.text, s)
			}
		}
		for _, s := range c.lack {
			if strings.Contains(c.text, s) {
				t.Errorf("%q has %q", c.text, s)
			}
		}
	}
}

// called gives runs of a stack calls over a transport that take so long.
func called(seen []*Seen, over string, p99 units.Time, cores float64) []*Seen {
	for _, o := range seen {
		o.Calls, o.CallsOver, o.CallP99, o.AllCores = 1, over, p99, cores
	}
	return seen
}

// Calls share the network of the data while these do not double their p99, and calls over sockets go on a second
// network beside InfiniBand, which is paid for.
func TestControlPlane(t *testing.T) {
	prices := &Prices{Currency: "USD", Ethernet: Parts{1000, 10, 100, 200}, InfiniBand: Parts{2000, 10, 300, 0}, Core: 60}
	of := func(infiniband, beside units.Time, over string) *Advice {
		return Of("s", "", Runs{Why: map[string]string{}, CallsOver: over,
			Seen: map[string][]*Seen{"tcp": called(seenOf(200), over, beside, 2), "rocev2": called(seenOf(100), over, beside, 2),
				"infiniband": called(seenOf(infiniband), "RC", 2, 2)},
			Calls: map[string][]*Seen{"tcp": called(seenOf(0), over, 40, 0.5), "rocev2": called(seenOf(0), over, 40, 0.5),
				"infiniband": called(seenOf(0), "RC", 2, 0.25)}}, prices)
	}
	for _, c := range []struct {
		name               string
		infiniband, beside units.Time
		over, want, rule   string
	}{
		{"alike", 120, 70, tcp, "RoCEv2 (lossless)", "one network"},
		{"held up by data", 120, 90, tcp, tcp, "interference"},
		{"sockets beside InfiniBand", 50, 70, tcp, tcp, "sockets"},
		{"verbs on InfiniBand", 50, 70, "RC", "InfiniBand", "one network"},
	} {
		a := of(c.infiniband, c.beside, c.over)
		if v := a.Control; v.Name != c.want || v.Steps[0].Rule != c.rule {
			t.Errorf("%s: %q by %+v, want %q by %s", c.name, v.Text, v.Steps, c.want, c.rule)
		}
	}
	// 1 switch, 2 cables, 2 cards; 2 cores in all, of which calls have half a core where they have the network.
	a := of(50, 70, tcp)
	if got, want := *a.column("RoCEv2 (lossless)").Cost, (Cost{1420, 90, 0, 30, 0, 1540}); got != want {
		t.Errorf("cost of RoCEv2 %+v, want %+v", got, want)
	}
	ib := a.column("InfiniBand")
	if ib.Apart == nil || ib.Apart.P99PS.Median != 40 || a.column("RoCEv2 (lossless)").Apart != nil ||
		of(50, 70, "RC").column("InfiniBand").Apart != nil {
		t.Errorf("calls on TCP beside InfiniBand on a second network: %+v", ib.Apart)
	}
	if got := ib.DataCores(); got != 1.75 {
		t.Errorf("data keep %g cores busy, want 2 less the quarter of the calls", got)
	}
	if got, want := *ib.Cost, (Cost{2620, 105, 0, 30, 1220, 3975}); got != want {
		t.Errorf("cost of InfiniBand %+v, want %+v", got, want)
	}
}

// Cost is counted as the prices say: 1 switch, 2 cables, 2 cards that carry RDMA, 3 parameters, half a core.
func TestCost(t *testing.T) {
	p := Prices{Ethernet: Parts{1000, 10, 100, 200}, Core: 50, Parameter: 7}
	a := Answer{Switches: 1, Cables: 2, Cards: 2, SwitchParameters: 2, ControlParameters: 1, AllCores: Spread{Median: 0.5},
		choice: Choice{RDMA: true}}
	if got := p.of(&a); got.Total != 1000+2*10+2*200+3*7+25 {
		t.Errorf("cost %+v", got)
	}
}

// What causes save is told from the largest on, pairs where they save more than any one does, and that another would be
// faster only where what is changed does not speed up the recommended one too.
func TestAsk(t *testing.T) {
	runs := Runs{Why: map[string]string{}, Seen: map[string][]*Seen{"rocev2": seenOf(100), "infiniband": seenOf(120)}}
	best := &Inquiry{Subject: "X", TookPS: 1000, Causes: []Cause{{"port", false, 400}, {"core", false, 990},
		{"port and core", true, 200}, {"card", false, units.Never}}}
	for _, c := range []struct {
		cause string
		want  string
	}{
		{"port", "InfiniBand: X takes 1.20 ns. With one change, port: 300 ps."},
		{"credits", "InfiniBand: X takes 1.20 ns. With one change, credits: 300 ps. So changed, InfiniBand would be faster than " +
			"RoCEv2 (lossless) is."},
	} {
		a := Of("s", "", runs, nil)
		a.Ask(best, &Inquiry{Subject: "X", TookPS: 1200, Causes: []Cause{{c.cause, false, 300}}})
		want := []string{"RoCEv2 (lossless) with PFC, ECN and DCQCN: X takes 1.00 ns. With one change, port: 400 ps. With two " +
			"changes, port and core: 200 ps.", c.want}
		if !slices.Equal(a.Data.WhatIf, want) {
			t.Errorf("%q\nwant %q", a.Data.WhatIf, want)
		}
	}
}

// Every counter that is to be watched is one that boxes of such a run print, and its threshold follows from the runs.
func TestWatched(t *testing.T) {
	for _, c := range []struct{ stack, counter string }{
		{"tcp", "TX_DRP"}, {"rocev2", "np_cnp_sent"}, {"rocev2-lossy", "np_cnp_sent"},
		{"infiniband", "PortXmitWait"},
	} {
		r, _, err := run.Do(context.Background(), run.Options{Scenario: "incast-4to1", Stack: c.stack, Workers: 1,
			Set: []string{"workload[0].incast.size=2MB"}})
		if err != nil {
			t.Fatal(err)
		}
		o := Read(r)
		layer := o.Layers[0]
		list := watch([]*Seen{o}, o.Layers)
		want := 0
		for _, w := range watchList() {
			if w.concerns(layer) {
				want++
			}
		}
		if len(list) != want {
			t.Errorf("%s: %d counters of %d are there: %+v", c.stack, len(list), want, list)
		}
		k := slices.IndexFunc(list, func(w Watch) bool { return w.Counter == c.counter })
		if k < 0 || c.stack != "tcp" && list[k].Most <= 0 {
			t.Errorf("%s: %s is %+v", c.stack, c.counter, list)
		}
		if o.Switches != 1 || o.Cables != 5 || o.Cards != 5 {
			t.Errorf("%s: %d switches, %d cables, %d cards", c.stack, o.Switches, o.Cables, o.Cards)
		}
		if c.stack == "rocev2" { // what the cards sent in all, as one receiver sent it
			n := o.counts["np_cnp_sent"]
			if n != o.Totals.CNPsSent {
				t.Errorf("%d CNPs, want %d", n, o.Totals.CNPsSent)
			}
		}
	}
	more := []*Seen{seenOf(1)[0], seenOf(1)[0]}
	for i, n := range []int64{4, 10} {
		more[i].counts, more[i].over = map[string]int64{"c": n}, units.Millisecond
	}
	if w, ok := watchOne(more, watched{}, "c"); !ok || w.Least != 4 || w.Most != 10 || w.Alarm != 16 {
		t.Errorf("threshold %+v", w)
	}
	more[0].counts["c"] = 10
	if w, _ := watchOne(more, watched{}, "c"); w.Alarm != 11 {
		t.Errorf("threshold of seeds that agree %+v", w)
	}
	more[0].counts["c"], more[1].counts["c"] = 980, 980
	if w, _ := watchOne(more, watched{share: true}, "c"); w.Alarm != 990 {
		t.Errorf("threshold of microseconds in a millisecond %+v", w)
	}
}
