package server

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Matrix is what nvidia-smi topo -m prints: the class of every pair of GPUs and
// network cards.
type Matrix struct {
	Names []string // GPU0, GPU1, ... and NIC0, ... or names of cards, as in the header
	Cards []string // what the NIC legend calls each of Names; "": not said
	Cells [][]Cell // by row and column
	// Affinity names the CPUs or, when NUMA is not -1, the NUMA node that a device is
	// next to; "" when the matrix does not say.
	Affinity []string
	NUMA     []int
	lines    []int // of the rows in the file
	columns  [][]int
}

// Cell is how far two devices are from one another.
type Cell struct {
	Class Class
	Links int // of NV
}

// String is a cell as nvidia-smi writes it.
func (c Cell) String() string {
	if c.Class == NV {
		return "NV" + strconv.Itoa(c.Links)
	}
	return c.Class.String()
}

// escapes are the sequences of a terminal: nvidia-smi underlines its header.
var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// field is a word of a line.
type field struct {
	text string
	col  int // from 1
}

// fields splits a line at white space.
func fields(line string) []field {
	var out []field
	for col := 0; col < len(line); {
		if line[col] <= ' ' {
			col++
			continue
		}
		end := col
		for end < len(line) && line[end] > ' ' {
			end++
		}
		out = append(out, field{line[col:end], col + 1})
		col = end
	}
	return out
}

// ParseMatrix reads what nvidia-smi topo -m prints, with what stands around it. An
// error is an *Error.
func ParseMatrix(text []byte) (*Matrix, error) {
	text = escapes.ReplaceAll(text, nil)
	m := &Matrix{}
	number, row, cpu := 0, -1, false
	for raw := range bytes.Lines(text) {
		number++
		words := fields(string(raw))
		switch {
		case len(words) == 0:
		case row < 0:
			n, withCPU, err := headerOf(words, number)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				m.begin(words[:n])
				row, cpu = 0, withCPU
			}
		case row < len(m.Names):
			if err := m.row(row, words, number, cpu); err != nil {
				return nil, err
			}
			row++
		default:
			m.legend(words)
		}
	}
	switch {
	case row < 0:
		return nil, &Error{1, 1, "no matrix in this file: nvidia-smi topo -m begins with a line of names, such as GPU0 GPU1 NIC0 CPU Affinity"}
	case row < len(m.Names):
		return nil, &Error{number + 1, 1, fmt.Sprintf("the row of %s is missing; the matrix has %d columns and %d rows", m.Names[row], len(m.Names), row)}
	}
	return m, m.check()
}

// isMatrix reports whether text has the header of a matrix.
func isMatrix(text []byte) bool {
	for raw := range bytes.Lines(escapes.ReplaceAll(text, nil)) {
		if words := fields(string(raw)); len(words) > 0 && isDeviceName(words[0].text) {
			return true
		}
	}
	return false
}

// isDeviceName accepts what a header begins with: GPUs come first, and servers without
// have cards.
func isDeviceName(s string) bool { return isGPUName(s) || isNumbered(s, "NIC") }

func isGPUName(s string) bool { return isNumbered(s, "GPU") }

func isNumbered(s, prefix string) bool {
	digits, ok := strings.CutPrefix(s, prefix)
	_, err := strconv.ParseUint(digits, 10, 16)
	return ok && err == nil
}

// headerOf counts the names of a line that is the header, and says whether columns of
// affinity follow them; 0 for another line.
func headerOf(words []field, number int) (names int, affinity bool, err error) {
	if !isDeviceName(words[0].text) || len(words) > 1 && words[1].text == "X" {
		return 0, false, nil
	}
	gpus := 0
	for names < len(words) && words[names].text != "CPU" && words[names].text != "NUMA" {
		for _, before := range words[:names] {
			if before.text == words[names].text {
				return 0, false, &Error{number, words[names].col, before.text + " stands twice in the header; every device has one column"}
			}
		}
		if isGPUName(words[names].text) {
			gpus++
		}
		if names++; names > maxDevices {
			return 0, false, &Error{number, words[names-1].col, fmt.Sprintf("more than %d devices; no server has as many", maxDevices)}
		}
		if gpus > maxGPUs {
			return 0, false, &Error{number, words[names-1].col,
				fmt.Sprintf("more than %d GPUs; no server has as many: give the matrix of one server", maxGPUs)}
		}
	}
	return names, names < len(words), nil
}

