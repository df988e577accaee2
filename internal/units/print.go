package units

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// String prints t exactly, so that ParseTime reads it back: "1.5us". Never
// prints as "never".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	return exactString(int64(t), timeSteps())
}

// String prints r exactly, so that ParseRate reads it back: "400Gbps".
func (r Rate) String() string { return exactString(int64(r), rateSteps("bps")) }

// String prints b exactly, so that ParseBytes reads it back: "64MB" or, where it
// is shorter, "64KiB".
func (b Bytes) String() string {
	decimal := exactString(int64(b), byteSteps())
	for _, u := range []unit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if b == 0 || int64(b)%u.scale != 0 {
			continue
		}
		if binary := strconv.FormatInt(int64(b)/u.scale, 10) + u.suffix; len(binary) < len(decimal) {
			return binary
		}
	}
	return decimal
}

// String prints l exactly, so that ParseLength reads it back: "1.5km".
func (l Length) String() string { return exactString(int64(l), lengthSteps()) }

// Human prints t with at most four significant digits for a reader: "3.1 us".
func (t Time) Human() string {
	if t == Never {
		return "never"
	}
	return humanString(int64(t), timeSteps())
}

// Human prints r with at most four significant digits for a reader: "96.4 Gb/s".
func (r Rate) Human() string { return humanString(int64(r), rateSteps("b/s")) }

// Human prints b with at most four significant digits in powers of 1000 for a
// reader: "1.2 MB".
func (b Bytes) Human() string { return humanString(int64(b), byteSteps()) }

// Human prints l with at most four significant digits for a reader: "5 m".
func (l Length) Human() string { return humanString(int64(l), lengthSteps()) }

// The steps of a quantity run from small to large, powers of 1000 apart. The
// zero value prints in the unit the field thinks in.

type steps struct {
	zero     string
	suffixes []string
}

func timeSteps() steps { return steps{"0s", []string{"ps", "ns", "us", "ms", "s"}} }

func rateSteps(base string) steps {
	return steps{"0" + base, []string{base, "K" + base, "M" + base, "G" + base, "T" + base}}
}

func byteSteps() steps { return steps{"0B", []string{"B", "KB", "MB", "GB", "TB"}} }

func lengthSteps() steps { return steps{"0m", []string{"mm", "m", "km"}} }

// exactString prints v in the largest unit that is not larger than v.
func exactString(v int64, s steps) string {
	if v == 0 {
		return s.zero
	}
	sign, u := magnitude(v)
	scale, digits, i := uint64(1), 0, 0
	for i+1 < len(s.suffixes) && u/scale >= 1000 {
		scale, digits, i = scale*1000, digits+3, i+1
	}
	text := strconv.FormatUint(u/scale, 10)
	if rest := u % scale; rest != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%0*d", digits, rest), "0")
	}
	return sign + text + s.suffixes[i]
}

// humanString prints v rounded half up to four significant digits, trailing
// zeros dropped, a space before the unit.
func humanString(v int64, s steps) string {
	if v == 0 {
		n := len(s.zero)
		return "0 " + s.zero[1:n]
	}
	sign, u := magnitude(v)
	u = round4(u)
	scale, digits, i := uint64(1), 0, 0
	for i+1 < len(s.suffixes) && u/scale >= 1000 {
		scale, digits, i = scale*1000, digits+3, i+1
	}
	text := strconv.FormatUint(u/scale, 10)
	if rest := u % scale; rest != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%0*d", digits, rest), "0")
	}
	return sign + text + " " + s.suffixes[i]
}

// round4 rounds u half up to four significant decimal digits.
func round4(u uint64) uint64 {
	p := uint64(1)
	for u/p >= 10000 {
		p *= 10
	}
	return (u/p + (u%p+p/2)/p) * p
}

func magnitude(v int64) (sign string, u uint64) {
	if v < 0 {
		return "-", -uint64(v)
	}
	return "", uint64(v)
}

// MarshalText implements encoding.TextMarshaler with the exact form.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalText implements encoding.TextMarshaler with the exact form.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// MarshalText implements encoding.TextMarshaler with the exact form.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// MarshalText implements encoding.TextMarshaler with the exact form.
func (l Length) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler: ParseTime, and "never".
func (t *Time) UnmarshalText(b []byte) error {
	if string(b) == "never" {
		*t = Never
		return nil
	}
	return unmarshal(t, b, ParseTime)
}

// UnmarshalText implements encoding.TextUnmarshaler with ParseRate.
func (r *Rate) UnmarshalText(b []byte) error { return unmarshal(r, b, ParseRate) }

// UnmarshalText implements encoding.TextUnmarshaler with ParseBytes.
func (b *Bytes) UnmarshalText(text []byte) error { return unmarshal(b, text, ParseBytes) }

// UnmarshalText implements encoding.TextUnmarshaler with ParseLength.
func (l *Length) UnmarshalText(b []byte) error { return unmarshal(l, b, ParseLength) }

func unmarshal[T any](to *T, text []byte, parse func(string) (T, error)) error {
	v, err := parse(string(text))
	if err == nil {
		*to = v
	}
	return err
}

// In JSON all four are plain integers in their base unit (ps, bit/s, bytes, mm),
// as the field names of result files say; without these methods encoding/json
// would take MarshalText.

// MarshalJSON writes picoseconds.
func (t Time) MarshalJSON() ([]byte, error) { return integer(int64(t)), nil }

// MarshalJSON writes bits per second.
func (r Rate) MarshalJSON() ([]byte, error) { return integer(int64(r)), nil }

// MarshalJSON writes bytes.
func (b Bytes) MarshalJSON() ([]byte, error) { return integer(int64(b)), nil }

// MarshalJSON writes millimetres.
func (l Length) MarshalJSON() ([]byte, error) { return integer(int64(l)), nil }

// UnmarshalJSON reads picoseconds, or a string with a unit.
func (t *Time) UnmarshalJSON(b []byte) error { return fromJSON(t, b, t.UnmarshalText) }

// UnmarshalJSON reads bits per second, or a string with a unit.
func (r *Rate) UnmarshalJSON(b []byte) error { return fromJSON(r, b, r.UnmarshalText) }

// UnmarshalJSON reads bytes, or a string with a unit.
func (b *Bytes) UnmarshalJSON(text []byte) error { return fromJSON(b, text, b.UnmarshalText) }

// UnmarshalJSON reads millimetres, or a string with a unit.
func (l *Length) UnmarshalJSON(b []byte) error { return fromJSON(l, b, l.UnmarshalText) }

func integer(v int64) []byte { return strconv.AppendInt(nil, v, 10) }

func fromJSON[T ~int64](to *T, b []byte, text func([]byte) error) error {
	if string(b) == "null" { // by convention of encoding/json: no change
		return nil
	}
	if len(b) >= 2 && b[0] == '"' {
		return text(bytes.Trim(b, `"`))
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("%s is not a whole number", quote(string(b)))
	}
	*to = T(v)
	return nil
}
