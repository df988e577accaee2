package metrics

import (
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

func TestFormat(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{FormatTime(0), "0 s"},
		{FormatTime(1), "1 ps"},
		{FormatTime(999), "999 ps"},
		{FormatTime(1_000), "1.00 ns"},
		{FormatTime(3_104_220), "3.10 us"},
		{FormatTime(12_014_000), "12.0 us"},
		{FormatTime(999_499_999), "999 us"},
		{FormatTime(999_500_000), "1.00 ms"}, // rounding carries into the next unit
		{FormatTime(9_996_000), "10.0 us"},   // and into the next digit
		{FormatTime(99_960_000), "100 us"},
		{FormatTime(5 * units.Second), "5.00 s"},
		{FormatTime(12_345 * units.Second), "12345 s"},
		{FormatTimeDigits(5_310_442_880, 4), "5.310 ms"},
		{FormatTimeDigits(21_312_480, 4), "21.31 us"},
		{FormatTimeDigits(812_400_000, 4), "812.4 us"},
		{FormatTimeDigits(999_960_000, 4), "1.000 ms"},
		{FormatRate(96_413_000_000), "96.4 Gb/s"},
		{FormatRate(400 * units.Gbps), "400 Gb/s"},
		{FormatRate(1_600 * units.Gbps), "1.60 Tb/s"},
		{FormatRate(0), "0 b/s"},
		{FormatBytes(66), "66 B"},
		{FormatBytes(4158), "4.16 KB"},
		{FormatBytes(1_203_418), "1.20 MB"},
		{FormatBytes(64_000_000), "64.0 MB"},
		{FormatCount(0), "0"},
		{FormatCount(999), "999"},
		{FormatCount(48_211), "48,211"},
		{FormatCount(1_234_567), "1,234,567"},
		{FormatCount(-1234), "-1,234"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
