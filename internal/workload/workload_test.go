package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/rng"
	"github.com/hopscope/hopscope/internal/units"
)

// fakeNet has hosts of equally many ports, endpoints host by host.
type fakeNet struct{ hosts, ports int }

func (n fakeNet) NumEndpoints() int { return n.hosts * n.ports }
func (n fakeNet) HostOf(ep int) int { return ep / n.ports }
func (n fakeNet) EndpointName(ep int) string {
	return fmt.Sprintf("h%d:%d", ep/n.ports, ep%n.ports+1)
}

func all(n Network) []int {
	eps := make([]int, n.NumEndpoints())
	for i := range eps {
		eps[i] = i
	}
	return eps
}

func opt(change func(*Options)) Options {
	o := DefaultOptions()
	change(&o)
	return o
}

// pairs lists "src>dst size@start" of every message in plan order.
func pairs(p *Plan) string {
	var out []string
	for _, m := range p.All() {
		c := p.Conns[m.Conn]
		out = append(out, fmt.Sprintf("%d>%d %v@%v", c.Src, c.Dst, m.Bytes, m.Start))
	}
	return strings.Join(out, ", ")
}

func TestPatterns(t *testing.T) {
	net := fakeNet{hosts: 4, ports: 1}
	for _, c := range []struct {
		name string
		add  func(p *Plan, entry int) error
		want string
	}{
		{"flow", func(p *Plan, e int) error { return p.Flow(e, 0, 1, units.MB, DefaultOptions()) },
			"0>1 1MB@0s"},
		{"stream", func(p *Plan, e int) error {
			return p.Flow(e, 0, 1, units.KB, opt(func(o *Options) { o.Count, o.Every, o.Start = 3, 5*units.Microsecond, units.Microsecond }))
		}, "0>1 1KB@1us, 0>1 1KB@6us, 0>1 1KB@11us"},
		{"incast", func(p *Plan, e int) error { return p.Incast(e, []int{0, 1, 2}, 3, 64*units.MB, DefaultOptions()) },
			"0>3 64MB@0s, 1>3 64MB@0s, 2>3 64MB@0s"},
		{"two QPs", func(p *Plan, e int) error {
			return p.Flow(e, 0, 1, units.MB, opt(func(o *Options) { o.QPs = 2 }))
		}, "0>1 1MB@0s, 0>1 1MB@0s"},
		{"split", func(p *Plan, e int) error {
			return p.Flow(e, 0, 1, 11, opt(func(o *Options) { o.QPs, o.Split = 4, true }))
		}, "0>1 3B@0s, 0>1 3B@0s, 0>1 3B@0s, 0>1 2B@0s"},
		{"all to all", func(p *Plan, e int) error { return p.AllToAll(e, net, []int{0, 2, 3}, 10, DefaultOptions()) },
			"0>2 10B@0s, 0>3 10B@0s, 2>3 10B@0s, 2>0 10B@0s, 3>0 10B@0s, 3>2 10B@0s"},
		{"all to all, two ports", func(p *Plan, e int) error {
			return p.AllToAll(e, fakeNet{2, 2}, []int{0, 1, 2}, 10, DefaultOptions())
		}, "0>2 10B@0s, 1>2 10B@0s, 2>0 10B@0s, 2>1 10B@0s"},
		{"zero options mean one", func(p *Plan, e int) error { return p.Flow(e, 0, 1, 10, Options{}) },
			"0>1 10B@0s"},
	} {
		p := new(Plan)
		if err := c.add(p, p.AddEntry(c.name)); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := p.Finish(net); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := pairs(p); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}

func TestOptionsReachConnections(t *testing.T) {
	p := new(Plan)
	p.AddEntry("other")
	o := Options{Verb: Send, Class: 5, DSCP: 40, SrcPort: 10000, Path: []int{0, 9, 1}, WrongRKey: true,
		Denied: RemoteWrite, Receives: 7, InitialRate: units.Gbps, QPs: 2}
	if err := p.Flow(p.AddEntry("x"), 0, 1, 10, o); err != nil {
		t.Fatal(err)
	}
	for q, c := range p.Conns {
		want := Conn{SrcDevice: NoDevice, DstDevice: NoDevice, Src: 0, Dst: 1, SrcPort: uint16(10000 + q), Class: 5, DSCP: 40, Entry: 1, WrongRKey: true,
			Denied: RemoteWrite, Receives: 7, InitialRate: units.Gbps}
		path := c.Path
		c.Path = nil
		if fmt.Sprint(c) != fmt.Sprint(want) || !slices.Equal(path, []int{0, 9, 1}) {
			t.Errorf("connection %d is %+v by %v, want %+v", q, c, path, want)
		}
	}
	if m := p.Series[1]; m.Verb != Send || m.Conn != 1 {
		t.Errorf("message %+v, want a SEND on connection 1", m)
	}
}

// TestSourcePort: every port of the range once in any 16384 connections.
func TestSourcePort(t *testing.T) {
	for _, first := range []int{0, 12345} {
		seen := make([]bool, 65536)
		for k := first; k < first+16384; k++ {
			port := SourcePort(k)
			if port < 49152 || seen[port] {
				t.Fatalf("connection %d has port %d: outside the range or used before", k, port)
			}
			seen[port] = true
		}
	}
	// Each low bit of the port is set for about half of any 64 neighbours, as
	// switches that fold the port need: 5 deviations of 4 around 32.
	for bit := range 14 {
		for start := 0; start < 1024; start += 64 {
			ones := 0
			for k := start; k < start+64; k++ {
				ones += int(SourcePort(k)) >> bit & 1
			}
			if ones < 12 || ones > 52 {
				t.Errorf("bit %d is set in %d of the 64 ports from %d", bit, ones, start)
			}
		}
	}
}

func TestPermutation(t *testing.T) {
	for _, net := range []fakeNet{{2, 1}, {3, 1}, {128, 1}, {2, 8}, {3, 5}, {16, 8}} {
		for seed := range uint64(20) {
			s := rng.New(seed, "permutation")
			p := new(Plan)
			if err := p.Permutation(p.AddEntry("perm"), net, all(net), units.MB, &s, DefaultOptions()); err != nil {
				t.Fatal(err)
			}
			if err := p.Finish(net); err != nil { // refuses a flow within a host
				t.Fatal(err)
			}
			var from, to []int
			for _, c := range p.Conns {
				from, to = append(from, c.Src), append(to, c.Dst)
			}
			slices.Sort(to)
			if !slices.Equal(from, all(net)) || !slices.Equal(to, all(net)) {
				t.Fatalf("%v: not every endpoint sends and receives once", net)
			}
		}
	}
}

// TestPermutationUniform: the 9 derangements of 4 elements are equally likely;
// chi-square with 8 degrees of freedom is below 39.6 with probability 1 - 4e-6.
func TestPermutationUniform(t *testing.T) {
	net := fakeNet{4, 1}
	s := rng.New(4, "uniform")
	counts := make(map[string]int)
	const trials = 9000
	for range trials {
		to, err := derange(net, all(net), &s)
		if err != nil {
			t.Fatal(err)
		}
		counts[fmt.Sprint(to)]++
	}
	sum := 0.0
	for _, n := range counts {
		d := float64(n) - trials/9
		sum += d * d / (trials / 9)
	}
	if len(counts) != 9 || sum > 39.6 {
		t.Errorf("%d different derangements, chi-square %.1f", len(counts), sum)
	}
}

func TestFinishSorts(t *testing.T) {
	net := fakeNet{4, 1}
	p := new(Plan)
	a, b := p.AddEntry("a"), p.AddEntry("b")
	late := opt(func(o *Options) { o.Start = units.Microsecond })
	for _, err := range []error{
		p.Flow(b, 0, 1, 1, DefaultOptions()),
		p.Flow(a, 1, 2, 2, late),
		p.Flow(a, 2, 3, 3, DefaultOptions()),
		p.Flow(b, 0, 1, 4, late),
		p.Flow(a, 2, 3, 5, DefaultOptions()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Finish(net); err != nil {
		t.Fatal(err)
	}
	if got, want := pairs(p), "2>3 3B@0s, 2>3 5B@0s, 0>1 1B@0s, 1>2 2B@1us, 0>1 4B@1us"; got != want {
		t.Errorf("order %s, want %s", got, want)
	}
}

func TestErrors(t *testing.T) {
	net := fakeNet{hosts: 3, ports: 2}
	s := rng.New(1, "errors")
	def := DefaultOptions()
	for _, c := range []struct {
		name string
		add  func(p *Plan) error
		want string
	}{
		{"empty", func(p *Plan) error { return nil },
			"the workload has no message; add at least one flow"},
		{"zero size", func(p *Plan) error { return p.Flow(0, 0, 2, 0, def) }, ""}, // IBTA 9.7.1: 0 to 2^31 bytes
		{"negative size", func(p *Plan) error { return p.Flow(0, 0, 2, -1, def) },
			"workload x: size -1B must not be negative"},
		{"largest size", func(p *Plan) error { return p.Flow(0, 0, 2, 1<<31, def) }, ""},
		{"too long", func(p *Plan) error { return p.Flow(0, 0, 2, 1<<31+1, def) },
			"workload x: size 2.147483649GB is above 2GiB, the longest message; send several"},
		{"to itself", func(p *Plan) error { return p.Flow(0, 2, 2, 1, def) },
			"workload x: h1:1 sends to itself; source and destination must differ"},
		{"same host", func(p *Plan) error { return p.Flow(0, 2, 3, 1, def) },
			"workload x: h1:1 and h1:2 are ports of one host; source and destination must be different hosts"},
		{"no endpoint", func(p *Plan) error { return p.Flow(0, 0, 6, 1, def) },
			"workload x: endpoint 6 does not exist; endpoints are 0 to 5"},
		{"negative endpoint", func(p *Plan) error { return p.Flow(0, -1, 2, 1, def) },
			"workload x: endpoint -1 does not exist; endpoints are 0 to 5"},
		{"class", func(p *Plan) error { return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.Class = 16 })) },
			"workload x: class 16 must be from 0 to 7, or a service level from 0 to 15"},
		{"DSCP", func(p *Plan) error { return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.DSCP = 64 })) },
			"workload x: DSCP 64 must be from 0 to 63"},
		{"initial rate", func(p *Plan) error { return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.InitialRate = -1 })) },
			"workload x: initial rate -1bps must not be negative"},
		{"path ends", func(p *Plan) error {
			return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.Path = []int{0, 5, 2} }))
		}, "workload x: the path does not begin at the host of h0:1 and end at the host of h1:1"},
		{"path of one", func(p *Plan) error { return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.Path = []int{0} })) },
			"workload x: the path from h0:1 to h1:1 has 1 of at least 2 nodes; list all from source host to destination host"},
		{"negative start", func(p *Plan) error { return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.Start = -1 })) },
			"start -1ps and every 0s must not be negative"},
		{"late start", func(p *Plan) error { return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.Start = MaxStart + 1 })) },
			"start 4611686.018427387904s is later than 4611686.018427387903s, the latest possible"},
		{"latest start", func(p *Plan) error { return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.Start = MaxStart })) }, ""},
		{"overflow", func(p *Plan) error {
			return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.Count, o.Every = 11, 500000*units.Second }))
		}, "11 messages every 500000s end later than 4611686.018427387903s, the latest possible; use fewer"},
		{"imported late start", func(p *Plan) error {
			p.Conns = append(p.Conns, Conn{Src: 0, Dst: 2})
			p.AddMessage(Message{Bytes: 1, Start: units.Never})
			return nil
		}, "workload x: start never is later than 4611686.018427387903s, the latest possible"},
		{"imported conn", func(p *Plan) error { p.AddMessage(Message{Conn: 3, Bytes: 1}); return nil },
			"a message belongs to connection 3, but the connections are 0 to -1"},
		{"imported entry", func(p *Plan) error { return p.Flow(1, 0, 2, 1, def) },
			"a connection belongs to workload entry 1, but the entries are 0 to 0"},
		{"imported verb", func(p *Plan) error { return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.Verb = 9 })) },
			"workload x: verb 9 is unknown; use one of write, send, write-imm, send-imm, send-inv, read, cas, fetch-add"},
		{"many messages", func(p *Plan) error { return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.Count = 1 << 62 })) },
			"4611686018427387904 messages on each of 1 QPs take about 2.95e+09 TB of memory; at most 16777216 messages are possible in all, which take about 10.7 GB: use fewer"},
		{"many QPs", func(p *Plan) error {
			return p.Incast(0, []int{0, 1}, 2, 1, opt(func(o *Options) { o.QPs = 1 << 62 }))
		}, "2 pairs with 4611686018427387904 QPs each make more than 4194304 connections in all; use fewer"},
		{"negative count", func(p *Plan) error { return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.Count = -1 })) },
			"qps 1 and count -1 must be at least 1"},
		{"ports run out", func(p *Plan) error {
			return p.Flow(0, 0, 2, 1, opt(func(o *Options) { o.SrcPort, o.QPs = 65535, 2 }))
		}, "source ports from 65535 for 2 QPs pass 65535; begin lower"},
		{"split too fine", func(p *Plan) error {
			return p.Flow(0, 0, 2, 3, opt(func(o *Options) { o.QPs, o.Split = 4, true }))
		}, "3B cannot be split over 4 QPs; use fewer QPs"},
		{"incast from nobody", func(p *Plan) error { return p.Incast(0, nil, 2, 1, def) },
			"incast has no senders; name at least one"},
		{"all to all alone", func(p *Plan) error { return p.AllToAll(0, net, []int{0}, 1, def) },
			"all-to-all needs at least two endpoints and has 1"},
		{"twice", func(p *Plan) error { return p.Permutation(0, net, []int{0, 2, 0}, 1, &s, def) },
			"permutation names h0:1 twice; each endpoint takes part once"},
		{"permutation of strangers", func(p *Plan) error { return p.Permutation(0, net, []int{0, 6}, 1, &s, def) },
			"permutation: endpoint 6 does not exist; endpoints are 0 to 5"},
		{"crowded host", func(p *Plan) error { return p.Permutation(0, net, []int{0, 1, 2}, 1, &s, def) },
			"permutation: 2 of 3 endpoints are on the host of h0:2, so some must send to their own host; take more hosts"},
	} {
		p := new(Plan)
		p.AddEntry("x")
		err := c.add(p)
		if err == nil {
			err = p.Finish(net)
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: error %q, want %q", c.name, got, c.want)
		}
	}
}

func TestEntryError(t *testing.T) {
	p := new(Plan)
	p.AddEntry("good")
	if err := p.Flow(p.AddEntry("bad"), 0, 0, 1, DefaultOptions()); err != nil {
		t.Fatal(err)
	}
	var entry *EntryError
	if err := p.Finish(fakeNet{2, 1}); !errors.As(err, &entry) || entry.Entry != 1 || entry.Name != "bad" {
		t.Errorf("error %v does not name entry 1", err)
	}
}
