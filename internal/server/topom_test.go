package server

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// matrixSample has what the printout of nvidia-smi topo -m has: what was typed, the
// underlined header, classes of every kind, affinities, and both legends. GPU0 and NIC0
// are behind one switch, GPU1 behind another below the same port, GPU2 at a port of the
// same host bridge, GPU3 of another; GPU4, GPU5 and NIC1 are on another NUMA node.
const matrixSample = "$ nvidia-smi topo -m\n" +
	"\x1b[4m\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n" +
	`GPU0	 X 	PXB	NV4	NODE	SYS	SYS	PIX	SYS	0-23,48-71	0		N/A
GPU1	PXB	 X 	PHB	NODE	SYS	SYS	PXB	SYS	0-23,48-71	0		N/A
GPU2	NV4	PHB	 X 	NODE	SYS	SYS	PHB	SYS	0-23,48-71	0		N/A
GPU3	NODE	NODE	NODE	 X 	SYS	SYS	NODE	SYS	0-23,48-71	0		N/A
GPU4	SYS	SYS	SYS	SYS	 X 	NV12	SYS	PIX	24-47,72-95	1		N/A
GPU5	SYS	SYS	SYS	SYS	NV12	 X 	SYS	NODE	24-47,72-95	1		N/A
NIC0	PIX	PXB	PHB	NODE	SYS	SYS	 X 	SYS				
NIC1	SYS	SYS	SYS	SYS	PIX	NODE	SYS	 X 				

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
`

// roundTrip holds that the matrix of a tree, printed and read, gives a tree with the
// same matrix.
func roundTrip(t *testing.T, tree *Tree) {
	t.Helper()
	var first, second strings.Builder
	tree.Matrix().Write(&first)
	m, err := ParseMatrix([]byte(first.String()))
	if err != nil {
		t.Fatalf("%s: %v in\n%s", tree.Name, err, first.String())
	}
	again, err := m.Tree(tree.Name)
	if err != nil {
		var at *Error
		if len(tree.GPUs()) > 0 && len(tree.NICs()) == 0 && errors.As(err, &at) {
			return
		}
		t.Fatalf("%s: %v in\n%s", tree.Name, err, first.String())
	}
	again.Matrix().Write(&second)
	if first.String() != second.String() {
		t.Fatalf("%s:\n%s\ncomes back as\n%s", tree.Name, first.String(), second.String())
	}
}

// TestMatrixRoundTrip: tree to matrix to tree to matrix, for every preset, every real
// file and the samples.
func TestMatrixRoundTrip(t *testing.T) {
	for _, name := range Presets() {
		tree, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, tree)
	}
	for _, text := range []string{dump, smallest, matrixSample} {
		tree, err := Read("sample", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, tree)
	}
	for _, name := range real {
		tree, err := Read(name, readReal(t, name))
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, tree)
	}
}

