package chakra

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/job"
	"github.com/hopscope/hopscope/internal/units"
)

// attr is an attribute: a number in the field of its type, or a text.
type attr struct {
	name  string
	field protowire.Number
	value any
}

func message(id uint64, name string, kind int, deps []uint64, duration uint64, attrs ...attr) []byte {
	var b []byte
	number := func(n protowire.Number, v uint64) {
		b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
	}
	number(1, id)
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), name)
	number(3, uint64(kind))
	if deps != nil {
		var list []byte
		for _, d := range deps {
			list = protowire.AppendVarint(list, d)
		}
		b = protowire.AppendBytes(protowire.AppendTag(b, 5, protowire.BytesType), list)
	}
	number(7, duration)
	for _, a := range attrs {
		x := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), a.name)
		switch v := a.value.(type) {
		case int:
			x = protowire.AppendVarint(protowire.AppendTag(x, a.field, protowire.VarintType), uint64(v))
		case string:
			x = protowire.AppendString(protowire.AppendTag(x, a.field, protowire.BytesType), v)
		}
		b = protowire.AppendBytes(protowire.AppendTag(b, 10, protowire.BytesType), x)
	}
	return protowire.AppendBytes(nil, b)
}

func metadata(version string) []byte {
	return protowire.AppendBytes(nil, protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType),
		version))
}

