package report

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"

	"github.com/hopscope/hopscope/internal/files"
	"github.com/hopscope/hopscope/internal/rows"
	"github.com/hopscope/hopscope/internal/sweep"
	"github.com/hopscope/hopscope/internal/vary"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/snappy"
)

// Files of a sweep's results.
const (
	SweepRuns    = "runs.csv"     // a row per run
	SweepParquet = "runs.parquet" // the same
	SweepPoints  = "points.csv"   // a row per point and figure, over the seeds
)

// WriteSweep writes the tables of a sweep into dir. program is the version that made the runs.
func WriteSweep(dir string, t *sweep.Table, program string) error {
	set, err := files.NewSetIn(dir)
	if err != nil {
		return err
	}
	defer set.Discard()
	runs := sweepRuns(t)
	if err := set.Write(SweepRuns, func(w io.Writer) error { return rows.CSV(w, sheetCSV(runs)) }); err != nil {
		return err
	}
	if err := set.Write(SweepParquet, func(w io.Writer) error { return sheetParquet(w, runs, program) }); err != nil {
		return err
	}
	if err := set.Write(SweepPoints, func(w io.Writer) error { return rows.CSV(w, sweepPoints(t)) }); err != nil {
		return err
	}
	return set.Commit()
}

// cellKind is what a column of a table of runs holds.
type cellKind uint8

const (
	cellText cellKind = iota
	cellWhole
	cellReal
)

// cell is a value of a column, as text and as a number; an absent one is empty and null.
type cell struct {
	text string
	x    float64
	none bool
}

// sheetColumn is a column whose cells are asked for by row.
type sheetColumn struct {
	name string
	kind cellKind
	at   func(row int) cell
}

// sheet is a table that can be written as CSV and as Parquet.
type sheet struct {
	name    string
	n       int
	columns []sheetColumn
}

func text1(s string) cell { return cell{text: s, none: s == ""} }

func whole1(n int64) cell { return cell{text: strconv.FormatInt(n, 10), x: float64(n)} }

func real1(x float64) cell { return cell{text: decimal(x), x: x} }

// sweepRuns is the table of runs: which they are, what became of them, and their figures.
func sweepRuns(t *sweep.Table) *sheet {
	s := &sheet{name: "runs", n: len(t.Rows)}
	add := func(name string, kind cellKind, at func(i int, r *sweep.Row) cell) {
		s.columns = append(s.columns, sheetColumn{name, kind, func(i int) cell { return at(i, t.Rows[i]) }})
	}
	ofRow := func(get func(r *sweep.Row) cell) func(int, *sweep.Row) cell {
		return func(_ int, r *sweep.Row) cell {
			if r == nil {
				return cell{none: true}
			}
			return get(r)
		}
	}
	add("run", cellWhole, func(i int, _ *sweep.Row) cell { return whole1(int64(i)) })
	add("point", cellWhole, func(i int, _ *sweep.Row) cell { p, _ := t.RunAt(i); return whole1(int64(p)) })
	add("stack", cellText, func(i int, _ *sweep.Row) cell { p, _ := t.RunAt(i); return text1(t.StackOf(p)) })
	for k, a := range t.Axes {
		add(axisName(a), axisKind(a), func(i int, _ *sweep.Row) cell {
			p, _ := t.RunAt(i)
			return axisCell(a, t.Point(p).Values[k])
		})
	}
	seeds := cellWhole
	if slices.Max(t.Seeds) > maxExact { // which no double holds
		seeds = cellText
	}
	add("seed", seeds, func(i int, _ *sweep.Row) cell {
		_, seed := t.RunAt(i)
		return cell{text: strconv.FormatUint(seed, 10), x: float64(seed)}
	})
	add("status", cellText, func(_ int, r *sweep.Row) cell {
		if r == nil {
			return text1("missing")
		}
		return text1(r.Status)
	})
	add("stopped", cellText, ofRow(func(r *sweep.Row) cell { return text1(r.Stopped) }))
	add("error", cellText, ofRow(func(r *sweep.Row) cell { return text1(r.Error) }))
	add("warnings", cellWhole, ofRow(func(r *sweep.Row) cell { return whole1(int64(r.Warnings)) }))
	add("fingerprint", cellText, ofRow(func(r *sweep.Row) cell { return text1(r.Fingerprint) }))
	for _, f := range t.Figures {
		kind, write := cellReal, real1
		if f.Unit.Whole() {
			kind, write = cellWhole, func(x float64) cell { return whole1(int64(x)) }
		}
		add(f.Name, kind, ofRow(func(r *sweep.Row) cell {
			x, ok := r.Figures[f.Name]
			if !ok {
				return cell{none: true}
			}
			return write(x)
		}))
	}
	return s
}

