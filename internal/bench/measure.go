package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// network is a permutation over a fat-tree of k ports a switch, with messages of two
// sizes: the difference between the two runs is the simulation's, as what loading and
// building take is the same.
type network struct {
	name         string
	k            int
	stack        string
	small, large string // size and further keys
	more         string // sections of the scenario
}

// forCounting is n with messages small enough for a simulated processor.
func (n network) forCounting() network {
	if n.small == "1MB" {
		n.small, n.large = "200KB", "600KB"
	} else if n.small == "3MB" {
		n.small, n.large = "600KB", "1800KB"
	}
	return n
}

func buildProgram(tree, to string) (string, error) {
	c := exec.Command("go", "build", "-o", to, "./cmd/hopscope")
	c.Dir = tree
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build in %s: %s", tree, out)
	}
	return to, nil
}

// file writes the scenario with messages of a size.
func (n *network) file(dir, size string) (string, error) {
	path := filepath.Join(dir, "permutation.yaml")
	text := fmt.Sprintf(`name: permutation
topology: {fat_tree: {k: %d, tiers: 3, link: 100Gbps, delay: 1us}}
stack: %s
switch: {buffer: 4MB}
mtu: 4096
%sworkload:
  - permutation: {size: %s}
`, n.k, n.stack, n.more, size)
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// hops runs the scenario and returns its packet-hops.
func (n *network) hops(program, dir, size string) (float64, error) {
	path, err := n.file(dir, size)
	if err != nil {
		return 0, err
	}
	out, err := exec.Command(program, "run", path, "--workers", "1", "--json", "-").Output()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", n.name, err)
	}
	var r struct {
		PacketHops float64 `json:"packet_hops"`
	}
	return r.PacketHops, json.Unmarshal(out, &r)
}

// perHop returns the difference of what measure returns for the two sizes, per hop.
func (n *network) perHop(program, dir string, measure func(path string) (float64, error)) (float64, error) {
	var cost, hops [2]float64
	for i, size := range []string{n.small, n.large} {
		var err error
		if hops[i], err = n.hops(program, dir, size); err != nil {
			return 0, err
		}
		path, err := n.file(dir, size)
		if err != nil {
			return 0, err
		}
		if cost[i], err = measure(path); err != nil {
			return 0, fmt.Errorf("%s: %w", n.name, err)
		}
	}
	return (cost[1] - cost[0]) / (hops[1] - hops[0]), nil
}

// time returns ns of CPU per packet-hop on one worker.
func (n *network) time(program, dir string) (float64, error) {
	return n.perHop(program, dir, func(path string) (float64, error) {
		c := exec.Command(program, "run", path, "--workers", "1")
		err := c.Run()
		if err != nil {
			return 0, err
		}
		return float64(c.ProcessState.UserTime() + c.ProcessState.SystemTime()), nil
	})
}

func haveValgrind() bool {
	_, err := exec.LookPath("valgrind")
	return err == nil
}

var collected = regexp.MustCompile(`Collected : (\d+)`)

// instructions returns how many instructions a packet-hop takes, by callgrind. The
// garbage collector and preemption are off, and there is one processor: what goroutines do
// meanwhile depends on the clock.
func (n network) instructions(program, dir string) (float64, error) {
	return n.perHop(program, dir, func(path string) (float64, error) {
		c := exec.Command("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, "run", path, "--workers", "1")
		c.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
		out, err := c.CombinedOutput()
		m := collected.FindSubmatch(out)
		if err != nil || m == nil {
			return 0, fmt.Errorf("valgrind: %v: %s", err, out)
		}
		return strconv.ParseFloat(string(m[1]), 64)
	})
}
