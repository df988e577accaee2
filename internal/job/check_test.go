package job

import (
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/collective"
	"github.com/hopscope/hopscope/internal/units"
)

func compute(name string, after ...int32) Op {
	return Op{Kind: Compute, Name: name, Label: name, Stream: "compute", Time: units.Millisecond, After: after}
}

func send(to int, bytes units.Bytes, after ...int32) Op {
	return Op{Kind: Send, Name: "send", Stream: "send", Peer: to, Bytes: bytes, After: after}
}

func recv(from int, bytes units.Bytes, after ...int32) Op {
	return Op{Kind: Recv, Name: "recv", Stream: "recv", Peer: from, Bytes: bytes, After: after}
}

func reduce(on int, bytes units.Bytes, after ...int32) Op {
	return Op{
		Kind:   Collective,
		Name:   "reduce",
		Stream: "comm",
		Coll:   collective.AllReduce,
		On:     on,
		Bytes:  bytes,
		After:  after,
	}
}

func relative(o Op) Op { o.Relative = true; return o }

// spec is a job in which each rank has a list of its own, and two communicators of all ranks.
func spec(lists ...[]Op) *Spec {
	s := &Spec{Name: "job", Steps: 1, Ranks: len(lists)}
	all := []int32{}
	for r, ops := range lists {
		s.Lists, s.Of, all = append(s.Lists, List{ops}), append(s.Of, int32(r)), append(all, int32(r))
	}
	s.Comms = []Comm{{Name: "tp", Groups: [][]int32{all}}, {Name: "dp", Groups: [][]int32{all}}}
	return s
}

// What cannot be carried out is refused with the operation and the rank, and what can is not.
func TestCheck(t *testing.T) {
	const kb = units.Bytes(1000)
	noGroup := spec([]Op{reduce(0, kb)}, []Op{reduce(0, kb)}, nil)
	noGroup.Comms[0].Groups = [][]int32{{0, 2}}
	twice := spec([]Op{compute("a")})
	twice.Comms[0].Groups = [][]int32{{0}, {0}}
	long := spec([]Op{{Kind: Compute, Time: 2 * MostTime}})
	root := spec(
		[]Op{{Kind: Collective, Coll: collective.Broadcast, Bytes: kb, Root: 2, Stream: "x"}},
		[]Op{{Kind: Collective, Coll: collective.Broadcast, Bytes: kb, Root: 2, Stream: "x"}},
	)
	for _, c := range []struct {
		name string
		s    *Spec
		want string // "": right
	}{
		{"pipeline", spec([]Op{compute("f"), send(1, kb, 0), recv(1, kb), compute("b", 2)}, []Op{recv(0, kb), compute("f", 0), compute("b", 1), send(0, kb, 2)}), ""},
		{"relative and absolute peers meet", spec([]Op{relative(send(1, kb))}, []Op{recv(0, kb)}), ""},
		{"crossed, in streams of their own", spec([]Op{send(1, kb), recv(1, kb)}, []Op{send(0, kb), recv(0, kb)}), ""},
		{"two collectives", spec([]Op{reduce(0, kb), reduce(1, kb)}, []Op{reduce(0, kb), reduce(1, kb)}), ""},
		{"nothing", spec(nil), "no rank has an operation"},
		{"long", long, "operation 0 (compute) takes 7200s; a computation takes from 0 to 3600s"},
		{"twice in a group", twice, "communicator tp has rank 0 twice"},
		{"no group", noGroup, "rank 1's reduce (allreduce of 1KB on tp): the rank is in no group of tp"},
		{"root", root, "has root 2; its group has places 0 to 1"},
		{"to itself", spec([]Op{send(0, kb)}), "rank 0's send (send of 1KB) to rank 0: ranks are 0 to 0, and none sends to itself"},
		{"no such rank", spec([]Op{relative(send(8, kb))}, nil), "to rank 8: ranks are 0 to 1"},
		{"not received", spec([]Op{send(1, kb)}, []Op{compute("a")}), "rank 0's send (send of 1KB) to rank 1 is the 1st of that pair, and rank 1 receives 0; give both or neither"},
		{"not sent", spec([]Op{compute("a")}, []Op{recv(0, kb)}), "rank 1's recv (recv of 1KB) from rank 0 is the 1st of that pair, and rank 0 sends 0"},
		{"sizes", spec([]Op{send(1, kb)}, []Op{recv(0, 2*kb)}), "meets rank 1's recv (recv of 2KB) from rank 0; both have the same size"},
		{"kinds", spec([]Op{reduce(0, kb)}, []Op{{Kind: Collective, Coll: collective.AllGather, Bytes: kb, Stream: "x"}}),
			"call 1 on tp: rank 0's reduce (allreduce of 1KB on tp), and rank 1's operation 0 (allgather of 1KB on tp); all ranks of a group call the same in the same order"},
		{"fewer calls", spec([]Op{reduce(0, kb), reduce(0, kb)}, []Op{reduce(0, kb)}), "is call 2 on tp, and rank 1 has only 1"},
		{"circle", spec([]Op{compute("a", 1), compute("b")}), "operations of rank 0 wait for each other in a circle: a (compute), which waits for b (compute)"},
		{"opposite order of two communicators", spec([]Op{reduce(0, kb), reduce(1, kb)}, []Op{reduce(1, kb), reduce(0, kb)}),
			"this can never end: rank 0's reduce (allreduce of 1KB on tp) waits for its peers, of which one has still to start rank 1's reduce (allreduce of 1KB on tp)"},
		{"both receive first", spec([]Op{recv(1, kb), send(1, kb, 0)}, []Op{recv(0, kb), send(0, kb, 0)}),
			"this can never end: rank 0's recv (recv of 1KB) from rank 1 waits for its peers"},
		{"chain into a circle", spec([]Op{recv(1, kb)}, []Op{recv(2, kb), send(0, kb, 0), send(2, kb, 0)}, []Op{recv(1, kb), send(1, kb, 0)}), "this can never end: rank "},
	} {
		err := c.s.Check()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s:\n got  %v\n want %s", c.name, err, c.want)
		case err != nil && strings.Contains(err.Error(), "\n"):
			t.Errorf("%s: more than a line: %v", c.name, err)
		}
	}
}

// Strided groups are those of Megatron's orders.
func TestStrided(t *testing.T) {
	got := Strided(8, 2, 4)
	if len(got) != 4 || got[0][0] != 0 || got[0][1] != 4 || got[3][1] != 7 {
		t.Errorf("groups %v", got)
	}
	if got = Strided(8, 4, 1); len(got) != 2 || got[1][0] != 4 {
		t.Errorf("groups %v", got)
	}
}
