package run_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/run"
)

// ns3Rows runs an ns-3 configuration and returns the rows of fct.txt and
// pfc.txt.
func ns3Rows(t *testing.T, config string, opt run.Options) (fct, pfc []string) {
	t.Helper()
	opt.Files, opt.TracePauses = map[string]string{"ns3": config}, true
	if opt.Workers == 0 {
		opt.Workers = 1
	}
	r, v, err := run.Do(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return rows(v.NS3FCT(r)), rows(v.NS3PFC(r))
}

func rows(data []byte) []string {
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// The files have the rows that the simulators' own have: the same flows with
// the same ports, sizes, starts and standalone times, in the same order where
// completions do not tie, and as many pauses.
func TestNS3OutRealFiles(t *testing.T) {
	data := os.Getenv("HOPSCOPE_DATA")
	if data == "" {
		t.Skip("HOPSCOPE_DATA does not name the folder of real files")
	}
	for _, c := range []struct {
		name  string
		exact bool // completions and their order to the nanosecond
		pfc   bool // as many rows of pfc.txt
	}{
		{"single_dcqcn", true, false}, {"tiny_trace", true, false}, {"incast2_nocc", true, false},
		{"incast4_nocc", false, true}, {"incast4_dcqcn_step", false, false}, {"incast16_nocc", false, false},
	} {
		dir := filepath.Join(data, "ns3", c.name)
		fct, pfc := ns3Rows(t, filepath.Join(dir, "config.txt"), run.Options{})
		want, err := os.ReadFile(filepath.Join(dir, "fct.txt"))
		if err != nil {
			t.Fatal(err)
		}
		got, ref := fct, rows(want)
		if !c.exact {
			got, ref = withoutFCT(got), withoutFCT(ref)
		}
		if !slices.Equal(got, ref) {
			t.Errorf("%s: fct.txt\n got  %q\n want %q", c.name, got, ref)
		}
		if !c.pfc {
			continue
		}
		want, err = os.ReadFile(filepath.Join(dir, "pfc.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if ref := rows(want); len(pfc) != len(ref) || pfc[0] != ref[0] {
			t.Errorf("%s: %d rows of pfc.txt, the first %q; want %d, %q", c.name, len(pfc), pfc[0], len(ref), ref[0])
		}
	}
}

// withoutFCT drops the completion times and sorts: incasts whose completions
// differ by a few nanoseconds end in another order.
func withoutFCT(rows []string) []string {
	var out []string
	for _, r := range rows {
		f := strings.Fields(r)
		out = append(out, strings.Join(append(f[:6:6], f[7]), " "))
	}
	slices.Sort(out)
	return out
}

// An incast of our own: every XOFF is followed by its XON, in order of time, and
// workers change nothing.
func TestNS3OutPauses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"config.txt": "ENABLE_QCN 0\nTOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nBUFFER_SIZE 1\n",
		"topology.txt": "7 2 6\n0 4\n1 0 100Gbps 1000ns 0\n2 0 100Gbps 1000ns 0\n3 0 100Gbps 1000ns 0\n4 0 100Gbps 1000ns 0\n" +
			"4 5 100Gbps 1000ns 0\n4 6 100Gbps 1000ns 0\n",
		"flow.txt": "4\n1 5 3 100 400000 2\n2 5 3 100 400000 2\n3 5 3 200 400000 2\n6 5 3 100 400000 2.00001\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "config.txt")
	fct, pfc := ns3Rows(t, config, run.Options{})
	if len(fct) != 4 || len(pfc) < 8 || len(pfc)%2 != 0 {
		t.Fatalf("%d rows of fct.txt, %d of pfc.txt", len(fct), len(pfc))
	}
	// peers.md B4: node id = (ip >> 8) & 0xffff; standalone = base RTT of three
	// links of 1 us and 80 ns per 1000 B, plus 400 frames of 1048 B at 100 Gb/s.
	if want := "0b000301 0b000501 10000 200 400000 2000000000 "; !slices.ContainsFunc(fct, func(r string) bool {
		return strings.HasPrefix(r, want) && strings.HasSuffix(r, " 39776")
	}) {
		t.Errorf("no row %s... 39776 in %q", want, fct)
	}
	paused := map[string]bool{}
	for _, row := range pfc {
		f := strings.Fields(row)
		port := strings.Join(f[1:4], " ")
		if paused[port] == (f[4] == "1") {
			t.Fatalf("%q does not change what the port does", row)
		}
		paused[port] = f[4] == "1"
		if isSwitch := f[1] == "0" || f[1] == "4"; isSwitch != (f[2] == "1") {
			t.Errorf("%q: wrong type of node", row)
		}
	}
	fct2, pfc2 := ns3Rows(t, config, run.Options{Workers: 3, Partitions: 2})
	if !slices.Equal(fct, fct2) || !slices.Equal(pfc, pfc2) {
		t.Error("another number of partitions gives other rows")
	}
}
