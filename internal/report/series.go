package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/rows"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/snappy"
)

// SeriesVersion is the version of the files that WriteSeries writes.
const SeriesVersion = 1

// SeriesMeta is series.json: what the files beside it hold. The same fields
// stand in every Parquet file's metadata, under names that begin with
// "hopscope.".
type SeriesMeta struct {
	Format      string       `json:"format"` // "hopscope series"
	Version     int          `json:"version"`
	Program     string       `json:"program"`
	Scenario    string       `json:"scenario"`
	Stack       string       `json:"stack"`
	Seed        uint64       `json:"seed"`
	Fingerprint string       `json:"fingerprint"`
	EndPS       units.Time   `json:"end_ps"`
	FromPS      units.Time   `json:"from_ps"`
	EveryPS     units.Time   `json:"every_ps"`
	Samples     int          `json:"samples"`
	LeftOut     []string     `json:"left_out"`
	Files       []SeriesFile `json:"files"`
}

// SeriesFile describes one quantity, which is kept as CSV and as Parquet.
type SeriesFile struct {
	Quantity record.Quantity `json:"quantity"`
	CSV      string          `json:"csv"`
	Parquet  string          `json:"parquet"`
	Rows     int             `json:"rows"`
	Curves   int             `json:"curves"`
	Columns  []SeriesColumn  `json:"columns"`
}

// SeriesColumn describes one column.
type SeriesColumn struct {
	Name    string `json:"name"`
	Unit    string `json:"unit"` // "" for names and numbers of things
	Meaning string `json:"meaning"`
}

// Rows of the Parquet files. The order of the fields is that of the columns.
type (
	queueRow struct {
		TimePS     int64  `parquet:"time_ps,delta"`
		Node       string `parquet:"node,dict"`
		Port       int32  `parquet:"port"`
		Peer       string `parquet:"peer,dict"`
		Class      int32  `parquet:"class"`
		QueueBytes int64  `parquet:"queue_bytes,delta"`
	}
	pauseRow struct {
		TimePS int64  `parquet:"time_ps,delta"`
		Node   string `parquet:"node,dict"`
		Port   int32  `parquet:"port"`
		Peer   string `parquet:"peer,dict"`
		Class  int32  `parquet:"class"`
		Paused int32  `parquet:"paused"`
	}
	rateRow struct {
		TimePS   int64  `parquet:"time_ps,delta"`
		Host     string `parquet:"host,dict"`
		QP       int32  `parquet:"qp"`
		Peer     string `parquet:"peer,dict"`
		Workload string `parquet:"workload,dict"`
		RateBps  int64  `parquet:"rate_bps,delta"`
	}
	goodputRow struct {
		TimePS     int64  `parquet:"time_ps,delta"`
		Host       string `parquet:"host,dict"`
		QP         int32  `parquet:"qp"`
		Peer       string `parquet:"peer,dict"`
		Workload   string `parquet:"workload,dict"`
		GoodputBps int64  `parquet:"goodput_bps,delta"`
	}
	windowRow struct {
		TimePS      int64  `parquet:"time_ps,delta"`
		Host        string `parquet:"host,dict"`
		QP          int32  `parquet:"qp"`
		Peer        string `parquet:"peer,dict"`
		Workload    string `parquet:"workload,dict"`
		WindowBytes int64  `parquet:"window_bytes,delta"`
	}
)

// WriteSeries writes the samples of r into dir, which it makes if need be: per
// quantity a CSV and a Parquet file with the same rows, curve by curve in order
// of time, and series.json, which describes them.
func WriteSeries(dir string, r *record.Run, program string) error {
	set, err := files.NewSetIn(dir)
	if err != nil {
		return err
	}
	meta := seriesMeta(r, program)
	defer set.Discard()
	for _, q := range record.Quantities {
		if !slices.Contains(r.Series.Quantities, q) {
			continue
		}
		curves := r.Series.Of(q)
		f := SeriesFile{Quantity: q, CSV: string(q) + ".csv", Parquet: string(q) + ".parquet", Curves: len(curves),
			Rows: len(curves) * r.Series.Samples, Columns: seriesColumns(q)}
		meta.Files = append(meta.Files, f)
		if err := set.Write(f.CSV, func(w io.Writer) error {
			return rows.CSV(w, seriesTable(r.Series, curves,
				f.Columns))
		}); err != nil {
			return err
		}
	}
	for i := range meta.Files {
		f := &meta.Files[i]
		if err := set.Write(f.Parquet, func(w io.Writer) error {
			return seriesParquet(w, r.Series, f.Quantity,
				&meta)
		}); err != nil {
			return err
		}
	}
	data, err := seriesJSON(&meta)
	if err != nil {
		return fmt.Errorf("encode series.json: %w", err)
	}
	if err := set.Write("series.json", func(w io.Writer) error { return put(w, data) }); err != nil {
		return err
	}
	return set.Commit()
}

