package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// unhex is the script command "unhex NAME FILE": it writes the capture testdata/captures/NAME.hex as a
// file. They are of packets that this program made; internal/decode says what must be found in such.
func unhex(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unhex NAME FILE")
	}
	data, err := captureBytes(args[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o644))
}

// captures is where the captures lie, wherever a script runs.
var captures, _ = filepath.Abs("testdata/captures")

func captureBytes(name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(captures, name+".hex"))
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
}

// The sample in docs/decode.md is what the program prints.
func TestDecodeDocs(t *testing.T) {
	data, err := captureBytes("incident")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../docs/decode.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("incident.pcap", data, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("COLUMNS", "")
	var out, errs bytes.Buffer
	if code := Main(context.Background(), []string{"decode", "incident.pcap"}, &out, &errs, Pipeline{}); code != 0 {
		t.Fatalf("status %d: %s", code, errs.String())
	}
	if want := "$ go run ./cmd/hopscope decode incident.pcap\n" + out.String() + "```"; !strings.Contains(string(docs), want) {
		t.Errorf("docs/decode.md does not hold:\n%s", want)
	}
}
