package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rows"
)

// saverDir names, in the environment of this test program, the directory in which it is to
// write the outputs of runs until it is killed.
const saverDir = "HOPSCOPE_TEST_SAVER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(saverDir); dir != "" {
		for n := uint64(1); ; n++ {
			if err := saveAll(dir, n); err != nil {
				os.Stderr.WriteString(err.Error())
				os.Exit(1)
			}
		}
	}
	os.Exit(m.Run())
}

// saveAll writes what run --out, --csv and --json write of a run with n for its seed.
func saveAll(dir string, n uint64) error {
	r := manyFlows()
	r.Seed = n
	if err := save(filepath.Join(dir, "run"), r, "name: x\n", Meta{Seed: n}); err != nil {
		return err
	}
	if err := WriteCSV(filepath.Join(dir, "csv"), r); err != nil {
		return err
	}
	return files.Write(filepath.Join(dir, "run.json"), func(w io.Writer) error { return WriteJSON(w, r, 1) })
}

// A program that is killed while it writes its outputs leaves each of them whole, the old or the
// new one, and the next may write them again and clears what the killed one left. HOPSCOPE_LONG=1
// kills a thousand times.
func TestKilledWhileSaving(t *testing.T) {
	dir := t.TempDir()
	if err := saveAll(dir, 0); err != nil {
		t.Fatal(err)
	}
	kills := 25
	if os.Getenv("HOPSCOPE_LONG") != "" {
		kills = 1000
	}
	states := map[string]bool{}
	for range kills {
		saver := exec.Command(os.Args[0])
		saver.Env = append(os.Environ(), saverDir+"="+dir)
		var said strings.Builder
		saver.Stderr = &said
		if err := saver.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(10+rand.IntN(70)) * time.Millisecond)
		_ = saver.Process.Kill()
		_ = saver.Wait()
		if said.Len() > 0 {
			t.Fatal(said.String())
		}
		states[entries(t, filepath.Join(dir, "run"))+entries(t, filepath.Join(dir, "csv"))+entries(t, dir)] = true
		wholeOutputs(t, dir)
	}
	if len(states) < 2 {
		t.Log("no kill came while a result was being written")
	}
	if err := saveAll(dir, 0); err != nil {
		t.Fatal(err)
	}
	onlyFiles(t, filepath.Join(dir, "run"), ResultFile, MetaFile, ScenarioFile)
	onlyFiles(t, dir, "csv", "run", "run.json")
	if left := entries(t, filepath.Join(dir, "csv")); strings.Contains(left, "tmp") {
		t.Errorf("what was killed left %s", left)
	}
}

