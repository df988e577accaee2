package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Small files on which readers go wrong, with what NCCL finds in each: the class of every GPU
// with every card (with every other GPU where there is none), and the port that each GPU uses.
// Broadcom's bridges below bridges are one switch (ncclTopoFlattenBcmSwitches), ports go by
// bandwidth first (ncclTopoGetLocalNet), and what hangs off a CPU is at PHB.
func TestListedFiles(t *testing.T) {
	listed := map[string]string{
		"bcm-one-card":  "gpu0 nic0 PIX, uses mlx5_0",
		"bcm-two-cards": "gpu0 nic0 PIX nic1 PIX, uses mlx5_0; gpu1 nic0 PIX nic1 PIX, uses mlx5_1",
		"dual":          "gpu0 nic0 PIX, uses mlx5_0; gpu1 nic0 PIX, uses mlx5_1",
		"gdr":           "gpu0 nic0 PHB, uses mlx5_0",
		"mgmt-nic":      "gpu0 nic0 PHB nic1 SYS, uses mlx5_0",
		"nic-under-cpu": "gpu0 nic0 PHB, uses eth0",
		"nogpu-nic":     "gpu0 gpu1 PHB; gpu1 gpu0 PHB",
		"slow-bridge":   "gpu0 nic0 PIX, uses mlx5_0",
		"twoport":       "gpu0 nic0 PHB, uses mlx5_4",
	}
	files, err := filepath.Glob("testdata/*.xml")
	if err != nil || len(files) != len(listed) {
		t.Fatalf("%d files, %d listed, %v", len(files), len(listed), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".xml")
		tree, err := ParseXML(name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := listing(tree); got != listed[name] {
			t.Errorf("%s: %s, want %s", name, got, listed[name])
		}
	}
}

// listing is what NCCL finds in a tree, in a line.
func listing(tree *Tree) string {
	var all []string
	for _, g := range tree.GPUs() {
		s := tree.Devices[g].Name
		to := tree.NICs()
		if len(to) == 0 {
			to = tree.GPUs()
		}
		for _, d := range to {
			if d != g {
				s += fmt.Sprintf(" %s %v", tree.Devices[d].Name, tree.Class(g, d))
			}
		}
		if n, _ := tree.NetFor(g, len(tree.Nets)); n >= 0 && len(tree.Nets) > 0 {
			s += ", uses " + tree.Nets[n].Name
		}
		all = append(all, s)
	}
	return strings.Join(all, "; ")
}
