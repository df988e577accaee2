// Package ncclog reads what nccl-tests writes: its table, in the columns of every version, and
// the JSON of its option -J (nccl-tests, src/util.cu).
package ncclog

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Log is one test: the times of one operation by size.
type Log struct {
	Op    string // as scenarios write it, such as "allreduce"; "": the log does not say
	Ranks int    // 0: the log does not say
	Hosts int    // names of hosts in the list of devices; 0: it has none
	NCCL  string // version of NCCL, such as "2.26.2"; "": the log does not say
	Rows  []Row  // by size, each once
	// Cut is the line at which the log breaks off, in the middle of a row or before the lines
	// that end a test; 0: it is whole.
	Cut int
	// RanksAt is the line that says how many ranks there are, 0 without one.
	RanksAt int
}

// Row is one size. Of a size that stands several times it has the means.
type Row struct {
	Line  int     // in the file, of the first
	Bytes int64   // above 0
	US    float64 // out of place where that was measured, else in place; above 0
	// Factor is busbw over algbw as printed, 0 where they have too few digits to tell.
	Factor float64
	times  int
}

// Error is a log that cannot be read.
type Error struct {
	File      string
	Line, Col int // from 1; 0: no place to point at
	Msg       string
}

func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.File + ": " + e.Msg
	case e.Col == 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// programs are the tests by the name of their program, and what scenarios call the operation;
// "": hopscope has none.
var programs = [...]struct{ program, op string }{
	{"all_reduce_perf", "allreduce"}, {"all_gather_perf", "allgather"}, {"reduce_scatter_perf", "reducescatter"},
	{"alltoallv_perf", ""}, {"alltoall_perf", "alltoall"}, {"broadcast_perf", "broadcast"}, {"sendrecv_perf", "sendrecv"},
	{"reduce_perf", ""}, {"gather_perf", ""}, {"scatter_perf", ""}, {"hypercube_perf", ""},
}

// Parse reads a log; name stands for it in errors, which are all *Error.
func Parse(name string, text []byte) (*Log, error) {
	p := &parser{name: name, log: new(Log), hosts: map[string]bool{}, sizes: map[int64]int{}}
	if trimmed := bytes.TrimLeft(text, " \t\r\n\ufeff"); len(trimmed) > 0 && trimmed[0] == '{' {
		p.json(text)
	} else {
		p.lines(text)
	}
	if p.err != nil {
		return nil, p.err
	}
	l := p.log
	l.Hosts = len(p.hosts)
	if len(l.Rows) == 0 {
		return nil, &Error{File: name, Line: l.Cut, Msg: "holds no row of nccl-tests with a size and a time; give " +
			"what a test such as all_reduce_perf printed, or the file of its option -J"}
	}
	slices.SortStableFunc(l.Rows, func(a, b Row) int { return cmp.Compare(a.Bytes, b.Bytes) })
	return l, nil
}

// parser is a log while it is read.
type parser struct {
	name  string
	log   *Log
	err   *Error
	hosts map[string]bool
	sizes map[int64]int // index of the row of a size
	begun string        // the test that began, by its program
	kind  string        // data type and reduction of the rows
	head  *header
	heads int
	ended bool
}

// fail keeps the first thing that is wrong.
func (p *parser) fail(line, col int, format string, args ...any) {
	if p.err == nil {
		msg := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
		p.err = &Error{File: p.name, Line: line, Col: col, Msg: msg}
	}
}

// test notes which test began, by a text that may name its program.
func (p *parser) test(line, col int, text string) {
	for _, known := range programs {
		if !strings.Contains(text, known.program) {
			continue
		}
		switch {
		case known.op == "":
			p.fail(line, col, "%s tests an operation that collectives do not have; give a log of all_reduce_perf, "+
				"all_gather_perf, reduce_scatter_perf, alltoall_perf, broadcast_perf or sendrecv_perf", known.program)
		case p.begun != "" && p.begun != known.program:
			p.second(line, col, known.program)
		}
		p.begun, p.log.Op = known.program, known.op
		return
	}
}

// second refuses a second test.
func (p *parser) second(line, col int, what string) {
	p.fail(line, col, "a second test begins here (%s); cut the log in two and give one", what)
}

// add takes a row of a size.
func (p *parser) add(line int, kind string, size int64, us, algbw, busbw float64) {
	switch {
	case p.err != nil || size == 0: // sizes below an element are printed as 0
		return
	case p.kind != "" && p.kind != kind:
		p.fail(line, 1, "%s, where the rows above have %s: two operations or types in one log; cut it in two and give "+
			"one", kind, p.kind)
		return
	}
	p.kind = kind
	row := Row{Line: line, Bytes: size, US: us, times: 1}
	if algbw >= 10 { // two digits after the point
		row.Factor = busbw / algbw
	}
	if i, seen := p.sizes[size]; seen {
		r := &p.log.Rows[i]
		r.US += (us - r.US) / float64(r.times+1)
		r.times++
		return
	}
	p.sizes[size] = len(p.log.Rows)
	p.log.Rows = append(p.log.Rows, row)
}

// ranks takes the highest rank of a list of devices.
func (p *parser) rank(line, rank int, host string) {
	const most = 1 << 20
	if rank < 0 || rank >= most {
		return
	}
	if rank+1 > p.log.Ranks {
		p.log.Ranks, p.log.RanksAt = rank+1, line
	}
	if host != "" {
		p.hosts[host] = true
	}
}

// version takes a version code as NCCL has it since 2.9, such as 22602, or before, 2804.
func (p *parser) version(code int) {
	switch {
	case code >= 10000:
		p.log.NCCL = fmt.Sprintf("%d.%d.%d", code/10000, code/100%100, code%100)
	case code >= 1000:
		p.log.NCCL = fmt.Sprintf("%d.%d.%d", code/1000, code/100%10, code%100)
	}
}

// positive reports whether a time is one.
func positive(us float64) bool { return us > 0 && !math.IsInf(us, 0) }