// begin makes room for the devices of the header.
func (m *Matrix) begin(names []field) {
	for _, f := range names {
		m.Names = append(m.Names, f.text)
	}
	n := len(names)
	m.Cards, m.Affinity, m.NUMA = make([]string, n), make([]string, n), make([]int, n)
	for i, name := range m.Names {
		m.NUMA[i] = -1
		if !isGPUName(name) && !strings.HasPrefix(name, "NIC") {
			m.Cards[i] = name // before the NIC legend came, columns had names of cards
		}
	}
}

// row reads the line of one device.
func (m *Matrix) row(row int, words []field, number int, affinity bool) error {
	if words[0].text != m.Names[row] {
		return &Error{number, words[0].col, fmt.Sprintf("the row of %s is expected here, as in the header, not %q", m.Names[row], clip(words[0].text))}
	}
	n := len(m.Names)
	if len(words) < n+1 {
		return &Error{number, words[len(words)-1].col, fmt.Sprintf("the row of %s has %d cells; the header has %d devices", m.Names[row], len(words)-1, n)}
	}
	cells, cols := make([]Cell, n), make([]int, n)
	for i, w := range words[1 : n+1] {
		c, ok := cellOf(w.text)
		if !ok {
			return &Error{number, w.col, fmt.Sprintf("%q is no class of a path; there are X, NV and a number, PIX, PXB, PHB, NODE and SYS", clip(w.text))}
		}
		if (c.Class == SelfX) != (i == row) {
			return &Error{number, w.col, fmt.Sprintf("%s to %s is %s; X, for the device itself, stands on the diagonal and nowhere else", m.Names[row], m.Names[i], c)}
		}
		cells[i], cols[i] = c, w.col
	}
	m.Cells, m.columns, m.lines = append(m.Cells, cells), append(m.columns, cols), append(m.lines, number)
	if rest := words[n+1:]; affinity && len(rest) > 0 {
		m.Affinity[row] = rest[0].text
		if len(rest) > 1 {
			m.NUMA[row] = firstNumber(rest[1].text)
		}
	}
	return nil
}

// firstNumber is the first of a list such as "0,2-17"; -1 when it has none.
func firstNumber(s string) int {
	if end := strings.IndexAny(s, ",-"); end > 0 {
		s = s[:end]
	}
	n, err := strconv.ParseUint(s, 10, 10)
	if err != nil {
		return -1
	}
	return int(n)
}

// cellOf reads a cell. SOC is what SYS was called before 2017.
func cellOf(s string) (Cell, bool) {
	if digits, ok := strings.CutPrefix(s, "NV"); ok {
		n, err := strconv.ParseUint(digits, 10, 8)
		return Cell{NV, int(n)}, err == nil && n >= 1 && n <= maxPeerLinks
	}
	if s == "SOC" {
		s = "SYS"
	}
	i := slices.Index(classWords(), s)
	return Cell{Class: Class(max(i, 0))}, i >= 0
}

// classWords are the words of all classes, by their number.
func classWords() []string {
	words := make([]string, SYS+1)
	for c := range words {
		words[c] = Class(c).String()
	}
	return words
}

// legend takes "NIC0: mlx5_0" after the matrix.
func (m *Matrix) legend(words []field) {
	name, ok := strings.CutSuffix(words[0].text, ":")
	if i := slices.Index(m.Names, name); ok && i >= 0 && len(words) == 2 {
		m.Cards[i] = words[1].text
	}
}

// check holds that the matrix is symmetric and that NV stands between GPUs.
func (m *Matrix) check() error {
	for i := range m.Names {
		for j := range i {
			a, b := m.Cells[i][j], m.Cells[j][i]
			if a != b {
				return &Error{m.lines[i], m.columns[i][j], fmt.Sprintf("%s to %s is %s here, but line %d has %s; the way back is of the same class", m.Names[i], m.Names[j], a, m.lines[j], b)}
			}
			if a.Class == NV && !(isGPUName(m.Names[i]) && isGPUName(m.Names[j])) {
				return &Error{m.lines[i], m.columns[i][j], fmt.Sprintf("%s to %s is %s; NVLink joins GPUs", m.Names[i], m.Names[j], a)}
			}
		}
	}
	return nil
}
