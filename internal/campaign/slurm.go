package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hopscope/hopscope/internal/files"
)

// Slurm carries the shards of a sweep out as a job array.
type Slurm struct {
	Shards  int
	Options []string // of sbatch, such as --partition=long
	// Command makes a shard when --shard K/N follows; its first word is the program.
	Command []string
	// Shown is called now and then with how many of the runs that were missing are made, and how tasks stand.
	Shown func(made int, tasks string)

	poll, patience time.Duration // 0: pollEvery, waitFor
}

// Files of a sweep that Slurm has.
const (
	slurmFile   = "slurm.json"
	slurmScript = "slurm.sh"
	slurmLogs   = "slurm-%a.log"
)

// slurmJob is what slurmFile holds: the last array that was submitted.
type slurmJob struct {
	Job    string `json:"job"`
	Shards int    `json:"shards"`
}

// How often Slurm is asked, and how long it may fail to answer, or files be late, before that is an error.
const (
	pollEvery = 2 * time.Second
	waitFor   = 30 * time.Second
)

// FindSlurm says why no job can be submitted here.
func FindSlurm() error {
	for _, name := range []string{"sbatch", "squeue"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("--on slurm: there is no %s here; run this where Slurm is installed", name)
		}
	}
	return nil
}

// Run has the missing runs made by a job array and takes them in. One that was submitted before and still has tasks is
// waited for, and nothing is submitted.
func (l *Slurm) Run(ctx context.Context, s *Store) error {
	if l.poll == 0 {
		l.poll, l.patience = pollEvery, waitFor
	}
	job, err := s.readSlurm()
	if err != nil {
		return err
	}
	waiting := 0
	if job.Job != "" {
		tasks, err := l.tasks(ctx, job.Job)
		if err != nil {
			return err
		}
		waiting = len(tasks)
	}
	if waiting == 0 {
		if job, err = l.submit(ctx, s); err != nil {
			return err
		}
	}
	if err := l.wait(ctx, s, job); err != nil {
		return err
	}
	return l.collect(ctx, s, job)
}

// Job is the array that was submitted last; "": none was.
func (s *Store) Job() string {
	job, err := s.readSlurm()
	if err != nil {
		return ""
	}
	return job.Job
}

func (s *Store) readSlurm() (job slurmJob, err error) {
	data, err := os.ReadFile(filepath.Join(s.dir, slurmFile))
	if err != nil {
		return job, nil // none was submitted
	}
	if err := json.Unmarshal(data, &job); err != nil {
		return job, fmt.Errorf("%s: is no record of a Slurm job: %w", filepath.Join(s.dir, slurmFile), err)
	}
	return job, nil
}

// submit submits an array of the shards in which runs are missing.
func (l *Slurm) submit(ctx context.Context, s *Store) (job slurmJob, err error) {
	var shards []string
	for k := range l.Shards {
		if len(s.Missing(Shard{k, l.Shards})) > 0 {
			shards = append(shards, strconv.Itoa(k))
		}
	}
	script := filepath.Join(s.dir, slurmScript)
	if err := files.Put(script, l.script()); err != nil {
		return job, err
	}
	log := filepath.Join(s.dir, slurmLogs)
	args := append([]string{"--parsable", "--job-name=hopscope-" + fileWord(s.c.Scenario),
		"--array=" + strings.Join(shards, ","),
		"--output=" + log, "--error=" + log}, l.Options...)
	out, err := slurm(ctx, "sbatch", append(args, script)...)
	if err != nil {
		return job, err
	}
	id, _, _ := strings.Cut(strings.TrimSpace(out), ";") // the name of a cluster may follow
	if _, err := strconv.Atoi(id); err != nil {
		return job, fmt.Errorf("sbatch answered %q, which is no number of a job", strings.TrimSpace(out))
	}
	job = slurmJob{id, l.Shards}
	data, err := json.Marshal(job)
	if err != nil {
		return job, err
	}
	return job, files.Put(filepath.Join(s.dir, slurmFile), append(data, '\n'))
}

// script is what each task runs.
func (l *Slurm) script() []byte {
	var b bytes.Buffer
	b.WriteString("#!/bin/sh\nexec")
	for _, word := range l.Command {
		b.WriteString(" " + quoted(word))
	}
	fmt.Fprintf(&b, " --workers \"${SLURM_CPUS_PER_TASK:-1}\" --shard \"$SLURM_ARRAY_TASK_ID/%d\"\n", l.Shards)
	return b.Bytes()
}

