package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/units"
)

// relay is a plan in which host 1 hands on, through a local operation, what it got
// from host 0.
func relay(t *testing.T) (p *Plan, first, second, step Op) {
	t.Helper()
	p = &Plan{}
	e := p.AddEntry("relay")
	there := p.connect(e, 0, 1, 0, DefaultOptions())
	back := p.connect(e, 1, 2, 0, DefaultOptions())
	second = p.AddMessage(Message{Conn: back, Bytes: 10})
	first = p.AddMessage(Message{Conn: there, Bytes: 10, Start: units.Microsecond})
	step = p.AddLocal(Local{Host: 1, Entry: e, Label: p.AddLabel("step"), From: NoDevice, To: NoDevice})
	p.After(step, first, Received)
	p.After(second, step, Completed)
	return p, first, second, step
}

// The graph follows the messages through the sort, and a second Finish changes
// nothing.
func TestGraph(t *testing.T) {
	p, _, _, _ := relay(t)
	for range 2 {
		if err := p.Finish(fakeNet{3, 1}); err != nil {
			t.Fatal(err)
		}
		if p.Series[0].Waits() || !p.Series[1].Waits() {
			t.Fatal("the message that waits for nothing should stand first")
		}
		g := p.Graph
		if !slices.Equal(g.Need, []int32{0, 1, 1}) {
			t.Errorf("needs %v", g.Need)
		}
		for _, c := range []struct {
			op   int
			end  End
			want []int32
		}{{0, Received, []int32{2}}, {0, Completed, nil}, {2, Completed, []int32{1}}, {1, Received, nil}} {
			if got := g.Released(c.op, c.end); !slices.Equal(got, c.want) {
				t.Errorf("end %d of operation %d releases %v, want %v", c.end, c.op, got, c.want)
			}
		}
	}
	if (*Graph)(nil).Released(3, Completed) != nil {
		t.Error("a plan without a graph releases something")
	}
}

// What no host could keep is refused, and so are circles.
func TestGraphErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *Plan, first, second, step Op)
		want   string
	}{
		{"a circle", func(p *Plan, first, second, step Op) {
			p.After(step, second, Completed)
			p.After(first, first, Completed)
		},
			"operations wait for each other in a circle"},
		{"a local circle", func(p *Plan, first, second, step Op) { p.After(step, second, Completed) },
			"operations wait for each other in a circle"},
		{"another host", func(p *Plan, first, second, step Op) { p.After(second, first, Completed) },
			"an operation waits for one that ends at another host"},
		{"READ", func(p *Plan, first, second, step Op) { p.Series[first].Verb = Read },
			"an operation waits for a message to be received that its responder does not see the end of"},
		{"datagrams", func(p *Plan, first, second, step Op) {
			p.Series[first].Verb = Send
			p.Conns[p.Series[first].Conn].Service = UD
		}, "an operation waits for a message to be received that its responder does not see the end of"},
		{"two starts", func(p *Plan, first, second, step Op) { p.Series[second].Trigger = p.AddTrigger("x", OneShot, 0) },
			"a message is started by a trigger and waits for an operation; keep one"},
	} {
		p, first, second, step := relay(t)
		c.change(p, first, second, step)
		if err := p.Finish(fakeNet{3, 1}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
