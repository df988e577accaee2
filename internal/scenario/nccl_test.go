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
		{"nccl: {version: 2.26.2-1}", "", "nvlstree simple", ""},
		{"nccl: {env: {P2P_LL_THRESHOLD: 0}}", "", "nvlstree simple", "nccl.env.P2P_LL_THRESHOLD: 0 has no effect on allreduce"},
		{"nccl: {env: {IB_TIMEOUT: 22}}", "", "nvlstree simple", "nccl.env.IB_TIMEOUT has no effect: it is not modelled"},
	} {
		got, warned, err := choice(c.nccl, c.more)
		if all := strings.Join(warned, "\n"); err != nil || got != c.want || c.warns == "" && all != "" || !strings.Contains(all, c.warns) {
			t.Errorf("%s%s: %s %v, warnings %q, want %s, %q", c.nccl, c.more, got, err, all, c.want, c.warns)
		}
	}
	for nccl, want := range map[string]string{
		"nccl: {version: 2.17}":                                `s.yaml:3:17: nccl.version: "2.17" is older than 2.18, the oldest version whose rules are known; did you mean "2.18"?`,
		"nccl: {version: 2.99}":                                `s.yaml:3:17: nccl.version: "2.99" is newer than 2.30,`,
		"nccl: {version: two}":                                 `s.yaml:3:17: nccl.version: "two" is no version of NCCL`,
		"nccl: {env: {MIN_NCHANNELS: 8, MAX_NCHANNELS: 4}}":    "s.yaml:3:29: nccl.env.MIN_NCHANNELS: 8 is more than MAX_NCHANNELS: 4;",
		"nccl: {env: {NCCL_MIN_CTAS: 4, MIN_NCHANNELS: 4}}":    "s.yaml:3:32: nccl.env: NCCL_MIN_CTAS and MIN_NCHANNELS are the same variable; keep one",
		"nccl: {env: {BUFFSIZE: 1}}":                           "s.yaml:3:24: nccl.env.BUFFSIZE: 1B leaves less than the 16 bytes",
		"nccl: {env: {BUFFSIZE: -4096}}":                       `s.yaml:3:24: nccl.env.BUFFSIZE: "-4096" is negative;`,
		"nccl: {env: {P2P_NET_CHUNKSIZE: 3}}":                  "s.yaml:3:33: nccl.env.P2P_NET_CHUNKSIZE: 3B is less than the 16 bytes",
		"nccl: {env: {ALGO: 'allreduce:Tree'}}":                `s.yaml:3:20: nccl.env.ALGO: "allreduce:Tree" has entries for single functions`,
		"nccl: {env: {ALGO: 'NVLS,NVLSTree', NVLS_ENABLE: 0}}": `s.yaml:4:25: workload[0].collective: no algorithm of allreduce is left with what NCCL_ALGO and NCCL_PROTO allow (NCCL: "no algorithm/protocol available"): NCCL_NVLS_ENABLE is 0`,
		"nccl: {env: {ALGO: Ringo}}":                           `s.yaml:3:20: nccl.env.ALGO: "Ringo" is none of Ring, Tree, NVLS, NVLSTree;`,
		"nccl: {env: {ALGO: '^Ring,Tree,NVLS,NVLSTree'}}":      `s.yaml:3:20: nccl.env.ALGO: "^Ring,Tree,NVLS,NVLSTree" leaves none`,
		"nccl: {env: {ALGOS: Ring}}":                           `s.yaml:3:14: unknown key "ALGOS" in nccl.env; did you mean "ALGO"?`,
		"nccl: {env: {ALGO: NVLSTree, PROTO: LL}}":             "s.yaml:4:25: workload[0].collective: no algorithm of allreduce is left with what NCCL_ALGO and NCCL_PROTO allow",
		"nccl: {env: {MAX_NCHANNELS: 65}}":                     "s.yaml:3:29: nccl.env.MAX_NCHANNELS: ",
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

// Where no NVLink joins GPUs NCCL does not enable LL128, so that variables that leave nothing else
// are refused; transfers between two ranks have no algorithm, and say so.
func TestForbidden(t *testing.T) {
	parse := func(op, server, env string) ([]string, error) {
		v, err := Parse("s.yaml", []byte("server: "+server+"\nnccl: {env: {"+env+"}}\nworkload: [collective: {op: "+op+", size: 1MiB}]\n"), nil, nil)
		if err != nil {
			return nil, err
		}
		return v.Warnings, nil
	}
	const plain = "{preset: dgx-h100, nvswitch: off}"
	if _, err := parse("allreduce", plain, "ALGO: Tree, PROTO: LL128"); err == nil || !strings.HasPrefix(err.Error(), "s.yaml:3:25: workload[0].collective: NCCL_PROTO leaves ll128 alone, which NCCL does not enable here") {
		t.Errorf("LL128 alone without NVLink: %v", err)
	}
	if _, err := parse("allreduce", "dgx-h100", "ALGO: Tree, PROTO: LL128"); err != nil {
		t.Errorf("LL128 with NVLink: %v", err)
	}
	warned, err := parse("alltoall", "dgx-h100", "ALGO: Tree")
	if err != nil || !strings.Contains(strings.Join(warned, "\n"), "nccl.env.ALGO: Tree has no effect on alltoall") {
		t.Errorf("algorithm of alltoall: %q, %v", warned, err)
	}
}

// IB_TC is the traffic class of RoCE, whose upper six bits are the DSCP, and IB_SL the service level of
// InfiniBand; a collective's own keys win, and what the other network has says that it does nothing.
func TestNCCLClass(t *testing.T) {
	for _, c := range []struct {
		stack, env, more, warns string
		class, dscp             uint8
	}{
		{"rocev2", "IB_TC: 106", "", "", 3, 26},
		{"rocev2", "IB_TC: 184", "", "", 5, 46},
		{"rocev2", "IB_TC: 184", ", dscp: 26", "dscp: 26 stands over nccl.env.IB_TC: 184", 3, 26},
		{"rocev2", "IB_SL: 2", "", "nccl.env.IB_SL: 2 has no effect on RoCE", 3, 26},
		{"infiniband", "IB_SL: 2", "", "", 2, 26},
		{"infiniband", "IB_TC: 106", "", "nccl.env.IB_TC: 106 has no effect on InfiniBand", 0, 0},
	} {
		v, err := Parse("s.yaml", []byte("stack: "+c.stack+"\ntopology: {star: {hosts: 2, link: 100Gbps}}\nnccl: {env: {"+c.env+
			"}}\nworkload: [collective: {op: allreduce, size: 1MiB"+c.more+"}]\n"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		conn := &v.Plan.Conns[0]
		warned := strings.Join(v.Warnings, "\n")
		if conn.Class != c.class || c.stack == "rocev2" && conn.DSCP != c.dscp {
			t.Errorf("%s, %s: class %d and DSCP %d, want %d and %d", c.stack, c.env, conn.Class, conn.DSCP, c.class, c.dscp)
		}
		if c.warns == "" && strings.Contains(warned, "IB_") || !strings.Contains(warned, c.warns) {
			t.Errorf("%s, %s: warnings %q, want %q", c.stack, c.env, warned, c.warns)
		}
	}
}
