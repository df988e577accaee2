package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/parquet-go/parquet-go"
)

// seriesRun has a curve per quantity, two queues, and no pauses.
func seriesRun() *record.Run {
	s := &record.Series{Quantities: []record.Quantity{record.SeriesRate, record.SeriesQueue, record.SeriesPause, record.SeriesGoodput},
		EveryPS: units.Microsecond, FromPS: 5 * units.Microsecond, Samples: 5000, LeftOut: []string{"queue of 3 of the 5 ports"}}
	curve := func(c record.Curve, value func(i int) int64) {
		for i := range s.Samples {
			c.Add(i, value(i))
		}
		s.Curves = append(s.Curves, c)
	}
	curve(record.Curve{Quantity: record.SeriesQueue, Node: "leaf1", Port: 3, Class: 3, Peer: "h4:1"}, func(i int) int64 { return int64(i/7) * 4158 })
	curve(record.Curve{Quantity: record.SeriesQueue, Node: "leaf1", Port: 4, Class: 3, Peer: `odd, "name":1`}, func(i int) int64 { return 0 })
	curve(record.Curve{Quantity: record.SeriesRate, Node: "h0", QP: 1, Workload: "incast", Peer: "h4 qp 0"}, func(i int) int64 { return 400e9 - int64(i%13)*1e6 })
	curve(record.Curve{Quantity: record.SeriesGoodput, Node: "h0", QP: 1, Workload: "incast", Peer: "h4 qp 0"}, func(i int) int64 { return 4096 * int64(i%3) })
	return &record.Run{Scenario: "s", Stack: "rocev2", Seed: 7, Fingerprint: "00ff", EndPS: units.Millisecond, Series: s}
}

// parquetText reads a Parquet file back as the lines of its CSV twin, with its
// metadata.
func parquetText(t *testing.T, name string) (lines [][]string, meta map[string]string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	meta = map[string]string{}
	for _, kv := range f.Metadata().KeyValueMetadata {
		meta[kv.Key] = kv.Value
	}
	var header []string
	for _, c := range f.Schema().Columns() {
		header = append(header, c[0])
	}
	lines = append(lines, header)
	r := parquet.NewReader(f)
	defer r.Close()
	rows := make([]parquet.Row, 100)
	for {
		n, err := r.ReadRows(rows)
		for _, row := range rows[:n] {
			var line []string
			for _, v := range row {
				line = append(line, v.String())
			}
			lines = append(lines, line)
		}
		if err != nil {
			return lines, meta
		}
	}
}

func TestParquetEqualsCSV(t *testing.T) {
	dir, r := filepath.Join(t.TempDir(), "made"), seriesRun()
	if err := WriteSeries(dir, r, "v1"); err != nil {
		t.Fatal(err)
	}
	for q, rows := range map[string]int{"queue": 10000, "pause": 0, "rate": 5000, "goodput": 5000} {
		f, err := os.Open(filepath.Join(dir, q+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		want, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		got, meta := parquetText(t, filepath.Join(dir, q+".parquet"))
		if len(want) != rows+1 || len(got) != rows+1 {
			t.Errorf("%s: %d lines of CSV, %d of Parquet, want %d", q, len(want), len(got), rows+1)
			continue
		}
		for i := range want {
			if strings.Join(want[i], "|") != strings.Join(got[i], "|") {
				t.Errorf("%s row %d: CSV %q, Parquet %q", q, i, want[i], got[i])
				break
			}
		}
		for key, v := range map[string]string{"hopscope.scenario": "s", "hopscope.seed": "7", "hopscope.program": "v1", "hopscope.every_ps": "1000000"} {
			if meta[key] != v {
				t.Errorf("%s.parquet: %s is %q, want %q", q, key, meta[key], v)
			}
		}
	}
}

func TestSeriesFiles(t *testing.T) {
	dir, r := t.TempDir(), seriesRun()
	if err := WriteSeries(dir, r, "v1"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "series.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m SeriesMeta
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if m.Scenario != "s" || m.Seed != 7 || m.Samples != 5000 || len(m.LeftOut) != 1 || len(m.Files) != 4 || m.Files[0].Quantity != record.SeriesQueue {
		t.Errorf("%+v", m)
	}
	// 4096 B in 1 us are 32.768 Gb/s.
	text, err := os.ReadFile(filepath.Join(dir, "goodput.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "time_ps,host,qp,peer,workload,goodput_bps\n5000000,h0,1,h4 qp 0,incast,0\n6000000,h0,1,h4 qp 0,incast,32768000000\n"; !strings.HasPrefix(string(text), want) {
		t.Errorf("goodput.csv begins %q", text[:len(want)])
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 9 {
		t.Errorf("%d files, want 9 and no temporary ones: %v", len(names), err)
	}
}

// The same samples make the same bytes.
func TestSeriesBytes(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		if err := WriteSeries(dir, seriesRun(), "v1"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"queue.csv", "queue.parquet", "rate.parquet", "series.json"} {
		x, _ := os.ReadFile(filepath.Join(a, name))
		y, _ := os.ReadFile(filepath.Join(b, name))
		if len(x) == 0 || !bytes.Equal(x, y) {
			t.Errorf("%s: %d and %d bytes, and not the same", name, len(x), len(y))
		}
	}
}

func TestCurve(t *testing.T) {
	c := record.Curve{}
	in := []int64{0, 0, 5, 5, 0, 7}
	for i, v := range in {
		if changed := c.Add(i, v); changed != (i == 2 || i == 4 || i == 5) {
			t.Errorf("sample %d: changed %v", i, changed)
		}
	}
	c.Values(8, func(i int, v int64) { // held beyond the last one
		if want := append(in, 7, 7)[i]; v != want {
			t.Errorf("sample %s is %d, want %d", strconv.Itoa(i), v, want)
		}
	})
	if c.Max() != 7 || c.Above(6) != 3 || c.Above(8) != 5 {
		t.Errorf("largest %d, above 0 at %d of 6 and %d of 8; want 7, 3, 5", c.Max(), c.Above(6), c.Above(8))
	}
}
