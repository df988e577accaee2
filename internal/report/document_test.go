package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rows"
	"github.com/hopscope/hopscope/internal/units"
)

func runs() map[string]*record.Run {
	return map[string]*record.Run{"one-flow": oneFlow(), "incast": incast(), "many": manyFlows(),
		"deadlock": deadlock(), "errors": errorCompletions(), "empty": {}}
}

// same compares runs; a list without elements equals none.
func same(a, b *record.Run) bool {
	x, err1 := JSON(a)
	y, err2 := JSON(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

func TestJSONRoundTrip(t *testing.T) {
	for name, r := range runs() {
		for i := range r.Messages {
			r.Messages[i].Number = int32(i)
		}
		data, err := JSON(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseJSON(data)
		if err != nil {
			t.Fatal(err)
		}
		if !same(r, back) {
			t.Errorf("%s: came back different", name)
		}
		if len(r.Messages) > 0 && !reflect.DeepEqual(r.Messages, back.Messages) || len(r.Ports) > 0 && !reflect.DeepEqual(r.Ports, back.Ports) {
			t.Errorf("%s: flows or ports came back different", name)
		}
	}
}

func TestJSONIsDeterministic(t *testing.T) {
	a, err1 := JSON(manyFlows())
	b, err2 := JSON(manyFlows())
	if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Error("the same run gave different bytes")
	}
}

// A document is what encoding/json makes of the same records: rows written one by one, and
// messages without reflection, leave out no field and change none.
func TestJSONIsThatOfTheRecords(t *testing.T) {
	all := runs()
	all["lossy"] = lossy()
	for name, r := range all {
		d := NewDocument(r)
		whole := struct {
			*Document
			Notes  []record.Note  `json:"parameters"`
			QPs    []record.QP    `json:"qps"`
			Ports  []record.Port  `json:"ports"`
			Ledger []record.Entry `json:"ledger"`
			Rows   []Message      `json:"messages"`
		}{d, append([]record.Note{}, r.Notes...), append([]record.QP{}, r.QPs...), append([]record.Port{}, r.Ports...), append([]record.Entry{}, r.Ledger...), []Message{}}
		for i, c := range metrics.Ceilings(r) {
			whole.Rows = append(whole.Rows, Message{r.Messages[i], metrics.Goodput(&r.Messages[i]), c, r.Evidence.Met(i), r.Evidence.Lost(i)})
		}
		want, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		got, err := JSON(r)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := canonical(t, got), canonical(t, want); a != b {
			t.Errorf("%s: the document differs from the records:\n%s\nwant\n%s", name, a, b)
		}
	}
}

// canonical is JSON with the fields of objects in order of their names.
func canonical(t *testing.T, data []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted)
}

// Every field of a message that is set stands in its row as encoding/json writes it, byte
// for byte.
func TestMessageRow(t *testing.T) {
	full := record.Message{Src: "h0:1/gpu\u2028<2>", Dst: "h\"1", QP: 3, Workload: "a & b", Verb: "READ", Service: catalog.UD, Bytes: 5, StartPS: 6, CompletionPS: 60, Status: "success",
		Account: record.Known(record.StageTime{Stage: catalog.StageQueue, Where: record.PortAt("sw", 1).Ptr(), Time: 25}, record.StageTime{Stage: catalog.StageRate, Time: 5}, record.StageTime{Stage: catalog.StageQueue, Where: record.PortAt("sw", 1).Ptr(), Time: 30}), DeliveredPS: 8, Call: 9, Reply: true, EntryPS: 10, IdealPS: 11, Number: 12, OpenPS: 60}
	met := record.Met{Port: 1, Class: 2, Answer: true, Packets: 3, Marks: 4, Wait: 5, Held: 6, Ahead: 7, Served: 1, Own: 8, First: 9, Last: 10}
	lost := record.Lost{Port: 1, Class: 2, Answer: true, Cause: catalog.DropLoss, Acts: record.Acts{{Count: 1, First: 2, Last: 3, Sum: 4}}}
	for _, v := range []reflect.Value{reflect.ValueOf(full), reflect.ValueOf(met), reflect.ValueOf(lost)} {
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Field(i).IsZero() {
				t.Errorf("%s is not set: the test does not cover it", v.Type().Field(i).Name)
			}
		}
	}
	var all record.KnownMeetings
	all.Add(0, []record.Met{met, {Port: 4}}, []record.Lost{lost})
	for _, f := range []record.Message{full, {Status: "open", CompletionPS: -1}} {
		r := &record.Run{Messages: []record.Message{f}}
		if f.Number > 0 {
			r.Evidence = &record.Evidence{Meetings: &all}
		}
		var got bytes.Buffer
		if err := rows.JSON(&got, []rows.Part{{Name: "messages", Table: messageTable(r, 1)}}, 1); err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		want.WriteString("{\n \"messages\": [\n  ")
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		err := e.Encode(Message{f, metrics.Goodput(&f), nil, r.Evidence.Met(0), r.Evidence.Lost(0)})
		want.WriteString(" ]\n}\n")
		if err != nil || got.String() != want.String() {
			t.Errorf("%v\n%s\nwant\n%s", err, got.String(), want.String())
		}
	}
}

