// Command bench says what a packet-hop costs.
//
//	bench                  time and instructions per packet-hop, stack by stack
//	bench -pair COMMIT     this tree against another commit, in alternated pairs
//
// Times on a machine that does other things vary by a factor of two within minutes:
// only runs in turn are worth comparing, and instructions.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

func main() {
	against := flag.String("pair", "", "commit to compare with, in alternated pairs")
	pairs := flag.Int("pairs", 5, "how many pairs, at least 5")
	flag.Parse()
	if err := bench(*against, *pairs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(against string, pairs int) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	own, err := buildProgram(".", filepath.Join(dir, "own"))
	if err != nil {
		return err
	}
	if against == "" {
		return stacks(own, dir)
	}
	if pairs < 5 {
		return fmt.Errorf("-pairs %d: fewer than 5 say nothing", pairs)
	}
	tree := filepath.Join(dir, "tree")
	if out, err := exec.Command("git", "worktree", "add", "--detach", tree, against).CombinedOutput(); err != nil {
		return fmt.Errorf("commit %s: %s", against, out)
	}
	defer func() { _ = exec.Command("git", "worktree", "remove", "--force", tree).Run() }()
	other, err := buildProgram(tree, filepath.Join(dir, "other"))
	if err != nil {
		return err
	}
	return compare(own, other, dir, pairs)
}

// cases are the networks of pairs.
var cases = []network{
	{name: "128 hosts", k: 8, stack: "rocev2", small: "1MB", large: "8MB"},
	{name: "1,024 hosts", k: 16, stack: "rocev2", small: "200KB", large: "2MB"},
	{name: "128 hosts, one packet a message", k: 8, stack: "rocev2", small: "4000B, count: 20", large: "4000B, count: 200"},
}

// stacks prints what each stack costs, and in relation to the first.
func stacks(program, dir string) error {
	fmt.Printf("%-34s %10s %8s %14s\n", "", "ns/hop", "ratio", "instructions")
	first := 0.0
	for _, n := range []network{
		cases[0],
		{name: "128 hosts, rocev2-lossy", k: 8, stack: "rocev2-lossy", small: "1MB", large: "8MB"},
		{name: "128 hosts, infiniband", k: 8, stack: "infiniband", small: "1MB", large: "8MB"},
		{name: "128 hosts, tcp, hosts free", k: 8, stack: "tcp", small: "3MB", large: "24MB", more: "host: {preset: free}\n"},
		cases[1], cases[2],
	} {
		ns, err := n.time(program, dir)
		if err != nil {
			return err
		}
		if first == 0 {
			first = ns
		}
		instructions := "no valgrind"
		if haveValgrind() && n.k == 8 {
			count, err := n.forCounting().instructions(program, dir)
			if err != nil {
				return err
			}
			instructions = fmt.Sprintf("%.0f", count)
		}
		fmt.Printf("%-34s %10.1f %8.2f %14s\n", n.name, ns, ns/first, instructions)
	}
	return nil
}

// compare prints the times of two programs in alternated pairs, and the middle ratio.
func compare(own, other, dir string, pairs int) error {
	for _, n := range cases {
		var ratios []float64
		fmt.Println(n.name)
		for range pairs {
			b, err := n.time(other, dir)
			if err != nil {
				return err
			}
			a, err := n.time(own, dir)
			if err != nil {
				return err
			}
			ratios = append(ratios, a/b)
			fmt.Printf("  %7.1f ns/hop against %7.1f: %.3f\n", a, b, a/b)
		}
		slices.Sort(ratios)
		fmt.Printf("  the middle of %d: %.3f (%.3f to %.3f)\n", pairs, ratios[pairs/2], ratios[0], ratios[pairs-1])
	}
	return nil
}
