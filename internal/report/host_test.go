package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hopscope/hopscope/internal/server"
)

func hostOf(t *testing.T, name string) *Host {
	t.Helper()
	tree, err := server.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return NewHost(name, tree)
}

func hostText(t *testing.T, h *Host, opt TextOptions) string {
	t.Helper()
	var b strings.Builder
	if err := h.Text(&b, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHostFits: at 100 columns and at 80 no line is longer, for any preset, and for 8
// GPUs with 10 cards and with 40; the columns of the classes line up.
func TestHostFits(t *testing.T) {
	hosts := []*Host{wideHost(t, 10), wideHost(t, 40)}
	for _, name := range server.Presets() {
		hosts = append(hosts, hostOf(t, name))
	}
	for _, h := range hosts {
		for _, width := range []int{80, 100} {
			for _, verbose := range []bool{false, true} {
				out := hostText(t, h, TextOptions{Width: width, Verbose: verbose})
				for line := range strings.Lines(out) {
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width && !strings.Contains(line, "http") {
						t.Errorf("%s: %d columns of %d: %s", h.Source, n, width, line)
					}
				}
			}
		}
	}
	var class, first []string
	for line := range strings.Lines(hostText(t, hosts[0], TextOptions{})) {
		if strings.HasPrefix(line, "Class") {
			class = strings.SplitAfter(line, "  ")
			first = append(first, line)
		} else if len(first) > 0 && len(first) < 9 {
			first = append(first, line)
		}
	}
	if len(class) != 11 || len(first) != 9 {
		t.Fatalf("the matrix is %q", first)
	}
	at := strings.Index(first[0], "nic9")
	for _, line := range first[1:] {
		if len(line) <= at || line[at] == ' ' || line[at-1] != ' ' {
			t.Errorf("nothing stands below nic9 in %q", line)
		}
	}
}

// wideHost is a server with 8 GPUs and n cards at root ports.
func wideHost(t *testing.T, n int) *Host {
	t.Helper()
	var b strings.Builder
	b.WriteString(`<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">`)
	for i := range 8 + n {
		class := "0x030200"
		if i >= 8 {
			class = "0x020700"
		}
		fmt.Fprintf(&b, `<pci busid="0000:%02x:00.0" class="%s" link_speed="32.0 GT/s PCIe" link_width="16"/>`, i, class)
	}
	b.WriteString("</cpu></system>")
	tree, err := server.Read("wide", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return NewHost("wide", tree)
}

// TestHostPairs: what every pair gets is at most what its card's ports and each of its
// hops allow, and what limits it is one of them; latencies are sums of the hops.
func TestHostPairs(t *testing.T) {
	for _, name := range server.Presets() {
		h := hostOf(t, name)
		if len(h.Pairs) == 0 {
			t.Errorf("%s has no pairs", name)
		}
		for i := range h.Pairs {
			p := &h.Pairs[i]
			send, receive := int64(0), int64(0)
			names := map[string]bool{"port of " + p.Card: true, "256 read tags": true, "posted credits": true}
			for _, x := range p.Hops {
				send, receive = send+x.Send, receive+x.Receive
				names[x.Hop] = true
				if x.SendRate > 0 && x.SendRate*1001 < p.Send.Rate*1000 || x.ReceiveRate > 0 && x.ReceiveRate*1001 < p.Receive.Rate*1000 {
					t.Errorf("%s: %s to %s gets more than %s allows", name, p.Memory, p.Card, x.Hop)
				}
			}
			if send != p.Send.Latency || receive != p.Receive.Latency {
				t.Errorf("%s: %s to %s: hops add up to %d and %d ps, not %d and %d", name, p.Memory, p.Card, send, receive, p.Send.Latency, p.Receive.Latency)
			}
			for _, limit := range []string{p.Send.Limit, p.Receive.Limit, p.DuplexLimit} {
				if !names[limit] {
					t.Errorf("%s: %s to %s is limited by %q, which is not on its way", name, p.Memory, p.Card, limit)
				}
			}
		}
	}
}

// TestHostACS: with ACS a GPU and a card below one switch send each other everything
// over the switch's link to the root complex, twice when both send, which halves what
// each direction gets (models.md, F26).
func TestHostACS(t *testing.T) {
	direct := hostOf(t, "hgx-a100").find("gpu0", "nic0")
	tree, err := server.Preset("hgx-a100")
	if err != nil {
		t.Fatal(err)
	}
	tree.ACS = true
	h := NewHost("hgx-a100", tree)
	redirected := h.find("gpu0", "nic0")
	if ratio := float64(redirected.Duplex) / float64(direct.Duplex); ratio < 0.5 || ratio > 0.56 {
		t.Errorf("both ways %d b/s, %.3f of %d", redirected.Duplex, ratio, direct.Duplex)
	}
	if redirected.DuplexLimit != "cpu0-switch0" || direct.DuplexLimit == "cpu0-switch0" {
		t.Errorf("limits %q and %q", redirected.DuplexLimit, direct.DuplexLimit)
	}
	if !strings.Contains(hostText(t, h, TextOptions{}), "ACS redirects") {
		t.Error("the text does not say that ACS redirects")
	}
}

// TestHostTree: box-drawing characters on a terminal that has them, ASCII elsewhere.
func TestHostTree(t *testing.T) {
	h := hostOf(t, "hgx-a100")
	for _, c := range []struct {
		unicode bool
		want    string
	}{{false, `cpu0  NUMA node 0, dram0 205 GB/s
|- switch0  gen4 x16
|  |- gpu0  gen4 x16, HBM 2.04 TB/s
|  |- gpu1  gen4 x16, HBM 2.04 TB/s
|  |- nic0  gen4 x16, 200 Gb/s
|  ` + "`" + `- nic1  gen4 x16, 200 Gb/s
` + "`" + `- switch1  gen4 x16
   |- gpu2  gen4 x16, HBM 2.04 TB/s
`}, {true, `cpu0  NUMA node 0, dram0 205 GB/s
├─ switch0  gen4 x16
│  ├─ gpu0  gen4 x16, HBM 2.04 TB/s
│  ├─ gpu1  gen4 x16, HBM 2.04 TB/s
│  ├─ nic0  gen4 x16, 200 Gb/s
│  └─ nic1  gen4 x16, 200 Gb/s
└─ switch1  gen4 x16
   ├─ gpu2  gen4 x16, HBM 2.04 TB/s
`}} {
		if out := hostText(t, h, TextOptions{Unicode: c.unicode}); !strings.Contains(out, c.want) {
			t.Errorf("unicode %t:\n%s", c.unicode, out)
		}
	}
}

// TestHostFarGPU: a GPU on another NUMA node than all cards is named.
func TestHostFarGPU(t *testing.T) {
	tree, err := server.Read("far", []byte("\tGPU0\tGPU1\tNIC0\nGPU0\tX\tSYS\tPHB\nGPU1\tSYS\tX\tSYS\nNIC0\tPHB\tSYS\tX\n"))
	if err != nil {
		t.Fatal(err)
	}
	if out := hostText(t, NewHost("far", tree), TextOptions{}); !strings.Contains(out, "No card is on the NUMA node of gpu1: all") {
		t.Error(out)
	}
	if out := hostText(t, hostOf(t, "dgx-h100"), TextOptions{}); strings.Contains(out, "No card is on") {
		t.Error(out)
	}
}

// TestHostJSON: numbers are in the units that their names say.
func TestHostJSON(t *testing.T) {
	data, err := hostOf(t, "dgx-h100").JSON()
	if err != nil {
		t.Fatal(err)
	}
	var h Host
	if err := json.Unmarshal(data, &h); err != nil {
		t.Fatal(err)
	}
	if len(h.Cards) != 8 || h.Cards[3] != (HostCard{"gpu3", "nic3", 4, "PIX"}) || len(h.Pairs) != 8*8+2*8 {
		t.Errorf("cards %v, %d pairs", h.Cards, len(h.Pairs))
	}
	p := h.find("gpu0", "nic0")
	if p.Send.Rate != 400e9 || p.Send.Limit != "port of nic0" || p.Hops[2].ReceiveRate < 415e9 || p.Hops[2].ReceiveRate > 417e9 {
		t.Errorf("gpu0 to nic0: %+v", p)
	}
}
