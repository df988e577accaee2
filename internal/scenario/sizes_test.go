package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// Sizes are those of nccl-tests: from the first by the factor up to the last, rounded down to
// equal parts, each with its own choice of protocol, well after the one before.
func TestSizes(t *testing.T) {
	const two = "topology: {rail: {servers: 2, rails: 8, link: 400Gbps}}\nserver: dgx-h100\nworkload: [collective: {"
	v, err := Parse("s.yaml", []byte(two+"op: allgather, sizes: {from: 100B, to: 1MB, factor: 8}, start: 3us}]\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []units.Bytes
	for i, c := range v.Plan.Collectives {
		sizes = append(sizes, c.Bytes)
		if i == 0 && c.Start != 3*units.Microsecond || i > 0 && c.Start < v.Plan.Collectives[i-1].Start+units.Millisecond {
			t.Errorf("%v begins at %v", c.Bytes, c.Start)
		}
	}
	want := []units.Bytes{64, 768, 6400, 51200, 409600}
	if len(sizes) != len(want) {
		t.Fatalf("sizes %v, want %v", sizes, want)
	}
	for i := range want {
		if sizes[i] != want[i] {
			t.Errorf("sizes %v, want %v", sizes, want)
			break
		}
	}
	for spec, want := range map[string]string{
		"op: allreduce": "has no size; give the bytes of the operation, as nccl-tests does, such as size: 64MB, or sizes: {from: 8B, to: 1GiB}",
		"op: allreduce, size: 8B, sizes: {from: 8B, to: 16B}":  "workload[0].collective.sizes: stands beside size; keep one",
		"op: allreduce, sizes: {from: 16B, to: 8B}":            "workload[0].collective.sizes: from 16B is more than to 8B",
		"op: alltoall, sizes: {from: 8B, to: 1KB}":             "workload[0].collective.sizes: from 8B is less than an element of 4B for each of 16 ranks; give at least 64B",
		"op: allreduce, sizes: {from: 8B, to: 16B, factor: 1}": "workload[0].collective.sizes.factor: ",
		"op: allreduce, sizes: {from: 8B, to: 2TiB}":           "workload[0].collective.sizes.to: 2TiB is not from 1B to 1TiB",
		"op: allreduce, sizes: {from: 8B}":                     "workload[0].collective.sizes has no to; give the largest size, such as to: 1GiB",
	} {
		if _, err := Parse("s.yaml", []byte(two+spec+"}]\n"), nil, nil); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", spec, err, want)
		}
	}
}

// nccl-tests goes to sizes above what one message may have.
func TestLargeSizes(t *testing.T) {
	v, err := Parse("s.yaml", []byte("server: dgx-h100\nworkload: [collective: {op: sendrecv, sizes: {from: 2GiB, to: 8GiB}}]\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if all := v.Plan.Collectives; len(all) != 3 || all[2].Bytes != 8<<30 {
		t.Errorf("%d sizes, want 2, 4 and 8 GiB", len(all))
	}
}

// A server without cards stands alone, and the same with a network is refused.
func TestNoCards(t *testing.T) {
	const cardless = "server: {text: \"\\tGPU0\\tGPU1\\nGPU0\\t X \\tPHB\\nGPU1\\tPHB\\t X \\n\"}\nworkload: [collective: {op: allreduce, size: 1MiB}]\n"
	v, err := Parse("s.yaml", []byte(cardless), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Plan.Conns) != 0 || len(v.Plan.Collectives) != 1 {
		t.Errorf("%d connections for %d collectives, want none for one", len(v.Plan.Conns), len(v.Plan.Collectives))
	}
	for _, w := range v.Warnings {
		if strings.Contains(w, "nic0") {
			t.Errorf("a warning about a card that is not there: %s", w)
		}
	}
	_, err = Parse("s.yaml", []byte("topology: {star: {hosts: 2, link: 100Gbps}}\n"+cardless), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "its server, server, has no network card") {
		t.Errorf("with a network: %v", err)
	}
}
