package figure

import (
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// ink is a colour that a canvas writes as a class, so that the page decides how it looks.
type ink string

// RGBA is that of black: only classes matter.
func (ink) RGBA() (r, g, b, a uint32) { return color.Black.RGBA() }

// canvas lets a plot draw with a pen. The plot has its origin at the bottom left.
type canvas struct {
	*pen
	w, h  float64
	state inkState
	stack []inkState
}

type inkState struct {
	class  string
	dx, dy float64
	width  vg.Length
}

// Size is the canvas's.
func (c *canvas) Size() (x, y vg.Length) { return vg.Length(c.w), vg.Length(c.h) }

// SetLineWidth hides lines without width.
func (c *canvas) SetLineWidth(w vg.Length) { c.state.width = w }

// SetLineDash changes nothing: classes say how lines look.
func (c *canvas) SetLineDash([]vg.Length, vg.Length) {}

// SetColor takes the class of an ink.
func (c *canvas) SetColor(to color.Color) {
	if i, ok := to.(ink); ok {
		c.state.class = string(i)
	}
}

// Rotate changes nothing: no axis has a label that stands upright.
func (c *canvas) Rotate(float64) {}

// Translate moves the origin.
func (c *canvas) Translate(pt vg.Point) {
	c.state.dx, c.state.dy = c.state.dx+float64(pt.X), c.state.dy+float64(pt.Y)
}

// Scale changes nothing: plots do not ask for it.
func (c *canvas) Scale(float64, float64) {}

// Push keeps class and origin.
func (c *canvas) Push() { c.stack = append(c.stack, c.state) }

// Pop restores them.
func (c *canvas) Pop() {
	c.state = c.stack[len(c.stack)-1]
	c.stack = c.stack[:len(c.stack)-1]
}

func (c *canvas) at(pt vg.Point) (x, y float64) {
	return float64(pt.X) + c.state.dx, c.h - float64(pt.Y) - c.state.dy
}

// Stroke draws the lines of a path; axes have no curves.
func (c *canvas) Stroke(path vg.Path) {
	if c.state.width <= 0 {
		return
	}
	d := ""
	for _, s := range path {
		x, y := c.at(s.Pos)
		switch s.Type {
		case vg.MoveComp:
			d += "M" + num(x) + " " + num(y)
		case vg.LineComp:
			d += "L" + num(x) + " " + num(y)
		case vg.CloseComp:
			d += "Z"
		}
	}
	c.empty("path", "d", d, "class", c.state.class)
}

// Fill draws nothing: the page is the paper.
func (c *canvas) Fill(vg.Path) {}

// FillString writes a label.
func (c *canvas) FillString(_ font.Face, pt vg.Point, text string) {
	x, y := c.at(pt)
	c.text(math.Round(x), math.Round(y), c.state.class, text)
}

// DrawImage draws nothing: there are no images.
func (c *canvas) DrawImage(vg.Rectangle, image.Image) {}
