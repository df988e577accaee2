package run_test

import (
	"fmt"
	"testing"

	"github.com/hopscope/hopscope/internal/scenario"
)

// A size among others takes what it takes alone.
func TestSizesAlone(t *testing.T) {
	parse := func(size string) *scenario.Valid {
		v, err := scenario.Parse("c", []byte("name: c\nnoise: off\ntopology: {rail: {servers: 2, rails: 8, link: 400Gbps}}\nserver: dgx-h100\nworkload: [{collective: {op: allreduce, "+size+"}}]\n"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	all := runOf(t, parse("sizes: {from: 1KiB, to: 1MiB, factor: 32}")).Collectives
	if len(all) != 3 {
		t.Fatalf("%d sizes, want 3", len(all))
	}
	for i := range all {
		c := &all[i]
		alone := runOf(t, parse(fmt.Sprintf("size: %dB", c.Bytes))).Collectives[0]
		if got, want := c.EndPS[0]-c.StartPS, alone.EndPS[0]-alone.StartPS; got != want || c.Protocol != alone.Protocol || c.Channels != alone.Channels {
			t.Errorf("%d B: %v with %s over %d channels, alone %v with %s over %d", c.Bytes, got, c.Protocol, c.Channels, want, alone.Protocol, alone.Channels)
		}
	}
}