// axisName is the name of the column of an axis, with its unit.
func axisName(a *vary.Axis) string { return a.Key + a.Kind.Suffix() }

func axisKind(a *vary.Axis) cellKind {
	if a.Kind == vary.Words {
		return cellText
	}
	return cellReal
}

func axisCell(a *vary.Axis, v vary.Value) cell {
	if a.Kind == vary.Words {
		return text1(v.Text)
	}
	return cell{text: strconv.FormatFloat(v.X, 'f', -1, 64), x: v.X}
}

// sheetCSV is a sheet as lines of CSV.
func sheetCSV(s *sheet) *rows.Table {
	var header []string
	for _, c := range s.columns {
		header = append(header, c.name)
	}
	return lines(s.name, header, s.n, func(i int) []string {
		out := make([]string, len(s.columns))
		for k, c := range s.columns {
			out[k] = c.at(i).text
		}
		return out
	})
}

// maxExact is the largest number up to which a double holds all whole ones.
const maxExact = 1 << 53

// parquetBatch is how many rows are encoded at a time.
const parquetBatch = 256

// sheetParquet writes a sheet as Parquet, whose columns are optional: text, 64-bit integers and doubles.
func sheetParquet(w io.Writer, s *sheet, program string) error {
	fields := make([]reflect.StructField, len(s.columns))
	for k, c := range s.columns {
		kind := [...]reflect.Type{reflect.TypeFor[*string](), reflect.TypeFor[*int64](), reflect.TypeFor[*float64]()}[c.kind]
		fields[k] = reflect.StructField{Name: fmt.Sprintf("C%d", k), Type: kind,
			Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", c.name+",optional"))}
	}
	row := reflect.StructOf(fields)
	to := parquet.NewGenericWriter[any](w, parquet.SchemaOf(reflect.New(row).Interface()),
		parquet.Compression(&snappy.Codec{}),
		parquet.KeyValueMetadata("hopscope.format", "hopscope sweep"), parquet.KeyValueMetadata("hopscope.program", program))
	batch := make([]any, 0, parquetBatch)
	for i := range s.n {
		v := reflect.New(row)
		for k, c := range s.columns {
			setCell(v.Elem().Field(k), c.kind, c.at(i))
		}
		batch = append(batch, v.Interface())
		if len(batch) == parquetBatch || i == s.n-1 {
			if _, err := to.Write(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return to.Close()
}

// setCell puts a cell into the field of a row.
func setCell(to reflect.Value, kind cellKind, c cell) {
	if c.none {
		return
	}
	switch kind {
	case cellText:
		to.Set(reflect.ValueOf(&c.text))
	case cellWhole:
		n := int64(c.x)
		to.Set(reflect.ValueOf(&n))
	case cellReal:
		to.Set(reflect.ValueOf(&c.x))
	}
}

// sweepPoints is the table of points: a line for each figure, so that columns mean the same in all.
func sweepPoints(t *sweep.Table) *rows.Table {
	header := []string{"point", "stack"}
	for _, a := range t.Axes {
		header = append(header, axisName(a))
	}
	header = append(header, "figure", "runs", "median", "least", "largest", "low95", "high95")
	all := t.Outcomes()
	return &rows.Table{Name: "points", N: len(all), Header: header, Cells: func(i int, put func(...string)) {
		o := &all[i]
		for k, f := range t.Figures {
			s := o.Spreads[k]
			if s.N == 0 {
				continue
			}
			out := []string{strconv.Itoa(i), t.StackOf(i)}
			for n, a := range t.Axes {
				out = append(out, axisCell(a, o.Values[n]).text)
			}
			write := decimal
			if f.Unit.Whole() {
				write = func(x float64) string { return strconv.FormatInt(int64(x), 10) }
			}
			out = append(out, f.Name, strconv.Itoa(s.N), write(s.Median), write(s.Min), write(s.Max))
			if s.Sure {
				out = append(out, write(s.Low), write(s.High))
			} else {
				out = append(out, "", "")
			}
			put(out...)
		}
	}}
}
