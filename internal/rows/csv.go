package rows

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/visible"
)

// CSV writes the header and all rows of t (RFC 4180, lines end in LF).
func CSV(w io.Writer, t *Table) error {
	c := csv.NewWriter(w)
	err := c.Write(t.Header)
	var safe []string
	put := func(cells ...string) {
		if err != nil {
			return
		}
		safe = safe[:0]
		for _, cell := range cells {
			safe = append(safe, plain(cell))
		}
		err = c.Write(safe)
	}
	for i := 0; i < t.N && err == nil; i++ {
		t.Cells(i, put)
	}
	if err != nil {
		return err
	}
	c.Flush()
	return c.Error()
}

// plain is a cell that neither acts as a formula where a spreadsheet opens the file (OWASP, CSV
// injection: an apostrophe goes before what begins one and is no number) nor as an escape
// sequence on a terminal.
func plain(cell string) string {
	if cell == "" {
		return cell
	}
	cell = visible.Text(cell)
	if strings.IndexByte("=+-@", cell[0]) < 0 {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}
