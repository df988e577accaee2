// Package rows writes results row by row: a message, a queue pair, a port is a row. A
// table says what its rows hold; the encoders here, JSON and CSV, say how they are
// written and know none of them. Whatever the number of rows, a few megabytes of them
// are in memory at a time.
package rows

// Table is a list of rows of one kind, numbered from 0.
type Table struct {
	Name string // of the list in a document, or of the file without ".csv"
	N    int
	// Value is row i as a JSON value. Where Fields is not nil it says the same faster: it
	// returns a function that writes the fields of row i, one function per goroutine, and is
	// called by one.
	Value  func(i int) any
	Fields func() func(o *Object, i int)
	// Header names the columns of the CSV file, and Cells gives the lines of row i to put,
	// which keeps none of them.
	Header []string
	Cells  func(i int, put func(cells ...string))
}

// Part is a field of a document: a single value, or a table.
type Part struct {
	Name  string
	Value any
	Table *Table // in place of Value
}
