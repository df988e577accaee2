package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
)

// named is a run of two workloads, one of which bears a word of its own, and a collective.
func named() *record.Run {
	r := incast()
	for i, workload := range []string{"all", "in a", "in b", "in a"} {
		r.Messages[i].Workload = workload
	}
	r.Collectives = []record.Collective{{Workload: "ring", Op: "AllReduce"}}
	return r
}

func TestSelect(t *testing.T) {
	r := named()
	for _, tt := range []struct {
		what        string
		messages    []int
		collectives int
		err         string
	}{
		{"slowest", []int{3}, 0, ""},
		{"message:slowest", []int{3}, 0, ""},
		{"h0->h4", []int{0}, 0, ""},
		{"message:h0->h4", []int{0}, 0, ""},
		{"h[0]->h4", nil, 0, `there is no such message; did you mean "h0->h4"?`},
		{"h*->h4", []int{3, 2, 1, 0}, 0, ""},
		{"message:h?->*", []int{3, 2, 1, 0}, 0, ""},
		{"all", []int{3, 2, 1, 0}, 0, ""},
		{"workload:all", []int{0}, 0, ""},
		{"in a", []int{3, 1}, 0, ""},
		{"in*", []int{3, 2, 1}, 0, ""},
		{"*", []int{3, 2, 1, 0}, 1, ""},
		{"collective", nil, 1, ""},
		{"ring", nil, 1, ""},
		{"collective:r*", nil, 1, ""},
		{"collective:in a", nil, 0, "there is no such collective; the scenario has collective ring"},
		{"workload:ring", nil, 0, "there is no such workload; the scenario has workloads all, in a, in b"},
		{"message:in a", nil, 0, "there is no such message; the scenario has messages h0->h4"},
		{"none", nil, 0, "the scenario has messages h0->h4, h1->h4, h2->h4, h3->h4; workloads all, in a, in b; collective ring"},
		{"rong", nil, 0, `did you mean "ring"?`},
		{"workload:in c", nil, 0, `did you mean "workload:in a"?`},
		{"h8*->h4", nil, 0, "there is no such message; the scenario has messages"},
		{"4", nil, 0, "numbered 0 to 3"},
		{"-1", nil, 0, "numbered 0 to 3"},
		{"h0->", nil, 0, "there is no such message"},
		{"", nil, 0, "names nothing"},
		{"workload:", nil, 0, "names nothing"},
	} {
		s, err := Select(r, tt.what)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v, want %s", tt.what, err, tt.err)
			}
		case err != nil:
			t.Errorf("%q: %v", tt.what, err)
		case !slices.Equal(s.messages, tt.messages) || len(s.collectives) != tt.collectives:
			t.Errorf("%q: messages %v and %d collectives, want %v and %d", tt.what, s.messages, len(s.collectives), tt.messages, tt.collectives)
		}
	}
	if _, err := Select(incast(), "collective"); err == nil {
		t.Error("a run without collectives has one")
	}
}

// What is explained comes before the parameters, which end the report unless it is brief.
func TestParametersEndTheReport(t *testing.T) {
	r := lossy()
	r.Notes = []record.Note{{Key: "mtu", Value: "4096B", Source: "given"}}
	r.Warnings = []string{"something"}
	s, err := Select(r, "all")
	if err != nil {
		t.Fatal(err)
	}
	for _, brief := range []bool{false, true} {
		var b bytes.Buffer
		if err := Text(&b, r, TextOptions{Explain: s, Mechanisms: true, Brief: brief}); err != nil {
			t.Fatal(err)
		}
		last := 0
		for _, part := range []string{"Question", "warning: something", "\nMechanism", "\nExplained", "\nMessage 0: h0 -> h4", "\nParameters"} {
			if brief && part == "\nParameters" {
				if strings.Contains(b.String(), part) {
					t.Error("a brief report has parameters")
				}
				continue
			}
			at := strings.Index(b.String(), part)
			if at < last {
				t.Errorf("%q does not come in its place, %d after %d:\n%s", part, at, last, b.String())
			}
			last = at
		}
	}
}