// SeriesNotes says in a few lines what WriteSeries wrote to dir, and what the run left out; none without series.
func SeriesNotes(dir string, r *record.Run) (notes []string) {
	if r.Series == nil {
		return nil
	}
	var parts []string
	for _, q := range r.Series.Quantities {
		what := "queue pair"
		if q.PerPort() {
			what = "port"
		}
		parts = append(parts, fmt.Sprintf("%s of %s", q, counted(lang.English, len(r.Series.Of(q)), what)))
	}
	notes = append(notes, fmt.Sprintf("series in %s: %s; %s, one every %s", dir, strings.Join(parts, ", "),
		counted(lang.English, r.Series.Samples, "sample"), metrics.FormatTime(r.Series.EveryPS)))
	for _, l := range r.Series.LeftOut {
		notes = append(notes, "left out: "+l)
	}
	return notes
}

// counted is a number of things: "1 port", "2 ports", "no port".
func counted(l lang.Language, n int, what string) string {
	if n == 0 && l != lang.Chinese {
		return "no " + what
	}
	return l.Counted(int64(n), metrics.FormatCount(int64(n)), what)
}

func seriesMeta(r *record.Run, program string) SeriesMeta {
	s := r.Series
	return SeriesMeta{Format: "hopscope series", Version: SeriesVersion, Program: program, Scenario: r.Scenario,
		Stack: r.Stack, Seed: r.Seed,
		Fingerprint: r.Fingerprint, EndPS: r.EndPS, FromPS: s.FromPS, EveryPS: s.EveryPS, Samples: s.Samples,
		LeftOut: append([]string{}, s.LeftOut...), Files: []SeriesFile{}}
}

func seriesJSON(m *SeriesMeta) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(m)
	return b.Bytes(), err
}

// seriesColumns describes the columns of a quantity's files.
func seriesColumns(q record.Quantity) []SeriesColumn {
	at := SeriesColumn{"time_ps", "ps", "when the sample was taken: everything before has happened, nothing at it"}
	port := []SeriesColumn{at, {"node", "", "whose port it is"},
		{"port", "", "from 1, in the order in which links name the node"},
		{"peer", "", "the port at the other end"}, {"class", "", "priority"}}
	qp := []SeriesColumn{at, {"host", "", "of the requester"}, {"qp", "", "its number there"},
		{"peer", "", "the responder"},
		{"workload", "", "entry of the scenario"}}
	switch q {
	case record.SeriesQueue:
		return append(
			port,
			SeriesColumn{"queue_bytes", "bytes", "frame bytes that wait in the egress queue, the frame on the wire apart"},
		)
	case record.SeriesPause:
		return append(port, SeriesColumn{"paused", "", "1 while the peer has paused this class of the port, else 0"})
	case record.SeriesRate:
		return append(
			qp,
			SeriesColumn{
				"rate_bps",
				"bit/s",
				"rate that congestion control allows (the line's without); 0 before the first post",
			},
		)
	}
	if q == record.SeriesWindow {
		return append(qp, SeriesColumn{"window_bytes", "bytes", "payload that may be unacknowledged; 0: nothing limits it"})
	}
	return append(
		qp,
		SeriesColumn{
			"goodput_bps",
			"bit/s",
			"payload accepted in order by the responder since the sample before, over that time",
		},
	)
}

// seriesValue is what the files show of a curve's value.
func seriesValue(s *record.Series, q record.Quantity, v int64) int64 {
	if q == record.SeriesGoodput {
		return int64(metrics.RateOf(v, s.EveryPS))
	}
	return v
}

// seriesCells are the columns of a curve between time and value.
type seriesCells [4]string

