package ns3

import (
	"strconv"
	"strings"

	"github.com/hopscope/hopscope/internal/importer"
	"github.com/hopscope/hopscope/internal/tree"
	"github.com/hopscope/hopscope/internal/units"
	"github.com/hopscope/hopscope/internal/workload"
)

// flows is a flow file.
type flows struct {
	*topo
	head    pos // the count
	list    []flow
	perPair map[[2]int]int // flows so far of a pair: looked up, never iterated
}

// flow is one of its rows.
type flow struct {
	line             int
	src, dst         int
	pg, sport, dport int
	size             units.Bytes
	start            units.Time
}

// read reads the number of flows and a row per flow, sorted by start time: src dst pg dport
// bytes start_s, or the same without dport.
func (f *flows) read(in *importer.Rows) {
	head := in.Row("the number of flows", 1)
	if head == nil {
		return
	}
	f.head = head[0].Pos
	count := f.Number(head[0], "flow count", 1, workload.MaxMessages)
	columns := []int{6, 5}
	last := units.Time(0)
	for i := int64(0); i < count && f.Err == nil; i++ {
		w := in.Row("a flow (src dst pg dport bytes start)", columns...)
		if w == nil {
			return
		}
		columns = []int{len(w)}
		last = f.readFlow(w, last)
	}
	f.finish(in, "flows", int(count))
}

func (f *flows) readFlow(w []word, last units.Time) units.Time {
	src, dst := f.host(w[0], "source"), f.host(w[1], "destination")
	if f.Err == nil && src == dst {
		f.Fail(w[1].Pos, "flow from host %s to itself; name two hosts", w[0].Text)
	}
	if n := f.perServer; f.Err == nil && n > 0 && src/n == dst/n {
		f.Fail(w[1].Pos, "flow from %d to %d, GPUs of one server, whose NVLink is left out; name GPUs of two servers",
			src, dst)
	}
	one := flow{line: w[0].Pos.Line, src: int(src), dst: int(dst), pg: int(f.Number(w[2], "priority group", 0, 7))}
	if len(w) == 6 {
		one.dport = int(f.Number(w[3], "destination port", 0, 65535))
	}
	tail := w[len(w)-2:]
	one.size = units.Bytes(f.Number(tail[0], "flow size", 1, int64(workload.MaxBytes)))
	start, bad := Seconds(tail[1], "start time")
	f.Keep(bad)
	if f.Err == nil && start < last {
		f.Fail(tail[1].Pos, "start time %s is before the row above; sort the flows by start time", tail[1].Text)
	}
	pair := [2]int{one.src, one.dst}
	one.start, one.sport = start, 10000+f.perPair[pair]%55000
	f.perPair[pair]++
	f.list = append(f.list, one)
	return start
}

// host reads a node id that must be a host's.
func (f *flows) host(w word, what string) int64 {
	id := f.Number(w, what, 0, int64(len(f.kinds))-1)
	if f.Err == nil && f.kinds[id] != hostNode {
		f.Fail(w.Pos, "%s %d is a switch; flows run between hosts", what, id)
	}
	return id
}

// tree writes the flows as rows, each in the line that it has in its file. What all share
// stands above them.
func (f *flows) tree() *node {
	n := &node{Kind: tree.Mapping, Pos: f.head}
	header := "from,to,size,start"
	var columns []func(*flow) int // those that differ
	for _, c := range []struct {
		key   string
		value func(*flow) int
	}{
		{"class", func(one *flow) int { return one.pg }},
		{"dscp", func(one *flow) int { return 8 * one.pg }},
		{"src_port", func(one *flow) int { return one.sport }},
		{"dst_port", func(one *flow) int { return one.dport }},
	} {
		same := true
		for i := range f.list {
			same = same && c.value(&f.list[i]) == c.value(&f.list[0])
		}
		if same {
			n.Add(c.key, tree.Text(strconv.Itoa(c.value(&f.list[0]))))
		} else {
			header, columns = header+","+c.key, append(columns, c.value)
		}
	}
	var b strings.Builder
	b.WriteString(header)
	line := f.head.Line
	for i := range f.list {
		one := &f.list[i]
		for ; line < one.line; line++ {
			b.WriteByte('\n')
		}
		b.WriteString(f.port(int64(one.src), i) + "," + f.port(int64(one.dst), i) + "," +
			one.size.String() + "," + one.start.String())
		for _, value := range columns {
			b.WriteString("," + strconv.Itoa(value(one)))
		}
	}
	at := pos{File: f.head.File, Line: f.head.Line, Col: 1}
	n.Add("rows", &node{Kind: tree.Scalar, Text: b.String(), Pos: at, TextAt: at})
	entry := &node{Kind: tree.Mapping, Pos: f.head}
	entry.Add("flows", n)
	return &node{Kind: tree.Sequence, Pos: f.head, Items: []*node{entry}}
}