// The fields that users may rely on, by their paths, with the values that the
// incast sample has there. Picoseconds, bytes and bit/s are plain integers.
func TestJSONFields(t *testing.T) {
	data, err := JSON(incast())
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		want any
	}{
		{"version", json.Number("2")},
		{"fingerprint", "4c1f09aa7be2d853"},
		{"end_ps", json.Number("5402118340")},
		{"messages.1.src", "h1"}, {"messages.1.dst", "h4"}, {"messages.1.qp", json.Number("1")}, {"messages.1.workload", "incast"},
		{"messages.1.bytes", json.Number("64000000")}, {"messages.1.start_ps", json.Number("0")},
		{"messages.1.completion_ps", json.Number("5333560880")},
		{"messages.1.goodput_bps", json.Number("95995904334")}, // 64e6 B * 8 / 5.33356088 ms
		{"ports.8.node", "sw"}, {"ports.8.port", json.Number("5")}, {"ports.8.class", json.Number("3")},
		{"ports.8.peak_queue_bytes", json.Number("1203418")}, {"ports.8.mean_queue_bytes", json.Number("310204.4")},
		{"ports.8.marked", json.Number("48211")}, {"ports.1.pauses_sent", json.Number("21")},
		{"ports.0.pauses_received", json.Number("21")}, {"ports.0.held_ps", json.Number("298400000")},
		{"ports.0.paused_ps", json.Number("310000000")}, {"ports.0.dropped", json.Number("0")},
		{"answers.detected.first.actor.name", "sw:5 prio 3"}, {"answers.detected.first.actor.kind", "port class"},
		{"answers.detected.first.actor.port", json.Number("5")}, {"answers.detected.first.time_ps", json.Number("3104220")},
		{"answers.detected.count", json.Number("48253")},
		{"answers.fed_back.first.mechanism", "CNP"}, {"answers.slowed.happened", true},
		{"answers.held.held_ps", json.Number("1193600006")}, {"answers.recovered.happened", false},
		{"answers.rerouted.why", "no flow changed its path"},
		{"parameters.4.key", "switch.ecn.kmin"},
		{"summary.totals.marked", json.Number("48211")},
	} {
		if got := at(doc, tt.path); got != tt.want {
			t.Errorf("%s is %v, want %v", tt.path, got, tt.want)
		}
	}
	if w, ok := at(doc, "warnings").([]any); !ok || len(w) != 1 {
		t.Errorf("warnings: %v", at(doc, "warnings"))
	}
	if bytes.Contains(data, []byte("null")) {
		t.Error("a list is null")
	}
}