// quoted is a word for the shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// fileWord is a name of letters, digits and hyphens.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, s)
}

// slurm runs one of Slurm's commands.
func slurm(ctx context.Context, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	err := c.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		words := strings.Join(strings.Fields(said.String()), " ")
		if words == "" {
			words = err.Error()
		}
		return "", fmt.Errorf("%s: %s", name, words)
	}
	return out.String(), nil
}

// tasks are the states of an array's tasks that have not ended, by index; none: it is over, or Slurm has forgotten it.
func (l *Slurm) tasks(ctx context.Context, job string) (map[string]string, error) {
	out, err := slurm(ctx, "squeue", "--noheader", "--array", "--jobs="+job, "--format=%K %T %r")
	if err != nil {
		if strings.Contains(err.Error(), "Invalid job id") {
			return nil, nil
		}
		return nil, err
	}
	tasks := map[string]string{}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) >= 2 {
			tasks[f[0]] = strings.ToLower(f[1])
			if f[1] == "PENDING" && len(f) > 2 && f[2] != "None" {
				tasks[f[0]] += " (" + strings.Join(f[2:], " ") + ")"
			}
		}
	}
	return tasks, nil
}

// wait waits until no task is left.
func (l *Slurm) wait(ctx context.Context, s *Store, job slurmJob) error {
	before := len(s.Missing(Shard{}))
	silent := time.Time{}
	for {
		tasks, err := l.tasks(ctx, job.Job)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && len(tasks) == 0:
			return nil
		case err == nil:
			silent = time.Time{}
			if err := s.Merge(s.dir); err != nil {
				return err
			}
			l.Shown(before-len(s.Missing(Shard{})), counted(tasks))
		case silent.IsZero():
			silent = time.Now()
		case time.Since(silent) > l.patience:
			return fmt.Errorf("Slurm does not answer any more: %w; job %s may go on, and the same command waits "+
				"for it", err, job.Job)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(l.poll):
		}
	}
}

// counted says how many tasks are in which state.
func counted(tasks map[string]string) string {
	counts := map[string]int{}
	var states []string
	for _, state := range tasks {
		if counts[state] == 0 {
			states = append(states, state)
		}
		counts[state]++
	}
	slices.Sort(states)
	for i, state := range states {
		states[i] = fmt.Sprintf("%d %s", counts[state], state)
	}
	return strings.Join(states, ", ")
}

// collect takes in what the shards left. Files of other machines may come late.
func (l *Slurm) collect(ctx context.Context, s *Store, job slurmJob) error {
	until := time.Now().Add(l.patience / 10)
	for {
		if err := s.Merge(s.dir); err != nil {
			return err
		}
		missing := len(s.Missing(Shard{}))
		if missing == 0 {
			return nil
		}
		if time.Now().After(until) {
			return l.lost(s, job, missing)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(l.poll / 4):
		}
	}
}

// lost says which shards are not whole though no task is left, and why if a task's log says so.
func (l *Slurm) lost(s *Store, job slurmJob, missing int) error {
	var which []string
	why := ""
	for k := range job.Shards {
		if len(s.Missing(Shard{k, job.Shards})) == 0 {
			continue
		}
		which = append(which, strconv.Itoa(k))
		log := filepath.Join(s.dir, strings.ReplaceAll(slurmLogs, "%a", strconv.Itoa(k)))
		if data, err := os.ReadFile(log); err == nil && why == "" {
			if lines := strings.Split(strings.TrimSpace(string(data)), "\n"); lines[len(lines)-1] != "" {
				why = fmt.Sprintf("; %s ends with: %s", log, lines[len(lines)-1])
			}
		}
	}
	noun := "shard"
	if len(which) > 1 {
		noun = "shards"
	}
	const most = 10
	if n := len(which); n > most {
		which = append(which[:most], fmt.Sprintf("and %d more", n-most))
	}
	return fmt.Errorf("Slurm job %s is over, and %s %s did not come to the end: %s missing%s; the same command submits "+
		"the rest again", job.Job, noun, strings.Join(which, ", "), many(missing, "run")+" "+isAre(missing), why)
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
