package vary

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// Kind is what values are.
type Kind uint8

// Kinds of values.
const (
	Words  Kind = iota // anything; without an order
	Number             // without a unit
	Time               // picoseconds
	Rate               // bit/s
	Size               // bytes
	Length             // millimetres
	Percent
)

// perNumber is how many atoms a number of 1 has: nine decimals are kept.
const perNumber = 1_000_000_000

// Suffix is how the name of a column ends that holds values of the kind.
func (k Kind) Suffix() string {
	return [...]string{"", "", "_ps", "_bps", "_bytes", "_mm", "_percent"}[k]
}

// example is a step of the kind.
func (k Kind) example() string {
	return [...]string{"1", "1", "1us", "10Gbps", "100KB", "1m", "10%"}[k]
}

// whole is how many atoms a whole number has.
func (k Kind) whole() int64 {
	if k == Number || k == Percent {
		return perNumber
	}
	return 1
}

// kindOf is what a value looks like; a bare 0 is a number.
func kindOf(s string) Kind {
	for _, k := range [...]Kind{Number, Time, Rate, Size, Length, Percent} {
		if _, err := k.read(s); err == nil {
			return k
		}
	}
	return Words
}

// kindOfAll is the kind of all items: a bare 0 is of any.
func kindOfAll(items []string) Kind {
	kind := Number
	for _, s := range items {
		from, _, _ := strings.Cut(s, "..")
		from = strings.TrimSpace(from)
		k := kindOf(from)
		switch {
		case k == Words:
			return Words
		case k == Number && strings.Trim(from, "0.") == "":
			if _, to, ranged := strings.Cut(s, ".."); ranged && len(strings.Fields(to)) > 0 {
				k = kindOf(strings.Fields(to)[0]) // 0..1MB
			}
		}
		switch {
		case k == Number && strings.Trim(from, "0.") == "", k == kind, k == Words:
		case kind == Number && allZero(items, s):
			kind = k
		default:
			return Words
		}
	}
	return kind
}

// allZero reports whether the items before one are bare zeros.
func allZero(items []string, until string) bool {
	for _, s := range items {
		if s == until {
			return true
		}
		if strings.Trim(s, "0.") != "" {
			return false
		}
	}
	return true
}

// read reads a value in atoms of the kind: picoseconds, bit/s, bytes, millimetres, billionths.
func (k Kind) read(s string) (int64, error) {
	switch k {
	case Time:
		t, err := units.ParseTime(s)
		return int64(t), err
	case Rate:
		r, err := units.ParseRate(s)
		return int64(r), err
	case Size:
		b, err := units.ParseBytes(s)
		return int64(b), err
	case Length:
		l, err := units.ParseLength(s)
		return int64(l), err
	case Percent:
		num, is := strings.CutSuffix(s, "%")
		if !is {
			return 0, fmt.Errorf("%q is no share in percent", s)
		}
		return Number.read(num)
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.ContainsAny(s, "xXpP_iInN") || math.Abs(x) > math.MaxInt64/perNumber {
		return 0, fmt.Errorf("%q is no number", s)
	}
	return int64(math.Round(x * perNumber)), nil
}

// scale turns atoms into the unit of columns.
func (k Kind) scale(n int64) float64 { return float64(n) / float64(k.whole()) }

// value is one of so many atoms.
func (k Kind) value(n int64) Value {
	v := Value{X: k.scale(n)}
	switch k {
	case Time:
		v.Text = units.Time(n).String()
	case Rate:
		v.Text = units.Rate(n).String()
	case Size:
		v.Text = units.Bytes(n).String()
	case Length:
		v.Text = units.Length(n).String()
	case Percent:
		v.Text = strconv.FormatFloat(v.X, 'f', -1, 64) + "%"
	default:
		v.Text = strconv.FormatFloat(v.X, 'f', -1, 64)
	}
	return v
}
