package units

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
)

func TestTxTime(t *testing.T) {
	for _, c := range []struct {
		rate Rate
		n    Bytes
		want Time
	}{
		{400 * Gbps, 1, 20},                 // 8 bits / 400e9 = 20 ps
		{100 * Gbps, 4178, 334240},          // 4178 * 80 ps
		{3 * Gbps, 1, 2667},                 // 2666.67 rounded up
		{1, 1, 8 * Second},                  // 1 bit/s
		{25 * Gbps, 64, 20480 * Picosecond}, // 64 * 320 ps
		{100 * Mbps, 64, 5120 * Nanosecond}, // 512 bit times of 10 ns
		{7 * Tbps, 1000, 1143},              // 1142.86 rounded up
	} {
		if got := c.rate.TxTime(c.n); got != c.want {
			t.Errorf("%v.TxTime(%d) = %d ps, want %d", c.rate, c.n, got, c.want)
		}
		if got := c.rate.TxTimeLong(c.n); got != c.want {
			t.Errorf("%v.TxTimeLong(%d) = %d ps, want %d", c.rate, c.n, got, c.want)
		}
	}
}

// TestTxTimeLong compares with arbitrary precision: ceil(n * 8e12 / r).
func TestTxTimeLong(t *testing.T) {
	for _, n := range []Bytes{0, 1, 1152921, 1152922, 64 * MB, 1 << 31, 7 * TB, math.MaxInt64} {
		for _, r := range []Rate{1, 999, 33333333333, 400 * Gbps, 100 * Tbps, math.MaxInt64} {
			want := new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(8e12))
			want.Add(want, big.NewInt(int64(r)-1)).Quo(want, big.NewInt(int64(r)))
			expect := Never
			if want.IsInt64() {
				expect = Time(want.Int64())
			}
			if got := r.TxTimeLong(n); got != expect {
				t.Errorf("Rate(%d).TxTimeLong(%d) = %d, want %d", r, n, got, expect)
			}
		}
	}
}