// at follows a dotted path of keys and indices.
func at(v any, path string) any {
	for _, step := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			i := 0
			for _, c := range step {
				i = 10*i + int(c-'0')
			}
			if i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func TestParseJSONRefuses(t *testing.T) {
	good, _ := JSON(oneFlow())
	for name, data := range map[string]string{
		"empty":         "",
		"not JSON":      "hello",
		"another's":     `{"results": []}`,
		"newer version": strings.Replace(string(good), `"version": 2`, `"version": 3`, 1),
		"older version": strings.Replace(string(good), `"version": 2`, `"version": 1`, 1),
		"no such name":  strings.Replace(string(good), `"ethernet"`, `"token ring"`, 1),
	} {
		if _, err := ParseJSON([]byte(data)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range len(good) - 2 { // the last two bytes are "}\n"
		if i%97 != 0 {
			continue
		}
		if _, err := ParseJSON(good[:i]); err == nil {
			t.Errorf("cut at byte %d: no error", i)
		}
	}
}

func TestCSV(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	r := incast()
	if err := WriteCSV(dir, r); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file string
		rows int
		row  int
		want map[string]string
	}{
		{"messages.csv", len(r.Messages), 1, map[string]string{"src": "h1", "completion_ps": "5333560880", "goodput_bps": "95995904334", "status": "success"}},
		{"ports.csv", len(r.Ports), 8, map[string]string{"node": "sw", "mean_queue_bytes": "310204.4", "marked": "48211", "dropped": "0", "max_queue_bytes": "", "utilisation": "0.981"}},
		{"qps.csv", len(r.QPs), 0, map[string]string{"host": "h0", "rate_cuts": "300", "min_rate_bps": "31000000000"}},
		{"ledger.csv", len(r.Ledger), 7, map[string]string{"question": "held", "mechanism": "PFC pause", "actor": "h0:1 prio 3", "sum": "298400000", "sum_unit": "ps"}},
	} {
		f, err := os.Open(filepath.Join(dir, tt.file))
		if err != nil {
			t.Fatal(err)
		}
		table, err := csv.NewReader(f).ReadAll() // also checks that rows are as long as the header
		f.Close()
		if err != nil || len(table) != tt.rows+1 {
			t.Fatalf("%s: %d rows, %v", tt.file, len(table)-1, err)
		}
		got := map[string]string{}
		for i, column := range table[0] {
			got[column] = table[tt.row+1][i]
		}
		for column, want := range tt.want {
			if got[column] != want {
				t.Errorf("%s: %s is %q, want %q", tt.file, column, got[column], want)
			}
		}
	}
	onlyFiles(t, dir, "accounts.csv", "cpu.csv", "ledger.csv", "mechanisms.csv", "messages.csv", "ports.csv", "qps.csv", "rpcs.csv",
		"slowdowns.csv")
}

// onlyFiles fails unless dir holds the named files (in order) and nothing else.
func onlyFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !reflect.DeepEqual(got, names) {
		t.Errorf("%s holds %q, want %q", dir, got, names)
	}
}

// Every integer of the records has a column: a field added later must not be
// forgotten.
func TestCSVCoversRecords(t *testing.T) {
	for _, tt := range []struct {
		record any
		table  *rows.Table
		other  int // fields that are no column of their own, or columns that are no field
	}{
		{record.Message{}, messageTable(&record.Run{}, 1), +1 - 1 - 1 - 1},                                                        // goodput_bps is derived; accounts.csv has the stages, which add up to open_ps; its number is its place
		{record.Port{}, portTable(nil, true), -2},                                                                                 // drop_causes are ledger lines, limits are in mechanisms.csv
		{record.QP{}, qpTable(nil), -1 + reflect.TypeOf(record.TCP{}).NumField() + reflect.TypeOf(record.IWARP{}).NumField() - 1}, // limits likewise; the fields of TCP and iWARP have a column each, TCP's cores two
		{record.Entry{}, ledgerTable(nil), 5 - 1 + 1},                                                                             // Act is embedded: one field, four columns and the unit of one; an actor's node has one of its own
	} {
		fields := reflect.TypeOf(tt.record).NumField()
		columns := len(tt.table.Header)
		if columns != fields+tt.other {
			t.Errorf("%T: %d columns for %d fields", tt.record, columns, fields)
		}
	}
}

// save writes a run directory as the command line does.
func save(dir string, r *record.Run, source string, meta Meta) error {
	d, err := OpenDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Save(r, []byte(source), meta, 2)
}

// csvOf is the CSV file of a table.
func csvOf(t *testing.T, table *rows.Table) string {
	t.Helper()
	var b strings.Builder
	if err := rows.CSV(&b, table); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRunDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	meta := Meta{Program: "test", Scenario: "incast-4to1", Set: []string{"a=b"}, Seed: 1}
	for range 2 { // a run directory may be written again
		if err := save(dir, incast(), "name: incast-4to1\n", meta); err != nil {
			t.Fatal(err)
		}
	}
	r, got, err := Load(dir, Reading{})
	if err != nil {
		t.Fatal(err)
	}
	if !same(r, incast()) || got.Scenario != "incast-4to1" || got.Set[0] != "a=b" {
		t.Errorf("came back as %+v", got)
	}
	if render(t, r, TextOptions{}) != render(t, incast(), TextOptions{}) {
		t.Error("the report of the saved run differs")
	}
	onlyFiles(t, dir, ResultFile, MetaFile, ScenarioFile)
}

// Who reads a run directory hears how much of it was read, to the last byte, and gets the
// same run from several workers.
func TestReadingSaysHowFarItIs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := save(dir, manyFlows(), "name: many\n", Meta{}); err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, name := range []string{ResultFile, ScenarioFile} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	last := int64(0)
	r, _, err := Load(dir, Reading{Workers: 3, Progress: func(done, all int64) {
		if done < last || done > all || all != size {
			t.Errorf("%d of %d bytes after %d; the files have %d", done, all, last, size)
		}
		last = done
	}})
	if err != nil || last != size || !same(r, manyFlows()) {
		t.Errorf("heard of %d bytes of %d, error %v, or another run", last, size, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(dir string) error
		want  string
	}{
		{"result cut short", func(dir string) error { return os.Truncate(filepath.Join(dir, ResultFile), 1000) }, "changed or cut short"},
		{"result gone", func(dir string) error { return os.Remove(filepath.Join(dir, ResultFile)) }, "no such file"},
		{"scenario edited", func(dir string) error { return os.WriteFile(filepath.Join(dir, ScenarioFile), []byte("x"), 0o644) }, "changed or cut short"},
		{"metadata cut short", func(dir string) error { return os.Truncate(filepath.Join(dir, MetaFile), 30) }, "cut short"},
		{"metadata of another program", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, MetaFile), []byte(`{"format":"else"}`), 0o644)
		}, "not written by hopscope"},
		{"metadata edited", func(dir string) error {
			file := filepath.Join(dir, MetaFile)
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(file, bytes.Replace(data, []byte(`"seed": `), []byte(`"seed": 1`), 1), 0o644)
		}, "changed or cut short"},
		{"metadata gone", func(dir string) error { return os.Remove(filepath.Join(dir, MetaFile)) }, "not a run directory"},
		{"an earlier version", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, MetaFile), []byte(`{"format":"`+runFormat+`","version":1}`), 0o644)
		}, "run directory of version 1; this program reads version 2: run the scenario again"},
		{"a later version", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, MetaFile), []byte(`{"format":"`+runFormat+`","version":9}`), 0o644)
		}, "version 9, of a newer program; this one reads version 2"},
		{"no result listed", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, MetaFile), []byte(`{"format":"`+runFormat+`","version":2}`), 0o644)
		}, "cut short"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			if err := save(dir, oneFlow(), "name: x\n", Meta{}); err != nil {
				t.Fatal(err)
			}
			if err := tt.spoil(dir); err != nil {
				t.Fatal(err)
			}
			_, _, err := Load(dir, Reading{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// A directory that holds something else is left alone.
func TestSaveRefusesForeignDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := save(dir, oneFlow(), "", Meta{}); err == nil {
		t.Error("wrote into it")
	}
	onlyFiles(t, dir, "thesis.tex")
}

func TestMeasuredWindow(t *testing.T) {
	r := incast()
	r.MeasureFrom, r.MeasureTo = units.Millisecond, 2*units.Millisecond
	r.Ports[8].MaxQueueBytes = 401_000
	for i := range r.QPs {
		if r.QPs[i].DeliveredBytes > 0 {
			r.QPs[i].MeasuredBytes = 12_500_000 // in 1 ms: 100 Gb/s
		}
	}
	got := render(t, r, TextOptions{})
	for _, want := range []string{
		"Received from 1.000 ms to 2.000 ms  QP  Workload  Payload   Goodput",
		"h4 <- h3                             4  incast    12.5 MB  100 Gb/s",
		"fairness (Jain) 1.0000 over what 4 flows that share ports received in the measured window",
		"   Min  ", "  401 KB  310 KB    0 B  48,211", // the peak of the window, not of the run
		"Peak, mean and least queue and Used: from 1.000 ms to 2.000 ms; all other columns: the whole run",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
