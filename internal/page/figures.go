package page

import (
	"fmt"
	"strconv"

	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
)

// none stands for nothing, so that the eye finds what is there.
const none = "–"

func word(s string) Figure { return Figure{Text: s} }

func name(s, path string) Figure { return Figure{Text: s, Path: path, Kind: kindText} }

// nothing is a figure that is 0.
func nothing(path, kind string) Figure {
	return Figure{Text: none, Path: path, Kind: kind, Class: "none"}
}

func count(n int64, path string) Figure {
	if n == 0 {
		return nothing(path, kindCount)
	}
	return Figure{Text: metrics.FormatCount(n), Path: path, Kind: kindCount}
}

func size(n int64, path string) Figure {
	if n == 0 {
		return nothing(path, kindBytes)
	}
	return Figure{Text: metrics.FormatBytes(n), Path: path, Kind: kindBytes}
}

func duration(t units.Time, path string) Figure {
	if t == 0 {
		return nothing(path, kindTime)
	}
	return Figure{Text: metrics.FormatTimeDigits(t, 4), Path: path, Kind: kindTime}
}

func rate(v units.Rate, path string) Figure {
	if v == 0 {
		return nothing(path, kindRate)
	}
	return Figure{Text: metrics.FormatRate(v), Path: path, Kind: kindRate}
}

func share(v float64, path string) Figure {
	if v == 0 {
		return nothing(path, kindShare)
	}
	return Figure{Text: fmt.Sprintf("%.1f %%", 100*v), Path: path, Kind: kindShare}
}

func number(v float64, digits int, path string) Figure {
	return Figure{Text: strconv.FormatFloat(v, 'f', digits, 64), Path: path, Kind: kindNumber}
}

// jain is rounded down, so that 1 means equal.
func jain(v float64, path string) Figure {
	return Figure{Text: report.Jain(v), Path: path, Kind: kindFloor}
}

// instant is told from the first post.
func (b *builder) instant(at units.Time, path string) Figure {
	f := Figure{Text: b.at(at), Path: path, Kind: kindTime}
	if b.base > 0 && at >= b.base {
		f.From = b.first
	}
	return f
}
