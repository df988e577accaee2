// Package figure draws what a run wrote down: quantities over time, completion times, the
// network, accounts and pause trees, as SVG that stands in a page or by itself. Every mark that
// shows a figure names its place in the JSON of the run, by a JSON pointer (RFC 6901).
package figure

import (
	"embed"
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/visible"
)

//go:embed figure.css
var files embed.FS

// Style is how classes of figures look; colours are variables with those of a light page
// as their defaults.
func Style() string {
	data, err := files.ReadFile("figure.css")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(data)
}

// Figure is a drawing.
type Figure struct {
	Name  string  // of its file, without ".svg"
	Title string  // what it shows, for who cannot see it
	W, H  float64 // in pixels
	attrs []string
	body  string
}

// Inline is the figure as a part of an HTML page that holds Style.
func (f *Figure) Inline() string {
	p := &pen{}
	p.open("svg", append([]string{"class", "figure " + f.Name, "viewBox", fmt.Sprintf("0 0 %s %s", num(f.W), num(f.H)),
		"style", fmt.Sprintf("max-width:%spx", num(f.W)), "role", "group", "aria-label", f.Title}, f.attrs...)...)
	p.b.WriteString(f.body)
	p.close("svg")
	return p.b.String()
}

// variable is a colour of the page with its default.
var variable = regexp.MustCompile(`var\(--[a-z0-9-]+, *([^)]*)\)`)

// File is the figure as a file by itself, in the colours of a light page: not all programs that
// draw SVG know variables.
func (f *Figure) File() []byte {
	p := &pen{}
	p.b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	p.open("svg", "xmlns", "http://www.w3.org/2000/svg", "viewBox", fmt.Sprintf("0 0 %s %s", num(f.W), num(f.H)),
		"width", num(f.W), "height", num(f.H))
	p.element("title", visible.Text(f.Title))
	p.element("style", variable.ReplaceAllString(Style(), "$1"))
	p.empty("rect", "class", "paper", "width", num(f.W), "height", num(f.H))
	p.b.WriteString(f.body)
	p.close("svg")
	p.b.WriteByte('\n')
	return []byte(p.b.String())
}

// pen writes SVG. Attributes come as name and value in turn.
type pen struct{ b strings.Builder }

func (p *pen) start(tag string, attrs []string) {
	p.b.WriteString("<" + tag)
	for i := 0; i < len(attrs); i += 2 {
		if attrs[i+1] != "" {
			p.b.WriteString(" " + attrs[i] + `="` + html.EscapeString(visible.Text(attrs[i+1])) + `"`)
		}
	}
}

func (p *pen) open(tag string, attrs ...string) {
	p.start(tag, attrs)
	p.b.WriteByte('>')
}

func (p *pen) close(tag string) { p.b.WriteString("</" + tag + ">") }

func (p *pen) empty(tag string, attrs ...string) {
	p.start(tag, attrs)
	p.b.WriteString("/>")
}

// element writes one that holds text.
func (p *pen) element(tag, text string, attrs ...string) {
	p.open(tag, attrs...)
	p.b.WriteString(html.EscapeString(text))
	p.close(tag)
}

func (p *pen) text(x, y float64, class, text string, attrs ...string) {
	p.element("text", visible.Text(text), append([]string{"x", num(x), "y", num(y), "class", class}, attrs...)...)
}

func (p *pen) line(x1, y1, x2, y2 float64, class string, attrs ...string) {
	p.empty("path", append([]string{"d", "M" + num(x1) + " " + num(y1) + "L" + num(x2) + " " + num(y2), "class", class},
		attrs...)...)
}

func (p *pen) rect(x, y, w, h float64, class string, attrs ...string) {
	p.empty("rect", append([]string{"x", num(x), "y", num(y), "width", num(w), "height", num(h), "class", class},
		attrs...)...)
}

// num writes a coordinate to a tenth of a pixel.
func num(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// short cuts a name in the middle to at most n columns.
func short(s string, n int) string {
	s = visible.Text(s)
	if visible.Width(s) <= n {
		return s
	}
	var head, tail string
	r := []rune(s)
	for i := 0; visible.Width(head+string(r[i])) <= n/2; i++ {
		head += string(r[i])
	}
	for i := len(r) - 1; visible.Width(string(r[i])+tail) <= n-n/2-1; i-- {
		tail = string(r[i]) + tail
	}
	return head + "…" + tail
}

// Pointer is a JSON pointer to a field below a list's row.
func Pointer(list string, row int, field ...string) string {
	return "/" + list + "/" + strconv.Itoa(row) + strings.Join(append([]string{""}, field...), "/")
}
