package rows

import (
	"encoding/csv"
	"io"
)

// CSV writes the header and all rows of t (RFC 4180, lines end in LF).
func CSV(w io.Writer, t *Table) error {
	c := csv.NewWriter(w)
	err := c.Write(t.Header)
	put := func(cells ...string) {
		if err == nil {
			err = c.Write(cells)
		}
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
