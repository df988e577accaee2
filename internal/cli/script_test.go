package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/hopscope/hopscope/internal/run"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the scripts call hopscope, which is this binary again with the
// real pipeline.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"hopscope": func() {
			pipeline := Pipeline{Do: run.Do, List: run.List}
			os.Exit(Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr, pipeline))
		},
	})
}

// TestScripts runs testdata/script/*.txtar. The command "status N hopscope ..."
// checks an exact exit status.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": exitStatus},
	})
}

// exitStatus is the script command status.
func exitStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [arguments]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("status %d, want %s", got, args[0])
	}
}
