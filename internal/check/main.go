// Command check runs everything that a change must pass, step by step, and
// says how long each took:
//
//	go run ./internal/check            all steps
//	go run ./internal/check -quick     formatting, vet and the short tests
//	go run ./internal/check vet race   these steps
//	go run ./internal/check oracle     programs of others, which runs only when named
//
// It needs Go and the Go module proxy. The race detector also needs a C
// compiler, and oracle tshark and OpenSM: check installs them where it may, and
// says what it leaves out because they are missing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// Exit statuses: a step failed; the command line makes no sense.
const (
	exitFailed = 1
	exitUsage  = 2
)

// limit is how long the tests of one package may take by the clock before they
// count as hanging: generous, because a busy machine is no fault of theirs.
const limit = "-timeout=60m"

// budget is what the whole check may take of the processors, so that it stays one
// that is run before every change. Machines differ: going over it is said, no more.
const budget = 10 * time.Minute

// step is one part of the check.
type step struct {
	name  string
	quick bool // part of -quick
	run   func(*check) error
	named bool // runs only when it is named
}

// steps has the order in which they run: what is quickest to fix comes first,
// the tests last, so that their lines end the output.
var steps = []step{
	{name: "format", quick: true, run: (*check).format},
	{name: "vet", quick: true, run: (*check).vet},
	{name: "staticcheck", run: (*check).staticcheck},
	{name: "race", run: (*check).race},
	{name: "test", quick: true, run: (*check).test},
	{name: "oracle", run: (*check).oracle, named: true},
}

// check is one run of the program.
type check struct {
	quick bool
	cpu   time.Duration // of all commands so far, user and system
}

// errLeftOut is wrapped by what a step returns that could not run here.
var errLeftOut = errors.New("left out")

func main() {
	c := &check{}
	flags := flag.NewFlagSet("check", flag.ExitOnError) // exits with exitUsage
	flags.BoolVar(&c.quick, "quick", false, "formatting, vet, and the short tests of this module, the slowest apart")
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: go run ./internal/check [-quick] [step ...]\nsteps: %s\n", strings.Join(names(), " "))
		flags.PrintDefaults()
	}
	flags.Parse(os.Args[1:])
	chosen, err := choose(flags.Args(), c.quick)
	if err == nil {
		_, err = os.Stat("internal/check")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(exitUsage)
	}
	// The commands get the interrupt too; check waits for them and names the step.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	if !c.all(chosen) {
		os.Exit(exitFailed)
	}
}

// names lists the steps.
func names() (list []string) {
	for _, s := range steps {
		list = append(list, s.name)
	}
	return list
}

// choose returns the steps that args name, or all of them without args.
func choose(args []string, quick bool) (chosen []step, err error) {
	for _, a := range args {
		if !slices.Contains(names(), a) {
			return nil, fmt.Errorf("there is no step %q; steps are %s", a, strings.Join(names(), ", "))
		}
	}
	for _, s := range steps {
		if slices.Contains(args, s.name) || len(args) == 0 && !s.named && (s.quick || !quick) {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

// all runs the chosen steps up to the first that fails, and reports whether
// none did.
func (c *check) all(chosen []step) bool {
	begin := time.Now()
	for _, s := range chosen {
		fmt.Printf("check: %s\n", s.name)
		start, before := time.Now(), c.cpu
		err := s.run(c)
		took := fmt.Sprintf("%s, %s of CPU", seconds(time.Since(start)), seconds(c.cpu-before))
		switch {
		case errors.Is(err, errLeftOut):
			fmt.Printf("check: %s %v\n", s.name, err)
		case err != nil:
			fmt.Printf("check: %s FAILED after %s: %v\n", s.name, took, err)
			return false
		default:
			fmt.Printf("check: %s passed: %s\n", s.name, took)
		}
	}
	if len(chosen) > 1 {
		fmt.Printf("check: all passed: %s, %s of CPU\n", seconds(time.Since(begin)), seconds(c.cpu))
	}
	if c.cpu > budget {
		fmt.Printf("check: that is more than the %s of CPU that it should take; the times of packages above say where\n", seconds(budget))
	}
	return true
}

// seconds writes d to a tenth of a second.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// command runs a program in dir with its output to this one's, adds its
// processor time, and says how it failed. The environment has env besides.
func (c *check) command(dir string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	if s := cmd.ProcessState; s != nil {
		c.cpu += s.UserTime() + s.SystemTime()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(append([]string{name}, args...), " "), err)
	}
	return nil
}
