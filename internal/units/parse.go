package units

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// unit is one suffix a quantity may carry and what it multiplies by.
type unit struct {
	suffix string
	scale  int64
}

// quantity describes how one kind of value is read and printed.
type quantity struct {
	name  string // "time", for errors
	base  string // "picoseconds", for errors
	units []unit // every spelling; errors list them up to the first alias
	shown int    // how many of units errors list
	max   int64  // largest value accepted
	print func(int64) string
}

func timeQuantity() quantity {
	return quantity{"time", "picoseconds", []unit{
		{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"s", 1e12},
		{"µs", 1e6}, {"μs", 1e6},
	}, 5, int64(Never) - 1, func(v int64) string { return Time(v).String() }}
}

func rateQuantity() quantity {
	return quantity{"rate", "bit/s", []unit{
		{"bps", 1}, {"Kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12},
		{"kbps", 1e3},
		{"b/s", 1}, {"Kb/s", 1e3}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12},
		{"bit/s", 1}, {"kbit/s", 1e3}, {"Kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {"Tbit/s", 1e12},
	}, 5, 1<<63 - 1, func(v int64) string { return Rate(v).String() }}
}

func bytesQuantity() quantity {
	return quantity{"size", "bytes", []unit{
		{"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3},
	}, 9, 1<<63 - 1, func(v int64) string { return Bytes(v).String() }}
}

func lengthQuantity() quantity {
	return quantity{"length", "millimetres", []unit{
		{"mm", 1}, {"cm", 10}, {"m", 1e3}, {"km", 1e6},
	}, 4, 1<<63 - 1, func(v int64) string { return Length(v).String() }}
}

// ParseTime reads a time such as "1.5us": a decimal number of at least zero and
// one of ps, ns, us, ms, s, exact to the picosecond. A bare 0 needs no unit.
func ParseTime(s string) (Time, error) {
	v, err := timeQuantity().parse(s)
	return Time(v), err
}

// ParseRate reads a bit rate such as "400Gbps" or "400Gb/s": a decimal number of
// at least zero and one of bps, Kbps, Mbps, Gbps, Tbps, exact to the bit per
// second. A bare 0 needs no unit.
func ParseRate(s string) (Rate, error) {
	v, err := rateQuantity().parse(s)
	return Rate(v), err
}

// ParseBytes reads a size such as "33.25MB": a decimal number of at least zero
// and one of B, KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024),
// exact to the byte. A bare 0 needs no unit.
func ParseBytes(s string) (Bytes, error) {
	v, err := bytesQuantity().parse(s)
	return Bytes(v), err
}

// ParseLength reads a cable length such as "5m": a decimal number of at least
// zero and one of mm, cm, m, km, exact to the millimetre. A bare 0 needs no unit.
func ParseLength(s string) (Length, error) {
	v, err := lengthQuantity().parse(s)
	return Length(v), err
}

// ParseProbability reads a probability, "0.01" or "1%" or "1e-6", from 0 to 1.
func ParseProbability(s string) (float64, error) {
	bad := func() (float64, error) {
		return 0, fmt.Errorf("%s is not a probability; write a number from 0 to 1 or a percentage such as 1%%", quote(s))
	}
	num := strings.TrimSpace(s)
	exp := ""
	if strings.HasSuffix(num, "%") {
		num, exp = strings.TrimSpace(strings.TrimSuffix(num, "%")), "e-2"
	}
	chars := "0123456789.eE+-"
	if exp != "" {
		chars = "0123456789."
	}
	if len(num) == 0 || len(num) > maxText || strings.Trim(num, chars) != "" {
		return bad()
	}
	p, err := strconv.ParseFloat(num+exp, 64)
	if err != nil || !(p >= 0 && p <= 1) {
		return bad()
	}
	return p + 0, nil // + 0 turns -0 into 0
}

// maxText bounds the digits looked at, so that a hostile file costs nothing.
const maxText = 64

// parse reads "number unit" exactly.
func (q quantity) parse(s string) (int64, error) {
	text := strings.TrimSpace(s)
	n := numberLen(text)
	num, suffix := text[:n], strings.TrimSpace(text[n:])
	switch {
	case strings.HasPrefix(text, "-"):
		return 0, fmt.Errorf("%s is a negative %s; it must be at least 0", quote(s), q.name)
	case strings.Trim(num, ".") == "" || strings.Count(num, ".") > 1 || len(num) > maxText:
		return 0, fmt.Errorf("%s is not a %s; write a decimal number and one of %s", quote(s), q.name, q.accepted())
	case suffix == "" && strings.Trim(num, "0.") == "":
		return 0, nil
	case suffix == "":
		return 0, fmt.Errorf("%s has no unit; a %s ends in one of %s", quote(s), q.name, q.accepted())
	}
	scale, ok := q.scale(suffix)
	if !ok {
		return 0, fmt.Errorf("%s has the unknown unit %s; a %s ends in one of %s", quote(s), quote(suffix), q.name, q.accepted())
	}
	return q.exact(s, num, scale)
}

// exact multiplies a decimal number by scale without rounding.
func (q quantity) exact(s, num string, scale int64) (int64, error) {
	whole, frac, _ := strings.Cut(num, ".")
	frac = strings.TrimRight(frac, "0")
	v, _ := new(big.Int).SetString("0"+whole+frac, 10)
	v.Mul(v, big.NewInt(scale))
	den := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(frac))), nil)
	v, rem := v.QuoRem(v, den, new(big.Int))
	if !v.IsInt64() || v.Int64() > q.max {
		return 0, fmt.Errorf("%s is too large; the largest %s is %s", quote(s), q.name, q.print(q.max))
	}
	if rem.Sign() != 0 {
		return 0, fmt.Errorf("%s is not a whole number of %s; use fewer decimals", quote(s), q.base)
	}
	return v.Int64(), nil
}

func (q quantity) scale(suffix string) (int64, bool) {
	for _, u := range q.units {
		if u.suffix == suffix {
			return u.scale, true
		}
	}
	return 0, false
}

func (q quantity) accepted() string {
	names := make([]string, q.shown)
	for i := range names {
		names[i] = q.units[i].suffix
	}
	return strings.Join(names, ", ")
}

// numberLen returns how many leading bytes of s are digits or points.
func numberLen(s string) int {
	n := 0
	for n < len(s) && (s[n] == '.' || '0' <= s[n] && s[n] <= '9') {
		n++
	}
	return n
}

// quote quotes a user's text for an error, shortened to one readable piece.
func quote(s string) string {
	if r := []rune(s); len(r) > 32 {
		s = string(r[:32]) + "..."
	}
	return strconv.Quote(s)
}

// TimePattern is a regular expression (ECMA 262) of the texts that ParseTime
// reads, but for limits.
func TimePattern() string { return timeQuantity().pattern() }

// RatePattern is the same for ParseRate.
func RatePattern() string { return rateQuantity().pattern() }

// BytesPattern is the same for ParseBytes.
func BytesPattern() string { return bytesQuantity().pattern() }

// LengthPattern is the same for ParseLength.
func LengthPattern() string { return lengthQuantity().pattern() }

func (q quantity) pattern() string {
	names := make([]string, len(q.units))
	for i, u := range q.units {
		names[i] = u.suffix
	}
	return `^ *([0-9]+\.?[0-9]*|\.[0-9]+) *(` + strings.Join(names, "|") + `) *$|^ *0*\.?0* *$`
}
