package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
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
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": exitStatus, "refused": refused,
			"unhex": unhex},
	})
}

// refused is the script command "refused FILE PLACE MESSAGE": hopscope run and
// hopscope check must refuse FILE with status 2 and one line that says where,
// FILE unless PLACE names another file or "-" for none, and matches MESSAGE; and
// nothing may be written.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: refused FILE PLACE MESSAGE")
	}
	where := regexp.QuoteMeta(args[1]) + ": "
	if args[1] == "-" {
		where = regexp.QuoteMeta(args[0]) + ": "
	}
	want := regexp.MustCompile("^hopscope: " + where + ".*" + args[2] + ".*\n$")
	for _, command := range [][]string{{"check", args[0]}, {"run", args[0], "--json", "no.json", "--csv", "no", "--out", "nor", "--ns3-out", "not"}} {
		err := ts.Exec("hopscope", command...)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 {
			ts.Fatalf("%s %s: %v, want status 2", command[0], args[0], err)
		}
		if got := ts.ReadFile("stderr"); !want.MatchString(got) {
			ts.Fatalf("%s says %q, want %v", command[0], got, want)
		}
		if got := ts.ReadFile("stdout"); got != "" {
			ts.Fatalf("%s printed %q", command[0], got)
		}
	}
	for _, name := range []string{"no.json", "no", "nor", "not"} {
		if _, err := os.Stat(ts.MkAbs(name)); err == nil {
			ts.Fatalf("%s was refused and yet wrote %s", args[0], name)
		}
	}
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
