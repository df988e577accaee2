package rows

import (
	"bytes"
	"testing"
)

// Cells are text whatever they hold: no spreadsheet takes one for a formula, no terminal for an
// escape sequence, and numbers stay as they are.
func TestCSVCells(t *testing.T) {
	var b bytes.Buffer
	cells := []string{"=1+1", "+cmd", "-x", "@f", "-1", "+2.5", "<svg onload=x>", "a\"b", "a\nb", "\x1b[31m鱼", "", "1e3"}
	err := CSV(&b, &Table{N: 1, Header: []string{"h"}, Cells: func(_ int, put func(...string)) { put(cells...) }})
	want := "h\n'=1+1,'+cmd,'-x,'@f,-1,+2.5,<svg onload=x>,\"a\"\"b\",a\\nb,\\x1b[31m鱼,,1e3\n"
	if err != nil || b.String() != want {
		t.Errorf("%q, %v; want %q", b.String(), err, want)
	}
	if cells[0] != "=1+1" {
		t.Error("the caller's cells changed")
	}
}