// TestMatrix reads the sample: the classes of the tree are those of the matrix.
func TestMatrix(t *testing.T) {
	m, err := ParseMatrix([]byte(matrixSample))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := m.Tree("sample")
	if err != nil {
		t.Fatal(err)
	}
	back := tree.Matrix()
	for i := range m.Names {
		for j := range m.Names {
			if m.Cells[i][j] != back.Cells[i][j] {
				t.Errorf("%s to %s: %s comes back as %s", m.Names[i], m.Names[j], m.Cells[i][j], back.Cells[i][j])
			}
		}
		if m.NUMA[i] >= 0 && m.NUMA[i] != back.NUMA[i] {
			t.Errorf("%s: NUMA node %d comes back as %d", m.Names[i], m.NUMA[i], back.NUMA[i])
		}
	}
	if nic := tree.Devices[tree.Find("nic1")]; nic.Alias != "mlx5_1" || nic.NUMA != 1 || nic.Line != 10 {
		t.Errorf("nic1 is %+v", nic)
	}
	// What NVLink hides (GPU0 to GPU2, GPU4 to GPU5) follows from the cards.
	for _, c := range []struct {
		a, b string
		want Class
	}{{"gpu0", "gpu2", PHB}, {"gpu4", "gpu5", NODE}} {
		if got := tree.PCIClass(tree.Find(c.a), tree.Find(c.b)); got != c.want {
			t.Errorf("%s to %s over PCIe: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	want := []string{
		"the processor is not said, or not known; memory and interconnect of EPYC 7002 or 7003 (8 channels of DDR4-3200) are assumed",
		"3: a matrix has no speeds: all PCIe links are taken to be 16 GT/s x16, as A100 has with its 12 NVLinks",
		"3: the kind of GPU is not said, or not known; the memory of A100 40 GB SXM is assumed, which limits no path over PCIe"}
	if got := fmt.Sprint(tree.Warnings); got != fmt.Sprint(want) {
		t.Errorf("warnings %v", got)
	}
}

// TestOlderMatrix: names of cards in the header, SOC for SYS, no column of NUMA nodes,
// spaces for tabs. GPUs next to the same CPUs are on one NUMA node.
func TestOlderMatrix(t *testing.T) {
	tree, err := Read("old", []byte(`        GPU0    GPU1    mlx5_0  mlx5_1  CPU Affinity
GPU0     X      NV2     PIX     SOC     0-23
GPU1    NV2      X      NODE    SOC     0-23
mlx5_0  PIX     NODE     X      SOC
mlx5_1  SOC     SOC     SOC      X
`))
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, tree)
	if got := tree.Devices[tree.NICs()[1]].Alias; got != "mlx5_1" {
		t.Errorf("the second card is %s", got)
	}
	if got := tree.PCIClass(tree.Find("gpu0"), tree.Find("gpu1")); got != NODE {
		t.Errorf("the GPUs are %v", got)
	}
	if got := tree.Class(tree.Find("gpu0"), tree.Find("nic1")); got != SYS {
		t.Errorf("gpu0 to nic1 is %v", got)
	}
}

// TestNVSwitches: 8 GPUs with 12 links to each other have no other way than NVSwitches;
// 4 with 4 links to each other have the 12 of A100 between them.
func TestNVSwitches(t *testing.T) {
	for _, c := range []struct{ gpus, links, switches int }{{8, 12, 1}, {4, 4, 0}, {2, 12, 0}, {3, 18, 1}} {
		var b strings.Builder
		for i := range c.gpus {
			fmt.Fprintf(&b, "\tGPU%d", i)
		}
		b.WriteString("\tNIC0\n")
		for i := range c.gpus + 1 {
			name := fmt.Sprintf("GPU%d", i)
			if i == c.gpus {
				name = "NIC0"
			}
			b.WriteString(name)
			for j := range c.gpus + 1 {
				switch {
				case i == j:
					b.WriteString("\tX")
				case i == c.gpus || j == c.gpus:
					b.WriteString("\tPHB")
				default:
					fmt.Fprintf(&b, "\tNV%d", c.links)
				}
			}
			b.WriteString("\n")
		}
		tree, err := Read("nv", []byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, tree)
		if got := len(tree.kind(NVSwitch)); got != c.switches {
			t.Errorf("%+v: %d NVSwitches", c, got)
		}
	}
}

// TestBadMatrix: what is wrong is said with its place and what would be right.
func TestBadMatrix(t *testing.T) {
	const good = "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\nGPU0\t X \tPHB\tPIX\tPHB\t0-7\nGPU1\tPHB\t X \tPHB\tPIX\t0-7\nNIC0\tPIX\tPHB\t X \tPHB\nNIC1\tPHB\tPIX\tPHB\t X \n"
	if _, err := Read("x", []byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"GPU1\tNIC0", "GPU0\tNIC0", "1:7: GPU0 stands twice in the header"},
		{"NIC1\tPHB\tPIX\tPHB\t X \n", "", "5:1: the row of NIC1 is missing; the matrix has 4 columns and 3 rows"},
		{"\nGPU1", "\nGPU2", `3:1: the row of GPU1 is expected here, as in the header, not "GPU2"`},
		{"\tPHB\tPIX\tPHB\t X \n", "\tPHB\tPIX\n", "5:10: the row of NIC1 has 2 cells; the header has 4 devices"},
		{"PIX\tPHB\t0-7\nGPU1", "PIX\tPHX\t0-7\nGPU1", `2:18: "PHX" is no class of a path; there are X, NV and a number, PIX, PXB, PHB, NODE and SYS`},
		{"GPU1\tPHB\t X ", "GPU1\tPHB\tPHB", "3:10: GPU1 to GPU1 is PHB; X, for the device itself, stands on the diagonal and nowhere else"},
		{"GPU0\t X \tPHB", "GPU0\t X \t X ", "2:11: GPU0 to GPU1 is X; X, for the device itself"},
		{"GPU1\tPHB", "GPU1\tSYS", "3:6: GPU1 to GPU0 is SYS here, but line 2 has PHB"},
		{"PIX\tPHB\t0-7\nGPU1\tPHB\t X \tPHB\tPIX\t0-7\nNIC0\tPIX", "NV4\tPHB\t0-7\nGPU1\tPHB\t X \tPHB\tPIX\t0-7\nNIC0\tNV4", "4:6: NIC0 to GPU0 is NV4; NVLink joins GPUs"},
		{"PIX\tPHB\t0-7\nGPU1\tPHB\t X \tPHB\tPIX\t0-7\nNIC0\tPIX", "NV0\tPHB\t0-7\nGPU1\tPHB\t X \tPHB\tPIX\t0-7\nNIC0\tNV0", `2:14: "NV0" is no class`},
		{good, "\tGPU0\tNIC0\tNIC1\nGPU0\tX\tPIX\tPIX\nNIC0\tPIX\tX\tSYS\nNIC1\tPIX\tSYS\tX\n", "4:10: no tree has these classes: NIC1 to NIC0 is SYS, but GPU0 is PIX from the one and PIX from the other"},
		{good, "\t" + gpuNames(33) + "\n", "1:184: more than 32 GPUs; no server has as many: give the matrix of one server"},
		{good, "\tNIC0\n", "2:1: the row of NIC0 is missing; the matrix has 1 columns and 0 rows"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		_, err := Read("x", []byte(text))
		var at *Error
		if !errors.As(err, &at) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q for %q:\n%v, want\n%s", c.new, c.old, err, c.want)
		}
	}
}

