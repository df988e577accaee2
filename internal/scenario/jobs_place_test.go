package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Ranks are placed as a job says, on GPUs that no job before it has.
func TestPlacement(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "places.csv")
	if err := os.WriteFile(file, []byte("rank,place\n1,h1/gpu7\n# the last server\n0,h2/gpu3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const head = "topology: {rail: {servers: 3, rails: 8, spines: 1, link: 400Gbps}}\nserver: dgx-h100\njobs:\n"
	job := func(keys string) string { return "  - {" + keys + ", operations: [compute: {time: 1ms}]}\n" }
	v, err := Parse("s.yaml", []byte(head+job("size: 5, placement: scattered")+job("size: 10")+
		job("placement: "+file)+job("placement: random, size: 3")), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	where := func(k int) string {
		var out []string
		for _, r := range v.Plan.Jobs[k].Ranks {
			out = append(out, fmt.Sprintf("%s/%d", v.Graph.Nodes[r.Host].Name, r.Device))
		}
		return strings.Join(out, " ")
	}
	gpu := func(name string) string { // as where has it
		host, device, _ := strings.Cut(name, "/")
		n, _ := v.Graph.NodeByName(host)
		return fmt.Sprintf("%s/%d", host, v.NICs[n].Server.Find(device))
	}
	all := func(names string) string {
		var out []string
		for _, n := range strings.Fields(names) {
			out = append(out, gpu(n))
		}
		return strings.Join(out, " ")
	}
	for k, want := range []string{"h0/gpu0 h1/gpu0 h2/gpu0 h0/gpu1 h1/gpu1",
		"h0/gpu2 h0/gpu3 h0/gpu4 h0/gpu5 h0/gpu6 h0/gpu7 h1/gpu2 h1/gpu3 h1/gpu4 h1/gpu5", "h2/gpu3 h1/gpu7"} {
		if got := where(k); got != all(want) {
			t.Errorf("job %d is at %s, want %s", k, got, all(want))
		}
	}
	if got := strings.Fields(where(3)); len(got) != 3 {
		t.Errorf("job 3 is at %v", got)
	}
	for _, c := range []struct{ jobs, want string }{
		{job("size: 20") + job("size: 5"), "s.yaml:5:12: jobs[1].size: 5 ranks, and of the 24 places in ranks only 4 are free of other jobs"},
		{job("ranks: [h0/gpu1, h0/gpu1]"), "s.yaml:4:12: jobs[0].ranks: ranks 0 and 1 are both on h0/gpu1; each is on one of its own"},
		{job("size: 1") + job("ranks: h0/gpus"), "s.yaml:5:12: jobs[1].ranks: rank 0 is on h0/gpu0, which is job's; each GPU has one rank"},
		{job("slow: {24: 2}"), `s.yaml:4:12: jobs[0].slow: "24" is not a rank from 0 to 23`},
		{job("slow: {0..3: x}"), `s.yaml:4:18: jobs[0].slow: "x" is no factor from 0.01 to 1000`},
		{job("placement: " + file + ", ranks: h0/gpus"), `s.yaml:4:16: jobs[0].placement: ` + file + `:2: "h1/gpu7" is none of the places in ranks; did you mean "h0/gpu7"?`},
	} {
		if _, err := Parse("s.yaml", []byte(head+c.jobs), nil, nil); err == nil ||
			!strings.HasPrefix(err.Error()[strings.Index(err.Error(), "jobs"):], c.want[strings.Index(c.want, "jobs"):]) {
			t.Errorf("%s\n got  %v\n want %s", c.jobs, err, c.want)
		}
	}
}