// wholeOutputs reads all that saveAll writes.
func wholeOutputs(t *testing.T, dir string) {
	t.Helper()
	r, meta, err := Load(filepath.Join(dir, "run"), Reading{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Seed != meta.Seed {
		t.Fatalf("result of seed %d beside run.json of seed %d", r.Seed, meta.Seed)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "run.json")); err != nil || !json.Valid(data) {
		t.Fatalf("run.json of %d bytes is cut short: %v", len(data), err)
	}
	for _, sheet := range sheetsOf(r) {
		f, err := os.Open(filepath.Join(dir, "csv", sheet.Name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := csv.NewReader(f).ReadAll()
		f.Close()
		least := 1
		if sheet.Name != "accounts" && sheet.Name != "cpu" && sheet.Name != "mechanisms" { // whose rows have several lines
			least += sheet.N
		}
		if err != nil || len(got) < least {
			t.Fatalf("%s.csv has %d lines of %d: %v", sheet.Name, len(got), least, err)
		}
	}
}

func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// Wherever between its steps a program is killed, one of the two results is there whole:
// the new one from when run.json.next has its name.
func TestKilledBetweenSteps(t *testing.T) {
	steps := []string{ResultFile + nextEnd, ScenarioFile + nextEnd, MetaFile + nextEnd, ResultFile, ScenarioFile, MetaFile}
	for done := range len(steps) + 1 {
		dir := t.TempDir()
		old, fresh := filepath.Join(dir, "old"), filepath.Join(dir, "new")
		for d, r := range map[string]*record.Run{old: oneFlow(), fresh: incast()} {
			if err := save(d, r, "name: "+filepath.Base(d)+"\n", Meta{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range steps[:done] {
			from := filepath.Join(old, step+nextEnd)
			if name, next := strings.CutSuffix(step, nextEnd); next {
				from = filepath.Join(fresh, name)
			}
			if err := os.Rename(from, filepath.Join(old, step)); err != nil {
				t.Fatal(err)
			}
		}
		want := oneFlow()
		if slices.Contains(steps[:done], MetaFile+nextEnd) {
			want = incast()
		}
		for _, when := range []string{"at once", "after the next run came"} {
			r, _, err := Load(old, Reading{})
			if err != nil {
				t.Fatalf("after %d steps, %s: %v", done, when, err)
			}
			if !same(r, want) {
				t.Errorf("after %d steps, %s: another result", done, when)
			}
			d, err := OpenDir(old)
			if err != nil {
				t.Fatalf("after %d steps: %v", done, err)
			}
			d.Close()
		}
		onlyFiles(t, old, ResultFile, MetaFile, ScenarioFile)
	}
}

// A first run that was killed leaves nothing that later runs would refuse.
func TestLeftoversOfFirstRun(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".result.json.next.12.tmp", ".result.json.34.tmp", "result.json.next", "scenario.yaml.next"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Load(dir, Reading{}); err == nil || !strings.Contains(err.Error(), "not a run directory") {
		t.Errorf("loaded: %v", err)
	}
	if err := save(dir, oneFlow(), "", Meta{}); err != nil {
		t.Fatal(err)
	}
	onlyFiles(t, dir, ResultFile, MetaFile, ScenarioFile)
}

// What the encoders of a message allocate does not grow with the number of messages; all
// that a run keeps of each is what percentiles and the slowest need.
func TestOutputsGrowWithMessages(t *testing.T) {
	outputs := map[string]func(r *record.Run) error{
		"JSON": func(r *record.Run) error { return WriteJSON(io.Discard, r, 2) },
		"CSV": func(r *record.Run) error {
			return errors.Join(rows.CSV(io.Discard, messageTable(r, 1)), rows.CSV(io.Discard, stageTable(r.Messages)))
		},
		"text": func(r *record.Run) error { return Text(io.Discard, r, TextOptions{}) },
	}
	for name, write := range outputs {
		perMessage := func(times int) float64 {
			r := lossy()
			r.Messages = slices.Repeat(r.Messages, times)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := write(r); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc-before.TotalAlloc) / float64(len(r.Messages))
		}
		small, large := perMessage(5_000), perMessage(40_000)
		if large > 1.3*small || large > 1500 {
			t.Errorf("%s: %.0f bytes per message of many, %.0f of few", name, large, small)
		}
		t.Logf("%s: %.0f bytes per message of many, %.0f of few", name, large, small)
	}
}

// Two runs do not write one directory.
func TestOneRunPerDirectory(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := OpenDir(dir); err == nil || err.Error() != dir+": another run is writing there; name a new one" {
		t.Errorf("error %v", err)
	}
}

// What has no end is no part of a run directory: neither is it read for ever, nor into memory.
func TestEndlessFiles(t *testing.T) {
	for _, name := range []string{MetaFile, ResultFile} {
		dir := t.TempDir()
		if err := save(dir, oneFlow(), "name: x\n", Meta{}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Remove(path), os.Symlink("/dev/zero", path)); err != nil {
			t.Skip(err)
		}
		if _, _, err := Load(dir, Reading{}); err == nil || !strings.Contains(err.Error(), name+": is no plain file; ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
