package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// parse reads elements that stand in the <cpu> of an AMD server, or in several.
func parse(t *testing.T, inside string) *Tree {
	t.Helper()
	text := `<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">` + inside + `</cpu></system>`
	tree, err := ParseXML("x", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Check(); err != nil {
		t.Fatal(err)
	}
	return tree
}

// pci writes a <pci> of generation 4 and 16 lanes.
func pci(bus, class, inside string) string {
	return fmt.Sprintf(`<pci busid="%s" class="%s" link_speed="16.0 GT/s PCIe" link_width="16">%s</pci>`, bus, class, inside)
}

func gpuAt(bus string, dev int) string {
	return pci(bus, "0x030200", fmt.Sprintf(`<gpu dev="%d" sm="80" gdr="1"/>`, dev))
}

func netAt(name string, dev, speed, gdr int) string {
	return fmt.Sprintf(`<net name="%s" dev="%d" speed="%d" gdr="%d"/>`, name, dev, speed, gdr)
}

func nicAt(bus string, nets ...string) string {
	return pci(bus, "0x020700", "<nic>"+strings.Join(nets, "")+"</nic>")
}

// Two functions of a card are one device with one link, and so are two ports in one
// <nic>; each port has its own rate and is one of the host's (ncclTopoAddPci "merge
// multi-port NICs into one PCI device").
func TestOneCardOneDevice(t *testing.T) {
	for name, inside := range map[string]string{
		"two functions": nicAt("0000:06:00.0", netAt("mlx5_0", 0, 200000, 1)) + nicAt("0000:06:00.1", netAt("mlx5_1", 1, 100000, 1)),
		"two ports":     nicAt("0000:06:00.0", netAt("mlx5_0", 0, 200000, 1), netAt("mlx5_1", 1, 100000, 1)),
		"out of order":  nicAt("0000:06:00.0", netAt("mlx5_1", 1, 100000, 1)) + nicAt("0000:06:00.1", netAt("mlx5_0", 0, 200000, 1)),
	} {
		tree := parse(t, gpuAt("0000:04:00.0", 0)+inside)
		links := 0
		for i := range tree.Links {
			if l := &tree.Links[i]; l.Kind == PCIe && tree.Devices[l.B].Kind == NIC {
				links++
			}
		}
		if len(tree.NICs()) != 1 || links != 1 {
			t.Errorf("%s: %d cards with %d links, want one", name, len(tree.NICs()), links)
		}
		if len(tree.Nets) != 2 || tree.Nets[0].Rate != 200*units.Gbps || tree.Nets[1].Rate != 100*units.Gbps || tree.Nets[0].Name != "mlx5_0" {
			t.Errorf("%s: ports %+v", name, tree.Nets)
		}
	}
	// Functions of other slots are other cards.
	if tree := parse(t, nicAt("0000:06:00.0")+nicAt("0000:06:01.0")+nicAt("0000:07:00.0")); len(tree.NICs()) != 3 || len(tree.Nets) != 3 {
		t.Errorf("three slots: %d cards, %d ports", len(tree.NICs()), len(tree.Nets))
	}
}

// Broadcom's bridges below bridges are one switch by NCCL's getBcmGen: of generation 4
// with the same numbers on both levels, of generation 5 with a subsystem device that
// tells the levels apart. A third level stays, and so do other makers' bridges.
func TestFlattenedBridges(t *testing.T) {
	bridge := func(bus, ids, inside string) string {
		return strings.Replace(pci(bus, "0x060400", inside), "<pci ", "<pci "+ids+" ", 1)
	}
	const gen4 = `vendor="0x1000" device="0xc010" subsystem_vendor="0x1000" subsystem_device="0xa096"`
	const gen5 = `vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x%d004"`
	const astera = `vendor="0x1df4" device="0xc010" subsystem_vendor="0x1000" subsystem_device="0xa096"`
	above, below := fmt.Sprintf(gen5, 0), fmt.Sprintf(gen5, 1)
	for _, c := range []struct {
		name, top, middle, leaf string
		want                    Class
		switches                int
	}{
		{"generation 4", gen4, gen4, "", PIX, 1},
		{"generation 5", above, below, "", PIX, 1},
		{"generation 5 upside down", below, above, "", PXB, 3},
		{"other makers", astera, astera, "", PXB, 3},
		{"two generations", gen4, below, "", PXB, 3},
		{"three levels", gen4, gen4, gen4, PXB, 2},
	} {
		gpu := gpuAt("0000:07:00.0", 0)
		if c.leaf != "" {
			gpu = bridge("0000:05:00.0", c.leaf, gpu)
		}
		tree := parse(t, bridge("0000:01:00.0", c.top, bridge("0000:04:00.0", c.middle, gpu)+
			bridge("0000:0a:00.0", c.middle, nicAt("0000:0c:00.0", netAt("mlx5_0", 0, 200000, 1)))))
		if got := tree.Class(tree.Find("gpu0"), tree.Find("nic0")); got != c.want || len(tree.kind(Switch)) != c.switches {
			t.Errorf("%s: %v over %d switches, want %v over %d", c.name, got, len(tree.kind(Switch)), c.want, c.switches)
		}
	}
}

// A GPU takes the port to which its way is widest, whatever the class; of equal ones the
// nearest; of those the one by its number. A port of 1 Gb/s beside the GPU is not for it.
func TestCardOfAGPU(t *testing.T) {
	two := func(first, second string) *Tree {
		return parse(t, gpuAt("0000:41:00.0", 0)+first+`</cpu><cpu numaid="1" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">`+second)
	}
	for _, c := range []struct {
		name string
		tree *Tree
		gpu  string
		want int
	}{
		{"bandwidth before class", two(nicAt("0000:62:00.0", netAt("eno1", 0, 1000, 1)), nicAt("0000:e1:00.0", netAt("mlx5_0", 1, 200000, 1))), "gpu0", 1},
		{"class between equals", two(nicAt("0000:e1:00.0", netAt("mlx5_1", 1, 100000, 1)), nicAt("0000:62:00.0", netAt("mlx5_0", 0, 100000, 1))), "gpu0", 1},
		// 25 GB/s of the port are 24 by NCCL's weight of the slot, and 16 between sockets.
		{"the interconnect counts", two(nicAt("0000:62:00.0", netAt("mlx5_0", 0, 150000, 1)), nicAt("0000:e1:00.0", netAt("mlx5_1", 1, 400000, 1))), "gpu0", 0},
		{"two ports, second GPU", parse(t, gpuAt("0000:04:00.0", 0)+gpuAt("0000:05:00.0", 1)+nicAt("0000:06:00.0", netAt("a", 0, 200000, 1), netAt("b", 1, 200000, 1))), "gpu1", 1},
	} {
		if got, _ := c.tree.NetFor(c.tree.Find(c.gpu), len(c.tree.Nets)); got != c.want {
			t.Errorf("%s: port %d, want %d", c.name, got, c.want)
		}
	}
	// Of four ports that two GPUs share, NCCL 2.30 spreads the GPUs of each pair alike;
	// before it went by the GPU's number among all.
	group := func(bus, gpu, net int) string {
		s := ""
		for k := range 2 {
			s += gpuAt(fmt.Sprintf("0000:%02x:00.0", bus+k), gpu+k)
		}
		for k := range 4 {
			s += nicAt(fmt.Sprintf("0000:%02x:00.0", bus+2+k), netAt(fmt.Sprint("n", net+k), net+k, 200000, 1))
		}
		return pci(fmt.Sprintf("0000:%02x:00.0", bus+8), "0x060400", s)
	}
	tree := parse(t, group(0x10, 0, 0)+group(0x30, 2, 4))
	for _, c := range []struct {
		old  bool
		want string
	}{{false, "0 2 4 6"}, {true, "0 2 5 7"}} {
		tree.OldTies = c.old
		var got []string
		for _, g := range tree.GPUs() {
			n, _ := tree.NetFor(g, len(tree.Nets))
			got = append(got, fmt.Sprint(n))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("old ties %v: ports %v, want %s", c.old, got, c.want)
		}
	}
}

// What goes through the host's memory: without the driver, and farther than PXB unless a
// level says otherwise (ncclTopoCheckGdr).
func TestStaged(t *testing.T) {
	far := func(gdr int) string {
		return gpuAt("0000:01:00.0", 0) + nicAt("0000:02:00.0", netAt("mlx5_0", 0, 200000, gdr))
	}
	near := pci("0000:03:00.0", "0x060400", far(1))
	for _, c := range []struct {
		name  string
		tree  *Tree
		level Class
		why   string
	}{
		{"PIX", parse(t, near), SelfX, ""},
		{"PIX, but LOC", parse(t, near), Level("LOC"), "PIX is farther than NV, net_gdr_level"},
		{"PHB", parse(t, far(1)), SelfX, "PHB is farther than PXB, NCCL's NET_GDR_LEVEL"},
		{"PHB allowed", parse(t, far(1)), Level("PHB"), ""},
		{"no driver", parse(t, far(0)), Level("SYS"), "gdr=0 of the card"},
		{"no driver of the GPU", parse(t, strings.Replace(far(1), `sm="80" gdr="1"`, `sm="80" gdr="0"`, 1)), Level("SYS"), "gdr=0 of the GPU"},
	} {
		c.tree.DirectLevel = c.level
		if staged, why := c.tree.Staged(c.tree.Find("gpu0"), 0); why != c.why || staged != (why != "") {
			t.Errorf("%s: %v %q, want %q", c.name, staged, why, c.why)
		}
	}
}

// GPUs across a host bridge do not read each other's memory, but for two on AMD's
// processors (ncclTopoCheckP2p).
func TestPeerStaged(t *testing.T) {
	three := gpuAt("0000:01:00.0", 0) + gpuAt("0000:02:00.0", 1) + gpuAt("0000:03:00.0", 2)
	for _, c := range []struct {
		name   string
		tree   *Tree
		level  Class
		staged bool
	}{
		{"two at an EPYC", parse(t, gpuAt("0000:01:00.0", 0)+gpuAt("0000:02:00.0", 1)), SelfX, false},
		{"two at an EPYC, PXB", parse(t, gpuAt("0000:01:00.0", 0)+gpuAt("0000:02:00.0", 1)), PXB, true},
		{"three at an EPYC", parse(t, three), SelfX, true},
		{"three at an EPYC, SYS", parse(t, three), SYS, false},
		{"three below a switch", parse(t, pci("0000:09:00.0", "0x060400", three)), SelfX, false},
		{"three below a switch, LOC", parse(t, pci("0000:09:00.0", "0x060400", three)), Level("LOC"), true},
	} {
		c.tree.PeerLevel = c.level
		if staged, _ := c.tree.PeerStaged(c.tree.Find("gpu0"), c.tree.Find("gpu1")); staged != c.staged {
			t.Errorf("%s: staged %v, want %v", c.name, staged, c.staged)
		}
	}
}

// A link that is slower than it should be is named once, and no other.
func TestSlowLinks(t *testing.T) {
	for _, name := range Presets() {
		if tree, _ := Preset(name); len(tree.SlowLinks()) > 0 {
			t.Errorf("%s: %v", name, tree.SlowLinks())
		}
	}
	slow := func(s, speed, width string) string {
		return strings.Replace(s, `link_speed="16.0 GT/s PCIe" link_width="16"`, `link_speed="`+speed+` GT/s PCIe" link_width="`+width+`"`, 1)
	}
	gpus := gpuAt("0000:01:00.0", 0) + gpuAt("0000:02:00.0", 1)
	for _, c := range []struct{ name, inside, want string }{
		{"none", gpus + nicAt("0000:06:00.0", netAt("a", 0, 200000, 1), netAt("b", 1, 200000, 1)), ""},
		{"a card", gpus + slow(nicAt("0000:06:00.0", netAt("a", 0, 200000, 1)), "8.0", "16"), "the slot of nic0 (0000:06:00.0), gen3 x16, carries 13"},
		{"a GPU", slow(gpuAt("0000:01:00.0", 0), "16.0", "8") + gpuAt("0000:02:00.0", 1), "the slot of gpu0 (0000:01:00.0), gen4 x8, is slower than that of gpu1"},
		{"a bridge", slow(pci("0000:05:00.0", "0x060400", gpus), "2.5", "1"), "the link above switch0 (0000:05:00.0), gen1 x1, is slower than that of gpu0 below it, gen4 x16; ways across it go at 0.2"},
	} {
		got := parse(t, c.inside).SlowLinks()
		if (c.want == "") != (len(got) == 0) || len(got) > 1 || len(got) == 1 && !strings.HasPrefix(got[0].Text, c.want) {
			t.Errorf("%s: %v, want %q", c.name, got, c.want)
		}
	}
}

// Files that clouds ship name GPUs by their places alone: their NVLinks are those of HGX
// boards, and nvswitch sets them. NCCL's own files say what there is.
func TestAssumedNVSwitch(t *testing.T) {
	cloud, own := "", ""
	for i := range 4 {
		cloud += pci(fmt.Sprintf("000%d:00:00.0", i), "0x030200", "")
		own += gpuAt(fmt.Sprintf("000%d:00:00.0", i), i)
	}
	tree := parse(t, cloud)
	if got := tree.nvCount(tree.Find("gpu0"), tree.Find("gpu3")); got != 12 || tree.Assumed == "" {
		t.Errorf("cloud: %d NVLinks, assumed %q", got, tree.Assumed)
	}
	for range 2 { // off and on again
		if err := tree.SetNVSwitch(false); err != nil || tree.HasNVSwitch() || tree.Class(tree.Find("gpu0"), tree.Find("gpu3")) == NV || tree.Check() != nil {
			t.Errorf("off: %v, %v", err, tree.Check())
		}
		if err := tree.SetNVSwitch(true); err != nil || tree.nvCount(tree.Find("gpu0"), tree.Find("gpu3")) != 12 || tree.Check() != nil {
			t.Errorf("on: %v, %v", err, tree.Check())
		}
	}
	if tree := parse(t, own); tree.HasNVSwitch() || tree.Assumed != "" {
		t.Error("NCCL's own file without NVLinks was given some")
	}
	if err := parse(t, strings.ReplaceAll(own, `sm="80"`, `sm="86"`)).SetNVSwitch(true); err == nil {
		t.Error("an A10 has no NVSwitch")
	}
}