func file(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// rank is a trace with all kinds of nodes, out of order and with gaps in the numbers.
func rank(r int) []byte {
	peer := 1 - r
	out := [][]byte{metadata("0.0.4"),
		message(30, "AllGather", typeCollective, []uint64{10}, 0, attr{"is_cpu_op", 27, 0}, attr{"comm_type", 9, 2},
			attr{"comm_size", 9, 4096}, attr{"pg_name", 29, "1"}),
		message(10, "matmul", typeCompute, nil, 100, attr{"is_cpu_op", 27, 0}),
		message(20, "c10d::allgather_", typeCollective, nil, 7, attr{"is_cpu_op", 27, 1})}
	if r == 0 {
		out = append(out, message(40, "send", typeSend, []uint64{30}, 0, attr{"comm_dst", 11, peer}, attr{"comm_tag", 11,
			5}, attr{"comm_size", 13, 8192}))
	} else {
		out = append(out, message(40, "recv", typeRecv, []uint64{30}, 0, attr{"comm_src", 7, peer}, attr{"comm_tag", 7, 5}, attr{"comm_size", 13, 8192}))
	}
	return file(out...)
}

func jobOf(t *testing.T, opt Options, files ...[]byte) (*job.Spec, []string, error) {
	t.Helper()
	var traces []*Trace
	for i, f := range files {
		x, err := Read(f)
		if err != nil {
			return nil, nil, fmt.Errorf("file %d: %w", i, err)
		}
		traces = append(traces, x)
	}
	opt.Steps = 1
	j, notes, err := Job(traces, opt)
	if err == nil {
		err = j.Check()
	}
	return j, notes, err
}

// Nodes come in the order of what they depend on; integers of any type are numbers, host nodes of type 7 are no
// collectives, and sizes are by share or whole.
func TestTraces(t *testing.T) {
	groups := []byte(`{"1": [0, 1]}`)
	for _, share := range []bool{false, true} {
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		_, _ = z.Write(rank(1))
		_ = z.Close()
		j, notes, err := jobOf(t, Options{Groups: groups, Share: share}, rank(0), zipped.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		ops := j.Lists[0].Ops
		if len(ops) != 4 || ops[0].Name != "matmul" || ops[0].Time != 100*units.Microsecond || ops[0].Host ||
			ops[1].Name != "c10d::allgather_" || !ops[1].Host || ops[2].Coll != collective.AllGather || ops[3].Kind != job.Send || ops[3].Tag != 5 {
			t.Errorf("operations %+v", ops)
		}
		want := units.Bytes(4096)
		if share {
			want *= 2
		}
		if ops[2].Bytes != want || len(ops[2].After) != 1 || ops[2].After[0] != 0 {
			t.Errorf("share %v: %+v, want %v", share, ops[2], want)
		}
		if !strings.Contains(strings.Join(notes, "\n"), "2 nodes of type 7 on the host's side") {
			t.Errorf("notes %q", notes)
		}
	}
}

// Bad traces are one line.
func TestBadTraces(t *testing.T) {
	compute := func(id uint64, deps ...uint64) []byte { return message(id, "x", typeCompute, deps, 1) }
	for _, c := range []struct {
		name  string
		opt   Options
		files [][]byte
		want  string
	}{
		{"empty", Options{}, [][]byte{{}}, "has no node"},
		{"cut short", Options{}, [][]byte{rank(0)[:30]}, "is cut short"},
		{"no trace", Options{}, [][]byte{[]byte("hello, this is text")}, "is cut short or no message of a trace"},
		{"unknown type", Options{}, [][]byte{file(metadata("0.0.4"), message(1, "x", 9, nil, 1))}, "node 1 (x) is of type 9"},
		{"old schema", Options{}, [][]byte{file(metadata("0.0.1"), message(1, "COMP_NODE_fwd", 5, nil, 1))}, "a schema from before mid-2023"},
		{"circle", Options{}, [][]byte{file(metadata("0.0.4"), compute(1, 2), compute(2, 1))}, "depends on itself through others"},
		{"twice", Options{}, [][]byte{file(metadata("0.0.4"), compute(1), compute(1))}, "two nodes have the number 1"},
		{"send without receive", Options{Groups: []byte(`{"1": [0, 1]}`)}, [][]byte{rank(0), file(metadata("0.0.4"), message(30, "AllGather", typeCollective, nil, 0, attr{"comm_type", 9, 2}, attr{"comm_size", 9, 4096}, attr{"pg_name", 29, "1"}))}, "rank 1 receives 0"},
		{"communicator", Options{Groups: []byte(`{"2": [0, 1]}`)}, [][]byte{rank(0), rank(1)}, "communicator 1 is not among those that are given"},
		{"member", Options{Groups: []byte(`{"1": [0]}`)}, [][]byte{rank(0), rank(1)}, "rank 1 is not in communicator 1"},
		{"no such rank", Options{Groups: []byte(`{"1": [0, 9]}`)}, [][]byte{rank(0), rank(1)}, "communicator 1 has rank 9"},
		{"host trace", Options{}, [][]byte{[]byte(`{"schema": "1.1.0", "nodes": []}`)}, "is a host trace of PyTorch"},
		{"other JSON", Options{}, [][]byte{[]byte(`{"a": 1}`)}, "is JSON without workload_graph"},
	} {
		_, _, err := jobOf(t, c.opt, c.files...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// STAGE's samples: of DP 2, TP 2, PP 2 each rank has 24 collectives (12 AllGather, 8 ReduceScatter, 4 AllReduce), and
// 16 messages of 524,288 bytes are sent and received in all; of the MoE each has 24, 4 of them AllToAll of 262,144
// bytes (training.md, case 8).
func TestStage(t *testing.T) {
	dir := os.Getenv("HOPSCOPE_DATA")
	if dir == "" {
		t.Skip("HOPSCOPE_DATA does not name the folder of data")
	}
	count := func(name string) (calls map[collective.Op]int, sends int, bytes units.Bytes) {
		files := unpack(t, filepath.Join(dir, "training/chakra", name))
		var traces [][]byte
		for r := range 8 {
			traces = append(traces, files[fmt.Sprintf("workload.%d.et", r)])
		}
		j, _, err := jobOf(t, Options{Groups: files["workload.json"], Share: true}, traces...)
		if err != nil {
			t.Fatal(err)
		}
		calls = map[collective.Op]int{}
		for r, l := range j.Of {
			for k := range j.Lists[l].Ops {
				switch o := &j.Lists[l].Ops[k]; {
				case o.Kind == job.Send:
					sends, bytes = sends+1, bytes+o.Bytes
				case o.Kind == job.Collective && r == 0:
					calls[o.Coll]++
				}
			}
		}
		return calls, sends, bytes
	}
	calls, sends, bytes := count("stage_dense_dp2_tp2_pp2.tar.gz")
	if calls[collective.AllGather] != 12 || calls[collective.ReduceScatter] != 8 ||
		calls[collective.AllReduce] != 4 ||
		sends != 16 ||
		bytes != 16*524288 {
		t.Errorf("dense: %v, %d messages of %v", calls, sends, bytes)
	}
	calls, _, _ = count("stage_moe_tp2_ep4.tar.gz")
	total := 0
	for _, n := range calls {
		total += n
	}
	if total != 24 || calls[collective.AllToAll] != 4 {
		t.Errorf("MoE: %v", calls)
	}
}

// unpack reads the files of an archive by their base names.
func unpack(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return out
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(h.Name)] = data
	}
}

// No file makes the reader panic.
func FuzzRead(f *testing.F) {
	f.Add(rank(0))
	f.Add([]byte(`{"workload_graph": [{"Id": 1, "Name": "x", "NodeType": 4, "runtime": 3}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := Read(data)
		if err == nil {
			if j, _, err := Job([]*Trace{x}, Options{Steps: 1}); err == nil {
				_ = j.Check()
			}
		}
	})
}
