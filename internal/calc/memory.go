package calc

import (
	"fmt"
	"math"

	"github.com/hopscope/hopscope/internal/mmu"
	"github.com/hopscope/hopscope/internal/report"
	"github.com/hopscope/hopscope/internal/units"
)

// limits are the thresholds of one lossless group, in cells, as the packet memory itself applies
// them.
type limits struct {
	XOFF int64 // the cell at which XOFF is due
	Drop int64 // the first cell that is dropped
}

// fill admits cells to groups of an otherwise empty memory, egress shut.
type fill struct {
	m *mmu.Memory
	b *bench
}

func (b *bench) empty() (*fill, error) {
	m, err := mmu.New(b.memory)
	if err != nil {
		return nil, err
	}
	return &fill{m, b}, nil
}

// add admits up to n cells to the group of a port, and tells whether XOFF became due and how many
// were admitted.
func (f *fill) add(port int, n int64) (due bool, took int64) {
	g := f.m.Group(port, f.b.class)
	k := f.m.Queue(g, (port+1)%len(f.b.memory.Groups))
	for most := int64(math.MaxInt32); took < n; {
		// A step of half the way to the threshold cannot cross it: each cell moves the
		// threshold by at most alpha.
		step := int64(1)
		if slack := int64(g.Slack()); slack > 0 {
			step = max(1, min(n-took, most, slack/(2*(1+f.b.alpha(port)))))
		}
		v, xoff := f.m.Admit(g, k, int32(step))
		switch {
		case v != mmu.Admitted && step > 1:
			most = step / 2
		case v != mmu.Admitted:
			return xoff, took
		default:
			took += step
		}
		if xoff {
			return true, took
		}
	}
	return false, took
}

// alpha is the ratio of a port's dynamic threshold, rounded up; 0: it is fixed.
func (b *bench) alpha(port int) int64 {
	l := b.memory.Groups[port][b.class].Limit
	if l.Den == 0 {
		return 0
	}
	return (l.Num + l.Den - 1) / l.Den
}

// limits fills the group of one port until it drops.
func (b *bench) limits(port int) (l limits, err error) {
	f, err := b.empty()
	if err != nil {
		return l, err
	}
	due, took := f.add(port, math.MaxInt32)
	if !due {
		return limits{XOFF: -1, Drop: took + 1}, nil
	}
	l.XOFF, l.Drop = took, took
	g := f.m.Group(port, b.class)
	k := f.m.Queue(g, (port+1)%len(b.memory.Groups))
	for step := int64(1) << 30; step > 0; step /= 2 {
		for {
			if v, _ := f.m.Admit(g, k, int32(step)); v != mmu.Admitted {
				break
			}
			l.Drop += step
		}
	}
	l.Drop++
	return l, nil
}

// together is at how many cells each XOFF comes to k groups of one part that fill at the same
// pace; -1: there are fewer ports.
func (b *bench) together(port, k int) (int64, error) {
	first, ports := b.inPart(port)
	if k > ports {
		return -1, nil
	}
	f, err := b.empty()
	if err != nil {
		return 0, err
	}
	groups := make([]*mmu.Group, k)
	for i := range groups {
		groups[i] = f.m.Group(first+i, b.class)
	}
	used := int64(0)
	for {
		step := int64(1)
		if slack := int64(groups[0].Slack()); slack > 0 {
			step = max(1, slack/(2*int64(k)*(1+b.alpha(port))))
		}
		for i, g := range groups {
			v, due := f.m.Admit(g, f.m.Queue(g, (first+i+1)%len(b.memory.Groups)), int32(step))
			switch {
			case due:
				return used + step, nil
			case v != mmu.Admitted:
				return -1, nil
			}
		}
		used += step
	}
}

// marked is how many cells a queue holds when its first frame is marked for certain of being able
// to be: full frames, the last beyond Kmin.
func (b *bench) marked(port int, kmin units.Bytes) int64 {
	frame := b.cables[port].Frame
	frames := int64(kmin/frame) + 1
	return frames * ((int64(frame) + b.cell() - 1) / b.cell())
}

