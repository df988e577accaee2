package metrics

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// The functions below write numbers for reading: rounded to a few significant
// digits, with the unit an engineer would use. Exact values are in the JSON
// and CSV files.

// FormatTime writes t with three significant digits: "3.10 us".
func FormatTime(t units.Time) string { return FormatTimeDigits(t, 3) }

// FormatTimeDigits writes t with the given number of significant digits, 3 or
// more.
func FormatTimeDigits(t units.Time, digits int) string {
	if t == 0 {
		return "0 s"
	}
	return scaled(float64(t), digits, "ps", "ns", "us", "ms", "s")
}

// FormatRate writes r with three significant digits: "96.4 Gb/s".
func FormatRate(r units.Rate) string {
	return scaled(float64(r), 3, "b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s")
}

// FormatBytes writes n with three significant digits and decimal units:
// "1.20 MB".
func FormatBytes(n int64) string {
	return scaled(float64(n), 3, "B", "KB", "MB", "GB", "TB")
}

// FormatCount writes n with separators: "48,211".
func FormatCount(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return sign + b.String()
}

// scaled divides v by 1000 until the number fits the unit. The smallest unit
// counts whole things and shows no decimals.
func scaled(v float64, digits int, units ...string) string {
	for i, unit := range units {
		last := i == len(units)-1
		s := significant(v, digits)
		if i == 0 {
			s = strconv.FormatFloat(v, 'f', 0, 64)
		}
		// Rounding may carry into the next unit: 999.6 is "1.00" of it.
		if !last && len(strings.TrimPrefix(strings.SplitN(s, ".", 2)[0], "-")) > 3 {
			v /= 1000
			continue
		}
		return s + " " + unit
	}
	return ""
}

// significant writes v, at least 1, with the given number of significant
// digits.
func significant(v float64, digits int) string {
	decimals := digits - 1
	for limit := 10.0; decimals > 0 && v >= limit; limit *= 10 {
		decimals--
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals > 0 && len(s) > digits+1 { // 9.996 became 10.00
		s = strconv.FormatFloat(v, 'f', decimals-1, 64)
	}
	return s
}
