package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/scenario"
)

// fake is a pipeline whose scenarios are named after how they end; it keeps
// the options it was called with.
type fake struct {
	mu  sync.Mutex // a comparison calls from several goroutines
	got run.Options
}

func (f *fake) pipeline() Pipeline {
	return Pipeline{
		Do: func(ctx context.Context, opt run.Options) (*record.Run, *scenario.Valid, error) {
			f.mu.Lock()
			f.got = opt
			f.mu.Unlock()
			return outcomeNamed(ctx, opt.Scenario)
		},
		List: func() []scenario.Info {
			return []scenario.Info{{Name: "done", Description: "ends well"}, {Name: "deadlock-ring", Description: "a cycle\n of holds"}}
		},
	}
}

func outcomeNamed(ctx context.Context, name string) (*record.Run, *scenario.Valid, error) {
	r := &record.Run{Scenario: name, Stack: "rocev2", Seed: 42, EndPS: 21_400_000, Stopped: "quiescence", Fingerprint: "abcd",
		Messages: []record.Message{{Src: "h0", Dst: "h1", QP: 1, Workload: "w", Verb: "WRITE", Bytes: 1000, CompletionPS: 2_000_000, Status: "success"}}}
	v := &scenario.Valid{Source: []byte("name: " + name + "\n")}
	switch name {
	case "deadlock":
		r.Stopped, r.OpenMessages = "deadlock", 3
	case "stalled":
		r.Stopped, r.OpenMessages = "stalled", 1
	case "interrupted":
		r.Stopped, r.OpenMessages = "interrupted", 1
	case "wrong":
		return nil, nil, &scenario.Error{File: "wrong.yaml", Line: 3, Col: 5, Msg: "unknown key \"hots\"; did you mean \"hosts\"?"}
	case "broken":
		return nil, nil, errors.New("out of memory\nor worse")
	case "half":
		return r, v, errors.New("the disk is gone")
	case "slow", "terminated", "hungup": // until the signal that it sends itself
		sig := syscall.SIGINT
		switch name {
		case "terminated":
			sig = syscall.SIGTERM
		case "hungup":
			sig = syscall.SIGHUP
		}
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			return nil, nil, err
		}
		<-ctx.Done()
		r.Stopped, r.OpenMessages = "interrupted", 1
	case "cancelled":
		return nil, nil, ctx.Err()
	}
	return r, v, nil
}

// call runs the command line and returns what it printed and its status.
func call(t *testing.T, f *fake, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(context.Background(), args, &out, &errs, f.pipeline())
	return out.String(), errs.String(), code
}