// spread is the number of queues, each fed by a port of its own, at which XOFF is due to one of
// these before every queue has come to Kmin; 0: not with the ports of the part.
func (b *bench) spread(port int, kmin units.Bytes) (int64, error) {
	f, err := b.empty()
	if err != nil {
		return 0, err
	}
	first, ports := b.inPart(port)
	cells := b.marked(port, kmin)
	for i := range ports {
		if due, took := f.add(first+i, cells); due || took < cells {
			return int64(i) + 1, nil
		}
		// Those that are full already may have come to their threshold as the pool shrank.
		for k := range i {
			if f.m.Group(first+k, b.class).Slack() <= 0 {
				return int64(i) + 1, nil
			}
		}
	}
	return 0, nil
}

// single is the number of queues, all fed by one port, at which XOFF is due to it before the last
// of them has come to Kmin; 0: not with all other ports.
func (b *bench) single(port int, kmin units.Bytes) (int64, error) {
	l, err := b.limits(port)
	if err != nil || l.XOFF < 0 {
		return 0, err
	}
	cells := b.marked(port, kmin)
	n := (l.XOFF + cells - 1) / cells
	if n > int64(len(b.memory.Groups)) {
		return 0, nil
	}
	return n, nil
}

// pool is what the groups of a port's pool share in one part, in cells, and a group's reserve.
func (b *bench) pool(port int) (shared, reserved int64) {
	g := &b.memory.Groups[port][b.class]
	cell, parts := b.cell(), int64(max(1, b.memory.Parts))
	return int64(b.memory.Ingress[g.Pool].Shared) / cell / parts, (int64(g.Reserved) + cell - 1) / cell
}

// alphaText is a threshold's ratio.
func alphaText(l mmu.Threshold) string {
	switch {
	case l.Den == 0:
		return ""
	case l.Den == 1:
		return fmt.Sprint(l.Num)
	}
	return fmt.Sprintf("%d/%d", l.Num, l.Den)
}

// before is the part of a calculation that says from how many queues on PFC acts before ECN.
func (b *bench) before(port int, kmin units.Bytes, source string) (report.CalcPart, error) {
	p := report.CalcPart{
		Title: "Queues from which on PFC acts before ECN, at Kmin " + kmin.Human(),
		Formula: "n * K >= m + S * alpha / (1 + alpha), fed by one port; " +
			"K >= m + alpha * (S - n * (K - m)), each by a port of its own",
		Source: "Zhu et al., SIGCOMM 2015, section 4; Choudhury and Hahne 1998; counted in the packet memory itself",
	}
	shared, reserved := b.pool(port)
	cells, limit := b.marked(port, kmin), b.memory.Groups[port][b.class].Limit
	frame := b.cables[port].Frame
	p.Steps = append(p.Steps, report.CalcStep{Name: "K, a queue just above Kmin",
		Numbers: fmt.Sprintf(
			"%s frames of %s B",
			count(int64(kmin/frame)+1),
			count(int64(frame)),
		), Value: float64(cells), Unit: b.unit(), Source: source})
	p.Steps = append(
		p.Steps,
		report.CalcStep{Name: "S, shared by all groups", Numbers: b.sharedText(port), Value: float64(shared), Unit: b.unit()},
	)
	if text := alphaText(limit); text != "" {
		p.Steps = append(
			p.Steps,
			report.CalcStep{Name: "alpha, m", Numbers: fmt.Sprintf("alpha %s, reserve m %s", text, count(reserved)),
				Value: float64(limit.Num) / float64(limit.Den)},
		)
	}
	_, ports := b.inPart(port)
	result := func(name string, n int64, err error, most int) error {
		if err != nil {
			return err
		}
		step := report.CalcStep{Name: name, Numbers: "counted", Value: float64(n), Unit: "queues", Result: true}
		if n == 0 {
			step.Numbers, step.Value = fmt.Sprintf("not with %d ports", most), -1
		}
		p.Steps = append(p.Steps, step)
		return nil
	}
	n, err := b.single(port, kmin)
	if err := result("all fed by one port", n, err, len(b.memory.Groups)); err != nil {
		return p, err
	}
	n, err = b.spread(port, kmin)
	return p, result("each fed by a port of its own", n, err, ports)
}

// sharedText says what the shared part of a pool is made of.
func (b *bench) sharedText(port int) string {
	pool := b.memory.Ingress[b.memory.Groups[port][b.class].Pool]
	text := count(int64(pool.Shared)) + " B"
	if b.cell() > 1 {
		text += fmt.Sprintf(" / %d B", b.cell())
	}
	if b.memory.Parts > 1 {
		text += fmt.Sprintf(" / %d parts", b.memory.Parts)
	}
	return text
}
