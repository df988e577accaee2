// Package perfetto has protoc read the timelines that hopscope writes, by a definition of the fields as Perfetto has them.
package perfetto

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/timeline"
)

// protoc runs it on an input.
func protoc(t *testing.T, how string, input []byte) []byte {
	t.Helper()
	c := exec.Command("protoc", how+"=perfetto.protos.Trace", "trace.proto")
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(input), &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("protoc %s: %v: %s", how, err, errs.String())
	}
	return out.Bytes()
}

// TestDecode: protoc knows every field of a timeline and its type, and what it makes of the text again has as many bytes.
func TestDecode(t *testing.T) {
	if _, err := exec.LookPath("protoc"); err != nil {
		t.Skip("needs protoc (Debian: protobuf-compiler)")
	}
	if _, err := os.Stat("trace.proto"); err != nil {
		t.Fatal(err)
	}
	for scenario, set := range map[string][]string{
		"lossy-incast":  {"workload[0].incast.size=200KB"},
		"victim-flow":   {"workload[0].flows.size=1MB", "workload[1].flow.size=1MB"},
		"virtual-lanes": nil,
		"tcp-incast":    nil,
		"gpu-incast":    {"workload[0].incast.size=1MB"},
	} {
		r, _, err := run.Do(context.Background(), run.Options{Scenario: scenario, Set: set, Workers: 1, Trace: true})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := timeline.Write(&b, r); err != nil {
			t.Fatal(err)
		}
		text := protoc(t, "--decode", b.Bytes())
		if unknown := regexp.MustCompile(`(?m)^\s*\d+(:| \{).*$`).Find(text); unknown != nil {
			t.Errorf("%s: a field that is not Perfetto's: %s", scenario, unknown)
		}
		begins, ends := strings.Count(string(text), "TYPE_SLICE_BEGIN"), strings.Count(string(text), "TYPE_SLICE_END")
		if begins == 0 || begins != ends {
			t.Errorf("%s: %d slices begin, %d end", scenario, begins, ends)
		}
		if again := protoc(t, "--encode", text); len(again) != b.Len() {
			t.Errorf("%s: %d bytes, of which protoc makes %d", scenario, b.Len(), len(again))
		}
		t.Logf("%s: %d bytes, %d slices", scenario, b.Len(), begins)
	}
}
