package subnet

import (
	"strings"

	"github.com/hopscope/hopscope/internal/units"
)

// linkRate is a width and a speed, as a file names them.
type linkRate struct {
	name string     // such as 4xHDR
	rate units.Rate // data rate; 0 unknown
}

// laneRate returns the data rate of one lane: the signalling rate less the line
// code, 8b/10b to QDR, 64b/66b from FDR10 on (IBTA volume 2; from HDR on the rate
// is nominal, after the error correction). 0: unknown.
func laneRate(speed string) units.Rate {
	switch speed {
	case "SDR":
		return 2 * units.Gbps
	case "DDR":
		return 4 * units.Gbps
	case "QDR":
		return 8 * units.Gbps
	case "FDR10":
		return 10 * units.Gbps
	case "FDR":
		return 13636363636 // 14.0625 Gb/s x 64/66
	case "EDR":
		return 25 * units.Gbps
	case "HDR":
		return 50 * units.Gbps
	case "NDR":
		return 100 * units.Gbps
	case "XDR":
		return 200 * units.Gbps
	}
	return 0
}

// laneSpeeds names the speeds for errors.
const laneSpeeds = "SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR"

// width takes a link width such as 4x.
func (c *cursor) width() (lanes int, name string) {
	c.space()
	for _, w := range [...]struct {
		text  string
		lanes int
	}{{"12x", 12}, {"1x", 1}, {"2x", 2}, {"4x", 4}, {"8x", 8}} {
		if strings.HasPrefix(c.s[c.i:], w.text) {
			c.i += len(w.text)
			return w.lanes, w.text
		}
	}
	c.bad("a link width, one of 1x, 2x, 4x, 8x, 12x,")
	return 0, ""
}

// rate takes a width and a speed, with blanks between them or without. ??? is a
// port whose speed ibnetdiscover could not tell.
func (c *cursor) rate() linkRate {
	lanes, name := c.width()
	if c.r.err != nil {
		return linkRate{}
	}
	c.space()
	at := c.i
	speed := c.word()
	if speed == "???" {
		return linkRate{}
	}
	lane := laneRate(speed)
	if lane == 0 {
		c.i = at
		c.bad("a link speed, one of %s,", laneSpeeds)
	}
	return linkRate{name + speed, units.Rate(lanes) * lane}
}