func TestExitStatus(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code int
		want string // in the one line on standard error; empty: no line
	}{
		{"run done", 0, ""},
		{"run --ns3 config.txt", 0, ""},
		{"version", 0, ""},
		{"scenarios", 0, ""},
		{"", 0, ""},
		{"run deadlock", 1, "deadlock at 21.40 us with 3 messages open"},
		{"run stalled", 1, "stalled at 21.40 us with 1 message open: nothing is pending that could move one on"},
		{"run broken", 1, "out of memory or worse"},
		{"run half", 1, "the disk is gone"},
		{"run interrupted", 130, "interrupted at 21.40 us"},
		{"run wrong", 2, `wrong.yaml:3:5: unknown key "hots"; did you mean "hosts"?`},
		{"run", 2, "run needs a scenario"},
		{"run a b", 2, "one scenario, not 2 (a, b)"},
		{"run a --ns3 c", 2, "not both"},
		{"run a --bogus", 2, "unknown flag: --bogus"},
		{"run a --seed -1", 2, "--seed -1: give a whole number from 0"},
		{"run a --workers many", 2, "--workers many: give a whole number"},
		{"run a --workers 0", 2, "at least 1"},
		{"run a --level fast", 2, "--level fast: there is no such level; one of exact, packets"},
		{"run a --level=", 2, "one of exact, packets"},
		{"run a --level flow --explain slowest", 2, "--explain: accounts are of packets, of which --level flow knows nothing"},
		{"run a --level flow --mechanisms", 2, "--mechanisms: mechanisms act on"},
		{"run a --level flow --pcap x.pcapng", 2, "--pcap: a capture shows packets"},
		{"run a --level flow --series queue", 2, "--series: series are of queues"},
		{"run a --level flow --perfetto x", 2, "--perfetto: a timeline shows packets"},
		{"run a --level flow --html x.html", 2, "--html: a page shows queues"},
		{"run a --level flow --counters x", 2, "--counters: counters are of packets"},
		{"run a --level flow --seeds 3", 2, "--seeds: what draws change is queues"},
		{"run a --set stop", 2, "write key=value"},
		{"run a --set =1", 2, "write key=value"},
		{"run a --json " + filepath.Dir(file), 2, "is a directory"},
		{"run a --json " + filepath.Join(file, "no", "x.json"), 2, "no directory"},
		{"run a --csv " + file, 2, "is a file"},
		{"run a --out " + file, 2, "is a file"},
		{"run a --out " + filepath.Dir(file), 2, "neither empty nor a run directory"},
		{"report", 2, "one run directory, not 0"},
		{"report " + filepath.Dir(file), 2, "not a run directory"},
		{"report " + filepath.Join(filepath.Dir(file), "none"), 2, "no such directory"},
		{"report " + file, 2, "is a file; name the directory"},
		{"report " + filepath.Join(file, "x"), 2, "not a directory"},
		{"compare done", 0, ""},
		{"compare wrong", 2, `wrong.yaml:3:5: unknown key "hots"`},
		{"compare broken", 1, "out of memory or worse"},
		{"compare deadlock", 0, ""}, // one stack may deadlock: that is a result
		{"show", 0, ""},
		{"rum", 2, "there is no command rum; did you mean run?"},
		{"version now", 2, "takes no argument"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			_, stderr, code := call(t, &fake{}, strings.Fields(tt.args)...)
			if code != tt.code {
				t.Errorf("status %d, want %d (%s)", code, tt.code, stderr)
			}
			if lines := strings.Count(stderr, "\n"); tt.want == "" && stderr != "" || tt.want != "" && lines != 1 {
				t.Errorf("%d lines on standard error: %q", lines, stderr)
			}
			if !strings.Contains(stderr, tt.want) {
				t.Errorf("%q does not say %q", stderr, tt.want)
			}
		})
	}
}

// What ran is written, however the run ended.
func TestRunWritesEverything(t *testing.T) {
	for _, name := range []string{"done", "deadlock", "interrupted", "half"} {
		dir := t.TempDir()
		jsonFile, csvDir, outDir := filepath.Join(dir, "r.json"), filepath.Join(dir, "csv"), filepath.Join(dir, "run")
		stdout, _, _ := call(t, &fake{}, "run", name, "--json", jsonFile, "--csv", csvDir, "--out", outDir)
		if !strings.HasPrefix(stdout, name+": rocev2, ") {
			t.Errorf("%s: printed %q", name, stdout)
		}
		for _, f := range []string{jsonFile, filepath.Join(csvDir, "messages.csv"), filepath.Join(csvDir, "ledger.csv"), filepath.Join(outDir, report.ResultFile)} {
			if _, err := os.Stat(f); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if source, _ := os.ReadFile(filepath.Join(outDir, report.ScenarioFile)); string(source) != "name: "+name+"\n" {
			t.Errorf("%s: kept scenario %q", name, source)
		}
		again, stderr, code := call(t, &fake{}, "report", outDir)
		if again != stdout || stderr != "" || code != 0 {
			t.Errorf("%s: report printed %q, %q, status %d; the run printed %q", name, again, stderr, code, stdout)
		}
	}
}

func TestRunOptions(t *testing.T) {
	var f fake
	if _, stderr, code := call(t, &f, "run", "x.yaml", "--set", "a.b=1,2", "--set", "c=d=e", "--seed", "0", "--workers", "3"); code != 0 {
		t.Fatal(stderr)
	}
	if o := f.got; o.Scenario != "x.yaml" || o.Workers != 3 || o.Seed == nil || *o.Seed != 0 || strings.Join(o.Set, "|") != "a.b=1,2|c=d=e" {
		t.Errorf("options %+v", o)
	}
	call(t, &f, "run", "--ns3", "c.txt")
	if o := f.got; o.Files["ns3"] != "c.txt" || o.Scenario != "" || o.Seed != nil || o.Workers < 1 {
		t.Errorf("options %+v", o)
	}
}

func TestQuietAndJSONToStdout(t *testing.T) {
	if stdout, stderr, _ := call(t, &fake{}, "run", "done", "--quiet"); stdout != "" || stderr != "" {
		t.Errorf("quiet run printed %q and %q", stdout, stderr)
	}
	stdout, _, _ := call(t, &fake{}, "run", "done", "--json", "-")
	var d struct{ Version int }
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || d.Version != report.Version {
		t.Errorf("%v: %s", err, stdout)
	}
}

func TestScenariosLineUp(t *testing.T) {
	stdout, _, _ := call(t, &fake{}, "scenarios")
	if want := "done           ends well\ndeadlock-ring  a cycle of holds\n"; stdout != want {
		t.Errorf("got %q, want %q", stdout, want)
	}
}

// A run cancelled before it brought anything back is interrupted, not failed.
func TestCancelledBeforeStart(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	if code := Main(ctx, []string{"run", "cancelled"}, &out, &errs, (&fake{}).pipeline()); code != exitInterrupted {
		t.Errorf("status %d: %s", code, errs.String())
	}
}

// A comparison that Ctrl-C cuts short has nothing to show.
func TestCompareInterrupted(t *testing.T) {
	stdout, stderr, code := call(t, &fake{}, "compare", "slow", "--stacks", "rocev2", "--workers", "1")
	if code != exitInterrupted || stdout != "" {
		t.Errorf("status %d, printed %q", code, stdout)
	}
	want := "hopscope: stopping; once more to stop at once\n" +
		"hopscope: interrupted before every run had ended; no stack had\n"
	if stderr != want {
		t.Errorf("standard error %q, want %q", stderr, want)
	}
}

// SIGTERM has the exit status that shells give it.
func TestTerminated(t *testing.T) {
	if _, stderr, code := call(t, &fake{}, "run", "terminated"); code != exitTerminated {
		t.Errorf("status %d: %s", code, stderr)
	}
	if _, stderr, code := call(t, &fake{}, "compare", "terminated", "--stacks", "rocev2", "--workers", "1"); code != exitTerminated {
		t.Errorf("compare: status %d: %s", code, stderr)
	}
}

// So has SIGHUP, as when a terminal closes; what ran until then is written.
func TestHangup(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("under nohup it is ignored")
	}
	file := filepath.Join(t.TempDir(), "r.json")
	if _, stderr, code := call(t, &fake{}, "run", "hungup", "--json", file); code != exitHangup {
		t.Errorf("status %d: %s", code, stderr)
	}
	if data, err := os.ReadFile(file); err != nil || !json.Valid(data) {
		t.Errorf("the result: %v", err)
	}
}

