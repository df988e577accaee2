// Package chakra reads Chakra execution traces (MLCommons; et_def.proto), a file for each rank, and makes a job of
// them. The schemas in use differ in how they write attributes, so that any integer field is taken for a number.
package chakra

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Types of nodes (et_def.proto).
const (
	typeInvalid = iota
	typeMetadata
	typeMemLoad
	typeMemStore
	typeCompute
	typeSend
	typeRecv
	typeCollective
)

// Node is an operation of a trace.
type Node struct {
	ID       uint64
	Name     string
	Type     uint64
	Ctrl     []uint64 // nodes that it depends on
	Data     []uint64
	Start    uint64 // us, of the machine that was traced; 0: not known
	Duration uint64 // us
	ints     map[string]int64
	texts    map[string]string
}

// Trace is the file of a rank.
type Trace struct {
	Schema string
	Nodes  []Node
}

// MaxNodes bounds the nodes of a file.
const MaxNodes = 1 << 22

// maxMessage bounds a node: those of real traces list tensors, in some kilobytes.
const maxMessage = 16 << 20

// Read reads a file: protocol buffers, each behind its length, or the JSON of Chakra's feeder, compressed or not.
func Read(data []byte) (*Trace, error) {
	if len(data) > 2 && data[0] == 0x1f && data[1] == 0x8b {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("is no gzip file that can be read: %v", err)
		}
		if data, err = io.ReadAll(io.LimitReader(z, 1<<31)); err != nil {
			return nil, fmt.Errorf("is cut short within its compression: %v", err)
		}
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		return readJSON(trimmed)
	}
	return readProto(bufio.NewReader(bytes.NewReader(data)), len(data))
}

// readProto reads messages, the first of which is about the file.
func readProto(r *bufio.Reader, size int) (*Trace, error) {
	t := &Trace{}
	at := 0
	for n := 0; ; n++ {
		length, used, err := varint(r)
		if err == io.EOF && used == 0 {
			break
		}
		at += used
		if err != nil || length > maxMessage || at+int(length) > size {
			return nil, fmt.Errorf("message %d, at byte %d, is cut short or no message of a trace", n, at-used)
		}
		message := make([]byte, length)
		if _, err := io.ReadFull(r, message); err != nil {
			return nil, fmt.Errorf("message %d, at byte %d, is cut short", n, at)
		}
		at += int(length)
		if n == 0 && isMetadata(message) {
			t.Schema = schemaOf(message)
			continue
		}
		node, err := nodeOf(message)
		if err != nil {
			return nil, fmt.Errorf("message %d: %v", n, err)
		}
		if t.Nodes = append(t.Nodes, node); len(t.Nodes) > MaxNodes {
			return nil, fmt.Errorf("more than %d nodes", MaxNodes)
		}
	}
	return t, t.check()
}

func varint(r *bufio.Reader) (v uint64, used int, err error) {
	for shift := uint(0); shift < 64; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			if used > 0 {
				err = io.ErrUnexpectedEOF
			}
			return 0, used, err
		}
		used++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, used, nil
		}
	}
	return 0, used, fmt.Errorf("no length")
}

// fields calls f with the fields of a message.
func fields(b []byte, f func(n protowire.Number, kind protowire.Type, number uint64, data []byte) error) error {
	for len(b) > 0 {
		n, kind, used := protowire.ConsumeTag(b)
		if used < 0 {
			return fmt.Errorf("is no protocol buffer: %v", protowire.ParseError(used))
		}
		b = b[used:]
		var number uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			number, used = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var v uint32
			v, used = protowire.ConsumeFixed32(b)
			number = uint64(v)
		case protowire.Fixed64Type:
			number, used = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			data, used = protowire.ConsumeBytes(b)
		default:
			used = protowire.ConsumeFieldValue(n, kind, b)
		}
		if used < 0 {
			return fmt.Errorf("is no protocol buffer: %v", protowire.ParseError(used))
		}
		if err := f(n, kind, number, data); err != nil {
			return err
		}
		b = b[used:]
	}
	return nil
}

// isMetadata reports whether a message is about the file: its first field is a text, a node's a number.
func isMetadata(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	n, kind, used := protowire.ConsumeTag(b)
	return used > 0 && kind == protowire.BytesType && (n == 1 || n == 2)
}

func schemaOf(b []byte) (schema string) {
	_ = fields(b, func(n protowire.Number, kind protowire.Type, _ uint64, data []byte) error {
		if kind != protowire.BytesType {
			return nil
		}
		if n == 1 && schema == "" {
			schema = string(data)
		}
		if key, _, text, is := attribute(data); n == 2 && is && key == "schema" {
			schema = text
		}
		return nil
	})
	return schema
}

