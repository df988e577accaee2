package timeline_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hopscope/hopscope/internal/record"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/run"
	"github.com/hopscope/hopscope/internal/timeline"
	"github.com/hopscope/hopscope/internal/units"
)

// draw runs a scenario and returns it with its timeline.
func draw(t *testing.T, opt run.Options) (*record.Run, []byte) {
	t.Helper()
	opt.Workers = max(1, opt.Workers)
	r, _, err := run.Do(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	left, err := timeline.Write(&b, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 && r.Trace != nil {
		t.Logf("left out: %v", left)
	}
	return r, b.Bytes()
}

// Timelines of all kinds of networks and hosts hold together, and say what the accounts of the run say.
func TestTimelines(t *testing.T) {
	for _, c := range []struct {
		scenario string
		set      []string
		want     []string // categories that must be there
	}{
		{"lossy-incast", []string{"workload[0].incast.size=400KB"}, []string{"drop", "retransmitting", "slowed", "loss"}},
		{"victim-flow", []string{"workload[0].flows.size=1MB", "workload[1].flow.size=1MB"}, []string{"paused", "held"}},
		{"virtual-lanes", nil, []string{"without credit"}},
		{"storage-reads", nil, []string{"answer"}},
		{"tcp-incast", nil, []string{"waiting for a core", "cores", "retransmitting"}},
		{"gpu-incast", nil, []string{"PCIe"}},
		{"one-sided", nil, nil},
		{"lossy-cable", nil, []string{"retransmitting"}},
		{"deadlock-ring", nil, []string{"paused"}},
		{"allreduce-8x8", []string{"workload[0].collective.size=512KiB", "topology.rail.servers=2"}, []string{"gpu0", "PCIe"}},
		{"hbm-to-hbm", nil, []string{"PCIe"}},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			r, b := draw(t, run.Options{Scenario: c.scenario, Set: c.set, Trace: true})
			s := readTrace(t, b)
			k := &checker{T: t, r: r, categories: map[string]int{}}
			for _, x := range s.order {
				k.track(x)
			}
			k.arrows()
			k.accounts()
			for _, name := range c.want {
				if k.categories[name] == 0 {
					t.Errorf("nothing of the category %q: %v", name, k.categories)
				}
			}
		})
	}
}

// A rank of a job has a track for what it spends its time on, which adds up to its account, and one for each stream.
func TestJobTracks(t *testing.T) {
	r, b := draw(t, run.Options{Scenario: "steps.yaml", Trace: true, Text: []byte(`name: two stages
topology: {rail: {servers: 2, rails: 8, link: 200Gbps}}
server: dgx-a100
jobs:
  - name: step
    ranks: [h0/gpu0, h0/gpu1, h1/gpu0, h1/gpu1]
    model: {layers: 4, hidden: 256, heads: 4, sequence: 256, vocabulary: 512, tp: 2, pp: 2, batch: 4}
`)})
	s := readTrace(t, b)
	k := &checker{T: t, r: r, categories: map[string]int{}}
	for _, x := range s.order {
		k.track(x)
	}
	for _, c := range []string{"compute", "collective", "message", "wait", "bubble, other rank has not come"} {
		if k.categories[c] == 0 {
			t.Errorf("nothing of the category %q: %v", c, k.categories)
		}
	}
	j := &r.Jobs[0]
	for i := range j.Times {
		x := &j.Times[i]
		if x.Kind == record.JobIdle {
			continue
		}
		track := fmt.Sprintf("job step / rank %d, h%d gpu%d / spends its time on: %s", x.Rank, x.Rank/2, x.Rank%2,
			record.JobSays(x.Kind, x.What))
		if k.sums[track] != x.TimePS {
			t.Errorf("%s: %v, want %v", track, k.sums[track], x.TimePS)
		}
	}
}

// checker compares a timeline with the run that it is of.
type checker struct {
	*testing.T
	r          *record.Run
	categories map[string]int
	messages   map[int64]*slice
	sums       map[string]units.Time // by path of the track and name
	counts     map[string]int64      // likewise, of instants
	flows      map[uint64][]end
}

// end is an end of an arrow, or a place that it passes.
type end struct {
	at   uint64
	last bool
}

// track takes in what a track shows.
func (k *checker) track(x *track) {
	if k.sums == nil {
		k.sums, k.counts, k.messages, k.flows = map[string]units.Time{}, map[string]int64{}, map[int64]*slice{}, map[uint64][]end{}
	}
	var add func(s *slice)
	add = func(s *slice) {
		k.categories[s.category]++
		k.sums[x.path()+": "+s.name] += s.to - s.from
		if s.category == "message" {
			k.messages[s.numbers["message"]] = s
		}
		for _, c := range s.children {
			add(c)
		}
	}
	for _, s := range x.slices(k) {
		add(s)
	}
	last := uint64(0)
	for _, e := range x.events {
		if e.kind == value && e.at < last {
			k.Errorf("%s goes back in time", x.path())
		}
		last = e.at
		if e.kind == instant {
			k.categories[e.category]++
			k.counts[x.path()+": "+e.name]++
			k.counts[x.path()]++
		}
		for _, id := range e.flows {
			k.flows[id] = append(k.flows[id], end{e.at, false})
		}
		for _, id := range e.ends {
			k.flows[id] = append(k.flows[id], end{e.at, true})
		}
	}
}