func (c seriesCells) row(at units.Time, v int64) []string {
	return []string{integer(at), c[0], c[1], c[2], c[3], strconv.FormatInt(v, 10)}
}

func cellsOf(c *record.Curve) seriesCells {
	if c.Quantity.PerPort() {
		return seriesCells{c.Node, strconv.Itoa(c.Port), c.Peer, strconv.Itoa(c.Class)}
	}
	return seriesCells{c.Node, strconv.Itoa(c.QP), c.Peer, c.Workload}
}

// seriesTable has the samples of a curve as the lines of a row.
func seriesTable(s *record.Series, curves []*record.Curve, columns []SeriesColumn) *rows.Table {
	t := &rows.Table{N: len(curves), Cells: func(k int, put func(...string)) {
		c := curves[k]
		cells := cellsOf(c)
		c.Values(s.Samples, func(i int, v int64) {
			put(cells.row(s.FromPS+units.Time(i)*s.EveryPS, seriesValue(s, c.Quantity, v))...)
		})
	}}
	for _, c := range columns {
		t.Header = append(t.Header, c.Name)
	}
	return t
}

// seriesParquet writes the curves of one quantity.
func seriesParquet(w io.Writer, s *record.Series, q record.Quantity, meta *SeriesMeta) error {
	switch q {
	case record.SeriesQueue:
		return parquetRows(w, s, q, meta, func(at, v int64, c *record.Curve) queueRow {
			return queueRow{at, c.Node, int32(c.Port), c.Peer, int32(c.Class), v}
		})
	case record.SeriesPause:
		return parquetRows(w, s, q, meta, func(at, v int64, c *record.Curve) pauseRow {
			return pauseRow{at, c.Node, int32(c.Port), c.Peer, int32(c.Class), int32(v)}
		})
	case record.SeriesRate:
		return parquetRows(w, s, q, meta, func(at, v int64, c *record.Curve) rateRow {
			return rateRow{at, c.Node, int32(c.QP), c.Peer, c.Workload, v}
		})
	}
	if q == record.SeriesWindow {
		return parquetRows(w, s, q, meta, func(at, v int64, c *record.Curve) windowRow {
			return windowRow{at, c.Node, int32(c.QP), c.Peer, c.Workload, v}
		})
	}
	return parquetRows(w, s, q, meta, func(at, v int64, c *record.Curve) goodputRow {
		return goodputRow{at, c.Node, int32(c.QP), c.Peer, c.Workload, v}
	})
}

// parquetRows writes one row per sample and curve, in batches.
func parquetRows[R any](
	to io.Writer,
	s *record.Series,
	q record.Quantity,
	meta *SeriesMeta,
	row func(at, v int64, c *record.Curve) R,
) error {
	w := parquet.NewGenericWriter[R](to, append(parquetMeta(meta, q), parquet.Compression(&snappy.Codec{}))...)
	var failed error
	batch := make([]R, 0, 4096)
	flush := func() {
		if failed == nil {
			_, failed = w.Write(batch)
		}
		batch = batch[:0]
	}
	for _, c := range s.Of(q) {
		c.Values(s.Samples, func(i int, v int64) {
			batch = append(batch, row(int64(s.FromPS+units.Time(i)*s.EveryPS), seriesValue(s, q, v), c))
			if len(batch) == cap(batch) {
				flush()
			}
		})
	}
	flush()
	if failed == nil {
		failed = w.Close()
	}
	return failed
}

// parquetMeta is what series.json says of the run and of the columns of q, as
// key-value metadata.
func parquetMeta(m *SeriesMeta, q record.Quantity) []parquet.WriterOption {
	value := func(key, v string) parquet.WriterOption { return parquet.KeyValueMetadata("hopscope."+key, v) }
	out := []parquet.WriterOption{value("format", m.Format), value("version", strconv.Itoa(m.Version)),
		value("program", m.Program),
		value("scenario", m.Scenario), value("stack", m.Stack), value("seed", strconv.FormatUint(m.Seed, 10)),
		value("fingerprint", m.Fingerprint), value("end_ps", integer(m.EndPS)), value("from_ps", integer(m.FromPS)),
		value("every_ps", integer(m.EveryPS)), value("samples", strconv.Itoa(m.Samples))}
	for _, c := range seriesColumns(q) {
		out = append(out, value("column."+c.Name, c.Unit+"; "+c.Meaning))
	}
	return out
}
