package ncclog_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/ncclog"
)

const table = `# nccl-tests version 2.18.3 nccl-headers=22602 nccl-library=22703
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid   1010 on      node1 device  0 [0000:0f:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   1011 on      node2 device  0 [0000:0f:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong 
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         
        1024           256     float     sum      -1    25.00    0.04    0.04       0    24.00    0.04    0.04       0
        2048           512     float     sum      -1      N/A     N/A     N/A     N/A    26.50    0.08    0.08     N/A
        4096          1024     float     sum      -1    27.00   20.00   20.00       0    28.00    0.15    0.15       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.1 
`

// rewritten puts other text into the table.
func rewritten(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(table) }

// The figures are those of the columns out of place, or in place where those are N/A.
func TestTable(t *testing.T) {
	for name, text := range map[string]string{
		"as printed":   table,
		"by mpirun":    "[1,0]<stdout>:" + strings.ReplaceAll(strings.TrimSuffix(table, "\n"), "\n", "\n[1,0]<stdout>:"),
		"CRLF":         strings.ReplaceAll(table, "\n", "\r\n"),
		"without root": rewritten("redop    root ", "redop ", "sum      -1", "sum"),
		"no reduction": rewritten("sum      -1", "        -1"),
		"old titles":   rewritten("#wrong", "error"),
		"time stamps":  rewritten("#wrong \n", "#wrong timestamp\n", "       0\n", "       0  2026-11-30 10:00:00\n", "0.08     N/A\n", "0.08     N/A  2026-11-30 10:00:01\n"),
		"other output": rewritten("#        (B)", "node1:7:7 [0] NCCL INFO Launch mode Parallel\nwarning: 2 things\n#        (B)"),
		"iterations": rewritten("#wrong ", "#wrong i_min i_max i_p99 i_cv% ", "  0.04       0 ", "  0.04       0 1 2 3 4 ", " 20.00       0 ", " 20.00       0 1 2 3 4 ", "     N/A    26", " N/A 1 2 3 4 26",
			"  0\n", "  0 1 2 3 4\n", "0.08     N/A\n", "0.08     N/A 1 2 3 4\n"),
	} {
		l, err := ncclog.Parse("log", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if l.Op != "allreduce" || l.Ranks != 2 || l.Hosts != 2 || l.NCCL != "2.27.3" || l.Cut != 0 || len(l.Rows) != 3 {
			t.Errorf("%s: %+v", name, l)
			continue
		}
		for i, want := range []float64{25, 26.5, 27} {
			if r := l.Rows[i]; r.US != want || r.Bytes != 1024<<i {
				t.Errorf("%s: row %d is %d B in %v us, want %d in %v", name, i, r.Bytes, r.US, 1024<<i, want)
			}
		}
		if l.Rows[0].Factor != 0 || l.Rows[2].Factor != 1 {
			t.Errorf("%s: factors %v and %v, want 0 of few digits, and 1", name, l.Rows[0].Factor, l.Rows[2].Factor)
		}
	}
}

const asJSON = `{"version":3,"start_time":"2026-11-30 10:00:00","args":["./build\/alltoall_perf","-J","a.json"],"env":["A=1"],"nccl_version":22602,
"config":{"nthreads":1,"devices":[{"rank":0,"group":0,"hostname":"n1"},{"rank":1,"hostname":"n1"}]},
"results":[{"size":1024,"count":128,"type":"float","redop":"none","root":"    -1","out_of_place":{"time":25.000000,"alg_bw":20.0,"bus_bw":10.0,"nwrong":null},"in_place":{"time":24.0,"alg_bw":0.04,"bus_bw":0.04,"nwrong":0.0},"actual_iterations":20,"experiment_name":"x"},
{"size":2048,"count":256,"type":"float","redop":"none","root":"    -1","out_of_place":null,"in_place":{"cpu_time":26.5,"alg_bw":0.04,"bus_bw":"nan","nwrong":0.0}}],
"out_of_bounds":{"count":0,"okay":"true"},"errors":[],"end_time":"2026-11-30 10:01:00"}`

func TestJSON(t *testing.T) {
	l, err := ncclog.Parse("log", []byte(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	if l.Op != "alltoall" || l.Ranks != 2 || l.Hosts != 1 || l.NCCL != "2.26.2" || l.Cut != 0 || len(l.Rows) != 2 || l.Rows[0].US != 25 || l.Rows[0].Factor != 0.5 || l.Rows[1].US != 26.5 {
		t.Errorf("%+v", l)
	}
}

// What is wrong is said with its place.
func TestRefused(t *testing.T) {
	for want, text := range map[string]string{
		"log:1: holds no row":                             "\n",
		"log:14:58: \"fast\" is not a time":               rewritten("27.00   20.00", " fast   20.00"),
		"log:14:57: \"-7.00\" is not a time":              rewritten("27.00", "-7.00"),
		"log:13:99: the row has 11 columns, fewer":        rewritten("26.50    0.08    0.08     N/A", "26.50    0.08"),
		"log:14:51: \"27.00\" is not a root":              rewritten("-1    27.00", "27.00"),
		"log:14:124: the row has 1 column more":           rewritten("0.15    0.15       0", "0.15    0.15       0     7"),
		"log:10:1: these titles are not those":            rewritten("busbw  #wrong     time", "busbw"),
		"log:17:1: a second test begins here":             table + table[strings.Index(table, "# Collective"):],
		"log:24:1: a second test begins here":             table + table[strings.Index(table, "# nThread"):],
		"log:14:1: float prod, where the rows above have": rewritten("1024     float     sum", "1024     float    prod"),
		"log:2:1: hypercube_perf tests an operation":      rewritten("all_reduce_perf", "hypercube_perf"),
		"log:5:87: the log breaks off in the middle":      asJSON[:len(asJSON)-1],
		"log:1:2: this is not JSON":                       "{x}",
	} {
		_, err := ncclog.Parse("log", []byte(text))
		var e *ncclog.Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A log that breaks off gives its whole rows, and says where it ends.
func TestCut(t *testing.T) {
	for at := strings.Index(table, " 20.00") - 1; at < strings.Index(table, "# Out"); at++ {
		l, err := ncclog.Parse("log", []byte(table[:at]))
		if err != nil {
			t.Fatalf("%q: %v", table[at-20:at], err)
		}
		if l.Cut != 14 || len(l.Rows) < 2 {
			t.Errorf("cut after %q: at line %d, %d rows", table[at-20:at], l.Cut, len(l.Rows))
		}
	}
}

// Logs as published.
func TestPublished(t *testing.T) {
	dir := os.Getenv("HOPSCOPE_DATA")
	if dir == "" {
		t.Skip("HOPSCOPE_DATA names no folder")
	}
	for _, op := range []string{"allreduce", "alltoall"} {
		text, err := os.ReadFile(filepath.Join(dir, "nccl-tests", "superbench-nccl_"+op+".log"))
		if err != nil {
			t.Fatal(err)
		}
		l, err := ncclog.Parse(op, text)
		if err != nil {
			t.Fatal(err)
		}
		last := l.Rows[len(l.Rows)-1]
		if l.Ranks != 8 || l.Hosts != 1 || l.Cut != 0 || last.Bytes != 8<<30 || math.Abs(last.Factor-map[string]float64{"allreduce": 1.75, "alltoall": 0.875}[op]) > 0.001 {
			t.Errorf("%s: %+v", op, l)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(table))
	f.Add([]byte(asJSON))
	f.Add([]byte(table[:900]))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := ncclog.Parse("log", text)
		var e *ncclog.Error
		switch {
		case err != nil:
			if !errors.As(err, &e) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q", err)
			}
		default:
			for i, r := range l.Rows {
				if r.Bytes <= 0 || !(r.US > 0) || math.IsInf(r.US, 0) || i > 0 && r.Bytes <= l.Rows[i-1].Bytes {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}
