//go:build !mutant

package run_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestPropertiesCatchMutants builds the tests with the faults of package fabric
// and rdma compiled in (build tag mutant) and demands that the properties catch
// each of them, by the property that is about it.
func TestPropertiesCatchMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a second test program")
	}
	program := filepath.Join(t.TempDir(), "mutants.test")
	if out, err := exec.Command("go", "test", "-c", "-tags", "mutant", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	properties := func(mutant, test string, args ...string) (output []byte, failed bool) {
		cmd := exec.Command(program, append(args, "-test.run=^"+test+"$", "-test.timeout=2m")...)
		cmd.Env = append(os.Environ(), "HOPSCOPE_MUTANT="+mutant)
		output, err := cmd.CombinedOutput()
		return output, err != nil
	}
	if out, failed := properties("none", "Test(InfiniBand)?Properties", "-test.short"); failed {
		t.Fatalf("the properties fail without a fault:\n%s", out)
	}
	tests := map[string]string{"extra-credit": "TestInfiniBandProperties", "lost-block": "TestInfiniBandProperties", "shared-lane": "TestLanesApart"}
	for _, m := range []struct{ mutant, caught string }{
		{"short-headroom", "no lossless drop"},
		{"skip-release", "no packet is alive|every message ends"},
		{"ignore-xoff", "no lossless drop"},
		{"count-twice", "bytes into a switch leave it"},
		{"duplicate", "should be in flight|holds less than nothing"},
		{"lose", "should be in flight|no packet is alive"},
		{"reorder", "PSN order"},
		{"tie-break", "give another result than one"},
		{"early-start", "no port above its rate|faster than its wire time"},
		{"fast", "no port above its rate|faster than its wire time"},
		{"held-early", "times and queues are ordered"},
		{"no-peak", "times and queues are ordered"},
		{"count-refresh", "each pause sent is received"},
		{"extra-credit", "more was sent than there were credits for|credits left at rest"},
		{"lost-block", "every message ends|no packet is alive"},
		{"shared-lane", "beside a lane that stands"},
		{"count-duplicate", "every byte is delivered once"},
		{"wrong-offset", "bytes arrive as they were sent"},
		{"stale-side", "bytes arrive as they were sent"},
	} {
		t.Run(m.mutant, func(t *testing.T) {
			t.Parallel()
			test := tests[m.mutant]
			if test == "" {
				test = "TestProperties"
			}
			out, failed := properties(m.mutant, test)
			switch {
			case !failed:
				t.Error("no property notices the fault")
			case !regexp.MustCompile(m.caught).Match(out):
				t.Errorf("not caught by %q but otherwise:\n%.2000s", m.caught, out)
			}
		})
	}
}