// arrows checks that every arrow has one end, which is its last event, and a beginning.
func (k *checker) arrows() {
	done := 0
	for id, ends := range k.flows {
		lasts, at, last := 0, uint64(0), uint64(0)
		for _, e := range ends {
			if e.last {
				lasts, last = lasts+1, e.at
			}
			at = max(at, e.at)
		}
		if lasts != 1 || len(ends) < 2 || at != last {
			k.Errorf("arrow %d: %v", id, ends)
		}
	}
	for i := range k.r.Messages {
		if m := &k.r.Messages[i]; m.CompletionPS >= 0 {
			done++
			if len(k.flows[uint64(m.Number)+1]) < 2 {
				k.Errorf("message %d has no arrow", m.Number)
			}
		}
	}
	if done > 0 && len(k.flows) < done {
		k.Errorf("%d arrows of %d messages that completed", len(k.flows), done)
	}
}

// sum is that of the slices, or of a name, of a track, to the picosecond.
func (k *checker) sum(path string, want units.Time) {
	if got := k.sums[path]; got != want {
		k.Errorf("%s: %d ps, want %d", path, got, want)
	}
}

// accounts compares what slices add up to with the accounts of messages, queue pairs, ports and links.
func (k *checker) accounts() {
	for i := range k.r.Messages {
		m := &k.r.Messages[i]
		s := k.messages[int64(m.Number)]
		if s == nil {
			if m.CompletionPS >= 0 || m.OpenPS > 0 {
				k.Errorf("message %d is not there", m.Number)
			}
			continue
		}
		a := m.Account.Stages()
		if s.to-s.from != m.Life() || s.from != m.StartPS || len(s.children) != len(a) {
			k.Errorf("message %d from %d for %d with %d stages, want %d for %d with %d", m.Number, s.from, s.to-s.from, len(s.children),
				m.StartPS, m.Life(), len(a))
			continue
		}
		for j := range a {
			if c := s.children[j]; c.name != a[j].Stage.String() || c.to-c.from != a[j].Time || c.texts["where"] != a[j].Place().String() {
				k.Errorf("message %d, stage %d: %s for %d, want %v", m.Number, j, c.name, c.to-c.from, a[j])
			}
		}
	}
	for i := range k.r.Ports {
		p := &k.r.Ports[i]
		path := p.Node + " / " + p.Place().String()
		held := p.Layer.Vocabulary().Held.String()
		k.sum(path+": "+held, p.PausedPS)
		k.sum(path+": frame waits", p.HeldPS)
		if n := k.counts[path+" / drops"]; n != p.Dropped-linkFrames(p) {
			k.Errorf("%s: %d drops, want %d", path, n, p.Dropped)
		}
	}
	for i := range k.r.QPs {
		q := &k.r.QPs[i]
		path := fmt.Sprintf("%s / %s to %s, %s", q.Host, q.Name(), q.Peer.String(), q.Workload)
		if n := k.counts[path+" / retransmissions: sent again"]; n != q.Retransmitted {
			k.Errorf("%s: %d sent again, want %d", path, n, q.Retransmitted)
		}
		names := map[string]units.Time{"window": q.Limits.WindowPS, "rate": q.Limits.RatePS, "bitmap": q.Limits.BitmapPS,
			"slow restart": q.Limits.SlowRestartPS, "max_rd_atomic": q.Limits.ReadsPS}
		if c := q.TCP; c != nil {
			names = map[string]units.Time{"congestion window": q.Limits.WindowPS, "pacing": q.Limits.RatePS,
				"receive window": c.ReceiveWindowPS, "send buffer": c.SendBufferPS, "Nagle": c.NaglePS,
				"awaiting loss detection": c.DetectionPS, "awaiting timeout": c.TimeoutPS, "handshake": c.HandshakePS}
		}
		for name, want := range names {
			k.sum(path+": "+name, want)
		}
	}
	for i := range k.r.Servers {
		s := &k.r.Servers[i]
		for j := range s.Links {
			if l := &s.Links[j]; l.PCIe() {
				k.sum(s.Host+" / PCIe / "+l.Name+": busy", l.BusyPS)
			}
		}
		for j := range s.Copies {
			c := &s.Copies[j]
			name := map[bool]string{true: "copies in", false: "copies out"}[c.In]
			k.sum(s.Host+" / "+c.GPU+" / "+name+": copy", c.BusyPS)
		}
	}
}

// linkFrames are the drops of frames that belong to the link, which are not drawn.
func linkFrames(p *record.Port) (n int64) {
	for _, d := range p.DropCauses {
		if strings.Contains(d.Cause.String(), "PFC") || strings.Contains(d.Cause.String(), "flow-control") {
			n += d.Count
		}
	}
	return n
}

// A timeline is the same byte for byte however a run is cut, and changes nothing of its result.
func TestSame(t *testing.T) {
	for _, scenario := range []string{"lossy-incast", "victim-flow"} {
		opt := run.Options{Scenario: scenario, Trace: true}
		if scenario == "lossy-incast" {
			opt.Set = []string{"workload[0].incast.size=200KB"}
		}
		r, a := draw(t, opt)
		opt.Workers, opt.Partitions = 3, 5
		_, b := draw(t, opt)
		if !bytes.Equal(a, b) {
			t.Errorf("%s: the timeline is another with more workers", scenario)
		}
		opt.Trace = false
		without, _ := draw(t, opt)
		r.Trace = nil
		x, _ := report.JSON(r)
		y, _ := report.JSON(without)
		if !bytes.Equal(x, y) {
			t.Errorf("%s: the result is another with a timeline", scenario)
		}
	}
}
