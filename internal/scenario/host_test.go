package scenario

import (
	"testing"

	"github.com/hopscope/hopscope/internal/host"
	"github.com/hopscope/hopscope/internal/units"
)

// What hosts and cards cost holds in every stack, for all hosts and for one.
func TestHostInEveryStack(t *testing.T) {
	const text = `
topology: {star: {hosts: 3, link: 100Gbps}}
nic: {qpc_cache: 100, max_rd_atomic: 4}
host: {post: 200ns, register: once, registration: {base: 1us, per_page: 10ns}, page_size: 2MB}
hosts: {h1: {repost: 5us, connect: 1ms, mtt_cache: 2048, max_inline: 64B}}
workload:
  - flow: {from: h0, to: h1, size: 1KB, verb: send}
`
	for _, stack := range StackNames() {
		v, err := ParseStack("s.yaml", []byte(text), stack, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", stack, err)
			continue
		}
		all := Host{Register: RegisterOnce, RegisterBase: units.Microsecond, RegisterPage: 10 * units.Nanosecond, PageSize: 2 * units.MiB}
		all.Spec, _ = host.Preset("free")
		all.Post = 200 * units.Nanosecond
		one := all
		one.Reposts, one.Repost, one.Connect = true, 5*units.Microsecond, units.Millisecond
		h0, h1 := &v.NICs[mustNode(t, v, "h0")], &v.NICs[mustNode(t, v, "h1")]
		if h0.Host != all || h1.Host != one {
			t.Errorf("%s: hosts cost %+v and %+v, want %+v and %+v", stack, h0.Host, h1.Host, all, one)
		}
		if h0.QPCCache != 100 || h0.MTTCache != 0 || h1.MTTCache != 2048 || h0.MaxRdAtomic != 4 || h1.MaxDestRdAtomic != 16 ||
			h0.MaxInline != 220 || h1.MaxInline != 64 || h0.DrainRate != 100*units.Gbps || h0.CacheMiss != 547*units.Nanosecond {
			t.Errorf("%s: cards are %+v and %+v", stack, h0, h1)
		}
	}
}