// Who reads only a part of the JSON on standard output is told.
func TestClosedPipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	reader.Close()
	var errs bytes.Buffer
	code := Main(context.Background(), []string{"run", "done", "--json", "-"}, writer, &errs, (&fake{}).pipeline())
	if want := "hopscope: standard output was closed before all of the result was written\n"; code != exitPipe || errs.String() != want {
		t.Errorf("status %d, %q", code, errs.String())
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	for _, command := range []string{"run done --json -", "run done", "--help", "run --help", "--version", "completion bash", "show", "scenarios"} {
		errs.Reset()
		code = Main(context.Background(), strings.Fields(command), full, &errs, (&fake{}).pipeline())
		if want := "hopscope: cannot write standard output: no space left on device\n"; code != exitFailure || errs.String() != want {
			t.Errorf("%s: status %d, %q", command, code, errs.String())
		}
	}
}

// What could not be written is said before the run, which does not start.
func TestRefusedBeforeTheRun(t *testing.T) {
	for _, flag := range []string{"--out", "--csv", "--json", "--ns3-out", "--nccl-out"} {
		f := &fake{}
		stdout, stderr, code := call(t, f, "run", "done", flag, "/proc/hopscope")
		if code != exitUser || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, flag+" /proc/hopscope: cannot be written") {
			t.Errorf("%s: status %d, %q", flag, code, stderr)
		}
		if f.got.Scenario != "" {
			t.Errorf("%s: the run started", flag)
		}
	}
}

// The first Ctrl-C ends the run where its results are whole, and they are
// written.
func TestInterrupt(t *testing.T) {
	stdout, stderr, code := call(t, &fake{}, "run", "slow")
	if code != exitInterrupted || !strings.HasPrefix(stdout, "slow: rocev2, interrupted at 21.40 us, 1 message open") {
		t.Errorf("status %d, printed %q", code, stdout)
	}
	want := "hopscope: stopping at a consistent point; once more to stop at once\n" +
		"hopscope: interrupted at 21.40 us; the results cover what ran until then\n"
	if stderr != want {
		t.Errorf("standard error %q, want %q", stderr, want)
	}
}