func TestLengthDelay(t *testing.T) {
	for _, c := range []struct {
		l    Length
		want Time
	}{
		{5 * Metre, 25 * Nanosecond}, // 5 ns per metre
		{1, 5},
		{2000 * Kilometre, 10 * Millisecond},
		{math.MaxInt64, Never},
	} {
		if got := c.l.Delay(); got != c.want {
			t.Errorf("%v.Delay() = %v, want %v", c.l, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	asInt := map[string]func(string) (int64, error){
		"time":   func(s string) (int64, error) { v, err := ParseTime(s); return int64(v), err },
		"rate":   func(s string) (int64, error) { v, err := ParseRate(s); return int64(v), err },
		"size":   func(s string) (int64, error) { v, err := ParseBytes(s); return int64(v), err },
		"length": func(s string) (int64, error) { v, err := ParseLength(s); return int64(v), err },
	}
	const (
		timeUnits  = "ps, ns, us, ms, s"
		rateUnits  = "bps, Kbps, Mbps, Gbps, Tbps"
		sizeUnits  = "B, KB, MB, GB, TB, KiB, MiB, GiB, TiB"
		lengthUnit = "mm, cm, m, km"
	)
	for _, c := range []struct {
		kind, in string
		want     int64
		err      string
	}{
		{"time", "1.5us", 1500000, ""},
		{"time", " 20 ps ", 20, ""},
		{"time", "0.001ns", 1, ""},
		{"time", "1.0000000000000000000000ns", 1000, ""},
		{"time", "7µs", 7000000, ""},
		{"time", "0", 0, ""},
		{"time", "9223372.036854775806s", math.MaxInt64 - 1, ""},
		{"time", "9223372.036854775807s", 0, `"9223372.036854775807s" is too large; the largest time is 9223372.036854775806s`},
		{"time", "1.5ps", 0, `"1.5ps" is not a whole number of picoseconds; use fewer decimals`},
		{"time", "-1us", 0, `"-1us" is a negative time; it must be at least 0`},
		{"time", "2", 0, `"2" has no unit; a time ends in one of ` + timeUnits},
		{"time", "2min", 0, `"2min" has the unknown unit "min"; a time ends in one of ` + timeUnits},
		{"time", "us", 0, `"us" is not a time; write a decimal number and one of ` + timeUnits},
		{"time", "", 0, `"" is not a time; write a decimal number and one of ` + timeUnits},
		{"time", "1.2.3us", 0, `"1.2.3us" is not a time; write a decimal number and one of ` + timeUnits},
		{"rate", "400Gbps", 400e9, ""},
		{"rate", "400Gb/s", 400e9, ""},
		{"rate", "40Mb/s", 40e6, ""},
		{"rate", "1.6Tbps", 1600e9, ""},
		{"rate", "64kbps", 64e3, ""},
		{"rate", "64Kbps", 64e3, ""},
		{"rate", "9300000Tbps", 0, `"9300000Tbps" is too large; the largest rate is 9223372.036854775807Tbps`},
		{"rate", "400G", 0, `"400G" has the unknown unit "G"; a rate ends in one of ` + rateUnits},
		{"rate", "50GB/s", 0, `"50GB/s" has the unknown unit "GB/s"; a rate ends in one of ` + rateUnits},
		{"size", "33.25MB", 33250000, ""},
		{"size", "64KiB", 65536, ""},
		{"size", "1.5KiB", 1536, ""},
		{"size", "0.0009765625KiB", 1, ""},
		{"size", "2GiB", 1 << 31, ""},
		{"size", "1.3KiB", 0, `"1.3KiB" is not a whole number of bytes; use fewer decimals`},
		{"size", "64mb", 0, `"64mb" has the unknown unit "mb"; a size ends in one of ` + sizeUnits},
		{"size", "99999999999999999999GB", 0, `"99999999999999999999GB" is too large; the largest size is 9223372.036854775807TB`},
		{"length", "5m", 5000, ""},
		{"length", "12.5cm", 125, ""},
		{"length", "40km", 40e6, ""},
		{"length", "3ft", 0, `"3ft" has the unknown unit "ft"; a length ends in one of ` + lengthUnit},
	} {
		got, err := asInt[c.kind](c.in)
		if msg(err) != c.err || got != c.want {
			t.Errorf("%s %q = %d, %q; want %d, %q", c.kind, c.in, got, msg(err), c.want, c.err)
		}
	}
}

func TestParseProbability(t *testing.T) {
	for _, c := range []struct {
		in   string
		want float64
		ok   bool
	}{
		{"0.01", 0.01, true}, {"1%", 0.01, true}, {"0.1 %", 0.001, true}, {"100%", 1, true},
		{"1e-12", 1e-12, true}, {"0", 0, true}, {"1", 1, true},
		{"1.01", 0, false}, {"101%", 0, false}, {"-0.1", 0, false}, {"", 0, false}, {"%", 0, false},
		{"NaN", 0, false}, {"inf", 0, false}, {"0x1p-2", 0, false}, {"1e-3%", 0, false},
	} {
		got, err := ParseProbability(c.in)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("ParseProbability(%q) = %v, %v; want %v, ok %v", c.in, got, err, c.want, c.ok)
		}
	}
}

func TestString(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Time(0).String(), "0s"},
		{Time(1500000).String(), "1.5us"},
		{Time(-1).String(), "-1ps"},
		{Time(1234567).String(), "1.234567us"},
		{(2000 * Second).String(), "2000s"},
		{Time(1000000000001).String(), "1.000000000001s"},
		{Never.String(), "never"},
		{Time(math.MinInt64).String(), "-9223372.036854775808s"},
		{(400 * Gbps).String(), "400Gbps"},
		{Rate(3125 * Mbps).String(), "3.125Gbps"},
		{(64 * MB).String(), "64MB"},
		{Bytes(65536).String(), "64KiB"},
		{Bytes(4096).String(), "4KiB"},
		{Bytes(1024000).String(), "1.024MB"},
		{Bytes(1000).String(), "1KB"},
		{Bytes(-4096).String(), "-4KiB"},
		{(5 * Metre).String(), "5m"},
		{Length(125).String(), "125mm"},
		{Time(3100400).Human(), "3.1 us"},
		{Time(999950).Human(), "1 us"},
		{Time(999949).Human(), "999.9 ns"},
		{Time(12345 * Second).Human(), "12350 s"},
		{Time(0).Human(), "0 s"},
		{Never.Human(), "never"},
		{Time(-1500).Human(), "-1.5 ns"},
		{Rate(96412345678).Human(), "96.41 Gb/s"},
		{Rate(0).Human(), "0 b/s"},
		{Bytes(1200000).Human(), "1.2 MB"},
		{Bytes(65536).Human(), "65.54 KB"},
		{Bytes(math.MaxInt64).Human(), "9223000 TB"},
		{Length(1500).Human(), "1.5 m"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestJSON holds the result format: plain integers, although text formats get
// units.
func TestJSON(t *testing.T) {
	type all struct {
		T Time   `json:"t_ps"`
		R Rate   `json:"r_bps"`
		B Bytes  `json:"b"`
		L Length `json:"l_mm"`
	}
	in := all{-1, 400 * Gbps, 4096, 5000}
	text, err := json.Marshal(in)
	if want := `{"t_ps":-1,"r_bps":400000000000,"b":4096,"l_mm":5000}`; err != nil || string(text) != want {
		t.Fatalf("Marshal = %s, %v; want %s", text, err, want)
	}
	var out all
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		t.Fatalf("Unmarshal = %+v, %v; want %+v", out, err, in)
	}
	err = json.Unmarshal([]byte(`{"t_ps":"1.5us","r_bps":"1Gbps","b":"4KiB","l_mm":"5m"}`), &out)
	if want := (all{1500000, Gbps, 4096, 5000}); err != nil || out != want {
		t.Fatalf("Unmarshal of units = %+v, %v; want %+v", out, err, want)
	}
	if err := json.Unmarshal([]byte(`{"t_ps":1.5}`), &out); err == nil {
		t.Error("a fraction of a picosecond was accepted")
	}
	m, err := json.Marshal(map[Time]int{1500: 1})
	if err != nil || string(m) != `{"1.5ns":1}` {
		t.Errorf("map key = %s, %v", m, err)
	}
}

func FuzzParseTime(f *testing.F)   { fuzz(f, ParseTime) }
func FuzzParseRate(f *testing.F)   { fuzz(f, ParseRate) }
func FuzzParseBytes(f *testing.F)  { fuzz(f, ParseBytes) }
func FuzzParseLength(f *testing.F) { fuzz(f, ParseLength) }

// FuzzString: every value prints to what reads back as itself.
func FuzzString(f *testing.F) {
	for _, v := range []int64{0, 1, 999, 1000, 1023, 1024, 1 << 40, 123456789012345, math.MaxInt64, math.MaxInt64 - 1} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v int64) {
		if v < 0 {
			v = -(v + 1)
		}
		var tm Time
		if err := tm.UnmarshalText([]byte(Time(v).String())); err != nil || tm != Time(v) {
			t.Errorf("Time(%d) prints %q, read as %d, %v", v, Time(v), tm, err)
		}
		if r, err := ParseRate(Rate(v).String()); err != nil || r != Rate(v) {
			t.Errorf("Rate(%d) prints %q, read as %d, %v", v, Rate(v), r, err)
		}
		if b, err := ParseBytes(Bytes(v).String()); err != nil || b != Bytes(v) {
			t.Errorf("Bytes(%d) prints %q, read as %d, %v", v, Bytes(v), b, err)
		}
		if l, err := ParseLength(Length(v).String()); err != nil || l != Length(v) {
			t.Errorf("Length(%d) prints %q, read as %d, %v", v, Length(v), l, err)
		}
	})
}

