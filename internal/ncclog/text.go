package ncclog

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// header is what the line of titles says: the columns after type, redop and root.
type header struct {
	root    bool
	half    int // columns of the out-of-place half; the in-place half has as many
	time    int // among them
	stamped bool
}

// word is a part of a line, with its column from 1.
type word struct {
	text string
	col  int
}

// words splits a line at blanks.
func words(line string) (out []word) {
	for at := 0; at < len(line); {
		n := strings.IndexFunc(line[at:], func(r rune) bool { return r != ' ' && r != '\t' })
		if n < 0 {
			break
		}
		at += n
		end := strings.IndexAny(line[at:], " \t")
		if end < 0 {
			end = len(line) - at
		}
		out = append(out, word{line[at : at+end], utf8.RuneCountInString(line[:at]) + 1})
		at += end
	}
	return out
}

// lines reads the table of a test, among whatever else stands in its output.
func (p *parser) lines(text []byte) {
	// mpirun and srun put the number of the process before each line.
	label := regexp.MustCompile(`^(\[[0-9]+,[0-9]+\]<std(out|err)>:|[0-9]+:)[ \t]*`)
	all := bytes.Split(text, []byte("\n"))
	for len(all) > 0 && len(bytes.TrimSpace(all[len(all)-1])) == 0 {
		all = all[:len(all)-1]
	}
	for i, raw := range all {
		line := strings.TrimRight(string(raw), "\r")
		skipped := len(label.FindString(line))
		w := words(line[skipped:])
		for k := range w {
			w[k].col += skipped
		}
		switch {
		case len(w) == 0:
		case strings.Contains(line, "NCCL"):
			p.info(i+1, w)
		case w[0].text[0] == '#':
			p.comment(i+1, w)
		case strings.Contains(line, "_perf") && p.begun == "" && p.heads == 0: // the command
			p.test(i+1, w[0].col, line)
		case isNumber(w[0].text) && len(w) > 1 && isNumber(w[1].text) && p.head != nil:
			p.row(i+1, w, i == len(all)-1)
		}
		if p.err != nil {
			return
		}
	}
	if !p.ended && p.log.Cut == 0 {
		p.log.Cut = max(len(all), 1)
	}
}

// isNumber reports whether a text is a whole number.
func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// comment reads a line that begins with #.
func (p *parser) comment(line int, w []word) {
	if w[0].text != "#" {
		return
	}
	is := func(k int, text string) bool { return k < len(w) && w[k].text == text }
	switch {
	case is(1, "size") && is(2, "count") && is(3, "type"):
		p.titles(line, w)
	case is(1, "Rank") && len(w) > 2:
		p.device(line, w)
	case is(1, "nccl-tests") && is(2, "version"):
		p.info(line, w)
	case is(1, "Collective") && is(2, "test") && is(3, "starting:"):
		if p.begun != "" && p.heads > 0 {
			p.second(line, 1, w[len(w)-1].text)
		}
		p.test(line, w[0].col, w[len(w)-1].text)
	case is(1, "Out") && is(2, "of") && is(3, "bounds"), is(1, "Avg") && is(2, "bus"):
		p.ended = true
	}
}

// device reads a line of the list of devices, such as
// "#  Rank  0 Group  0 Pid 112424 on localhost device  0 [0x00] A100-SXM4-40GB".
func (p *parser) device(line int, w []word) {
	rank, err := strconv.Atoi(w[2].text)
	if err != nil {
		return
	}
	host := ""
	if k := slices.IndexFunc(w, func(x word) bool { return x.text == "on" }); k >= 0 && k+1 < len(w) {
		host = w[k+1].text
	}
	p.rank(line, rank, host)
}

// info reads what the library itself prints, or nccl-tests of it: its version and the number of ranks.
func (p *parser) info(line int, w []word) {
	for k := range w[:len(w)-1] {
		next := w[k+1].text
		switch {
		case w[k].text == "version" && k > 0 && w[k-1].text == "NCCL":
			p.log.NCCL, _, _ = strings.Cut(next, "+")
		case w[k].text == "nRanks", w[k].text == "nranks":
			if n, err := strconv.Atoi(next); err == nil {
				p.rank(line, n-1, "")
			}
		}
	}
	for _, x := range w {
		if code, ok := strings.CutPrefix(x.text, "nccl-library="); ok {
			if n, err := strconv.Atoi(code); err == nil {
				p.version(n)
			}
		}
	}
}

