package report

import (
	"reflect"
	"strings"
	"testing"
)

func TestHang(t *testing.T) {
	for _, tt := range []struct {
		text          string
		width, indent int
		want          []string
	}{
		{"", 10, 0, []string{""}},
		{"one two three", 7, 0, []string{"one two", "three"}},
		{"one two three four", 9, 2, []string{"one two", "  three", "  four"}},
		{"a queue of 78 B at h4", 12, 0, []string{"a queue of", "78 B at h4"}}, // the unit stays with its number
		{"unbreakable words", 5, 0, []string{"unbreakable", "words"}},
	} {
		if got := hang(tt.text, tt.width, tt.indent); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("hang(%q, %d, %d) = %q, want %q", tt.text, tt.width, tt.indent, got, tt.want)
		}
	}
}

// One table at falling widths: the columns go in the order of their drop, the
// wrapping one gives way in between and takes what room is left, and what must
// stay runs over.
func TestTableFits(t *testing.T) {
	tab := &table{columns: []column{
		{title: "Name"}, {title: "N", right: true, drop: 3}, {title: "Status", drop: 2, wrap: true}, {title: "Size", right: true, drop: 1},
		{title: "Never used", drop: 9},
	}}
	tab.add("a", "12", "transport retry exceeded", "4 MB", "-")
	tab.addNote("nobody did", "b")
	for _, tt := range []struct {
		width int
		want  string
	}{
		{40, "Name   N  Status                    Size\na     12  transport retry exceeded  4 MB\nb     nobody did"},
		{36, "Name  Status                    Size\na     transport retry exceeded  4 MB\nb     nobody did"},
		{30, "Name  Status              Size\na     transport retry     4 MB\n      exceeded\nb     nobody did"},
		{20, "Name  Status\na     transport\n      retry exceeded\nb     nobody did"},
		{10, "Name  Status\na     transport\n      retry\n      exceeded\nb     nobody did"},
	} {
		if got := strings.Join(tab.lines(tt.width, false), "\n"); got != tt.want {
			t.Errorf("width %d:\n%s\nwant\n%s", tt.width, got, tt.want)
		}
	}
}
