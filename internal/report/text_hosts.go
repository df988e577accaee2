package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hopscope/hopscope/internal/catalog"
	"github.com/hopscope/hopscope/internal/lang"
	"github.com/hopscope/hopscope/internal/metrics"
	"github.com/hopscope/hopscope/internal/units"
)

// listedHosts is how many hosts the CPU bill lists, those of most core time.
const listedHosts = 6

// hosts writes what the cores of hosts spent on the network, by direction and
// cause.
func (t *text) hosts() {
	all := t.s.CPU
	if len(all) == 0 {
		return
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[b].CorePS, all[a].CorePS) })
	rest := 0
	if len(order) > listedHosts && !t.opt.Verbose {
		rest = len(order) - listedHosts
		order = order[:listedHosts]
	}
	tab := &table{columns: []column{
		{title: "CPU of\nhosts"}, {title: "\nFor"}, {title: "Core\ntime",
			right: true}, {title: "Cores busy to\nlast completion", right: true},
		{title: "Busiest\ncore", right: true, drop: 3}, {title: "\nCopied", right: true, drop: 2}, {title: "\nDRAM",
			right: true, drop: 4}, {title: "\nCauses, by their share", wrap: true},
	}}
	for _, i := range order {
		h, p := &all[i], &t.r.Processors[i]
		for k := range h.Directions {
			d := &h.Directions[k]
			name, busiest, copied, dram := "", "", "", ""
			if k == 0 {
				name, busiest, copied, dram = h.Host, percentOf(h.Busiest), orDash(p.CopiedBytes), orDash(p.DRAMBytes)
			}
			cores := h.Cores * float64(d.CorePS) / float64(h.CorePS)
			tab.add(name, t.l.Of(d.Direction), metrics.FormatTime(d.CorePS), fmt.Sprintf("%.3f", cores), busiest, copied, dram,
				causesOf(t.l, d.Causes))
		}
	}
	t.section()
	t.table(tab)
	if rest > 0 {
		t.prose(t.l.Sprintf("and %d hosts with less", rest), plain)
	}
	t.superSegments(order)
}

// superSegments says of the host that sent most frames in super-segments what those
// spared its cores: the kernel's output path costs the same for a segment of any size.
func (t *text) superSegments(hosts []int) {
	most := -1
	for _, i := range hosts {
		// Acknowledgements are frames of their own: more than half again are super-segments.
		if p := &t.r.Processors[i]; 2*p.FramesOut > 3*p.SegmentsOut &&
			(most < 0 || p.FramesOut > t.r.Processors[most].FramesOut) {
			most = i
		}
	}
	if most < 0 {
		return
	}
	p, sent, spent := &t.r.Processors[most], int64(0), units.Time(0)
	for i := range t.r.QPs {
		if q := &t.r.QPs[i]; q.Host == p.Host && q.Is(catalog.Streams) {
			sent += q.SentBytes
		}
	}
	for _, x := range p.Times {
		if x.Direction == "transmit" && x.Cause == "output" {
			spent = x.PS
		}
	}
	if sent == 0 || spent == 0 {
		return
	}
	each, perByte := float64(p.FramesOut)/float64(p.SegmentsOut), float64(spent)/1000/float64(sent)
	how, alone := t.l.Of("the card cut"), t.l.Sprintf("; the same for each frame alone would be about %s, %.3f ns per "+
		"byte",
		metrics.FormatTime(units.Time(float64(spent)*each)), each*perByte)
	if p.GSOFrames > 0 { // which costs something for each frame too
		how, alone = t.l.Of("software cut"), t.l.Of("; with tso the card would cut them")
	}
	t.prose(
		t.l.Sprintf(
			"super-segments: %s sent %s frames, which %s off %s segments, %.1f each: output cost its cores %s, %.3f ns per byte%s",
			p.Host,
			metrics.FormatCount(p.FramesOut),
			how,
			metrics.FormatCount(p.SegmentsOut),
			each,
			metrics.FormatTime(spent),
			perByte,
			alone,
		),
		plain,
	)
}

// cores writes what the cores that work for message i did in the whole run.
func (t *text) cores(i int) {
	bills := metrics.Cores(t.r, i)
	if len(bills) == 0 {
		return
	}
	tab := &table{columns: []column{{title: "\nCore"}, {title: "Of this\nconnection"},
		{title: "Core\ntime", right: true}, {title: "Busy to last\ncompletion", right: true},
		{title: "\nCauses in the whole run, by their share", wrap: true}}}
	for _, b := range bills {
		tab.add(t.l.Sprintf("%s core %d", b.Host, b.Core), t.l.Of(b.Does), metrics.FormatTime(b.CorePS), percentOf(b.Busy),
			causesOf(t.l, b.Causes))
	}
	t.section()
	t.table(tab)
}

func percentOf(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

func orDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return metrics.FormatBytes(n)
}

// causesOf lists causes, the largest first, by their share.
func causesOf(l lang.Language, all []metrics.CauseShare) string {
	causes := slices.Clone(all)
	slices.SortStableFunc(causes, func(a, b metrics.CauseShare) int { return cmp.Compare(b.CorePS, a.CorePS) })
	var out []string
	for _, c := range causes {
		if c.Share >= 0.001 || len(out) == 0 {
			out = append(out, l.Of(c.Cause)+" "+percentOf(c.Share))
		}
	}
	return strings.Join(out, ", ")
}