func FuzzParseProbability(f *testing.F) {
	for _, s := range []string{"1%", "0.01", "1e-6", "", "%", "1e999", "-0", "+.5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseProbability(s)
		if err == nil && !(p >= 0 && p <= 1 && !math.Signbit(p)) {
			t.Errorf("ParseProbability(%q) = %v", s, p)
		}
		checkOneLine(t, err)
	})
}

func fuzz[T interface {
	~int64
	String() string
}](f *testing.F, parse func(string) (T, error)) {
	for _, s := range []string{"1.5us", "400Gbps", "33.25MB", "64KiB", "5m", "0", ".", "-1", "1e3s", "9999999999999999999s", "1.\n", "0x1ps"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := parse(s)
		checkOneLine(t, err)
		if err != nil {
			return
		}
		if v < 0 {
			t.Fatalf("parse(%q) = %d, negative", s, int64(v))
		}
		if again, err := parse(v.String()); err != nil || again != v {
			t.Fatalf("parse(%q) = %d prints %q, read as %d, %v", s, int64(v), v.String(), int64(again), err)
		}
	})
}

func checkOneLine(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("error has several lines: %q", err)
	}
}

func msg(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func BenchmarkTxTime(b *testing.B) {
	sum := Time(0)
	for i := range b.N {
		sum += (400 * Gbps).TxTime(Bytes(i & 4095))
	}
	if sum < 0 {
		b.Fatal(sum)
	}
}
