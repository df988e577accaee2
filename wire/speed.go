package wire

import (
	"strconv"
	"strings"
)

// LinkSpeed is one generation of InfiniBand links: what a lane signals, and how
// much of that its line code leaves to packets.
type LinkSpeed struct {
	Name       string
	LaneBps    int64 // signalling rate of a lane in bit/s
	Data, Line int64 // bits of packets per bits on the line, forward error correction included
}

// LinkSpeeds lists InfiniBand's speeds, the slowest first (IBTA volume 2;
// models.md 6.5). SDR to QDR code 8b/10b, FDR10 to EDR 64b/66b. From HDR on
// 256b/257b and RS(544,514) leave 16/17: 256/257 * 514/544.
func LinkSpeeds() []LinkSpeed {
	return []LinkSpeed{
		{"SDR", 2_500_000_000, 8, 10},
		{"DDR", 5_000_000_000, 8, 10},
		{"QDR", 10_000_000_000, 8, 10},
		{"FDR10", 10_312_500_000, 64, 66},
		{"FDR", 14_062_500_000, 64, 66},
		{"EDR", 25_781_250_000, 64, 66},
		{"HDR", 53_125_000_000, 16, 17},
		{"NDR", 106_250_000_000, 16, 17},
		{"XDR", 212_500_000_000, 16, 17},
	}
}

// Rate is what a link of width lanes carries, in bit/s, rounded down.
func (s LinkSpeed) Rate(width int) int64 { return int64(width) * s.LaneBps * s.Data / s.Line }

// LinkWidths lists the numbers of lanes that a link may have.
func LinkWidths() []int { return []int{1, 2, 4, 8, 12} }

// ParseLinkSpeed reads the name of a speed: "NDR" is four lanes, "2xNDR" two.
// It returns the rate of the link in bit/s and its lanes, and false for anything else.
func ParseLinkSpeed(text string) (rate int64, lanes int, ok bool) {
	name, width := strings.ToUpper(strings.ReplaceAll(text, " ", "")), 4
	if count, rest, found := strings.Cut(name, "X"); found && count != "" {
		n, err := strconv.Atoi(count)
		if err != nil || !isWidth(n) {
			return 0, 0, false
		}
		name, width = rest, n
	}
	for _, s := range LinkSpeeds() {
		if s.Name == name {
			return s.Rate(width), width, true
		}
	}
	return 0, 0, false
}

func isWidth(n int) bool {
	for _, w := range LinkWidths() {
		if w == n {
			return true
		}
	}
	return false
}
