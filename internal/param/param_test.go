package param

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	gap, n, share, on := 5*units.Microsecond, 3, .5, true
	rate, size := 2*units.Gbps, 4*units.KB
	for _, c := range []struct {
		p    Param
		want string
	}{
		{Param{Name: "gap", Text: "x", Source: "y", Value: &gap}, ""},
		{Param{Name: "gap_2", Text: "x", Source: "y", Value: &gap, Min: 1, Max: 1e9}, ""},
		{Param{Name: "rate", Text: "x", Source: "y", Value: &rate}, ""},
		{Param{Name: "size", Text: "x", Source: "y", Value: &size}, ""},
		{Param{Name: "share", Text: "x", Source: "y", Value: &share, Max: 1}, ""},
		{Param{Name: "on", Text: "x", Source: "y", Value: &on}, ""},
		{Param{Name: "n", Text: "x", Source: "y", Value: &n, Min: 4, Max: 8}, "its default, 3, is not from 4 to 8"},
		{Param{Name: "n", Text: "x", Source: "y", Value: &n, Min: 9, Max: 8}, "its least value, 9, is above its largest, 8"},
		{Param{Name: "n", Text: "x", Source: "y", Value: n}, "no key has a value of type int"},
		{Param{Name: "N", Text: "x", Source: "y", Value: &n}, "lower-case letters"},
		{Param{Name: "", Text: "x", Source: "y", Value: &n}, "needs a name"},
		{Param{Name: "n", Text: "x", Value: &n}, "a source"},
	} {
		err := c.p.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
	for want, v := range map[string]any{"5us": &gap, "2Gbps": &rate, "4KB": &size, "3": &n, "0.5": &share, "true": &on, "": n} {
		if got := (Param{Value: v}).String(); got != want {
			t.Errorf("%T: %q, want %q", v, got, want)
		}
	}
	for want, p := range map[string]Param{
		"1us to 1s": {Value: &gap, Min: 1e6, Max: 1e12}, "1Gbps to 400Gbps": {Value: &rate, Min: 1e9, Max: 400e9},
		"1KB to 2MB": {Value: &size, Min: 1e3, Max: 2e6}, "0 to 0.5": {Value: &share, Max: .5},
	} {
		if got := p.Range(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
