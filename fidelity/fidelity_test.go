package fidelity

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/run"
)

func TestMain(m *testing.M) {
	flag.Bool("record", false, "write what was expected and measured to results/")
	flag.Parse()
	os.Exit(m.Run())
}

// TestFidelity runs every reference run and case. HOPSCOPE_LONG=1 adds those
// that take minutes; -record writes the table of figures to results/.
func TestFidelity(t *testing.T) {
	c := &checks{book: &Book{}}
	t.Run("ns3", func(t *testing.T) { c.ns3(t) })
	t.Run("case", func(t *testing.T) { c.cases(t) })
	if flag.Lookup("record").Value.String() == "true" {
		c.record(t)
	}
}

// checks carries the book through the tests.
type checks struct {
	book *Book
}

// hold fails the test of a figure that missed.
func (c *checks) hold(t *testing.T, figures ...Figure) {
	t.Helper()
	for _, f := range figures {
		if f.OK {
			t.Log(f)
		} else {
			t.Error(f)
		}
	}
}

// long skips what takes minutes unless asked for.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("HOPSCOPE_LONG") == "" {
		t.Skip("takes long; set HOPSCOPE_LONG=1 to run it")
	}
}

// record writes the book to results/<date>-<commit>.txt.
func (c *checks) record(t *testing.T) {
	commit := "unknown"
	if out, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude", "*").Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	date := time.Now().UTC().Format("2006-01-02")
	name := filepath.Join("results", date+"-"+commit+".txt")
	if err := os.MkdirAll("results", 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	err = c.book.Write(f, fmt.Sprintf("Fidelity of hopscope at commit %s, %s%s", commit, date, left()))
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("wrote %s", name)
}

// left says what the environment left out.
func left() (out string) {
	if os.Getenv("HOPSCOPE_DATA") == "" {
		out += "; without the reference runs: HOPSCOPE_DATA is not set"
	}
	if os.Getenv("HOPSCOPE_LONG") == "" {
		out += "; without the long runs: HOPSCOPE_LONG is not set"
	}
	return out
}

// do runs a scenario as the command line would.
func do(t *testing.T, opt run.Options) *record.Run {
	t.Helper()
	opt.Workers = 1
	r, _, err := run.Do(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
