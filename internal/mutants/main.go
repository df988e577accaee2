// Command mutants makes small changes to packages and looks whether their tests
// notice:
//
//	go run ./internal/mutants ./internal/fabric ./internal/sim
//	go run ./internal/mutants -sample 20 -with ./scenarios ./internal/dma
//	go run ./internal/mutants -list ./internal/tcp
//
// All changes are compiled into one test program, each behind a question that a
// variable of the environment answers, so that one compilation serves them all.
// A change that no test notices is printed as a survivor; the exit status is then
// 1. Most survivors ask for a test, some change nothing that matters.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// Exit statuses: mutants survived; the command line makes no sense, or the
// packages and their tests do not work to begin with.
const (
	exitSurvivors = 1
	exitUsage     = 2
)

// options is what the command line says.
type options struct {
	packages []string // patterns of packages to change
	with     []string // packages whose tests get to see what survives
	tests    string   // tests to run, a regular expression
	sample   int      // at most so many generated mutants per package; 0 is all
	table    bool     // those of the table only
	list     bool     // list the mutants instead of running them
	jobs     int      // test programs at a time
}

func main() {
	var o options
	flags := flag.NewFlagSet("mutants", flag.ExitOnError)
	with := flags.String("with", "", "packages, separated by commas, whose tests get what survives")
	flags.StringVar(&o.tests, "run", "", "run only tests that match this `expression`")
	flags.IntVar(&o.sample, "sample", 0, "at most so many generated mutants per package, spread evenly; 0 is all")
	flags.BoolVar(&o.table, "table", false, "only the mutants of the table, none that are generated")
	flags.BoolVar(&o.list, "list", false, "list the mutants, run nothing")
	flags.IntVar(&o.jobs, "jobs", 2, "test programs to run at a time")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: go run ./internal/mutants [flags] package ...")
		flags.PrintDefaults()
	}
	flags.Parse(os.Args[1:])
	o.packages = flags.Args()
	if *with != "" {
		o.with = strings.Split(*with, ",")
	}
	if len(o.packages) == 0 || o.jobs < 1 || o.sample < 0 {
		flags.Usage()
		os.Exit(exitUsage)
	}
	if err := limitMemory(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants: memory stays without a limit:", err)
	}
	survivors, err := mutate(o)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(exitUsage)
	case len(survivors) > 0:
		os.Exit(exitSurvivors)
	}
}

// mutate does what o says for one package after the other, and returns what
// survived.
func mutate(o options) (survivors []*mutant, err error) {
	packages, err := loadPackages(o.packages)
	if err != nil {
		return nil, err
	}
	start, made := time.Now(), 0
	for _, p := range packages {
		list, err := p.mutants(o)
		if err != nil {
			return nil, err
		}
		made += len(list)
		if o.list {
			for _, m := range list {
				fmt.Println(m)
			}
			continue
		}
		alive, err := p.run(list, o)
		if err != nil {
			return nil, err
		}
		survivors = append(survivors, alive...)
	}
	if !o.list {
		fmt.Printf("%d of %d mutants survived, %.0f s\n", len(survivors), made, time.Since(start).Seconds())
	}
	return survivors, nil
}
