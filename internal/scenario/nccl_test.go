package scenario

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/server"
)

// NCCL's variables and version decide as its own would; what it does not know, or leaves
// nothing to choose, is refused with its place, and what a workload says stands over them.
func TestNCCL(t *testing.T) {
	const two = "topology: {rail: {servers: 2, rails: 8, link: 400Gbps}}\nserver: dgx-h100\n"
	choice := func(nccl, more string) (string, []string, error) {
		v, err := Parse("s.yaml", []byte(two+nccl+"\nworkload: [collective: {op: allreduce, size: 1MiB"+more+"}]\n"), nil, nil)
		if err != nil {
			return "", nil, err
		}
		c := &v.Plan.Collectives[0]
		return c.Algorithm + " " + c.Protocol, v.Warnings, nil
	}
	for _, c := range []struct{ nccl, more, want, warns string }{
		{"", "", "nvlstree simple", ""},
		{"nccl: {env: {NVLS_ENABLE: 0}}", "", "tree ll128", ""},
		{"nccl: {env: {NCCL_ALGO: Ring}}", "", "ring ll128", ""},
		{"nccl: {env: {ALGO: '^nvlstree,Tree'}}", "", "ring ll128", ""},
		{"nccl: {env: {ALGO: Tree, PROTO: 'LL,Simple'}}", "", "tree simple", ""},
		{"nccl: {env: {ALGO: Ring}}", ", algorithm: tree", "tree ll128", "algorithm: tree stands over nccl.env.ALGO: Ring"},
		{"nccl: {env: {IB_TC: 106}}", "", "nvlstree simple", "nccl.env.IB_TC has no effect: it is not modelled"},
	} {
		got, warned, err := choice(c.nccl, c.more)
		if all := strings.Join(warned, "\n"); err != nil || got != c.want || c.warns == "" && all != "" || !strings.Contains(all, c.warns) {
			t.Errorf("%s%s: %s %v, warnings %q, want %s, %q", c.nccl, c.more, got, err, all, c.want, c.warns)
		}
	}
	for nccl, want := range map[string]string{
		"nccl: {version: 2.17}":                           "s.yaml:3:17: nccl.version: ",
		"nccl: {env: {ALGO: Ringo}}":                      `s.yaml:3:20: nccl.env.ALGO: "Ringo" is none of Ring, Tree, NVLS, NVLSTree;`,
		"nccl: {env: {ALGO: '^Ring,Tree,NVLS,NVLSTree'}}": `s.yaml:3:20: nccl.env.ALGO: "^Ring,Tree,NVLS,NVLSTree" leaves none`,
		"nccl: {env: {ALGOS: Ring}}":                      `s.yaml:3:14: unknown key "ALGOS" in nccl.env; did you mean "ALGO"?`,
		"nccl: {env: {ALGO: NVLSTree, PROTO: LL}}":        "s.yaml:4:25: workload[0].collective: no algorithm of allreduce is left with what NCCL_ALGO and NCCL_PROTO allow",
		"nccl: {env: {MAX_NCHANNELS: 65}}":                "s.yaml:3:29: nccl.env.MAX_NCHANNELS: ",
	} {
		if _, _, err := choice(nccl, ""); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", nccl, err, want)
		}
	}
	v, err := Parse("s.yaml", []byte(two+"nccl: {version: 2.30, env: {NET_GDR_LEVEL: PHB, MIN_NCHANNELS: 32}}\nworkload: [collective: {op: allreduce, size: 1GiB, algorithm: ring}]\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := v.NICs[v.Graph.HostOf(0)].Server; s.DirectLevel != server.Level("PHB") || s.OldTies || v.Plan.Collectives[0].Channels != 32 {
		t.Errorf("level %v, old ties %v, %d channels", s.DirectLevel, s.OldTies, v.Plan.Collectives[0].Channels)
	}
}
