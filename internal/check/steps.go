package main

import (
	"bytes"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// raced lists, as arguments of go test, where goroutines run. The race detector
// takes their short tests, as with it a test takes some ten times as long, and of
// run those that use several workers most.
var raced = [][]string{
	{"./internal/sim", "./internal/build", "./internal/compare"},
	{"-run=^Test(Determinism|Properties|DataArrives)$", "./internal/run"},
}

// modules are the folders with a go.mod of their own beside the root, the tools
// apart, which have no code here.
var modules = []string{"oracle", "examples/own-controller"}

// format demands that every Go file is as gofmt writes it.
func (c *check) format() error {
	var unformatted []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want, err := format.Source(source)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !bytes.Equal(source, want) {
			unformatted = append(unformatted, path)
		}
		return nil
	})
	if err == nil && unformatted != nil {
		err = fmt.Errorf("not formatted, run gofmt -w on: %s", strings.Join(unformatted, " "))
	}
	return err
}

// vet runs go vet on this module and, unless in a hurry, on the others.
func (c *check) vet() error {
	if err := c.command(".", nil, "go", "vet", "./..."); err != nil || c.quick {
		return err
	}
	if err := c.command(".", nil, "go", "vet", "-tags", "mutant", "./internal/fabric", "./internal/rdma", "./internal/tcp", "./internal/iwarp"); err != nil {
		return err
	}
	for _, m := range modules {
		if err := c.command(m, nil, "go", "vet", "./..."); err != nil {
			return err
		}
	}
	return nil
}

// staticcheck runs the version that tools/go.mod names on every module.
func (c *check) staticcheck() error {
	tools, err := filepath.Abs("tools/go.mod")
	if err != nil {
		return err
	}
	for _, m := range append([]string{"."}, modules...) {
		if err := c.command(m, nil, "go", "tool", "-modfile="+tools, "staticcheck", "./..."); err != nil {
			return err
		}
	}
	return nil
}

// slowest are the tests that -quick leaves out, most of the time of all short tests.
const slowest = "^Test(Fidelity|CompareGolden|Determinism|SteadyStateAllocatesNothing|SeriesChangeNothing|" +
	"Properties|StreamProperties|InfiniBandProperties|HarshStreams|HarshInfiniBand|AccountsTile|ServersAccountsTile|" +
	"Handful|WeakTests)$"

// test runs the tests of this module, and those of the example of a program that embeds it.
func (c *check) test() error {
	args := []string{"test", limit}
	if c.quick {
		args = append(args, "-short", "-skip="+slowest)
	}
	if err := c.command(".", nil, "go", append(args, "./...")...); err != nil || c.quick {
		return err
	}
	return c.command("examples/own-controller", nil, "go", "test", limit, "./...")
}

// race runs the short tests of the packages with goroutines under the race
// detector, which needs cgo and so a C compiler.
func (c *check) race() error {
	if err := c.compiler(); err != nil {
		return err
	}
	for _, args := range raced {
		if err := c.command(".", []string{"CGO_ENABLED=1"}, "go", append([]string{"test", "-race", "-short", limit}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// compiler makes sure that there is a C compiler, or says why there is none.
func (c *check) compiler() error {
	found := func() bool {
		for _, name := range append(strings.Fields(os.Getenv("CC")), "gcc", "clang") {
			if _, err := exec.LookPath(name); err == nil {
				return true
			}
		}
		return false
	}
	if found() {
		return nil
	}
	if err := c.install("gcc", "libc6-dev"); err != nil || !found() {
		return fmt.Errorf("%w: the race detector needs a C compiler, gcc or clang: %v", errLeftOut, err)
	}
	return nil
}

// install installs Debian packages, or says why it may not.
func (c *check) install(packages ...string) error {
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return fmt.Errorf("nothing may be installed here (%s, user %d)", runtime.GOOS, os.Getuid())
	}
	quiet := []string{"DEBIAN_FRONTEND=noninteractive"}
	if err := c.command(".", quiet, "apt-get", "update", "-qq"); err != nil {
		return err
	}
	return c.command(".", quiet, "apt-get", append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...)...)
}

// others are programs that the tests of oracle compare with, and the Debian packages
// that have them.
var others = [][2]string{
	{"tshark", "tshark"}, {"scapy", "python3-scapy"},
	{"opensm", "opensm"}, {"ibsim", "ibsim-utils"}, {"ibsim-run", "ibsim-utils"}, {"ibnetdiscover", "infiniband-diags"},
	{"chromium", "chromium"}, {"protoc", "protobuf-compiler"}, {"sbatch", "slurm-wlm"}, {"munge", "munge"},
	{"promtool", "prometheus"},
}

// oracle runs the tests against programs of others, in their short form with -quick,
// and installs what they need. Where a program cannot be had it says so, and the
// tests that need none run.
func (c *check) oracle() error {
	if missing := missingPackages(); missing != nil {
		err := c.install(missing...)
		if still := missingPackages(); still != nil {
			fmt.Printf("check: oracle left out what needs %s: %v\n", strings.Join(still, ", "), err)
		}
	}
	args := []string{"test", "-count=1", "-v", limit}
	if c.quick {
		args = []string{"test", "-count=1", "-short", limit}
	}
	args = append(args, "./tshark", "./netstack", "./opensm", "./chromium", "./perfetto", "./slurm", "./kubernetes",
		"./prometheus")
	return c.command("oracle", nil, "go", args...)
}

// missingPackages lists what others need and this machine has not.
func missingPackages() (packages []string) {
	for _, p := range others {
		if _, err := exec.LookPath(p[0]); err != nil && !slices.Contains(packages, p[1]) {
			packages = append(packages, p[1])
		}
	}
	return packages
}