// gpuNames are the names of n GPUs in a header.
func gpuNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("GPU", i)
	}
	return strings.Join(names, "\t")
}

// TestMatricesOfTrees: devices placed at random on NUMA nodes, host bridges, root ports
// and switches, with NVLinks between some GPUs, have classes that some tree gives back.
func TestMatricesOfTrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		gpus, nics := 1+r.IntN(6), 1+r.IntN(5)
		n := gpus + nics
		place := make([][4]int, n)
		for i := range place {
			for level := range place[i] {
				place[i][level] = r.IntN(2 + level%2)
			}
		}
		m := &Matrix{Affinity: make([]string, n), NUMA: make([]int, n), Cards: make([]string, n)}
		for i := range n {
			m.Names = append(m.Names, fmt.Sprintf("GPU%d", i))
			m.NUMA[i] = place[i][0]
			if i >= gpus {
				m.Names[i], m.NUMA[i] = fmt.Sprintf("NIC%d", i-gpus), -1
			}
			m.Cells = append(m.Cells, make([]Cell, n))
			for j := range i {
				c := Cell{Class: [...]Class{SYS, NODE, PHB, PXB, PIX}[sameLevels(place[i], place[j])]}
				if i < gpus && r.IntN(3) == 0 {
					c = Cell{NV, 1 + r.IntN(12)}
				}
				m.Cells[i][j], m.Cells[j][i] = c, c
			}
		}
		var b strings.Builder
		m.Write(&b)
		tree, err := Read("random", []byte(b.String()))
		if err != nil {
			t.Fatalf("round %d: %v\n%s", round, err, b.String())
		}
		back := tree.Matrix()
		for i := range n {
			if !slices.Equal(m.Cells[i], back.Cells[i]) {
				t.Fatalf("round %d: the row of %s comes back as %v from\n%s", round, m.Names[i], back.Cells[i], b.String())
			}
			if m.NUMA[i] >= 0 && m.NUMA[i] != back.NUMA[i] {
				t.Fatalf("round %d: %s comes back on NUMA node %d from\n%s", round, m.Names[i], back.NUMA[i], b.String())
			}
		}
		roundTrip(t, tree)
	}
}

func sameLevels(a, b [4]int) int {
	n := 0
	for n < len(a) && a[n] == b[n] {
		n++
	}
	return n
}
