package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// patience is how long a changed program may take, in times of the unchanged one,
// and at least leastPatience, before it counts as hanging, which its tests notice.
const (
	patience      = 20
	leastPatience = 20 * time.Second
)

// mutants lists what to change in the package: the table's first, which the
// rest must fit around.
func (p *pkg) mutants(o options) ([]*mutant, error) {
	list, err := p.fromTable()
	if err != nil {
		return nil, err
	}
	if !o.table {
		made := p.generate()
		if o.sample > 0 && len(made) > o.sample {
			step := float64(len(made)) / float64(o.sample)
			for i := range o.sample {
				made[i] = made[int(float64(i)*step)]
			}
			fmt.Printf("%s: a sample of %d of %d generated mutants; %d are not tried (-sample 0: all)\n", p.path, o.sample, len(made), len(made)-o.sample)
			made = made[:o.sample]
		}
		list = append(list, made...)
	}
	list = nested(list)
	for i, m := range list {
		m.id = i + 1
	}
	return list, nil
}

// program is the compiled tests of one package.
type program struct {
	pkg, dir, file string
	took           time.Duration // without a mutant
	reached        map[int]bool  // mutants that its tests come by
}

// run compiles the package with all mutants, runs its tests with one after the
// other, and returns those that no test notices.
func (p *pkg) run(list []*mutant, o options) (alive []*mutant, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	folder, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	overlay, err := p.overlay(folder, list)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	var programs []*program
	for i, name := range append([]string{p.path}, o.with...) {
		t := &program{pkg: name, file: filepath.Join(folder, fmt.Sprintf("%d.test", i))}
		if err := t.compile(overlay, len(list), o); err != nil {
			return nil, err
		}
		programs = append(programs, t)
	}
	fmt.Printf("%s: %d mutants, compiled and run without any in %.0f s\n", p.path, len(list), time.Since(start).Seconds())

	var wait sync.WaitGroup
	next := make(chan *mutant)
	lives := make([]bool, len(list)+1)
	for range o.jobs {
		wait.Go(func() {
			for m := range next {
				lives[m.id] = true
				for _, t := range programs {
					if t.reached[m.id] && t.kills(m, o) {
						lives[m.id] = false
						break
					}
				}
			}
		})
	}
	for _, m := range list {
		next <- m
	}
	close(next)
	wait.Wait()
	for _, m := range list {
		if !lives[m.id] {
			continue
		}
		alive = append(alive, m)
		how := "survives"
		if !programs[0].reached[m.id] {
			how = "is never run"
		}
		fmt.Printf("%s/%s %s\n", strings.TrimPrefix(p.path, module), m, how)
	}
	return alive, nil
}

// compile makes the test program and runs it without a mutant, once to see that
// the tests pass and how long they take, once to learn which mutants they reach.
func (t *program) compile(overlay string, mutants int, o options) error {
	if out, err := exec.Command("go", "test", "-c", "-overlay="+overlay, "-o", t.file, t.pkg).CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c %s: %w\n%s", t.pkg, err, out)
	}
	if _, err := os.Stat(t.file); err != nil { // there are no tests
		return nil
	}
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", t.pkg).Output()
	if err != nil {
		return err
	}
	t.dir = strings.TrimSpace(string(dir))
	start := time.Now()
	if out, err := t.test(time.Hour, o); err != nil {
		return fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", t.pkg, err, out)
	}
	t.took = time.Since(start)
	file := t.file + ".reached"
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		return err
	}
	// Tests that count allocations fail here, where reaching a mutant is noted.
	t.test(time.Hour, o, variableReach+"="+file)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	t.reached = make(map[int]bool, mutants)
	for line := range strings.Lines(string(data)) {
		var id int
		if _, err := fmt.Sscan(line, &id); err != nil {
			return err
		}
		t.reached[id] = true
	}
	return nil
}

// kills reports whether a test fails with the mutant, or hangs.
func (t *program) kills(m *mutant, o options) bool {
	_, err := t.test(max(patience*t.took, leastPatience), o, fmt.Sprintf("%s=%d", variableOn, m.id))
	return err != nil
}

// test runs the short tests up to the first that fails.
func (t *program) test(limit time.Duration, o options, env ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, errors.New("hangs"))
	defer cancel()
	cmd := exec.CommandContext(ctx, t.file, "-test.short", "-test.failfast", "-test.timeout=0", "-test.run="+o.tests)
	cmd.Dir, cmd.WaitDelay = t.dir, time.Second
	cmd.Env = append(os.Environ(), env...)
	return cmd.CombinedOutput()
}