// nodeOf reads a node.
func nodeOf(b []byte) (Node, error) {
	x := Node{ints: map[string]int64{}, texts: map[string]string{}}
	err := fields(b, func(n protowire.Number, kind protowire.Type, number uint64, data []byte) error {
		switch n {
		case 1:
			x.ID = number
		case 2:
			x.Name = string(data)
		case 3:
			x.Type = number
		case 4, 5:
			to := &x.Ctrl
			if n == 5 {
				to = &x.Data
			}
			if kind == protowire.VarintType {
				*to = append(*to, number)
				return nil
			}
			for len(data) > 0 {
				v, used := protowire.ConsumeVarint(data)
				if used < 0 {
					return fmt.Errorf("node %d: its dependencies are no numbers", x.ID)
				}
				*to, data = append(*to, v), data[used:]
			}
		case 6:
			x.Start = number
		case 7:
			x.Duration = number
		case 10:
			key, v, text, is := attribute(data)
			if !is {
				return nil
			}
			x.ints[key], x.texts[key] = v, text
		}
		return nil
	})
	return x, err
}

// attribute reads a name and its value: as a number, and as a text.
func attribute(b []byte) (key string, v int64, text string, ok bool) {
	err := fields(b, func(n protowire.Number, kind protowire.Type, number uint64, data []byte) error {
		switch {
		case n == 1 && kind == protowire.BytesType:
			key = string(data)
		case n == 2: // documentation
		case kind == protowire.BytesType:
			text = string(data)
		case kind == protowire.Fixed64Type && n == 5: // a double
			v = int64(math.Float64frombits(number))
		default:
			v = int64(number)
		}
		return nil
	})
	return key, v, text, err == nil && key != ""
}

// check refuses files of older schemas, whose types had other numbers.
func (t *Trace) check() error {
	if len(t.Nodes) == 0 {
		return fmt.Errorf("has no node")
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Type > typeCollective {
			return fmt.Errorf("node %d (%s) is of type %d, and types are 1 to %d", n.ID, n.Name, n.Type, typeCollective)
		}
		if n.Type == typeSend && len(n.Name) > 9 && n.Name[:9] == "COMP_NODE" {
			return fmt.Errorf("node %d (%s) is a computation of type 5: a schema from before mid-2023, whose types had other "+
				"numbers; convert the trace again", n.ID, n.Name)
		}
	}
	return nil
}

// jsonNode is a node in the JSON of Chakra's feeder.
type jsonNode struct {
	ID, Id      *uint64
	Name        string
	NodeType    uint64
	CtrlDeps    []uint64 `json:"ctrlDeps"`
	CtrlDepsToo []uint64 `json:"ctrl_deps"`
	DataDeps    []uint64 `json:"data_deps"`
	Runtime     uint64
	IsCPU       *bool  `json:"is_cpu_op"`
	CommType    *int64 `json:"comm_type"`
	CommSize    *int64 `json:"comm_size"`
	CommSrc     *int64 `json:"comm_src"`
	CommDst     *int64 `json:"comm_dst"`
	CommTag     *int64 `json:"comm_tag"`
	NumOps      *int64 `json:"num_ops"`
	TensorSize  *int64 `json:"tensor_size"`
	Group       string `json:"pg_name"`
}

func readJSON(data []byte) (*Trace, error) {
	var file struct {
		Graph  []jsonNode      `json:"workload_graph"`
		Nodes  json.RawMessage `json:"nodes"`
		Schema string          `json:"schema"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("is no JSON that can be read: %v", err)
	}
	switch {
	case file.Nodes != nil:
		return nil,
			fmt.Errorf("is a host trace of PyTorch (schema %s), which has no times of GPUs; convert it with chakra_converter, "+
				"together with the trace of its kernels", file.Schema)
	case file.Graph == nil:
		return nil, fmt.Errorf("is JSON without workload_graph; give what Chakra's feeder writes, or a .et file")
	}
	t := &Trace{Schema: "json"}
	for i := range file.Graph {
		j := &file.Graph[i]
		x := Node{
			Name:     j.Name,
			Type:     j.NodeType,
			Ctrl:     append(j.CtrlDeps, j.CtrlDepsToo...),
			Data:     j.DataDeps,
			Duration: j.Runtime,
			ints:     map[string]int64{},
			texts:    map[string]string{},
		}
		switch {
		case j.ID != nil:
			x.ID = *j.ID
		case j.Id != nil:
			x.ID = *j.Id
		default:
			return nil, fmt.Errorf("node %d of workload_graph has no Id", i)
		}
		if j.IsCPU != nil {
			x.ints["is_cpu_op"] = 0
			if *j.IsCPU {
				x.ints["is_cpu_op"] = 1
			}
		}
		for _, a := range []struct {
			key string
			v   *int64
		}{{"comm_type", j.CommType}, {"comm_size", j.CommSize}, {"comm_src", j.CommSrc}, {"comm_dst", j.CommDst},
			{"comm_tag", j.CommTag}, {"num_ops", j.NumOps}, {"tensor_size", j.TensorSize}} {
			if a.v != nil {
				x.ints[a.key] = *a.v
			}
		}
		if j.Group != "" {
			x.texts["pg_name"] = j.Group
		}
		t.Nodes = append(t.Nodes, x)
	}
	return t, t.check()
}