// titles reads the line of titles.
func (p *parser) titles(line int, w []word) {
	if p.heads++; p.heads > 1 {
		p.second(line, 1, "a line of titles")
		return
	}
	h := &header{time: -1}
	first := 4
	for first < len(w) && w[first].text != "time" && w[first].text != "cputime" {
		h.root = h.root || w[first].text == "root"
		first++
	}
	rest := w[first:]
	if n := len(rest); n > 0 && rest[n-1].text == "timestamp" {
		h.stamped, rest = true, rest[:n-1]
	}
	if len(rest) < 6 || len(rest)%2 != 0 || rest[0].text != rest[len(rest)/2].text {
		p.fail(line, w[0].col, "these titles are not those of nccl-tests: size, count, type, redop, root and twice "+
			"time, algbw, busbw and #wrong")
		return
	}
	h.half, h.time = len(rest)/2, 0
	p.head = h
}

// row reads a row; last: it is the last line of the file.
func (p *parser) row(line int, w []word, last bool) {
	h := p.head
	cut := func() {
		if last {
			p.log.Cut = line
			return
		}
		p.fail(line, w[len(w)-1].col, "the row has %s, fewer than the titles", columns(len(w)))
	}
	size, _ := strconv.ParseInt(w[0].text, 10, 64)
	if size < 0 {
		p.fail(line, w[0].col, "the size %s is below 0", w[0].text)
		return
	}
	if len(w) < 3 {
		cut()
		return
	}
	kind, rest := w[2].text, w[3:]
	if len(rest) > 0 && isWord(rest[0].text) {
		kind, rest = kind+" "+rest[0].text, rest[1:]
	}
	if h.stamped && len(rest) > 2 && strings.Contains(rest[len(rest)-1].text, ":") {
		rest = rest[:len(rest)-2]
	}
	if h.root && len(rest) > 0 {
		if !isNumber(rest[0].text) {
			p.fail(line, rest[0].col, "%q is not a root, which the titles promise: a rank, or -1", rest[0].text)
			return
		}
		rest = rest[1:]
	}
	if len(rest) != h.half && len(rest) != 2*h.half {
		if len(rest) > 2*h.half {
			p.fail(line, rest[2*h.half].col, "the row has %s more than the titles", columns(len(rest)-2*h.half))
			return
		}
		cut()
		return
	}
	for half := 0; half < len(rest); half += h.half {
		figures, measured := p.figures(line, rest[half:half+3])
		if p.err != nil || measured {
			p.add(line, kind, size, figures[0], figures[1], figures[2])
			return
		}
	}
}

// columns is a number of columns with the noun.
func columns(n int) string {
	if n == 1 {
		return "1 column"
	}
	return strconv.Itoa(n) + " columns"
}

// isWord reports whether a text is the name of a reduction.
func isWord(s string) bool {
	return s != "N/A" && strings.IndexFunc(s, func(r rune) bool { return r < 'a' || r > 'z' }) < 0 && s != "inf" &&
		s != "nan"
}

// figures reads time, algbw and busbw of half a row; without a time nothing was measured.
func (p *parser) figures(line int, w []word) (f [3]float64, measured bool) {
	for k := range f {
		if w[k].text == "N/A" {
			if k == 0 {
				return f, false
			}
			continue
		}
		x, err := strconv.ParseFloat(w[k].text, 64)
		if err != nil || k == 0 && !positive(x) || x < 0 || math.IsNaN(x) {
			what := [...]string{"a time in us above 0", "algbw in GB/s", "busbw in GB/s"}[k]
			p.fail(line, w[k].col, "%q is not %s, nor N/A", w[k].text, what)
			return f, false
		}
		f[k] = x
	}
	return f, true
}
