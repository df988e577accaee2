package scenario

import (
	"strings"
	"testing"
)

// Bad jobs are one line that says where, what and what would be right.
func TestBadJobs(t *testing.T) {
	const head = "topology: {rail: {servers: 2, rails: 8, spines: 1, link: 400Gbps}}\nserver: dgx-h100\njobs:\n  - "
	const ops = "operations: [compute: {time: 1ms}]"
	for _, c := range []struct{ text, want string }{
		{"{}", `s.yaml:4:5: jobs[0] has no operations; give a list such as - compute: {name: forward, time: 1ms}, or a model`},
		{"{operations: []}", `s.yaml:4:18: jobs[0].operations: is no list with operations;`},
		{"{operations: [comput: {time: 1ms}]}", `s.yaml:4:19: unknown key "comput" in jobs[0].operations[0]; did you mean "compute"?`},
		{"{operations: [compute: {}]}", `s.yaml:4:28: jobs[0].operations[0].compute has no time; give the time, such as time: 1ms`},
		{"{operations: [{compute: {time: 1ms}, mark: {}}]}", `s.yaml:4:20: jobs[0].operations[0] has 2 operations; give one per list item`},
		{"{steps: 0, " + ops + "}", `s.yaml:4:13: jobs[0].steps: "0" is not a whole number from 1 to 1048576`},
		{"{operations: [allreduce: {size: 1MB}]}", `s.yaml:4:31: jobs[0].operations[0].allreduce has no on; name a communicator`},
		{"{communicators: {tp: {size: 8}}, operations: [allreduce: {on: dp, size: 1MB}]}", `s.yaml:4:67: jobs[0].operations[0].allreduce.on: there is no communicator "dp"; did you mean "tp"?`},
		{"{communicators: {tp: {size: 3}}, " + ops + "}", `s.yaml:4:33: jobs[0].communicators.tp.size: 16 ranks do not divide into groups of 3 with stride 1;`},
		{"{communicators: {tp: {}}, " + ops + "}", `s.yaml:4:22: jobs[0].communicators.tp has neither size nor groups; give one, such as size: 8`},
		{"{communicators: {tp: {groups: [[0, 16]]}}, " + ops + "}", `s.yaml:4:40: jobs[0].communicators.tp.groups: "16" is not a rank from 0 to 15`},
		{"{communicators: {tp: {size: 8, groups: [[0]]}}, " + ops + "}", `s.yaml:4:44: jobs[0].communicators.tp.groups: names the ranks one by one, and size says how many; keep one`},
		{"{operations: [compute: {time: 1ms, ranks: 3..1}]}", `s.yaml:4:47: jobs[0].operations[0].compute.ranks: "3..1" ends before it begins`},
		{"{operations: [compute: {time: 1ms, ranks: [1, 0..2]}]}", `s.yaml:4:51: jobs[0].operations[0].compute.ranks has rank 1 twice`},
		{"{operations: [compute: {time: 1ms, after: x}]}", `s.yaml:4:47: jobs[0].operations[0].compute.after: rank 0 has no operation "x";`},
		{"{operations: [{compute: {name: a, time: 1ms, after: b}}, {compute: {name: b, time: 1ms, after: a}}]}", `s.yaml:4:63: jobs[0]: operations of rank 0 wait for each other in a circle: a (compute), which waits for b (compute);`},
		{"{operations: [send: {to: 1, size: 1MB, ranks: 0}]}", `s.yaml:4:19: jobs[0]: rank 0's send (send of 1MB) to rank 1 is the 1st of that pair, and rank 1 receives 0; give both or neither`},
		{"{operations: [send: {to: x, size: 1MB, ranks: 0}]}", `s.yaml:4:30: jobs[0].operations[0].send.to: "x" is neither a rank nor, with a sign, so many ranks on`},
		{"{communicators: {ep: {size: 16}}, operations: [alltoallv: {on: ep, sizes: [1MB]}]}", `s.yaml:4:52: jobs[0]: rank 0's alltoallv (alltoallv on ep) has a list of length 1, and its group has 16 ranks; give a size for each`},
		{"{communicators: {ep: {size: 2}}, operations: [{alltoallv: {on: ep, ranks: [0, 2..15], sizes: [0, 1MB], receives: [0, 5MB]}}, {alltoallv: {on: ep, ranks: 1, sizes: [2MB, 0]}}]}", `s.yaml:4:52: jobs[0]: rank 0's alltoallv (alltoallv on ep) receives 5MB from rank 1, and rank 1's alltoallv (alltoallv on ep) sends it 2MB; both have the same size`},
		{"{operations: [copy: {size: 1MB, to: gpu}]}", `s.yaml:4:19: jobs[0]: rank 0's copy (copy of 1MB) begins and ends in the same memory;`},
		{"{operations: [copy: {size: 1MB, to: +8}]}", `s.yaml:4:19: jobs[0]: rank 8's copy (copy of 1MB) is of rank 16; ranks are 0 to 15`},
		{"{operations: [copy: {size: 1MB, to: +8, ranks: 0}]}", `s.yaml:4:19: jobs[0]: rank 0's copy (copy of 1MB): the GPUs of ranks 0 and 8 are in two hosts;`},
		{"{operations: [copy: {size: 1MB, to: disk}]}", `s.yaml:4:41: jobs[0].operations[0].copy.to: "disk" is neither gpu, host, a rank nor, with a sign, so many ranks on`},
		{"{network: ideal, " + ops + "}", `s.yaml:4:6: jobs[0]: an ideal network joins the ranks of one host, and ranks 0 and 8 are on two`},
		{"{ranks: [h0/gpu0], operations: [{recv: {from: 0, size: 1MB}}]}", `s.yaml:4:38: jobs[0]: rank 0's recv (recv of 1MB) from rank 0: ranks are 0 to 0, and none sends to itself`},
	} {
		_, err := Parse("s.yaml", []byte(head+c.text+"\n"), nil, nil)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s:\n got  %v\n want %s", c.text, err, c.want)
		}
	}
	const rails = "topology: {rail: {servers: 2, rails: 8, link: 400Gbps}}\nserver: dgx-h100\njobs: [{ranks: [h0/gpu0, h1/gpu1], operations: [{send: {to: 1, size: 1MB, ranks: 0}}, {recv: {from: 0, size: 1MB, ranks: 1}}]}]\n"
	if _, err := Parse("s.yaml", []byte(rails), nil, nil); err == nil || !strings.HasPrefix(err.Error(), "s.yaml:3:9: jobs[0]: no path leads from h0:1 to h1:2") {
		t.Errorf("between rails: %v", err)
	}
	tcp := "stack: tcp\n" + head + "{" + ops + "}\n"
	if _, err := Parse("s.yaml", []byte(tcp), nil, nil); err == nil || !strings.Contains(err.Error(), "take an RDMA stack") {
		t.Errorf("over TCP: %v", err)
	}
}
